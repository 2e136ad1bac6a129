"""A port for a process that has to know it before it listens."""

import random
import socket


def free_port():
    """Returns a port below those of outgoing connections (32768 and more by default), so that no process takes it by chance."""
    while True:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            port = random.randrange(10_000, 32_000)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
