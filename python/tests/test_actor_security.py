"""Connections of actors by a network: who may call, and whose answers are taken."""
import contextlib
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
from actor_classes import Counter
from test_actor_wire import KEY, pair
from test_cluster import BINARY, Cluster, await_workers, until
from test_security import log_in

import penstock
from penstock import Client, _actor_calls, _actor_host, _actor_tls, _actor_wire, _identity, actors, errors
from penstock._identity import Identity, Shown

CLUSTER = "0123456789abcdef0123456789abcdef01234567"


def identity(role, user="ada"):
    return Identity(CLUSTER, role, user)


@pytest.mark.parametrize("uri, of", [
    (f"penstock://{CLUSTER}/client/ada", identity("client")),
    (f"penstock://{CLUSTER}/run/a-d@a.b_1?groups=x+y", identity("run", "a-d@a.b_1")),
    (f"penstock://{CLUSTER}/client/-ada", None),
    (f"penstock://{CLUSTER}/client/ada\n", None),
    (f"penstock://{CLUSTER}/client/ada/bob", None),
    (f"penstock://{CLUSTER[1:]}/client/ada", None),
    (f"https://{CLUSTER}/client/ada", None),
    ("", None)])
def test_an_identity_is_whole_or_none(uri, of):
    if of is not None:
        assert _identity.identity_of(uri) == of
        return
    with pytest.raises(_actor_wire.Denied, match="without an identity of Penstock"):
        _identity.identity_of(uri)


def is_allowed(check, *arguments):
    try:
        check(*arguments)
    except _actor_wire.Denied as error:
        assert error.remedy
        return False
    return True


@pytest.mark.parametrize("role, own, others", [
    ("worker", True, True), ("operator", True, True), ("admin", True, True), ("client", True, False), ("run", True, False),
    ("supervisor", False, False), ("metrics", False, False)])
def test_who_may_call_and_who_may_be_called(role, own, others):
    assert is_allowed(_identity.check_caller, identity(role), "ada") is own
    assert is_allowed(_identity.check_caller, identity(role, "bob"), "ada") is others
    assert not is_allowed(_identity.check_caller, identity("client"), "")
    assert is_allowed(_identity.check_actor, identity(role), identity("client"), "ada") is own
    assert is_allowed(_identity.check_actor, identity(role, "bob"), identity("client"), "ada") is others


def test_what_is_written_down_leads_only_the_roles_of_the_cluster_to_other_users():
    for role in ("client", "run"):
        assert not is_allowed(_identity.check_actor, identity("client", "eve"), identity(role), "eve")
    for role in ("worker", "operator", "admin"):
        assert is_allowed(_identity.check_actor, identity("client", "eve"), identity(role), "eve")
        assert not is_allowed(_identity.check_actor, identity("client", "eve"), identity(role), "bob")


class Authority:
    """A supervisor that gives certificates."""

    def __init__(self, directory):
        directory.mkdir()
        self.cluster, self.directory = Cluster(directory, workers=()), directory

    def shown(self, user):
        """The credential of a client."""
        home = self.directory / user
        if not home.exists():
            log_in(self.cluster, user, home)
        pem, = home.glob("clusters/*/client.pem")
        return Shown(identity("client", user), pem.read_bytes())


@pytest.fixture
def authorities(supervisors, monkeypatch):
    """What is shown stands in these tests for the client that shows it."""
    monkeypatch.setattr(_identity, "shown_by", lambda shown: shown)
    return supervisors


@pytest.fixture(scope="module")
def supervisors(tmp_path_factory):
    with contextlib.ExitStack() as ending:
        made = []
        for name in ("ours", "others"):
            made.append(Authority(tmp_path_factory.mktemp("authority") / name))
            ending.callback(made[-1].cluster.end)
        yield made


def side(function):
    """(a thread that runs it, a list that will have what it has returned or raised)"""
    told = []

    def run():
        try:
            told.append(function())
        except (OSError, _actor_wire.Refused) as error:
            told.append(error)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, told


def accepted(sock, shown, owner="ada"):
    """As an actor does it."""
    host = type("Host", (), {"record": {"user": owner}, "client": shown})()
    try:
        channel = _actor_host.Host.secured(host, sock)
        _actor_wire.accept(channel, KEY)
        return channel
    except BaseException:
        sock.close()
        raise


def reached(sock, shown):
    channel = _actor_tls.credential(shown).reach(sock, time.monotonic() + 10)
    _actor_wire.introduce(channel, KEY)
    return channel


def together(callers, actors_, owner="ada"):
    """What becomes of both sides."""
    ours, theirs = pair("tcp")
    thread, told = side(lambda: accepted(theirs, actors_, owner))
    try:
        caller = reached(ours, callers)
    except (OSError, _actor_wire.Refused) as error:
        caller = error
        ours.close()
    thread.join(30)
    return caller, told[0]


def test_an_actor_and_its_user_speak_tls_1_3(authorities):
    ours, _ = authorities
    caller, actor = together(ours.shown("ada"), ours.shown("ada"))
    assert caller._session.version() == "TLSv1.3" and caller.peer().user == actor.peer().user == "ada"
    caller.close()
    actor.close()


def test_another_user_is_refused_and_told_why(authorities):
    ours, _ = authorities
    caller, actor = together(ours.shown("bob"), ours.shown("ada"))
    assert isinstance(caller, _actor_wire.Denied) and isinstance(actor, _actor_wire.Denied)
    assert "belongs to user 'ada', and this process is of user 'bob' with the role client" in str(caller)
    assert caller.remedy == "call it as its user, or as an operator of the cluster"


def test_a_certificate_of_another_authority_is_refused_on_both_sides(authorities):
    ours, others = authorities
    caller, actor = together(others.shown("ada"), ours.shown("ada"))
    assert isinstance(caller, _actor_wire.Denied) and "has a certificate of another cluster" in str(caller)
    assert "penstock login" in caller.remedy and isinstance(actor, _actor_wire.Refused)


def met_by_an_actor(authority, function):
    """(what this function makes of its end of a connection, what becomes of the actor at the other one)"""
    ours, theirs = pair("tcp")
    thread, told = side(lambda: accepted(theirs, authority.shown("ada")))
    with ours:
        ours.settimeout(20)
        read = function(ours)
        thread.join(30)
    return read, told[0]


def speaking(context):
    """Takes any actor, and reads its greeting."""
    def read(sock):
        try:
            with context.wrap_socket(sock) as secured:
                return secured.recv(100)
        except OSError as error:
            return error
    return read


def lenient():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def test_a_caller_without_a_certificate_or_with_a_foreign_one_learns_nothing(authorities, tmp_path):
    ours, others = authorities
    (tmp_path / "eve.pem").write_bytes(others.shown("ada").pem)
    foreign = lenient()
    foreign.load_cert_chain(tmp_path / "eve.pem")
    for context, alert in ((lenient(), "CERTIFICATE_REQUIRED"), (foreign, "UNKNOWN_CA")):
        read, told = met_by_an_actor(ours, speaking(context))
        assert isinstance(read, ssl.SSLError) and alert in str(read), read
        assert isinstance(told, _actor_wire.Denied)


def test_an_older_tls_is_refused(authorities, tmp_path):
    ours, _ = authorities
    (tmp_path / "ada.pem").write_bytes(ours.shown("ada").pem)
    old = lenient()
    old.load_cert_chain(tmp_path / "ada.pem")
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    read, told = met_by_an_actor(ours, speaking(old))
    assert isinstance(read, ssl.SSLError) and isinstance(told, _actor_wire.Refused)


def test_a_plain_caller_gets_no_greeting(authorities):
    def plain(sock):
        sock.sendall(b"\0" * 64)  # As if it had read a challenge.
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while more := sock.recv(100):
                data += more
        return data
    ours, _ = authorities
    read, told = met_by_an_actor(ours, plain)
    assert _actor_wire.MAGIC not in read and len(read) < 20  # An alert.
    assert isinstance(told, _actor_wire.Refused)


def test_an_actor_with_the_certificate_of_another_user_is_not_believed(authorities):
    """Eve listens where an actor of ada is said to be, and has its key."""
    ours, _ = authorities
    here, there = pair("tcp")
    thread, told = side(lambda: accepted(there, ours.shown("eve"), "eve"))
    peer = _actor_calls.Peer("identity", "job", "counter", False, ours.shown("ada"))
    with here, pytest.raises(_actor_wire.Denied, match="a process of user 'eve' with the role client answers"):
        peer._secured("tls", here, {"user": "eve"})
    thread.join(30)
    assert isinstance(told[0], (OSError, _actor_wire.Refused))


def test_neither_side_is_led_to_plain_connections(authorities):
    ours, _ = authorities
    for shown, kind in ((ours.shown("ada"), "tcp"), (None, "tls")):
        peer = _actor_calls.Peer("identity", "job", "counter", False, shown)
        with pytest.raises(_actor_wire.Denied, match=f"listens by {kind}"):
            peer._secured(kind, None, {})


def test_a_handshake_has_its_time(authorities, monkeypatch):
    ours, _ = authorities
    here, there = pair("tcp")
    began = time.monotonic()
    with here, there:
        monkeypatch.setattr(_actor_wire, "HANDSHAKE_S", 0.2)
        here.sendall(bytes.fromhex("1603010200010001fc0303"))  # The beginning of a greeting.
        with pytest.raises((_actor_wire.Refused, OSError), match="took too long|timed out"):
            accepted(there, ours.shown("ada"))
    assert time.monotonic() - began < 5


def test_frames_arrive_as_they_left_in_both_directions_at_once(authorities):
    ours, _ = authorities
    caller, actor = together(ours.shown("ada"), ours.shown("ada"))
    raws = [memoryview(os.urandom(size)) for size in (0, 1, 16_384, 16_385, 700_001, 5 << 20)]

    def send(channel):
        for number in range(30):
            _actor_wire.send(channel, _actor_wire.CALL, number, b"x" * 3_000 * number, raws if number % 10 == 0 else ())

    def read(channel):
        reader = _actor_wire.FrameReader(channel)
        for number in range(30):
            _, seen, data, buffers = reader.read()
            assert (seen, bytes(data)) == (number, b"x" * 3_000 * number)
            assert [bytes(buffer) for buffer in buffers] == ([bytes(raw) for raw in raws] if number % 10 == 0 else [])
        return "read"
    sides = [side(lambda f=f, c=c: f(c)) for f, c in ((send, caller), (send, actor), (read, caller), (read, actor))]
    for thread, _ in sides:
        thread.join(60)
    assert [told for _, told in sides] == [[None], [None], ["read"], ["read"]]
    actor.close()
    assert caller.recv_into(bytearray(10)) == 0
    caller.close()


def test_a_byte_that_was_changed_on_its_way_is_noticed(authorities):
    ours, _ = authorities
    caller, actor = together(ours.shown("ada"), ours.shown("ada"))
    sealed = bytearray(caller.seal(_actor_wire.HEAD.pack(_actor_wire.PING, 0, 0, 1, 0)))
    sealed[-1] ^= 1
    caller.below.sendall(sealed)
    with pytest.raises(OSError, match="BAD_RECORD_MAC|bad record mac"):
        _actor_wire.FrameReader(actor).read()
    caller.close()
    actor.close()


def as_user(user, code, *words):
    return subprocess.Popen(["/usr/bin/python3", "-c", "import socket, sys; one = socket.socket(socket.AF_UNIX); " + code, *words],
                            user=user, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_a_socket_of_the_host_is_for_one_user(monkeypatch):
    host = type("Host", (), {"record": {"user": "ada"}})()
    listener = _actor_wire.Listener(None)
    try:
        kind, name, token = listener.addresses[0]
        for user in (0, 64001):
            with as_user(user, "one.connect('\\0' + sys.argv[1]); sys.stdin.read()", name[1:]) as other:
                with listener.sockets[0].accept()[0] as sock:
                    if user == 0:
                        assert _actor_host.Host.secured(host, sock) is sock
                    else:
                        with pytest.raises(_actor_wire.Refused, match="a process of another user"):
                            _actor_host.Host.secured(host, sock)
                other.stdin.close()
    finally:
        listener.close()
    listens = "one.bind('\\0' + sys.argv[1]); one.listen(); print(flush=True); sys.stdin.read()"
    with as_user(64001, listens, name[1:]) as other:
        other.stdout.readline()
        monkeypatch.setattr(_actor_wire.os, "geteuid", lambda: 64002)
        with pytest.raises(_actor_wire.Refused, match="a process of another user"):
            _actor_wire.connect({"addresses": [(kind, name, token)], "key": KEY})
        other.stdin.close()


# ---- a cluster ----

@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path, workers=("w1",))
    yield made
    made.end()


def by_network(handle, client, monkeypatch):
    """A handle as on another host."""
    monkeypatch.setattr(_actor_wire, "host_token", lambda: "another host")
    facts = handle._facts
    copy = actors.Actor(facts, client)
    copy._peer = _actor_calls.Peer(facts["identity"], facts["job"], "copy", False, client)
    return copy


AS_BOB = """
import json, sys
from penstock import Client, _actor_wire, actors, errors
_actor_wire.host_token = lambda: "another host"
facts = dict(json.loads(sys.argv[2]), methods=frozenset(["add"]))
with Client(sys.argv[1]) as client:
    try:
        print(actors.Actor(facts, client).add().result(60))
    except errors.PermissionDenied as error:
        print(error)
"""


def test_an_actor_of_a_cluster_is_called_by_tls_and_only_by_its_user(cluster, monkeypatch, tmp_path):
    with Client(cluster.address) as client:
        await_workers(client, "w1")
        counter = actors.ready(client.actor(Counter, 1), 60)
        record = actors.records.peek(actors.records.at(counter._facts["identity"], client))
        assert [kind for kind, *_ in record["addresses"]] == ["unix", "tls"]
        copy = by_network(counter, client, monkeypatch)
        assert copy.add().result(60) == 2
        assert isinstance(copy._peer._connection.sock, _actor_tls.Secured)
        assert len(copy.echo(bytes(3_000_000)).result(60)) == 3_000_000
        log_in(cluster, "bob", tmp_path / "bob")
        facts = {name: value for name, value in counter._facts.items() if name != "methods"}
        told = subprocess.run([sys.executable, "-c", AS_BOB, cluster.address, json.dumps(facts)], capture_output=True, text=True,
                              timeout=120, check=False, env={**os.environ, "PENSTOCK_CONFIG_DIR": str(tmp_path / "bob"),
                                                             "PYTHONPATH": os.pathsep.join(sys.path)})
        assert "belongs to user" in told.stdout and "user 'bob' with the role client" in told.stdout, told
        assert copy.add().result(60) == 3


def as_a_worker(handle):
    """Calls the actor by the network from a call, and one that the call makes."""
    _actor_wire.host_token = lambda: "a host of its own"
    client = penstock.get_client()
    own = client.actor(Counter, 10)
    shown = _identity.shown_by(client)
    assert penstock.get_actor("theirs").value == 1
    return shown.identity.role, handle.add().result(60), own.add().result(60), type(own._peer._connection.sock).__name__


@pytest.fixture
def without_logins(tmp_path, monkeypatch):
    """A cluster with a worker as on a host on which nobody has logged in."""
    made = Cluster(tmp_path, workers=())
    token = subprocess.run([str(BINARY), "token", "create", "--role", "worker", "--state", str(tmp_path / "state")],
                           capture_output=True, text=True, timeout=60, check=True).stdout
    (tmp_path / "token").write_text(token)
    (tmp_path / "token").chmod(0o600)
    with monkeypatch.context() as patch:
        patch.setenv("PENSTOCK_CONFIG_DIR", str(tmp_path / "of-the-worker"))
        made.start("worker", "--supervisor", made.address, "--name", "w1", "--slots", "2", "--no-gpus",
                   "--join-file", str(tmp_path / "token"))
    yield made
    made.end()


def test_actors_and_callers_may_have_the_certificate_of_their_worker_alone(without_logins, monkeypatch):
    with Client(without_logins.address) as client:
        await_workers(client, "w1")
        counter = actors.ready(client.actor(Counter, 1, name="theirs"), 60)
        record = actors.records.peek(actors.records.at(counter._facts["identity"], client))
        assert record["user"] == _identity.shown_by(client).identity.user and record["worker"] == "w1"
        assert client.submit(as_a_worker, counter).result(60) == ("worker", 2, 11, "Secured")
        assert by_network(counter, client, monkeypatch).add().result(60) == 3


THAT_DIES = """
import sys
from actor_classes import Counter
from penstock import Client, actors
with Client(sys.argv[1]) as client:
    counter = actors.ready(client.actor(Counter, 1, restarts=-1), 60)
    print(counter._peer.job, flush=True)
    sys.stdin.read()
"""


def test_such_an_actor_ends_with_its_owner_although_it_may_not_cancel_its_job(without_logins):
    with Client(without_logins.address) as client:
        await_workers(client, "w1")
        owner = subprocess.Popen([sys.executable, "-c", THAT_DIES, without_logins.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        with owner:
            job = owner.stdout.readline().strip()
            assert client.ask("job", job)["state"] == "running"
            owner.kill()
        until(lambda: client.ask("job", job)["state"] == "failed")


def test_a_certificate_that_was_renewed_is_shown_from_then_on(tmp_path, monkeypatch):
    home = pathlib.Path(os.environ["PENSTOCK_CONFIG_DIR"])
    cluster = Cluster(tmp_path, workers=("w1",), settings=("security.certificate_life=10s",))
    try:
        with Client(cluster.address) as client:
            await_workers(client, "w1")
            counter = actors.ready(client.actor(Counter, 1), 60)
            first = _identity.shown_by(client)
            file, = [one for one in home.glob("clusters/*/admin.pem") if one.read_bytes() == first.pem]
            until(lambda: file.read_bytes() != first.pem, 30)
            copy = by_network(counter, client, monkeypatch)
            assert copy.add().result(60) == 2
            ended = time.monotonic() + 10
            until(lambda: time.monotonic() > ended, 30)  # The first one is over.
            copy._peer._connection.close()
            until(lambda: copy._peer._connection is None)
            assert copy.add().result(60) == 3
            assert _identity.shown_by(client).pem != first.pem
    finally:
        cluster.end()


def test_an_expired_certificate_is_named():
    error = ssl.SSLError(1, "alert certificate expired")
    error.reason = "SSLV3_ALERT_CERTIFICATE_EXPIRED"
    assert "which has expired" in str(_actor_tls.told(error))
