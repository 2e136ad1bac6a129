"""Which columns of a source `convert` leaves out, and which become tokens."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence

from ._errors import ConfigurationError
from ._tokenizers import Tokenizer


class ColumnOptions:
    """The arguments `drop` and `tokenize`."""

    def __init__(self, drop: Sequence[str] = (), tokenizers: Optional[Mapping[str, Tokenizer]] = None) -> None:
        #: Names without repetitions.
        self.drop: List[str] = sorted(set(drop))
        #: By the name of a column.
        self.tokenizers: Dict[str, Tokenizer] = dict(tokenizers or {})
        for name in self.tokenizers:
            inside = next((one for one in self.drop if name == one or name.startswith(f"{one}.")), None)
            if inside is not None:
                raise ConfigurationError(f"column {name!r} is in tokenize, and {inside!r} in drop; leave it out of one of them")

    def check(self, what: str, names: Sequence[str], parents: Sequence[str] = ()) -> None:
        """Raises ConfigurationError for a name that is not one of `names`. Only drop may have `parents` of columns."""
        allowed = (("drop", self.drop, [*names, *parents]), ("tokenize", list(self.tokenizers), list(names)))
        for argument, given, known in allowed:
            for name in given:
                if name not in known:
                    raise ConfigurationError(f"{argument}: {what} has no column {name!r}; it has {', '.join(names)}")

    def arguments(self) -> Dict[str, str]:
        """Returns the part of Source.arguments() that these options decide."""
        out = {"drop": ", ".join(self.drop)} if self.drop else {}
        if self.tokenizers:
            out["tokenize"] = ", ".join(f"{name} by {self.tokenizers[name].identity}" for name in sorted(self.tokenizers))
        return out
