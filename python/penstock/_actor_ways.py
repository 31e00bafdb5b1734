"""The ways in which an actor runs its methods: one after the other, on several threads, or on an event loop."""
import asyncio
import inspect
import threading
from collections import deque
from queue import SimpleQueue
from typing import Any, Callable, Dict, Optional, Tuple

from penstock import _actor_wire as wire

COROUTINES_MAX = 1000  # Under way at once, unless max_concurrency says otherwise.


def has_coroutines(kind: type) -> bool:
    """Whether a method of this class is an `async def`."""
    return any(inspect.iscoroutinefunction(getattr(kind, name, None)) or inspect.isasyncgenfunction(getattr(kind, name, None))
               for name in dir(kind))


def way_of(host: Any, kind: type, max_concurrency: Optional[int]) -> "Serial":
    """How an actor of this class runs its methods."""
    if has_coroutines(kind):
        return Loop(host, max_concurrency or COROUTINES_MAX)
    return Serial(host, 1) if max_concurrency in (None, 1) else Threads(host, max_concurrency)


class Serial:
    """One method at a time, on the main thread, where its `__init__` ran: libraries that belong to a thread find the same one."""

    instance: Any = None

    def __init__(self, host: Any, most: int):
        self.host, self.most = host, most
        self.put, self._next = self._queue()

    def _queue(self):
        queue: "SimpleQueue[Any]" = SimpleQueue()
        return queue.put, queue.get

    def run(self, make: Callable[[], Any], ready: Callable[[], None]) -> None:
        """Until the call is cancelled: its interrupt is raised on this thread."""
        self.instance = make()
        ready()
        while True:
            self.serve(self._next())

    def serve(self, frame: Any) -> None:
        """Carries out one call."""
        if frame.is_cancelled():
            return frame.connection.drop(frame)
        try:
            value, what = self.called(frame)
        except BaseException as error:
            if self.host.is_interrupted():
                raise
            frame.connection.fail(frame, error)
        else:
            frame.connection.answer(frame, value, what)

    def called(self, frame: Any) -> Tuple[Any, Any]:
        """What the method has returned, and what names it."""
        name, arguments, keywords = self.host.call_of(frame)
        if frame.kind == wire.READ:
            return getattr(self.instance, name), f"attribute {name}"
        method = getattr(self.instance, name)
        return method(*arguments, **keywords), method

    def cancel(self, connection: Any, number: int) -> None:
        """The caller has given up a call; one that has begun goes on."""

    def is_busy(self) -> bool:
        """Whether a method runs on a thread that an interrupt does not reach."""
        return False


class Threads(Serial):
    """So many methods at once, each on a thread; they begin in the order in which they came."""

    def __init__(self, host: Any, most: int):
        super().__init__(host, most)
        self._busy, self._lock, self._over = 0, threading.Lock(), threading.Event()

    def run(self, make: Callable[[], Any], ready: Callable[[], None]) -> None:
        self.instance = make()
        for number in range(self.most):
            threading.Thread(target=self._work, daemon=True, name=f"penstock-actor-{number}").start()
        ready()
        try:
            self._over.wait()
        finally:
            for _ in range(self.most):
                self.put(None)

    def _work(self):
        while True:
            frame = self._next()
            if frame is None:
                return
            with self._lock:
                self._busy += 1
            try:
                self.serve(frame)
            finally:
                with self._lock:
                    self._busy -= 1

    def serve(self, frame: Any) -> None:
        if frame.is_cancelled():
            return frame.connection.drop(frame)
        try:
            value, what = self.called(frame)
        except BaseException as error:  # Interrupts come to the main thread.
            frame.connection.fail(frame, error)
        else:
            frame.connection.answer(frame, value, what)

    def is_busy(self) -> bool:
        return self._busy > 0


class Loop(Serial):
    """An event loop on the main thread: coroutines take turns at their awaits, other methods and `__init__` run in between."""

    def __init__(self, host: Any, most: int):
        super().__init__(host, most)
        self._under_way: Dict[Tuple[Any, int], "asyncio.Future[None]"] = {}
        self._waiting: "deque[Any]" = deque()
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    def _queue(self):
        return self._put, None

    def _put(self, frame):
        loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._begin, frame)
            except RuntimeError:  # It is closed: the actor ends.
                pass

    def run(self, make: Callable[[], Any], ready: Callable[[], None]) -> None:
        async def serve():
            self._loop = asyncio.get_running_loop()
            self.instance = make()
            ready()
            await self._loop.create_future()
        asyncio.run(serve())

    def _begin(self, frame):
        if len(self._under_way) >= self.most:
            self._waiting.append(frame)
            return
        if frame.is_cancelled():
            return frame.connection.drop(frame)
        try:
            value, what = self.called(frame)
        except BaseException as error:
            if self.host.is_interrupted():
                raise
            return frame.connection.fail(frame, error)
        if not inspect.isawaitable(value) or frame.kind == wire.READ:
            return frame.connection.answer(frame, value, what)
        key = frame.connection, frame.number
        self._under_way[key] = asyncio.ensure_future(self._finish(key, frame, value, what))

    async def _finish(self, key, frame, value, what):
        try:
            result = await value
        except BaseException as error:
            if self.host.is_interrupted():
                raise
            frame.connection.fail(frame, error)
        else:
            frame.connection.answer(frame, result, what)
        finally:
            del self._under_way[key]
            while self._waiting and len(self._under_way) < self.most:
                self._begin(self._waiting.popleft())

    def cancel(self, connection: Any, number: int) -> None:
        def end():
            running = self._under_way.get((connection, number))
            if running is not None:
                running.cancel()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(end)
