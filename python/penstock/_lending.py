"""Large bytes that batch after batch of calls has: kept on the cluster as a job of their own, which the batches borrow from,
so that they are sent once."""
import time
from collections import OrderedDict, deque

from penstock import _graph
from penstock.errors import PenstockError

LENT_MAX = 64               # Of a client; the one unused for longest goes,
LENT_BYTES_MAX = 256 << 20  # also if they are more than this together, but for the one that was used last,
LENT_S = 30                 # and one that no batch has had for so long.
SEEN_MAX = 4096             # So many that were sent once are remembered, by a number of 64 bits.


class Lent:
    __slots__ = ("job", "identity", "subtask", "used")

    def __init__(self, job, identity, subtask):
        self.job, self.identity, self.subtask, self.used = job, identity, subtask, 0.0


def _note(numbers, one):
    numbers[one] = True
    while len(numbers) > SEEN_MAX:
        numbers.popitem(last=False)


class Lending:
    """Of one client; under its lock. Arguments are lent when they come for the second time: most come once, and would only
    take memory of the cluster. Files are lent at once."""

    def __init__(self):
        self._lent = OrderedDict()  # By the bytes, which may have to be sent again; the one used last is last.
        self._bytes = 0
        self._seen = OrderedDict()
        self._alone = OrderedDict()  # Those that this cluster could not lend.
        self._over = deque()  # Jobs to be released.

    def number_of(self, client, graph, shared):
        """The subtask of `graph` that makes these bytes, or borrows them."""
        lent = self._lent.get(shared.datum) or self._lend(client, shared)
        if lent is None:
            return graph.literal(shared.datum)
        lent.used = time.monotonic()
        self._lent.move_to_end(shared.datum)
        number = graph.borrow(lent.job, lent.identity, lent.subtask)
        graph.borrowed[number] = (shared, None)
        return number

    def _lend(self, client, shared):
        key = hash(shared.datum)
        often = shared.often or key in self._seen
        _note(self._seen, key)
        if key in self._alone or not often:
            return None
        graph = _graph.GraphColumns(client._command)
        subtask = graph.literal(shared.datum)
        graph.want([subtask])
        try:
            made = client._submit_columns(graph)
        except PenstockError:  # It is told to those calls that have them.
            return None
        lent = self._lent[shared.datum] = Lent(made.job, made.identity, subtask)
        self._bytes += len(shared.datum)
        while len(self._lent) > LENT_MAX or (self._bytes > LENT_BYTES_MAX and len(self._lent) > 1):
            self._end(next(iter(self._lent)))
        return lent

    def forget(self, shared):
        """They could not be borrowed: they go with each batch from now on."""
        _note(self._alone, hash(shared.datum))
        self._end(shared.datum)

    def _end(self, datum):
        lent = self._lent.pop(datum, None)
        if lent is not None:
            self._bytes -= len(datum)
            self._over.append(lent.job)

    def __bool__(self):
        return bool(self._over or self._lent)

    def over(self, now):
        """Jobs that are to be released. Who borrows from them still has them until its own end."""
        while self._lent:
            datum, lent = next(iter(self._lent.items()))
            if now - lent.used <= LENT_S:
                break
            self._end(datum)
        while self._over:
            yield self._over.popleft()

    def jobs(self):
        """All jobs that are lent, or are to be released, as seen at this moment; also without the lock."""
        return [*(lent.job for lent in list(self._lent.values())), *self._over]

    def clear(self):
        self.__init__()
