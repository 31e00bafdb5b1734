"""joblib's `Parallel`, and scikit-learn by it, on a cluster. Debian's packages do not have them: `with_wheels` does."""
import multiprocessing
import os
import threading

import pytest

joblib = pytest.importorskip("joblib", reason="joblib is not installed: python/tests/with_wheels")

import parallel_functions as calls  # noqa: E402
from functions import until  # noqa: E402
from joblib import Parallel, delayed, parallel_config  # noqa: E402
from test_cluster import Cluster  # noqa: E402
from test_tutorials import blocks, run  # noqa: E402

import penstock  # noqa: E402
import penstock.joblib  # noqa: E402
from penstock import errors  # noqa: E402


@pytest.fixture
def on_cluster(client):
    with parallel_config(backend="penstock", client=client):
        yield client


def test_calls_run_on_the_cluster_in_order(on_cluster):
    assert Parallel()(delayed(calls.square)(i) for i in range(200)) == [i * i for i in range(200)]
    assert os.getpid() not in Parallel()(delayed(calls.pid_of)(i) for i in range(10))


def test_an_initializer_is_called_once_in_each_process(client, tmp_path):
    place = str(tmp_path)

    def begun(name, **options):
        parallel = Parallel(n_jobs=2, batch_size=1, **options)
        return set(parallel(delayed(calls.has_begun)(place, name) for _ in range(20)))
    with parallel_config(backend="penstock", client=client):
        assert begun("own", initializer=calls.begin, initargs=(place, "own")) == {"once "}
        assert begun("other", initializer=calls.begin, initargs=(place, "other")) == {"once "}
        with pytest.raises(FileNotFoundError):
            begun("none")
    with parallel_config(backend="penstock", client=client, initializer=calls.begin, initargs=(place, "of-all")):
        assert begun("of-all") == begun("of-all") == {"once "}
        with pytest.raises(TypeError, match="initializer is a function"):
            begun("wrong", initializer=7)


def test_the_client_that_was_opened_last_is_taken_without_another():
    with penstock.Client(slots=1) as mine, parallel_config(backend="penstock"):
        assert joblib.parallel.get_active_backend()[0].client is mine
        assert os.getpid() not in Parallel()(delayed(calls.pid_of)(i) for i in range(3)), "one slot is a cluster, too"


def test_without_any_client_the_way_out_is_said(monkeypatch):
    monkeypatch.setattr("penstock._client._latest", [])
    with pytest.raises(penstock.PenstockError, match="no cluster .open a penstock.Client"):
        with parallel_config(backend="penstock"):
            Parallel()(delayed(calls.square)(i) for i in range(3))


def test_all_slots_of_the_cluster_are_minus_one(tmp_path):
    cluster = Cluster(tmp_path, workers=("a", "b", "c"))
    try:
        with penstock.Client(cluster.address) as client:
            until(lambda: len(client.ask("workers")) == 3)
            slots = sum(row["slots"] for row in client.ask("workers"))
            assert slots >= 3
            with parallel_config(backend="penstock", client=client):
                assert [joblib.effective_n_jobs(n) for n in (-1, 3, -2, 100, 1)] == [slots, 3, slots - 1, 100, 1]
                assert Parallel()(delayed(calls.square)(i) for i in range(20)) == [i * i for i in range(20)]
            with parallel_config(backend="penstock", client=client, slots=2):
                assert joblib.effective_n_jobs(-1) == max(2, slots // 2)
    finally:
        cluster.end()


def test_a_cluster_without_workers_is_given_up(tmp_path):
    cluster = Cluster(tmp_path, workers=())
    try:
        with penstock.Client(cluster.address) as client:
            with parallel_config(backend="penstock", client=client, wait_for_workers=0.1):
                with pytest.raises(penstock.PenstockError, match="no worker after 0.1 s .start workers"):
                    Parallel()(delayed(calls.square)(i) for i in range(3))
    finally:
        cluster.end()


def test_one_job_runs_here(on_cluster):
    assert Parallel(n_jobs=1)(delayed(calls.pid_of)(i) for i in range(2)) == [os.getpid()] * 2
    with pytest.raises(ValueError, match="n_jobs == 0"):
        Parallel(n_jobs=0)(delayed(calls.pid_of)(i) for i in range(2))


def test_short_calls_travel_in_batches(client):
    backend = penstock.joblib.PenstockBackend(client=client)
    sizes, submit = [], backend._submit
    backend._submit = lambda batch, begin: (sizes.append(len(batch)), submit(batch, begin))[1]
    with parallel_config(backend=backend):
        assert Parallel()(delayed(calls.square)(i) for i in range(20_000)) == [i * i for i in range(20_000)]
    assert sizes[0] == 1 and max(sizes) >= 64 and len(sizes) < 4000
    backend._submit = submit
    with parallel_config(backend=backend):
        assert Parallel(batch_size=7)(delayed(calls.square)(i) for i in range(20)) == [i * i for i in range(20)]


# ---- errors ----

def test_an_exception_is_raised_as_itself_and_ends_the_rest(on_cluster, tmp_path):
    held = [delayed(calls.touch_and_wait)(str(tmp_path / f"held-{i}"), str(tmp_path / "go")) for i in range(50)]
    with pytest.raises(ValueError, match="^3 is bad$") as caught:
        Parallel(batch_size=1, pre_dispatch="all")([delayed(calls.fail_at)(i, 3) for i in range(5)] + held)
    assert "in fail_at" in str(errors.remote_traceback(caught.value))
    # The held ones would have the slots for ever.
    assert on_cluster.submit(calls.square, 3).result(60) == 9
    assert len(list(tmp_path.iterdir())) < 50
    assert Parallel()(delayed(calls.square)(i) for i in range(5)) == [0, 1, 4, 9, 16]


def test_what_cannot_be_pickled_is_raised_here(on_cluster):
    with pytest.raises(errors.NotSerializable, match="cannot be pickled"):
        Parallel()(delayed(calls.square)(threading.Lock() if i == 700 else i) for i in range(1000))
    assert Parallel()(delayed(calls.square)(i) for i in range(5)) == [0, 1, 4, 9, 16]


def test_a_timeout(on_cluster, tmp_path):
    with pytest.raises(multiprocessing.TimeoutError):
        Parallel(timeout=0.05)(
            delayed(calls.touch_and_wait)(str(tmp_path / f"{i}"), str(tmp_path / "go")) for i in range(3))
    assert on_cluster.submit(calls.square, 3).result(60) == 9


# ---- generators ----

def test_results_come_as_they_are_there(on_cluster, tmp_path):
    found = Parallel(return_as="generator", batch_size=1, pre_dispatch=2)(
        [delayed(calls.square)(3), delayed(calls.touch_and_wait)(str(tmp_path / "f"), str(tmp_path / "go"))])
    assert next(found) == 9
    (tmp_path / "go").touch()
    assert list(found) == [str(tmp_path / "f")]


def test_the_first_comes_first_unordered(on_cluster, tmp_path):
    found = Parallel(return_as="generator_unordered", batch_size=1)(
        [delayed(calls.touch_and_wait)(str(tmp_path / "f"), str(tmp_path / "go")), delayed(calls.square)(3)])
    assert next(found) == 9
    (tmp_path / "go").touch()
    assert list(found) == [str(tmp_path / "f")]


@pytest.mark.filterwarnings("ignore:.*which were still being processed")
def test_a_generator_that_is_left_cancels_its_calls_and_no_others(on_cluster, tmp_path):
    go, others = str(tmp_path / "go"), str(tmp_path / "others")
    left = Parallel(return_as="generator", batch_size=1, pre_dispatch="all")(
        [delayed(calls.square)(1)] + [delayed(calls.touch_and_wait)(str(tmp_path / f"left-{i}"), go) for i in range(2)])
    kept = Parallel(return_as="generator", batch_size=1, pre_dispatch="all")(
        [delayed(calls.touch_and_wait)(str(tmp_path / f"kept-{i}"), others) for i in range(2)])
    assert next(left) == 1
    left.close()
    (tmp_path / "others").touch()
    assert list(kept) == [str(tmp_path / f"kept-{i}") for i in range(2)]


# ---- large arguments ----

def test_a_large_argument_travels_once_and_is_not_copied(client):
    numpy = pytest.importorskip("numpy")
    array, scattered = numpy.arange(4_000_000, dtype=float), []
    scatter = client.scatter
    backend = penstock.joblib.PenstockBackend(client=client)
    client.scatter = lambda *given: (scattered.append(given), scatter(*given))[1]
    try:
        with parallel_config(backend=backend):
            expected = float(array.sum())
            totals = Parallel(batch_size=1)(delayed(calls.total)(array, i) for i in range(10))
            assert totals == [expected * i for i in range(10)]
            assert len(scattered) == 1
            places = Parallel(batch_size=1)(delayed(calls.address_of)(array) for _ in range(6))
            assert None not in places and len(set(places)) == 1, "one segment, whoever reads it"
            assert len(scattered) == 2, "what may have changed since the last Parallel is sent again"
            # A call that writes to the array has pages of its own.
            assert Parallel(batch_size=1)(delayed(calls.write_to)(array, i) for i in range(1, 4)) == [1.0, 2.0, 3.0]
            assert array[0] == 0.0
        assert not backend._arguments and not backend._running
        with parallel_config(backend=penstock.joblib.PenstockBackend(client=client, scatter=[array])):
            del scattered[:]
            assert Parallel()(delayed(calls.total)(array, i) for i in range(4)) == [expected * i for i in range(4)]
            assert not scattered
    finally:
        del client.scatter


def test_slices_that_are_made_for_each_call_are_not_held(on_cluster):
    numpy = pytest.importorskip("numpy")
    alive, most = set(), []

    class Slice(numpy.ndarray):
        def __del__(self):
            alive.discard(id(self))

    def slices():
        for i in range(30):
            made = numpy.full(300_000, float(i)).view(Slice)
            alive.add(id(made))
            most.append(len(alive))
            yield delayed(calls.total)(made, 1)
    assert Parallel(batch_size=1, pre_dispatch=2)(slices()) == [300_000.0 * i for i in range(30)]
    assert max(most) < 20


def test_scatter_is_a_list(client):
    with pytest.raises(TypeError, match="scatter is a list of objects, not int"):
        penstock.joblib.PenstockBackend(client=client, scatter=5)


@pytest.mark.parametrize("value, size", [(b"12345", 5), (bytearray(7), 7), (5, 0), ("text", 0), ([1, 2], 0), (int, 0)])
def test_the_size_of_what_has_no_buffers(value, size):
    assert penstock.joblib.bytes_of(value) == size


def test_the_size_of_arrays_frames_and_sparse_matrices():
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    assert penstock.joblib.bytes_of(numpy.zeros(1000)) == 8000
    frame = pandas.DataFrame({"a": numpy.zeros(1000), "b": numpy.zeros(1000)})
    assert 16_000 <= penstock.joblib.bytes_of(frame) < 17_000
    assert 8000 <= penstock.joblib.bytes_of(frame["a"]) < 9000
    sparse = pytest.importorskip("scipy.sparse")
    assert penstock.joblib.bytes_of(sparse.eye(1000, format="csr")) >= 8000 + 4 * 1000


# ---- Parallel within Parallel ----

def test_an_inner_parallel_runs_where_it_is_unless_it_asks_for_more(on_cluster):
    expected = [sum((x + i) ** 2 for i in range(4)) for x in range(6)]
    found = Parallel()(delayed(calls.inner_sum)(x) for x in range(6))
    assert [value for value, _ in found] == expected and not any(others for _, others in found)
    found = Parallel()(delayed(calls.inner_sum)(x, n_jobs=-1) for x in range(6))
    assert [value for value, _ in found] == expected and all(others for _, others in found)


def test_one_slot_is_enough_for_nested_ones_and_deeper_ones_stay():
    with penstock.Client(slots=1) as client, parallel_config(backend="penstock", client=client):
        assert Parallel(n_jobs=2)(delayed(calls.depth_of_cluster)(3) for _ in range(2)) == [1, 1]


def test_threads_of_libraries_are_bounded(client):
    with parallel_config(backend="penstock", client=client, inner_max_num_threads=3):
        assert Parallel()(delayed(calls.variable)("OMP_NUM_THREADS") for _ in range(2)) == ["3", "3"]


def test_options_of_submit_are_for_every_call(client):
    with parallel_config(backend="penstock", client=client, environment={"A_NAME": "here"}):
        assert Parallel()(delayed(calls.variable)("A_NAME") for _ in range(2)) == ["here", "here"]


def test_what_needs_shared_memory_runs_in_threads_here(on_cluster):
    found = []
    Parallel(n_jobs=2, require="sharedmem")(delayed(found.append)(i) for i in range(5))
    assert sorted(found) == list(range(5))


def test_two_threads_at_a_time_use_one_backend(on_cluster):
    backend, found = joblib.parallel.get_active_backend()[0], {}

    def work(number):
        with parallel_config(backend=backend):
            found[number] = Parallel()(delayed(calls.square)(number + i) for i in range(100))
    threads = [threading.Thread(target=work, args=(1000 * i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {1000 * n: [(1000 * n + i) ** 2 for i in range(100)] for n in range(3)}


# ---- scikit-learn ----

@pytest.fixture(scope="module")
def data():
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed: python/tests/with_wheels")
    return datasets.make_classification(n_samples=600, n_features=12, random_state=0)


def test_a_grid_search_finds_what_it_finds_here(on_cluster, data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    def search():
        values = {"C": [0.1, 1, 10], "gamma": ["scale", 0.1]}
        return GridSearchCV(SVC(random_state=0), values, cv=3, n_jobs=-1).fit(*data)
    found = search()
    with parallel_config(backend="sequential"):
        expected = search()
    assert found.best_params_ == expected.best_params_
    assert list(found.cv_results_["mean_test_score"]) == list(expected.cv_results_["mean_test_score"])


def test_a_cross_validation_and_its_errors(on_cluster, data):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    scores = cross_val_score(LogisticRegression(), *data, cv=5, n_jobs=-1)
    with parallel_config(backend="sequential"):
        assert list(scores) == list(cross_val_score(LogisticRegression(), *data, cv=5))
    with pytest.raises(ValueError, match="'C' parameter of .* Got -1.0"):
        cross_val_score(LogisticRegression(C=-1.0), *data, cv=5, n_jobs=-1, error_score="raise")


def test_a_forest_grows_on_the_cluster(on_cluster, data):
    from sklearn.ensemble import RandomForestClassifier
    found = RandomForestClassifier(n_estimators=20, random_state=0, n_jobs=-1).fit(*data)
    expected = RandomForestClassifier(n_estimators=20, random_state=0, n_jobs=1).fit(*data)
    assert (found.predict_proba(data[0]) == expected.predict_proba(data[0])).all()


def test_a_search_over_forests_that_ask_for_all_slots(on_cluster, data):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV
    forest = RandomForestClassifier(n_estimators=5, random_state=0, n_jobs=-1)
    search = GridSearchCV(forest, {"max_depth": [2, 4]}, cv=2)
    assert search.set_params(n_jobs=-1).fit(*data).best_score_ > 0.7


def test_the_tutorial_of_joblib(data, capsys):
    pytest.importorskip("numpy")
    code = blocks("engines/joblib.md")
    assert len(code) == 4
    shown = []
    for block in code:
        run(block, {"smooth": calls.square, "values": range(5)})
        shown.append(capsys.readouterr().out.strip())
    assert "'C':" in shown[0] and shown[1] == "[0, 1, 4, 9, 16]" and 0.5 < float(shown[3]) <= 1


# ---- short calls ----

def test_batches_of_short_calls_grow_fast_and_those_of_longer_ones_as_joblib_has_it(client):
    backend = penstock.joblib.PenstockBackend(client=client)
    backend.parallel = Parallel()
    for took, size in ((0.001, 16), (0.05, 4), (0.5, 2), (2.0, 1)):
        backend._effective_batch_size, backend._smoothed_batch_duration = 2, took
        assert backend.compute_batch_size() == backend._effective_batch_size == size, took


def test_a_parallel_after_one_of_short_calls_begins_with_small_batches(client):
    backend = penstock.joblib.PenstockBackend(client=client)
    with parallel_config(backend=backend):
        assert len(Parallel(n_jobs=2)(delayed(abs)(i) for i in range(5000))) == 5000
    assert backend._effective_batch_size == 1


def test_calls_of_a_batch_may_differ(on_cluster):
    made = [(calls.square, (i,), {}) if i % 3 else (int, (str(i),), {"base": 16}) for i in range(300)]
    given = [delayed(function)(*args, **keywords) for function, args, keywords in made]
    wanted = [function(*args, **keywords) for function, args, keywords in made]
    for size in (1, 7, 300):
        assert Parallel(n_jobs=2, batch_size=size)(given) == wanted
    assert Parallel(n_jobs=2, batch_size=50)(delayed(calls.square)(x=i) for i in range(100)) == [i * i for i in range(100)]


def test_arguments_of_a_batch_of_one_function_travel_without_it():
    items = [(calls.square, (i,), {}) for i in range(5)]
    same = penstock.joblib._Same.of(items)
    assert list(same) == items and same.arguments == [(i,) for i in range(5)]
    assert penstock.joblib._Same.of([*items, (abs, (1,), {})]) is None
    assert penstock.joblib._Same.of([*items, (calls.square, (), {"x": 1})]) is None
