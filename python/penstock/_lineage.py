"""How a value is made again after it and the values that it was made of have been freed: the calls that led to it.

A future keeps its call, and an ended call keeps the calls of its inputs, not their futures: a value is freed with its own
future, however many others were made of it. `lineage` of the client bounds how many generations of calls are kept; of
those whose own futures are gone, the oldest are forgotten before they keep too many bytes."""
import weakref
from collections import deque

from penstock.errors import ResultLost

LINEAGE = 1000  # Generations of calls before a value that are kept, if the client does not say.
LINEAGE_BYTES_MAX = 256 << 20  # Of large arguments and scattered objects that only lineage keeps, in this process.

UNKNOWN = "what it was made of is gone, and how that was made is beyond the client's lineage"
REMEDY = ("keep futures of what it is made of; Client(lineage='full') keeps how that is made as well, with large arguments up to "
          f"{LINEAGE_BYTES_MAX >> 20} MiB together")


class Forgotten:
    """In place of a call beyond these. Its value is used where its future is still held, or is to come once more."""

    __slots__ = ("call",)
    generation = 0

    def __init__(self, call=None):
        self.call = None if call is None else weakref.ref(call)

    def future(self):
        call = None if self.call is None else self.call()
        return None if call is None else call.future()


class Given:
    """In place of the call of a scattered object: its bytes."""

    __slots__ = ("future", "datum", "origins", "generation", "cut_at", "made_again", "__weakref__")
    shared = True  # It has large bytes, as a `Call` with such arguments has.
    is_plain = staticmethod(bool)  # False.

    def __init__(self, future, datum):
        self.future, self.datum, self.origins = weakref.ref(future), datum, ()
        self.generation = self.cut_at = self.made_again = 0

    def large_bytes(self):
        return len(self.datum)

    def forget(self):
        self.datum, self.origins = None, [Forgotten()]


class Ancestors:
    """Calls that only lineage keeps and that have large bytes. REQUIRES: the client's lock."""

    def __init__(self):
        self._kept, self._bytes = deque(), 0  # References with their bytes, the oldest first.

    def add(self, reference):
        """Its own future is gone."""
        call = reference()
        if call is None:
            return
        self._kept.append((reference, call.large_bytes()))
        self._bytes += call.large_bytes()
        if self._bytes <= LINEAGE_BYTES_MAX:
            return
        self._kept = deque(each for each in self._kept if each[0]() is not None)
        self._bytes = sum(size for _, size in self._kept)
        while self._bytes > LINEAGE_BYTES_MAX:
            reference, size = self._kept.popleft()
            self._bytes -= size
            call = reference()
            # The value may have been made again meanwhile, and a scattered object may have left its future.
            future = None if call is None else call.future()
            if call is not None and (future is None or recipe_of(future) is not call):
                call.forget()


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
    """The call has left, or has its value: of its inputs only their calls are kept from now on. `kept`: see
    `generations`."""
    if call.origins is None:
        call.origins = [recipe_of(other) or Forgotten() for other in call.inputs] or ()
        call.inputs = ()
        call.forget_values()
    if call.generation > 0:
        return
    call.generation = 1 + max([origin.generation for origin in call.origins], default=0)
    if kept is not None and call.origins and (kept < 2 or call.generation % (kept // 2) == 0):
        _forget_before(call, kept)


def succeeded(future, batch, client):
    """The call of a future has left; a scattered object of an embedded client is in this process, where the batch has it:
    what is lost there would be lost here, too."""
    recipe = future._recipe
    if isinstance(recipe, Given):
        if client.address is None and client._generations is not None:
            future._leave_to(batch)
    elif recipe is not None:
        settle(recipe, client._generations)


def recipe_of(future):
    """How its value can be had again; None: it cannot."""
    return future._call or future._given


def _forget_before(call, kept):
    """Cuts what is more than so many generations before the call off from it. Each call is looked at once for each half of
    what is kept, so that a call costs constant time in the mean."""
    level = [call]
    for before in range(kept + 1):
        older = []
        for at in level:
            if at.cut_at >= call.generation:
                continue
            at.cut_at = call.generation
            if before == kept:
                at.origins = [origin if isinstance(origin, Forgotten) else Forgotten(origin) for origin in at.origins or ()]
            else:
                older += [origin for origin in at.origins or () if not isinstance(origin, Forgotten)]
        level = older


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
                holder = _holder_of(origin)
                if holder is not None:
                    if held is not None:
                        held.append(holder)
                    continue
                if isinstance(origin, Forgotten) or origin.made_again >= most:
                    return None
                below.append((origin, False))
    return order[:-1]


def recall(call):
    """The call is to run once more: its inputs are futures again. REQUIRES: nothing is `missing`."""
    if call.origins is None:
        return
    call.inputs = [origin.future() for origin in call.origins]
    call.origins = None


def put_missing_again(client, call, most, make_future):
    """Has the calls run once more whose values this one reads and that are gone. REQUIRES: the client's lock."""
    held = []
    calls = missing(call, most, held)
    if calls is None:
        raise ResultLost(f"cannot be run again: {UNKNOWN}", remedy=REMEDY)
    for one in calls:
        future = make_future(one)
        one.made_again += 1
        held.append(future)  # Until those that read it do so.
        if isinstance(one, Given):
            continue
        recall(one)
        one.unsent = future
        client._enqueue(one, future)
    recall(call)
