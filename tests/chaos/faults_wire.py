"""What a network between two hosts reads of all that they say to each other."""
import os
import subprocess
import sys

from case import Skipped
from cluster import wait_for
from namespaces import OtherHost
from sniffer import Sniffer

SECRET = "a-secret-that-no-network-may-read"

# Makes a megabyte of the secret on one host, reads it on the other, and calls an actor there.
ENGINE = """
import os, sys
from penstock import Client
class Keeper:
    def __init__(self, text): self.text = text
    def tell(self, given): return given + self.text * 50
def make(text): return text.encode() * 40000
def length(data): return len(data)
address, secret, far, near = sys.argv[1:]
with Client(address) as client:
    for here, there in ((far, near), (near, far)):
        made = client.submit(make, secret, workers=[here])
        assert client.submit(length, made, workers=[there]).result(60) == len(secret) * 40000
        assert made.result(60) == secret.encode() * 40000
    keeper = client.actor(Keeper, secret, workers=[far])
    assert keeper.tell(secret * 5000).result(60) == secret * 5050
    print("done", flush=True)
"""


def port_of(text):
    return int(text.rpartition(":")[2])


def expect_nothing_readable(case, sniffer, cluster):
    readable = {}
    for ends, data in sniffer.streams().items():
        for text in (SECRET, "PNSK", "PNSD", "PNA1", cluster.directory):
            if text.encode() in data:
                readable.setdefault(ends, []).append(text)
    case.expect(sniffer.lost() == 0, "the network was faster than its reader")
    case.expect(not readable, f"the network reads between these ports: {readable}")


def two_hosts(case):
    """S05: control, data and results between two hosts, over a takeover by a standby."""
    host = OtherHost(case)
    sniffer = Sniffer(case, host.veth)
    cluster = case.cluster(listen=host.outside + ":0", settings=("link.heartbeat=100ms", "link.silence_max=3s"))
    cluster.start_worker("near", "--data-listen", host.outside + ":0", slots=2)
    cluster.start_worker("far", "--data-listen", host.inside + ":0", slots=2, prefix=host.prefix)
    cluster.wait_for_workers(2)
    # From the far host, so that the graph and the answers pass the network, too.
    with open(cluster.path("secret.toml"), "w", encoding="ascii") as file:
        file.write(f"name = '{SECRET}'\nkeep = 'sinks'\n[[subtask]]\nkey = 's'\narray = '0-99'\nenv = {{ S = '{SECRET}' }}\n"
                   f"command = ['sh', '-c', 'echo $S']\n")
    for words in (("submit", "secret.toml", "--wait"), ("job", SECRET), ("result", SECRET, "s[7]"), ("explain", SECRET)):
        done = subprocess.run([*host.prefix, cluster.binary, *words, "--supervisor", cluster.address], cwd=cluster.directory,
                              capture_output=True, text=True, check=False, timeout=60)
        case.expect(done.returncode == 0, f"{words} from the far host: {done.stderr}")
        case.expect(words[0] == "submit" or SECRET in done.stdout, f"{words} does not tell what it should: {done.stdout}")
    case.figure("bytes of the supervisor", sniffer.bytes_seen(port_of(cluster.address)), "", at_least=20000)
    standby = cluster.spawn("standby", ["supervisor", "--state", "state", "--listen", cluster.address, "--standby", *cluster.settings,
                                        *cluster.insecure])
    wait_for(lambda: str(cluster.supervisor.pid) in cluster.log("standby"), what="a standby that waits")
    before = sniffer.bytes_seen(port_of(cluster.address))
    cluster.kill_supervisor()
    wait_for(lambda: "listens" in cluster.log("standby"), what="the takeover")
    cluster.supervisor = standby
    cluster.wait_for_workers(2)
    case.expect(cluster.job(SECRET)["succeeded"] == 100, "the job is not known after the takeover")
    case.figure("bytes of the standby", sniffer.bytes_seen(port_of(cluster.address)) - before, "", at_least=1000)
    expect_nothing_readable(case, sniffer, cluster)
    cluster.run("cancel", SECRET)


def engines(case):
    """S06: data between the workers of two hosts, and calls of Python's actors."""
    library = os.path.join(os.path.dirname(case.binary), "libpenstock.so")
    if not os.path.exists(library):
        raise Skipped("there is no libpenstock.so beside the binary")
    host = OtherHost(case)
    sniffer = Sniffer(case, host.veth)
    cluster = case.cluster(listen=host.outside + ":0")
    python = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")
    environment = {"PENSTOCK_LIBRARY": library, "PYTHONPATH": os.path.abspath(python), "PYTHONDONTWRITEBYTECODE": "1"}
    cluster.start_worker("near", "--data-listen", host.outside + ":0", slots=2, environment=environment)
    cluster.start_worker("far", "--data-listen", host.inside + ":0", slots=2, environment=environment, prefix=host.prefix)
    cluster.wait_for_workers(2)
    done = subprocess.run([sys.executable, "-c", ENGINE, cluster.address, SECRET, "far", "near"], capture_output=True, text=True,
                          check=False, timeout=120, env={**os.environ, **environment})
    case.expect(done.returncode == 0, f"the engine: {done.stderr[-800:]}")
    total = sum(len(data) for data in sniffer.streams().values())
    case.figure("bytes between the hosts", total, "", at_least=2_000_000)
    # Calls of the actor go between ports that neither the supervisor nor a worker listens on.
    ours = {port_of(cluster.address)} | {port_of(worker["data_address"]) for worker in cluster.ask("workers")}
    of_actors = sum(len(data) for ends, data in sniffer.streams().items() if not set(ends) & ours)
    case.figure("bytes of Python's actors", of_actors, "", at_least=200_000)
    readable = sum(len(data) for data in sniffer.streams().values() if SECRET.encode() in data)
    case.figure("readable bytes", readable, "", at_most=0)
    expect_nothing_readable(case, sniffer, cluster)
