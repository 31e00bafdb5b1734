"""What networks and strangers do to bytes: F16 to F19."""
import os
import random
import re
import socket
import struct
import time

from cluster import Broken, wait_for
from case import vitals
from oracle import witness_diamonds
from proxy import Faults

# A frame's header: magic, format, kind, two unused bytes, payload bytes, four unused, sender, sequence, acknowledged, checksum.
MAGIC, FORMAT, INTRODUCTION, MESSAGES = 0x4b534e50, 1, 1, 2


def header(payload_bytes, kind=INTRODUCTION, sequence=0):
    return struct.pack("<IBBHIIQQQQ", MAGIC, FORMAT, kind, 0, payload_bytes, 0, 7, sequence, 0, 0)


def stranger(cluster):
    host, _, port = cluster.address.rpartition(":")
    end = socket.create_connection((host, int(port)), timeout=10)
    end.settimeout(40)
    return end


def seconds_until_closed(end):
    begin = time.monotonic()
    try:
        while end.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    except TimeoutError as late:
        raise Broken("a hostile connection was not closed within 40 s") from late
    return time.monotonic() - begin


def grid(name, rows, width, extra=""):
    """Each row reads its predecessors by order edges, so that messages of all kinds flow."""
    text = f"name = '{name}'\nkeep = 'nothing'\n"
    for row in range(rows):
        after = f"after = ['r{row - 1}[{{i}}]']\n" if row else ""
        text += f"[[subtask]]\nkey = 'r{row}'\narray = '0-{width - 1}'\noperator = 'noop'\noutput = 100\n{after}{extra}"
    return text


def lossy(case):
    """F16: every message of both workers passes a proxy that loses, repeats, reorders and delays 1 % each."""
    rows, width = (20, 50_000) if case.full else (10, 2000)
    settings = ("link.resend_after=20ms", "link.resend_after_max=200ms", "wire.frame_bytes_target=4KiB",
                "supervisor.cached_graph_bytes_max=0B")  # Else the graph stays, to be submitted again.
    cluster = case.cluster(settings=settings, plain=True)
    cluster.spare_kib += rows * width // 10  # The allocator keeps 100 bytes a subtask of a large graph with keys.
    share = 0.01 if case.full else 0.05  # Few frames need more faults to meet each kind.
    faults = Faults(lose=share, repeat=share, reorder=share, delay=share, delay_s=0.002)
    proxies = [case.proxy(cluster.address, faults, seed) for seed in (1, 2)]
    for number, proxy in enumerate(proxies, 1):
        cluster.start_worker(f"w{number}", address=proxy.address)
    cluster.wait_for_workers(2)
    text, edges, diamonds = witness_diamonds(cluster, "ordered", 8, 12, "true")
    cluster.accept(text)
    cluster.accept(grid("lossy", rows, width))
    ordered = cluster.wait_for_end("ordered", 60)
    case.expect(ordered["succeeded"] == diamonds, f"not the result of a clean run: {ordered}")
    case.judge(cluster, ordered, slots=2, edges=edges)
    job = cluster.wait_for_end("lossy", 600 if case.full else 60)
    count = rows * width
    totals = {what: sum(proxy.counts[what] for proxy in proxies) for what in proxies[0].counts}
    for what in ("frames", "lost", "repeated", "reordered", "delayed"):
        case.figure(what, totals[what], "", at_least=1)
    case.expect(job["state"] == "succeeded" and job["succeeded"] == count, f"not the result of a clean run: {job}")
    case.figure("run again", job["attempts"] - count, "attempts", at_most=0)
    case.expect("lost:" not in cluster.log("supervisor"), "a worker was declared lost")
    case.judge(cluster, job)
    case.end_supervisor(cluster)  # It tells of its links at their end.
    told = dict.fromkeys(("frames_resent", "duplicates_dropped", "gaps_dropped"), 0)
    for what in told:
        told[what] = sum(map(int, re.findall(f"link had faults .*{what}=(\\d+)", cluster.log("supervisor"))))
        case.figure("the supervisor counts " + what.replace("_", " "), told[what], "", at_least=1)


def broken_connections(case):
    """F17: connections that break in the middle of a frame, fall half open, or bring one byte at a time."""
    settings = ("wire.handshake_timeout=500ms", "wire.frame_timeout=500ms", "link.heartbeat=100ms", "link.silence_max=2s",
                "link.reconnect_grace=2s")
    cluster = case.cluster(settings=settings, plain=True)
    slow = case.proxy(cluster.address, Faults(byte_by_byte=True))
    cutting = case.proxy(cluster.address, Faults(cut=0.02), seed=3)
    cluster.start_worker("w1", address=slow.address)
    cluster.start_worker("w2", address=cutting.address)
    cluster.wait_for_workers(2)
    case.begin_vitals(cluster)
    for data in (b"\x50", header(64)[:20], header(64) + b"\0" * 8):
        half = stranger(cluster)  # Half a header, a header, half a payload, and then silence.
        half.sendall(data)
        case.figure("half a frame closed after", seconds_until_closed(half), "s", at_most=2)
    for _ in range(20):
        cut = stranger(cluster)
        cut.sendall(header(4096) + os.urandom(100))
        cut.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        cut.close()  # RST in the middle of a frame.
    count = 800
    text, edges, witnessed = witness_diamonds(cluster, "witnessed", 10, 19, "true")
    cluster.accept(text)
    cluster.accept(grid("broken", 4, count // 4))
    for name, subtasks in (("broken", count), ("witnessed", witnessed)):
        job = cluster.wait_for_end(name)
        case.expect(job["succeeded"] == subtasks, f"{name} did not succeed: {job}")
    case.judge(cluster, job, slots=2, overlap=False, edges=edges)
    case.figure("cut in mid-frame", cutting.counts["cut"], "", at_least=1)
    cutting.faults = Faults()
    cluster.wait_for_workers(2)


def malformed(case):
    """F18, short and from outside; the fuzzer of decoders and cores is tests/chaos/wire_fuzz.cpp."""
    cluster = case.cluster(workers=1)
    cluster.spare_kib += 16384  # Some hundred handshakes under way at the same time have 20 KiB each, and threads their heaps.
    cluster.accept(grid("undisturbed", 20, 500))
    random_bytes = random.Random(18)
    for number in range(300 if not case.full else 20_000):
        end = stranger(cluster)
        noise = random_bytes.randbytes(random_bytes.randrange(1, 400))
        kinds = (noise, header(len(noise) // 8 * 8) + noise, header(8) + b"\xff" * 8, header(0xffffffff),
                 header(64, MESSAGES, 1) + noise)
        end.sendall(kinds[number % len(kinds)])
        end.close()
    job = cluster.wait_for_end("undisturbed")
    case.expect(job["succeeded"] == 10_000 and job["attempts"] == 10_000, f"others were disturbed: {job}")
    case.judge(cluster, job)


def huge_claims(case):
    """F19: headers that claim much and bring nothing."""
    settings = ("wire.handshake_timeout=1s", "wire.frame_timeout=1s")
    cluster = case.cluster(workers=1, settings=settings)
    before = vitals(cluster.supervisor.pid)
    longest = 0.0
    ends = [stranger(cluster) for _ in range(100)]
    for number, end in enumerate(ends):  # 4 GiB is refused at once; 16 MiB is allowed, and never comes.
        end.sendall(header(0xfffffff8 if number % 2 else 16 << 20))
    wait_for(lambda: cluster.ask("workers"), what="an answer beside them")
    grown = vitals(cluster.supervisor.pid)[0] - before[0]
    for end in ends:
        longest = max(longest, seconds_until_closed(end))
        end.close()
    case.figure("memory of 100 claims", grown / 1024, "MiB", at_most=100 * 256 / 1024 + 8)
    case.figure("closed after", longest, "s", at_most=2)
    cluster.accept(grid("after", 2, 50))
    job = cluster.wait_for_end("after")
    case.expect(job["succeeded"] == 100, f"the job did not succeed: {job}")
    case.judge(cluster, job)
