"""Dask collections, compared with Dask's own one-thread run."""
# tidy: foreign-file scheduler, task, tasks, repartition
import functools
import operator
import os
import pickle

import pytest

dask = pytest.importorskip("dask", reason="python3-dask is not installed")
numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
import functions  # noqa: E402

from dask.utils import SerializableLock  # noqa: E402

import penstock.dask  # noqa: E402
from penstock import PenstockError, _locks  # noqa: E402

# ---- the bare graph ----

GRAPHS = {
    "literal": ({"a": 1}, "a", 1),
    "call": ({"a": 1, "b": (operator.add, "a", 2)}, "b", 3),
    "alias": ({"a": (functions.increment, 1), "b": "a"}, "b", 2),
    "list of keys": ({"a": 1, "b": 2, "c": (sum, ["a", "b"])}, "c", 3),
    "nested call": ({"a": 5, "b": (functions.increment, (functions.increment, "a"))}, "b", 7),
    "call within a list": ({"a": 5, "b": (sum, [(functions.increment, "a"), 1])}, "b", 7),
    "tuple keys": ({("x", 0): 1, ("x", 1): (functions.increment, ("x", 0))}, ("x", 1), 2),
    "a tuple that is no key": ({"a": (len, (1, 2, 3))}, "a", 3),
    "nested wishes": ({"a": 1, "b": 2}, [["a"], ["b", "a"]], ((1,), (2, 1))),
    "integer keys": ({1: 10, 2: (functions.increment, 1)}, 2, 11),
    "none": ({"a": None, "b": (functions.keywords,)}, ["a", "b"], (None, {})),
    "an unknown key stays text": ({"a": (functions.add, "x", "y")}, "a", "xy"),
    "only what is needed": ({"a": 1, "bad": (functions.fail, "must not run")}, "a", 1),
    "nothing wanted": ({"a": (functions.fail, "must not run")}, [], ()),
    "lambda": ({"a": (lambda x: x * 3, 4)}, "a", 12),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(client, name):
    graph, keys, expected = GRAPHS[name]
    assert client.get(graph, keys) == expected


def test_a_failure_is_raised(client):
    with pytest.raises(ValueError, match="boom"):
        client.get({"a": (functions.fail, "boom"), "b": (functions.increment, "a")}, "b")


def test_a_key_that_is_not_there(client):
    with pytest.raises(KeyError):
        client.get({"a": 1}, "b")


def test_annotations_are_honoured(client, tmp_path):
    with dask.annotate(retries=2):
        once = dask.delayed(functions.fail_once)(str(tmp_path / "x"))
        assert once.compute(scheduler=penstock.dask.get, client=client) == "the second time"
    layers = dask.highlevelgraph.HighLevelGraph.from_collections("a", {"a": 1})
    layers.layers["a"].annotations = {"priority": 3, "retries": 1, "other": 5}
    assert penstock.dask.annotations_of(layers) == {"a": {"priority": 3, "retries": 1}}


def test_the_default_client_is_one(client):
    penstock.dask.set_default_client(client)
    assert dask.delayed(functions.increment)(1).compute(scheduler=penstock.dask.get) == 2
    with dask.config.set(scheduler=penstock.dask.get):
        assert dask.delayed(functions.increment)(2).compute() == 3


def compare(client, collection, same):
    expected = collection.compute(scheduler="sync")
    assert same(collection.compute(scheduler=penstock.dask.get, client=client), expected)


# ---- arrays ----

da = pytest.importorskip("dask.array", reason="dask.array is not there")
X = da.from_array(numpy.arange(120.0).reshape(12, 10), chunks=(4, 5))
Y = da.from_array(numpy.linspace(0.5, 9, 120).reshape(12, 10), chunks=(4, 5))
V = da.from_array(numpy.arange(40) % 7, chunks=9)

UNARY = ["abs", "negative", "sin", "cos", "tan", "arctan", "exp", "log1p", "sqrt", "square", "sign", "floor", "ceil",
         "rint", "isnan", "isfinite", "degrees", "radians", "log2", "log10", "sinh", "cosh", "tanh", "arcsinh", "expm1",
         "reciprocal", "trunc", "cbrt", "exp2", "deg2rad"]
BINARY = ["add", "subtract", "multiply", "true_divide", "floor_divide", "fmod", "maximum", "minimum", "hypot", "arctan2",
          "power", "greater", "less", "equal", "not_equal", "logical_and", "logical_or", "fmax", "fmin", "copysign",
          "logaddexp", "greater_equal", "less_equal", "logical_xor"]
REDUCTIONS = ["sum", "mean", "std", "var", "min", "max", "prod", "any", "all", "argmin", "argmax", "nansum", "nanmean",
              "nanmin", "nanmax", "nanstd", "nanvar"]
ARRAYS = {
    **{f"unary {name}": (lambda n=name: getattr(da, n)(Y)) for name in UNARY},
    **{f"binary {name}": (lambda n=name: getattr(da, n)(X, Y)) for name in BINARY},
    **{f"{name} axis {axis}": (lambda n=name, a=axis: getattr(da, n)(X, axis=a))
       for name in REDUCTIONS for axis in (0, 1)},
    **{f"{name} of all": (lambda n=name: getattr(da, n)(X)) for name in REDUCTIONS},
    "transpose": lambda: X.T, "dot": lambda: X.dot(Y.T), "matmul": lambda: X.T @ Y, "tensordot": lambda: da.tensordot(X, Y.T, 1),
    "rechunk": lambda: X.rechunk((5, 3)), "rechunk back": lambda: X.rechunk((1, 10)).rechunk((12, 1)),
    "reshape": lambda: X.reshape(120), "ravel": lambda: X.ravel(), "slice": lambda: X[2:9:2, ::-1],
    "fancy index": lambda: X[[1, 5, 7]], "boolean index": lambda: X[X > 50], "concatenate": lambda: da.concatenate([X, Y]),
    "stack": lambda: da.stack([X, Y], axis=2), "block": lambda: da.block([[X, Y], [Y, X]]), "where": lambda: da.where(X > Y, X, Y),
    "cumsum": lambda: X.cumsum(axis=0), "cumprod": lambda: Y.cumprod(axis=1), "diff": lambda: da.diff(X),
    "flip": lambda: da.flip(X, 0), "roll": lambda: da.roll(X, 3, axis=1), "pad": lambda: da.pad(X, 2, mode="constant"),
    "tile": lambda: da.tile(X, (2, 1)), "repeat": lambda: da.repeat(X, 2, axis=0), "outer": lambda: da.outer(X[0], Y[0]),
    "histogram": lambda: da.histogram(Y, bins=5, range=(0, 10))[0], "bincount": lambda: da.bincount(V, minlength=7),
    "unique": lambda: da.unique(V), "topk": lambda: da.topk(V, 3), "percentile": lambda: da.percentile(V, [25, 50]),
    "map_blocks": lambda: X.map_blocks(lambda b: b + 1), "map_overlap": lambda: X.map_overlap(lambda b: b * 2, depth=1),
    "einsum": lambda: da.einsum("ij,ij->i", X, Y), "apply_along_axis": lambda: da.apply_along_axis(numpy.sum, 0, X),
    "triu": lambda: da.triu(X), "tril": lambda: da.tril(X), "diag": lambda: da.diag(V), "isin": lambda: da.isin(V, [1, 2]),
    "clip": lambda: da.clip(X, 10, 50), "round": lambda: da.around(Y, 1), "svd": lambda: da.linalg.svd(Y.rechunk((4, 10)))[1],
    "qr": lambda: abs(da.linalg.qr(Y.rechunk((4, 10)))[1]), "norm": lambda: da.linalg.norm(X), "average": lambda: da.average(X, axis=0),
    "cov": lambda: da.cov(X), "corrcoef": lambda: da.corrcoef(Y + da.sin(X)), "gradient": lambda: da.gradient(Y)[0],
    "ones": lambda: da.ones((7, 7), chunks=3), "arange": lambda: da.arange(50, chunks=7), "linspace": lambda: da.linspace(0, 1, 20, chunks=6),
    "eye": lambda: da.eye(9, chunks=4), "random": lambda: da.random.RandomState(3).normal(size=(20, 20), chunks=7),
    "squeeze": lambda: X[:1].squeeze(), "swapaxes": lambda: da.swapaxes(X, 0, 1), "moveaxis": lambda: da.moveaxis(X, 0, 1),
    "expand_dims": lambda: X[:, None], "broadcast_to": lambda: da.broadcast_to(X[0], (3, 10)), "choose": lambda: da.choose(V % 2, [V, -V]),
    "digitize": lambda: da.digitize(Y, numpy.array([1.0, 5.0])), "argtopk": lambda: da.argtopk(V * 100 + da.arange(40, chunks=9), 3),
    "nonzero": lambda: da.nonzero(V)[0], "count_nonzero": lambda: da.count_nonzero(V), "ptp": lambda: da.ptp(X, axis=0),
    "allclose": lambda: da.allclose(X, X), "result_type": lambda: X.astype("int32"), "insert": lambda: da.insert(V, 3, 9, axis=0),
    "delete": lambda: da.delete(V, 3, axis=0), "append": lambda: da.append(V, V), "compress": lambda: da.compress([True, False, True], X, axis=0),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_array(client, name):
    compare(client, ARRAYS[name](), lambda a, b: numpy.allclose(a, b, equal_nan=True) and numpy.shape(a) == numpy.shape(b))


# ---- bags ----

db = pytest.importorskip("dask.bag", reason="dask.bag is not there")
B = db.from_sequence([(i * 7) % 23 for i in range(60)], npartitions=5)
WORDS = db.from_sequence("the quick brown fox jumps over the lazy dog and the cat".split(), npartitions=3)
BAGS = {
    "map": lambda: B.map(functions.increment), "filter": lambda: B.filter(lambda x: x % 2), "sum": lambda: B.sum(),
    "mean": lambda: B.mean(), "std": lambda: B.std(), "var": lambda: B.var(), "min": lambda: B.min(), "max": lambda: B.max(),
    "count": lambda: B.count(), "any": lambda: B.any(), "all": lambda: B.all(), "distinct": lambda: B.distinct().map(int),
    "frequencies": lambda: WORDS.frequencies(), "topk": lambda: B.topk(4), "fold": lambda: B.fold(operator.add),
    "foldby": lambda: B.foldby(lambda x: x % 3, operator.add), "groupby": lambda: B.groupby(lambda x: x % 3).map(lambda pair: (pair[0], sorted(pair[1]))),
    "reduction": lambda: B.reduction(sum, sum), "pluck": lambda: B.map(lambda x: {"a": x}).pluck("a"),
    "flatten": lambda: B.map(lambda x: [x, x]).flatten(), "starmap": lambda: B.map(lambda x: (x, x)).starmap(operator.add),
    "remove": lambda: B.remove(lambda x: x > 5), "accumulate": lambda: B.accumulate(operator.add), "take": lambda: B.repartition(2),
    "zip": lambda: db.zip(B, B), "product": lambda: WORDS.product(WORDS), "concat": lambda: db.concat([B, B]),
    "map_partitions": lambda: B.map_partitions(sorted), "strings": lambda: WORDS.str.upper(), "join": lambda: WORDS.join(["the", "fox"], len),
    "random": lambda: WORDS.map(str.title),
}


@pytest.mark.parametrize("name", BAGS)
def test_bag(client, name):
    def same(a, b):
        try:
            return a == b or sorted(a) == sorted(b)
        except TypeError:
            return a == b
    with dask.config.set(scheduler=penstock.dask.get):  # Until 2023 a shuffle is chosen when it is built.
        bag = BAGS[name]()
    compare(client, bag, same)


# ---- delayed ----

def test_delayed_tree(client):
    leaves = [dask.delayed(functions.increment)(i) for i in range(32)]
    while len(leaves) > 1:
        leaves = [dask.delayed(functions.add)(a, b) for a, b in zip(leaves[::2], leaves[1::2])]
    compare(client, leaves[0], operator.eq)


def test_a_singular_value_decomposition_is_one(client):
    u, s, v = dask.compute(*da.linalg.svd(Y.rechunk((4, 10))), scheduler=penstock.dask.get, client=client)
    whole = Y.compute(scheduler="sync")
    numpy.testing.assert_allclose(u * s @ v, whole, atol=1e-9)
    numpy.testing.assert_allclose(u.T @ u, numpy.eye(10), atol=1e-9)
    numpy.testing.assert_allclose(v @ v.T, numpy.eye(10), atol=1e-9)
    assert (s[:-1] >= s[1:]).all() and s[-1] >= -1e-9


def test_delayed_structures(client):
    part = dask.delayed(functions.increment)(1)
    compare(client, dask.delayed({"a": [part, (part, {"b": part})]}), operator.eq)


class OneWriter:
    """A target that takes one writer at a time."""

    def __init__(self, path):
        self.path = path

    def __setitem__(self, _, value):
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
        functions.meet(self.path + f".{os.getpid()}", self.path + ".nobody", 0.05)
        os.unlink(self.path)


@pytest.mark.parametrize("how", ["an argument", "within a function"])
def test_a_lock_holds_among_processes(client, tmp_path, how):
    target, lock = OneWriter(str(tmp_path / "writes")), SerializableLock()
    if how == "an argument":
        da.store(da.ones(16, chunks=2), target, lock=lock, scheduler=penstock.dask.get, client=client)
    else:
        write = functools.partial(functions.write_under, lock, target)
        client.get({f"w{i}": (write, i) for i in range(8)}, [f"w{i}" for i in range(8)])
    assert not (tmp_path / "writes").exists()


def test_a_lock_is_that_of_its_host():
    with _locks.leaving():
        lock = pickle.loads(pickle.dumps(SerializableLock("one")))
    assert type(pickle.loads(pickle.dumps(SerializableLock("one")))) is SerializableLock
    same, other, elsewhere = (_locks.HostLock("one", lock.of_host), _locks.HostLock("two", lock.of_host),
                              _locks.HostLock("one", "elsewhere"))
    with lock:
        assert lock.locked() and not same.acquire(blocking=False) and not same.acquire(timeout=0.01)
        assert other.acquire()
        other.release()
    assert same.acquire() and same.locked()
    same.release()
    with pytest.raises(RuntimeError, match="unlocked"):
        same.release()
    with pytest.raises(PenstockError, match="a lock of Dask, one: holds on the host of the client only.*lock=False"):
        elsewhere.acquire()
    assert functions.getter(elsewhere) == (True, None)
