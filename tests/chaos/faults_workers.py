"""Workers that die, vanish, hang, or are cut off: F01 to F04, F10."""
import os
import signal
import time

from cluster import is_alive, wait_for
from case import vitals
from oracle import Oracle, witness_job


def attempts_of(cluster, worker):
    """Processes of the attempts that this worker has begun and not ended."""
    live = {}
    for line in cluster.witnessed():
        if line[0] == "s" and line[4] == worker:
            live[line[1]] = int(line[3])
        elif line[0] == "e":
            live.pop(line[1], None)
    return list(live.values())


def worker_killed(case):
    """F01."""
    cluster = case.cluster(workers=2, slots=2)
    before = vitals(cluster.supervisor.pid)
    # Long ones first: each worker is in the middle of one when the other dies.
    body = '[ "$PENSTOCK_ATTEMPT" -gt 1 ] || sleep 2'
    cluster.accept(witness_job(cluster, "killed", [("s", 8, body, "")]))
    wait_for(lambda: len(attempts_of(cluster, "w1")) == 2, what="two attempts on w1")
    orphans = attempts_of(cluster, "w1")
    children = [int(child) for orphan in orphans for child in children_of(orphan)]
    begin = time.monotonic()
    cluster.kill_worker("w1")
    wait_for(lambda: not any(is_alive(process) for process in orphans + children), what="the orphans' end")
    case.figure("orphans dead after", time.monotonic() - begin, "s", at_most=2)
    wait_for(lambda: "lost:" in cluster.log("supervisor"), what="the loss of w1")
    case.figure("worker lost after", time.monotonic() - begin, "s", at_most=1)
    told = [wait_for(lambda: cluster.ask("explain", "killed", line[1].partition(":")[2]))
            for line in cluster.witnessed() if line[0] == "s" and line[4] == "w1"]
    case.expect(all("worker lost" in str(answer) or answer["state"] == "succeeded" or "subtask" not in answer
                    for answer in told), f"I6: explain names no lost worker: {told}")
    job = cluster.wait_for_end("killed")
    case.expect(job["succeeded"] == 8, f"the job did not succeed: {job}")
    again = sum(Oracle(cluster, job).started().values()) - 8
    case.figure("run again", again, "attempts", at_most=len(orphans))
    case.expect(again > 0, "nothing has run again, so nothing was interrupted")
    case.judge(cluster, job, slots=2)
    case.expect_steady(cluster, before)


def children_of(process):
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def worker_stopped(case):
    """F10."""
    settings = () if case.full else ("link.heartbeat=100ms", "link.silence_max=1s")
    cluster = case.cluster(workers=2, slots=2, settings=settings)
    cluster.accept(witness_job(cluster, "stopped", [("s", 8, "sleep 0.5", "")]))
    wait_for(lambda: len(attempts_of(cluster, "w1")) == 2, what="two attempts on w1")
    begin = time.monotonic()
    os.kill(cluster.workers["w1"].pid, signal.SIGSTOP)
    # Its attempts run to their end, and nobody hears of it.
    job = cluster.wait_for_end("stopped")
    case.figure("done by others after", time.monotonic() - begin, "s", at_most=(10 if case.full else 1) + 3)
    counts = job["attempts"]
    if case.full:
        time.sleep(max(0.0, 60 - (time.monotonic() - begin)))
    os.kill(cluster.workers["w1"].pid, signal.SIGCONT)
    wait_for(lambda: "starts afresh" in cluster.log("w1"), what="the fencing of w1")
    cluster.wait_for_workers(2)
    after = cluster.job("stopped")
    case.expect(after["attempts"] == counts and after["succeeded"] == 8, f"stale results were counted: {job}, then {after}")
    case.judge(cluster, after, overlap=False)
    cluster.accept(witness_job(cluster, "afterwards", [("t", 8, "sleep 0.1", "")]))
    case.expect(cluster.wait_for_end("afterwards")["succeeded"] == 8, "the fenced worker does not serve again")
