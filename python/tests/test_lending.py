"""Large arguments and files that batch after batch has are sent once; counted on the wire."""
import select
import socket
import threading

import functions
import numpy
import pytest
from penstock import Client, _graph, _lending, _wire, errors
from test_cluster import Cluster, until

LARGE = numpy.random.default_rng(7).random(100_000)
ONCE = LARGE.nbytes


class Wire:
    """Between whoever connects and an address: counts what is said, both ways."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.to, self.sent, self.received = (host, int(port)), 0, 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                one = self._server.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._carry, args=(one, socket.create_connection(self.to)), daemon=True).start()

    def _carry(self, one, other):
        while True:
            for ready in select.select([one, other], [], [])[0]:
                try:
                    said = ready.recv(1 << 20)
                    (other if ready is one else one).sendall(said)
                except OSError:
                    said = b""
                if not said:
                    return one.close(), other.close()
                if ready is one:
                    self.sent += len(said)
                else:
                    self.received += len(said)

    def close(self):
        self._server.close()


@pytest.fixture
def wired(tmp_path):
    """A client and a worker, each on a wire that counts."""
    cluster = Cluster(tmp_path, workers=())
    to_client, to_worker = Wire(cluster.address), Wire(cluster.address)
    cluster.start("worker", "--supervisor", to_worker.address, "--name", "w", "--slots", "1", "--memory", "1GiB", "--no-gpus")
    with Client(to_client.address) as client:
        assert client.submit(functions.increment, 1).result(60) == 2
        yield client, to_client, to_worker
    cluster.end()
    to_client.close()
    to_worker.close()


def sent_by(client, wire, calls):
    before = wire.sent
    calls(client)
    return wire.sent - before


def test_an_argument_that_comes_again_and_again_is_sent_twice(wired):
    client, wire, to_worker = wired
    told = to_worker.received

    def calls(client):
        for number in range(10):
            assert client.submit(functions.total_and, LARGE, number).result(60) == (LARGE.sum(), number)
    assert 2 * ONCE <= sent_by(client, wire, calls) < 2.5 * ONCE
    assert 2 * ONCE <= to_worker.received - told < 2.5 * ONCE


def test_files_are_sent_once(wired, tmp_path):
    client, wire, to_worker = wired
    (tmp_path / "a_module.py").write_text("def answer(x):\n    return x + 42\n")
    (tmp_path / "ballast").write_bytes(LARGE.tobytes())
    told = to_worker.received

    def calls(client):
        for number in range(10):
            call = client.submit(functions.call_module, "a_module", "answer", number,
                                 files=[tmp_path / "a_module.py", tmp_path / "ballast"])
            assert call.result(60) == number + 42
    assert ONCE * 0.9 <= sent_by(client, wire, calls) < 1.5 * ONCE
    assert to_worker.received - told < 1.5 * ONCE


def test_what_comes_once_is_not_kept(client):
    before = len(client._lending._lent)
    client.gather([client.submit(functions.total, LARGE + number) for number in range(1, 5)])
    assert len(client._lending._lent) == before


def test_what_nobody_has_used_for_long_is_released(client, monkeypatch):
    for _ in range(3):
        client.submit(functions.total, LARGE - 1).result(60)
    (lent,) = [one for datum, one in client._lending._lent.items() if len(datum) > ONCE][-1:]
    monkeypatch.setattr(_lending, "LENT_S", 0)
    until(lambda: not client._lending)
    with pytest.raises(errors.ResultLost):
        for _ in range(100):
            client._fetch(lent.job, [lent.subtask])


def test_no_more_is_kept_than_may_be(client, monkeypatch):
    monkeypatch.setattr(_lending, "LENT_BYTES_MAX", int(1.5 * ONCE))
    for array in (LARGE + 10, LARGE + 20):
        for _ in range(3):
            assert client.submit(functions.total, array).result(60) == array.sum()
        assert client._lending._bytes < 1.5 * ONCE
    monkeypatch.setattr(_lending, "LENT_BYTES_MAX", 1)
    for _ in range(3):
        client.submit(functions.total, LARGE + 30).result(60)
    assert len(client._lending._lent) == 1, "the one that was used last, however large it is"


def test_what_is_lost_with_its_worker_is_sent_again(tmp_path):
    cluster = Cluster(tmp_path, workers=("w1",))
    try:
        with Client(cluster.address) as client:
            for _ in range(3):
                assert client.submit(functions.total, LARGE).result(60) == LARGE.sum()
            assert len(client._lending._lent) == 1
            cluster.workers[0].kill()
            cluster.worker("w2")
            assert client.submit(functions.total, LARGE).result(60) == LARGE.sum()
            assert client.submit(functions.total, LARGE).result(60) == LARGE.sum()
    finally:
        cluster.end()


def lent_by(client, array):
    for _ in range(3):
        assert client.submit(functions.total, array).result(60) == array.sum()
    return next(reversed(client._lending._lent.values()))


# The graph is refused: the thread that sends had died of it, and its futures hung.
def test_what_was_released_meanwhile_is_sent_again(client):
    array = LARGE + 40
    lent = lent_by(client, array)
    client._library.release(client._handle, lent.job)
    for _ in range(2):
        assert client.submit(functions.total, array).result(60) == array.sum()
    assert lent not in client._lending._lent.values()


# It had been marked in what all clients of a process have: the bytes of files.
def test_what_one_client_could_not_lend_others_lend(client):
    files = _wire.Shared(bytes(ONCE), "files", often=True)
    _lending.Lending().forget(files)
    with client._lock:
        graph = _graph.GraphColumns(client._command)
        assert client._lending.number_of(client, graph, files) in graph.borrowed
        client._lending.forget(files)
        graph = _graph.GraphColumns(client._command)
        assert client._lending.number_of(client, graph, files) not in graph.borrowed


def test_what_cannot_be_kept_goes_with_each_batch():
    with Client(slots=1, memory=64 << 20, warm=False) as small:
        array = numpy.zeros(5_000_000)
        for _ in range(3):
            with pytest.raises(errors.ResultTooLarge, match="can never fit into the store"):
                small.submit(functions.total, array).result(60)
        assert small.submit(functions.increment, 1).result(30) == 2
