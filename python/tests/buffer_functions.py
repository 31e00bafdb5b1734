"""What tests of buffers run on the cluster: they look where the memory of a value is."""
import pathlib

import numpy
from penstock import register_dlpack, register_reducer

LARGE = 64 << 10


class Block:
    """Of a library whose pickles copy: it does not know of buffers beside them."""

    def __init__(self, content):
        self.content = content

    def __reduce__(self):
        return Block, (self.content.tobytes(),)


class Tensor:
    """Of a library that shares its memory by DLPack, on the host or on a device."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __reduce__(self):
        return tensor_of_bytes, (self.array.tobytes(),)


def tensor_of_bytes(content):
    made = Tensor(numpy.frombuffer(content))
    made.came_by = "bytes"
    return made


def tensor_of_dlpack(array):
    return Tensor(numpy.from_dlpack(array))


def block_of(array):
    return Block(array)


def reduce_block(block):
    return block_of, (block.content,)


register_reducer(Block, reduce_block)
register_dlpack("buffer_functions.Tensor", tensor_of_dlpack)


def numbers(count):
    return numpy.arange(count, dtype="f8")


def blocks(count):
    return Block(numbers(count))


def tensors(count):
    return Tensor(numbers(count))


def of_arrow(count, kind):
    import pyarrow
    table = pyarrow.table({"a": numbers(count), "text": [f"text {number}" for number in range(count)]})
    return {"table": lambda: table, "batch": lambda: table.to_batches()[0], "array": lambda: table["a"].chunk(0),
            "chunked": lambda: pyarrow.chunked_array([numbers(count), numbers(count)]),
            "tensor": lambda: pyarrow.Tensor.from_numpy(numbers(count))}[kind]()


def of_polars(count, kind):
    import polars
    frame = polars.DataFrame({"a": numbers(count), "text": [f"more text {number}" for number in range(count)]})
    return frame if kind == "frame" else frame["a"]


def of_pandas(count, kind):
    import pandas
    if kind == "text":
        texts = [f"text {number}" for number in range(count)]
        return pandas.DataFrame({"text": pandas.Series(texts, dtype="string[pyarrow]")})
    return pandas.DataFrame({"a": pandas.Series(numbers(count), dtype="float64[pyarrow]")})


def of_torch(count, kind):
    import torch
    tensor = torch.arange(count, dtype=torch.float64)
    return {"tensor": lambda: tensor, "transposed": lambda: tensor.reshape(-1, 100).T,
            "parameter": lambda: torch.nn.Parameter(tensor)}[kind]()


def of_jax(count, kind):
    import jax.numpy
    return jax.numpy.arange(count, dtype={"array": "float32", "short": "bfloat16"}[kind])


def addresses(value):
    """Where the large buffers of a value begin."""
    name = type(value).__module__.partition(".")[0]
    if name == "buffer_functions":
        return addresses(value.content if isinstance(value, Block) else value.array)
    if name == "numpy":
        return [value.ctypes.data]
    if name == "torch":
        return [value.data_ptr()]
    if name in ("jax", "jaxlib"):
        return [value.unsafe_buffer_pointer()]
    return [buffer.address for array in arrow_arrays(value) for buffer in array.buffers()
            if buffer is not None and buffer.size >= LARGE]


def arrow_arrays(value):
    import pyarrow
    if isinstance(value, pyarrow.Tensor):
        return [pyarrow.array(value.to_numpy())]
    if isinstance(value, pyarrow.Array):
        return [value]
    if type(value).__module__.startswith("polars"):
        import polars
        columns = value.get_columns() if isinstance(value, polars.DataFrame) else [value]
        return [chunk.to_arrow(compat_level=polars.CompatLevel.newest()) for column in columns
                for chunk in column.get_chunks()]
    if hasattr(value, "chunks"):
        return value.chunks
    if hasattr(value, "num_columns"):
        return [array for column in value.columns for array in getattr(column, "chunks", [column])]
    return [chunk for name in value for chunk in value[name].array._pa_array.chunks]


def places(value, _after=None):
    """For each large buffer of a value the memory file in which it lies, by its number; None if it lies elsewhere."""
    return [memory_file(address) for address in addresses(value)]


def memory_file(address):
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        span, _, _, _, inode, *name = line.split(maxsplit=5)
        begin, end = (int(part, 16) for part in span.split("-"))
        if begin <= address < end:
            return int(inode) if name and "memfd:penstock" in name[0] else None
    return None


def overwrite(tensor):
    tensor[:] = -1
    return float(tensor.sum())


def total(value):
    return float(value.sum())
