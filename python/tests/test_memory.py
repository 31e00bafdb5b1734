"""How much memory runs have used decides how many run at once."""
import os
import time

import functions

from penstock import Client

REQUEST = 700 << 20  # Of a band with 1 GiB: as requested, one at a time.
MEASURED = 8         # worker.quota_peaks_min


def meetings(client, place, runs_before):
    """Whether two subtasks ran at the same time after so many runs of their template."""
    graph = client.graph()
    before = [graph.add(functions.meet, memory=REQUEST) for _ in range(runs_before)]
    names = str(place / "one"), str(place / "two")
    two = [graph.add(functions.meet, mine, other, after=before, memory=REQUEST)
           for mine, other in (names, reversed(names))]
    return graph.submit(want=two).results()


def test_a_template_gets_what_its_runs_have_used(tmp_path):
    with Client(slots=2, memory=1 << 30) as client:
        assert meetings(client, tmp_path, MEASURED) == [True, True]


def test_what_was_measured_is_known_to_the_next_job(tmp_path):
    with Client(slots=2, memory=1 << 30) as client:
        graph = client.graph()
        graph.submit(want=[graph.add(functions.meet, memory=REQUEST) for _ in range(MEASURED)]).results()
        assert meetings(client, tmp_path, 0) == [True, True]


def test_what_runs_have_left_behind_goes_with_their_runner():
    with Client(slots=1, memory=200 << 20) as client:
        before = client.submit(os.getpid).result(60)
        assert client.submit(functions.leave_behind, 300).result(60) == before
        late = time.monotonic() + 60
        while client.submit(os.getpid).result(60) == before:
            assert time.monotonic() < late, "the runner that keeps more than the band has was not replaced"
