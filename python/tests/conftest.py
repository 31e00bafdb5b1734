"""One embedded cluster for all tests that do not need one of their own."""
import pathlib
import sys

import hypothesis
import pytest

hypothesis.settings.register_profile("ours", database=None, deadline=None, derandomize=True)
hypothesis.settings.load_profile("ours")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


@pytest.fixture(scope="session")
def client():
    from penstock import Client
    with Client(slots=2) as shared:
        yield shared
