"""An actor whose process is killed again and again while several processes call it: what was answered has run, and in order."""
import collections
import os
import subprocess
import sys
import threading

import pytest
from actor_classes import until
from test_actor_faults import environment, kill, parent_of
from test_cluster import Cluster, await_workers

from penstock import Client, actors

CALLERS, WINDOW, KILLS, BETWEEN = 3, 25, 5, 300


class Notes:
    """Writes down each call before it answers."""

    def __init__(self, path):
        self.file, self.life = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), os.urandom(4).hex()

    def note(self, caller, number):
        os.write(self.file, f"{self.life} {caller} {number}\n".encode())
        return number


CALLER = """
import itertools, os, sys, penstock
from penstock import Client
address, caller, window, stop = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
with Client(address) as client:
    notes = penstock.get_actor("notes")
    for first in itertools.count(0, window):
        if os.path.exists(stop):
            break
        futures = [notes.note(caller, number) for number in range(first, first + window)]
        for number, future in enumerate(futures, first):
            try:
                assert future.result(120) == number
                print("answered")
            except penstock.ActorDied:
                print("died")
"""


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def has_run(path, lives):
    """Whether this life of the actor has had its calls."""
    ran = collections.Counter(line.split()[0] for line in lines(path))
    return len(ran) == lives and min(ran.values()) >= BETWEEN


def run_callers(client, address, path):
    """Starts them, kills the actor's process, and once its worker, as they go; what each was told of its calls."""
    stop = path.with_name("stop")
    callers = [subprocess.Popen([sys.executable, "-c", CALLER, address, str(caller), str(WINDOW), str(stop)],
                                stdout=subprocess.PIPE, text=True, env=environment()) for caller in range(CALLERS)]
    answers = [[] for _ in callers]
    readers = [threading.Thread(target=lambda one=one, told=told: told.extend(one.stdout.read().split()))
               for one, told in zip(callers, answers)]
    for reader in readers:
        reader.start()
    try:
        for turn in range(KILLS + 1):
            until(lambda: has_run(path, turn + 1))
            pid = actors.list(client)[0]["pid"]
            if turn < KILLS:
                kill(parent_of(pid) if turn == 2 else pid)
        stop.touch()
        for reader in readers:
            reader.join(120)
        return answers
    finally:
        for caller in callers:
            caller.kill()
            caller.wait(30)
            caller.stdout.close()


@pytest.mark.parametrize("retry_calls", [False, True])
def test_calls_run_in_order_and_as_often_as_was_said(tmp_path, retry_calls):
    cluster, path = Cluster(tmp_path), tmp_path / "notes"
    try:
        with Client(cluster.address) as client:
            await_workers(client, "w1", "w2")
            client.actor(Notes, str(path), name="notes", restarts=-1, retry_calls=retry_calls)
            told = run_callers(client, cluster.address, path)
    finally:
        cluster.end()
    ran, orders = collections.Counter(), collections.defaultdict(list)
    for line in lines(path):
        life, caller, number = line.split()
        ran[int(caller), int(number)] += 1
        orders[life, caller].append(int(number))
    assert len({life for life, _ in orders}) == KILLS + 1
    for numbers in orders.values():
        assert numbers == sorted(set(numbers)), "calls of one process run in their order, in each life once"
    assert all(answers and len(answers) % WINDOW == 0 for answers in told)
    for caller, answers in enumerate(told):
        for number, answer in enumerate(answers):
            if answer == "answered":
                assert ran[caller, number] >= 1
            if not retry_calls:
                assert ran[caller, number] <= 1
    if retry_calls:
        assert not any("died" in answers for answers in told)
    else:
        assert any("died" in answers for answers in told)
