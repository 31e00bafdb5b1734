"""Results whose last holder has died after their job had ended: made again by what made them."""
import concurrent.futures
import time

from penstock.errors import ResultLost

REMAKES_MAX = 3  # As often the same result is made again; then it is `ResultLost`.


def values_of(client, futures, bring, deadline):
    """The values of futures that have succeeded, by `bring`; those that are lost are made again."""
    while True:
        try:
            return bring(futures)
        except ResultLost:
            stand_ins = make_all_again(client, futures, bring)
        for stand_in in stand_ins:
            stand_in._about_to_wait()
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            concurrent.futures.Future.result(stand_in, left)


def make_all_again(client, futures, bring):
    """Futures for those of these whose values cannot be had."""
    losses = [(future, loss_of(future, bring)) for future in futures]
    return [make_again(client, future, error) for future, error in losses if error is not None]


def loss_of(future, bring):
    """Why its value cannot be had; None if it can."""
    try:
        bring([future])
    except ResultLost as error:
        return error
    return None


def make_again(client, future, error):
    """A future of the same call, whose result becomes that of `future`; raises `error` if there is none."""
    with client._lock:
        stand_in, call = future._stand_in, future._call
        if stand_in is not None and not stand_in.done():
            return stand_in
        if stand_in is not None and not stand_in.cancelled():
            failed = concurrent.futures.Future.exception(stand_in)
            if failed is not None:  # It was made once, and cannot be made again.
                raise failed
        if call is None or future._batch is None or future._remakes >= REMAKES_MAX:
            raise error
        future._remakes += 1
        stand_in = future._stand_in = type(future)(client, future.key)
        stand_in.add_done_callback(lambda _: adopt(client, future, stand_in))
        client._enqueue(call.again(stand_in), stand_in)
        return stand_in


def adopt(client, future, stand_in):
    with client._lock:
        if future._batch is None or stand_in.cancelled() or concurrent.futures.Future.exception(stand_in) is not None:
            return
        future._batch.drop()
        future._stand_in = None
        future._batch, future._index, stand_in._batch = stand_in._batch, stand_in._index, None
