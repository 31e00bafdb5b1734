"""A proxy on the loopback that knows frames: it loses, repeats, reorders, delays and cuts them, or falls silent."""
import random
import select
import socket
import struct
import threading
import time

HEADER_BYTES = 48
INTRODUCTION = 1
TO_SUPERVISOR, FROM_SUPERVISOR = 0, 1


class Faults:
    """What is done to frames, as probabilities; introductions pass. All of it may be changed while frames flow."""

    def __init__(self, lose=0.0, repeat=0.0, reorder=0.0, delay=0.0, delay_s=0.01, cut=0.0, byte_by_byte=False):
        self.lose, self.repeat, self.reorder = lose, repeat, reorder
        self.delay, self.delay_s = delay, delay_s
        self.cut, self.byte_by_byte = cut, byte_by_byte


class Proxy:
    """Listens; each connection that it takes gets one to `target`, and a thread for each direction."""

    def __init__(self, target, faults=None, seed=1):
        host, _, port = target.rpartition(":")
        self.target = (host, int(port))
        self.faults = faults or Faults()
        self.counts = {"frames": 0, "lost": 0, "repeated": 0, "reordered": 0, "delayed": 0, "cut": 0, "connections": 0}
        self.silent = [threading.Event(), threading.Event()]  # Directions that carry nothing.
        self.introduces = False  # Even then.
        self._random, self._lock = random.Random(seed), threading.Lock()
        self._sockets = []
        self._ended = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)  # tidy: foreign
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self._ended:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self.target, timeout=5)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets += [near, far]
                self.counts["connections"] += 1
            for source, sink, direction in ((near, far, TO_SUPERVISOR), (far, near, FROM_SUPERVISOR)):
                threading.Thread(target=self._pump, args=(source, sink, direction), daemon=True).start()

    def _pump(self, source, sink, direction):
        try:
            self._pass_on(source, sink, direction)
        except (OSError, ValueError):  # ValueError: `cut_all` has closed it.
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _pass_on(self, source, sink, direction):
        held = None
        buffer = bytearray()
        while True:
            ready = select.select([source], [], [], 0.02)[0] if held else [source]
            part = source.recv(1 << 16) if ready else b""
            if ready and not part:
                return
            buffer += part
            if not ready:  # Nothing came to overtake it.
                self._write(sink, held, direction)
                held = None
            while len(buffer) >= HEADER_BYTES:
                whole = HEADER_BYTES + struct.unpack_from("<I", buffer, 8)[0]
                if len(buffer) < whole:
                    break
                frame = bytes(buffer[:whole])
                del buffer[:whole]
                held = self._pass(frame, sink, direction, held)

    def _pass(self, frame, sink, direction, held):
        """Returns the frame that is held back to be overtaken, if any."""
        faults, draw = self.faults, self._draw
        self._count("frames")
        if frame[5] == INTRODUCTION:
            if self.introduces:
                sink.sendall(frame)
            else:
                self._write(sink, frame, direction)
            return held
        if faults.lose and draw() < faults.lose:
            self._count("lost")
            return held
        if faults.delay and draw() < faults.delay:
            self._count("delayed")
            time.sleep(faults.delay_s)
        if faults.cut and draw() < faults.cut:
            self._count("cut")
            self._write(sink, frame[:len(frame) // 2], direction)
            reset(sink)
            raise OSError("cut")
        if faults.reorder and held is None and draw() < faults.reorder:
            self._count("reordered")
            return frame
        self._write(sink, frame, direction)
        if faults.repeat and draw() < faults.repeat:
            self._count("repeated")
            self._write(sink, frame, direction)
        if held is not None:
            self._write(sink, held, direction)
        return None

    def _write(self, sink, data, direction):
        while self.silent[direction].is_set():
            if self._ended:
                raise OSError("ended")
            time.sleep(0.005)
        if self.faults.byte_by_byte:
            for i in range(len(data)):
                sink.sendall(data[i:i + 1])
        else:
            sink.sendall(data)

    def _draw(self):
        with self._lock:
            return self._random.random()

    def _count(self, what):
        with self._lock:
            self.counts[what] += 1

    def fall_silent(self, *directions):
        """Nothing arrives any more, and nobody is told: a partition."""
        for direction in directions or (TO_SUPERVISOR, FROM_SUPERVISOR):
            self.silent[direction].set()

    def heal(self):
        for event in self.silent:
            event.clear()

    def cut_all(self):
        """Resets every connection."""
        with self._lock:
            ends, self._sockets = self._sockets, []
        for end in ends:
            reset(end)

    def end(self):
        self._ended = True
        self._listener.close()
        self.cut_all()


def reset(end):
    """Closes with RST. A thread of ours may still read from it, so its half is shut as well."""
    try:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    end.close()
