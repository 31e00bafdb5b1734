"""A supervisor that dies, stands still, is not alone or has no clock: F05 to F09, F15."""
import os
import signal
import time

from case import Skipped
from cluster import tree_bytes, wait_for
from faults_storms import Client
from oracle import Oracle, witness_diamonds, witness_job
from proxy import FROM_SUPERVISOR


def killed_with_much_pending(case):
    """F05. The full size needs `SIZE` running on one band; the short one shows the same with fewer. A client that follows the
    job counts what it is told: of subtasks that ended before the kill, while nobody was there, and after it."""
    pending, running, sleep = (1_000_000, 1000, 25) if case.full else (20_000, 20, 4)
    early, meanwhile = pending // 100, running // 10
    cluster = case.cluster(workers=1, slots=running)
    gone = cluster.path("gone")
    text = witness_job(cluster, "big", [
        ("run", running - meanwhile, f"sleep {sleep}", "priority = 5"),
        ("meanwhile", meanwhile, f"until [ -e {gone} ]; do sleep 0.2; done", "priority = 5"),
        ("new", 1, "true", "priority = 4\nrequired = 'w2'"),
        ("last", 1, "true", "after = ['run[*]', 'meanwhile[*]']")], head="wait_for_resources = true")
    edges = [(subtask, running + 1) for subtask in range(running)]
    for key, priority, count in (("early", 9, early), ("pend", 0, pending)):
        text += f"[[subtask]]\nkey = '{key}'\narray = '1-{count}'\noperator = 'noop'\npriority = {priority}\n"
    cluster.accept(text)
    client = Client(cluster)
    watcher = client.begin("watch", "big", early)
    wait_for(lambda: sum(line[0] == "s" for line in cluster.witnessed()) >= running, 60, "all attempts to run")
    watcher.stdout.readline()  # It has been told of all the early ones.
    before = cluster.job("big")
    case.expect(before["succeeded"] == early, f"the machine is too slow: {before['succeeded']} have ended before the kill")
    cluster.kill_supervisor()
    open(gone, "w", encoding="ascii").close()
    wait_for(lambda: sum(line[0] == "e" for line in cluster.witnessed()) >= meanwhile, 30, "ends that nobody hears")
    begin = time.monotonic()
    cluster.start_supervisor()
    case.figure("listens after", time.monotonic() - begin, "s", at_most=5)
    # What only a new worker may run is given out by the new life.
    cluster.start_worker("w2", slots=1)
    wait_for(lambda: any(line[0] == "s" and line[4] == "w2" for line in cluster.witnessed()), what="a first dispatch")
    case.figure("first dispatch after", time.monotonic() - begin, "s", at_most=5)
    job = cluster.wait_for_end("big", 120)
    count = job["subtasks"]
    case.figure("lost", early + pending + running + 2 - job["succeeded"], "subtasks", at_most=0)
    case.figure("run again", job["attempts"] - count, "attempts", at_most=0)
    told = client.result(watcher)
    case.figure("told before the kill", told["told_before"], "subtasks", at_least=early)
    case.figure("told twice", told["told_twice"] + told["said_twice_in_a_life"], "subtasks", at_most=0)
    case.figure("told and taken back", told["taken_back"], "subtasks", at_most=0)
    case.expect(told["told"] == count and told["lives"] == 2, f"the client was not told of each subtask by two lives: {told}")
    starts = Oracle(cluster, job).started()
    case.expect(len(starts) == running + 2 and set(starts.values()) == {1}, "a running subtask was started twice")
    case.expect("starts afresh" not in cluster.log("w1"), "w1 was not adopted")
    case.judge(cluster, job, slots=running, edges=edges)


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
    cluster = case.cluster(workers=1, settings=("link.heartbeat=100ms", "link.silence_max=1s"), plain=True)
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
    # A diamond takes five rounds of the four slots and its tip.
    text, edges, count = witness_diamonds(cluster, "loop", int(kills * every_s * 0.75 / 0.3) + 3, 20, "sleep 0.05")
    cluster.accept(text)
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
    case.judge(cluster, job, slots=2, edges=edges)


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
