"""Metrics of real processes, as Prometheus sees them: pytest runs this on the binaries of a build (PENSTOCK_BINARY)."""
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("PENSTOCK_BINARY") or str(ROOT / "build/dev/penstock")
DOCUMENT = (ROOT / "docs/metrics.md").read_text()
PLACE = ROOT / "docs/metrics"
JOB = """
name = "load"
[[subtask]]
key = "a"
command = ["true"]
[[subtask]]
key = "b"
command = ["sleep", "0.1"]
after = ["a"]
"""


def until(condition, seconds=60):
    late = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < late, "the condition did not come true"
        time.sleep(0.02)


def documented(part):
    """The names in the table of that part of the manual."""
    text = DOCUMENT.split(f"\n## {part}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(penstock_\w+)` \|", text, re.M))


class Cluster:
    """A secured supervisor with a policy, and a worker, each with a metrics port."""

    def __init__(self, place):
        self.place, self.processes, self.logs = place, [], {}
        self.environment = {**os.environ, "PENSTOCK_CONFIG_DIR": str(place / "admin"), "HOME": str(place)}
        self.environment.pop("PENSTOCK_INSECURE", None)
        (place / "penstock.toml").write_text('[metrics]\nsupervisor_listen = "127.0.0.1:0"\nworker_listen = "127.0.0.1:0"\n'
                                             'sample_every = "0s"\n[[policy.pool]]\nname = "batch"\n[[policy.project]]\nname = "ml"\n')
        self.start("supervisor", "--listen", "127.0.0.1:0", "--state", str(place / "state"), "--address-file", str(place / "address"))
        address = place / "address"
        self.address = until(lambda: address.exists() and address.read_text().strip())
        self.start("worker", "--supervisor", self.address, "--slots", "2", "--memory", "1GiB", "--no-gpus")
        self.supervisor, self.worker = (self.metrics_port(name) for name in ("supervisor", "worker"))
        until(lambda: "ready" in self.run("workers", "--supervisor", self.address).stdout)

    def start(self, name, *arguments):
        self.logs[name] = self.place / f"{name}.log"
        with open(self.logs[name], "w") as log:
            self.processes.append(subprocess.Popen([BINARY, name, *arguments, "--config", str(self.place / "penstock.toml")], stderr=log,
                                                   cwd=self.place, env=self.environment))

    def metrics_port(self, name):
        return int(until(lambda: re.search(r"metrics are served.*address=127.0.0.1:(\d+)", self.logs[name].read_text())).group(1))

    def run(self, *arguments, user=None, text=None):
        environment = self.environment if user is None else {**self.environment, "PENSTOCK_CONFIG_DIR": str(self.place / user)}
        return subprocess.run([BINARY, *arguments], env=environment, cwd=self.place, input=text, capture_output=True, text=True, timeout=60)

    def log_in(self, user, role):
        """The file with the certificate."""
        token = self.run("token", "create", "--role", role, "--user", user, "--state", str(self.place / "state")).stdout
        done = self.run("login", "-", "--supervisor", self.address, user=user, text=token)
        assert done.returncode == 0, done.stderr
        return next((self.place / user).glob(f"clusters/*/{role}.pem"))

    def submit(self):
        job = self.place / "job.toml"
        job.write_text(JOB)
        done = self.run("submit", str(job), "--wait", "--supervisor", self.address, "--project", "ml")
        assert done.returncode == 0, done.stderr + done.stdout

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(20)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("metrics"))
    made.prometheus = made.log_in("prometheus", "metrics")
    made.submit()
    yield made
    made.end()


def context_of(authority, own=None):
    """As Prometheus has it: the authority and the name of the server are checked."""
    context = ssl.create_default_context(cafile=str(authority))
    if own is not None:
        context.load_cert_chain(str(own))
    return context


def get(cluster, port, path="/metrics", context=None, name=None, accept="text/plain"):
    """Status, type and body."""
    name = name or ("penstock-supervisor" if port == cluster.supervisor else "penstock-worker")
    context = context or context_of(cluster.prometheus, cluster.prometheus)
    with socket.create_connection(("127.0.0.1", port), 20) as plain, context.wrap_socket(plain, server_hostname=name) as secured:
        secured.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while piece := secured.recv(65536):
            answer += piece
    head, _, body = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), re.search(r"Content-Type: (.*)", head).group(1).strip(), body


def samples(text):
    """By name and labels."""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and not line.startswith("#")}


def families(text):
    return {re.sub(r"_(bucket|sum|count)$", "", re.match(r"\w+", name).group(0)) for name in samples(text)}


def test_every_documented_metric_is_there_and_no_other_one(cluster):
    for port, part in ((cluster.supervisor, "Supervisor"), (cluster.worker, "Worker")):
        assert get(cluster, port, "/nothing")[0] == 404
        assert get(cluster, port, context=context_of(cluster.prometheus))[0] == 403
        status, kind, text = get(cluster, port)
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        port_names = {name for name in documented("Supervisor") if name.startswith("penstock_metrics_")}
        assert families(text) == documented(part) | port_names
        assert text.count("# HELP ") == len(families(text))


def test_they_move_with_a_job(cluster):
    before = [samples(get(cluster, port)[2]) for port in (cluster.supervisor, cluster.worker)]
    job = cluster.place / "job.toml"
    job.write_text(JOB.replace('"load"', '"more load"'))
    done = cluster.run("submit", str(job), "--wait", "--supervisor", cluster.address, "--project", "ml")
    assert done.returncode == 0, done.stderr
    busy = 'penstock_busy_slot_seconds_total{project="ml",pool="batch",kind="cpu"}'
    after = [samples(get(cluster, port)[2]) for port in (cluster.supervisor, cluster.worker)]
    for name, least in {"penstock_jobs_accepted_total": 1, 'penstock_jobs_ended_total{state="succeeded"}': 1, busy: 0.1,
                        "penstock_attempts_assigned_total": 2, "penstock_attempts_succeeded_total": 2, "penstock_policy_passes_total": 1,
                        'penstock_run_seconds_count{runner="command"}': 2, 'penstock_job_wait_seconds_count{kind="training"}': 1,
                        'penstock_job_duration_seconds_sum{state="succeeded"}': 0.1, "penstock_policy_pass_seconds_count": 1,
                        "penstock_journal_sync_seconds_count": 1, "penstock_journal_changes_total": 1, "penstock_requests_total": 1,
                        "penstock_connections_total": 1, "penstock_frames_sent_total": 1}.items():
        assert after[0][name] - before[0][name] >= least, name
    for name, least in {"penstock_worker_attempts_assigned_total": 2, "penstock_worker_attempts_started_total": 2,
                        'penstock_worker_attempts_ended_total{outcome="succeeded"}': 2, "penstock_worker_run_seconds_count": 2,
                        "penstock_worker_report_batches_total": 1}.items():
        until(lambda: samples(get(cluster, cluster.worker)[2])[name] - before[1][name] >= least)
    assert after[0]['penstock_workers{state="ready"}'] == 1
    assert after[0]['penstock_slots{pool="batch",kind="cpu"}'] == 2


def test_what_is_refused_at_the_door_is_counted(cluster):
    name = 'penstock_connections_refused_total{reason="handshake"}'
    before = samples(get(cluster, cluster.supervisor)[2])[name]
    host, port = cluster.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 20) as peer:
        peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while peer.recv(4096):
            pass
    until(lambda: samples(get(cluster, cluster.supervisor)[2])[name] == before + 1)


def test_the_certificate_decides(cluster, tmp_path):
    for port, other in ((cluster.supervisor, "penstock-worker"), (cluster.worker, "penstock-supervisor")):
        bob = cluster.log_in("bob", "client")
        assert get(cluster, port, context=context_of(cluster.prometheus, bob))[0] == 403
        assert get(cluster, port, "/healthz", context=context_of(cluster.prometheus))[::2] == (200, "ok\n")
        olga = cluster.log_in("olga", "operator")
        assert get(cluster, port, context=context_of(olga, olga))[0] == 200
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            get(cluster, port, name=other)
        with pytest.raises(ssl.SSLCertVerificationError):
            get(cluster, port, context=ssl.create_default_context())
    for command in (["jobs"], ["cancel", "load"]):
        refused = cluster.run(*command, "--supervisor", cluster.address, user="prometheus")
        assert refused.returncode != 0 and "metrics" in refused.stderr


def test_a_login_is_renewed_by_a_timer(cluster):
    before = cluster.prometheus.read_text()
    done = cluster.run("login", "--renew", "--supervisor", cluster.address, user="prometheus")
    assert done.returncode == 0, done.stderr
    assert "prometheus with the role metrics" in done.stdout
    assert cluster.prometheus.read_text() != before
    assert get(cluster, cluster.supervisor)[0] == 200
    nobody = cluster.run("login", "--renew", "--supervisor", cluster.address, user="nobody")
    assert nobody.returncode != 0 and "penstock token create" in nobody.stderr


def test_a_revoked_certificate_is_refused(cluster):
    eve = cluster.log_in("eve", "metrics")
    context = context_of(eve, eve)
    for port in (cluster.supervisor, cluster.worker):
        assert get(cluster, port, context=context)[0] == 200
    assert cluster.run("user", "remove", "eve", "--state", str(cluster.place / "state")).returncode == 0
    for port in (cluster.supervisor, cluster.worker):
        until(lambda: get(cluster, port, context=context)[0] == 403)


def expressions():
    dashboard = json.loads((PLACE / "dashboard.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def test_dashboard_rules_and_alerts_name_metrics_that_exist():
    known = documented("Supervisor") | documented("Worker")
    texts = expressions() + [(PLACE / name).read_text() for name in ("rules.yml", "alerts.yml")]
    assert len(expressions()) > 20
    for text in texts:
        for name in re.findall(r"\bpenstock_\w+", text):
            assert re.sub(r"_(bucket|sum|count)$", "", name) in known, name


def promtool(*arguments, text=None):
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    return subprocess.run([tool, *arguments], input=text, capture_output=True, text=True, cwd=PLACE, timeout=120)


def test_promtool_finds_no_fault_with_the_text(cluster):
    for port in (cluster.supervisor, cluster.worker):
        checked = promtool("check", "metrics", text=get(cluster, port)[2])
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert checked.stderr == ""


def test_promtool_finds_rules_and_alerts_to_do_what_they_say():
    for name in ("rules_test.yml", "alerts_test.yml"):
        tested = promtool("test", "rules", name)
        assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_prometheus_has_a_series_for_every_query_of_the_dashboard(cluster):
    binary = shutil.which("prometheus")
    if binary is None:
        pytest.skip("prometheus is not installed: apt-get install prometheus")
    place = cluster.place / "tsdb"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tls = {"ca_file": str(cluster.prometheus), "cert_file": str(cluster.prometheus), "key_file": str(cluster.prometheus)}
    jobs = [{"job_name": name, "scheme": "https", "tls_config": {**tls, "server_name": name},
             "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
            for name, target in (("penstock-supervisor", cluster.supervisor), ("penstock-worker", cluster.worker))]
    config = cluster.place / "prometheus.yml"
    config.write_text(json.dumps({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "scrape_configs": jobs,
                                  "rule_files": [str(PLACE / "rules.yml"), str(PLACE / "alerts.yml")]}))
    cluster.processes.append(subprocess.Popen([binary, f"--config.file={config}", f"--storage.tsdb.path={place}",
                                               f"--web.listen-address=127.0.0.1:{port}"], stderr=open(cluster.place / "prometheus.log", "w")))

    def count(expression):
        query = urllib.parse.urlencode({"query": expression.replace('"$instance"', '".*"')})
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=10) as answer:
                return len(json.load(answer)["data"]["result"])
        except OSError:
            return 0
    until(lambda: count("up == 1") == 2)
    for expression in expressions():
        until(lambda: count(expression) > 0)
