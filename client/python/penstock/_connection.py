"""The connection to a coordinator: its address, the files for TLS, and the file of the token."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Optional

from ._arguments import Path, path_text
from ._errors import ConfigurationError

_SYSTEM = "system"  # the value of tls_ca for the host's trust store
_PAIR = ("tls_cert", "tls_key")


class Connection(NamedTuple):
    """The arguments of a connection. For None, the programs use their environment: PENSTOCK_COORDINATOR, PENSTOCK_TLS_CA,
    PENSTOCK_TLS_CERT, PENSTOCK_TLS_KEY and PENSTOCK_TOKEN_FILE.
    """

    coordinator: Optional[str]
    tls_ca: Optional[str]
    tls_cert: Optional[str]
    tls_key: Optional[str]
    token_file: Optional[str]

    def members(self) -> Dict[str, str]:
        """Returns the members of OPEN."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def flags(self) -> List[str]:
        """Returns the flags of a command."""
        return [f"--{name.replace('_', '-')}={value}" for name, value in self.members().items()]

    def check_unused(self) -> None:
        """Raises ConfigurationError if there are files. Call it for a job that is read without a coordinator."""
        given = " and ".join(name for name in self.members() if name != "coordinator")
        if given:
            raise ConfigurationError(
                f"{given}: this is for the connection to a coordinator, and this job is read without one. Give "
                f"coordinator='HOST:PORT' and the name of a served job, or leave out {given}"
            )


def connection_of(
    coordinator: Optional[str],
    tls_ca: Optional[Path],
    tls_cert: Optional[Path],
    tls_key: Optional[Path],
    token_file: Optional[Path],
) -> Connection:
    """Checks the arguments, and makes paths absolute, because the feeder may have started in another folder. Does not read
    the files.
    """
    files = {
        "tls_ca": _SYSTEM if tls_ca == _SYSTEM else _absolute("tls_ca", tls_ca),
        "tls_cert": _absolute("tls_cert", tls_cert),
        "tls_key": _absolute("tls_key", tls_key),
        "token_file": _absolute("token_file", token_file, "the path of a file with a token"),
    }
    for given, missing in (_PAIR, _PAIR[::-1]):
        if files[given] is not None and files[missing] is None and not os.environ.get(f"PENSTOCK_{missing.upper()}"):
            raise ConfigurationError(
                f"{given}={files[given]!r} without {missing}: a certificate and its private key are used together. Give "
                f"{missing}= too"
            )
    return Connection(coordinator, **files)


def _absolute(name: str, path: Optional[Path], expected: str = "the path of a PEM file") -> Optional[str]:
    if path is None:
        return None
    text = path_text(name, path)
    if not text:
        raise ConfigurationError(f"{name}={path!r}: {expected} is expected")
    return os.path.abspath(os.path.expanduser(text))
