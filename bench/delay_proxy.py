#!/usr/bin/env python3
"""A TCP proxy that makes a link long: it delays every byte by half of DELAY_MS in each direction. This adds DELAY_MS to a
round trip and does not limit the rate. With BYTES_PER_SECOND it also makes the link narrow: each direction of each
connection carries at most this rate.

    bench/delay_proxy.py LISTEN_PORT TARGET_HOST:PORT DELAY_MS [BYTES_PER_SECOND]     (LISTEN_PORT on 127.0.0.1)

SIGTERM ends it.
"""
import asyncio
import collections
import socket
import sys

CHUNK = 1 << 20


async def carry_slowly(reader, writer, rate):
    """Reads only as much as it can send, so that the sender notices the limit."""
    loop = asyncio.get_running_loop()
    free = loop.time()
    try:
        while data := await reader.read(max(1024, int(rate / 50))):
            free = max(free, loop.time()) + len(data) / rate
            await asyncio.sleep(free - loop.time())
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def carry(reader, writer, delay):
    """Reads at once, and writes each piece when it is due."""
    loop = asyncio.get_running_loop()
    pieces = collections.deque()
    arrived = asyncio.Event()

    async def receive():
        while True:
            try:
                data = await reader.read(CHUNK)
            except ConnectionError:
                data = b""
            pieces.append((loop.time() + delay, data))
            arrived.set()
            if not data:
                return

    receiving = asyncio.create_task(receive())
    try:
        while True:
            while not pieces:
                arrived.clear()
                await arrived.wait()
            due, data = pieces.popleft()
            wait = due - loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            if not data:
                break
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        receiving.cancel()
        writer.close()


async def main(port, host, target_port, delay, rate):
    async def serve(reader, writer):
        try:
            there = await asyncio.open_connection(host, target_port, limit=4096 if rate > 0 else 4 * CHUNK)
        except OSError:
            writer.close()
            return
        if rate > 0:
            await asyncio.gather(carry_slowly(reader, there[1], rate), carry_slowly(there[0], writer, rate))
            return
        for end in (writer, there[1]):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.transport.set_write_buffer_limits(high=4 * CHUNK)
        await asyncio.gather(carry(reader, there[1], delay), carry(there[0], writer, delay))

    limit = 4096 if rate > 0 else 4 * CHUNK  # maximum number of buffered bytes
    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=limit)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    target, _, target_port = sys.argv[2].rpartition(":")
    try:
        rate = float(sys.argv[4]) if len(sys.argv) == 5 else 0
        asyncio.run(main(int(sys.argv[1]), target, int(target_port), float(sys.argv[3]) / 2000, rate))
    except KeyboardInterrupt:
        pass
