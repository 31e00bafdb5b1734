"""What a client asks its supervisor."""
# tidy: foreign-file scheduler
import gc

import numpy
import pytest
from functions import until
from test_cluster import cluster  # noqa: F401

from penstock import Client, errors


def total(rows, what="bytes"):
    return sum(row[what] for row in rows)


def test_memory_says_what_values_take_and_for_whom():
    with Client(slots=2) as client:
        first, second = client.map(numpy.ones, [100_000, 200_000])
        assert second.exception(60) is None and first.exception(60) is None
        rows = client.memory()
        assert [row["outputs"] for row in rows] == [2]
        assert 2_400_000 < total(rows, "for_client") == total(rows) < 2_500_000
        assert total(client.memory(job=first._batch.job)) == total(rows)
        assert total(client.memory(by="worker")) == total(rows)
        assert total(client.memory(by="owner")) == total(rows)
        assert total(client.memory(by="template")) == total(rows)
        explained = client.explain_data(second)
        assert explained["for_client"] and explained["state"] == "kept" and explained["bytes"] > 1_600_000
        del first
        gc.collect()
        until(lambda: total(client.memory()) < 1_700_000)
        with pytest.raises(errors.PenstockError, match="none of job, worker"):
            client.memory(by="colour")


def test_a_question_has_the_answer_of_the_command(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        until(lambda: {row["name"] for row in client.ask("workers")} == {"w1", "w2"})
        with pytest.raises(errors.PenstockError, match="is not known"):
            client.ask("job", "nobody's")
        assert client.ask("drain", "w2")["draining"] is True
