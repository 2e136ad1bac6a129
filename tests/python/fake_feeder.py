"""A feeder for tests without any C++: it follows docs/feed.md, has generated data, and can misbehave.

Run it as the program `penstock`: fake_feeder.py feed --fd N --parent PID, or check-config. A job's name is its options:

    fake?steps=5&rows=4      5 steps of 4 rows an epoch
    ...&delay=0.1            before each batch
    ...&think=0.1            before each answer to an ASK
    ...&exit=3               ends in place of sending batch 3, with lines on standard error
    ...&kill=3               kills itself there
    ...&silent=3             does not send batch 3
    ...&fail=3:DATA_LOSS     fails once at batch 3
    ...&notice=3             sends a notice before batch 3
    ...&garbage=3:KIND       violates the protocol in place of sending batch 3
    ...&open=NOT_FOUND       fails to open

The feeder overwrites a slot at its release, so that a test detects memory that was released too early.
"""

import argparse
import array
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
from urllib.parse import parse_qs

HEADER = struct.Struct("<II")
WANT = struct.Struct("<QII")
BATCH = struct.Struct("<QIIQQQQIIQQQQ")
COLUMN = struct.Struct("<QQQQQ")
SLOT_BYTES = 65536

COLUMNS = [
    {"name": "image", "type": "uint8", "ragged": False, "shape": [4, 4, 3]},
    {"name": "label", "type": "int64", "ragged": False, "shape": []},
    {"name": "weights", "type": "bfloat16", "ragged": False, "shape": [2]},
    {"name": "boxes", "type": "float32", "ragged": True, "shape": [4]},
    {"name": "text", "type": "string", "ragged": False, "shape": []},
    {"name": "words", "type": "string", "ragged": True, "shape": []},
]


def content(column, epoch, step, rows):
    """Returns the content of a column, as Python numbers. The tests expect the same values."""
    first = epoch * 1000 + step * rows
    if column == "image":
        return bytes((first + row) % 251 for row in range(rows) for _ in range(48))
    if column == "label":
        return array.array("q", [first + row for row in range(rows)]).tobytes()
    if column == "weights":  # 1.0 and 2.0
        return array.array("H", [0x3F80, 0x4000] * rows).tobytes()
    if column == "boxes":  # row r has r boxes
        return array.array("f", [float(first + row) for row in range(rows) for _ in range(4 * row)]).tobytes()
    if column == "text":
        return [f"row {first + row}".encode() for row in range(rows)]
    return [[f"{first + row}.{word}".encode() for word in range(row % 3)] for row in range(rows)]


class Arena:
    def __init__(self, size):
        self.fd = os.memfd_create("fake-arena", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        self.size = size
        self.free = list(range(size // SLOT_BYTES))[::-1]
        self.generations = {}
        self.held = {}

    def take(self):
        if not self.free:
            return None
        slot = self.free.pop()
        self.generations[slot] = self.generations.get(slot, 0) + 1
        self.held[slot] = self.generations[slot]
        return slot, self.generations[slot]

    def give_back(self, slot, generation):
        if self.held.get(slot) == generation:
            del self.held[slot]
            self.map[slot * SLOT_BYTES : (slot + 1) * SLOT_BYTES] = b"\xee" * SLOT_BYTES
            self.free.append(slot)


class Broken(Exception):
    pass


class Loader:
    def __init__(self, feeder, sock, request):
        self.feeder, self.socket, self.request = feeder, sock, request
        # A job file's name is its path, which has no options: the feeder then behaves normally.
        name, _, options = request.get("job", "file").partition("?")
        self.options = {key: values[0] for key, values in parse_qs(options).items()}
        self.steps = int(self.options.get("steps", 5))
        self.rows = int(self.options.get("rows", 4))
        self.stream, self.sent, self.again_allowed = 1, [], True
        self.failed_once = False
        self.next = self.wanted = 0
        if "open" in self.options:
            self.tell(21, {"code": self.options["open"], "message": f"no job {name}; there are others"})
            return
        self.go_to(request.get("epoch", 0), request.get("state"))
        self.tell(16, {
            "job": name, "columns": COLUMNS, "batch_size": self.rows * request.get("world_size", 1),
            "rank_rows": self.rows, "last": "DROP", "rows_per_epoch": self.rows * self.steps,
            "steps_per_epoch": self.steps, "local": False, **self.where(),
        })

    def send(self, packet):
        try:
            self.socket.send(packet)
        except OSError:
            raise EOFError from None

    def tell(self, kind, body, stream=None):
        self.send(HEADER.pack(kind, self.stream if stream is None else stream) + json.dumps(body).encode())

    def go_to(self, epoch, state):
        self.next, self.wanted = 0, 0
        self.epoch, self.step = (int(n) for n in state.split(":")[1:]) if state else (epoch, 0)

    def where(self):
        return {"state": f"fake:{self.epoch}:{self.step}", "epoch": self.epoch, "step_in_epoch": self.step,
                "steps_left": self.steps - self.step}

    def on_packet(self, packet):
        kind, stream = HEADER.unpack_from(packet)
        body = packet[8:]
        if kind == 17:
            if stream != self.stream or len(body) != WANT.size:
                raise Broken(f"a WANT of stream {stream}, not {self.stream}, or of {len(body)} bytes")
            sequence, count, flags = WANT.unpack(body)
            if count > 64 or flags & ~3:
                raise Broken("a WANT with wrong values")
            self.sent = [entry for entry in self.sent if entry[0] >= sequence]
            if flags & 2:
                self.take_back()
                return
            if flags & 1:
                self.again_allowed = True
                for _, _, again in self.sent:
                    self.send(again)
            self.wanted = max(self.wanted, sequence + count)
        elif kind == 19:
            if stream != self.stream + 1:
                raise Broken(f"a SEEK to stream {stream}; the next one is {self.stream + 1}")
            seek = json.loads(body)
            accepted = seek.pop("accepted")
            unknown = set(seek) - {"epoch", "state", "accept_new_pipeline"}
            if unknown:
                raise Broken(f"a SEEK with {unknown}")
            self.sent = [entry for entry in self.sent if entry[0] >= accepted]
            self.take_back()
            self.stream = stream
            self.go_to(seek.get("epoch", 0), seek.get("state"))
            self.tell(20, self.where())
        elif kind == 22:
            what = json.loads(body)["what"]
            answers = {"stats": {"held_batches": len(self.feeder.arena.held), "arena_bytes": self.feeder.arena.size},
                       "waiting": {"message": "waiting 1 s: rows of no worker"}}
            if what not in answers:
                raise Broken(f"an ASK for {what}")
            time.sleep(float(self.options.get("think", 0)))
            self.tell(23, answers[what], 0)
        else:
            raise Broken(f"a packet of type {kind} on a loader's socket")

    def take_back(self):
        for _, name, _ in self.sent:
            self.feeder.arena.give_back(*name)
        self.sent = []

    def at(self, option):
        number, _, detail = self.options.get(option, "").partition(":")
        return (number != "" and int(number) == self.next and self.stream == 1 and "state" not in self.request), detail

    def serve(self):
        """Sends the next batch if the trainer wants it. Returns False if there is nothing to do."""
        if self.next >= self.wanted or not self.again_allowed:
            return False
        time.sleep(float(self.options.get("delay", 0)))
        if self.at("exit")[0]:
            print("first line\nthe disk is gone", file=sys.stderr, flush=True)
            os._exit(3)
        if self.at("kill")[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.at("notice")[0]:
            self.tell(24, {"message": "waiting 3 s: rows of worker w1"})
        if self.at("silent")[0]:
            self.wanted = self.next
            return False
        fails, code = self.at("fail")
        if fails and not self.failed_once:
            self.failed_once, self.again_allowed = True, False
            self.tell(21, {"code": code, "message": "train-3 record 7: crc", "sequence": self.next})
            return False
        garbage, kind = self.at("garbage")
        if garbage and self.garbage(kind):
            self.wanted = self.next
            return False
        name = self.feeder.arena.take()
        if name is None:
            self.again_allowed = False
            held = len(self.feeder.arena.held)
            self.tell(21, {"code": "RESOURCE_EXHAUSTED", "message": f"the trainer holds {held} batches",
                           "sequence": self.next})
            return False
        packet = self.batch(name)
        self.sent.append((self.next, name, packet))
        self.next += 1
        self.send(packet)
        return True

    def garbage(self, kind):
        good = self.batch((0, 0), peek=True)
        if kind == "type":
            self.send(HEADER.pack(99, self.stream))
        elif kind == "short":
            self.send(good[:60])
        elif kind == "header":
            self.send(good[:5])
        elif kind == "columns":
            self.send(good[:60] + struct.pack("<I", 7) + good[64:])
        elif kind == "skipped":
            self.send(good[:8] + struct.pack("<Q", self.next + 1) + good[16:])
        elif kind == "offset":  # a column outside of the arena
            self.send(good[:96] + struct.pack("<Q", self.feeder.arena.size) + good[104:])
        elif kind == "bytes":
            self.send(good[:104] + struct.pack("<Q", 5) + good[112:])
        elif kind == "json":
            self.send(HEADER.pack(21, self.stream) + b"{no")
        elif kind == "unknown":
            self.tell(21, {"code": "DATA_LOSS", "message": "x", "sequence": self.next, "mood": 1})
        else:
            raise Broken(f"no such garbage: {kind}")
        return True

    def batch(self, name, peek=False):
        arena, rows, epoch, step = self.feeder.arena, self.rows, self.epoch, self.step
        base = at = name[0] * SLOT_BYTES

        def put(data):
            nonlocal at
            at = (at + 255) // 256 * 256
            begin = at
            if not peek:
                arena.map[begin : begin + len(data)] = data
            at += len(data)
            return begin

        def numbers(values):
            return array.array("q", values).tobytes()

        ids = put(numbers([n for row in range(rows) for n in (epoch, step * rows + row)]))
        valid = put(b"\1" * rows)
        columns = b""
        for column in COLUMNS:
            data = content(column["name"], epoch, step, rows)
            splits = offsets = elements = 0
            if column["type"] == "string":
                if column["ragged"]:
                    ends = [sum(len(row) for row in data[:n]) for n in range(rows + 1)]
                    splits, data = put(numbers(ends)), [word for row in data for word in row]
                elements = len(data)
                offsets = put(numbers([sum(len(word) for word in data[:n]) for n in range(elements + 1)]))
                data = b"".join(data)
            elif column["ragged"]:
                elements = len(data) // 16
                splits = put(numbers([row * (row - 1) // 2 for row in range(rows + 1)]))
            columns += COLUMN.pack(put(data), len(data), splits, offsets, elements)
        last = self.step + 1 == self.steps
        packet = HEADER.pack(18, self.stream) + BATCH.pack(
            self.next, *name, epoch, step, step * rows, rows, int(last), len(COLUMNS), ids, ids, valid,
            at - base) + columns
        after = (epoch + 1, 0) if last else (epoch, step + 1)
        if not peek:
            self.epoch, self.step = after
        return packet + f"fake:{after[0]}:{after[1]}".encode()


class Feeder:
    def __init__(self, main):
        self.main, self.loaders, self.arena, self.poll = main, {}, None, select.poll()

    def hello(self, packet):
        kind, _ = HEADER.unpack_from(packet)
        body = json.loads(packet[8:])
        known = {"version", "client", "memory", "threads", "memory_budget", "record_cache", "decoded_cache", "index_dir",
                 "keep_pages", "read_threads", "row_cache", "disk_cache", "disk_cache_size"}
        if kind != 1 or body["version"] != 1 or set(body) - known:
            raise Broken(f"a HELLO with {body}")
        self.arena = Arena(body.get("memory", 0) or 64 * SLOT_BYTES)
        version = int(os.environ.get("FAKE_FEEDER_VERSION", "1"))
        welcome = {"version": version, "release": "0.0.0", "arena_bytes": self.arena.size, "threads": body.get("threads", 1)}
        socket.send_fds(self.main, [HEADER.pack(2, 0) + json.dumps(welcome).encode()], [self.arena.fd])

    def on_main(self):
        """Reads all packets. Releases must be known before the feeder reports that memory is full."""
        try:
            while True:
                packet, ancillary, _, _ = self.main.recvmsg(131072, socket.CMSG_SPACE(16), socket.MSG_DONTWAIT)
                if not packet:
                    raise EOFError
                self.on_main_packet(packet, [fd for _, _, data in ancillary for fd in array.array("i", data)])
        except BlockingIOError:
            pass

    def on_main_packet(self, packet, fds):
        kind, _ = HEADER.unpack_from(packet)
        if self.arena is None:
            self.hello(packet)
        elif kind == 3 and len(fds) == 1:
            sock = socket.socket(fileno=fds[0])
            try:
                self.loaders[sock.fileno()] = Loader(self, sock, json.loads(packet[8:]))
            except EOFError:  # the trainer has already closed it
                sock.close()
                return
            self.poll.register(sock, select.POLLIN)
        elif kind == 4 and len(packet) > 8 and len(packet) % 8 == 0:
            for slot, generation in struct.iter_unpack("<II", packet[8:]):
                self.arena.give_back(slot, generation)
        else:
            raise Broken(f"a packet of type {kind} on the main socket")

    def run(self, parent):
        pidfd = os.pidfd_open(parent)
        self.poll.register(self.main, select.POLLIN)
        self.poll.register(pidfd, select.POLLIN)
        while True:
            ready = any(loader.next < loader.wanted and loader.again_allowed for loader in self.loaders.values())
            events = {fd for fd, _ in self.poll.poll(0 if ready else 1000)}
            if pidfd in events:
                return
            self.on_main()
            for fd in events & set(self.loaders):
                self.read(fd)
            for fd, loader in list(self.loaders.items()):
                self.on_main()
                try:
                    loader.serve()
                except EOFError:
                    self.drop(fd)

    def read(self, fd):
        try:
            packet = self.loaders[fd].socket.recv(131072)
            if packet:
                self.loaders[fd].on_packet(packet)
                return
        except (OSError, EOFError):
            pass
        self.drop(fd)

    def drop(self, fd):
        self.poll.unregister(fd)
        loader = self.loaders.pop(fd)
        loader.take_back()
        loader.socket.close()


def check_config():
    """Accepts every job file."""
    print(json.dumps({"ok": True, "job": {"name": "fake", "batch": {"size": 4}}}))


def main():
    if sys.argv[1:2] == ["check-config"]:
        return check_config()
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["feed"])
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    feeder = Feeder(socket.socket(fileno=given.fd))
    try:
        feeder.run(given.parent)
    except EOFError:
        pass
    except Broken as error:
        print(f"the trainer sent {error}", file=sys.stderr, flush=True)
        feeder.main.send(HEADER.pack(5, 0) + json.dumps({"code": "INVALID_ARGUMENT", "message": str(error)}).encode())
        sys.exit(1)


if __name__ == "__main__":
    main()
