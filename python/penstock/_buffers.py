"""Reducers of libraries whose own pickles copy: see `_reducers`. What they name is made again by functions of this
module, of memory that is mapped: pages that are written to are the reader's own."""
import copyreg
import ctypes
import pickle
import sys

from penstock.errors import NotSerializable

SLICE_FACTOR = 2          # A slice of an Arrow array that is this much smaller than its buffers goes without the rest,
SLICE_BYTES = 64 << 10    # if that is more than so many bytes.
CPU = 1                   # kDLCPU of DLPack.
PINNED = 3                # kDLCUDAHost.


def writable(buffer):
    """A buffer that may be written to: itself, unless it came by a way that makes it read-only."""
    return bytearray(buffer) if memoryview(buffer).readonly else buffer


# ---- Arrow: its pickles have buffers beside them already, but those of a slice are the whole array's ----

def of_pyarrow():
    """Arrays of all types, of which batches, tables and chunked arrays consist; tensors and streams."""
    import pyarrow
    reducers = {pyarrow.Tensor: reduce_arrow_tensor, pyarrow.RecordBatchReader: refuse_stream}
    left = [pyarrow.Array]
    while left:
        kind = left.pop()
        reducers[kind] = reduce_arrow
        left += kind.__subclasses__()
    return reducers


def reduce_arrow(array):
    """A part of larger buffers, in buffers of its own; all else by Arrow's own way."""
    held = array.get_total_buffer_size()
    if held <= SLICE_BYTES or held <= SLICE_FACTOR * array.nbytes:
        return NotImplemented
    import pyarrow
    return pyarrow.concat_arrays([array]).__reduce_ex__(5)


def reduce_arrow_tensor(tensor):
    array = tensor.to_numpy()
    return arrow_tensor, (array, tensor.dim_names or None)


def arrow_tensor(array, dim_names):
    import pyarrow
    return pyarrow.Tensor.from_numpy(array, dim_names=dim_names)


def of_pandas():
    """Columns whose values are Arrow's. Other columns are numpy's, which need nothing."""
    module = sys.modules["pandas.core.arrays.string_arrow"]
    names = "ArrowExtensionArray", "ArrowStringArray", "ArrowStringArrayNumpySemantics"
    return {getattr(module, name): reduce_arrow_column for name in names if hasattr(module, name)}


def reduce_arrow_column(column):
    """A column of pandas. Pandas itself joins its chunks before it is pickled, which copies a single one, too."""
    chunks = getattr(getattr(column, "_pa_array", None), "chunks", ())
    if len(chunks) != 1:
        return NotImplemented
    state = {**vars(column), "_pa_array": chunks[0]}
    if "_cache" in state:
        state["_cache"] = {}
    return copyreg.__newobj__, (type(column),), state


def of_flight():
    """Streams and connections of Arrow Flight."""
    flight = sys.modules["pyarrow.flight"]
    names = ("FlightClient", "FlightStreamReader", "FlightStreamWriter", "FlightServerBase",
             "MetadataRecordBatchReader", "MetadataRecordBatchWriter", "FlightStreamChunk")
    return {getattr(flight, name): refuse_flight for name in names if hasattr(flight, name)}


def refuse_stream(reader):
    raise NotSerializable("is a stream, which is read once and in one process", subject=f"a {type(reader).__name__}",
                          remedy="give what it reads: read_all() is a table, which travels without a copy")


def refuse_flight(value):
    raise NotSerializable("is a part of an Arrow Flight connection of this process",
                          subject=f"a {type(value).__name__}",
                          remedy="give the table, read_all(), or connect in the call by address and ticket; Penstock's "
                          "own transfers need no Flight: docs/engines/buffers.md")


# ---- polars: its own pickles are files in memory ----

def of_polars():
    """Frames and series travel as Arrow's, where pyarrow is installed."""
    polars = sys.modules["polars"]
    try:
        import pyarrow  # noqa: F401: polars needs it for the way by Arrow, and imports it on that way.
    except ImportError:
        return {}
    return {polars.DataFrame: reduce_polars_frame, polars.Series: reduce_polars_series}


def is_arrows(dtype):
    """Whether values of this type come back from Arrow as what they were."""
    import polars
    if isinstance(dtype, (polars.List, polars.Array)):
        return is_arrows(dtype.inner)
    if isinstance(dtype, polars.Struct):
        return all(is_arrows(field.dtype) for field in dtype.fields)
    plain = (polars.String, polars.Binary, polars.Boolean, polars.Date, polars.Time, polars.Datetime, polars.Duration,
             polars.Decimal, polars.Null)
    sizes = (polars.Int8, polars.Int16, polars.Int32, polars.Int64, polars.UInt8, polars.UInt16, polars.UInt32,
             polars.UInt64, polars.Float32, polars.Float64)
    return isinstance(dtype, plain + sizes)


def reduce_polars_series(series):
    if not is_arrows(series.dtype):
        return NotImplemented
    return polars_series, (series.name, arrow_of(series), series.flags)


def arrow_of(series):
    """Its chunks as they are, by Arrow's C data interface."""
    import polars
    return [chunk.to_arrow(compat_level=polars.CompatLevel.newest()) for chunk in series.get_chunks()]


def polars_series(name, chunks, flags):
    import polars
    parts = [polars.Series(name, chunk) for chunk in chunks]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.append(part)
    if flags.get("SORTED_ASC") or flags.get("SORTED_DESC"):
        whole = whole.set_sorted(descending=flags["SORTED_DESC"])
    return whole


def reduce_polars_frame(frame):
    if not frame.width or not any(is_arrows(dtype) for dtype in frame.dtypes):
        return NotImplemented
    return polars_frame, (frame.get_columns(),)


def polars_frame(columns):
    import polars
    return polars.DataFrame(columns)


# ---- torch: its pickles hold storages as files ----

def of_torch():
    """Tensors in the memory of the host."""
    return {sys.modules["torch"].Tensor: reduce_tensor}


def reduce_tensor(tensor):
    """Its elements, and of a storage that holds no others all of it: strides stay as they are."""
    import torch
    if (tensor.device.type != "cpu" or tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_conj()
            or tensor.is_neg() or tensor.is_nested or not tensor.is_leaf or tensor._backward_hooks or vars(tensor)
            or not tensor.numel()):
        return NotImplemented
    plain = tensor.detach()
    size = plain.numel() * plain.element_size()
    if plain.untyped_storage().nbytes() > size and not plain.is_contiguous():
        plain = plain.clone()
    if plain.is_contiguous():
        held, offset = plain.reshape(-1).view(torch.uint8), 0
    else:
        held = torch.empty(0, dtype=torch.uint8, device="cpu").set_(plain.untyped_storage())
        offset = plain.storage_offset()
    how = tensor.dtype, tuple(plain.shape), plain.stride(), offset, tensor.requires_grad
    return torch_tensor, (pickle.PickleBuffer(held.numpy()), *how)


def torch_tensor(buffer, dtype, shape, strides, offset, requires_grad):
    import torch
    tensor = torch.frombuffer(writable(buffer), dtype=dtype).as_strided(shape, strides, offset)
    return tensor.requires_grad_() if requires_grad else tensor


# ---- jax: its pickles hold numpy's older ones ----

def of_jax():
    """Arrays of the host. The type is the one of all that jax computes, which has no public name."""
    try:
        from jax._src.array import ArrayImpl
    except ImportError:
        return {}
    return {ArrayImpl: reduce_jax}


def reduce_jax(array):
    import numpy
    if array.weak_type or not array.is_fully_addressable or not array.size:
        return NotImplemented
    host = numpy.asarray(array)
    if host.dtype.hasobject or host.nbytes != host.size * host.dtype.itemsize:
        return NotImplemented
    held = numpy.ascontiguousarray(host).reshape(-1).view(numpy.uint8)
    return jax_array, (pickle.PickleBuffer(held), host.dtype, host.shape)


def jax_array(buffer, dtype, shape):
    import jax
    import numpy
    host = numpy.frombuffer(buffer, dtype).reshape(shape)
    if jax.default_backend() != "cpu" or host.ctypes.data % 64:
        return jax.device_put(host)
    return jax.device_put(host, may_alias=True)  # Nobody else has these pages, and the array is not written to.


# ---- DLPack ----

def reduce_by_dlpack(value, from_dlpack):
    """A value of `register_dlpack`."""
    import numpy
    if int(value.__dlpack_device__()[0]) not in (CPU, PINNED):
        return NotImplemented
    array = numpy.ascontiguousarray(numpy.from_dlpack(value))
    if not array.size:
        return NotImplemented
    # Older versions of numpy make a read-only array of it, and a buffer of one would be read-only for its reader, too.
    memory = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    memory.owner = array
    return by_dlpack, (from_dlpack, pickle.PickleBuffer(memory), array.dtype, array.shape)


def by_dlpack(from_dlpack, buffer, dtype, shape):
    import numpy
    return from_dlpack(numpy.frombuffer(writable(buffer), dtype).reshape(shape))
