"""Clusters of real processes, each in a directory of its own; nothing of them outlives `end`."""
import json
import os
import signal
import subprocess
import time

PATIENCE_S = 30.0


class Broken(Exception):
    """A condition did not come true in time, or the cluster does not do what it is for."""


def wait_for(condition, seconds=PATIENCE_S, what="a condition", every=0.01):
    """The first true value of `condition`; how long it took is the caller's to measure."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Broken(f"{what} did not come within {seconds:g} s")
        time.sleep(every)


def is_alive(process_id):
    """A zombie is not: it holds nothing but its number."""
    try:
        with open(f"/proc/{process_id}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def resident_kib(process_id):
    with open(f"/proc/{process_id}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def peak_kib(process_id):
    with open(f"/proc/{process_id}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def descriptors(process_id):
    """What it has open, but files of a state directory: how many those are is for RocksDB to say."""
    places = []
    for number in os.listdir(f"/proc/{process_id}/fd"):
        try:
            places.append(os.readlink(f"/proc/{process_id}/fd/{number}"))
        except FileNotFoundError:  # Closed meanwhile.
            pass
    return sorted(place for place in places if "/state/" not in place)


def tree_bytes(folder):
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.path.getsize(os.path.join(place, name))
            except OSError:  # It went away while we looked.
                pass
    return total


class Cluster:
    """A supervisor and workers. `settings` are for all of them: `("link.heartbeat=100ms", ...)`."""

    def __init__(self, binary, directory, settings=(), listen="127.0.0.1:0", plain=False):
        self.binary, self.directory = os.path.abspath(binary), directory
        self.settings = [part for setting in settings for part in ("--set", setting)]
        self.witness = os.path.join(directory, "witness")
        self.address = listen
        self.environment = {"PENSTOCK_INSECURE": "1"} if plain else {}
        self.insecure = ["--insecure"] if plain else []
        self.supervisor = None
        self.workers = {}
        self.started = []   # (name, process), in order.
        self.killed = set()  # Process ids that ended by our hand.
        self.baseline = None  # Of I5: process, memory, descriptors and workers of a quiet supervisor.
        self.spare_kib = 8192
        open(self.witness, "a", encoding="ascii").close()

    def path(self, name):
        return os.path.join(self.directory, name)

    def spawn(self, name, arguments, prefix=(), environment=None):
        with open(self.path(name + ".log"), "ab") as log:
            process = subprocess.Popen([*prefix, self.binary, *arguments], stdout=log, stderr=log, cwd=self.directory,
                                       env={**os.environ, **self.environment, **(environment or {})}, start_new_session=True)
        self.started.append((name, process))
        return process

    def start_supervisor(self, *extra, prefix=(), environment=None, seconds=PATIENCE_S):
        """Returns when it listens."""
        address_file = self.path("address")
        if os.path.exists(address_file):
            os.remove(address_file)
        self.supervisor = self.spawn("supervisor",
                                     ["supervisor", "--state", "state", "--listen", self.address, "--address-file",
                                      "address", *self.settings, *self.insecure, *extra], prefix, environment)

        def listens():
            if self.supervisor.poll() is not None:
                raise Broken("the supervisor does not start: " + self.log("supervisor")[-500:])
            return os.path.exists(address_file)
        wait_for(listens, seconds, "a listening supervisor", every=0.002)
        with open(address_file, encoding="ascii") as file:
            self.address = file.read().strip()
        return self

    def kill(self, process):
        self.killed.add(process.pid)
        process.kill()
        process.wait()

    def kill_supervisor(self):
        self.kill(self.supervisor)

    def kill_worker(self, name):
        self.kill(self.workers[name])
        with open(self.witness, "a", encoding="ascii") as file:
            file.write(f"k {name}\n")

    def start_worker(self, name, *extra, slots=2, address=None, prefix=(), environment=None, gpus=False):
        self.workers[name] = self.spawn(
            name, ["worker", "--supervisor", address or self.address, "--name", name, "--slots", str(slots),
                   *(() if gpus else ("--no-gpus",)), *self.settings, *extra], prefix,
            {"CHAOS_WORKER": name, **(environment or {})})
        return self.workers[name]

    def run(self, *arguments, address=None, seconds=300):
        return self.run_alone(*arguments, "--supervisor", address or self.address, seconds=seconds)

    def run_alone(self, *arguments, seconds=60):
        """A call of the binary that is not about this cluster's supervisor."""
        try:
            return subprocess.run([self.binary, *arguments], cwd=self.directory, capture_output=True, text=True, check=False,
                                  timeout=seconds, env={**os.environ, **self.environment})
        except subprocess.TimeoutExpired as late:
            raise Broken(f"no answer to `penstock {' '.join(arguments)}` within {seconds:g} s") from late

    def ask(self, *arguments):
        answer = self.run(*arguments, "--json")
        return json.loads(answer.stdout) if answer.returncode == 0 and answer.stdout.strip() else None

    def live_workers(self):
        return sum(process.poll() is None for process in self.workers.values())

    def audit(self):
        """What is told of what nobody has ordered, a line each."""
        return [f"{row['order']}: {row['outcome']}" for row in self.ask("audit") or [] if row["who"] == "supervisor"]

    def workers_in(self, state):
        return [row["name"] for row in self.ask("workers") or [] if row["state"] == state]

    def wait_for_workers(self, count, seconds=PATIENCE_S):
        wait_for(lambda: len(self.workers_in("ready")) >= count, seconds, f"{count} ready workers")

    def submit(self, text, *extra):
        path = self.path("job.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.run("submit", path, *extra)

    def accept(self, text):
        """Submits what has to be accepted."""
        answer = self.submit(text)
        if answer.returncode != 0:
            raise Broken("the submit was refused: " + answer.stderr)

    def begin(self, name, *arguments):
        """A command that is not waited for; its output is in `name.log`."""
        return self.spawn(name, [*arguments, "--supervisor", self.address])

    def job(self, name):
        return wait_for(lambda: self.ask("job", name), what="an answer about " + name)

    def wait_for_end(self, name, seconds=60):
        """The job's record when it has ended, however it did."""
        self.run("wait", name, "--timeout", f"{int(seconds * 1000)}ms", seconds=seconds + 30)
        job = self.job(name)
        if job["state"] == "running":
            raise Broken(f"job {name} did not end within {seconds:g} s: {job}; {self.ask('explain', name)}; "
                         f"{self.ask('queues')}")
        return job

    def wait_for_succeeded(self, name, count, seconds=PATIENCE_S):
        return wait_for(lambda: self.job(name)["succeeded"] >= count, seconds, f"{count} successes of {name}")

    def log(self, name):
        try:
            with open(self.path(name + ".log"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def witnessed(self):
        with open(self.witness, encoding="ascii", errors="replace") as file:
            return [line.split() for line in file]

    def end(self):
        """Ends all; (name, exit code) of those that did not end in order by themselves or by request."""
        for _, process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                self.killed.add(-process.pid)
        deadline = time.monotonic() + 15
        bad = []
        for name, process in self.started:
            try:
                code = process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                bad.append((name, "did not end at SIGTERM"))
                continue
            if code < 0 and process.pid not in self.killed and not (-process.pid in self.killed and code == -15):
                bad.append((name, f"ended by signal {-code}"))
        return bad
