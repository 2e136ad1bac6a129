"""Raises KeyboardInterrupt in one chosen place: after the n-th call, or at the n-th start of a function or of a loop's turn,
wherever Python checks for signals. Places in the tests themselves do not count."""

import dis
import functools
import os
import sys

_TESTS = os.path.dirname(os.path.abspath(__file__))
_LOOKS_BEHIND = ("CALL", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "RESUME")


@functools.cache
def _places(code):
    """Returns the offsets of instructions before which Python checks for signals.

    Instructions that leave a `with` after a call are no such places: Python checks during the call, within the `with`.
    """
    found, looks = set(), True
    instructions = list(dis.get_instructions(code))
    for number, instruction in enumerate(instructions):
        coming = [(i.opname, i.argval) for i in instructions[number : number + 4]]
        leaves = [("LOAD_CONST", None)] * 3 in (coming[:3], coming[1:])
        if looks and not leaves:
            found.add(instruction.offset)
        looks = instruction.opname.startswith(_LOOKS_BEHIND)
    return found


class Interrupt:
    """with Interrupt(n): raises KeyboardInterrupt in the n-th place, counted from 1. `hit`: the block has n places."""

    def __init__(self, number):
        self.left = number
        self.hit = False

    def _trace(self, frame, event, _):
        if frame.f_code.co_filename.startswith(_TESTS):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_lasti in _places(frame.f_code):
            self.left -= 1
            if self.left == 0:
                self.hit = True
                raise KeyboardInterrupt
        return self._trace

    def __enter__(self):
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)
