"""The messages of a job file as Python classes, created from _schema.json, the output of `penstock schema --json`."""

from __future__ import annotations

import inspect
import math
import re
import struct
from typing import Any, ClassVar, Dict, Iterable, Iterator, List, Mapping, Tuple, Type

from ._errors import ConfigurationError
from ._expressions import Expression
from ._near_name import did_you_mean, unknown
from ._schema import SCHEMA, Field, field_name, python_name
from ._textproto import number, quoted
from ._tracebacks import public

_INTEGERS = {
    "int32": (-(1 << 31), 1 << 31),
    "int64": (-(1 << 63), 1 << 63),
    "uint32": (0, 1 << 32),
    "uint64": (0, 1 << 64),
    "fixed64": (0, 1 << 64),
}


def _unknown_field(message: str, name: str, known: Iterable[str]) -> ConfigurationError:
    return unknown("field", name, known, f" in {_called(message)!r}")


def _called(message: str) -> str:
    """Returns a message's name in job files: random_resized_crop for RandomResizedCrop."""
    for name, op in SCHEMA.ops().items():
        if op.of == message:
            return name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", message).lower()


class Message:
    """A message of a job file. The constructor and attributes set and check its fields.

    A dict may replace a message, and a name an enum. str() returns the message's text.
    """

    _name: ClassVar[str] = ""
    _fields: ClassVar[Dict[str, Field]] = {}
    _values: Dict[str, Any]

    @public
    def __init__(self, **fields: Any) -> None:
        object.__setattr__(self, "_values", {})
        for name, value in fields.items():
            setattr(self, name, value)

    @public
    def __setattr__(self, name: str, value: Any) -> None:
        name = field_name(name)
        field = self._fields.get(name)
        if field is None:
            raise _unknown_field(self._name, name, self._fields)
        if value is None:
            self._values.pop(name, None)
            return
        self._values[name] = _checked(f"{_called(self._name)}.{name}", field, value)
        if field.oneof:
            for other in self._fields.values():
                if other.oneof == field.oneof and other.name != name:
                    self._values.pop(other.name, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        name = field_name(name)
        field = self._fields.get(name)
        if field is None:
            raise AttributeError(str(_unknown_field(self._name, name, self._fields)))
        if name in self._values:
            return self._values[name]
        return self._unset(field)

    def _unset(self, field: Field) -> Any:
        """Returns the value of an unset field. The caller may fill a list, a map or a message in place."""
        if field.oneof:
            return None
        if field.label == "repeated":
            return self._values.setdefault(field.name, _List(f"{_called(self._name)}.{field.name}", field))
        if field.label == "map":
            return self._values.setdefault(field.name, {})
        if field.type == "message":
            return self._values.setdefault(field.name, CLASSES[field.of]())
        if field.presence:
            return None
        if field.type == "enum":
            return SCHEMA.zeros[field.of]
        return {"string": "", "bytes": b"", "bool": False, "float": 0.0, "double": 0.0}.get(field.type, 0)

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *map(python_name, self._fields)]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Message:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Dict[int, Any]) -> Message:
        return _restored(type(self), {name: _copied(value) for name, value in self._values.items()})

    def __reduce__(self) -> Tuple[Any, ...]:
        return _restored, (type(self), dict(self._values))

    def __repr__(self) -> str:
        set_fields = ((python_name(name), value) for name, value in self._values.items() if not _empty(value))
        shown = ", ".join(f"{name}={value!r}" for name, value in set_fields)
        return f"{type(self).__name__}({shown})"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Returns the message in protobuf's text format."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for name, field in self._fields.items():
            if name not in self._values:
                continue
            value = self._values[name]
            if field.label == "map":
                for key, entry in value.items():
                    yield f"{name} {{ key: {_scalar(field.key, key)} value: {_scalar(field.type, entry)} }}"
            elif field.type == "message":
                for entry in value if field.label == "repeated" else [value]:
                    inner = list(entry._lines())
                    if not inner and field.label == "single" and not field.oneof:
                        continue  # read, but never set
                    yield from _block(name, inner)
            elif field.label == "repeated":
                for entry in value:
                    yield f"{name}: {_scalar(field.type, entry)}"
            else:
                yield f"{name}: {_scalar(field.type, value)}"


def _block(name: str, lines: List[str]) -> Iterator[str]:
    short = f"{name} {{ {' '.join(lines)} }}" if lines else f"{name} {{}}"
    if len(short) <= 110 and not any("\n" in line for line in lines):
        yield short
        return
    yield f"{name} {{"
    for line in lines:
        yield f"  {line}"
    yield "}"


class _List(List[Any]):
    """The values of a repeated field. Checks each added value."""

    def __init__(self, what: str, field: Field, values: Iterable[Any] = ()) -> None:
        self._what, self._field = what, field
        super().__init__(_checked_one(f"{what}[{i}]", field, value) for i, value in enumerate(values))

    @public
    def append(self, value: Any) -> None:
        super().append(_checked_one(f"{self._what}[{len(self)}]", self._field, value))

    @public
    def insert(self, index: Any, value: Any) -> None:
        super().insert(index, _checked_one(f"{self._what}[{index}]", self._field, value))

    @public
    def extend(self, values: Iterable[Any]) -> None:
        for value in values:
            self.append(value)

    @public
    def __iadd__(self, values: Iterable[Any]) -> _List:
        self.extend(values)
        return self

    @public
    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            super().__setitem__(index, _List(self._what, self._field, value))
        else:
            super().__setitem__(index, _checked_one(f"{self._what}[{index}]", self._field, value))

    def __reduce_ex__(self, protocol: Any) -> Tuple[Any, ...]:
        return list, (list(self),)


def _restored(cls: Type[Message], values: Dict[str, Any]) -> Message:
    message = cls.__new__(cls)
    object.__setattr__(message, "_values", {})
    for name, value in values.items():
        setattr(message, name, value)
    return message


def _copied(value: Any) -> Any:
    if isinstance(value, Message):
        return value.__copy__()
    if isinstance(value, list):
        return [_copied(entry) for entry in value]
    return dict(value) if isinstance(value, dict) else value


def _empty(value: Any) -> bool:
    if isinstance(value, Message):
        return all(map(_empty, value._values.values()))
    return isinstance(value, (list, dict)) and not value


def _scalar(kind: str, value: Any) -> str:
    if kind == "string":
        return quoted(value.encode())
    if kind == "bytes":
        return quoted(value)
    if kind == "bool":
        return "true" if value else "false"
    if kind == "enum":
        return str(value)
    return number(value)


def _checked(what: str, field: Field, value: Any) -> Any:
    if field.label == "map":
        if not isinstance(value, Mapping):
            raise _expected(what, "a dict", value)
        key = field._replace(type=field.key, label="single")
        return {_checked_one(f"{what}'s key", key, k): _checked_one(f"{what}[{k!r}]", field, v) for k, v in value.items()}
    if field.label == "repeated":
        one = isinstance(value, (str, bytes, int, float, Mapping, Message))
        return _List(what, field, [value] if one else value)
    return _checked_one(what, field, value)


def _checked_one(what: str, field: Field, value: Any) -> Any:
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()  # a NumPy scalar
    kind = field.type
    if kind == "message":
        cls = CLASSES[field.of]
        if isinstance(value, Mapping):
            return cls(**value)
        if not isinstance(value, cls):
            raise _expected(what, f"a message {field.of} or a dict", value)
        return value
    if kind == "enum":
        values = SCHEMA.enums[field.of]
        if not isinstance(value, str) or value not in values:
            hint = did_you_mean(value, values) if isinstance(value, str) else ""
            raise ConfigurationError(
                f"{what}: {_shown(value)} is not a value of {field.name!r}; it is one of {' | '.join(values)}{hint}"
            )
        return value
    if kind == "string":
        if isinstance(value, Expression):
            value = str(value)
        if not isinstance(value, str):
            if not hasattr(value, "__fspath__"):
                raise _expected(what, "a text", value)
            value = str(value)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ConfigurationError(
                f"{what} contains characters that UTF-8 cannot encode: {value!r}; remove them"
            ) from None
        return value
    if kind == "bytes":
        if isinstance(value, str):
            return value.encode()
        if not isinstance(value, (bytes, bytearray)):
            raise _expected(what, "bytes or a text", value)
        return bytes(value)
    if kind == "bool":
        if not isinstance(value, bool):
            raise _expected(what, "True or False", value)
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        if not is_number or not isinstance(value, int) or (value < low == 0):
            raise _expected(what, "a whole number from 0 on" if is_number and value < low == 0 else "a whole number", value)
        if not low <= value < high:
            raise ConfigurationError(f"{what}: {value} is not from {low} to {high - 1}")
        return value
    if not is_number:
        raise _expected(what, "a number", value)
    value = float(value)
    if kind == "float" and math.isfinite(value):
        try:
            struct.pack("<f", value)
        except OverflowError:
            raise ConfigurationError(f"{what}: {value} does not fit a float32") from None
    return value


def _expected(what: str, wanted: str, value: Any) -> ConfigurationError:
    return ConfigurationError(f"{what}: {wanted} is expected, not {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _signature(fields: Iterable[str]) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature([inspect.Parameter(python_name(name), kind, default=None) for name in fields])


def describe(name: str) -> str:
    """Returns help for a message: its comment, and a line for each field."""
    lines = [SCHEMA.comments[name]] if SCHEMA.comments[name] else []
    for field in SCHEMA.messages[name].values():
        if field.oneof:
            continue
        kind = field.of or field.type
        if field.type == "enum":
            kind = " | ".join(SCHEMA.enums[field.of])
        if field.label != "single":
            kind = f"{field.label} {kind}"
        lines.append(f"  {python_name(field.name)} ({kind})" + (f": {field.comment}" if field.comment else ""))
    return "\n".join(lines)


def _class_of(name: str) -> Type[Message]:
    namespace = {
        "__doc__": describe(name),
        "__module__": "penstock.messages",
        "__signature__": _signature(SCHEMA.messages[name]),
        "_name": name,
        "_fields": SCHEMA.messages[name],
    }
    return type(name, (Message,), namespace)


CLASSES: Dict[str, Type[Message]] = {name: _class_of(name) for name in SCHEMA.messages}


def op_function(name: str) -> Any:
    """Returns ops.NAME, a function that creates an Op."""
    fields = SCHEMA.messages[SCHEMA.ops()[name].of]

    @public
    def op(**arguments: Any) -> Message:
        place = {given: arguments.pop(given) for given in ("column", "name") if given in arguments}
        for given in arguments:
            if given not in fields:
                raise unknown("field", given, [*fields, "column", "name"], f" in {name!r}")
        return CLASSES["Op"](**place, **{name: arguments})

    op.__name__ = op.__qualname__ = name
    op.__module__ = "penstock.ops"
    op.__doc__ = describe(SCHEMA.ops()[name].of) or f"`{name}` of docs/augmentations.md."
    op.__signature__ = _signature([*fields, "column", "name"])  # type: ignore[attr-defined]
    return op
