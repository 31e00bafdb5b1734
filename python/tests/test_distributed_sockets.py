"""Sockets that calls return, as those of lightgbm.dask do, and training by that where it is installed."""
import os
import subprocess
import sys

import pytest

pytest.importorskip("dask")

BOUND = """
import os, socket, sys
import penstock.distributed
penstock.distributed.install()
from distributed import Client

def acquire():
    one = socket.socket()
    one.bind(("127.0.0.1", 0))
    return os.getpid(), one, one.getsockname()[1]

def name_of(acquired):
    return os.getpid(), acquired[1].getsockname()[1], acquired

def listen(port):
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()

def close_and_listen(acquired):
    acquired[1].close()
    listen(acquired[2])
    return os.getpid()

def is_bound(port):
    try:
        listen(port)
    except OSError:
        return True
    return False


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2) as client:
"""

USES = """
        acquired = client.submit(acquire)
        pid, _, port = acquired.result()
        pids = set()
        while len(pids) < 2:  # Both processes have seen it.
            of = [client.submit(name_of, acquired, pure=False) for _ in range(8)]
            for one in client.gather(of):
                assert one[1] == port
                pids.add(one[0])
        passed_on = of[0]
        assert client.submit(is_bound, port, pure=False).result()
        assert client.submit(lambda it: close_and_listen(it[2]), passed_on).result() in pids
        assert not client.submit(is_bound, port, pure=False).result()
        client.submit(close_and_listen, acquired).result()  # Closed once more.
        print("done")
"""

FROM_HERE = """
        with socket.socket() as one:
            try:
                client.submit(name_of, (1, one)).result()
            except Exception as error:
                print(type(error).__name__, str(error)[:1000])
"""


def output_of(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_a_socket_that_a_call_returns_is_open_and_closed_for_the_calls_that_read_it():
    assert output_of(BOUND + USES) == "done\n"


def test_a_socket_of_the_client_is_refused_by_name():
    assert output_of(BOUND + FROM_HERE).startswith("NotSerializable an argument of name_of")


def test_a_socket_whose_process_has_ended_is_named():
    from penstock.distributed import _sockets
    from penstock.errors import PenstockError
    gone = _sockets.RemoteSocket(f"penstock-sockets-gone-{_sockets._host()}", bytes(_sockets.TOKEN_BYTES))
    with pytest.raises(PenstockError, match="opened it has ended.*same workers="):
        gone.getsockname()
    gone.close()  # Its port is free.
    elsewhere = _sockets.RemoteSocket("penstock-sockets-gone-of-another-host", bytes(_sockets.TOKEN_BYTES))
    with pytest.raises(PenstockError, match="on another host"):
        elsewhere.close()


LIGHTGBM = """
import sys
import penstock.distributed
penstock.distributed.install()
from distributed import Client, LocalCluster
import dask.array as da
import numpy as np
from lightgbm.dask import DaskLGBMClassifier

if __name__ == "__main__":
    random = np.random.default_rng(0)
    x = random.normal(size=(2000, 4))
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    data, labels = da.from_array(x, chunks=(500, 4)), da.from_array(y, chunks=500)
    with OPENED as client:
        model = DaskLGBMClassifier(n_estimators=10, num_leaves=7, verbosity=-1).fit(data, labels)
        print((model.predict(data).compute() == y).mean() > 0.9)
"""


@pytest.mark.parametrize("opened", ["Client(n_workers=2, threads_per_worker=1)",
                                    "Client(LocalCluster(n_workers=2, threads_per_worker=1, program=True))"])
def test_lightgbm_trains_on_the_workers_with_the_import_changed_only(opened):
    pytest.importorskip("lightgbm")
    assert output_of(LIGHTGBM.replace("OPENED", opened)).splitlines()[-1] == "True"
