"""Connections of actors: who does not know the key is refused before anything is read, and frames arrive whole."""
import errno
import fcntl
import json
import os
import pathlib
import pickle
import re
import shutil
import socket
import subprocess
import threading

import pytest
from actor_classes import Counter
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Client, _actor_wire, actors

KEY = b"k" * _actor_wire.KEY_BYTES


def pair(family):
    if family == "unix":
        return socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one = socket.create_connection(listening.getsockname())
        return one, listening.accept()[0]


def proven(caller_key, actor_key):
    """(what became of the caller, of the actor)"""
    ours, theirs = pair("unix")
    told = {}

    def run(name, function, sock, key):
        try:
            function(sock, key)
            told[name] = "proven"
        except (_actor_wire.Refused, OSError) as error:
            told[name] = str(error)
        if told[name] != "proven":
            sock.close()
    threads = [threading.Thread(target=run, args=("caller", _actor_wire.introduce, ours, caller_key)),
               threading.Thread(target=run, args=("actor", _actor_wire.accept, theirs, actor_key))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    ours.close()
    theirs.close()
    return told["caller"], told["actor"]


def test_both_sides_prove_the_key():
    assert proven(KEY, KEY) == ("proven", "proven")
    assert proven(b"x" * 32, KEY) == ("the other side has closed the connection", "the caller does not know the actor's key")


def test_an_actor_that_does_not_know_the_key_is_refused():
    ours, theirs = pair("unix")
    with ours, theirs:
        theirs.sendall(_actor_wire.MAGIC + bytes(32) + bytes(32))  # It accepts any caller.
        with pytest.raises(_actor_wire.Refused, match="another actor listens there"):
            _actor_wire.introduce(ours, KEY)


def test_an_answer_that_is_sent_back_is_no_proof():
    """A caller without the key opens two connections and has the actor answer its own challenge."""
    challenge, other = bytes(32), bytes(range(32))
    assert _actor_wire.proof(KEY, b"caller", challenge, other) != _actor_wire.proof(KEY, b"actor", challenge, other)
    assert _actor_wire.proof(KEY, b"caller", challenge, other) != _actor_wire.proof(KEY, b"caller", other, challenge)


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n" + bytes(40), b"PNA1"])
def test_others_that_listen_are_refused(greeting):
    ours, theirs = pair("unix")
    with ours:
        theirs.sendall(greeting)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(_actor_wire.Refused):
            _actor_wire.introduce(ours, KEY)
        theirs.close()


def test_a_proof_has_its_time(monkeypatch):
    monkeypatch.setattr(_actor_wire, "HANDSHAKE_S", 0.1)
    ours, theirs = pair("unix")
    with ours, theirs:
        ours.sendall(b"x")
        with pytest.raises((_actor_wire.Refused, OSError), match="took too long|timed out"):
            _actor_wire.accept(theirs, KEY)


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_nothing_of_a_stranger_is_unpickled(tmp_path):
    with Client(slots=1) as client:
        counter = client.actor(Counter, 1)
        actors.ready(counter, 60)
        record = actors.records.peek(actors.records.at(counter._facts["identity"], client))
        name = next(place for kind, *place in record["addresses"] if kind == "unix")[0]
        bomb = pickle.dumps(("add", (Bomb(str(tmp_path / "exploded")),), {}), 5)
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(name)
            stranger.recv(36)
            stranger.sendall(bytes(64) + _actor_wire.HEAD.pack(_actor_wire.CALL, 0, 0, 1, len(bomb)) + bomb)
            try:
                assert stranger.recv(100) == b""
            except ConnectionResetError:
                pass
        assert counter.add().result(60) == 2
        assert not (tmp_path / "exploded").exists()


FRAMES = st.lists(st.tuples(
    st.integers(0, 255), st.integers(0, 2**64 - 1), st.integers(0, 3) | st.sampled_from([60_000, 70_000, 300_000]),
    st.lists(st.integers(0, 100) | st.sampled_from([4096, 65_536, 300_000, 1 << 20, (1 << 20) + 1]), max_size=4)), max_size=5)


@pytest.mark.parametrize("family", ["unix", "tcp"])
@settings(max_examples=40)
@given(frames=FRAMES)
def test_frames_arrive_as_they_left(family, frames):
    ours, theirs = pair(family)
    reader = _actor_wire.FrameReader(theirs)

    def send():
        with ours:
            for kind, number, length, sizes in frames:
                _actor_wire.send(ours, kind, number, os.urandom(1) * length, [memoryview(bytes([at]) * size)
                                                                            for at, size in enumerate(sizes)])
    thread = threading.Thread(target=send)
    thread.start()
    with theirs:
        for kind, number, length, sizes in frames:
            seen_kind, seen_number, data, buffers = reader.read()
            assert (seen_kind, seen_number, len(data)) == (kind, number, length)
            assert [bytes(buffer) for buffer in buffers] == [bytes([at]) * size for at, size in enumerate(sizes)]
            for buffer in buffers:
                if len(buffer):
                    buffer[0] = 1  # May be written to.
        with pytest.raises(EOFError):
            reader.read()
    thread.join(30)
    reader.close()


@settings(max_examples=200)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_refused(data):
    ours, theirs = pair("unix")
    with theirs:
        with ours:
            ours.sendall(data)
        reader = _actor_wire.FrameReader(theirs)
        with pytest.raises((EOFError, OSError, _actor_wire.Refused)):
            while True:
                kind, number, pickled, buffers = reader.read()
                assert len(pickled) + sum(map(len, buffers)) <= len(data)


def test_memory_that_may_shrink_or_is_missing_is_refused():
    head = _actor_wire.HEAD.pack(_actor_wire.CALL, 1, 1, 1, 0) + (1 << 20).to_bytes(8, "little")
    for size, sealed in ((None, True), (1 << 20, False), (1000, True)):
        ours, theirs = pair("unix")
        with ours, theirs:
            if size is None:
                ours.sendall(head)
            else:
                file = os.memfd_create("given", os.MFD_ALLOW_SEALING)
                os.ftruncate(file, size)
                if sealed:
                    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
                socket.send_fds(ours, [head], [file])
                os.close(file)
            with pytest.raises(_actor_wire.Refused, match="memory of a frame"):
                _actor_wire.FrameReader(theirs).read()


@pytest.mark.parametrize("lacks", ["memory", "rights"])
def test_without_memory_to_give_buffers_go_by_the_socket(monkeypatch, lacks):
    ours, theirs = pair("unix")
    if lacks == "memory":
        monkeypatch.setattr(_actor_wire.os, "memfd_create", lambda *_: (_ for _ in ()).throw(OSError("none")))
    else:
        class Full(socket.socket):
            def sendmsg(self, parts, rights=()):
                if rights:
                    raise OSError(errno.ETOOMANYREFS, "too many references")
                return super().sendmsg(parts)
        ours = Full(fileno=ours.detach())
    thread = threading.Thread(target=_actor_wire.send, args=(ours, 1, 2, b"data", [memoryview(bytes([7]) * (2 << 20))]))
    thread.start()
    reader = _actor_wire.FrameReader(theirs)
    kind, number, data, (buffer,) = reader.read()
    assert (kind, number, data, bytes(buffer)) == (1, 2, b"data", bytes([7]) * (2 << 20)) and not reader._files
    thread.join(30)
    ours.close()
    theirs.close()


def test_limits_are_kept():
    ours, theirs = pair("unix")
    with ours, theirs:
        ours.sendall(_actor_wire.HEAD.pack(_actor_wire.CALL, 0, 0, 1, _actor_wire.FRAME_BYTES_MAX + 1))
        with pytest.raises(_actor_wire.Refused, match="beyond the limits"):
            _actor_wire.FrameReader(theirs).read()
        ours.sendall(_actor_wire.HEAD.pack(_actor_wire.CALL, 0, _actor_wire.BUFFERS_MAX + 1, 1, 0))
        with pytest.raises(_actor_wire.Refused, match="too many buffers"):
            _actor_wire.FrameReader(theirs).read()


# ---- other versions of Python ----

def pythons():
    """Interpreters of other versions that are on this machine."""
    found = {}
    for path in [*map(shutil.which, [f"python3.{minor}" for minor in range(9, 15)]),
                 *sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python")))]:
        if path is None or "/shims/" in path:
            continue
        told = subprocess.run([path, "-c", "import sys; print('3.%d' % sys.version_info[1])"], capture_output=True, text=True)
        if told.returncode == 0 and re.fullmatch(r"3\.(9|\d\d)", told.stdout.strip()):
            found.setdefault(told.stdout.strip(), path)
    return found


OTHER = """
import importlib.util, json, pickle, sys, socket
spec = importlib.util.spec_from_file_location("wire", sys.argv[1])
wire = importlib.util.module_from_spec(spec)
spec.loader.exec_module(wire)
key = b"k" * 32
listener = wire.Listener("127.0.0.1")
print(json.dumps(listener.addresses), flush=True)
for listening in listener.sockets:
    sock, _ = listening.accept()
    wire.accept(sock, key)
    kind, number, data, buffers = wire.FrameReader(sock).read()
    value = pickle.loads(data, buffers=buffers)
    out = []
    value["large"] = pickle.PickleBuffer(bytearray(value["large"]))
    data = pickle.dumps([value, sys.version_info[1]], 5, buffer_callback=out.append)
    wire.send(sock, wire.VALUE, number, data, [one.raw() for one in out])
theirs = json.loads(sys.stdin.readline())
sock = wire.connect({"addresses": theirs, "key": key})
wire.send(sock, wire.CALL, 7, pickle.dumps("from " + str(sys.version_info[1]), 5))
sock.recv(1)
"""


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.11", "3.12", "3.13"])
def test_versions_of_python_understand_each_other(version):
    python = pythons().get(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed")
    large = pickle.PickleBuffer(bytearray(b"z" * (2 << 20)))
    other = subprocess.Popen([python, "-c", OTHER, _actor_wire.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)
    listener = _actor_wire.Listener(None)
    try:
        for address in json.loads(other.stdout.readline()):
            sock = _actor_wire.connect({"addresses": [address], "key": KEY})
            buffers = []
            data = pickle.dumps({"large": large}, 5, buffer_callback=buffers.append)
            _actor_wire.send(sock, _actor_wire.CALL, 3, data, [one.raw() for one in buffers])
            _, number, data, given_back = _actor_wire.FrameReader(sock).read()
            value, minor = pickle.loads(data, buffers=given_back)
            assert number == 3 and bytes(value["large"]) == b"z" * (2 << 20) and version == f"3.{minor}"
            sock.close()
        other.stdin.write(json.dumps(listener.addresses) + "\n")
        other.stdin.flush()
        sock, _ = listener.sockets[0].accept()
        _actor_wire.accept(sock, KEY)
        assert pickle.loads(_actor_wire.FrameReader(sock).read()[2]) == f"from {version[2:]}"
        sock.close()
    finally:
        listener.close()
        other.stdin.close()
        other.stdout.close()
        assert other.wait(30) == 0
