"""What functions leave to be done when their process ends."""
import subprocess

import functions
import pytest
from test_cluster import BINARY, Cluster

from penstock import Client


@pytest.mark.parametrize("how", ["embedded", "remote"])
def test_what_is_registered_for_the_end_is_called(tmp_path, how):
    path = tmp_path / "end"
    if how == "embedded":
        with Client(slots=1) as client:
            client.submit(functions.register_for_the_end, str(path)).result(30)
            assert not path.exists()
    else:
        cluster = Cluster(tmp_path, workers=("w1",))
        with Client(cluster.address) as client:
            client.submit(functions.register_for_the_end, str(path)).result(60)
        cluster.end()
    assert path.read_text() == "last\nfirst\n", "the latest first, whatever one of them raises"


def test_what_it_has_printed_until_then_is_in_its_workers_log(tmp_path):
    cluster = Cluster(tmp_path, workers=())
    with open(tmp_path / "log", "wb") as log:
        worker = subprocess.Popen([str(BINARY), "worker", "--supervisor", cluster.address, "--name", "w1", "--slots", "1", "--no-gpus",
                                   "--log-level", "info"], stdout=log, stderr=log)
        with Client(cluster.address) as client:
            client.submit(functions.print_at_the_end, "so long").result(60)
        worker.terminate()
        worker.wait(20)
    cluster.end()
    assert (tmp_path / "log").read_text().count("so long") == 3
