"""More large results than the process may have open files: the rest is plain memory, and nothing fails for it."""
import os
import pathlib
import resource
import subprocess
import sys
import textwrap

PROGRAM = """
    import os
    from penstock import Client
    def make(i): return bytes([i % 256]) * 300_000
    def first(*made): return [one[0] for one in made]
    with Client(slots=2, memory="1GB") as client:
        made = client.map(make, range(400))
        assert client.submit(first, *made[::4]).result(60) == [i % 256 for i in range(0, 400, 4)]
        assert [one[-1] for one in client.gather(made)] == [i % 256 for i in range(400)]
        print(len(os.listdir("/proc/self/fd")))
"""


PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def run_with_limit(soft, hard):
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, timeout=120,
                           env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


def test_results_beyond_the_limit_of_open_files_are_plain_memory():
    assert run_with_limit(256, 256) < 256


def test_the_limit_is_raised_to_what_the_host_allows():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert hard < 1024 or run_with_limit(256, 1024) > 256
