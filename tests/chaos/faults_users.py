"""Four users of one host, each a real one: whose cluster it is, whose worker, a client, and one that should get nothing."""
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

from case import Skipped
from cluster import wait_for

SUPERVISOR, WORKER, BOB, EVE = 64010, 64011, 64012, 64013
SECRET = "only-bob-may-read-this"
POLICY = "[[policy.pool]]\nname = 'all'\npreset = 'priority'\n"

# The program of a user with sockets and files alone: it prints one line for each thing that it reached.
INTRUDER = """
import concurrent.futures, glob, os, socket, ssl, struct, sys
secret, ports, processes, places = sys.argv[1].encode(), sys.argv[2].split(), sys.argv[3].split(), sys.argv[4:]
def reached(what): print(what, flush=True)
def talk(end, first):
    end.settimeout(2)
    heard = b""
    try:
        if first: end.sendall(first)
        while len(heard) < 1 << 16:
            part = end.recv(4096)
            if not part: break
            heard += part
    except OSError: pass
    return heard
hello = struct.pack("<IBBHIIQQQQ", 0x4b534e50, 1, 1, 0, 0, 0, 7, 0, 0, 0)
fetch = struct.pack("<IIIIIIQ", 0x44534e50, 2, 1, 0, 0, 1 << 16, 0)
by_identity = struct.pack("<IIIIIIQQQ", 0x44534e50, 2 | 16, 1, 0, 0, 1 << 16, 0, 1, 2)
def plain(port, first):
    with socket.create_connection(("127.0.0.1", int(port)), 5) as end:
        heard = talk(end, first)
        if secret in heard or b"PNSK" in heard or b"PNSD" in heard: reached(f"port {port} answers a plain {first[:4]}")
def secured(port, version, first):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if version:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
    try:
        with socket.create_connection(("127.0.0.1", int(port)), 5) as end, context.wrap_socket(end) as tls:
            if version: return reached(f"port {port} speaks {tls.version()}")
            if secret in talk(tls, first): reached(f"port {port} answers without a certificate")
    except OSError: pass
with concurrent.futures.ThreadPoolExecutor(32) as pool:
    for port in ports:
        for first in (hello, fetch, by_identity): pool.submit(secured, port, None, first)
        for first in (hello, fetch, by_identity, b"GET / HTTP/1.1\\r\\n\\r\\n"): pool.submit(plain, port, first)
        for version in (ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2): pool.submit(secured, port, version, b"")
for name in {line.split()[-1] for line in open("/proc/net/unix") if "penstock" in line.lower()}:
    with socket.socket(socket.AF_UNIX) as end:
        end.settimeout(1)
        try: end.connect(name.replace("@", "\\0", 1))
        except OSError: continue
        if talk(end, struct.pack("<IIQ", 0x48534e50, 1, 1)): reached(f"the local socket {name}")
for process in processes:
    for part in ("environ", "mem", "maps", "fd"):
        try:
            place = f"/proc/{process}/{part}"
            if part == "fd": os.listdir(place)
            else: open(place, "rb").read(1)
            reached(place)
        except OSError: pass
for place in [*places, *glob.glob("/dev/shm/*penstock*")]:
    for folder, _, names in [(place, [], [""])] if os.path.isfile(place) else os.walk(place):
        for name in names:
            try:
                open(os.path.join(folder, name) if name else folder, "rb").read(1)
                reached(os.path.join(folder, name))
            except OSError: pass
"""


def user_name(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


class Account:
    """A user with a home of its own; its processes end with the case."""

    def __init__(self, case, place, uid):
        self.case, self.uid, self.home = case, uid, os.path.join(place, str(uid))
        self.binary = os.path.join(place, "penstock")
        self.prefix = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        self.environment = {"HOME": self.home, "PATH": os.environ["PATH"]}
        os.mkdir(self.home)
        os.chown(self.home, uid, uid)
        os.chmod(self.home, 0o700)

    def path(self, name):
        return os.path.join(self.home, name)

    def call(self, *words, given="", seconds=60, **more):
        return subprocess.run([*self.prefix, *words], input=given, capture_output=True, text=True, check=False, timeout=seconds,
                              cwd=self.home, env={**self.environment, **more})

    def run(self, *words, **more):
        return self.call(self.binary, *words, **more)

    def start(self, name, *words, given=""):
        with open(os.path.join(os.path.dirname(self.home), name + ".log"), "ab") as log:
            process = subprocess.Popen([*self.prefix, self.binary, *words], stdin=subprocess.PIPE, stdout=log, stderr=log, text=True,
                                       cwd=self.home, env=self.environment)
        self.case.at_end(lambda: (process.kill(), process.wait()))
        process.stdin.write(given)
        process.stdin.close()
        return process

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        os.chown(self.path(name), self.uid, self.uid)
        return self.path(name)


# Every command that asks a supervisor, or orders something, about a job, a worker or nothing. The others say in `--help` that
# they are of this host: the test fails for one that stands in neither list.
ABOUT_JOBS = (("job", "JOB"), ("explain", "JOB"), ("explain", "JOB", "0"), ("explain-data", "JOB", "0"), ("logs", "JOB"),
              ("result", "JOB"), ("wait", "JOB", "--timeout", "1ms"), ("keep", "JOB"), ("unkeep", "JOB"), ("rerun", "JOB"), ("hold", "JOB"),
              ("release", "JOB"), ("priority", "JOB", "3"), ("set", "weight", "JOB", "2"), ("set", "time-limit", "JOB", "9h"),
              ("move", "JOB", "ahead-of", "JOB"), ("data", "--job", "JOB"), ("cancel", "JOB", "0"), ("cancel", "JOB"))
ABOUT_ALL = (("jobs", "--all"), ("workers",), ("queues",), ("queue",), ("pools",), ("projects",), ("shares",), ("limits",),
             ("users",), ("bands",), ("counters",), ("audit",), ("data",), ("shared",))
STEERING = (("drain", "w1"), ("undrain", "w1"), ("reload",))
STEERS = {"drain", "undrain", "reload", "priority", "set", "move"}
OF_THIS_HOST = {"run", "submit", "supervisor", "worker", "token", "login", "user", "config", "doctor", "state", "admin", "manual",
                "completion", "watch", "help", "shell"}


class Four:
    def __init__(self, case):
        self.place = tempfile.mkdtemp(prefix="penstock-users-")
        case.at_end(lambda: shutil.rmtree(self.place, ignore_errors=True))
        os.chmod(self.place, 0o755)
        shutil.copy(case.binary, os.path.join(self.place, "penstock"))
        os.chmod(os.path.join(self.place, "penstock"), 0o755)
        self.owner, self.host, self.bob, self.eve = (Account(case, self.place, uid) for uid in (SUPERVISOR, WORKER, BOB, EVE))
        self.processes = [self.owner.start("supervisor", "supervisor", "--state", "state", "--listen", "127.0.0.1:0",
                                           "--address-file", "address", "--config", self.owner.write("policy.toml", POLICY))]
        wait_for(lambda: os.path.exists(self.owner.path("address")), what="a supervisor: " + self.log("supervisor"))
        with open(self.owner.path("address"), encoding="ascii") as file:
            self.address = file.read().strip()
        self.processes.append(self.host.start("w1", "worker", "--supervisor", self.address, "--name", "w1", "--no-gpus",
                                              "--slots", "2", "--join-file", "-", "--set", 'worker.accept_users=["*"]',
                                              given=self.token("worker")))
        wait_for(lambda: '"ready"' in self.ask(self.owner, "workers", "--json").stdout, what="the worker: " + self.log("w1"))

    def log(self, name):
        path = os.path.join(self.place, name + ".log")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def token(self, role, uid=None):
        user = [] if uid is None else ["--user", user_name(uid)]
        return self.owner.run("token", "create", "--role", role, *user, "--state", "state").stdout

    def ask(self, user, *words, **more):
        return user.run(*words, "--supervisor", self.address, **more)

    def ports(self):
        """Of both processes, by what the kernel says they listen on."""
        listening = set()
        for process in self.processes:
            inodes = {os.readlink(f"/proc/{process.pid}/fd/{number}") for number in os.listdir(f"/proc/{process.pid}/fd")}
            with open("/proc/net/tcp", encoding="ascii") as file:
                for line in file.readlines()[1:]:
                    fields = line.split()
                    if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                        listening.add(str(int(fields[1].split(":")[1], 16)))
        return listening


def expect_no_entry(case, four, who, words):
    """All that a user without a credential tries."""
    for how in ({}, {"PENSTOCK_INSECURE": "1"}):
        for command in words:
            answer = four.ask(who, *command, **how)
            case.expect(answer.returncode != 0, f"a stranger may `{command}`: {answer.stdout}")
            case.expect("of-bob" not in answer.stdout + answer.stderr, f"a stranger learns by `{command}`: {answer}")
    job = who.write("job.toml", "name = 'of-eve'\n[[subtask]]\nkey = 'a'\ncommand = ['id', '-u']\n")
    case.expect(four.ask(who, "submit", job).returncode != 0, "a stranger submits")
    case.expect(four.ask(who, "submit", job, PENSTOCK_INSECURE="1").returncode != 0, "a stranger submits, insecurely")
    mallory = four.ask(who, "worker", "--name", "mallory", "--no-gpus")
    case.expect(mallory.returncode != 0 and "no credential" in mallory.stderr, f"a stranger is a worker: {mallory.stderr}")


def expect_nothing_reached(case, four, who):
    ports = four.ports()
    case.expect(len(ports) == 2, f"the cluster listens on {ports}")
    tried = who.call(sys.executable, "-c", INTRUDER, SECRET, " ".join(ports), " ".join(str(each.pid) for each in four.processes),
                     *(each.home for each in (four.owner, four.host, four.bob) if each is not who), seconds=120)
    case.expect(tried.returncode == 0, f"the intruder's program: {tried.stderr[-500:]}")
    case.expect(not tried.stdout, f"user {who.uid} has reached {tried.stdout}")


def expect_foreign_is_unknown(case, four, who):
    """A client about a job of another one, and one about a job that is not there: the same words."""
    for command in ABOUT_ALL:
        answer = four.ask(who, *command)
        case.expect(answer.returncode == 0, f"a client may not `{command}`: {answer.stderr}")
        case.expect("of-bob" not in answer.stdout, f"`{command}` shows a foreign job: {answer.stdout}")
    number = json.loads(four.ask(four.bob, "job", "of-bob", "--json").stdout)["id"]
    for command in ABOUT_JOBS:
        for foreign, unknown in (("of-bob", "unheard"), (number, "job-4000000")):
            told = [four.ask(who, *(name if word == "JOB" else word for word in command)) for name in (foreign, unknown)]
            words = [answer.stderr.replace(name, "X") for answer, name in zip(told, (foreign, unknown))]
            case.expect(told[0].returncode != 0 and not told[0].stdout, f"`{command}` of a foreign job: {told[0].stdout}")
            case.expect(words[0] == words[1], f"`{command}` tells that a foreign job is there: {words}")
            steers = command[0] in STEERS
            case.expect(("needs the role operator" in words[0]) == steers, f"`{command}` of a client: {words[0]}")
    for command in STEERING:
        case.expect("needs the role operator" in four.ask(who, *command).stderr, f"a client may `{command}`")
    mallory = four.ask(who, "worker", "--name", "mallory", "--no-gpus")
    case.expect(mallory.returncode != 0, f"a client is a worker: {mallory.stderr}")


def four_users(case):
    """S04: every command by four real users; sockets, files and processes of the others."""
    if os.geteuid() != 0:
        raise Skipped("needs root, to be several users")
    four = Four(case)
    bob, eve = four.bob, four.eve
    named = re.findall(r"(?m)^ {2}([a-z][a-z-]+) ", bob.run("--help").stdout)
    known = {command[0] for command in (*ABOUT_JOBS, *ABOUT_ALL, *STEERING)} | OF_THIS_HOST
    case.expect(len(named) > 20 and set(named) <= known, f"commands that nobody has tried: {set(named) - known} of {named}")
    used = four.token("client", BOB)
    case.expect(four.ask(bob, "login", "-", given=used).returncode == 0, "bob has no credential")
    text = f"name = 'of-bob'\nkeep = 'sinks'\n[[subtask]]\nkey = 'a'\ncommand = ['sh', '-c', 'echo {SECRET}']\n"
    done = four.ask(bob, "submit", bob.write("job.toml", text), "--wait")
    case.expect(done.returncode == 0, f"bob's job failed: {done.stderr}")
    case.expect(SECRET in four.ask(bob, "result", "of-bob", "a").stdout, "bob cannot read its own result")
    expect_no_entry(case, four, eve, (*(tuple("of-bob" if word == "JOB" else word for word in command) for command in ABOUT_JOBS),
                                      *ABOUT_ALL, *STEERING))
    again = four.ask(eve, "login", "-", given=used)
    case.expect("was used already" in again.stderr, f"a token leads twice to a certificate: {again}")
    expect_nothing_reached(case, four, eve)
    case.expect(four.ask(eve, "login", "-", given=four.token("client", EVE)).returncode == 0, "eve has no credential")
    expect_foreign_is_unknown(case, four, eve)
    expect_nothing_reached(case, four, eve)
    expect_nothing_reached(case, four, bob)
    # As anybody: the name in the file of the job does not count, nor does that in the environment.
    posed = four.ask(eve, "submit", eve.write("job.toml", "name = 'posed'\n[[subtask]]\nkey = 'a'\noperator = 'noop'\n"), "--wait",
                     USER=user_name(BOB), LOGNAME=user_name(BOB))
    case.expect(posed.returncode == 0, f"eve's job failed: {posed.stderr}")
    owners = {job["name"]: job["owner"] for job in json.loads(four.ask(four.owner, "jobs", "--all", "--json").stdout)}
    case.expect(owners == {"of-bob": user_name(BOB), "posed": user_name(EVE)}, f"the owners are {owners}")
    workers = json.loads(four.ask(four.owner, "workers", "--json").stdout)
    case.expect([(each["name"], each["state"]) for each in workers] == [("w1", "ready")], f"the workers are {workers}")
    case.expect(all(each.poll() is None for each in four.processes), "a process has ended")
