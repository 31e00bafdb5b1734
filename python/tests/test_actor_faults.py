"""Actors on clusters of processes: what becomes of them, their names and their calls when processes die."""
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading

import numpy
import pytest
from actor_classes import Counter, Listed, OnceBroken, dies, until
from test_cluster import BINARY, Cluster, await_workers, cluster  # noqa: F401

import penstock
from penstock import Client, _actor_calls, _actor_host, _actor_wire, actors, coordination, errors


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


def under_way(handle, tmp_path):
    """A call that has begun and does not end by itself."""
    began = tmp_path / f"began-{os.urandom(4).hex()}"
    future = handle.note_and_wait(str(began), str(tmp_path / "go"))
    until(began.exists)
    return future


@pytest.fixture
def client(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        yield client


def test_a_killed_process_is_told_to_its_calls_and_ends_an_actor_without_restarts(client, tmp_path):
    counter = client.actor(Counter, 1, name="mortal")
    future = under_way(counter, tmp_path)
    kill(actors.list(client)[0]["pid"])
    with pytest.raises(errors.ActorDied, match="while the call was under way: it may have run"):
        future.result(30)
    assert "started again 0 times at most" in str(dies(counter))
    again = client.actor(Counter, 2, name="mortal")
    assert again.value == 2, "the name was free"
    again.kill()


def test_an_actor_is_made_again_as_often_as_was_said(client, tmp_path):
    counter = client.actor(Counter, 1, restarts=2)
    for starts in (1, 2):
        assert counter.add().result(60) == 2, "its state is that of its constructor"
        assert actors.list(client)[0]["starts"] == starts
        future = under_way(counter, tmp_path)
        kill(actors.list(client)[0]["pid"])
        with pytest.raises(errors.ActorDied):
            future.result(30)
    assert counter.add().result(60) == 2
    kill(counter.pid().result(60))
    assert "started again 2 times at most" in str(dies(counter))


def test_calls_are_made_again_in_their_order_where_that_is_wanted(client, tmp_path):
    listed = client.actor(Listed, restarts=-1, retry_calls=True)
    actors.ready(listed, 60)
    pid = actors.list(client)[0]["pid"]
    os.kill(pid, signal.SIGSTOP)
    futures = [listed.note(numpy.full(5, number)) for number in range(50)]
    kill(pid)
    for future in futures:
        future.result(60)
    assert [array[0] for array in listed.seen] == list(range(50))


def test_a_method_that_ends_its_process_is_a_death(client):
    counter = client.actor(Counter, restarts=1)
    with pytest.raises(errors.ActorDied):
        counter.end_process().result(30)
    assert counter.add().result(60) == 1


def test_a_constructor_that_ends_its_process_uses_a_restart(client, tmp_path):
    assert client.actor(OnceBroken, str(tmp_path / "note"), restarts=1).there().result(60) is True
    broken = client.actor(OnceBroken, str(tmp_path / "other"))
    with pytest.raises(errors.ActorDied, match="started again 0 times"):
        broken.there().result(60)


def test_kill_with_restart_uses_one(client):
    counter = client.actor(Counter, restarts=1)
    before = counter.pid().result(60)
    actors.kill(counter, restart=True)
    with contextlib.suppress(errors.ActorDied):  # It may be sent while the process ends.
        counter.add().result(60)
    assert counter.pid().result(60) != before


def test_kill_ends_a_method_that_runs_and_frees_the_slot(client, tmp_path):
    counter = client.actor(Counter, name="killed", keep_slot=True, slots=1)
    future = under_way(counter, tmp_path)
    counter.kill()
    with pytest.raises(errors.ActorDied):
        future.result(30)
    assert "was killed" in str(dies(counter))
    assert client.gather(client.map(abs, [-1, -2, -3])) == [1, 2, 3]


def test_kill_ends_threads_that_nothing_interrupts(client, tmp_path):
    counter = client.actor(Counter, max_concurrency=2)
    future = under_way(counter, tmp_path)
    pid = actors.list(client)[0]["pid"]
    counter.kill()
    with pytest.raises(errors.ActorDied):
        future.result(30)
    until(lambda: not os.path.exists(f"/proc/{pid}"))


@pytest.mark.parametrize("overlap", ["allow", "never"])
def test_an_actor_moves_when_its_worker_is_killed(cluster, client, tmp_path, overlap):  # noqa: F811
    await_workers(client, "w1", "w2")
    counter = client.actor(Counter, 1, restarts=3, overlap=overlap, name="moves")
    assert counter.add().result(60) == 2
    before = actors.list(client)[0]
    future = under_way(counter, tmp_path)
    kill(parent_of(before["pid"]))
    with pytest.raises(errors.ActorDied):
        future.result(30)
    until(lambda: not os.path.exists(f"/proc/{before['pid']}"))
    assert counter.add().result(60) == 2
    after = penstock.get_actor("moves", client)
    assert after.add().result(60) == 3
    assert {before["worker"], actors.list(client)[0]["worker"]} == {"w1", "w2"}


def test_an_actor_runs_on_the_worker_that_was_asked_for(client):
    await_workers(client, "w1", "w2")
    for worker in ("w1", "w2", "w1"):
        pinned = client.actor(Counter, workers=worker)
        actors.ready(pinned, 60)
        assert [row["worker"] for row in actors.list(client)] == [worker]
        pinned.kill()
        dies(pinned)


def test_actors_and_their_names_outlive_the_supervisor(cluster, client, tmp_path):  # noqa: F811
    counter = client.actor(Counter, 1, name="kept", restarts=1)
    pid = counter.pid().result(60)
    cluster.kill_supervisor()
    assert counter.add().result(60) == 2, "calls do not go by the supervisor"
    cluster.supervise(cluster.address)
    with Client(cluster.address, timeout=30) as other:
        found = penstock.get_actor("kept", other)
        assert found.add().result(60) == 3 and found.pid().result(60) == pid
        with pytest.raises(errors.PenstockError, match="there is an actor of this name"):
            other.actor(Counter, name="kept")
        kill(pid)
        until(lambda: [row["starts"] for row in actors.list(other)] == [2])
        assert found.value == 1, "it was made again"
        found.kill()
        dies(found)
        assert other.actor(Counter, 9, name="kept").value == 9


def test_an_actor_that_dies_while_the_supervisor_is_away_is_made_again_when_it_is_back(cluster, client):  # noqa: F811
    counter = client.actor(Counter, 1, restarts=1)
    pid = counter.add().result(60) and counter.pid().result(60)
    cluster.kill_supervisor()
    kill(pid)
    future = counter.add()
    cluster.supervise(cluster.address)
    with contextlib.suppress(errors.ActorDied):  # It may have been sent before the connection ended.
        assert future.result(60) == 2
    until(lambda: [row["starts"] for row in actors.list(client)] == [2])
    assert counter.value in (1, 2)


OWNER = """
import sys, penstock
from penstock import Client, _actor_wire, coordination
from actor_classes import Counter
if sys.argv[2] == "elsewhere":  # Only the lease tells of the end of a process on another host.
    _actor_wire.host_token, coordination.LEASE_S = lambda: "another host", 1.0
client = Client(sys.argv[1])
kept = client.actor(Counter, 1, name="kept")
ends = client.actor(Counter, 2)
print(kept.pid().result(60), ends.pid().result(60), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["killed", "killed elsewhere", "closed"])
def test_an_actor_without_a_name_ends_with_the_process_that_made_it(cluster, client, how):  # noqa: F811
    owner = subprocess.Popen([sys.executable, "-c", OWNER, cluster.address, how.split()[-1]], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert len(owner.stdout.readline().split()) == 2
        assert len(actors.list(client)) == 2
    finally:
        owner.stdin.close() if how == "closed" else owner.kill()
        owner.wait(30)
        owner.stdout.close()
    until(lambda: [row["name"] for row in actors.list(client)] == ["kept"], coordination.LEASE_S / 2)
    assert penstock.get_actor("kept", client).value == 1


def test_an_actor_ends_with_its_last_handle_in_the_process_that_made_it(client):
    counter, other = client.actor(Counter, 1), None
    other = counter
    assert counter.add().result(60) == 2
    del counter
    gc.collect()
    assert other.add().result(60) == 3
    del other
    gc.collect()
    until(lambda: not actors.list(client))


def left_of(client):
    """What the supervisor keeps for actors."""
    return sorted(row["name"].split()[0] for row in client.ask("shared", "list") if row["name"].startswith("penstock.actor"))


def test_nothing_is_left_of_actors_that_have_ended(client):
    for number in range(2):
        for _ in range(3):
            counter = client.actor(Counter, 1)
            assert counter.value == 1
            del counter
            gc.collect()
        named = client.actor(Counter, 1, name="named")
        named.kill()
        named = client.actor(Counter, 1, name="named")
        assert named.value == 1, "who creates one waits until the one before has ended"
        kill(named.pid().result(60))
        dies(named)
        until(lambda: left_of(client) == ["penstock.actor.owner"])


def test_calls_whose_futures_nobody_keeps_are_made(client, tmp_path):
    client.actor(Counter).note_and_wait(str(tmp_path / "began"), str(tmp_path / "go")).add_done_callback(
        lambda future: (tmp_path / "ended").write_text(str(future.exception())))
    until((tmp_path / "began").exists)
    gc.collect()
    (tmp_path / "go").touch()
    until((tmp_path / "ended").exists)
    until(lambda: (tmp_path / "ended").read_text() == "None")
    gc.collect()
    until(lambda: not actors.list(client))


@pytest.mark.parametrize("restarts", [0, 1])
def test_an_actor_leaves_a_worker_that_is_drained_which_is_no_restart(cluster, client, restarts):  # noqa: F811
    await_workers(client, "w1", "w2")
    counter = client.actor(Counter, 1, name="drained", restarts=restarts)
    assert counter.add().result(60) == 2
    before = actors.list(client)[0]
    subprocess.run([str(BINARY), "drain", "--supervisor", cluster.address, before["worker"], "--now"], check=True,
                   stdout=subprocess.DEVNULL)
    until(lambda: [row["worker"] not in ("", before["worker"]) for row in actors.list(client)] == [True])
    assert actors.list(client)[0]["starts"] == 1
    assert penstock.get_actor("drained", client).value == 1, "it is made anew"


def test_callers_elsewhere_hear_of_a_death_at_once(client, tmp_path):
    """Also those that wait in a call of another process."""
    counter = client.actor(Counter, 1, name="heard")
    actors.ready(counter, 60)

    def wait(handle, began, path):
        try:
            return handle.note_and_wait(began, path).result(60)
        except penstock.ActorDied as error:
            return str(error)
    told = client.submit(wait, counter, str(tmp_path / "began"), str(tmp_path / "go"))
    until((tmp_path / "began").exists)
    kill(actors.list(client)[0]["pid"])
    assert "while the call was under way" in told.result(30)


def test_an_actor_on_another_host_is_reached_by_tcp(client, monkeypatch):
    """As if the hosts were others: the socket of the host is not tried then."""
    counter = client.actor(Counter, 1)
    actors.ready(counter, 60)
    reached = []
    monkeypatch.setattr(_actor_wire, "host_token", lambda: "another host")
    connect = _actor_wire.socket.create_connection
    monkeypatch.setattr(_actor_wire.socket, "create_connection",
                        lambda place, *rest: reached.append(place) or connect(place, *rest))
    copy, facts = actors.Actor(counter._facts, client), counter._facts
    copy._peer = _actor_calls.Peer(facts["identity"], facts["job"], "copy", False, client)
    assert copy.add().result(60) == 2
    array = numpy.arange(2_000_000.0)
    assert numpy.array_equal(copy.echo(array).result(60), array)
    assert reached and reached[0][0] == "127.0.0.1"
    assert counter.add().result(60) == 3


def test_a_connection_that_is_cut_is_made_again_and_the_state_is_there(client, tmp_path):
    counter = client.actor(Counter, 1)
    assert counter.add().result(60) == 2
    future = under_way(counter, tmp_path)
    counter._peer._connection.sock.shutdown(socket.SHUT_RDWR)
    with pytest.raises(errors.ActorDied, match="died, or its connection was lost"):
        future.result(30)
    later = counter.add()
    (tmp_path / "go").touch()
    assert later.result(60) == 3 and actors.list(client)[0]["starts"] == 1


def test_an_actor_that_no_address_leads_to_is_named(client, monkeypatch):
    counter = client.actor(Counter, 1)
    actors.ready(counter, 60)
    monkeypatch.setattr(_actor_calls, "UNREACHED_S", 0.2)
    monkeypatch.setattr(_actor_wire, "connect", lambda record, secure: (_ for _ in ()).throw(OSError("no route")))
    facts = counter._facts
    stranger = actors.Actor(facts, client)
    stranger._peer = _actor_calls.Peer(facts["identity"], facts["job"], "stranger", False, client)
    with pytest.raises(errors.ConnectionFailed, match="stranger: runs at 127.0.0.1:.* and cannot be reached there from here"):
        stranger.add().result(60)
    monkeypatch.undo()
    assert stranger.add().result(60) == 2, "a later call tries again"


def test_the_lock_of_an_owner_is_renewed(client, monkeypatch):
    monkeypatch.setattr(coordination, "LEASE_S", 1.0)
    with Client(client.address) as other:
        counter = other.actor(Counter, 1)
        actors.ready(counter, 60)
        lock = next(row for row in client.ask("shared", "list") if "owner" in row["name"])
        assert lock["holders"] == 1 and lock["waiting"] == 1


def test_a_worker_of_one_slot_has_many_actors(tmp_path):
    made = Cluster(tmp_path, workers=("only",))
    try:
        with Client(made.address) as client:
            many = [client.actor(Counter, number) for number in range(5)]
            assert [one.value for one in many] == list(range(5))
    finally:
        made.end()


class Pressed(Counter):
    """With limits that a test reaches."""

    def __init__(self, path):
        super().__init__()
        _actor_host.PENDING_MAX, _actor_host.STALL_S = 20, 1
        self.path, self.bytes = path, b"x" * 500_000

    def add(self, amount=1):
        until(lambda: os.path.exists(self.path))
        return super().add(amount)

    def much(self):
        return self.bytes


def test_a_caller_is_held_up_where_too_many_calls_wait(client, tmp_path):
    pressed, go, sent = client.actor(Pressed, str(tmp_path / "go")), tmp_path / "go", []
    actors.ready(pressed, 60)

    def call():
        for _ in range(20_000):
            sent.append(pressed.add())
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    seen = []

    def has_stopped():
        seen.append(len(sent))
        return len(seen) > 40 and len(set(seen[-40:])) == 1
    until(has_stopped)
    assert 20 <= len(sent) < 5_000, "the actor reads few, and a socket holds hundreds"
    go.touch()
    thread.join(60)
    assert sent[-1].result(60) == 20_000


STUCK = """
import os, signal, sys, penstock
from penstock import Client
client = Client(sys.argv[1])
pressed = penstock.get_actor("pressed")
pressed.much().result(60)
futures = [pressed.much() for _ in range(15)]
os.kill(os.getpid(), signal.SIGSTOP)
try:
    for future in futures:
        future.result(60)
except penstock.ActorDied:
    print("cut off", flush=True)
print(len(pressed.much().result(60)), flush=True)
"""


def test_a_caller_that_takes_no_answers_is_cut_off_and_others_go_on(cluster, client, tmp_path):  # noqa: F811
    pressed = client.actor(Pressed, str(tmp_path), name="pressed")
    actors.ready(pressed, 60)
    stuck = subprocess.Popen([sys.executable, "-c", STUCK, cluster.address], stdout=subprocess.PIPE, text=True,
                             env=environment())
    try:
        until(lambda: open(f"/proc/{stuck.pid}/stat").read().rpartition(")")[2].split()[0] == "T")
        assert pressed.add().result(60) == 1
        os.kill(stuck.pid, signal.SIGCONT)
        assert stuck.stdout.read().split() == ["cut", "off", "500000"]
    finally:
        stuck.kill()
        stuck.wait(30)
        stuck.stdout.close()


STOPPED = """
import os, signal, sys, penstock
from penstock import Client
client = Client(sys.argv[1])
maker = penstock.get_actor("maker")
maker.make(1).result(60)
futures = [maker.make(20_000) for _ in range(500)]
os.kill(os.getpid(), signal.SIGSTOP)
print(sum(len(future.result(60)) for future in futures), flush=True)
"""


class Maker(Counter):
    def make(self, size):
        return b"x" * size


# An actor stood still for a minute while a stopped caller took none of its answers.
def test_a_stopped_caller_holds_up_no_other_and_gets_its_answers_when_it_goes_on(cluster, client):  # noqa: F811
    maker = client.actor(Maker, name="maker")
    actors.ready(maker, 60)
    stopped = subprocess.Popen([sys.executable, "-c", STOPPED, cluster.address], stdout=subprocess.PIPE, text=True,
                               env=environment())
    try:
        until(lambda: open(f"/proc/{stopped.pid}/stat").read().rpartition(")")[2].split()[0] == "T")
        assert maker.add().result(8) == 1
        os.kill(stopped.pid, signal.SIGCONT)
        assert stopped.stdout.read().split() == [str(500 * 20_000)]
    finally:
        stopped.kill()
        stopped.wait(30)
        stopped.stdout.close()


# Nine hundred silent connections took 270 MB of an actor, which died of its limit.
def test_connections_that_prove_nothing_give_way_and_take_no_memory(client):
    victim = client.actor(Counter, name="victim")
    assert victim.add().result(60) == 1
    identity = actors.list(client)[0]["job"].split()[-1]
    addresses = penstock.Variable(f"penstock.actor.at {identity}", client).get(10)["addresses"]
    kind, *where = next(address for address in addresses if address[0] == "tls")
    silent = [socket.create_connection(tuple(where)) for _ in range(200)]
    try:
        def are_cut_off():
            ended = 0
            for one in silent[:200 - _actor_host.UNPROVEN_MAX]:
                one.settimeout(1)
                with contextlib.suppress(OSError):
                    while one.recv(4096):
                        pass
                    ended += 1
            return ended
        assert are_cut_off() == 200 - _actor_host.UNPROVEN_MAX
        assert penstock.get_actor("victim", client=client).add().result(20) == 2
    finally:
        for one in silent:
            one.close()


def test_actors_beyond_the_slots_that_may_be_lent_keep_theirs(cluster, client):  # noqa: F811
    cluster.start("worker", "--supervisor", cluster.address, "--name", "w3", "--slots", "2", "--memory", "1GiB", "--no-gpus",
                  "--set", "worker.yields_max=1")
    await_workers(client, "w3")
    many = [client.actor(Counter, number, workers="w3") for number in range(3)]
    assert [one.value for one in many] == [0, 1, 2], "one has lent its slot, two have one each"
    blocked = client.submit(abs, -1, workers="w3")
    with pytest.raises(TimeoutError):
        blocked.result(0.2)
    many[1].kill()
    many[2].kill()
    assert blocked.result(60) == 1


def test_operators_see_and_end_actors(cluster, client):  # noqa: F811
    counter = client.actor(Printing, name="printing")
    assert counter.say("hello").result(60) is None
    job = actors.list(client)[0]["job"]

    def penstock_says(*words):
        return subprocess.run([str(BINARY), *words, "--supervisor", cluster.address], capture_output=True, text=True,
                              check=True).stdout
    assert job in penstock_says("jobs")
    until(lambda: "hello" in penstock_says("logs", job))
    penstock_says("cancel", job)
    assert "was killed" in str(dies(counter))


class Printing(Counter):
    def say(self, text):
        print(text, flush=True)
