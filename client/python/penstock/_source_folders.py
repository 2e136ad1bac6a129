"""Folders of a source of `convert`, on this machine or in a bucket."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Dict, List, Optional
from urllib.parse import quote

from ._errors import ConfigurationError
from ._remote_files import Facts, entries_of, facts_of, is_remote, open_unbuffered

_ABSENT = (None, "NOT_FOUND", "INVALID_ARGUMENT")


class Folder:
    """A folder whose content is listed at most once. A web server does not list folders: there, it finds named files."""

    def __init__(self, path: str) -> None:
        self.path = path.rstrip("/") if is_remote(path) else path
        #: Lists a remote folder.
        self.entries = functools.cache(entries_of)
        self._files: Dict[str, Optional[Dict[str, Dict[str, Any]]]] = {}

    def at(self, name: str) -> str:
        """Returns the path or URL of a file in the folder. "" is the folder. A name in the index of a remote folder may be
        anything, so it must stay in the folder: otherwise raises ConfigurationError.
        """
        if is_remote(self.path) and (name.startswith("/") or is_remote(name) or ".." in name.split("/")):
            raise ConfigurationError(f"{self.path} names the file {name!r}, which is not in it; write its index again")
        if self.path.startswith(("http://", "https://")):
            name = quote(name)
        return os.path.join(self.path, name) if name else self.path

    def facts(self, name: str) -> Optional[Facts]:
        """Returns size and state of a file, or None if there is no such file. `name` may contain folders."""
        place = self.at(name)
        if not is_remote(place):
            try:
                return facts_of(place)
            except OSError:
                return None
        folder, _, base = place.rpartition("/")
        files = self._files_in(folder)
        if files is None:
            return _asked(place)
        entry = files.get(base)
        if entry is None:
            return None
        return Facts(entry["size"], entry["state"]) if "state" in entry else facts_of(place)

    def folders(self) -> List[str]:
        """Returns the names of the folders inside, in order. A web server does not list them."""
        if not is_remote(self.path):
            return sorted(name for name in os.listdir(self.path) if os.path.isdir(self.at(name)))
        found = self._listed(self.path) or ()
        return sorted(entry["name"] for entry in found if entry["kind"] == "folder")

    def read(self, name: str) -> Any:
        """Returns the content of a JSON file, or None if there is no such file. Raises ConfigurationError."""
        facts = self.facts(name)
        if facts is None:
            return None
        try:
            with open_unbuffered(self.at(name), facts) as file:
                return json.loads(file.read())
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{self.at(name)} cannot be read: {error}; copy the file again") from None

    def identity(self, *names: str) -> str:
        """Returns a text that changes with the states of the named files."""
        return "".join(f"{name} {facts.size} {facts.state}\n" for name in names if (facts := self.facts(name)) is not None)

    def _listed(self, folder: str) -> Optional[List[Dict[str, Any]]]:
        """Returns the entries of a remote folder: none if it does not exist, and None if its storage lists nothing."""
        try:
            return self.entries(folder)
        except ConfigurationError as error:
            if error.code not in (*_ABSENT, "UNIMPLEMENTED"):
                raise
            return None if error.code == "UNIMPLEMENTED" else []

    def _files_in(self, folder: str) -> Optional[Dict[str, Dict[str, Any]]]:
        """Returns the files of a remote folder by name, or None if its storage lists nothing."""
        if folder not in self._files:
            listed = self._listed(folder)
            files = {entry["name"]: entry for entry in listed or () if entry["kind"] == "file"}
            self._files[folder] = None if listed is None else files
        return self._files[folder]


def _asked(place: str) -> Optional[Facts]:
    try:
        return facts_of(place)
    except ConfigurationError as error:
        if error.code not in _ABSENT:
            raise
        return None
