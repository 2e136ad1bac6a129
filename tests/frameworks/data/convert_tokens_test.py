"""penstock.convert with tokenize: the libraries of the tokenizers make small ones, and are the judges of the tokens."""

import importlib
import json
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from fixtures import BIN
from killing import content, convert_command

import penstock
from penstock import ConfigurationError
from penstock._tokenizers import Tokenizer

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
tokenizers = pytest.importorskip("tokenizers")
tiktoken = pytest.importorskip("tiktoken")
sentencepiece = pytest.importorskip("sentencepiece")

SCRIPTS = ["the quick brown fox", "Größe über alles", "Пример текста", "日本語のテキスト", "مثال على نص"]
SCRIPTS += ["😀👩‍👩‍👧 ok", "\0\t\n  x", "<end> in a text"]
END = "<end>"


def some_text(dice):
    return " ".join(dice.choice(SCRIPTS) for _ in range(dice.choice([0, 1, 3, 20])))


def texts_with_nulls(rows, seed):
    dice = random.Random(seed)
    return [None if dice.random() < 0.1 else some_text(dice) for _ in range(rows)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A tokenizer of each library, as files: by BPE on bytes, which cuts and fills texts, and a model of SentencePiece."""
    folder = tmp_path_factory.mktemp("tokenizers")
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<begin>", END], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    bpe.train_from_iterator(SCRIPTS * 4, trainer)
    bpe.enable_truncation(5)
    bpe.enable_padding(length=8)
    (folder / "saved").mkdir()
    bpe.save(str(folder / "saved" / "tokenizer.json"))
    bert = tokenizers.Tokenizer.from_file(str(folder / "saved" / "tokenizer.json"))
    bert.post_processor = tokenizers.processors.TemplateProcessing("<begin> $A <end>", None, [("<begin>", 0), (END, 1)])
    bert.save(str(folder / "bert.json"))
    corpus = folder / "corpus.txt"
    corpus.write_text("\n".join(text.replace("\n", " ").replace("\0", " ") for text in SCRIPTS * 20))
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(folder / "pieces"), vocab_size=340, byte_fallback=True, user_defined_symbols=[END],
        character_coverage=0.98, hard_vocab_limit=False, minloglevel=2, model_type="unigram",
    )
    return folder


PLUGIN = r"""
def toy():
    ranks = {bytes([i]): i for i in range(256)}
    ranks.update({b"th": 256, b"the": 257, b" qu": 258, b" q": 259})
    return {"name": "toy", "pat_str": r" ?\w+|\s+|[^\w\s]+", "mergeable_ranks": ranks, "special_tokens": {"<end>": 300}}
ENCODING_CONSTRUCTORS = {"toy": toy}
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """An encoding of tiktoken that needs no network: a module in a folder of the path."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "tiktoken_ext").mkdir()
    (folder / "tiktoken_ext" / "toy.py").write_text(PLUGIN)
    return folder


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path, toy):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", f"{toy}:{os.environ['PYTHONPATH']}")
    monkeypatch.syspath_prepend(str(toy))
    importlib.invalidate_caches()


def judge(place):
    """Returns the library's own function from a text to tokens, and the number of END."""
    if place.endswith(".model"):
        processor = sentencepiece.SentencePieceProcessor(model_file=place)
        return processor.encode, processor.piece_to_id(END)
    if place.startswith("tiktoken:"):
        encoding = tiktoken.get_encoding("toy")
        return encoding.encode_ordinary, 300
    file = place if os.path.isfile(place) else os.path.join(place, "tokenizer.json")
    loaded = tokenizers.Tokenizer.from_file(file)
    loaded.no_truncation()
    loaded.no_padding()
    return lambda text: loaded.encode(text).ids, loaded.token_to_id(END)


def tokens_of(result, column="text"):
    """Returns the tokens of all rows in order, as a loader gives them."""
    with open(result.job, encoding="utf-8") as file:
        text = file.read()
    assert "shuffle: CHUNKED" in text
    job = os.path.join(os.path.dirname(result.job), "in-order.textproto")
    with open(job, "w", encoding="utf-8") as file:
        file.write(text.replace("shuffle: CHUNKED", "shuffle: NONE").replace("last: DROP", "last: PARTIAL"))
    out = []
    for batch in penstock.Loader(job):
        assert batch[column].values.dtype == np.int32
        out += [row.tolist() for row in batch[column]]
    return out


@pytest.mark.parametrize("kind", ["saved", "saved/tokenizer.json", "bert.json", "pieces.model", "tiktoken:toy"])
def test_tokens_are_those_of_the_library_in_each_format(files, tmp_path, kind):
    place = kind if kind.startswith("tiktoken:") else str(files / kind)
    encode, end = judge(place)
    texts = texts_with_nulls(500, kind)
    expected = [[] if text is None else [7, *encode(text), end] for text in texts]
    assert max(map(len, expected)) > 8
    numbers = pa.array(range(500))
    tables = {
        "string": pa.array(texts),
        "large": pa.array(texts, pa.large_string()),
        "binary": pa.array([text and text.encode() for text in texts], pa.binary()),
        "view": pa.array(texts, pa.string_view()),
        "words": pa.array(texts).dictionary_encode(),
    }
    for name, array in list(tables.items())[: None if kind == "saved" else 1]:
        pq.write_table(pa.table({"text": array, "n": numbers}), tmp_path / f"{name}.parquet", row_group_size=120)
        out = tmp_path / name
        result = penstock.convert(
            tmp_path / f"{name}.parquet", out, tokenize={"text": place}, begin_token=7, end_token=END, processes=2
        )
        assert tokens_of(result) == expected, name
        column = next(column for column in result.columns if column.name == "text")
        assert (column.feature, column.shape) == ("INT32 as raw bytes", "[*]")
        assert result.missing == {"text": texts.count(None)}


def test_all_sources_of_texts_have_the_same_tokens(files, tmp_path):
    place = files / "saved"
    encode, _ = judge(str(place))
    texts = [text for text in texts_with_nulls(200, 1) if text is not None]
    expected = [encode(text) for text in texts]
    rows = [{"inner": {"text": text}, "n": number} for number, text in enumerate(texts)]
    results = [
        penstock.convert(rows, tmp_path / "rows", tokenize={"inner.text": place}, processes=2),
        penstock.convert(iter(rows), tmp_path / "iterated", tokenize={"inner.text": place}),
    ]
    struct = pa.array([row["inner"] for row in rows])
    pq.write_table(pa.table({"inner": struct}), tmp_path / "t.parquet")
    results.append(penstock.convert(tmp_path / "t.parquet", tmp_path / "table", tokenize={"inner.text": place}))
    for result in results:
        assert tokens_of(result, "inner.text") == expected


def test_formats_of_arrays_have_tokens_too(files, tmp_path):
    h5py, lmdb = pytest.importorskip("h5py"), pytest.importorskip("lmdb")
    place = files / "pieces.model"
    encode, _ = judge(str(place))
    texts = [text.replace("\0", "") for text in texts_with_nulls(100, 2) if text is not None]
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file.create_dataset("text", data=texts, dtype=h5py.string_dtype())
        file.create_dataset("n", data=range(len(texts)))
    with lmdb.open(str(tmp_path / "l.lmdb"), subdir=False) as base, base.begin(write=True) as transaction:
        for number, text in enumerate(texts):
            transaction.put(b"%05d" % number, text.encode())
    from_hdf5 = penstock.convert(tmp_path / "a.hdf5", tmp_path / "hdf5", tokenize={"text": place})
    from_lmdb = penstock.convert(tmp_path / "l.lmdb", tmp_path / "lmdb", tokenize={"value": place}, drop=["key"])
    expected = [encode(text) for text in texts]
    assert tokens_of(from_hdf5) == expected
    assert tokens_of(from_lmdb, "value") == expected


def test_packed_rows_begin_with_a_command(files, tmp_path):
    texts = [text or "x" for text in texts_with_nulls(400, 3)]
    pq.write_table(pa.table({"text": texts, "n": range(400)}), tmp_path / "t.parquet")
    command = convert_command(
        *(tmp_path / "t.parquet", "--out", tmp_path / "out", "--drop", "n"),
        *("--tokenize", f"text={files / 'saved'}", "--end-token", END),
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "text    string, by tokenizer.json  INT32 as raw bytes  [*]" in done.stdout
    job = (tmp_path / "out" / "job.textproto").read_text()
    assert "decode_raw" in job
    pack = '  select { pack { length: 64 features: "text" longer: SPLIT } }'
    job = job.replace("last: DROP", "last: PARTIAL").replace("dataset {", f"dataset {{\n{pack}", 1)
    (tmp_path / "packed.textproto").write_text(job)
    encode, _ = judge(str(files / "saved"))
    count = 0
    for batch in penstock.Loader(str(tmp_path / "packed.textproto"), data_root=str(tmp_path)):
        assert batch["text"].shape[1] == 64
        count += int((batch["text_segment_ids"] > 0).sum())
    assert count == sum(len(encode(text)) + 1 for text in texts)


def test_shards_do_not_depend_on_processes_or_on_an_earlier_run(files, tmp_path):
    source = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text": texts_with_nulls(3000, 4)}), source, row_group_size=200)
    options = {"tokenize": {"text": files / "bert.json"}, "shard_bytes": "100KiB"}
    for processes in (1, 3):
        penstock.convert(source, tmp_path / str(processes), processes=processes, **options)
    assert len(content(tmp_path / "1")) > 2
    assert content(tmp_path / "3") == content(tmp_path / "1")


def test_another_tokenizer_is_named_by_a_run_that_would_continue(files, tmp_path):
    source = tmp_path / "t.parquet"
    pq.write_table(pa.table({"text": ["a b c"] * 50}), source)
    copy = tmp_path / "tokenizer.json"
    copy.write_bytes((files / "saved" / "tokenizer.json").read_bytes())
    penstock.convert(source, tmp_path / "out", tokenize={"text": copy})
    before = content(tmp_path / "out")
    penstock.convert(source, tmp_path / "out", tokenize={"text": copy})
    copy.write_bytes((files / "bert.json").read_bytes())
    for other in ({"tokenize": {"text": copy}}, {"tokenize": {"text": files / "saved"}, "end_token": END}, {}):
        with pytest.raises(penstock.PenstockError, match="tokenize"):
            penstock.convert(source, tmp_path / "out", **other)
    assert content(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tokenize": {"txt": "saved"}}, "tokenize: .*t.parquet has no column 'txt'; it has text, n, in, in.text"),
        ({"tokenize": {"n": "saved"}}, "tokenize: column 'n' is int64; only a column with one text"),
        ({"tokenize": {"text": "missing.json"}}, r"tokenize: .*missing.json cannot be read: No such file .* tiktoken:NAME"),
        ({"tokenize": {"text": "corpus.txt"}}, "corpus.txt is neither a tokenizer.json nor a model of SentencePiece"),
        ({"tokenize": {"text": "broken.json"}}, "the tokenizer .*broken.json cannot be opened: "),
        ({"tokenize": {"text": "broken.model"}}, "the tokenizer .*broken.model cannot be opened: "),
        ({"tokenize": {"text": "tiktoken:none"}}, "the tokenizer none cannot be opened: Unknown encoding none"),
        ({"tokenize": {"text": "saved"}, "end_token": "<eos>"}, "end_token: .*saved has no token '<eos>'; give one of its"),
        ({"tokenize": {"text": "saved"}, "begin_token": 400}, "begin_token: .*saved has no token with the number 400"),
        ({"tokenize": {"text": "saved"}, "begin_token": -1}, "begin_token: .*saved has no token with the number -1"),
        ({"tokenize": {"text": "saved"}, "end_token": True}, "end_token=True: a token, or its number"),
        ({"tokenize": {"text": "saved"}, "end_token": "①"}, "end_token: .*saved has no token '①'"),
        ({"tokenize": {"text": "saved"}, "drop": ["text"]}, "column 'text' is in tokenize, and 'text' in drop"),
        ({"tokenize": {"in.text": "saved"}, "drop": ["in"]}, "column 'in.text' is in tokenize, and 'in' in drop"),
        ({"tokenize": {"in": "saved"}}, "tokenize: column 'in' is struct<.*>; only a column with one text"),
        ({"end_token": END}, "begin_token and end_token need tokenize"),
    ],
)
def test_mistakes_are_named(files, tmp_path, arguments, words):
    pq.write_table(pa.table({"text": ["a"], "n": [1], "in": [{"text": "b"}]}), tmp_path / "t.parquet")
    (files / "broken.json").write_text('{"version": "1.0"}')
    (files / "broken.model").write_bytes((files / "pieces.model").read_bytes()[:-100])
    places = {
        column: place if ":" in place else files / place for column, place in arguments.get("tokenize", {}).items()
    }
    with pytest.raises(ConfigurationError, match=words):
        penstock.convert(tmp_path / "t.parquet", tmp_path / "out", **{**arguments, "tokenize": places})
    assert not (tmp_path / "out").exists()


def test_a_text_that_is_not_utf8_is_named(files, tmp_path):
    good = "ü".encode()
    pq.write_table(pa.table({"text": pa.array([good] * 70 + [b"a\xff"] + [good] * 9)}), tmp_path / "t.parquet")
    with pytest.raises(ConfigurationError, match=r"t.parquet, row 70: column 'text' has a text that is not UTF-8"):
        penstock.convert(tmp_path / "t.parquet", tmp_path / "out", tokenize={"text": files / "saved"})
    rows = [{"text": "ok"}, {"text": "\ud800"}]
    with pytest.raises(ConfigurationError, match=r"the list, row 1: column 'text': has a text that is not UTF-8"):
        penstock.convert(rows, tmp_path / "rows", tokenize={"text": files / "saved"})
    with pytest.raises(ConfigurationError, match=r"row 0: column 'text': tokenize takes a str or bytes, not int"):
        penstock.convert([{"text": 1}], tmp_path / "numbers", tokenize={"text": files / "saved"})


def test_a_missing_library_is_named(files, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "t.parquet")
    words = r"needs tokenizers, which is not installed: pip install penstock\[tokenizers\]"
    with pytest.raises(ConfigurationError, match=words):
        penstock.convert(tmp_path / "t.parquet", tmp_path / "out", tokenize={"text": files / "saved"})


@pytest.mark.parametrize("flag", ["text", "=x", "text="])
def test_a_flag_without_its_parts_is_a_mistake(tmp_path, flag):
    done = subprocess.run(
        convert_command("t.parquet", "--out", tmp_path / "out", "--tokenize", flag), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "COLUMN=TOKENIZER is expected, such as text=tokenizer.json" in done.stderr


def test_a_file_that_is_replaced_or_draws_at_random_changes_no_token(files, tmp_path):
    texts = ["the quick brown fox"] * 400
    pq.write_table(pa.table({"text": texts}), tmp_path / "t.parquet")
    whole = json.loads((files / "saved" / "tokenizer.json").read_text())
    whole["model"]["dropout"] = 0.5
    place = tmp_path / "tokenizer.json"
    place.write_text(json.dumps(whole))
    made = Tokenizer(str(place))
    place.write_bytes((files / "bert.json").read_bytes())
    again = pickle.loads(pickle.dumps(made))
    encode, _ = judge(str(files / "saved"))
    for tokenizer in (made, again):
        assert [ids.tolist() for ids in tokenizer.ids(texts)] == [encode(text) for text in texts]


def test_all_texts_may_be_missing(files, tmp_path):
    pq.write_table(pa.table({"text": pa.nulls(3), "n": range(3)}), tmp_path / "t.parquet")
    result = penstock.convert(tmp_path / "t.parquet", tmp_path / "out", tokenize={"text": files / "saved"})
    assert [column.feature for column in result.columns] == ["", "INT64"]


def test_another_encoding_of_the_same_name_has_another_identity(monkeypatch, toy):
    before = Tokenizer("tiktoken:toy").identity
    other = tiktoken.Encoding(**{**importlib.import_module("tiktoken_ext.toy").toy(), "pat_str": "."})
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: other)
    assert Tokenizer("tiktoken:toy").identity != before
    with pytest.raises(ConfigurationError, match="tokenize='text=x': give columns and tokenizers"):
        penstock.convert([{"text": "a"}], "never", tokenize="text=x")
