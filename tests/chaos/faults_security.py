"""Faults of secured connections, and what a network sees of them."""
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import time

from case import Skipped
from cluster import wait_for
from faults_bytes import stranger
from oracle import witness_job
from tap import Tap

SECRET = "a-secret-that-no-network-may-read"


def tapped(case, cluster, **how):
    tap = Tap(cluster.address, **how)
    case.at_end(tap.end)
    return tap


def nothing_readable(case):
    """S01: bytes between all processes show nothing of a job, also where connections break and come back."""
    settings = ("link.heartbeat=100ms", "link.silence_max=2s", "link.reconnect_grace=2s")
    cluster = case.cluster(settings=settings)
    whole, cutting = tapped(case, cluster, slow_bytes=4000), tapped(case, cluster, cut=0.02, seed=3)
    mine = tapped(case, cluster)
    cluster.start_worker("w1", address=whole.address)
    cluster.start_worker("w2", address=cutting.address)
    cluster.wait_for_workers(2)
    case.begin_vitals(cluster)
    count = 400
    with open(cluster.path("secret.toml"), "w", encoding="ascii") as file:
        file.write(witness_job(cluster, SECRET, [("s", count, f"echo {SECRET}", "")]))
    submitted = cluster.run("submit", cluster.path("secret.toml"), address=mine.address)
    case.expect(submitted.returncode == 0, f"the submit failed: {submitted.stderr}")
    job = cluster.wait_for_end(SECRET)
    case.expect(job["succeeded"] == count, f"the job did not succeed: {job}")
    asked = cluster.run("job", SECRET, address=mine.address)
    case.expect(SECRET in asked.stdout, f"the answer does not name the job: {asked}")
    for name, tap in (("w1", whole), ("w2", cutting), ("the client", mine)):
        case.expect(len(tap.seen) > 5000, f"nothing of {name} came this way")
        for text in (SECRET, "PNSK", cluster.directory):
            case.expect(text.encode() not in tap.seen, f"the network reads '{text}' of {name}")
    case.figure("connections cut", cutting.counts["cut"], "", at_least=1)
    cutting.cut = 0.0
    cluster.wait_for_workers(2)
    case.judge(cluster, job, overlap=False)


def strangers(case):
    """S02: a storm of handshakes that nobody ends, beside honest questions."""
    cluster = case.cluster(workers=1, settings=("wire.handshake_timeout=1s",))
    hello = bytes.fromhex("16030100c8010000c40303") + bytes(197)  # The head of a handshake, then nothing of sense.
    slowest, begin, number = 0.0, time.monotonic(), 0
    while time.monotonic() - begin < (20 if case.full else 3):
        for _ in range(50):
            number += 1
            with stranger(cluster) as end:
                end.sendall(hello if number % 2 else b"GET / HTTP/1.1\r\n\r\n")
        asked = time.monotonic()
        answer = cluster.run("workers")
        slowest = max(slowest, time.monotonic() - asked)
        case.expect(answer.returncode == 0, f"an honest question failed: {answer.stderr}")
    case.figure("strangers", number, "", at_least=100)
    case.figure("slowest question", slowest, "s", at_most=1)
    wait_for(lambda: len(cluster.workers_in("ready")) == 1, what="the worker")


class Other:
    """Another user of the host, with a home of its own."""

    def __init__(self, case, cluster, uid):
        self.cluster, self.uid = cluster, uid
        self.home = tempfile.mkdtemp(prefix="penstock-user-")
        case.at_end(lambda: shutil.rmtree(self.home, ignore_errors=True))
        self.binary = shutil.copy(cluster.binary, self.home)  # Where the build is, this user may not look.
        for place in (self.home, self.binary):
            os.chown(place, uid, uid)
            os.chmod(place, 0o755)

    def run(self, *words, given="", **environment):
        return subprocess.run(["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", self.binary, *words],
                              input=given, capture_output=True, text=True, check=False, timeout=60, cwd=self.home,
                              env={"HOME": self.home, "PATH": os.environ["PATH"], **environment})

    def ask(self, *words, **more):
        return self.run(*words, "--supervisor", self.cluster.address, **more)

    def join(self, role, command=("login",)):
        token = self.cluster.run_alone("token", "create", "--role", role, "--user", user_name(self.uid), "--state", "state")
        return self.ask(*command, "-", given=token.stdout)


def users_apart(case):
    """S03: other users of the host, without a credential, with one, and after it was taken back."""
    if os.geteuid() != 0:
        raise Skipped("needs root, to be several users")
    cluster = case.cluster(workers=1)
    cluster.accept(witness_job(cluster, "of-root", [("s", 1, "sleep 60", "")]))
    bob, eve, dan = (Other(case, cluster, uid) for uid in (64001, 64002, 64003))
    words = (("jobs",), ("workers",), ("job", "of-root"), ("cancel", "of-root"), ("drain", "w1"), ("result", "of-root"))
    for how in ({}, {"PENSTOCK_INSECURE": "1"}):
        for command in words:
            answer = eve.ask(*command, **how)
            case.expect(answer.returncode != 0 and "of-root" not in answer.stdout, f"{command} of a stranger: {answer}")
    worker = eve.ask("worker", "--name", "mallory", "--no-gpus")
    case.expect(worker.returncode != 0 and "no credential" in worker.stderr, f"a stranger is a worker: {worker.stderr}")
    for name in ("state/authority/authority.key", "state/authority"):
        seen = subprocess.run(["setpriv", "--reuid=64002", "--regid=64002", "--clear-groups", "cat", cluster.path(name)],
                              capture_output=True, check=False)
        case.expect(seen.returncode != 0, f"a stranger reads {name}")
    for user in (bob, dan):
        joined = user.join("client")
        case.expect(joined.returncode == 0, f"a login failed: {joined.stderr}")
    with open(os.path.join(bob.home, "job.toml"), "w", encoding="ascii") as file:
        file.write("name = 'of-bob'\nkeep = 'sinks'\n[[subtask]]\nkey = 'one'\noperator = 'noop'\noutput = 100\n")
    done = bob.ask("submit", "job.toml", "--wait")
    case.expect(done.returncode == 0, f"a client's job failed: {done.stderr}")
    listed = json.loads(bob.ask("jobs", "--all", "--json").stdout)
    case.expect([job["name"] for job in listed] == ["of-bob"], f"a client sees {listed}")
    case.expect(listed[0]["owner"] == user_name(64001), f"the owner of a client's job: {listed}")
    case.expect(bob.ask("result", "of-bob").returncode == 0, "a client cannot read its own results")
    for command in (("job",), ("cancel",), ("result",), ("explain",), ("logs",), ("wait",)):
        foreign, unknown = dan.ask(*command, "of-bob"), dan.ask(*command, "unheard")
        case.expect(foreign.returncode != 0, f"{command} of another user's job: {foreign.stdout}")
        case.expect(foreign.stderr.replace("of-bob", "X") == unknown.stderr.replace("unheard", "X"),
                    f"{command} tells that a foreign job is there: {foreign.stderr} {unknown.stderr}")
    case.expect("needs the role operator" in dan.ask("drain", "w1").stderr, "a client drains a worker")
    taken = cluster.run_alone("user", "remove", user_name(64001), "--state", "state")
    case.expect(taken.returncode == 0, taken.stderr)
    wait_for(lambda: "was revoked" in bob.ask("jobs").stderr, seconds=5, what="the end of a removed user")
    case.expect(dan.ask("jobs").returncode == 0, "another user was removed, too")
    cluster.run("cancel", "of-root")


def user_name(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
