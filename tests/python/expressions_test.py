"""Expressions of dataset.select from Python's operators: they mean the same as in Python, as the program counts them."""

import random
import subprocess

import numpy as np
import pytest

import penstock
from fixtures import BIN
from penstock import ConfigurationError, Job, ShardWriter, col, messages

LANGUAGES = ["en", "de", "fr", "x'\\y"]
RECORDS = [
    {"a": a, "b": b, "x/y": float(x) / 4, "lang": lang}
    for a, b, x, lang in [(i % 7 - 3, i % 5 - 1, i - 20, LANGUAGES[i % 4]) for i in range(60)]
]


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expressions") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
        with ShardWriter(folder) as writer:
            for record in RECORDS:
                writer.write({name: value.encode() if name == "lang" else value for name, value in record.items()})
    return next(folder.glob("*.tfrecord"))


def count(shard, text):
    done = subprocess.run(
        [str(BIN / "penstock"), "select", str(shard), "--filter", text, "--examples", "0"],
        capture_output=True,
        text=True,
        env={"XDG_CACHE_HOME": str(shard.parent.parent), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, (text, done.stderr)
    return int(done.stdout.split()[0])


def number(draw, depth):
    """Returns an expression for a number, and a function from a record to its value."""
    if depth == 0 or draw.random() < 0.3:
        kind = draw.randrange(4)
        if kind == 0:
            value = draw.choice([-2, 0, 3, 0.5, np.int32(2), np.float64(-1.25)])
            return value, lambda record: value
        name = ("a", "b", "x/y")[kind - 1]
        return col(name), lambda record: record[name]
    left, of_left = number(draw, depth - 1)
    right, of_right = number(draw, depth - 1)
    if not isinstance(left, type(col("a"))) and not isinstance(right, type(col("a"))):
        left, of_left = col("a"), lambda record: record["a"]
    kind = draw.randrange(6)
    if kind == 0:
        return left + right, lambda record: of_left(record) + of_right(record)
    if kind == 1:
        return left - right, lambda record: of_left(record) - of_right(record)
    if kind == 2:
        return left * right, lambda record: of_left(record) * of_right(record)
    if kind == 3:
        return left // 3, lambda record: of_left(record) // 3
    if kind == 4:
        return left % 4, lambda record: of_left(record) % 4
    return col("a") - (left - right), lambda record: record["a"] - (of_left(record) - of_right(record))


def condition(draw, depth):
    """Returns a condition, and a function from a record to its value."""
    if depth == 0:
        kind = draw.randrange(8)
        if kind == 0:
            return col("lang") == "x'\\y", lambda record: record["lang"] == "x'\\y"
        if kind == 1:
            return col("lang").isin(["en", b"fr"]), lambda record: record["lang"] in ("en", "fr")
        if kind == 2:
            return -col("a") >= 1, lambda record: -record["a"] >= 1
        left, of_left = number(draw, 2)
        if not isinstance(left, type(col("a"))):
            left, of_left = col("b"), lambda record: record["b"]
        right, of_right = number(draw, 2)
        if kind == 3:
            return left != right, lambda record: of_left(record) != of_right(record)
        if kind == 4:
            return left < right, lambda record: of_left(record) < of_right(record)
        if kind == 5:
            return left >= 1, lambda record: of_left(record) >= 1
        if kind == 6:
            return left > right, lambda record: of_left(record) > of_right(record)
        return left == right, lambda record: of_left(record) == of_right(record)
    left, of_left = condition(draw, depth - 1)
    right, of_right = condition(draw, depth - 1)
    kind = draw.randrange(4)
    if kind == 0:
        return ~left, lambda record: not of_left(record)
    if kind == 1:
        return left | right, lambda record: of_left(record) or of_right(record)
    return left & right, lambda record: of_left(record) and of_right(record)


def test_random_expressions_mean_the_same_as_in_python(shard):
    draw = random.Random(7)
    kept = set()
    for _ in range(60):
        expression, of_record = condition(draw, draw.randrange(4))
        expected = sum(bool(of_record(record)) for record in RECORDS)
        assert count(shard, str(expression)) == expected, str(expression)
        kept.add(expected)
    assert len(kept) > 15


def test_texts():
    assert str((col("width") >= 256) & col("lang").isin(["en", "de"])) == "width >= 256 and lang in ('en', 'de')"
    assert str(col("a") - (col("b") - 1) - 2) == "a - (b - 1) - 2"
    assert str((col("a") + 1) * 2 // col("b") / 3 % 4) == "(a + 1) * 2 // b / 3 % 4"
    assert str(-(col("a") + 1) - -col("b")) == "-(a + 1) - -b"
    assert str(~(~col("a").has() | (col("b") == 1)) & (col("c") < 1)) == "not (not has(a) or b == 1) and c < 1"
    assert str(~col("a").has() & col("b").has()) == "not has(a) and has(b)"
    assert str(col("a").hash() % 100 < 5) == "hash(a) % 100 < 5"
    assert str((col("t").len() <= 8) & (col("t").bytes() > 9)) == "len(t) <= 8 and bytes(t) > 9"
    assert str(col("f").startswith("a\nb") | col("f").matches(r"\.jpg$")) == r"startswith(f, 'a\nb') or matches(f, '\\.jpg$')"
    assert str(col("image/height") == 1) == "col('image/height') == 1"
    for name in ("in", "len", "9a", "a-b"):
        assert str(col(name)) == f"col('{name}')"
    assert str(col("_x")) == "_x"
    assert str(col("naïve\x00") == b"\xff\t") == r"col('na\xc3\xafve\x00') == '\xff\t'"
    assert str(col("a") > np.float32(0.5)) == "a > 0.5"


def test_a_job_takes_expressions(shard, monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    job = Job(
        dataset=[
            {
                "files": str(shard),
                "select": [{"filter": col("lang") == "en"}, messages.Select(split={"of": col("a") // 2, "to": 1})],
            }
        ],
        features={"a": {"type": "INT64"}},
        batch={"size": 4, "last": "PAD"},
    )
    assert job.dataset[0].select[0].filter == "lang == 'en'"
    rows = sum(int(np.count_nonzero(batch.valid)) for batch in penstock.Loader(job, data_root=str(shard.parent)))
    assert rows == sum(record["lang"] == "en" for record in RECORDS)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: bool(col("a") > 1), "`a > 1` has no value before a record is read; write & for and"),
        (lambda: 0 < col("a") < 9, "has no value before a record is read"),
        (lambda: col("a") > 1 & col("b"), "1 is no condition; write each comparison in parentheses"),
        (lambda: (col("a") > 1) & 3, "3 is no condition"),
        (lambda: col("a") > float("inf"), "inf in an expression"),
        (lambda: col("a") == None, "None in an expression"),  # noqa: E711
        (lambda: col("a") < 1 << 63, "9223372036854775808 in an expression: a text, a whole number of 64 bits"),
        (lambda: col("a") == True, "True in an expression"),  # noqa: E712
        (lambda: col("a").isin("ab"), "a list of values is expected"),
        (lambda: col("a").isin([]), "at least one value is expected"),
        (lambda: col(3), "the key of a feature is expected"),
    ],
)
def test_mistakes_name_the_way_out(build, says):
    with pytest.raises(ConfigurationError) as error:
        build()
    assert says in str(error.value)
