"""A supervisor that dies or stands still: F05, F09."""
import os
import signal
import time

from cluster import wait_for
from oracle import Oracle, witness_job


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
    case.figure("run again", job["attempts"] - 40, "attempts", at_most=0)
    case.expect(job["succeeded"] == 40, f"the job did not succeed: {job}")
    case.expect(not any("starts afresh" in cluster.log(name) for name in ("w1", "w2")), "a worker started afresh")
    case.judge(cluster, job, slots=2)
