"""The messages, fields and enums of a job file, from _schema.json, the output of `penstock schema --json`."""

from __future__ import annotations

import json
import keyword
from pathlib import Path
from typing import Dict, NamedTuple


class Field(NamedTuple):
    """A field of a message."""

    name: str
    type: str
    label: str
    presence: bool
    oneof: str
    comment: str
    of: str = ""
    key: str = ""


class Schema:
    """The messages, fields and enums of a job file."""

    def __init__(self, text: str) -> None:
        data = json.loads(text)
        self.root: str = data["root"]
        self.messages: Dict[str, Dict[str, Field]] = {}
        self.comments: Dict[str, str] = {}
        for name, message in data["messages"].items():
            self.messages[name] = {field["name"]: Field(**field) for field in message["fields"]}
            self.comments[name] = message["comment"]
        self.enums: Dict[str, Dict[str, str]] = {
            name: {value["name"]: value["comment"] for value in enum["values"]} for name, enum in data["enums"].items()
        }
        self.zeros = {name: next(iter(values)) for name, values in self.enums.items()}

    def ops(self) -> Dict[str, Field]:
        """Returns the ops by their names in a job file."""
        return {name: field for name, field in self.messages["Op"].items() if field.oneof}


def load_schema() -> Schema:
    return Schema((Path(__file__).with_name("_schema.json")).read_text(encoding="utf-8"))


SCHEMA = load_schema()


def python_name(field: str) -> str:
    """Returns the name of a field in Python: `from_` for `from`."""
    return field + "_" if keyword.iskeyword(field) else field


def field_name(name: str) -> str:
    """Returns the name in job files of a field with this name in Python."""
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name
