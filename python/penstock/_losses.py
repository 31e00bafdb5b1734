"""Values that are gone with their worker after their job had ended: their calls are made again, and those that were to read
them after these. A job that still runs makes again what it loses; that is the supervisor's."""
import time

from penstock import _lineage, _wire
from penstock._light import LightFuture
from penstock.errors import ConnectionFailed, ResultLost, lost_loan

MADE_AGAIN_MAX = 8  # As often the same call is made again; then its value is `ResultLost`.


def values_of(client, futures, deadline=None):
    """The values of futures that have succeeded; those that are lost are made again."""
    in_vain = 0
    while True:
        try:
            return client._bring(futures)
        except (ResultLost, ConnectionFailed) as error:
            if client._runs_callbacks():
                raise
            again = make_lost_again(client, futures)
            in_vain += again == 0  # They are there now, by another thread.
            if again is None:
                raise next((told for told in (explained(error, future) for future in futures) if told is not error), error)
            if in_vain > MADE_AGAIN_MAX:
                raise
        for future in futures:
            future._about_to_wait()
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            LightFuture.result(future, left)


def make_lost_again(client, futures):
    """How many have been lost; None if one of them cannot be had again."""
    suspects = [(future, future._batch) for future in futures]
    suspects = [(future, batch) for future, batch in suspects if batch is None or not future.done() or is_lost(client, future)]
    with client._lock:  # All at once, so that one graph has them and what several of them read is made again once.
        lost = [(future, batch) for future, batch in suspects
                if future.done() and not future._loaded and future._batch is batch]
        if lost and (any(batch is None for _, batch in lost) or not make_again(client, [future for future, _ in lost])):
            return None
    return len(suspects)


def is_lost(client, future):
    try:
        client._bring([future])  # So it is here, and needs not be brought once more.
    except (ResultLost, ConnectionFailed):
        return True
    return False


def regain(client, borrowed):
    """Makes a value again that a graph has borrowed, with the batch that lent it, and waits; False: it cannot."""
    if borrowed is None:
        return False
    future, lender = borrowed
    with client._lock:
        if future._batch is lender and not make_again(client, [future]):
            return False
    return future._succeeded()


def may_be_made(future):
    call = future._call
    return call is not None and call.made_again < MADE_AGAIN_MAX and _lineage.missing(call, MADE_AGAIN_MAX) is not None


def explained(error, future):
    """The loss of its value with the reason why it is not made again; without such a reason, the error as it is."""
    call = getattr(future, "_call", None)
    if call is None or not isinstance(error, (ResultLost, ConnectionFailed)) or may_be_made(future):
        return error
    if call.made_again >= MADE_AGAIN_MAX:
        why, remedy = f"it was made again {MADE_AGAIN_MAX} times", error.remedy
    else:
        why, remedy = f"it is not made again, for {_lineage.UNKNOWN}", _lineage.REMEDY
    told = ResultLost(f"{error.message}; {why}", subject=future.key, remedy=remedy, code=error.code)
    told.__cause__ = error.__cause__
    return told


def make_again(client, lost, futures=()):
    """Runs the calls of these once more: of `lost`, whose values are gone, and then of `futures`, which had not ended.
    False, and nothing is done, if one of `lost` cannot be had again. REQUIRES: the caller holds the client's lock."""
    # A value that is here may have been written to since: it is sent once more only if it cannot be made.
    made = [other for other in lost if may_be_made(other) or not other._loaded]
    if client._closing or not all(map(may_be_made, made)):
        return False
    if any(_lineage.missing(future._call, MADE_AGAIN_MAX) is None for future in futures):
        return False
    for other in lost:
        if other not in made:
            other._free()
    for other in made:
        other._call.made_again += 1
        other._forget_callbacks()
        client._put_again(other)
    for future in futures:
        client._put_again(future)
    return True


def refused(client, batch, owners, error):
    """A graph is refused whole. If what it borrows is lost, that is made again first."""
    numbered = {number: client._future_again(call) for number, call in batch.calls.items()}
    for number, future in owners.items():
        future._leave_batch()
        if not future.done():
            numbered[number] = future
    calls = [future for _, future in sorted(numbered.items())]
    other, lender = batch.borrowed.get(lost_loan(error), (None, None))
    lost = []
    if isinstance(other, _wire.Shared):
        client._lending.forget(other)  # It is sent once more, with these.
    elif other is not None and other._batch is lender:
        lost = [other]
    if other is None or not make_again(client, lost, calls):
        for future in calls:
            future._fail(error if other is None else explained(error, other))


def put_down(batch, index, error):
    """Notes a failure that is the loss of an input; whether it was one."""
    future, loan = batch.future(index), batch.borrowed.get(lost_loan(error))
    if index in batch.borrowed:
        batch.lost[id(batch.borrowed[index][0])] = error
    elif index in batch.shared:
        batch.lost[id(batch.shared[index])] = error
    elif future is not None and future.done() and not future.cancelled():  # It holds what the client has given.
        batch.lost[id(future)] = error
    elif loan is not None:
        batch.lost[id(loan[0])] = error
    else:
        return False
    return True


def run_again(client, batch, indices):
    """Of what has ended without a result: has that run once more which lacked a lost value, after this one, in the order in
    which it was submitted. The others."""
    lost, again = {}, {}
    for index in indices if batch.lost else ():
        future, call = batch.future(index), batch.calls.get(index)
        if call is None and (future is None or future.done()):
            continue
        reads = batch.inputs[index]
        those = [other for other in reads if id(other) in batch.lost and not isinstance(other, int)]
        if those or any(other in again or other in batch.run_again for other in reads if isinstance(other, int)):
            lost.update((id(other), other) for other in those)
            again[index] = future or client._future_again(call)
    # Large bytes of arguments are sent again if they were borrowed; else they are only lost to a job that could not hold them.
    lent = [other for other, _ in batch.borrowed.values() if isinstance(other, _wire.Shared) and id(other) in lost]
    regainable = all(other in lent if isinstance(other, _wire.Shared) else isinstance(batch.lost[one], ResultLost)
                     for one, other in lost.items())
    if not again or not regainable:
        return indices
    for other in lent:
        client._lending.forget(other)
    made = [other for other in lost.values() if not isinstance(other, _wire.Shared) and batch.reads(other)]
    if not make_again(client, made, again.values()):
        return indices
    batch.run_again.update(again)  # Their readers may be told of later.
    return [index for index in indices if index not in again]
