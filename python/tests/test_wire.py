"""Objects as bytes and back."""
import threading

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import _wire
from penstock.errors import MissingModule, NotSerializable, VersionMismatch

VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
                      lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner))


@given(VALUES)
@settings(max_examples=60)
def test_what_is_packed_comes_back(value):
    assert _wire.unpack(_wire.pack(value)) == value


@given(st.lists(st.integers(0, 300), max_size=5))
@settings(max_examples=20)
def test_arrays_travel_beside_the_pickle_and_come_back(sizes):
    arrays = [numpy.arange(size, dtype="int16") for size in sizes]
    packed = _wire.pack(arrays)
    for before, after in zip(arrays, _wire.unpack(packed)):
        assert numpy.array_equal(before, after)


def test_a_large_buffer_is_not_copied_when_it_is_read():
    packed = memoryview(_wire.pack(numpy.zeros(1000)))
    array = _wire.unpack(packed)
    assert not array.flags.writeable and not array.flags.owndata
    start = numpy.frombuffer(packed, "u1").__array_interface__["data"][0]
    assert start < array.__array_interface__["data"][0] < start + len(packed)


def test_what_cannot_be_pickled_is_named():
    with pytest.raises(NotSerializable, match="the lock.*cannot be pickled"):
        _wire.pack(threading.Lock(), "the lock")


def test_functions_without_a_name_go_by_value():
    function = _wire.load_program(_wire.pack_program(lambda x: x + 1))
    assert function(1) == 2


def test_another_python_is_refused_with_both_versions():
    program = bytearray(_wire.pack_program(len))
    program[5] += 1
    with pytest.raises(VersionMismatch, match=r"client runs Python 3\.\d+, this runner 3\.\d+"):
        _wire.load_program(bytes(program))


def test_bytes_of_others_are_refused():
    with pytest.raises(ValueError):
        _wire.unpack(b"something else entirely, made elsewhere")
    with pytest.raises(ValueError):
        _wire.load_program(b"something else")


def test_a_module_that_is_not_there_is_named():
    data = b"cno_such_module_here\nfunction\n."
    with pytest.raises(MissingModule, match="no_such_module_here.*pip install"):
        _wire.load_naming_modules(data)
