"""Whoever checks types sees those of all that is public."""
import inspect
import typing

import pytest

import penstock

PUBLIC = [value for value in (getattr(penstock, name) for name in penstock.__all__)
          if not (isinstance(value, type) and issubclass(value, BaseException))]


def functions_of(value):
    if inspect.isfunction(value):
        return [value]
    found = [part.fget if isinstance(part, property) else part for name, part in vars(value).items() if name[0] != "_"]
    return [part for part in found if inspect.isfunction(part)]


@pytest.mark.parametrize("value", PUBLIC, ids=lambda value: value.__name__)
def test_every_argument_and_result_has_a_type(value):
    for function in functions_of(value):
        names = [name for name in inspect.signature(function).parameters if name != "self"]
        missing = [name for name in [*names, "return"] if name not in function.__annotations__]
        assert not missing, f"{function.__qualname__}: {missing}"


def test_the_types_of_dask_get_can_be_read():
    pytest.importorskip("dask", reason="python3-dask is not installed")
    import penstock.dask
    known = typing.get_type_hints(penstock.dask.get)
    assert set(inspect.signature(penstock.dask.get).parameters) - set(known) == {"_"}
