"""Functions that Dask's tests take from distributed.utils_test: importable in runners, too."""
import asyncio
import contextlib
import io
import logging
import random
import time


def inc(x):
    return x + 1


def dec(x):
    return x - 1


def double(x):
    return x * 2


def div(x, y):
    return x / y


def throws(x):
    raise RuntimeError("hello!")


def slowinc(x, delay=0.02):
    time.sleep(delay)
    return x + 1


def slowdec(x, delay=0.02):
    time.sleep(delay)
    return x - 1


def slowadd(x, y, delay=0.02):
    time.sleep(delay)
    return x + y


def randominc(x, scale=1):
    time.sleep(random.random() * scale)
    return x + 1


async def asyncinc(x, delay=0.02):
    await asyncio.sleep(delay)
    return x + 1


def wait_for(predicate, timeout, fail_func=None, period=0.05):
    late = time.monotonic() + timeout
    while not predicate():
        time.sleep(period)
        assert time.monotonic() < late, "the condition did not come true"


async def async_wait_for(predicate, timeout, fail_func=None, period=0.05):
    late = time.monotonic() + timeout
    while not predicate():
        await asyncio.sleep(period)
        assert time.monotonic() < late, "the condition did not come true"


@contextlib.contextmanager
def captured_logger(logger, level=logging.INFO, propagate=None):
    logger = logging.getLogger(logger) if isinstance(logger, str) else logger
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    try:
        yield stream
    finally:
        logger.removeHandler(handler)
