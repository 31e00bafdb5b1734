"""How a value is made again after it and the values that it was made of have been freed: the calls that led to it.

A future keeps its call, and an ended call keeps the calls of its inputs, not their futures: a value is freed with its own
future, however many others were made of it. `lineage` of the client bounds how many generations of calls are kept."""
import weakref

from penstock.errors import ResultLost

LINEAGE = 1000  # Generations of calls before a value that are kept, if the client does not say.
FORGOTTEN = object()  # In place of a call beyond that.


def generations(lineage):
    """How many generations are kept; None: all."""
    if lineage == "full":
        return None
    if lineage == "none":
        return 0
    if isinstance(lineage, int) and not isinstance(lineage, bool) and lineage >= 0:
        return lineage
    raise ValueError(f"lineage is 'full', 'none' or a number of generations, not {lineage!r}")


def settle(call, kept):
    """The call has its value: of its inputs only their calls are kept from now on. What was scattered has no call, so its
    future stays. `kept`: see `generations`."""
    if call.origins is not None:
        return
    call.origins = [_origin_of(other) for other in call.inputs]
    call.inputs = ()
    call.forget_values()
    call.generation = 1 + max((origin.generation for origin in call.origins if _is_call(origin)), default=0)
    if kept is not None and (kept < 2 or call.generation % (kept // 2) == 0):
        _forget_before(call, call.generation - kept)


def _origin_of(future):
    return future if future._call is None else future._call


def _is_call(origin):
    return hasattr(origin, "origins")  # Of two kinds, `Call` and `GraphCall`.


def _forget_before(call, first):
    """Cuts what is older than generation `first` off from the call. Each call is looked at once for each half of what is
    kept, so that a call costs constant time in the mean."""
    below = [call]
    while below:
        at = below.pop()
        if at.cut_before >= first:
            continue
        at.cut_before = first
        for place, origin in enumerate(at.origins or ()):
            if not _is_call(origin):
                continue
            if origin.generation < first:
                at.origins[place] = FORGOTTEN
            else:
                below.append(origin)


def _holder_of(call):
    """The future that has its value, or will; one that has failed says so to its readers."""
    future = call.future()
    if future is None or not future.done() or future._batch is not None or future._loaded:
        return future
    return future if future.cancelled() or future._exception is not None else None


def missing(call, most, held=None):
    """Calls whose values this one reads, or those read, and that nobody holds any more, in an order in which they can run.
    None: one of them was forgotten, or has run `most` times for this reason. Futures of the others come to `held`, as
    another thread may let them go at any time."""
    order, seen, below = [], set(), [(call, False)]
    while below:
        at, is_complete = below.pop()
        if is_complete:
            order.append(at)
        elif id(at) not in seen:
            seen.add(id(at))
            below.append((at, True))
            for origin in at.origins or ():
                if origin is FORGOTTEN:
                    return None
                holder = _holder_of(origin) if _is_call(origin) else origin
                if holder is not None:
                    if held is not None:
                        held.append(holder)
                    continue
                if origin.made_again >= most:
                    return None
                below.append((origin, False))
    return order[:-1]


def recall(call):
    """The call is to run once more: its inputs are futures again. REQUIRES: nothing is `missing`."""
    if call.origins is None:
        return
    call.inputs = [origin.future() if _is_call(origin) else origin for origin in call.origins]
    call.origins = None


def put_missing_again(client, call, most, make_future):
    """Has the calls run once more whose values this one reads and that are gone. REQUIRES: the client's lock."""
    held = []
    calls = missing(call, most, held)
    if calls is None:
        raise ResultLost("cannot be run again: what it was made of is gone, and how that was made as well",
                         remedy="keep its inputs, or open the client with lineage='full'")
    for one in calls:
        future = make_future(one)
        one.future = weakref.ref(future)
        one.made_again += 1
        recall(one)
        one.unsent = future
        client._enqueue(one, future)
        held.append(future)  # Until those that read it do so.
    recall(call)
