"""Much of one thing at once: F20, F23, F30, F31, F32."""
import json
import os
import re
import subprocess
import time

from cluster import Broken, peak_kib, resident_kib, wait_for
from case import Skipped, vitals
from oracle import witness_job


def stand_behind():
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def expect_large_jobs(cluster, subtasks, bytes_each=32):
    """The allocator keeps more of what a large graph has needed than of a small one; a second one leaves nothing more."""
    cluster.spare_kib += subtasks * bytes_each // 1024


class Client:
    """`chaos_client`, which is built beside the binary."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.program = os.path.join(os.path.dirname(cluster.binary), "chaos_client")
        if not os.access(self.program, os.X_OK):
            raise Skipped("chaos_client is not built beside the binary")

    def begin(self, command, *arguments, elsewhere=False):
        """`elsewhere`: as if on another machine. It takes no processor time that anybody here wants."""
        process = subprocess.Popen([self.program, command, self.cluster.address, *map(str, arguments)], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=elsewhere, preexec_fn=stand_behind if elsewhere else None)
        if elsewhere:
            try:  # Where the kernel groups sessions, the group's own priority counts.
                with open(f"/proc/{process.pid}/autogroup", "w", encoding="ascii") as file:
                    file.write("19")
            except OSError:
                pass
        return process

    def result(self, process, seconds=300):
        output, errors = process.communicate(timeout=seconds)
        if process.returncode != 0:
            raise Broken("chaos_client: " + errors)
        return json.loads(output.splitlines()[-1])

    def call(self, command, *arguments):
        return self.result(self.begin(command, *arguments))


def peak_mib_of(errors):
    """What `chaos_client` says of its own memory."""
    return int(re.search(r"VmHWM:\s*(\d+) kB", errors).group(1)) / 1024


def huge_graphs(case):
    """F20: more than the limits allow; another client beside it. In the world the client that makes such a graph is another
    machine: what is measured is the supervisor, so that the calm one has the making of such graphs beside it, too."""
    subtasks = 50_000_000 if case.full else 1_000_000
    settings = (f"graph.subtasks_max={subtasks // 2}", "graph.payload_bytes_max=100MiB")
    cluster = case.cluster(workers=1, settings=settings)
    expect_large_jobs(cluster, subtasks)
    cluster.spare_kib += 32 << 10  # A hundred clients, one after the other.
    client = Client(cluster)
    before = vitals(cluster.supervisor.pid)
    seconds = 10 if case.full else 2
    refusals, client_mib = 0, 0.0

    def p99_beside(command):
        """`command` is begun again and again: nearly all that is measured is beside one."""
        nonlocal refusals, client_mib
        probe = client.begin("probe", seconds, "-")
        while command and probe.poll() is None:
            other = client.begin(*command, elsewhere=True)
            _, errors = other.communicate(timeout=300)
            if command[0] == "make":
                continue
            case.expect(other.returncode == 2 and "graph.subtasks_max" in errors,
                        f"not refused with the limit named: {errors}")
            refusals += 1
            client_mib = max(client_mib, peak_mib_of(errors))
        return client.result(probe)["p99_ms"]

    huge = ("huge", "flat", subtasks, 0, "-")
    commands = ((), ("make", "flat", subtasks), ("submit", *huge), ("submit-untold", *huge))
    # In turn: whoever else uses the machine disturbs all alike.
    rounds = [[p99_beside(command) for command in commands] for _ in range(3)]
    alone, made, told, untold = (sorted(of_command)[1] for of_command in zip(*rounds))
    case.figure("refusals meanwhile", refusals, "graphs", at_least=2)
    case.figure("p99 of others, alone", alone, "ms")
    case.figure("p99 of others, beside the making of such graphs", made, "ms")
    case.figure("p99 of others, beside their refusals", told, "ms", at_most=2 * made)
    case.figure("p99 of others, beside those that do not say how large they are", untold, "ms", at_most=max(2 * made, 20))
    grown = peak_kib(cluster.supervisor.pid) - before[0]
    # A chunk of each column, the graph up to its limit (28 bytes a subtask), and what the allocator keeps.
    case.figure("memory at most", grown / 1024, "MiB", at_most=64 + subtasks // 2 * 60 / (1 << 20))
    # Its graph has two numbers for each subtask.
    case.figure("memory of the client at most", client_mib, "MiB", at_most=128 + subtasks * 8 / (1 << 20))
    case.expect(not any(row["name"] == "huge" for row in cluster.ask("jobs", "--all")), "something of it is there")
    job = client.call("submit", "fits", "flat", 1000, 0, "-")
    case.judge(cluster, cluster.wait_for_end(f"job-{job['job']}"))
    huge_payloads(case)


def huge_payloads(case):
    """F20, in bytes: 5 GB of payloads that no process holds."""
    sent = 5 * 1024 if case.full else 512
    cluster = case.cluster(workers=1, settings=("graph.payload_bytes_max=100MiB",))
    cluster.spare_kib += 100 << 10  # The allocator keeps up to what was allowed.
    client = Client(cluster)
    before = vitals(cluster.supervisor.pid)
    # The rest of what it sends is passed over as it comes.
    for name in ("stream-1", "stream-2"):
        refused = client.begin("stream", name, sent, elsewhere=True)
        _, errors = refused.communicate(timeout=300)
        case.expect(refused.returncode == 2 and "graph.payload_bytes_max" in errors,
                    f"not refused with the limit named: {errors}")
        case.figure(f"{sent} MiB of payloads: memory of the client", peak_mib_of(errors), "MiB", at_most=128)
    grown = peak_kib(cluster.supervisor.pid) - before[0]
    # What is kept of a graph grows by doubling, and as much may wait for whoever checks it.
    case.figure(f"{sent} MiB of payloads: memory at most", grown / 1024, "MiB", at_most=400)
    case.judge(cluster, cluster.wait_for_end(f"job-{client.call('submit', 'fits', 'flat', 100, 0, '-')['job']}"))


def long_and_wide(case):
    """F23: time and memory of chains and fans grow with their size and no faster."""
    small, large = (100_000, 1_000_000) if case.full else (20_000, 200_000)
    # Graphs of jobs that have ended stay to be submitted again; here all memory is to come back. The allocator
    # has one arena: with several it is chance which of them grows by a graph, and that is not what is judged.
    cluster = case.cluster(workers=1, settings=("supervisor.cached_graph_bytes_max=0B",),
                           environment={"MALLOC_ARENA_MAX": "1"})
    client = Client(cluster)

    def seconds_of(shape, count, name):
        begin = time.monotonic()
        if shape == "chain":
            client.call("submit", name, "chain", count, 0, "-")
        else:
            cluster.accept(f"name = '{name}'\nkeep = 'nothing'\n[[subtask]]\nkey = 'first'\noperator = 'noop'\n"
                           f"[[subtask]]\nkey = 'wide'\narray = '1-{count}'\noperator = 'noop'\nafter = ['first']\n"
                           "[[subtask]]\nkey = 'last'\noperator = 'noop'\nafter = ['wide[*]']\n")
        job = cluster.wait_for_end(name, 120)
        case.expect(job["state"] == "succeeded", f"{name} did not succeed: {job}")
        return time.monotonic() - begin

    for shape in ("chain", "fan"):
        seconds = {count: seconds_of(shape, count, f"{shape}-{count}") for count in (small, large)}
        factor = large / small
        case.figure(f"{shape} of {large}", seconds[large], "s", at_most=60)
        case.figure(f"{shape}: {factor:g} times as large takes", seconds[large] / seconds[small], "times", at_most=1.5 * factor)
    case.figure("memory", peak_kib(cluster.supervisor.pid) / 1024, "MiB", at_most=200 + large * 400 / (1 << 20))
    # The allocator keeps what the first graphs of a shape needed; the same graphs again need nothing more.
    cluster.spare_kib += large * 16 // 1024  # RocksDB keeps in memory what it has written last: two buffers of 8 MiB.
    case.begin_vitals(cluster)
    for name in ("again", "once-more"):
        for shape in ("chain", "fan"):
            seconds_of(shape, large, f"{shape}-{name}")
    case.judge(cluster, cluster.wait_for_end("fan-once-more"))


def cancel_storm(case):
    """F30."""
    count, times = (1_000_000, 100) if case.full else (100_000, 20)
    cluster = case.cluster(workers=2, slots=2)
    expect_large_jobs(cluster, count)
    client = Client(cluster)
    client.call("submit", "storm", "flat", count, 1000, "-")
    cluster.accept(witness_job(cluster, "programs", [("s", 2000, "sleep 0.01", "")], "priority = 5"))
    wait_for(lambda: len(cluster.witnessed()) > 20, what="programs that start")
    begin = time.monotonic()
    for name in ("storm", "programs"):
        answer = client.call("cancels", name, times)
        case.figure(f"{name}: longest of {times} answers", answer["longest_ms"], "ms", at_most=2000)
    answered = len(cluster.witnessed())
    jobs = [cluster.wait_for_end(name, 20) for name in ("storm", "programs")]
    wait_for(lambda: all(row["assigned"] == row["running"] == 0 for row in cluster.ask("queues")), 10, "empty queues")
    case.figure("quiet after", time.monotonic() - begin, "s", at_most=2 + 0.05 * times / 10)
    case.expect(all(job["state"] == "cancelled" for job in jobs), f"not cancelled: {jobs}")
    # Counted from the last answer on: by then the order has reached both workers.
    late = [line for line in cluster.witnessed()[answered:] if line[0] == "s"]
    case.figure("started after the answer", len(late), "", at_most=0)
    case.judge(cluster, jobs[1])


def priority_storm(case):
    """F31."""
    pending, rate, seconds = (1_000_000, 10_000, 10) if case.full else (100_000, 2000, 2)
    # Graphs of jobs that have ended stay to be submitted again; here all memory is to come back.
    cluster = case.cluster(workers=2, slots=1, settings=("supervisor.cached_graph_bytes_max=0B",))
    expect_large_jobs(cluster, pending, 100)  # Keys, too.
    cluster.spare_kib += 32 << 10  # RocksDB keeps in memory what it has written last, and the audit history its orders.
    client = Client(cluster)
    cluster.accept(witness_job(cluster, "big", [("s", pending, "sleep 0.05", "required = 'w1'")]))
    calm = client.call("probe", seconds, "w2")
    probe = client.begin("probe", seconds, "w2")
    storm = client.result(client.begin("updates", "big", pending, seconds, rate, elsewhere=True))
    beside = client.result(probe)
    case.figure("updates", storm["count"] / storm["seconds"], "1/s", at_least=0.95 * rate)
    case.figure("p99 calm", calm["p99_ms"], "ms")
    case.figure("p99 beside it", beside["p99_ms"], "ms", at_most=max(2 * calm["p99_ms"], 5))
    # The order is right afterwards: what is raised above all others is next, the highest first. Nothing begins meanwhile.
    cluster.run("drain", "w1")
    wait_for(lambda: "w1" in cluster.workers_in("drained"), what="a drained worker")
    begun = len(cluster.witnessed())
    raised = {pending - 2 - 7 * number: 1_000_000 + number * 37 % 20 for number in range(20)}
    for subtask, priority in raised.items():
        cluster.run("priority", "big", str(priority), "--subtask", str(subtask))
    cluster.run("undrain", "w1")

    def starts():
        return [int(line[1].partition(":")[2]) for line in cluster.witnessed()[begun:] if line[0] == "s"]
    wait_for(lambda: len(starts()) >= len(raised), what="as many starts")
    case.expect(starts()[:len(raised)] == sorted(raised, key=raised.get, reverse=True),
                f"not in the order of their priorities: {starts()[:len(raised)]}, but {raised}")
    cluster.run("cancel", "big")
    case.judge(cluster, cluster.wait_for_end("big"))


def herd(case):
    """F32: all workers at once come back to a new life of their supervisor."""
    count = 10_000 if case.full else 1000
    cluster = case.cluster(workers=1)
    client = Client(cluster)
    crowd = client.begin("idle", count)
    every = count / 5000  # Seconds: a list of thousands costs a processor as much as hundreds of handshakes.
    try:
        wait_for(lambda: len(cluster.workers_in("ready")) == count + 1, 120, "all workers", every=every)
        case.figure("memory of a link", (resident_kib(cluster.supervisor.pid)) / count, "KiB", at_most=256)
        cluster.accept("name = 'beside'\nkeep = 'nothing'\n[[subtask]]\nkey = 's'\narray = '0-199'\ncommand = ['sleep', '0.05']\n")
        cluster.kill_supervisor()
        begin = time.monotonic()
        cluster.start_supervisor()
        wait_for(lambda: len(cluster.workers_in("ready")) == count + 1, 120, "all workers again", every=every)
        case.figure("all registered after", time.monotonic() - begin, "s", at_most=30)
        case.figure("declared lost", cluster.log("supervisor").count(" lost:"), "", at_most=0)
        job = cluster.wait_for_end("beside")
        case.expect(job["succeeded"] == 200, f"the job beside them did not succeed: {job}")
        case.judge(cluster, job)
    finally:
        crowd.kill()
        crowd.communicate()
