"""Functions that tests run on the cluster: importable there, as a user's module is."""
import asyncio
import os
import sys
import threading
import time


def add(x, y):
    return x + y


async def increment_later(value):
    return value + 1


def increment(x):
    return x + 1


def beside(box):
    return box.beside


def noop():
    return None


def fail(message):
    raise ValueError(message)


class Unreadable:
    """Can be pickled, but not be made again elsewhere."""

    def __reduce__(self):
        return int, ("x",)


class OddError(Exception):
    """Cannot be made from what it keeps as arguments, and keeps what cannot be pickled."""

    def __init__(self, one, *, two):
        self.two, self.lock = two, threading.Lock()
        super().__init__(f"{one} and {two}", self.lock)


def fail_oddly():
    raise OddError(1, two=2)


class StubbornError(Exception):
    def __new__(cls, one, two):
        return super().__new__(cls, f"{one} and {two}")

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def leave(code):
    os._exit(code)


def write_and_leave(line):
    print(line)
    os._exit(9)


def pid(_=None):
    return os.getpid()


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.005)
    return path


def touch_then_wait(path):
    """Says that it runs, and goes on until it is interrupted; says that, too."""
    try:
        open(path, "w").close()  # Inside: an interrupt may come as soon as the file is there.
        while True:
            time.sleep(0.005)
    except KeyboardInterrupt:
        open(path + ".interrupted", "w").close()
        raise


def part_when_interrupted(path):
    """Of two calls the first waits for an interrupt, catches it and returns what it has."""
    if os.path.exists(path):
        return "whole"
    try:
        open(path, "w").close()
        while True:
            time.sleep(0.005)
    except KeyboardInterrupt:
        return "a part"


def fail_once(path):
    if not os.path.exists(path):
        open(path, "w").close()
        raise RuntimeError("the first time")
    return "the second time"


def unpicklable():
    import threading
    return threading.Lock()


def import_nothing_there():
    import module_that_is_not_there  # noqa: F401


def say_garbage():
    for number in range(3, 64):
        try:
            os.write(number, b"this is no message of any protocol......")
        except OSError:
            pass


def recurse(n):
    return recurse(n + 1)


def make_array(size):
    import numpy
    return numpy.arange(size, dtype="float64")


def make_array_of(_, size):
    return make_array(size)


def total_after(array, ran, go):
    open(ran, "w").close()
    wait_for(go)
    return total(array)


def lengths(pair, other):
    return [pair[0], len(pair[1]), len(other)]


def pid_beside(_):
    """Where its argument is: it is brought nowhere else while there is room."""
    return os.getpid()


def fork_and_return():
    return os.fork() or -1


def make_by_source(source):
    """An object of a class that is by value there, as one of `__main__` is."""
    import cloudpickle
    made = {"__name__": "__main__"}
    exec(source, made)
    return ByValue(cloudpickle.dumps(made["value"]))


class ByValue:
    def __init__(self, data):
        self.data = data

    def __reduce__(self):
        import pickle
        return pickle.loads, (self.data,)


def total_and(array, number):
    return float(array.sum()), number


def call_module(module, function, *arguments):
    import importlib
    return getattr(importlib.import_module(module), function)(*arguments)


def leave_daemon(path):
    """A process in a session of its own, whose parent is gone and which throws nothing of its environment away; then runs on."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(path + ".part", "w") as file:
                file.write(str(os.getpid()))
            os.rename(path + ".part", path)
            time.sleep(1000)
        os._exit(0)
    time.sleep(1000)


def total(array):
    return float(array.sum())


def is_mapped(array):
    """Whether its memory is shared with whoever has it."""
    address = array.__array_interface__["data"][0]
    with open("/proc/self/maps") as maps:
        for line in maps:
            first, last = (int(end, 16) for end in line.split()[0].split("-"))
            if first <= address < last:
                return "memfd:" in line
    return False


def filled(size, value):
    import numpy
    return numpy.full(size, value, "u1")


def table(rows):
    import numpy
    import pandas
    return pandas.DataFrame({"a": numpy.arange(float(rows))[::-1]})


def write_into(argument):
    """The sum of what was all zero."""
    array = next(iter(argument.values())) if isinstance(argument, dict) else argument[0] if isinstance(argument, list) else argument
    array += 1
    return int(array.sum())


def write_into_both(one, others):
    one[:] = 1
    others[0][:] += 1
    return int(one[0])


def write_into_and_fail_once(array, path):
    array += 1
    fail_once(path)
    return int(array[-1])


def path_of_python():
    return sys.executable


def keywords(**given):
    return given


def eat(megabytes):
    kept = bytearray(megabytes << 20)
    for at in range(0, len(kept), 4096):
        kept[at] = 1
    time.sleep(5)
    return len(kept)


def collect(*args, **kwargs):
    """All that it was given, as it was given."""
    return [list(args), kwargs] if kwargs else list(args)


def say(*lines):
    for line in lines:
        print(line)
    return lines[0]


def say_then_wait(line, path):
    print(line)
    open(path + ".waits", "w").close()
    return wait_for(path)


def say_and_fail_once(line, path):
    print(line)
    return fail_once(path)


def say_and_fail(line):
    print(line)
    raise ValueError(line)


def until(condition, seconds=60):
    """Looks again and again, and returns what it saw; of tests, not of subtasks."""
    late = time.monotonic() + seconds
    while not (seen := condition()):
        assert time.monotonic() < late, "the condition did not come true"
        time.sleep(0.005)
    return seen


class Thing:
    """Something that can be watched."""


def make_object(_):
    return Thing()


def raise_with_comment():
    raise RuntimeError(123)  # some comment


def touch(path):
    open(path, "w").close()
    return path


def size_of(path):
    return os.path.getsize(path)


def itself(value):
    return value


def note(path, word, *_):
    with open(path, "a") as log:
        log.write(word + "\n")
    return word


def note_and_give(path, value):
    note(path, "ran")
    return value


def meet(mine=None, other=None, seconds=60):
    """Whether somebody else was there at the same time; without a place, that is not asked."""
    if mine is None:
        return False
    touch(mine)
    late = time.monotonic() + seconds
    while not os.path.exists(other) and time.monotonic() < late:
        time.sleep(0.005)
    return os.path.exists(other)


def write_under(lock, target, number):
    lock.acquire()
    try:
        target[number] = number
    finally:
        lock.release()


def getter(lock):
    """Named as Dask's own that read."""
    return lock.acquire(), lock.release()


def attempt(_=None):
    import penstock
    return penstock.current_attempt()


async def attempt_later():
    return attempt()


def attempt_in_a_thread():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(attempt()))
    thread.start()
    thread.join()
    return seen[0]


def attempt_of_a_program():
    """What a program finds that a function has told."""
    import subprocess
    variables = {**os.environ, **attempt().environment}
    return subprocess.check_output(["sh", "-c", "echo $PENSTOCK_ATTEMPT $PENSTOCK_ATTEMPT_ID"], env=variables, text=True).split()


def fail_once_noting_attempt(path):
    if os.path.exists(path):
        return attempt()
    with open(path, "w") as file:
        file.write(str(attempt().number))
    raise RuntimeError("the first time")


def note_attempt_and_wait_for(directory, go):
    """Leaves its number and name in a file of its own."""
    mine = attempt()
    with open(os.path.join(directory, f"part-{mine.number}"), "w") as file:
        file.write(f"{mine.number} {mine.id}")
    os.rename(file.name, os.path.join(directory, f"attempt-{mine.number}"))
    return wait_for(go)


def stay_once(path):
    """Whether the first attempt, which stays until it is killed, is gone when the next one begins."""
    if os.path.exists(path):
        with open(path) as file:
            return not os.path.exists(f"/proc/{file.read()}")
    with open(path + ".part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, path)
    wait_for("/no/such/file")


def variable(name):
    return os.environ.get(name, "")


def meet_all(directory, count, number):
    """Waits until so many of them run at once."""
    touch(os.path.join(directory, str(number)))
    until(lambda: len(os.listdir(directory)) == count)
    return count


async def wait_noting(path):
    """Waits; notes its process, and that it was cancelled."""
    note(path, str(os.getpid()))
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        note(path, "cancelled")
        raise


async def wait_and_clean_up(path):
    try:
        await wait_noting(path)
    finally:
        await asyncio.sleep(0.01)
        note(path, "cleaned")


async def clean_up_without_end(path):
    try:
        await wait_noting(path)
    finally:
        await asyncio.sleep(600)


async def wait_whatever_is_said(path):
    while True:
        try:
            await wait_noting(path)
        except asyncio.CancelledError:
            await asyncio.sleep(600)


async def spin_whatever_is_said(path):
    """Hangs without giving the loop its turn."""
    try:
        await wait_noting(path)
    except asyncio.CancelledError:
        while True:
            time.sleep(0.01)


def register_for_the_end(path):
    import atexit

    def fail_at_the_end():
        raise ValueError("at the end")
    atexit.register(note, path, "first")
    atexit.register(fail_at_the_end)
    atexit.register(note, path, "last")


def print_at_the_end(word):
    import atexit
    import ctypes
    atexit.register(print, word, end="")
    atexit.register(sys.stderr.write, word)
    ctypes.CDLL(None).printf(word.encode())  # Is in the library's own buffer until it ends.


def yield_until(place, ended=None):
    """`place`.begun is there once its slot is lent; `ended` gets the name of what came out of the block."""
    import penstock
    try:
        with penstock.yield_slot():
            open(place + ".begun", "w").close()
            while not os.path.exists(place):
                time.sleep(0.005)
    except BaseException as error:
        if ended is not None:
            with open(ended + ".new", "w") as file:
                file.write(type(error).__name__)
            os.rename(ended + ".new", ended)
        raise
    return os.path.basename(place)


async def yield_until_later(place):
    import penstock
    with penstock.yield_slot():
        open(place + ".begun", "w").close()
        while not os.path.exists(place):
            await asyncio.sleep(0.005)
    return os.path.basename(place)


def tell(place):
    begun = os.path.exists(place + ".begun")
    open(place, "w").close()
    return "it had begun" if begun else "nobody waits for it"


def hold(place):
    """Has its slot until `place` is there."""
    open(place + ".begun", "w").close()
    while not os.path.exists(place):
        time.sleep(0.005)
    return "held"


def divide_while_yielded():
    import penstock
    with penstock.yield_slot():
        return 1 / 0


def yield_in_a_thread():
    import penstock
    seen = []

    def ask():
        try:
            penstock.yield_slot().__enter__()
        except penstock.PenstockError as error:
            seen.append(error.code)
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return seen[0]


def yield_twice():
    import penstock
    with penstock.yield_slot():
        try:
            with penstock.yield_slot():
                return "twice"
        except penstock.PenstockError as error:
            return error.code
