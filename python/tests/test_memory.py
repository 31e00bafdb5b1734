"""How much memory runs have used decides how many run at once."""
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


def faults_of_a_second_array(size):
    """Pages that the second of two arrays of this size touches for the first time."""
    import resource
    first = b"x" * size
    del first
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    second = b"x" * size
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, len(second)


def test_freed_memory_serves_the_next_array():
    with Client(slots=1) as client:
        faults, size = client.submit(faults_of_a_second_array, 48 << 20).result(60)
        assert size == 48 << 20 and faults < 1000, "of 12,288 pages"
    with Client(slots=1, environment={"MALLOC_TRIM_THRESHOLD_": "131072"}) as client:
        assert client.submit(faults_of_a_second_array, 48 << 20).result(60)[0] > 10_000, "the user's setting stays in force"
