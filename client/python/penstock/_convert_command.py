"""The command `penstock convert` of the wheel."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Dict, List, NoReturn

from ._column_options import ColumnOptions
from ._convert import Conversion, run
from ._convert_source import ConvertedColumn, Source
from ._errors import ConfigurationError, PenstockError
from ._program import find_program
from ._scratch import Scratch
from ._sizes import parse_size
from ._sources import open_source
from ._tokenizers import tokenizers_of

_FAILED, _USAGE = 1, 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"penstock convert: {message}\n{self.format_usage()}".rstrip(), file=sys.stderr)
        sys.exit(_USAGE)


def parser() -> argparse.ArgumentParser:
    """Returns the flags, which client/cli/commands/convert.cc lists for --help, man pages and completion."""
    usage = "penstock convert SOURCE --out DIR [flags]   (see penstock convert --help)"
    out = _Parser(prog="penstock convert", usage=usage, add_help=False)
    out.add_argument("source")
    out.add_argument("--out")
    out.add_argument("--dry-run", action="store_true")
    out.add_argument("--drop", action="append", default=[])
    out.add_argument("--split", default="")
    out.add_argument("--trust", action="store_true")
    out.add_argument("--tokenize", action="append", default=[])
    out.add_argument("--begin-token")
    out.add_argument("--end-token")
    out.add_argument("--processes", type=int, default=0)
    out.add_argument("--prefix", default="data")
    out.add_argument("--shard-bytes", default="128MiB")
    out.add_argument("--json", action="store_true")
    return out


def table(columns: List[ConvertedColumn]) -> str:
    """Returns the report of the columns."""
    rows = [("column", "type in the source", "feature", "shape")]
    rows += [(c.name, c.source, c.feature or "none: all values are null", c.shape) for c in columns]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join("  ".join([*(text.ljust(width) for text, width in zip(row, widths)), row[3]]).rstrip() for row in rows)


def main(arguments: List[str]) -> int:
    """Runs the command, and returns its exit code."""
    if "--help" in arguments or "-h" in arguments:
        program = find_program()
        os.execv(program, [program, "convert", "--help"])
    flags = parser().parse_args(arguments)
    if not flags.out and not flags.dry_run:
        parser().error("--out DIR is missing")
    try:
        parse_size("--shard-bytes", flags.shard_bytes)
        _convert(flags)
    except PenstockError as error:
        print(f"penstock convert: {str(error).removeprefix('penstock convert: ')}", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        print("penstock convert: stopped; the same command continues after the last finished shard", file=sys.stderr)
        return 128 + 2
    return 0


def _convert(flags: Any) -> None:
    tokenizers = tokenizers_of(_pairs(flags.tokenize), flags.begin_token, flags.end_token)
    with Scratch() as scratch:
        source = open_source(flags.source, ColumnOptions(flags.drop, tokenizers), flags.split, flags.trust, scratch)
        _write(source, flags)


def _write(source: Source, flags: Any) -> None:
    if not flags.json:
        print(table(source.columns), flush=True)
    result = run(
        source,
        flags.out or "",
        processes=flags.processes,
        prefix=flags.prefix,
        shard_bytes=flags.shard_bytes,
        dry_run=flags.dry_run,
    )
    if flags.json:
        columns = [{"name": c.name, "source": c.source, "feature": c.feature, "shape": c.shape} for c in result.columns]
        print(json.dumps({**result._asdict(), "columns": columns}))
    else:
        print(summary(result, flags.dry_run))


def _pairs(texts: List[str]) -> Dict[str, str]:
    """Returns the columns and tokenizers that --tokenize names."""
    out: Dict[str, str] = {}
    for text in texts:
        column, equals, place = text.partition("=")
        if not (column and equals and place):
            raise ConfigurationError(f"--tokenize {text}: COLUMN=TOKENIZER is expected, such as text=tokenizer.json")
        if column in out:
            raise ConfigurationError(f"--tokenize: column {column!r} has two tokenizers; give one")
        out[column] = place
    return out


def summary(result: Conversion, dry_run: bool) -> str:
    if dry_run:
        return f"{result.records:,} rows; --dry-run: nothing was written"
    lines = [f"{result.records:,} records in {result.shards:,} shards, {result.bytes / 1e6:,.1f} MB: {result.files}"]
    if result.resumed_shards:
        lines.append(f"{result.resumed_shards:,} of the shards are from an earlier run")
    for name, rows in result.missing.items():
        lines.append(f"{rows:,} of the rows that were read have no value for {name!r} (null): the column is ragged")
    return "\n".join([*lines, f"next: penstock bench {result.job}"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
