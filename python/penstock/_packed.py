"""Calls that have left, in a few arrays: hundreds of thousands of futures are held at once, and each keeps how to run it once
more."""
import weakref
from array import array

CALLS_MIN = 16      # Of a batch: fewer take less as they are.
PAYLOAD_MAX = 256   # Bytes of a call's arguments; they stay until the last future of the batch is gone.
KINDS_MAX = 65535
NOT_HERE = KINDS_MAX


class Packed:
    """The calls of a batch that have no inputs, and the numbers that their futures are named by. A call takes some 30 bytes
    here and 300 as an object. REQUIRES, of both functions: the lock of futures."""

    __slots__ = ("kinds", "kind_of", "payloads", "ends", "numbers")

    def __init__(self, futures):
        """`futures`: those of the batch by their subtasks; the calls of the others stay as they are."""
        count = 1 + max(futures)
        # Programs with their options, and which of these a call has.
        self.kinds, self.kind_of = [], array("H", [NOT_HERE]) * count
        self.ends, self.numbers = array("I", [0]) * count, array("Q", [0]) * count
        known, payloads, end = {}, [], 0
        for index in range(count):
            future = futures.get(index)
            if future is not None:
                call = future._recipe
                kind = known.setdefault((id(call.program), id(call.options)), len(known))
                if kind == len(self.kinds):
                    self.kinds.append((type(call), call.program, call.options))
                self.kind_of[index] = kind
                payloads.append(call.payload)
                end += len(call.payload)
                future._recipe = None
                if isinstance(future._name, int):
                    self.numbers[index], future._name = future._name, None
            self.ends[index] = end
        self.payloads = b"".join(payloads)

    def unpack(self, future, index):
        """Gives a future its call and its number again."""
        kind = self.kind_of[index] if index < len(self.kind_of) else NOT_HERE
        if kind == NOT_HERE:
            return
        make, program, options = self.kinds[kind]
        begin = self.ends[index - 1] if index else 0
        call = make(future, program, self.payloads[begin:self.ends[index]], (), (), options)
        call.unsent, call.origins, call.generation = None, (), 1  # As one that has left, see `_lineage.settle`.
        future._recipe = call
        if future._name is None:
            future._name = self.numbers[index]


def pack(futures):
    """The calls of futures that leave as one batch, by their subtasks; None if few can be packed."""
    packable = {index: future for index, future in futures.items() if index < KINDS_MAX and _is_packable(future._recipe)}
    if len(packable) < CALLS_MIN:
        return None
    with next(iter(packable.values()))._condition:
        return Packed(packable)


def _is_packable(call):
    # A call that is known weakly is looked for as long as its future lives.
    return call is not None and call.is_plain() and len(call.payload) <= PAYLOAD_MAX and not weakref.getweakrefcount(call)
