"""Waiting for several futures."""
import concurrent.futures
import sys
import time
from typing import Any, Iterable, Iterator, List, Optional, Set, TextIO, Tuple, Union

from penstock import _graph
from penstock._futures import Future

ALL_COMPLETED, FIRST_COMPLETED = concurrent.futures.ALL_COMPLETED, concurrent.futures.FIRST_COMPLETED
FIRST_EXCEPTION = concurrent.futures.FIRST_EXCEPTION


def _send(futures):
    for future in futures:
        if not isinstance(future, concurrent.futures.Future):
            raise TypeError(f"{future!r} is no future")
    for client in {id(future.client): future.client for future in futures if isinstance(future, Future)}.values():
        client._flush()


def as_completed(futures: Iterable[Future], timeout: Optional[float] = None, with_results: bool = False) -> Iterator[Any]:
    """The futures as they end, the first first. `with_results`: (future, its value); raises what the subtask has raised."""
    futures, timeout = list(futures), _graph.seconds(timeout)
    _send(futures)
    ended = concurrent.futures.as_completed(futures, timeout)
    return ((future, future.result()) for future in ended) if with_results else ended


def fire_and_forget(futures: Union[Future, Iterable[Future]]) -> None:
    """Sends these at once. They run, whether their futures are kept or not, for as long as their client is open; what is to
    outlast it is a job: `client.graph()`, `submit(name=...)`, `detach()`."""
    _send([futures] if isinstance(futures, Future) else list(futures))


def wait(futures: Union[Future, Iterable[Future]], timeout: Optional[float] = None,
         return_when: str = ALL_COMPLETED) -> Tuple[Set[Future], Set[Future]]:
    """(done, not_done); `return_when` is one of the constants of concurrent.futures."""
    futures, timeout = [futures] if isinstance(futures, Future) else list(futures), _graph.seconds(timeout)
    _send(futures)
    return concurrent.futures.wait(futures, timeout, return_when)


def progress(futures: Iterable[Future], description: str = "", file: Optional[TextIO] = None) -> List[Future]:
    """Shows a bar until all have ended: tqdm's, else rich's, else a plain one. The futures."""
    futures = list(futures)
    bar = _bar(len(futures), description, file or sys.stderr)
    try:
        for _ in as_completed(futures):
            bar.update(1)
    finally:
        bar.close()
    return futures


def _bar(total, description, file):
    try:
        from tqdm.auto import tqdm
        return tqdm(total=total, desc=description or None, file=file)
    except ImportError:
        pass
    try:
        return _RichBar(total, description)
    except ImportError:
        return _PlainBar(total, description, file)


class _RichBar:
    def __init__(self, total, description):
        from rich.progress import Progress
        self.progress = Progress()
        self.line = self.progress.add_task(description or "subtasks", total=total)  # tidy: foreign
        self.progress.start()

    def update(self, count):
        self.progress.update(self.line, advance=count)

    def close(self):
        self.progress.stop()


class _PlainBar:
    WIDTH, EVERY_S = 40, 0.1

    def __init__(self, total, description, file):
        self.total, self.ended, self.description, self.file, self.shown = total, 0, description, file, 0.0

    def update(self, count):
        self.ended += count
        if time.monotonic() - self.shown > self.EVERY_S:
            self.show()

    def show(self):
        self.shown = time.monotonic()
        filled = self.WIDTH if not self.total else self.WIDTH * self.ended // self.total
        line = f"\r{self.description} [{'#' * filled}{'.' * (self.WIDTH - filled)}] {self.ended}/{self.total}"
        self.file.write(line)
        self.file.flush()

    def close(self):
        self.show()
        self.file.write("\n")
