"""A proxy on the loopback that knows nothing: it writes down what passes, cuts connections, and slows them down."""
import random
import socket
import threading


class Tap:
    """Listens; each connection that it takes gets one to `target`."""

    def __init__(self, target, cut=0.0, slow_bytes=0, seed=1):
        """`cut`: probability of an end for each part that passes. `slow_bytes`: the first ones come one at a time."""
        host, _, port = target.rpartition(":")
        self.target, self.cut, self.slow_bytes = (host, int(port)), cut, slow_bytes
        self.seen, self.cuts, self.connections = bytearray(), 0, 0
        self._random, self._lock, self._sockets, self._ended = random.Random(seed), threading.Lock(), [], False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)  # tidy: foreign
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self._ended:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self.target, timeout=5)
            except OSError:
                continue
            far.settimeout(None)
            with self._lock:
                self._sockets += [near, far]
                self.connections += 1
            for source, sink in ((near, far), (far, near)):
                sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source, sink):
        slow = self.slow_bytes
        try:
            while part := source.recv(1 << 16):
                with self._lock:
                    self.seen += part
                    ends = self._random.random() < self.cut
                    self.cuts += ends
                if ends:
                    sink.sendall(part[:len(part) // 2])
                    break
                for byte in part[:slow]:
                    sink.sendall(bytes([byte]))
                if part[slow:]:
                    sink.sendall(part[slow:])
                slow = max(0, slow - len(part))
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def end(self):
        self._ended = True
        self._listener.close()
        with self._lock:
            for end in self._sockets:
                end.close()
