"""A proxy on the loopback that knows nothing: it writes down what passes, cuts connections, and slows them down."""
from proxy import Proxy


class Tap(Proxy):
    def __init__(self, target, cut=0.0, slow_bytes=0, seed=1):
        """`cut`: probability of an end for each part that passes. `slow_bytes`: the first ones come one at a time."""
        self.cut, self.slow_bytes, self.seen = cut, slow_bytes, bytearray()
        super().__init__(target, seed=seed)

    def _pass_on(self, source, sink, _direction):
        slow = self.slow_bytes
        while part := source.recv(1 << 16):
            with self._lock:
                self.seen += part
            if self._draw() < self.cut:
                self._count("cut")
                sink.sendall(part[:len(part) // 2])
                return
            for byte in part[:slow]:
                sink.sendall(bytes([byte]))
            sink.sendall(part[slow:])
            slow = max(0, slow - len(part))
