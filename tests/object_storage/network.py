"""A network between the programs and a storage that tests can cut: a proxy on its own port."""

import contextlib
import socket
import struct
import threading

RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class Network:
    """Transfers bytes in both directions until a test cuts it, in one of three ways, and again after mend().

    "silent": no byte passes; bytes under way arrive after mend(); new connections are accepted.
    "lossy": the same, but bytes under way are lost: connections from before the cut stay silent forever.
    "refused": connections from before the cut are reset, and new ones are refused.

    A network with a limit of bytes to the storage becomes "silent" by itself when they have passed.
    """

    def __init__(self, port):
        self.target = port
        self.changed = threading.Condition()
        self.cut_as = ""
        self.left = None
        self.closed = False
        self.open = set()
        self.lost = set()
        self.listener = None
        self.port = 0
        self.listen()
        self.url = f"http://127.0.0.1:{self.port}"

    def cut(self, how):
        with self.changed:
            self.cut_as = how
            pairs = set(self.open)
            if how == "lossy":
                self.lost |= pairs
        if how == "refused":
            self.stop_listening()
            for pair in pairs:
                self.reset(pair)

    def cut_behind(self, size):
        """Cuts the network after `size` bytes to the storage, so that a writer of more cannot finish."""
        with self.changed:
            self.left = size

    def mend(self):
        with self.changed:
            self.left = None
            how, self.cut_as = self.cut_as, ""
            self.changed.notify_all()
        if how == "refused":
            self.listen()

    def close(self):
        with self.changed:
            self.closed = True
            self.changed.notify_all()
            pairs = set(self.open)
        self.stop_listening()
        for pair in pairs:
            self.reset(pair)

    def listen(self):
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def stop_listening(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # ends its accept
        self.listener.close()

    def accept(self, listener):
        while True:
            near = None
            try:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self.listener is not listener or listener.fileno() < 0:
                    return
                if near is not None:
                    near.close()  # the storage is unreachable
                continue
            pair = (near, far)
            with self.changed:
                self.open.add(pair)
            for source, sink in (pair, pair[::-1]):
                threading.Thread(target=self.carry, args=(pair, source, sink), daemon=True).start()

    def carry(self, pair, source, sink):
        try:
            while data := source.recv(1 << 16):
                with self.changed:
                    self.changed.wait_for(lambda: self.closed or (not self.cut_as and pair not in self.lost))
                    if self.left is not None and source is pair[0]:
                        self.left -= len(data)
                        if self.left < 0:
                            self.cut_as = "silent"
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)  # the other direction may still have bytes
        except OSError:
            self.reset(pair)

    def reset(self, pair):
        with self.changed:
            self.open.discard(pair)
            self.lost.discard(pair)
            self.changed.notify_all()
        for end in pair:
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
                end.shutdown(socket.SHUT_RDWR)
            end.close()
