"""Values of other libraries that travel without a copy. Debian's packages do not have them: `with_wheels` does."""
import pickle
import subprocess
import sys

import buffer_functions
import numpy
import pytest
from buffer_functions import Block, Tensor

from penstock import Client, _reducers, _wire, register_dlpack, register_reducer
from penstock.errors import NotSerializable, PenstockError

COUNT = 100_000


def wheel(name):
    return pytest.importorskip(name, reason=f"{name} is not installed: python/tests/with_wheels")


def sent(value):
    """(the value as it arrives, the bytes of its pickle, those of its buffers)"""
    data, buffers = _wire.pickle_with_buffers(value, "a value")
    size = sum(buffer.raw().nbytes for buffer in buffers)
    return _wire.unpack(bytearray(_wire.pack(value))), len(data), size


def is_beside(value, size):
    """Whether its buffers, of about this size, are beside the pickle."""
    _, data, beside = sent(value)
    return data < 10_000 and size <= beside < 1.1 * size + 10_000


# ---- the registry ----

def test_a_type_with_a_reducer_and_one_with_dlpack_are_mapped(client):
    for make, read in ((buffer_functions.blocks, Block), (buffer_functions.tensors, Tensor)):
        made = client.submit(make, COUNT)
        there = client.submit(buffer_functions.places, made).result(60)
        assert there and None not in there, make
        value = made.result(60)
        assert isinstance(value, read)
        array = value.content if read is Block else value.array
        numpy.testing.assert_array_equal(array, numpy.arange(float(COUNT)))


def test_what_is_in_a_devices_memory_goes_by_its_own_way():
    value, data, beside = sent(Tensor(numpy.arange(10_000.0), device=2))
    assert value.came_by == "bytes" and data > 80_000 and not beside


def test_a_reducer_may_leave_a_value_to_its_own_way():
    class Half:
        def __init__(self, content):
            self.content = content
    register_reducer(Half, lambda half: NotImplemented if half.content is None else (list, ("by the reducer",)))
    assert sent(Half(None))[0].content is None
    assert sent(Half(1))[0] == list("by the reducer")


def test_other_pickles_of_the_program_stay_as_they_are():
    assert isinstance(pickle.loads(pickle.dumps(Block(numpy.ones(3)))).content, bytes)
    assert isinstance(sent(Block(numpy.ones(3)))[0].content, numpy.ndarray)


def test_functions_without_a_name_take_values_with_a_reducer_along():
    block = Block(numpy.arange(10_000.0))
    data, buffers = _wire.pickle_with_buffers((lambda: None, block), "both")
    assert [buffer.raw().nbytes for buffer in buffers] == [80_000] and len(data) < 10_000


def test_a_name_counts_when_its_module_is_there(monkeypatch):
    module = type(sys)("late_library")
    register_reducer("late_library.Matrix", lambda _: (str, ("by the reducer",)))
    register_reducer("late_library.Missing", lambda _: (str, ()))
    _reducers.dumps(1)
    exec("class Matrix:\n    pass", vars(module))
    monkeypatch.setitem(sys.modules, "late_library", module)
    with pytest.warns(UserWarning, match="late_library has no Missing"):
        assert sent(module.Matrix())[0] == "by the reducer"


def test_a_module_that_is_being_imported_is_looked_at_later(monkeypatch):
    module = type(sys)("half_a_library")
    register_reducer("half_a_library.Matrix", lambda _: (str, ("by the reducer",)))
    monkeypatch.setattr(module, "__spec__", type("Spec", (), {"_initializing": True}), raising=False)
    monkeypatch.setitem(sys.modules, "half_a_library", module)
    _reducers.dumps(1)
    exec("class Matrix:\n    pass", vars(module))
    module.__spec__._initializing = False
    assert sent(module.Matrix())[0] == "by the reducer"


@pytest.mark.parametrize("kind", ["Matrix", "", 7, ".Matrix"])
def test_what_names_no_type_is_refused(kind):
    with pytest.raises(TypeError, match="kind is a type or its name"):
        register_reducer(kind, print)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="reduce is a function"):
        register_reducer(Block, None)
    with pytest.raises(TypeError, match="from_dlpack is a function"):
        register_dlpack(Block, "numpy.from_dlpack")


def test_no_library_is_imported():
    libraries = ["numpy", "pandas", "pyarrow", "polars", "torch", "jax"]
    program = ("import sys; from penstock import _wire, register_reducer; register_reducer('polars.Expr', print); "
               "_wire.pack([1]); "
               f"print([name for name in {libraries} if name in sys.modules], 'penstock._buffers' in sys.modules)")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                         env={"PYTHONPATH": ":".join(sys.path)})
    assert ran.stdout == "[] False\n", ran.stderr


# ---- each library ----

MAKERS = [(library, kind) for library, kinds in (
    ("pyarrow", ["table", "batch", "array", "chunked", "tensor"]), ("polars", ["frame", "series"]),
    ("pandas", ["numbers", "text"]), ("torch", ["tensor", "transposed", "parameter"]),
    ("jax", ["array", "short"])) for kind in kinds]


@pytest.mark.parametrize("library, kind", MAKERS)
def test_two_readers_of_a_host_map_the_same_memory(client, library, kind):
    wheel(library)
    wheel("pyarrow")
    make = getattr(buffer_functions, "of_" + {"pyarrow": "arrow"}.get(library, library))
    made = client.submit(make, COUNT, kind)
    readers = [client.submit(buffer_functions.places, made, environment={"READER": name}) for name in "ab"]
    one, two = client.gather(readers)
    assert one and None not in one, "a reader has a copy"
    assert one == two
    here = buffer_functions.places(made.result(60))
    assert here and None not in here, "the client has a copy"


@pytest.mark.parametrize("library, kind", MAKERS)
def test_arguments_are_beside_the_call(client, library, kind):
    wheel(library)
    wheel("pyarrow")
    value = getattr(buffer_functions, "of_" + {"pyarrow": "arrow"}.get(library, library))(COUNT, kind)
    there = client.submit(buffer_functions.places, value).result(60)
    assert there and None not in there


def test_a_reader_writes_to_pages_of_its_own(client):
    wheel("torch")
    made = client.submit(buffer_functions.of_torch, COUNT, "tensor")
    before = client.submit(buffer_functions.total, made).result(60)
    assert client.submit(buffer_functions.overwrite, made).result(60) == -COUNT
    assert client.submit(buffer_functions.total, made).result(60) == before


def test_tensors_come_as_they_were(recwarn):
    torch = wheel("torch")
    whole = torch.arange(100_000, dtype=torch.float32).reshape(100, 1000)
    plain = [whole, whole.T, whole[3:5], whole[:, 3:5], whole[:, 3:5].T, whole[0].expand(5, 1000),
             whole.to(torch.bfloat16), whole > 7, torch.tensor(3.5), torch.zeros(0, 3), whole.to(torch.complex64),
             torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last), torch.from_numpy(numpy.arange(3))]
    odd = [whole.to(torch.complex64).conj(), whole.to_sparse(), torch.quantize_per_tensor(whole, 0.1, 0, torch.qint8)]

    def dense(some):
        return some.to_dense() if some.is_sparse else some.dequantize() if some.is_quantized else some
    for tensor in plain + odd:
        for given in (sent(tensor)[0], _wire.unpack(_wire.pack(tensor))):  # Writable memory, and bytes.
            assert given.dtype == tensor.dtype and given.layout == tensor.layout and given.shape == tensor.shape
            assert torch.equal(dense(given), dense(tensor))
    for tensor in (whole, whole.T, torch.arange(10.0).expand(5, 10)):
        assert sent(tensor)[0].stride() == tensor.stride()
    leaf = torch.ones(5, requires_grad=True)
    assert sent(leaf)[0].requires_grad and sent(leaf * 2)[0].requires_grad
    assert isinstance(sent(torch.nn.Parameter(whole))[0], torch.nn.Parameter)
    assert not [warning for warning in recwarn if "writable" in str(warning.message)]


def test_a_part_of_a_tensor_goes_alone():
    torch = wheel("torch")
    whole = torch.arange(1_000_000, dtype=torch.float64).reshape(1000, 1000)
    assert is_beside(whole[10:20], 80_000) and is_beside(whole[:, 10:20], 80_000)
    assert is_beside(whole[0].expand(1000, 1000), 8_000_000)  # A row of a large storage, repeated.
    assert is_beside(torch.arange(1000.0).expand(1000, 1000), 4_000)


def test_a_part_of_an_arrow_array_goes_alone():
    pyarrow = wheel("pyarrow")
    table = pyarrow.table({"a": numpy.arange(1_000_000.0), "b": [None, "text"] * 500_000,
                           "c": pyarrow.array(["x", "y"] * 500_000).dictionary_encode()})
    part = table.slice(1000, 1000)
    given, data, beside = sent(part)
    assert given.equals(part) and data + beside < 64_000
    for batch in part.to_batches():
        given, data, beside = sent(batch)
        assert given.equals(batch) and data + beside < 64_000
    assert is_beside(table.slice(1000)["a"], 8_000_000)  # Nearly all of it: no copy.


def test_arrow_tensors_keep_their_names():
    pyarrow = wheel("pyarrow")
    tensor = pyarrow.Tensor.from_numpy(numpy.ones((2, 3)), dim_names=["x", "y"])
    given = sent(tensor)[0]
    assert given.equals(tensor) and given.dim_names == ["x", "y"]


def test_streams_are_refused_with_what_to_do():
    pyarrow = wheel("pyarrow")
    reader = pyarrow.table({"a": [1]}).to_reader()
    with pytest.raises(NotSerializable, match="read_all"):
        sent([reader])
    flight = wheel("pyarrow.flight")
    with pytest.raises(NotSerializable, match="Arrow Flight.*connect in the call"):
        sent({"connection": flight.FlightClient("grpc://127.0.0.1:1")})


def test_the_address_of_a_flight_server_is_refused():
    for address in ("grpc://127.0.0.1:8815", "grpc+tls://127.0.0.1:8815"):
        with pytest.raises(PenstockError, match="Arrow Flight server"):
            Client(address)


def test_series_of_polars_come_as_they_were():
    polars = wheel("polars")
    wheel("pyarrow")
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    series = [polars.Series("a", [1, None, 3]), polars.Series("b", ["one", None, "a text that is longer than twelve"]),
              polars.Series("c", [True, None]), polars.Series("d", [date(2026, 1, 2)]),
              polars.Series("e", [time(1, 2)]),
              polars.Series("f", [datetime(2026, 1, 2)], dtype=polars.Datetime("us", "Europe/Berlin")),
              polars.Series("g", [timedelta(1)], dtype=polars.Duration("ms")), polars.Series("h", [Decimal("1.5")]),
              polars.Series("i", [[1, 2], None]), polars.Series("j", [{"x": 1, "y": ["z"]}]),
              polars.Series("k", [None, None]),
              polars.Series("l", [[1, 2]], dtype=polars.Array(polars.Int16, 2)), polars.Series("m", [b"x"]),
              polars.Series("n", ["u", "v"], dtype=polars.Enum(["u", "v"])),
              polars.Series("o", ["u", "v"], dtype=polars.Categorical), polars.Series("p", [], dtype=polars.Int8),
              polars.Series("q", [2**100], dtype=polars.Int128), polars.Series("r", [["u"]], dtype=polars.List(
                  polars.Enum(["u"]))), polars.Series("", [1.5]), polars.Series("s", range(1000)).slice(5, 7),
              polars.Series("t", [1, 2]).append(polars.Series("t", [3]))]
    for one in series:
        given = sent(one)[0]
        assert given.dtype == one.dtype and given.name == one.name and given.equals(one), one
    assert sent(polars.Series([3, 2]).set_sorted(descending=True))[0].flags["SORTED_DESC"]
    same = [one for one in series if len(one) == 2]
    frame = polars.DataFrame(same)
    given = sent(frame)[0]
    assert given.schema == frame.schema and given.equals(frame)
    assert sent(polars.DataFrame())[0].shape == (0, 0)
    chunks = polars.concat([frame, frame], rechunk=False)
    assert sent(chunks)[0].equals(chunks)


def test_lazy_frames_come_as_they_were():
    polars = wheel("polars")
    lazy = polars.DataFrame({"a": [1, 2]}).lazy().select(polars.col("a").sum())
    assert sent(lazy)[0].collect().item() == 3


def test_columns_of_pandas_come_as_they_were():
    pandas = wheel("pandas")
    pyarrow = wheel("pyarrow")
    frame = pandas.DataFrame({"a": pandas.Series([1, None, 3], dtype="int64[pyarrow]"),
                              "b": pandas.Series(["x", None, "z"], dtype="string[pyarrow]")}, index=["k", "l", "m"])
    both = pandas.concat([frame, frame])  # Of two chunks.
    for one in (frame, both, frame.iloc[1:2], frame.iloc[:0]):
        pandas.testing.assert_frame_equal(sent(one)[0], one)
    long = pandas.DataFrame({"a": pandas.Series(numpy.arange(1_000_000.0), dtype="float64[pyarrow]")})
    assert is_beside(long.iloc[5:1000], 995 * 8)
    _, buffers = _wire.pickle_with_buffers(long, "a frame")
    held = [pyarrow.py_buffer(buffer).address for buffer in buffers]
    assert long["a"].array._pa_array.chunk(0).buffers()[1].address in held, "it was copied on its way"


def test_arrays_of_jax_come_as_they_were():
    jax = wheel("jax")
    numbers = jax.numpy
    for array in (numbers.arange(6.0).reshape(2, 3), numbers.arange(6.0).reshape(2, 3).T, numbers.ones(3, "bfloat16"),
                  numbers.float32(2), numbers.zeros((0, 2)), numbers.arange(3) > 1, numbers.ones(2, "complex64"),
                  numbers.asarray(2.0), numbers.ones(4, "int4")):
        given = sent(array)[0]
        assert (given.dtype, given.shape, given.weak_type) == (array.dtype, array.shape, array.weak_type)
        assert bool((given == array).all())
    key = jax.random.PRNGKey(7)
    assert bool((sent(key)[0] == key).all())
