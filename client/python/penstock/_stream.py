"""One loader's socket: the requested batches, the received packets, and the batch that is offered to the loop.

A signal's exception (Ctrl-C) may be raised after any call. So where the state must be exact, the C call that does an
action also records the action. It reads a packet into a deque, counts a sent SEEK in a deque, and delivers a batch by
`deque.popleft` (see `Offer`). The module repeats all other interrupted work.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
from collections import deque
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Tuple

from . import _interrupts
from . import _protocol as protocol
from ._arena import Hold, Owner
from ._ask import Ask, Late
from ._batch import Batch, Layout
from ._deadline import PIECE, Deadline
from ._errors import MachineError, PenstockError, TimeoutError, error_of
from ._feeder import Feeder, wait_writable
from ._schema_types import column_of

logger = logging.getLogger("penstock")

_NOW = int(socket.MSG_DONTWAIT)
_SEND = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
_SIZES, _FLAGS = (protocol.MAX_PACKET,), (_NOW,)
_SEND_FLAGS = (_SEND,)
_SHORT_PIECE = 0.02  # seconds between two checks of a wait while releases are pending
_SWEEP_EVERY = 64  # batches


class Mark(NamedTuple):
    """A place in a stream: after a received batch, or at the start of the stream."""

    state: str
    epoch: int
    last: bool  # no further batch of this epoch follows
    received: bool  # after a batch; False: at a start

    @property
    def next_epoch(self) -> int:
        """The epoch of the next batch."""
        return self.epoch + 1 if self.last else self.epoch


class Offer:
    """A batch for the loop. The loop's C code delivers the batch when it removes it from `ready`."""

    __slots__ = ("after", "before", "bytes", "hold", "ready", "rows", "sequence", "stream")

    def __init__(
        self, stream: int, sequence: int, before: Mark, after: Mark, hold: Optional[Hold], ready: Deque[Any]
    ) -> None:
        self.stream = stream
        self.sequence = sequence
        self.before = before
        self.after = after
        self.hold = hold
        self.ready = ready
        self.rows = 0
        self.bytes = 0

    @property
    def mark(self) -> Mark:
        """The place after the delivered batches."""
        return self.before if self.ready else self.after

    def ends(self, until: Optional[int]) -> bool:
        """Returns True if this batch is the last one of epoch `until` or of a later one (None: of no epoch)."""
        after = self.after
        return until is not None and after.received and after.last and after.epoch >= until


def _start(stream: int, state: str, epoch: int, steps_left: int) -> Offer:
    """Returns the start of a stream, which has no batch yet."""
    mark = Mark(state, epoch, steps_left == 0, False)
    return Offer(stream, -1, mark, mark, None, deque())


class Stream:
    """An open stream. The constructor raises an exception if it cannot be opened."""

    def __init__(self, feeder: Feeder, request: Dict[str, Any], timeout: float) -> None:
        self.feeder = feeder
        self._closed = False
        self._died_said = False
        self._busy = False  # a thread is in fetch or in seek
        self._asks: List[Ask] = []  # the first one continues, the others return None
        self._inbox: Deque[bytes] = deque()
        self._seeks: Deque[int] = deque()  # one entry for each sent SEEK
        self._wanted = (1, 0)  # stream, and the batch after the requested ones
        self._again = False
        self._until_sweep = _SWEEP_EVERY
        self._socket = feeder.open(request)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.offer = _start(0, "", 0, 0)
        try:
            packet = self._answer(protocol.OPENED, 1, Deadline(timeout))
            self.opened = protocol.opened(packet)
            self.layout = Layout([column_of(info) for info in self.opened.columns])
        except BaseException:
            self.close()
            raise
        self.offer = _start(1, self.opened.state, self.opened.epoch, self.opened.steps_left)

    @property
    def number(self) -> int:
        """The number of the feeder's current stream."""
        return 1 + len(self._seeks)

    # ---- batches

    def fetch(self, deadline: Deadline, until: Optional[int], convert: Callable[[Batch], Any]) -> Offer:
        """Returns the next offer. The present one must be delivered. Raises Late at the deadline, without a lost batch.

        Also requests the batch after it, unless this is the last one of epoch `until`. `convert` converts a batch to
        the loop's value. The trainer becomes the holder of the batch only when `kept` is called.
        """
        offer = self.offer
        self._busy = True
        try:
            self._let_ask_end(deadline)
            self._housekeeping()
            sequence = offer.sequence + 1
            self.want(sequence)
            packet, fields = self._batch(sequence, deadline)
            offer = self._offer(packet, fields, offer, convert)
            self._inbox.popleft()
            if not offer.ends(until):
                self.want(sequence + 1)
            return offer
        finally:
            self._no_longer_busy()

    def kept(self) -> Offer:
        """Returns the offer, and makes the trainer the holder of its batch. Idempotent."""
        offer = self.offer
        if offer.ready and offer.hold is not None:
            self.feeder.releases.keep(offer.hold)
        return offer

    def want(self, sequence: int) -> None:
        """Requests a batch, once. Accepts all batches before that batch."""
        number = self.number
        stream, until = self._wanted
        flags = protocol.SEND_AGAIN if self._again else 0
        if stream == number and until > sequence and not flags:
            return
        self._send(protocol.want_packet(number, sequence, 1, flags))
        self._wanted = (number, max(sequence + 1, until if stream == number else 0))
        self._again = False

    def seek(self, where: Dict[str, Any], deadline: Deadline) -> None:
        """Moves the stream to an `epoch`, or after a `state`. May be retried."""
        offer = self.kept()
        accepted = offer.sequence + 1 if offer.stream == self.number else 0
        number = self.number + 1
        packet = protocol.json_packet(protocol.SEEK, number, {"accepted": accepted, **where})
        self._busy = True
        try:
            self._let_ask_end(deadline)
            self._send_seek(packet, deadline)
            at = protocol.sought(self._answer(protocol.SOUGHT, number, deadline))
        finally:
            self._no_longer_busy()
        self.offer = _start(number, at.state, at.epoch, at.steps_left)

    def _send_seek(self, packet: bytes, deadline: Deadline) -> None:
        while True:
            try:
                self._seeks.extend(map(self._socket.send, (packet,), _SEND_FLAGS))
                return
            except BlockingIOError:
                if not wait_writable(self._socket, deadline):
                    raise Late from None
            except OSError:
                raise self.died() from None

    def ask(self, what: str, seconds: float) -> Optional[Dict[str, Any]]:
        """Returns the answer. Returns None if there is none in time, if another thread reads, or if the stream has ended.

        Raises an error if the request cannot be sent, or if the stream is closed meanwhile.
        """
        asking = Ask()
        try:
            # Fetch, seek and ask first record that they begin, and then check whether another one has begun.
            self._asks.append(asking)
            if self._asks[:1] != [asking] or self._busy or self._closed:
                return None
            self._take_answer()  # to an abandoned question
            self._send(protocol.json_packet(protocol.ASK, 0, {"what": what}))
            deadline = Deadline(seconds)
            while True:
                answer = self._take_answer()
                if answer is not None or (self._inbox and not self._inbox[-1]):
                    return answer
                self._wait_more(deadline)
        except Late:
            return None
        finally:
            asking.over.release()
            self._forget(asking)

    def _take_answer(self) -> Optional[Dict[str, Any]]:
        for packet in self._inbox.copy():
            if packet and protocol.header(packet)[0] == protocol.ANSWER:
                self._inbox.remove(packet)
                return protocol.body(packet)
        return None

    def _let_ask_end(self, deadline: Deadline) -> None:
        for asking in self._asks[:]:
            asking.let_end(deadline)
            self._forget(asking)

    def _forget(self, asking: Ask) -> None:
        with contextlib.suppress(ValueError):
            self._asks.remove(asking)

    def _no_longer_busy(self) -> None:
        self._busy = False
        if self._closed:
            self._socket.close()

    def _offer(
        self, packet: bytes, fields: protocol.BatchFields, previous: Offer, convert: Callable[[Batch], Any]
    ) -> Offer:
        feeder = self.feeder
        owner = Owner(feeder.arena, feeder.releases)
        hold = feeder.releases.watch(owner, packet)
        batch = Batch(packet, fields, self.layout, feeder.arena, owner)
        del owner
        after = Mark(batch.state, fields.epoch, batch.last_of_epoch, True)
        offer = Offer(previous.stream, fields.sequence, previous.mark, after, hold, deque((convert(batch),)))
        offer.rows, offer.bytes = fields.rows, fields.held_bytes
        # A single store: before it the state is unchanged, after it the loop may take the batch.
        self.offer = offer
        return offer

    # ---- packets

    def _batch(self, sequence: int, deadline: Deadline) -> Tuple[bytes, protocol.BatchFields]:
        """Returns the packet and the fields of that batch. The packet stays first in the inbox."""
        while True:
            packet = self._first(deadline)
            kind, number = protocol.header(packet)
            if kind == protocol.BATCH and number == self.number:
                fields = protocol.batch_fields(packet)
                if fields.sequence == sequence:
                    return packet, fields
                if fields.sequence > sequence:
                    raise self._wrong(f"batch {fields.sequence} in place of {sequence}")
            elif kind == protocol.FAILED and number == self.number:
                failed = protocol.failed(packet)
                if failed.sequence is None or failed.sequence >= sequence:
                    self._again = True
                    self._inbox.popleft()
                    raise error_of(failed.code, failed.message, failed.sequence is not None)
            else:
                self._aside(kind, packet)
            # A batch of an abandoned stream, or one that was sent again.
            self._drop(packet)

    def _answer(self, wanted: int, number: int, deadline: Deadline) -> bytes:
        """Removes the answer to OPEN or SEEK from the inbox and returns it."""
        while True:
            packet = self._first(deadline)
            kind, stream = protocol.header(packet)
            if stream == number and kind == wanted:
                self._drop(packet)
                return packet
            if stream == number and kind == protocol.FAILED:
                failed = protocol.failed(packet)
                self._drop(packet)
                raise error_of(failed.code, failed.message, False)
            if kind not in (protocol.BATCH, protocol.FAILED, protocol.SOUGHT):
                self._aside(kind, packet)
            self._drop(packet)

    def _aside(self, kind: int, packet: bytes) -> None:
        if kind == protocol.NOTICE:
            logger.warning("%s", protocol.message(packet, "a NOTICE"))
        elif kind not in (protocol.ANSWER, protocol.SOUGHT, protocol.BATCH, protocol.FAILED):
            raise self._wrong(f"a packet of type {kind}")

    def _drop(self, packet: bytes) -> None:
        if self._inbox and self._inbox[0] is packet:
            self._inbox.popleft()

    def _first(self, deadline: Deadline) -> bytes:
        inbox = self._inbox
        if not inbox:
            self._fill(deadline)
        packet = inbox[0]
        if not packet:
            raise self.died()
        return packet

    def _fill(self, deadline: Deadline) -> None:
        try:
            self._inbox.extend(map(self._socket.recv, _SIZES, _FLAGS))
            return
        except BlockingIOError:
            pass
        except OSError:
            raise self.died() from None
        while not self._inbox:
            self._wait_more(deadline)

    def _wait_more(self, deadline: Deadline) -> None:
        """Waits for one piece of time and receives packets."""
        releases = self.feeder.releases
        left = deadline.left
        if left <= 0:
            raise Late
        _interrupts.check()
        if self._poll.poll(min(left, _SHORT_PIECE if releases.pending else PIECE) * 1000):
            try:
                self._inbox.extend(map(self._socket.recv, _SIZES, _FLAGS))
            except BlockingIOError:
                pass
            except OSError:
                raise self.died() from None
        else:
            releases.flush()
            releases.sweep()
        if self._closed:
            raise self.died()

    def _send(self, packet: bytes) -> None:
        while True:
            try:
                self._socket.send(packet, _SEND)
                return
            except BlockingIOError:
                if not wait_writable(self._socket, Deadline(60.0)):
                    raise TimeoutError("penstock's feeder reads no messages") from None
            except OSError:
                raise self.died() from None

    def _housekeeping(self) -> None:
        releases = self.feeder.releases
        releases.raise_interrupt()
        releases.flush()
        self._until_sweep -= 1
        if self._until_sweep <= 0:
            self._until_sweep = _SWEEP_EVERY
            releases.sweep()

    def died(self) -> PenstockError:
        """Returns the error of a stream that has ended. Afterwards a loader may open another stream."""
        if self._closed:
            return PenstockError("this loader was closed")
        self._died_said = True
        return self.feeder.died()

    @property
    def died_said(self) -> bool:
        return self._died_said or self.feeder.closed

    def _wrong(self, what: str) -> MachineError:
        self.close()
        return protocol.wrong(what)

    def close(self) -> None:
        """Closes the stream. A wait ends with an error. Delivered batches stay valid. Any thread may call it."""
        if self._closed:
            return
        self._closed = True
        if os.getpid() == self.feeder.pid:
            with contextlib.suppress(OSError):
                offer = self.kept()
                if offer.stream == self.number:
                    # The trainer keeps the delivered batches and returns the later ones.
                    accepted = offer.sequence + 1
                    self._socket.send(protocol.want_packet(self.number, accepted, 0, protocol.GIVE_BACK), _SEND)
                # Closing is not sufficient: a forked child may have the socket open too.
                self._socket.shutdown(socket.SHUT_RDWR)
        if not self._busy:
            self._socket.close()
