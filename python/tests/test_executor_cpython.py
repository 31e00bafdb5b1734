"""CPython's own tests of executors (3.12 and later have them as mixins), run on a client's executor.

Left out are those that name a class of concurrent.futures in a script of theirs (the end of the interpreter), and the one of
`max_workers`, which a cluster has not."""
# tidy: foreign-file Executor, executor, worker
import unittest

import pytest

reason = "this Python has no test.test_concurrent_futures of 3.12 or later"
theirs = pytest.importorskip("test.test_concurrent_futures.executor", reason=reason)
as_completed = pytest.importorskip("test.test_concurrent_futures.test_as_completed", reason=reason)
shutdown = pytest.importorskip("test.test_concurrent_futures.test_shutdown", reason=reason)
waiting = pytest.importorskip("test.test_concurrent_futures.test_wait", reason=reason)


class OnCluster:
    worker_count = 2  # Slots of the client.

    @pytest.fixture(autouse=True)
    def prepare(self, client):
        self.executor = client.get_executor()
        yield
        self.executor.shutdown()


class TestExecutor(OnCluster, theirs.ExecutorTest, unittest.TestCase):
    test_max_workers_negative = None


class TestAsCompleted(OnCluster, as_completed.AsCompletedTests, unittest.TestCase):
    """All of them."""


class TestWait(OnCluster, waiting.WaitTests, unittest.TestCase):
    """All of them."""


class TestShutdown(OnCluster, unittest.TestCase):
    test_run_after_shutdown = shutdown.ExecutorShutdownTest.test_run_after_shutdown
    test_hang_issue12364 = shutdown.ExecutorShutdownTest.test_hang_issue12364
    test_cancel_futures = shutdown.ExecutorShutdownTest.test_cancel_futures
