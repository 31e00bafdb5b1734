"""What users' programs do to themselves and to their host: F25, F26, F28, F29, F33."""
import os
import time

from cluster import is_alive, wait_for
from case import Skipped
from oracle import END, SCRIPT, Oracle, witness_job


def lives(cluster):
    return {name: process.pid for name, process in cluster.workers.items() if process.poll() is None}


def the_failure(case, job, wanted):
    """The only failure of a job whose other subtasks have succeeded."""
    failures = job.get("failures", [])
    case.expect(len(failures) == 1, f"not one failure: {job}")
    if not failures:
        return {"message": "", "history": [], "class": ""}
    case.expect(failures[0]["class"] == wanted, f"I6: the failure is called {failures[0]['class']!r}, not {wanted!r}")
    return failures[0]


def poison(case):
    """F25."""
    cluster = case.cluster(workers=2, slots=2)
    before = lives(cluster)
    text = witness_job(cluster, "poison", [("bad", 1, "kill -s SEGV $$", "on_failure = 'continue'"),
                                           ("good", 6, "sleep 0.5", "")])
    cluster.accept(text)
    job = cluster.wait_for_end("poison")
    case.expect((job["succeeded"], job["failed"]) == (6, 1), f"not the poisoned one alone has failed: {job}")
    failure = the_failure(case, job, "runner crash")
    case.figure("attempts of the poisoned", len(failure["history"]), "", at_most=3, at_least=None)
    tries = Oracle(cluster, job).started()
    case.expect(all(count == 1 for subtask, count in tries.items() if subtask != "1:0"), f"others ran again: {tries}")
    case.expect("SIGSEGV" in failure["message"], f"I6: the message names no signal: {failure}")
    case.expect(lives(cluster) == before, "a worker died of it")
    case.judge(cluster, job)


def poisoned_operator(case):
    """F25, for operators that run inside their worker."""
    library = os.path.join(os.path.dirname(case.binary), "libcrashing_operators.so")
    if not os.path.exists(library):
        raise Skipped("libcrashing_operators.so is not built beside the binary")
    cluster = case.cluster()
    for name in ("w1", "w2"):
        cluster.start_worker(name, "--operators", library, slots=4)
    cluster.wait_for_workers(2)
    before = lives(cluster)
    # Programs witness their attempts; each crash takes some of them down with the worker.
    text = witness_job(cluster, "poison", [("beside", 12, "sleep 0.3", "")]) + (
        "[[subtask]]\nkey = 'bad'\noperator = 'segfault'\npriority = 9\non_failure = 'continue'\n"
        "[[subtask]]\nkey = 'native'\narray = '1-12'\noperator = 'burn'\nburn = '200ms'\n")
    cluster.accept(text)
    job = cluster.wait_for_end("poison")
    case.expect((job["succeeded"], job["failed"]) == (24, 1), f"not the poisoned one alone has failed: {job}")
    failure = the_failure(case, job, "runner crash")
    case.figure("attempts of the poisoned", len(failure["history"]), "", at_most=3, at_least=None)
    for part in ("operator 'segfault' crashed", "SIGSEGV"):
        case.expect(part in failure["message"], f"I6: the message does not say {part!r}: {failure}")
    begun = sum(cluster.log(name).count("the worker begins again") for name in before)
    case.figure("lives that it ended", begun, "", at_most=3)
    case.expect(lives(cluster) == before, "the process of a worker died of it")
    case.judge(cluster, job)


def out_of_memory(case):
    """F26."""
    cluster = case.cluster(workers=1)
    before = lives(cluster)
    limit = 64 << 20
    cluster.accept("name = 'greedy'\nkeep = 'nothing'\n[[subtask]]\nkey = 'greedy'\nmemory = '64MiB'\nattempts = 1\n"
                   "on_failure = 'continue'\ncommand = ['python3', '-c', 'x = bytearray(300 << 20); print(len(x))']\n"
                   "[[subtask]]\nkey = 'modest'\nmemory = '64MiB'\ncommand = ['true']\n")
    job = cluster.wait_for_end("greedy")
    if "memory limits of commands are not enforced" in cluster.log("w1"):
        raise Skipped("no control group may be written here")
    failure = the_failure(case, job, "out of memory")
    for part in ("OOMKilled", str(limit), "peak"):
        case.expect(part in failure["message"], f"I6: the message does not say {part!r}: {failure['message']}")
    case.expect(job["succeeded"] == 1, f"the other was hit: {job}")
    cluster.accept("name = 'growing'\nkeep = 'nothing'\n[[subtask]]\nkey = 'growing'\nmemory = '64MiB'\nmemory_max = '1GiB'\n"
                   "attempts = 1\ncommand = ['python3', '-c', 'x = bytearray(150 << 20); print(len(x))']\n")
    grown = cluster.wait_for_end("growing")
    case.expect(grown["state"] == "succeeded", f"it did not get the memory that it needs: {grown}")
    case.figure("attempts of one that needs 150 MiB, has 64 and may have 1024", grown["attempts"], "", at_most=3, at_least=None)
    case.expect(lives(cluster) == before, "the worker died of it")
    case.judge(cluster, job)


def hung(case):
    """F28."""
    cluster = case.cluster(workers=1, slots=1)
    pids = cluster.path("pids")
    body = f"trap '' TERM; sleep 1000 & echo $$ $! >>{pids}; while :; do wait; sleep 1; done"
    begin = time.monotonic()
    fields = "time_limit = '400ms'\nkill_grace = '400ms'\nattempts = 1\non_failure = 'continue'\npriority = 1"
    cluster.accept(witness_job(cluster, "hung", [("hung", 1, body, fields), ("next", 1, "true", "")]))
    job = cluster.wait_for_end("hung")
    case.figure("both done after", time.monotonic() - begin, "s", at_most=4)
    case.figure("limit and grace waited", time.monotonic() - begin, "s", at_least=0.8)
    failure = the_failure(case, job, "timeout")
    case.expect("limit" in failure["message"], f"I6: the message names no limit: {failure['message']}")
    case.expect(job["succeeded"] == 1, f"the slot was not freed: {job}")
    with open(pids, encoding="ascii") as file:
        left = [int(process) for process in file.read().split() if is_alive(int(process))]
    case.figure("processes left", len(left), "", at_most=0)
    case.judge(cluster, job)


def daemons(case):
    """F29: one daemon in the group of its program, one in a session of its own, one that has a child there."""
    cluster = case.cluster(workers=1, slots=2)
    pids = cluster.path("pids")
    quiet = ">/dev/null 2>&1 </dev/null"
    body = (f"(sleep 300 {quiet} & echo $! >>{pids}); (setsid sleep 300 {quiet} & echo $! >>{pids});"
            f"(setsid sh -c 'sleep 300; true' {quiet} & echo $! >>{pids}); sleep 0.2")
    cluster.accept(witness_job(cluster, "daemons", [("s", 6, body, "")]))
    job = cluster.wait_for_end("daemons")
    case.expect(job["succeeded"] == 6, f"the job did not succeed: {job}")
    with open(pids, encoding="ascii") as file:
        made = [int(process) for process in file.read().split()]
    case.expect(len(made) == 18, f"not 18 daemons were made: {made}")
    begin = time.monotonic()
    wait_for(lambda: not any(is_alive(process) for process in made), 3, "the end of all daemons")
    case.figure("daemons gone after", time.monotonic() - begin, "s", at_most=2)
    case.judge(cluster, job, slots=2)
    # And of a worker that is killed itself.
    cluster.accept(witness_job(cluster, "orphans", [("o", 2, body.replace("sleep 0.2", "sleep 100"), "")]))
    wait_for(lambda: open(pids, encoding="ascii").read().count("\n") >= 24, what="daemons of the second job")
    cluster.kill_worker("w1")
    with open(pids, encoding="ascii") as file:
        made = [int(process) for process in file.read().split()]
    begin = time.monotonic()
    wait_for(lambda: not any(is_alive(process) for process in made), 5, "the end of a killed worker's daemons")
    case.figure("those of a killed worker after", time.monotonic() - begin, "s", at_most=2)


def exhausted(case):
    """F33."""
    from faults_bytes import stranger  # Sockets of nobody.
    cluster = case.cluster(settings=("wire.handshake_timeout=2s",), prefix=["prlimit", "--nofile=256:256"])
    # It has descriptors for its own work and not for thirty programs.
    cluster.start_worker("narrow", slots=30, prefix=["prlimit", "--nofile=48:48"])
    cluster.start_worker("wide", slots=2)
    cluster.wait_for_workers(2)
    case.begin_vitals(cluster)
    crowd = [stranger(cluster) for _ in range(400)]
    cluster.accept(f"name = 'crowd'\nkeep = 'nothing'\nenv = {{ WITNESS = '{cluster.witness}' }}\n[[subtask]]\nkey = 's'\n"
                   f"array = '0-59'\ncommand = ['sh', '-c', '''{SCRIPT}sleep 0.2\n{END}''']\n")
    told = wait_for(lambda: any("host exhausted" in str(cluster.ask("explain", "crowd", str(number)))
                                for number in (2, 20, 40, 59)) or cluster.job("crowd")["state"] != "running", 20)
    case.expect(told, "I6: nobody is told that the host is exhausted")
    job = cluster.wait_for_end("crowd")
    for end in crowd:
        end.close()
    case.expect(job["succeeded"] == 60, f"the job did not succeed: {job}")
    moved = {line[1] for line in cluster.witnessed() if line[0] == "s" and line[2] != "1" and line[4] == "wide"}
    case.figure("done elsewhere after a refusal", len(moved), "subtasks", at_least=1)
    case.expect(set(lives(cluster)) == {"narrow", "wide"}, "a worker died of it")
    case.expect(cluster.supervisor.poll() is None, "the supervisor died of it")
    case.judge(cluster, job)
