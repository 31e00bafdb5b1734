"""Clients of other users: each in a process with credentials of its own, since a process has one user."""
import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from test_cluster import BINARY, Cluster, await_workers, cluster  # noqa: F401

import penstock
from penstock import Client, errors

AS_CLIENT = """
import json, os, sys
from penstock import Client, errors
told = {}
try:
    with Client(sys.argv[1]) as client:
        told["result"] = client.submit(sum, [1, 2, 3]).result(60)
        told["uid"] = client.submit(os.getuid).result(60)
        told["large"] = len(client.submit(bytes, 3_000_000).result(60))
        try:
            client.attach("of-root")
            told["attached"] = True
        except errors.PenstockError as error:
            told["attach"] = str(error)
except errors.PermissionDenied as error:
    told["denied"], told["remedy"] = isinstance(error, PermissionError), error.remedy
print(json.dumps(told))
"""


def as_user(home, address):
    answer = subprocess.run([sys.executable, "-c", AS_CLIENT, address], capture_output=True, text=True, timeout=120, check=False,
                            env={**os.environ, "PENSTOCK_CONFIG_DIR": str(home), "PYTHONPATH": os.pathsep.join(sys.path)})
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_a_user_without_a_credential_is_told_how_to_get_one(cluster, tmp_path):  # noqa: F811
    told = as_user(tmp_path / "nobody", cluster.address)
    assert told["denied"] and "penstock token create --role client" in told["remedy"]


def log_in(cluster, user, home):
    state = str(cluster.directory / "state")
    token = subprocess.run([str(BINARY), "token", "create", "--role", "client", "--user", user, "--state", state],
                           capture_output=True, text=True, timeout=60, check=True).stdout
    subprocess.run([str(BINARY), "login", "-", "--supervisor", cluster.address], input=token, text=True, timeout=60,
                   check=True, capture_output=True, env={**os.environ, "PENSTOCK_CONFIG_DIR": str(home)})


@pytest.fixture
def without_workers(tmp_path):
    made = Cluster(tmp_path, workers=())
    yield made
    made.end()


def test_a_client_runs_its_own_calls_and_sees_no_others(without_workers, tmp_path):
    cluster = without_workers
    for name in ("w1", "w2"):  # No host of the tests has an account of bob.
        cluster.start("worker", "--supervisor", cluster.address, "--name", name, "--slots", "1", "--no-gpus",
                      "--set", "worker.run_as=worker", "--set", 'worker.accept_users=["*"]')
    home = tmp_path / "bob"
    log_in(cluster, "bob", home)
    with Client(cluster.address) as root:
        await_workers(root, "w1", "w2")
        graph = root.graph()
        graph.add(sum, [1])
        job = graph.submit(name="of-root")
        job.wait()
        told = as_user(home, cluster.address)
        assert told["result"] == 6 and told["large"] == 3_000_000
        assert "attached" not in told and "of-root" in told["attach"]
        assert {row["owner"] for row in root.memory(by="owner")} <= {"bob", os.environ.get("USER", "root"), "root"}


def others_reach(*paths):
    return all(place.stat().st_mode & 0o5 == 0o5 for path in paths for place in (Path(path).resolve(), *Path(path).resolve().parents))


@pytest.mark.skipif(os.geteuid() != 0, reason="starts programs of other users, which takes root")
@pytest.mark.skipif(not others_reach(BINARY, Path(penstock.__file__).parent, sys.executable), reason="other users cannot reach the checkout")
def test_calls_run_under_the_account_of_their_user(without_workers, tmp_path):
    cluster = without_workers
    cluster.start("worker", "--supervisor", cluster.address, "--name", "w1", "--slots", "1", "--no-gpus")
    log_in(cluster, "nobody", tmp_path / "nobody")
    told = as_user(tmp_path / "nobody", cluster.address)
    assert told["uid"] == pwd.getpwnam("nobody").pw_uid and told["large"] == 3_000_000
    with Client(cluster.address) as root:
        assert root.submit(os.getuid).result(60) == 0, "the runner of another user is not used again"


def test_the_class_of_the_error_is_pythons_own():
    assert issubclass(errors.PermissionDenied, PermissionError)
    with pytest.raises(PermissionError):
        raise errors.error_of("PermissionDenied", "x", "is refused", "ask")
