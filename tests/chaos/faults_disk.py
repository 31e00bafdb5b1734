"""A disk that is full, fails, lies or is slow, below the state and below the data: F11 to F14, F41, F42."""
import glob
import hashlib
import os
import random
import re
import subprocess
import sys
import time

from case import Skipped
from cluster import is_alive, wait_for
from oracle import witness_diamonds, witness_job

HERE = os.path.dirname(os.path.abspath(__file__))


def beside(case, name):
    """Something that is built where the binary is."""
    path = os.path.join(os.path.dirname(case.binary), name)
    if not os.path.exists(path):
        raise Skipped(f"{name} is not built beside the binary")
    return path


def small_disk(place, mib):
    """What comes behind it finds a tmpfs at `place` that nobody else sees."""
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
        raise Skipped("mount namespaces are not permitted")
    mounted = f"mkdir -p {place} && mount -t tmpfs -o size={mib}m tmpfs {place} && exec \"$@\""
    return ["unshare", "-m", "sh", "-c", mounted, "sh"]


def ended(cluster):
    return sum(line[0] == "e" for line in cluster.witnessed())


def expect_audited(case, cluster, *starts):
    """I6."""
    told = cluster.audit()
    for start, part in starts:
        case.expect(any(line.startswith(start) and part in line for line in told),
                    f"I6: the audit has no line that begins with {start!r} and says {part!r}: {told}")


def full(case):
    """F11: the state directory is a small tmpfs that only the supervisor's mount namespace has."""
    cluster = case.cluster(prefix=small_disk("state", 64))
    cluster.spare_kib += 64 << 10  # RocksDB keeps in memory what it has written last.
    cluster.start_worker("w1")
    cluster.wait_for_workers(1)
    cluster.accept(witness_job(cluster, "runs", [("s", 100, "sleep 0.05", "")]))
    cluster.wait_for_succeeded("runs", 4)
    filler = f"/proc/{cluster.supervisor.pid}/root{cluster.path('state')}/filler"
    fill(filler)
    before = ended(cluster)
    # Nothing that becomes smaller when it is packed, and enough of it to use up the room that RocksDB has put aside for a log.
    text = ("name = 'refused-%d'\nkeep = 'nothing'\n[[subtask]]\nkey = 's'\noperator = 'literal'\n"
            f"payload = '{random.Random(11).randbytes(400_000).hex()}'\n")
    answers = [cluster.submit(text % number) for number in range(30)]
    told = [answer.stderr for answer in answers if answer.returncode != 0]
    case.figure("refused", len(told), "submits of 30", at_least=1)
    case.expect(all("the disk is full" in error for error in told), f"not refused as full: {told[:3]}")
    wait_for(lambda: ended(cluster) > before + 10, what="running work that goes on")
    os.remove(filler)
    begin = time.monotonic()
    wait_for(lambda: cluster.submit(text % 100).returncode == 0, 10, "an accepted submit", every=0.1)
    case.figure("accepts again after", time.monotonic() - begin, "s", at_most=5)
    expect_audited(case, cluster, ("hold back replies: ", "the disk is full"), ("release replies: ", ""))
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


class FaultyDisk:
    """Below the journal of a supervisor: nothing, `slow MILLISECONDS`, or `broken`."""

    def __init__(self, case):
        self.path = os.path.join(case.directory, "disk")
        self.environment = {"LD_PRELOAD": beside(case, "libfaulty_disk.so"), "PENSTOCK_FAULTY_FILES": "/state/journal/",
                            "PENSTOCK_FAULTY_DISK": self.path}
        self.become("")

    def become(self, how):
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(how)
        os.replace(self.path + ".new", self.path)


def broken(case):
    """F12: each sync of the journal fails from some instant on."""
    disk = FaultyDisk(case)
    cluster = case.cluster(workers=1, environment=disk.environment)
    text, edges, count = witness_diamonds(cluster, "early", 12, 10, "sleep 0.05")
    cluster.accept(text)
    cluster.wait_for_succeeded("early", 4)
    disk.become("broken")
    late = witness_job(cluster, "late", [("t", 4, "true", "")])
    refusals = [cluster.submit(late), cluster.submit(late.replace("'late'", "'later'"))]
    case.expect(all(answer.returncode == 2 for answer in refusals), "it was promised, and is on no disk")
    case.expect("Input/output error" in refusals[0].stderr, f"I6: the refusal does not name the error: {refusals[0].stderr}")
    before = ended(cluster)
    wait_for(lambda: ended(cluster) > before + 10, what="running work that goes on")
    known = cluster.job("early")
    expect_audited(case, cluster, ("hold back replies: ", "Input/output error"))
    case.expect(not any(row["name"] == "later" for row in cluster.ask("jobs", "--all")), "a refused job is there")
    disk.become("")  # It takes no more all the same: nobody knows what it has kept.
    case.expect(cluster.submit(late.replace("'late'", "'latest'")).returncode == 2, "the state is not read-only")
    cluster.kill_supervisor()
    cluster.start_supervisor(environment=disk.environment)
    job = cluster.wait_for_end("early")
    case.expect(job["succeeded"] == count >= known["succeeded"], f"the job did not succeed: {job}")
    # Its record may have reached the disk after all; whoever asks again under its name has it once.
    cluster.accept(late)
    case.expect(cluster.wait_for_end("late")["succeeded"] == 4, "what was submitted again did not succeed")
    case.judge(cluster, job, slots=2, edges=edges)


def damaged(case):
    """F13: `journal_damage`, with its bounds, on a journal of 32 MB."""
    beside(case, "make_journal")
    series = 100 if case.full else 3
    done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "journal_damage"), "--bytes", "32M", "--job-bytes", "64K",
                           "--series", str(series), "--build", os.path.dirname(case.binary), "--directory", case.directory],
                          capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if found := re.match(r"(.*): (\d+) damaged, .*jobs lost: median (\d+), most (\d+)", line):
            case.figure(f"{found[1]}: damages", int(found[2]))
            case.figure(f"{found[1]}: most jobs lost of one", int(found[4]))
        if line.startswith("FAILED"):
            case.failures.append(line)
    case.expect(done.returncode == 0, f"journal_damage ended with {done.returncode}: {done.stderr[-500:]}")


def hop_ms(cluster, name, hops, prepare):
    """Milliseconds for each subtask of a chain that goes from worker to worker: each is dispatched by the supervisor."""
    gate = cluster.path(name + "-gate")
    parts = [("c0", 1, f"until [ -e {gate} ]; do sleep 0.01; done", "required = 'w1'")]
    parts += [(f"c{i}", 1, "true", f"after = ['c{i - 1}[*]']\nrequired = 'w{1 + i % 2}'") for i in range(1, hops + 1)]
    cluster.accept(witness_job(cluster, name, parts))
    before = ended(cluster)
    prepare()
    open(gate, "w", encoding="ascii").close()
    begin = time.monotonic()
    wait_for(lambda: ended(cluster) >= before + hops + 1, 60, "the end of the chain", every=0.002)
    return (time.monotonic() - begin) * 1000 / hops


def slow(case):
    """F14: each sync takes half a second."""
    disk = FaultyDisk(case)
    settings = ("link.heartbeat=100ms", "link.silence_max=400ms")  # Less than a sync takes.
    cluster = case.cluster(workers=2, settings=settings, environment=disk.environment)
    hops = 40 if case.full else 12
    calm = hop_ms(cluster, "calm", hops, lambda: None)
    sync_ms = 500
    beside_it = hop_ms(cluster, "beside", hops, lambda: disk.become(f"slow {sync_ms}"))
    case.figure("dispatch of what is accepted, calm", calm, "ms")
    case.figure("dispatch beside syncs of 500 ms", beside_it, "ms", at_most=max(2 * calm, sync_ms / 4))
    begin = time.monotonic()
    text, edges, count = witness_diamonds(cluster, "slow", 4, 20, "true")
    cluster.accept(text)
    case.figure("a submit waits for its sync", (time.monotonic() - begin) * 1000, "ms", at_least=sync_ms)
    asked = time.monotonic()
    cluster.ask("jobs")
    case.figure("a question does not", (time.monotonic() - asked) * 1000, "ms", at_most=sync_ms / 2)
    job = cluster.wait_for_end("slow")
    # One sync for each of them would be 42 seconds.
    case.figure(f"syncs' worth of time for {count} subtasks", (time.monotonic() - begin) * 1000 / sync_ms, "times", at_most=20)
    case.expect(job["succeeded"] == count, f"the job did not succeed: {job}")
    case.figure("workers declared lost", cluster.log("supervisor").count(" lost:"), "", at_most=0)
    case.judge(cluster, job, slots=2, edges=edges)


MADE_BYTES = 4 << 20


def spilling_job(name, gate, count):
    """Data that no memory has room for together, and readers that know every byte of them; they wait for the gate."""
    content = bytearray(MADE_BYTES)
    content[::4096] = b"\1" * len(content[::4096])
    content[-1] = 1
    text = f"name = '{name}'\nkeep = 'nothing'\n"
    text += f"[[subtask]]\nkey = 'm'\narray = '1-{count}'\noperator = 'noop'\noutput = '{MADE_BYTES}B'\n"
    text += f"[[subtask]]\nkey = 'gate'\ncommand = 'until [ -e {gate} ]; do sleep 0.05; done'\nafter = ['m[*]']\n"
    text += (f"[[subtask]]\nkey = 'r'\narray = '1-{count}'\ninputs = ['m[{{i}}]']\nafter = ['gate']\nattempts = 1\n"
             f"command = 'test \"$(sha256sum | cut -c1-64)\" = {hashlib.sha256(content).hexdigest()}'\n")
    return text


def files_below(folder):
    return [path for path in glob.glob(os.path.join(folder, "**"), recursive=True) if os.path.isfile(path)]


def flip(path):
    with open(path, "r+b") as file:
        middle = os.path.getsize(path) // 2
        file.seek(middle)
        byte = file.read(1)[0]
        file.seek(middle)
        file.write(bytes([byte ^ 0x10]))


def spilled_data_damaged(case):
    """F41: bytes of data that lie on the disk of a running worker change, and whole files of them vanish."""
    cluster = case.cluster()
    spill, gate = cluster.path("spill"), cluster.path("gate")
    os.mkdir(spill)
    cluster.start_worker("w1", "--memory", "1GiB", "--store-memory", "32MiB", "--spill", spill)
    cluster.wait_for_workers(1)
    count = 24
    cluster.accept(spilling_job("damaged", gate, count))
    wait_for(lambda: cluster.job("damaged")["succeeded"] == count and len(files_below(spill)) >= 12, what="spilled data")
    wait_for(lambda: ask_running(cluster) == 1, what="the gate")
    files = sorted(files_below(spill))
    for path in files[:4]:
        flip(path)
    os.remove(files[5])
    open(gate, "w", encoding="ascii").close()
    job = cluster.wait_for_end("damaged")
    case.expect(job["succeeded"] == 2 * count + 1, f"the job did not succeed: {job}")
    case.figure("files on the disk", len(files))
    case.figure("data made again", job["attempts"] - job["subtasks"], "", at_least=5, at_most=None)
    case.expect(cluster.workers["w1"].poll() is None, "the worker died of it")
    case.judge(cluster, job)


def ask_running(cluster):
    return sum(row["running"] for row in cluster.ask("queues") or [])


def spill_disk_full(case):
    """F42: a disk of 4 MiB for data that need a hundred; then one that a killed worker has left files on."""
    cluster = case.cluster()
    gate = cluster.path("gate")
    settings = ("--set", "worker.store_wait_max=1s")
    cluster.start_worker("w1", "--memory", "1GiB", "--store-memory", "32MiB", "--spill", cluster.path("tiny"), *settings,
                         prefix=small_disk(cluster.path("tiny"), 4))
    cluster.wait_for_workers(1)
    # Bytes that do not become fewer by compression.
    cluster.accept("name = 'much'\nkeep = 'nothing'\n[[subtask]]\nkey = 'm'\narray = '1-24'\nattempts = 1\noutput_limit = '8MiB'\n"
                   "command = 'head -c 4194304 /dev/urandom'\n[[subtask]]\nkey = 'all'\ninputs = ['m[*]']\ncommand = 'cat >/dev/null'\n")
    job = cluster.wait_for_end("much")
    told = str(job.get("failures")) + str(job)
    case.expect(job["state"] == "failed" and "bytes" in told, f"I6: no clear error: {job}")
    case.figure("made before it was full", job["succeeded"], "data of 4 MiB", at_least=4)
    case.expect(cluster.workers["w1"].poll() is None, "the worker died of it")
    cluster.accept("name = 'little'\nkeep = 'nothing'\n[[subtask]]\nkey = 'm'\ncommand = 'head -c 4194304 /dev/urandom'\n"
                   "output_limit = '8MiB'\n[[subtask]]\nkey = 'r'\ninputs = ['m']\ncommand = 'test $(wc -c) = 4194304'\n")
    case.expect(cluster.wait_for_end("little")["succeeded"] == 2, "what has room is not run any more")
    case.judge(cluster, job)
    leftovers(case, cluster, gate)


def leftovers(case, cluster, gate):
    spill = cluster.path("spill")
    os.mkdir(spill)
    where = ("--memory", "1GiB", "--store-memory", "32MiB", "--spill", spill)
    cluster.kill_worker("w1")
    shared = set(os.listdir("/dev/shm"))
    for name in ("w2", "w3"):
        cluster.start_worker(name, *where)
        cluster.wait_for_workers(1)
        cluster.accept(spilling_job("of-" + name, gate, 16))
        wait_for(lambda: len(files_below(spill)) >= 4, what="spilled data")
        if name == "w2":
            left = set(files_below(spill))
            cluster.kill_worker(name)
            case.expect(left and all(os.path.exists(path) for path in left), "nothing was left to be taken away")
            cluster.run("cancel", "of-" + name)
            cluster.wait_for_end("of-" + name)
    wait_for(lambda: not any(os.path.exists(path) for path in left), 10, "the end of what a killed worker has left")
    open(gate, "w", encoding="ascii").close()
    job = cluster.wait_for_end("of-w3")
    case.expect(job["succeeded"] == 33, f"the job did not succeed: {job}")
    case.figure("left in memory by killed workers", len(set(os.listdir("/dev/shm")) - shared), "segments", at_most=0)
    case.judge(cluster, job)
