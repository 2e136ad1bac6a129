"""Columns of texts whose features are tokens."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._convert_source import BadValue, ConvertedColumn
from ._errors import ConfigurationError
from ._frames import Variable, key_bytes
from ._packing import DATA_TYPES
from ._tokenizers import Tokenizer

_ARRAY = b"\x04"

Text = Union[str, bytes, bytearray, memoryview, None]
Encode = Callable[[Sequence[Text], Optional[Any]], Variable]


def token_column(name: str, source: str, tokenizer: Tokenizer) -> Tuple[ConvertedColumn, Encode]:
    """Returns the column, and its encoder. `source` is the type of the texts. The encoder takes the texts and which of
    them are valid (None: all). It raises BadValue.
    """
    head = key_bytes(name) + _ARRAY + bytes([DATA_TYPES["int32"], 1])

    def encode(texts: Sequence[Text], valid: Optional[Any]) -> Variable:
        found = tokenizer.ids(decoded_texts(texts))
        counts = np.array([len(tokens) for tokens in found], "<u8")
        offsets = np.concatenate(([0], np.cumsum(counts.astype(np.int64)))) * 4
        return Variable(head, counts, b"", b"".join([tokens.tobytes() for tokens in found]), offsets, valid)

    return ConvertedColumn(name, f"{source}, by {tokenizer.name}", "INT32 as raw bytes", "[*]"), encode


def no_text(name: str, kind: str) -> ConfigurationError:
    """Returns the error for a column whose values are not single texts."""
    return ConfigurationError(f"tokenize: column {name!r} is {kind}; only a column with one text in a row has tokens")


def decoded_texts(texts: Sequence[Text]) -> List[Optional[str]]:
    """Returns texts as str. Raises BadValue for one that is not UTF-8, or a str that has none."""
    out: List[Optional[str]] = []
    for row, text in enumerate(texts):
        try:
            if isinstance(text, str):
                text.encode()
                out.append(text)
            else:
                out.append(None if text is None else bytes(text).decode())
        except (UnicodeDecodeError, UnicodeEncodeError) as error:
            raise BadValue(row, f"has a text that is not UTF-8 ({error.reason}), which has no tokens") from None
    return out
