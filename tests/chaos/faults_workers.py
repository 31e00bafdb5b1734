"""Workers that die, vanish, hang, or are cut off: F01 to F04, F10."""
import os
import signal
import time

from cluster import is_alive, wait_for
from faults_disk import beside
from namespaces import OtherHost
from oracle import Oracle, witness_diamonds, witness_job
from proxy import TO_SUPERVISOR


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
    # Long ones first: each worker is in the middle of one when the other dies.
    body = '[ "$PENSTOCK_ATTEMPT" -gt 1 ] || sleep 1'
    text, edges, count = witness_diamonds(cluster, "killed", 2, 8, body)
    cluster.accept(text)
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
    case.expect(job["succeeded"] == count, f"the job did not succeed: {job}")
    again = sum(Oracle(cluster, job).started().values()) - count
    case.figure("run again", again, "attempts", at_most=len(orphans))
    case.expect(again > 0, "nothing has run again, so nothing was interrupted")
    expect_loss_audited(case, cluster, "w1")
    case.judge(cluster, job, slots=2, edges=edges)


def killed_beside_scarce_things(case):
    """F01, I3: what the lost worker had of memory and devices is not given out twice on the one that is left."""
    library = beside(case, "libfake_nvml.so")  # Of a host with two devices.
    cluster = case.cluster(settings=("worker.quota_peaks_min=0",))  # What is requested counts, not what was measured.
    memory = 1 << 30
    for name in ("w1", "w2"):
        cluster.start_worker(name, "--memory", str(memory), slots=4, gpus=True, environment={"PENSTOCK_NVML_LIBRARY": library})
    cluster.wait_for_workers(2)
    each = 200 << 20  # Two of them have room on the processors' half of the memory, four would have slots.
    cluster.accept(witness_job(cluster, "scarce", [
        ("memory", 24, "sleep 0.2", f"memory = {each}\nenv = {{ CHAOS_MEMORY = '{each}' }}"),
        ("device", 24, "sleep 0.2", "gpu = 1")]))
    wait_for(lambda: len(attempts_of(cluster, "w1")) >= 3, what="attempts on w1")
    cluster.kill_worker("w1")
    job = cluster.wait_for_end("scarce")
    case.expect(job["succeeded"] == 48, f"the job did not succeed: {job}")
    devices = {line[6] for line in cluster.witnessed() if line[0] == "s"} - {"-"}
    case.figure("devices in use", len(devices), "", at_least=2)
    case.judge(cluster, job, slots=6, memory=memory // 2)


def expect_loss_audited(case, cluster, worker):
    """I6."""
    told = cluster.audit()
    case.expect(any(line.startswith(f"give up {worker}: ") for line in told), f"I6: the audit names no loss of {worker}: {told}")


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
    wait_for(lambda: "lost:" in cluster.log("supervisor"), what="the loss of w1")
    case.figure("given to others after", time.monotonic() - begin, "s", at_most=(10 if case.full else 1) + 0.3)
    # Its attempts run to their end, and nobody hears of it.
    job = cluster.wait_for_end("stopped")
    case.figure("done by them after", time.monotonic() - begin, "s", at_most=(10 if case.full else 1) + 4)
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


def vanished(case):
    """F02: a host that is gone without FIN or RST."""
    host = OtherHost(case)
    settings = () if case.full else ("link.heartbeat=250ms", "link.silence_max=2500ms")
    share = 1 if case.full else 4
    cluster = case.cluster(settings=settings, listen="0.0.0.0:0")
    cluster.start_worker("w1", slots=2)
    outside = cluster.address.replace("0.0.0.0", host.outside)
    cluster.start_worker("far", "--data-listen", host.inside + ":0", slots=2, address=outside, prefix=host.prefix)
    cluster.wait_for_workers(2)
    cluster.accept(witness_job(cluster, "vanished", [("s", 12, "sleep 0.5", "")]))
    wait_for(lambda: len(attempts_of(cluster, "far")) == 2, what="two attempts on the far host")
    begin = time.monotonic()
    host.vanish()
    wait_for(lambda: "suspected:" in cluster.log("supervisor"), what="suspicion")
    case.figure("suspected after", time.monotonic() - begin, "s", at_most=3 / share + 0.25)
    case.expect("far" not in cluster.workers_in("ready"), "`workers` calls it ready")
    wait_for(lambda: "lost:" in cluster.log("supervisor"), what="the loss of the far worker")
    case.figure("lost after", time.monotonic() - begin, "s", at_most=10 / share + 0.25)
    job = cluster.wait_for_end("vanished")
    case.expect(job["succeeded"] == 12, f"the job did not succeed: {job}")
    host.come_back()
    wait_for(lambda: "starts afresh" in cluster.log("far"), what="the fencing of the far worker")
    cluster.wait_for_workers(2)
    case.expect(cluster.job("vanished")["succeeded"] == 12, "what came late was counted")
    expect_loss_audited(case, cluster, "far")
    case.judge(cluster, job, overlap=False)


def healed(case):
    """F03: a partition that heals after the work was given to others."""
    settings = ("link.heartbeat=100ms", "link.silence_max=1s", "link.reconnect_grace=300ms")
    cluster = case.cluster(settings=settings, plain=True)
    proxy = case.proxy(cluster.address)
    cluster.start_worker("far", address=proxy.address)
    cluster.wait_for_workers(1)
    # The first of them ends while nobody hears it, the other one does not end.
    gone = cluster.path("gone")
    body = (f'if [ "$CHAOS_WORKER" = far ]; then until [ -e {gone} ] && [ "${{PENSTOCK_SUBTASK#*:}}" = 0 ]; '
            'do sleep 0.05; done; fi')
    text, edges, count = witness_diamonds(cluster, "healed", 2, 2, body)
    cluster.accept(text)
    wait_for(lambda: len(attempts_of(cluster, "far")) == 2, what="two attempts on the far side")
    old = attempts_of(cluster, "far")
    proxy.fall_silent()
    open(gone, "w", encoding="ascii").close()
    wait_for(lambda: len(attempts_of(cluster, "far")) == 1, what="an end that nobody hears")
    cluster.start_worker("w1")
    job = cluster.wait_for_end("healed")
    case.expect(job["succeeded"] == count, f"the job did not succeed: {job}")
    by = {name: {line[1].partition(":")[2] for line in cluster.witnessed() if line[0] == "s" and line[4] == name}
          for name in ("far", "w1")}
    case.expect(by["far"] == {"0", "1"} and by["far"] <= by["w1"],
                f"not both have run again, the one whose end nobody heard too: {by}")
    case.expect(sum(is_alive(process) for process in old) == 1, "no old attempt is there any more: nothing to fence")
    begin = time.monotonic()
    proxy.heal()
    wait_for(lambda: "starts afresh" in cluster.log("far"), what="the fencing of the far worker")
    wait_for(lambda: not any(is_alive(process) for process in old), what="the end of the old attempts")
    case.figure("old attempts ended after", time.monotonic() - begin, "s", at_most=2)
    cluster.wait_for_workers(2)  # What it had to say of its former life has arrived before this.
    after = cluster.job("healed")
    case.expect(after["succeeded"] == count and after["attempts"] == job["attempts"], f"not one completion each: {after}")
    expect_loss_audited(case, cluster, "far")
    case.judge(cluster, after, overlap=False, edges=edges)


def one_way(case):
    """F04: only what the worker says is lost."""
    settings = ("link.heartbeat=100ms", "link.silence_max=1s", "link.reconnect_grace=300ms")
    cluster = case.cluster(settings=settings, plain=True)
    proxy = case.proxy(cluster.address)
    cluster.start_worker("w1")
    cluster.start_worker("far", address=proxy.address)
    cluster.wait_for_workers(2)
    cluster.accept(witness_job(cluster, "one-way", [("s", 16, "sleep 0.4", "")]))
    wait_for(lambda: len(attempts_of(cluster, "far")) == 2, what="two attempts on the far side")
    proxy.fall_silent(TO_SUPERVISOR)
    begin = time.monotonic()
    wait_for(lambda: "lost:" in cluster.log("supervisor"), what="the loss of the far worker")
    case.figure("lost after", time.monotonic() - begin, "s", at_most=2)
    job = cluster.wait_for_end("one-way")
    case.expect(job["succeeded"] == 16, f"the job did not succeed: {job}")
    case.figure("losses until the end", cluster.log("supervisor").count(" lost:"), "", at_most=2)
    case.figure("attempts of any subtask", max(Oracle(cluster, job).started().values()), "", at_most=3)
    proxy.heal()
    cluster.wait_for_workers(2)
    case.judge(cluster, job, overlap=False)


def processor_seconds():
    """All of this machine's, and those of them that nobody used."""
    with open("/proc/stat", encoding="ascii") as file:
        parts = [int(part) for part in file.readline().split()[1:9]]
    return sum(parts), parts[3] + parts[4]


def busy(case):
    """F02, its other half: who is only busy is not lost. All programs of a wide worker start at once, beside burning ones,
    again and again for as long as `--seconds` says."""
    long = case.full or case.seconds > 0
    settings = () if long else ("link.heartbeat=200ms", "link.silence_max=1500ms")
    count = 2000 if long else 1000
    cluster = case.cluster(settings=settings)
    cluster.start_worker("w1", slots=count)
    cluster.start_worker("w2", slots=os.cpu_count())
    cluster.wait_for_workers(2)
    all_before, idle_before = processor_seconds()
    begin = time.monotonic()
    burns = max(4, case.seconds // 10) * os.cpu_count()
    cluster.accept(f"name = 'burn'\nkeep = 'nothing'\n[[subtask]]\nkey = 'b'\narray = '1-{burns}'\noperator = 'burn'\n"
                   f"burn = '{10 if case.seconds else 20 if case.full else 1}s'\nrequired = 'w2'\n")
    waves = 0
    while waves == 0 or time.monotonic() - begin < case.seconds:
        waves += 1
        name = f"busy-{waves}"
        cluster.accept(f"name = '{name}'\nkeep = 'nothing'\n[[subtask]]\nkey = 's'\narray = '1-{count}'\n"
                       "command = ['sleep', '1']\nrequired = 'w1'\n")
        job = cluster.wait_for_end(name, 600)
        case.expect(job["succeeded"] == count and job["attempts"] == count, f"not each once: {job}")
    case.figure("declared lost", cluster.log("supervisor").count(" lost:"), "", at_most=0)
    case.figure("programs at once", count)
    if case.seconds:
        all_after, idle_after = processor_seconds()
        case.figure("watched", time.monotonic() - begin, "s", at_least=case.seconds)
        case.figure("processors used", 100 * (1 - (idle_after - idle_before) / (all_after - all_before)), "%")
        case.figure("waves of programs", waves)
        case.figure("suspected for a while", cluster.log("supervisor").count(" suspected:"))
        cluster.run("cancel", "burn")
        cluster.wait_for_end("burn", 300)
    else:
        case.judge(cluster, cluster.wait_for_end("burn", 300))
