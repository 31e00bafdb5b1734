"""One embedded cluster for all tests that do not need one of their own."""
import atexit
import os
import pathlib
import shutil
import sys
import tempfile

import hypothesis
import pytest

hypothesis.settings.register_profile("ours", database=None, deadline=None, derandomize=True)
hypothesis.settings.load_profile("ours")

# Supervisors of tests give their user credentials: not among the user's own.
if "PENSTOCK_CONFIG_DIR" not in os.environ:
    os.environ["PENSTOCK_CONFIG_DIR"] = _config = tempfile.mkdtemp(prefix="penstock-config-")
    atexit.register(shutil.rmtree, _config, ignore_errors=True)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


@pytest.fixture(scope="session")
def client():
    from penstock import Client
    with Client(slots=2) as shared:
        yield shared
