"""Xorbits on a cluster of processes that lose a worker."""
import pytest

pytest.importorskip("xorbits", reason="xorbits is not installed: python/tests/with_xorbits")

import numpy  # noqa: E402
import xorbits._mars.dataframe as md  # noqa: E402
import xorbits._mars.tensor as mt  # noqa: E402
from test_cluster import Cluster, await_workers  # noqa: E402

import penstock  # noqa: E402
import penstock.xorbits  # noqa: E402


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    with penstock.Client(made.address) as client:
        await_workers(client, "w1", "w2")
        penstock.xorbits.init(client)
        yield made
        penstock.xorbits.shutdown()
    made.end()


def test_a_value_that_is_lost_with_its_worker_is_made_again(cluster):
    given = numpy.random.default_rng(4).random(100_000)
    tensor = (mt.tensor(given, chunk_size=25_000) + 1).execute()
    frame = md.DataFrame({"key": given > 0.5, "value": given}, chunk_size=25_000)
    sums = frame.groupby("key").agg({"value": "sum"}, method="shuffle").execute()
    cluster.workers[0].kill()
    cluster.workers[0].wait(30)
    numpy.testing.assert_array_equal(tensor.fetch(), given + 1)
    numpy.testing.assert_array_equal((tensor * 2).execute().fetch(), (given + 1) * 2)
    assert sums.fetch()["value"].sum() == pytest.approx(given.sum())
