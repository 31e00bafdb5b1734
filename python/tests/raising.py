"""Functions that raise: importable on the cluster, as a user's module is."""
import asyncio
import concurrent.futures
import os
import sys
import threading

import penstock


class Plain(Exception):
    """An exception as most are."""


class Composed(Exception):
    """Makes its message of what it is given: its `args` are not those of its `__init__`."""

    def __init__(self, number):
        super().__init__(f"number {number}")
        self.number = number


class Keywords(Exception):
    """Cannot be made of its `args`, and keeps what cannot be pickled."""

    def __init__(self, one, *, two):
        super().__init__(one)
        self.two, self.lock = two, threading.Lock()


class OfSystem(OSError):
    """Has fields of the interpreter's own, and an `__init__` of its own."""

    def __init__(self, path, *, why):
        super().__init__(5, "no luck", path)
        self.why = why


class Slots(Exception):
    __slots__ = ("place",)

    def __init__(self, place):
        self.place = place


class Reduced(Exception):
    """Says itself how it is pickled, and forgets its notes."""

    def __init__(self, first, second):
        super().__init__("reduced")
        self.both = first, second

    def __reduce__(self):
        return Reduced, self.both


class Property(Exception):
    """Has a property that is in the way of its own attribute."""

    @property
    def size(self):
        return vars(self)["size"]


class NotReadable(Exception):
    """Can be pickled, and be read again only in the process that has raised it."""

    def __init__(self, text, pid=None):
        super().__init__(text)
        if pid not in (None, os.getpid()):
            raise RuntimeError("it will not be made here")

    def __reduce__(self):
        return NotReadable, (self.args[0], os.getpid())


def raise_it(kind, *args, **keywords):
    raise kind(*args, **keywords)


def raise_with_property():
    error = Property("with a size")
    vars(error)["size"] = 3
    raise error


def raise_noted(kind, *args):
    error = kind(*args)
    error.add_note("first note")
    error.add_note("second note")
    error.where = {"line": 3}
    raise error


def raise_from():
    try:
        try:
            {}["missing"]
        except KeyError as error:
            raise Composed(2) from error
    except Composed as error:
        raise Plain("the last") from error


def raise_within():
    try:
        {}["missing"]
    except KeyError:
        raise Plain("while another was handled")


def raise_from_none():
    try:
        {}["missing"]
    except KeyError:
        raise Plain("alone") from None


def raise_from_what_cannot_be_read():
    raise Plain("readable") from NotReadable("hidden")


def raise_in_a_circle():
    one, two = Plain("one"), Plain("two")
    one.__cause__, two.__cause__ = two, one
    raise one


def raise_group(kind=None):
    kind = kind or ExceptionGroup  # noqa: F821
    try:
        raise_from()
    except Plain as error:
        led = error
    inner = ExceptionGroup("inner", [Keywords(1, two=2), Composed(3), led])  # noqa: F821
    inner.add_note("of the inner one")
    raise kind("outer", [ValueError("a"), inner, OfSystem("/there", why="b")])


def raise_large_group(members):
    raise ExceptionGroup("large", [ValueError(os.urandom(1000)) for _ in range(members)])  # noqa: F821


def raise_large_text(count):
    error = ValueError("many words " * count)
    error.table = list(range(count))
    raise error


def raise_large_noise(size):
    error = Composed(7)
    error.small, error.noise, error.text = "as it was", os.urandom(size), os.urandom(size).hex()
    raise error


def raise_unreadable():
    raise NotReadable("too far from home")


def interrupt_itself():
    os.kill(os.getpid(), 2)
    while True:
        pass


def leave_with(code):
    sys.exit(code)


def next_of_nothing():
    return next(iter(()))


async def raise_in_coroutine():
    raise asyncio.CancelledError("in a coroutine")


def raise_inside_another():
    """The exception of a call that this call has submitted."""
    return penstock.get_client().submit(raise_from).result()


def crash_inside_another():
    return penstock.get_client().submit(os._exit, 7).result()


def cancelled_as_the_standard_library_has_it():
    raise concurrent.futures.CancelledError("by me")
