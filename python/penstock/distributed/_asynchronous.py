"""What makes a client asynchronous: its answers are awaited, in the event loop of its user or in one of its own."""
import asyncio
import functools
import threading
from typing import Any, Callable, Generator, Optional

from penstock.distributed._future import seconds


class LoopThread:
    """An event loop on a thread of its own, for coroutines that a synchronous program hands over by `sync`."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True, name="penstock-loop")
        self.thread.start()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def is_here(self):
        return threading.current_thread() is self.thread

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        if not self.is_here():
            self.thread.join()


class Asynchronous:
    """Of a `Client`."""

    _is_asynchronous = False
    _loop_thread: Optional[LoopThread] = None

    @property
    def asynchronous(self) -> bool:
        """Whether answers are awaited: the client was opened so, or a coroutine that was given to `sync` asks."""
        return self._is_asynchronous or (self._loop_thread is not None and self._loop_thread.is_here())

    @property
    def loop(self) -> Any:
        """The event loop in which coroutines run that are given to `sync`."""
        if self._is_asynchronous:
            return asyncio.get_event_loop()
        return self._own_loop().loop

    def _own_loop(self):
        with self._lock:
            if self._loop_thread is None:
                self._loop_thread = LoopThread()
            return self._loop_thread

    def _end_loop(self):
        thread, self._loop_thread = self._loop_thread, None
        if thread is not None:
            thread.end()

    def sync(self, func: Callable[..., Any], *args: Any, asynchronous: Optional[bool] = None,
             callback_timeout: Any = None,
             **kwargs: Any) -> Any:
        """Runs a function that returns a coroutine, and waits for it; where answers are awaited, returns the
        coroutine."""
        if self._as_later(asynchronous):
            return func(*args, **kwargs)

        async def call():
            result = func(*args, **kwargs)
            return await result if hasattr(result, "__await__") else result
        running = asyncio.run_coroutine_threadsafe(call(), self._own_loop().loop)
        try:
            with self._waiting():
                return running.result(seconds(callback_timeout))
        except BaseException:
            running.cancel()
            raise

    def _as_later(self, asynchronous):
        return self.asynchronous if asynchronous is None else asynchronous

    def _answer(self, value, asynchronous):
        """What is known at once, as it is expected."""
        return _Known(value) if self._as_later(asynchronous) else value

    def _done_already(self):
        return _Known(None)

    def _now_or_later(self, function, futures, asynchronous):
        """`function()` once these have ended."""
        return self._after(function, futures) if self._as_later(asynchronous) else function()

    async def _after(self, function, futures):
        from penstock.distributed._waiting import ended
        await ended(futures)
        return await asyncio.get_running_loop().run_in_executor(None, function)

    def _ask_now_or_later(self, function, *args):
        if not self.asynchronous:
            return function(*args)

        async def later():
            return await asyncio.get_running_loop().run_in_executor(None, functools.partial(function, *args))
        return later()

    def __await__(self) -> Generator[Any, None, Any]:
        """An asynchronous client is open when it is made."""
        return _Known(self).__await__()

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(None, functools.partial(type(self)._close_now, self))


class _Known:
    """An answer that need not be awaited, and may be: what it stands for is done already."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __await__(self):
        return self.value
        yield
