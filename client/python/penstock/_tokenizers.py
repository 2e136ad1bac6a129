"""The tokenizers of `convert`: those of Hugging Face, tiktoken and SentencePiece."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Mapping as AnyMapping
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

import numpy as np

from ._convert_source import needed
from ._errors import ConfigurationError

Token = Union[str, int, None]

_TIKTOKEN = "tiktoken:"
_JSON = "tokenizer.json"
# Its tokens show how an encoding of tiktoken divides texts, which no function of it returns.
_PROBE = "It's 12345 o'clock,\n\n  HTTPServer  don't;\t日本語 Größe 😀 2.5e-3 a_b  "
# Text that a library tokenizes at a time: its results take about a hundred times the memory of the tokens.
_MOST_BYTES = 1 << 20


class _HuggingFace:
    """A tokenizer.json. The special tokens are those that the file adds."""

    def __init__(self, library: Any, place: str, content: bytes) -> None:
        self._tokenizer = library.Tokenizer.from_buffer(content)
        # The file may cut texts, fill them up to the longest one of a call, or draw merges at random.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        if getattr(self._tokenizer.model, "dropout", None) is not None:
            self._tokenizer.model.dropout = None
        self.content = content

    def number_of(self, token: str) -> Optional[int]:
        number: Optional[int] = self._tokenizer.token_to_id(token)
        return number

    def has(self, number: int) -> bool:
        return self._tokenizer.id_to_token(number) is not None

    def ids(self, texts: List[str]) -> List[List[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)]


class _Tiktoken:
    """An encoding that tiktoken knows by its name. Special tokens in a text are plain text."""

    def __init__(self, library: Any, place: str, content: bytes) -> None:
        self._encoding = library.get_encoding(place)
        known = (self._encoding.token_byte_values(), sorted(self._encoding.special_tokens_set), self.ids([_PROBE]))
        self.content = repr(known).encode()

    def number_of(self, token: str) -> Optional[int]:
        try:
            number: int = self._encoding.encode_single_token(token)
        except KeyError:
            return None
        return number

    def has(self, number: int) -> bool:
        try:
            self._encoding.decode_single_token_bytes(number)
        except (KeyError, OverflowError):
            return False
        return True

    def ids(self, texts: List[str]) -> List[List[int]]:
        return [self._encoding.encode_ordinary(text) for text in texts]


class _SentencePiece:
    """A model of SentencePiece. No special tokens are added."""

    def __init__(self, library: Any, place: str, content: bytes) -> None:
        self._processor = library.SentencePieceProcessor(model_proto=content)
        self.content = content

    def number_of(self, token: str) -> Optional[int]:
        number: int = self._processor.piece_to_id(token)
        return number if self._processor.id_to_piece(number) == token else None

    def has(self, number: int) -> bool:
        return 0 <= number < int(self._processor.get_piece_size())

    def ids(self, texts: List[str]) -> List[List[int]]:
        found: List[List[int]] = self._processor.encode(texts, out_type=int, num_threads=1)
        return found


_KINDS = {"tokenizers": _HuggingFace, "tiktoken": _Tiktoken, "sentencepiece": _SentencePiece}


class Tokenizer:
    """Tokens of texts, between a first and a last token. A reader's process opens the library again."""

    def __init__(self, place: str, begin: Token = None, end: Token = None) -> None:
        """Opens a file, or "tiktoken:NAME". Raises ConfigurationError that names it."""
        self._package, self._place, self._content = _found(place)
        self._library: Any
        module = self._open()
        self._begin = self._special(place, "begin_token", begin)
        self._end = self._special(place, "end_token", end)
        digest = hashlib.sha256(self._library.content).hexdigest()[:16]
        ends = f", tokens {self._begin} {self._end}" if self._begin or self._end else ""
        version = getattr(module, "__version__", "?")
        #: Describes all that decides about the tokens.
        self.identity = f"{os.path.basename(self._place)} {digest} ({self._package} {version}{ends})"
        #: Describes the tokenizer for the user.
        self.name = os.path.basename(self._place)

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_library": None}

    def _open(self) -> Any:
        what = f"the tokenizer {self._place}"
        try:
            module = importlib.import_module(self._package)
        except ModuleNotFoundError as error:
            raise needed(error.name or self._package, self._package, what) from None
        try:
            self._library = _KINDS[self._package](module, self._place, self._content)
        except Exception as error:  # each library has errors of its own
            raise ConfigurationError(f"{what} cannot be opened: {error}") from None
        return module

    def _special(self, place: str, argument: str, token: Token) -> List[int]:
        if token is None:
            return []
        if not isinstance(token, (int, np.integer, str)) or isinstance(token, bool):
            raise ConfigurationError(f"{argument}={token!r}: a token, or its number")
        if not isinstance(token, str) or (token.isascii() and token.isdigit()):
            if int(token) < 0 or not self._library.has(int(token)):
                raise ConfigurationError(f"{argument}: {place} has no token with the number {token}")
            return [int(token)]
        number = self._library.number_of(token)
        if number is None:
            raise ConfigurationError(f"{argument}: {place} has no token {token!r}; give one of its tokens, or its number")
        return [number]

    def ids(self, texts: Sequence[Optional[str]]) -> List[Any]:
        """Returns an int32 array for each text. A missing text has an empty array."""
        if self._library is None:
            self._open()
        out: List[Any] = []
        for some in _parts(texts):
            found = iter(self._library.ids([text for text in some if text is not None]))
            for text in some:
                numbers = [] if text is None else [*self._begin, *next(found), *self._end]
                out.append(np.array(numbers, "<i4"))
        return out


def _parts(texts: Sequence[Optional[str]]) -> Iterator[Sequence[Optional[str]]]:
    """Yields the texts in parts of a limited size."""
    begin = size = 0
    for number, text in enumerate(texts):
        if size > _MOST_BYTES:
            yield texts[begin:number]
            begin, size = number, 0
        size += len(text or "")
    if begin < len(texts):
        yield texts[begin:]


def tokenizers_of(
    tokenize: Optional[Mapping[str, Union[str, os.PathLike[str]]]], begin: Token = None, end: Token = None
) -> Dict[str, Tokenizer]:
    """Returns the tokenizers for the arguments of convert(). Columns with the same tokenizer share one."""
    if not tokenize:
        if begin is not None or end is not None:
            raise ConfigurationError("begin_token and end_token need tokenize (--tokenize COLUMN=TOKENIZER)")
        return {}
    if not isinstance(tokenize, AnyMapping):
        raise ConfigurationError(f'tokenize={tokenize!r}: give columns and tokenizers: tokenize={{"text": "tokenizer.json"}}')
    places = {column: os.fspath(place) for column, place in tokenize.items()}
    opened = {place: Tokenizer(place, begin, end) for place in dict.fromkeys(places.values())}
    return {column: opened[place] for column, place in places.items()}


def _found(place: str) -> Any:
    """Returns the package that reads a tokenizer, its path or name, and the content of its file."""
    if place.startswith(_TIKTOKEN):
        name = place[len(_TIKTOKEN) :]
        return "tiktoken", name, name.encode()
    path = os.path.join(place, _JSON) if os.path.isdir(place) else place
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ConfigurationError(
            f"tokenize: {path} cannot be read: {error.strerror}; give a tokenizer.json, a model of SentencePiece, or "
            "tiktoken:NAME"
        ) from None
    if content.lstrip().startswith(b"{"):
        return "tokenizers", path, content
    if content.startswith(b"\n"):  # the first field of a ModelProto, its pieces
        return "sentencepiece", path, content
    raise ConfigurationError(
        f"tokenize: {path} is neither a tokenizer.json nor a model of SentencePiece; an encoding of tiktoken is named "
        "tiktoken:NAME"
    )
