"""A supervisor that dies, stands still, is not alone, has no disk or no clock: F05 to F09, F11, F15."""
import os
import signal
import subprocess
import time

from case import Skipped
from cluster import tree_bytes, wait_for
from oracle import Oracle, witness_job
from proxy import FROM_SUPERVISOR


def killed_with_much_pending(case):
    """F05. The full size needs `SIZE` running on one band; the short one shows the same with fewer."""
    pending, running, sleep = (1_000_000, 1000, 25) if case.full else (20_000, 20, 4)
    cluster = case.cluster(workers=1, slots=running)
    text = witness_job(cluster, "big", [("run", running, f"sleep {sleep}", "priority = 5")])
    cluster.accept(text + f'[[subtask]]\nkey = "pend"\narray = "0-{pending - 1}"\noperator = "noop"\n')
    wait_for(lambda: sum(line[0] == "s" for line in cluster.witnessed()) >= running, 60, "all attempts to run")
    before = cluster.job("big")
    case.expect(before["succeeded"] == 0, "the machine is too slow: something has ended before the kill")
    cluster.kill_supervisor()
    begin = time.monotonic()
    cluster.start_supervisor()
    case.figure("listens after", time.monotonic() - begin, "s", at_most=5)
    # The old worker has no free slot: a new one gets the first that is given out.
    cluster.start_worker("w2", slots=1)
    cluster.wait_for_succeeded("big", 1)
    case.figure("first dispatch done after", time.monotonic() - begin, "s", at_most=5)
    job = cluster.wait_for_end("big", 120)
    count = pending + running
    case.figure("lost", count - job["succeeded"], "subtasks", at_most=0)
    case.figure("run again", job["attempts"] - count, "attempts", at_most=0)
    starts = Oracle(cluster, job).started()
    case.expect(len(starts) == running and set(starts.values()) == {1}, "a running subtask was started twice")
    case.expect("starts afresh" not in cluster.log("w1"), "w1 was not adopted")
    case.judge(cluster, job, slots=running)


def stopped(case):
    """F09."""
    settings = () if case.full else ("link.heartbeat=100ms", "link.silence_max=500ms")
    still_s = 60 if case.full else 1.5
    cluster = case.cluster(workers=2, slots=2, settings=settings)
    cluster.accept(witness_job(cluster, "stopped", [("s", 40, "sleep 0.2", "")]))
    cluster.wait_for_succeeded("stopped", 2)
    os.kill(cluster.supervisor.pid, signal.SIGSTOP)
    ended = sum(line[0] == "e" for line in cluster.witnessed())
    time.sleep(still_s)
    went_on = sum(line[0] == "e" for line in cluster.witnessed()) - ended
    os.kill(cluster.supervisor.pid, signal.SIGCONT)
    job = cluster.wait_for_end("stopped")
    case.figure("ended meanwhile", went_on, "attempts", at_least=4)
    case.figure("workers lost", cluster.log("supervisor").count("lost:"), "", at_most=0)
    # Starts, as the programs wrote them: an attempt that was handed back before it began counts as one of the job's, too.
    case.figure("run again", sum(Oracle(cluster, job).started().values()) - 40, "attempts", at_most=0)
    case.expect(job["succeeded"] == 40, f"the job did not succeed: {job}")
    case.expect(not any("starts afresh" in cluster.log(name) for name in ("w1", "w2")), "a worker started afresh")
    case.judge(cluster, job, slots=2)


def killed_before_the_answer(case):
    """F06: the submit is on the disk, and the answer does not leave."""
    cluster = case.cluster(workers=1, settings=("link.heartbeat=100ms", "link.silence_max=1s"))
    proxy = case.proxy(cluster.address)
    rounds = 10 if case.full else 3
    for number in range(rounds):
        name = f"once-{number}"
        with open(cluster.path(name + ".toml"), "w", encoding="ascii") as file:
            file.write(witness_job(cluster, name, [("s", 10, "true", "")]))
        proxy.introduces = True  # The introduction passes; the answer does not.
        proxy.fall_silent(FROM_SUPERVISOR)
        client = cluster.spawn(name, ["submit", name + ".toml", "--wait", "--supervisor", proxy.address])
        wait_for(lambda: any(row["name"] == name for row in cluster.ask("jobs", "--all") or []), what="the accepted job")
        cluster.kill_supervisor()
        proxy.cut_all()
        proxy.heal()
        cluster.start_supervisor()
        wait_for(lambda: client.poll() is not None, 30, "the client's end")
        case.expect(client.returncode == 0, f"the client's submit failed: {cluster.log(name)}")
    jobs = [row for row in cluster.ask("jobs", "--all") if row["name"].startswith("once-")]
    case.figure("jobs", len(jobs), "", at_most=rounds, at_least=None)
    case.expect(len({row["name"] for row in jobs}) == rounds, f"not one job of each name: {jobs}")
    for row in jobs:
        job = cluster.job(row["name"])
        case.expect(job["succeeded"] == 10, f"{row['name']} did not succeed: {job}")
    starts = Oracle(cluster, job).started()
    case.figure("subtasks run", len(starts), "", at_most=rounds * 10)
    case.expect(set(starts.values()) == {1}, f"a subtask ran twice: {starts}")
    case.judge(cluster, job, slots=2)


def killed_in_a_loop(case):
    """F07."""
    kills, every_s = (90, 2.0) if case.full else (5, 0.4)
    cluster = case.cluster(workers=2, slots=2)
    count = int(kills * every_s * 0.75 * 4 / 0.05) + 60
    cluster.accept(witness_job(cluster, "loop", [("s", count, "sleep 0.05", "")]))
    succeeded, sizes = 0, []
    for _ in range(kills):
        time.sleep(every_s)
        cluster.kill_supervisor()
        cluster.start_supervisor()
        now = cluster.job("loop")["succeeded"]
        case.expect(now >= succeeded, f"progress went back from {succeeded} to {now}")
        succeeded = now
        sizes.append(tree_bytes(cluster.path("state")) / (1 << 20))
    job = cluster.wait_for_end("loop", 120)
    case.expect(job["succeeded"] == count, f"the job did not succeed: {job}")
    starts = Oracle(cluster, job).started()
    case.figure("run again", sum(starts.values()) - count, "attempts", at_most=0)
    case.figure("state directory", sizes[-1], "MiB", at_most=16)
    third = sizes[len(sizes) // 3]
    case.figure("its growth in the last two thirds", sizes[-1] / third, "fold", at_most=3)
    case.judge(cluster, job, slots=2)


def two_on_one_state(case):
    """F08."""
    cluster = case.cluster(workers=1)
    cluster.accept(witness_job(cluster, "handed", [("s", 60, "sleep 0.1", "")]))
    first = cluster.supervisor
    begin = time.monotonic()
    second = cluster.run_alone("supervisor", "--state", "state", "--listen", "127.0.0.1:0")
    case.figure("second refused after", time.monotonic() - begin, "s", at_most=3)
    holder = (str(first.pid), os.uname().nodename)
    case.expect(second.returncode == 2 and all(part in second.stderr for part in holder),
                f"the refusal does not name {holder}: {second.stderr}")
    standby = cluster.spawn("standby", ["supervisor", "--state", "state", "--listen", cluster.address, "--standby",
                                        *cluster.settings])
    wait_for(lambda: str(first.pid) in cluster.log("standby"), what="a standby that waits")
    cluster.wait_for_succeeded("handed", 4)
    cluster.kill_supervisor()
    begin = time.monotonic()
    wait_for(lambda: "listens" in cluster.log("standby"), what="the takeover")
    case.figure("taken over after", time.monotonic() - begin, "s", at_most=2)
    cluster.supervisor = standby
    # Who was first finds the state held, should it come back.
    again = cluster.run_alone("supervisor", "--state", "state", "--listen", "127.0.0.1:0")
    case.expect(again.returncode == 2 and str(standby.pid) in again.stderr, f"the first came back: {again.stderr}")
    job = cluster.wait_for_end("handed")
    case.figure("run again", sum(Oracle(cluster, job).started().values()) - 60, "attempts", at_most=0)
    case.expect(job["succeeded"] == 60, f"the job did not succeed: {job}")
    case.judge(cluster, job, slots=2)


def disk_full(case):
    """F11: the state directory is a small tmpfs that only the supervisor's mount namespace has."""
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
        raise Skipped("mount namespaces are not permitted")
    mounted = "mkdir -p state && mount -t tmpfs -o size=16m tmpfs state && exec \"$@\""
    cluster = case.cluster(prefix=["unshare", "-m", "sh", "-c", mounted, "sh"])
    cluster.start_worker("w1")
    cluster.wait_for_workers(1)
    cluster.accept(witness_job(cluster, "runs", [("s", 100, "sleep 0.05", "")]))
    cluster.wait_for_succeeded("runs", 4)
    filler = f"/proc/{cluster.supervisor.pid}/root{cluster.path('state')}/filler"
    fill(filler)
    ended = sum(line[0] == "e" for line in cluster.witnessed())
    text = "name = 'refused-%d'\n[[subtask]]\nkey = 's'\ncommand = ['true']\nenv = { LONG = '" + "x" * 8000 + "' }\n"
    refusals = [cluster.submit(text % number) for number in range(4)]
    told = [answer.stderr for answer in refusals if answer.returncode != 0]
    case.expect(told and all("StorageFull" in error or "disk" in error for error in told), f"not refused as full: {told}")
    wait_for(lambda: sum(line[0] == "e" for line in cluster.witnessed()) > ended + 10, what="running work that goes on")
    os.remove(filler)
    begin = time.monotonic()
    wait_for(lambda: cluster.submit(text % 100).returncode == 0, 10, "an accepted submit", every=0.1)
    case.figure("accepts again after", time.monotonic() - begin, "s", at_most=5)
    job = cluster.wait_for_end("runs")
    case.expect(job["succeeded"] == 100 and cluster.wait_for_end("refused-100")["succeeded"] == 1, f"no success: {job}")
    case.judge(cluster, job, slots=2)


def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            for size in (1 << 20, 1 << 12, 1):
                block = b"x" * size
                try:
                    while True:
                        if file.write(block) < size:
                            break
                except OSError:
                    pass
        finally:
            os.fsync(file.fileno())


def wall_clock(case):
    """F15: the wall clock of all of them jumps; faults of time zones and leap seconds are such jumps."""
    library = os.path.join(os.path.dirname(case.binary), "libchaos_wall_clock.so")
    if not os.path.exists(library):
        raise Skipped("libchaos_wall_clock.so is not built beside the binary")
    clock = os.path.join(case.directory, "clock")
    environment = {"LD_PRELOAD": library, "CHAOS_CLOCK": clock}
    set_clock(clock, 0)
    cluster = case.cluster(environment=environment, settings=("link.heartbeat=100ms", "link.silence_max=1s"))
    for name in ("w1", "w2"):
        cluster.start_worker(name, environment=environment)
    cluster.wait_for_workers(2)
    count = 80
    cluster.accept(witness_job(cluster, "jumps", [("s", count, "sleep 0.1", "time_limit = '30s'")]))
    stamps = []
    for jump in (3600, -3600, 1, 0):
        done = cluster.job("jumps")["succeeded"]
        set_clock(clock, jump)
        cluster.wait_for_succeeded("jumps", min(count, done + 8))
        stamps.append(jump)
    job = cluster.wait_for_end("jumps")
    case.figure("jumps", len(stamps), "", at_least=4)
    case.figure("run again", sum(Oracle(cluster, job).started().values()) - count, "attempts", at_most=0)
    case.expect(job["succeeded"] == count, f"the job did not succeed: {job}")
    case.expect(job["elapsed_s"] < 60, f"the job's age is of the wall clock: {job['elapsed_s']} s")
    case.expect("lost:" not in cluster.log("supervisor"), "a worker was declared lost")
    hours = {line[11:13] for line in cluster.log("supervisor").splitlines() if line[:4].isdigit()}
    case.expect(len(hours) >= 1, "no log line has a time")
    case.judge(cluster, job, slots=2)


def set_clock(path, seconds):
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(str(seconds))
    os.replace(path + ".new", path)
