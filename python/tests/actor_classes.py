"""Classes that tests make actors of."""
import asyncio
import os
import threading
import time

import penstock


def until(condition, seconds=60):
    late = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < late, "the condition did not come true"
        time.sleep(0.005)


def dies(handle):
    """Why it has ended; calls that leave while its process dies may be under way then."""
    told = []

    def is_over():
        try:
            while True:
                handle.add().result(60)
        except penstock.ActorDied as error:
            told[:] = [error]
        return "under way" not in str(told[0])
    until(is_over)
    return told[0]


class Counter:
    kind = "counter"

    def __init__(self, value=0):
        self.value = value

    def add(self, amount=1):
        self.value += amount
        return self.value

    def echo(self, *values, **named):
        return (values, named) if named else values[0] if len(values) == 1 else values

    def pid(self):
        return os.getpid()

    def fail(self, error):
        raise error

    def thread(self):
        return threading.current_thread() is threading.main_thread()

    def wait_for(self, path):
        until(lambda: os.path.exists(path))
        return self.value

    def note_and_wait(self, began, path):
        open(began, "w").close()
        return self.wait_for(path)

    def nested(self, value):
        """Of a call that the actor submits."""
        client = penstock.get_client()
        return client.submit(abs, value).result(60)

    def me(self):
        return penstock.current_actor()

    def unsendable(self):
        return threading.Lock()

    def end_process(self):
        os._exit(7)

    def array_sum(self, array):
        return float(array.sum())

    def keep(self, array):
        self.array = array
        return array.flags.writeable

    def change(self):
        self.array[:] = 1.0
        return self.array

    @staticmethod
    def twice(value):
        return 2 * value

    @property
    def double(self):
        return 2 * self.value

    def _hidden(self):
        return "hidden"


class Listed:
    """Notes the order in which calls come, and how many are under way."""

    def __init__(self):
        self.seen, self.now, self.most, self.lock = [], 0, 0, threading.Lock()

    def note(self, value):
        with self.lock:
            self.seen.append(value)
            self.now += 1
            self.most = max(self.most, self.now)
        with self.lock:
            self.now -= 1

    def meet(self, count):
        """Until so many are here at once."""
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        until(lambda: self.most >= count)
        return self.most


class Caller:
    """Calls another actor."""

    def __init__(self, other):
        self.other = other

    def add(self, amount):
        return self.other.add(amount).result(60)


class Coroutines:
    def __init__(self):
        self.loop, self.event, self.ended = asyncio.get_running_loop(), asyncio.Event(), []

    async def wait(self, what="waited", began=None):
        if began is not None:
            open(began, "w").close()
        try:
            await self.event.wait()
        except asyncio.CancelledError:
            self.ended.append(what)
            raise
        return what

    def go(self):
        self.event.set()
        return asyncio.get_running_loop() is self.loop

    async def raises(self):
        raise ValueError("of a coroutine")

    def cancelled(self):
        return self.ended


class Broken:
    def __init__(self):
        raise LookupError("no such table")


class OnceBroken:
    """Its first constructor dies with its process, after it has left a note."""

    def __init__(self, path):
        if not os.path.exists(path):
            open(path, "w").close()
            os._exit(3)

    def there(self):
        return True


class OnceUnreachable:
    """Its first constructor finds no server."""

    def __init__(self, path):
        if not os.path.exists(path):
            open(path, "w").close()
            raise ConnectionRefusedError("no server yet")

    def there(self):
        return True


class Callable_:
    def __call__(self, value):
        return value + 1
