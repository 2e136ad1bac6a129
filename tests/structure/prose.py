"""Prose is plain English: it has no words and phrases of prose_words.txt.

Prose is comments, Markdown, docstrings of Python, and string literals of at least three words (messages, help texts). Code
fences, inline code, identifiers, and text in double quotes inside prose (quoted output) do not count.
"""

import functools
import os
import re

from ratchet import Finding
from tree import CPP, FENCE, Lines, tokens

_WORDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prose_words.txt")
_OWN_TEST = "tests/structure/prose_test.py"  # its made-up texts use the words on purpose

# Files are masked before the search. Text that is not prose becomes _CODE, which no phrase matches. Names within a
# sentence become _NAME, which counts as a word. All text keeps its position.
_CODE, _NAME = "\0", "_"

_SENTENCE = r"(?:\A\s*|\0\s*|[.!?]\s+|\|\s*|\n\n|(?:\A|\n)(?:[-*+>]|\d+\.|#+)\s)(?:\*\*)?"
_WORD = re.compile(r"(?<![^\s(\"'])[A-Za-z][a-z'-]*(?=[,;:.!?)\"']*(?:\s|$))")
_NAMES = re.compile(
    r"""
    ``[^`]+`` | `[^`\n]+`
  | \\?"[^"\n]{1,200}"
  | (?<=\])\([^)\s]*\)               # the target of a link
  | https?://\S+
  | \b[\w.]+\([^()\n]*\)             # a call
  | \w+(?:(?:::|->|[./])\w+)+        # a member, a file
  | \{[\w.:]*\}                      # a value in a Python message
  | (?<![\w-])--?[a-z][\w-]*         # a flag
  | \b\w+_\w*\b
    """,
    re.VERBOSE,
)
_STRING = r"""(?:\"(?:\\.|[^"\\\n])*\"|'(?:\\.|[^'\\\n])*')"""
_PYTHON = re.compile(
    r"(?P<comment>\#[^\n]*)|(?P<bytes>\b(?:[bB][rR]?|[rR][bB]))?"
    r'(?P<string>"""(?:\\.|[^\\])*?"""|' + r"'''(?:\\.|[^\\])*?'''|" + _STRING + ")",
    re.DOTALL,
)
_SHELL = re.compile(
    r"""(?P<heredoc><<-?\s*(?P<quote>['"]?)(?P<mark>\w+)(?P=quote)[^\n]*\n(?P<inside>.*?)\n\s*(?P=mark)\b)"""
    r"""|(?P<comment>(?<!\S)\#[^\n]*)|\\.|(?P<string>"(?:\\.|[^"\\])*"|'[^']*')""",
    re.DOTALL,
)
_HASH = re.compile(r"""(?P<comment>(?<!\S)\#[^\n]*)|(?P<string>"(?:\\.|[^"\\])*")""")
_SHELLS = re.compile(r"#!.*\b(?:ba)?sh\b")


@functools.cache
def words():
    """Returns one pattern for all phrases, in lower case, and the advice for each of its groups."""
    parts = {"^": [], "": []}
    advice = {"^": [], "": []}
    with open(_WORDS, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line and not line.startswith(("#", "[")):
                phrase, _, instead = line.rpartition(" | ")
                place = "^" if phrase.startswith("^") else ""
                parts[place].append("(" + phrase.removeprefix("^").replace(" ", r"\s+") + ")")
                advice[place].append(instead)
    pattern = rf"{_SENTENCE}(?:{'|'.join(parts['^'])})\b|\b(?=[a-z])(?:{'|'.join(parts[''])})\b"
    return re.compile(pattern), advice["^"] + advice[""]


def _is_message(text):
    return len(_WORD.findall(text)) >= 3


def _masked(text, spans):
    """Returns `text` with all but `spans`, sorted (start, end), masked."""
    parts, last = [], 0
    for start, end in spans:
        gap = _gap(text[last:start])
        if text[start - 1 : start + 1] in ('" ', "' "):  # the literal continues the sentence of a value before it
            gap = gap[:-1] + _NAME
        parts += [gap, text[start:end]]
        last = end
    parts.append(_gap(text[last:]))
    return "".join(parts)


def _cover(text, mark):
    return re.sub(r"\S", mark, text)


def _gap(text):
    """Returns the mask of text between two pieces of prose: a mark, and then blanks, which the search skips quickly."""
    blanks = re.sub(r"[^\n]", " ", text)
    # Consecutive literals, and lines of one comment, are one text.
    return blanks if not text.strip(' \t\n"/#') else blanks.replace(" ", _CODE, 1)


def _cpp(text):
    literals = []  # (start, end) of neighbors, which are one text

    def literal_spans():
        inside = " ".join(text[start:end] for start, end in literals)
        return list(literals) if _is_message(inside) else []

    for kind, start, end in tokens(text):
        if kind == "comment":
            yield from literal_spans()
            literals.clear()
            opening = re.match(r"//[/!]?<?|/\*+", text[start:end]).end()
            yield start + opening, end - 2 if text.startswith("/*", start) else end
        elif kind != "char":
            head = text.index("(", start) + 1 if kind == "raw" else start + 1
            tail = text.rindex(")", start, end) if kind == "raw" else end - 1
            if literals and text[literals[-1][1] : head].strip(' \t\n"'):
                yield from literal_spans()
                literals.clear()
            literals.append((head, tail))
    yield from literal_spans()


def _hashed(pattern, text):
    """Yields the spans of comments with # and of strings, by a pattern with the groups comment and string."""
    for match in pattern.finditer(text):
        if match.groupdict().get("inside") is not None:  # a here-document
            if _is_message(match["inside"]):
                yield match.span("inside")
        elif match["comment"] is not None:
            if not text.startswith("#!", match.start()):
                yield match.start("comment") + 1, match.end("comment")
        elif match["string"] is not None and not match.groupdict().get("bytes"):
            string = match["string"]
            quotes = 3 if string.startswith(('"""', "'''")) else 1
            if _is_message(string[quotes:-quotes]):
                yield match.start("string") + quotes, match.end("string") - quotes


def _prose(tree, path):
    """Returns the text of a file with all but its prose masked; None if the rule does not cover its kind."""
    name = os.path.basename(path)
    if path.endswith(".md"):
        return FENCE.sub(lambda match: _gap(match[0]), tree.text(path))
    if path.endswith((*CPP, ".proto")):
        return _masked(tree.text(path), _cpp(tree.text(path)))
    if path.endswith(".py"):
        return _masked(tree.text(path), _hashed(_PYTHON, tree.text(path)))
    if path.endswith((".cmake", ".yaml", ".yml", ".toml", ".service", ".conf")) or name in ("CMakeLists.txt", "Dockerfile"):
        return _masked(tree.text(path), _hashed(_HASH, tree.text(path)))
    if path.endswith(".sh") or ("." not in name and _SHELLS.match(tree.text(path))):
        return _masked(tree.text(path), _hashed(_SHELL, tree.text(path)))
    return None


def _squeezed(text):
    """Returns `text` in lower case with one empty line for several, and the numbers of its lines."""
    kept, numbers = [], []
    for number, line in enumerate(text.lower().split("\n"), 1):
        squeezed = " ".join(line.replace(_CODE, f" {_CODE} ").split())
        if squeezed or (kept and kept[-1]):
            kept.append(squeezed)
            numbers.append(number)
    return "\n".join(kept), numbers


def find(tree, targets=None):
    pattern, advice = words()
    for path in tree.files:
        masked = None if path == _OWN_TEST else _prose(tree, path)
        if masked is None:
            continue
        masked = _NAMES.sub(lambda match: _cover(match[0], _NAME), masked)
        masked = re.sub(r"\\[a-z\"']", "  ", masked)  # escapes in literals are not letters: "\nof"
        prose, numbers = _squeezed(masked)
        lines = source = None
        for match in pattern.finditer(prose):
            lines = lines or Lines(prose)
            source = source or tree.text(path).split("\n")
            number = numbers[lines.number(match.start(match.lastindex)) - 1]
            phrase = " ".join(match[match.lastindex].split())
            yield Finding(path, number, f"{phrase}: {source[number - 1].strip()}", advice[match.lastindex - 1])
