"""Tracebacks that end at the user's own line.

The package often finds a mistake several calls below the public function. The last frames of its traceback then do not
help the user. So public functions drop the package's frames from errors that the package raises on purpose, and from
errors of the user's functions. Other errors, such as a bug of the package, keep all frames. With
PENSTOCK_TRACEBACK=full every error keeps them.
"""

from __future__ import annotations

import functools
import os
from types import CodeType, TracebackType
from typing import Any, Callable, List, Mapping, Optional, Set, TypeVar

from ._errors import PenstockError

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Error = TypeVar("_Error", bound=BaseException)
_boundaries: Set[CodeType] = set()


def public(function: _Function) -> _Function:
    """Decorates a public function: it shortens the tracebacks of its errors to the caller and one frame of the package."""
    return public_after(lambda arguments: None, function)


def public_after(check: Callable[[Mapping[str, Any]], None], function: _Function) -> _Function:
    """Decorates like `public`, and checks the function's keyword arguments first."""

    @functools.wraps(function)
    def checked(*positional: Any, **arguments: Any) -> Any:
        try:
            check(arguments)
            return function(*positional, **arguments)
        except Exception as error:
            if not shorten(error):
                raise
            raise error  # PENSTOCK_TRACEBACK=full shows the frames below

    _boundaries.add(checked.__code__)  # type: ignore[attr-defined]
    return checked  # type: ignore[return-value]


def meant(error: _Error) -> _Error:
    """Marks an error of a built-in class as raised on purpose. Returns it."""
    error.__dict__["penstock_meant"] = True
    return error


def call_user(function: Callable[[Any], Any], argument: Any) -> Any:
    """Calls a function of the user. Tracebacks show all of the function's frames."""
    return function(argument)


# The package's folder, as tracebacks name it. Folders below it have examples, which count as user code.
_PACKAGE = os.path.dirname(call_user.__code__.co_filename)


def shorten(error: BaseException) -> bool:
    """Drops the package's frames from the tracebacks of an error and its causes. Returns False, without effect, if the
    frames must stay.

    Call it in the `except` clause of the function that the user called. If it returned True, raise the error again.
    """
    if os.environ.get("PENSTOCK_TRACEBACK") == "full":
        return False
    on_purpose = isinstance(error, PenstockError) or "penstock_meant" in error.__dict__ or _is_mismatch(error)
    if not (on_purpose or _of_user(error) or (error.__cause__ is not None and _of_user(error.__cause__))):
        return False
    seen: Set[int] = set()  # chains can be cyclic
    at: Optional[BaseException] = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        at.__traceback__ = _without_package(at.__traceback__)
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return True


def _is_mismatch(error: BaseException) -> bool:
    """Returns True if the arguments of a call do not fit a public function's signature."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return isinstance(error, TypeError) and at is not None and at.tb_frame.f_code in _boundaries


def _of_user(error: BaseException) -> bool:
    """Returns True if the error was raised below `call_user`."""
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code is call_user.__code__:
            return True
        at = at.tb_next
    return False


def _without_package(first: Optional[TracebackType]) -> Optional[TracebackType]:
    entries: List[TracebackType] = []
    at = first
    while at is not None:
        entries.append(at)
        at = at.tb_next
    kept: Optional[TracebackType] = None
    for entry in reversed(entries):
        if os.path.dirname(entry.tb_frame.f_code.co_filename) != _PACKAGE:
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept
