"""How values of other libraries become a pickle whose large buffers stay beside it, where those libraries copy them.

Reducers are as those of `copyreg`, which come first, but hold for what Penstock pickles alone: a program's own pickles
stay readable where there is no Penstock. A library is never imported by this module: its reducers are looked up once
it is among `sys.modules`."""
import copyreg
import io
import pickle
import sys
import warnings
from collections import ChainMap
from typing import Any, Callable, Dict, List, Tuple, Union

import cloudpickle

Reducer = Callable[[Any], Any]

# Libraries, by the module that has to be there, and the function of `_buffers` that has their reducers.
_known: Dict[str, str] = {"pyarrow": "of_pyarrow", "pyarrow.flight": "of_flight", "polars": "of_polars",
                          "torch": "of_torch", "jax": "of_jax", "pandas.core.arrays.string_arrow": "of_pandas"}
_named: Dict[str, List[Tuple[str, Reducer]]] = {}  # Modules that are not there yet: names of their types, and reducers.
_table: Dict[type, Reducer] = {}
_state = {"modules": -1, "pickler": None}  # How many modules there were at the last look; cloudpickle's with them.


def register_reducer(kind: Union[type, str], reduce: Reducer) -> None:
    """Values of exactly this type are pickled by `reduce` on their way to calls and back:

        def reduce_matrix(matrix):
            return Matrix, (matrix.rows, pickle.PickleBuffer(matrix.content))

        penstock.register_reducer("linear.Matrix", reduce_matrix)

    `kind` is a type, or the name `"module.Type"` of one whose module need not be imported yet. `reduce` returns what
    `__reduce__` returns, or `NotImplemented` for a value that is to go by the type's own way. Buffers within a
    `pickle.PickleBuffer`, and numpy's arrays, are read by others without a copy from 64 KiB on.

    A registration counts in the process that makes it. What a call returns is pickled by a process of a worker, so the
    registration belongs into a module that the call's function imports. Raises `TypeError` for what is no type, name or
    function."""
    if not callable(reduce):
        raise TypeError(f"reduce is a function of a value, not {reduce!r}")
    if isinstance(kind, type):
        _put({kind: reduce})
        return
    module, dot, name = kind.rpartition(".") if isinstance(kind, str) else ("", "", "")
    if not dot or not module or not name:
        raise TypeError(f"kind is a type or its name 'module.Type', not {kind!r}")
    _named.setdefault(module, []).append((name, reduce))
    _state["modules"] = -1


def register_dlpack(kind: Union[type, str], from_dlpack: Callable[[Any], Any]) -> None:
    """Values of exactly this type that lie in the memory of the host travel by DLPack: a numpy array of their memory is
    sent without a copy, and `from_dlpack` makes a value of the array that is read:

        penstock.register_dlpack("tensors.Tensor", tensors.from_dlpack)

    `from_dlpack` is importable where the value is read. A value in the memory of a device goes by the type's own way.
    The rest is as for `register_reducer`."""
    if not callable(from_dlpack):
        raise TypeError(f"from_dlpack is a function of an array, not {from_dlpack!r}")

    def reduce(value):
        from penstock import _buffers
        return _buffers.reduce_by_dlpack(value, from_dlpack)
    register_reducer(kind, reduce)


def dumps(value, buffer_callback=None):
    """`pickle.dumps` by protocol 5, with the reducers of libraries that are there."""
    table = _current()
    if not table:
        return pickle.dumps(value, 5, buffer_callback=buffer_callback)
    file = io.BytesIO()
    pickler = pickle.Pickler(file, 5, buffer_callback=buffer_callback)
    pickler.dispatch_table = {**table, **copyreg.dispatch_table}
    pickler.dump(value)
    return file.getvalue()


def cloudpickle_dumps(value, buffer_callback=None):
    """The same for `cloudpickle.dumps`."""
    table = _current()
    if not table:
        return cloudpickle.dumps(value, 5, buffer_callback=buffer_callback)
    if _state["pickler"] is None:
        theirs = cloudpickle.CloudPickler
        tables = ChainMap({}, theirs.dispatch_table, table)
        _state["pickler"] = type("CloudPickler", (theirs,), {"dispatch_table": tables})
    file = io.BytesIO()
    _state["pickler"](file, 5, buffer_callback=buffer_callback).dump(value)
    return file.getvalue()


def _current():
    """The reducers of the libraries that are loaded."""
    count = len(sys.modules)
    if count != _state["modules"]:
        _look(count)
    return _table


def _look(count):
    """Puts reducers of modules that have come since the last look into the table; of one that is still being imported,
    at the next look."""
    unfinished = False
    for name in [name for name in _known if name in sys.modules]:
        if _is_loaded(name):
            from penstock import _buffers
            _put(getattr(_buffers, _known.pop(name))())
        else:
            unfinished = True
    for name in [name for name in _named if name in sys.modules]:
        if _is_loaded(name):
            _put(dict(_found(sys.modules[name], _named.pop(name))))
        else:
            unfinished = True
    _state["modules"] = -1 if unfinished else count


def _found(module, named):
    for name, reduce in named:
        if hasattr(module, name):
            yield getattr(module, name), reduce
        else:
            warnings.warn(f"penstock.register_reducer: {module.__name__} has no {name}: its reducer is not used",
                          stacklevel=2)


def _is_loaded(name):
    """Whether all of a module is there, and not just its beginning."""
    return not getattr(getattr(sys.modules[name], "__spec__", None), "_initializing", False)


def _put(reducers):
    """Threads may be in the midst of the old table."""
    global _table
    _table = {**_table, **{kind: _own_way_unless(reduce) for kind, reduce in reducers.items()}}
    _state["pickler"] = None


def _own_way_unless(reduce):
    def reduced(value):
        result = reduce(value)
        return value.__reduce_ex__(5) if result is NotImplemented else result
    return reduced
