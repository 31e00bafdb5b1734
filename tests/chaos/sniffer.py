"""All that passes an interface of this machine, as a network between two hosts sees it."""
import socket
import struct
import threading

from case import Skipped

ALL_FRAMES, LEVEL, STATISTICS = 3, 263, 6  # ETH_P_ALL; SOL_PACKET and PACKET_STATISTICS. tidy: foreign
RECEIVE_BUFFER = 33  # SO_RCVBUFFORCE


class Sniffer:
    """Keeps the bytes of each direction of each TCP connection that passes `interface`, in the order of the stream."""

    def __init__(self, case, interface):
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_FRAMES))  # tidy: foreign
        except (PermissionError, AttributeError) as refused:
            raise Skipped(f"the network cannot be listened to: {refused}") from refused
        self._socket.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER, 1 << 26)
        self._socket.bind((interface, 0))
        self._socket.settimeout(0.1)
        self._parts, self._lock, self._ended = {}, threading.Lock(), False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        case.at_end(self.end)

    def _listen(self):
        while not self._ended:
            try:
                seen = self._socket.recv(1 << 17)
            except TimeoutError:
                continue
            except OSError:
                return
            if seen[0] >> 4 != 4 or seen[9] != socket.IPPROTO_TCP:
                continue
            head = (seen[0] & 15) * 4
            size, = struct.unpack_from("!H", seen, 2)
            source, sink, sequence = struct.unpack_from("!HHI", seen, head)
            data = seen[head + (seen[head + 12] >> 4) * 4:size or None]
            if data:
                with self._lock:
                    self._parts.setdefault((source, sink), {})[sequence] = data

    def lost(self):
        """Parts that the kernel has dropped before we could read them, since the last call."""
        return struct.unpack("II", self._socket.getsockopt(LEVEL, STATISTICS, 8))[1]

    def streams(self):
        """(port, port) and the bytes that went from the first to the second."""
        with self._lock:
            parts = {ends: sorted(of.items()) for ends, of in self._parts.items()}
        return {ends: b"".join(data for _, data in of) for ends, of in parts.items()}

    def bytes_seen(self, port):
        return sum(len(data) for ends, data in self.streams().items() if port in ends)

    def end(self):
        self._ended = True
        self._thread.join()
        self._socket.close()
