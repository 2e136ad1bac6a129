"""penstock.Job and the programs' answers: a job in Python always equals its job file."""

import copy
import importlib
import inspect
import json
import math
import pickle
import random
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

import penstock
from fixtures import BIN, ROOT
from penstock import ConfigurationError, Job, ShardWriter, messages, ops
from penstock._messages import CLASSES
from penstock._schema import SCHEMA

PROTO = ROOT / "proto"


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def image_job(**more):
    return Job(
        files="/data/train-*",
        features={
            "image/encoded": {"column": "image", "type": "BYTES"},
            "image/class/label": {"column": "label", "type": "INT64"},
        },
        ops=[ops.decode_image(), ops.random_resized_crop(height=224, width=224), ops.random_horizontal_flip(probability=0.25)],
        **{"batch": 256, **more},
    )


# ---- fields whose names are keywords


def test_a_field_with_the_name_of_a_keyword_has_an_underscore():
    split = messages.Split(of="patient_id", from_=0.25, to=0.5)
    assert split.from_ == 0.25
    assert "from: 0.25" in str(split)
    assert repr(split) == "Split(of='patient_id', from_=0.25, to=0.5)"
    assert eval(repr(split), {"Split": messages.Split}) == split
    assert copy.deepcopy(split) == split == pickle.loads(pickle.dumps(split))
    assert "from_" in dir(split)
    assert "from_" in inspect.signature(messages.Split).parameters
    assert "from_ (double)" in messages.Split.__doc__
    split.from_ = None
    assert "from" not in str(split)
    job = image_job()
    job.dataset[0].select = [{"split": {"of": "a", "from": 0.5}}, {"take": 3}]
    assert job.dataset[0].select[0].split.from_ == 0.5
    with pytest.raises(ConfigurationError, match="there is no field 'form_'"):
        messages.Split(form_=1)


# ---- the package is up to date with the programs


def test_schema_and_stubs_are_those_of_the_program():
    done = subprocess.run(
        [sys.executable, str(ROOT / "client/python/tools/generate.py"), str(BIN / "penstock"), "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_job_takes_every_field_of_a_job_file():
    taken = set(inspect.signature(Job.__init__).parameters) - {"self", "files", "unknown"}
    assert taken == set(SCHEMA.messages["JobSpec"])


def test_every_op_and_message_is_there_with_help():
    assert len(SCHEMA.ops()) > 40
    for name, field in SCHEMA.ops().items():
        function = getattr(ops, name)
        assert function.__doc__
        assert set(inspect.signature(function).parameters) == {*SCHEMA.messages[field.of], "column", "name"}
        assert str(function()) == f"{name} {{}}\n"
        assert name in dir(ops)
    for name, cls in CLASSES.items():
        assert getattr(messages, name) is cls
    assert "fraction of the area" in ops.random_resized_crop.__doc__
    importlib.reload(ops)


# ---- the text of a job


def test_a_job_is_its_file(tmp_path):
    job = image_job(order={"seed": 7, "shuffle": "FULL"}, errors=messages.Errors(policy="MASK", max_bad_fraction=0.5))
    assert str(job) == (
        "# proto-file: penstock/v1/job.proto\n"
        "# proto-message: penstock.v1.JobSpec\n"
        "\n"
        'name: "train"\n'
        "\n"
        'dataset { files: "/data/train-*" }\n'
        "\n"
        'features { key: "image/encoded" column: "image" type: BYTES }\n'
        'features { key: "image/class/label" column: "label" type: INT64 }\n'
        "\n"
        "ops { decode_image {} }\n"
        "ops { random_resized_crop { height: 224 width: 224 } }\n"
        "ops { random_horizontal_flip { probability: 0.25 } }\n"
        "\n"
        "order { seed: 7 shuffle: FULL }\n"
        "batch { size: 256 }\n"
        "errors { policy: MASK max_bad_fraction: 0.5 }\n"
    )
    job.save(tmp_path / "x.textproto")
    assert (tmp_path / "x.textproto").read_text() == str(job)
    command = [str(BIN / "penstock"), "check-config", str(tmp_path / "x.textproto")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "a correct job file" in done.stdout, done.stdout
    assert Job.load(tmp_path / "x.textproto") == job == Job.from_text(str(job))
    job.check()


def test_a_job_can_be_changed_in_place():
    job = image_job()
    job.batch.size = 64
    job.batch.last = "PAD"
    job.order.seed = 3
    job.ops.append(ops.normalize(mean=[0.5], std=0.25))
    job.ops[1].random_resized_crop.height = 192
    del job.ops[0]
    text = str(job)
    assert "batch { size: 64 last: PAD }" in text
    assert "order { seed: 3 }" in text
    assert "normalize { mean: 0.5 std: 0.25 }" in text
    assert "height: 192" in text
    assert "decode_image" not in text
    assert job.errors.policy == "FAIL"
    assert "errors" not in str(job)  # reading a field does not set it
    job.order = None
    assert "order" not in str(job)


def test_ops_hold_ops():
    op = ops.random_apply(probability=0.0, ops=[ops.hue(min=-0.1, max=0.1), ops.one_of(ops=[ops.invert(), ops.equalize()])])
    assert " ".join(str(op).split()) == (
        "random_apply { probability: 0.0 ops { hue { min: -0.1 max: 0.1 } } "
        "ops { one_of { ops { invert {} } ops { equalize {} } } } }"
    )
    custom = ops.custom(op="mine", numbers={"a": 1, 'b"': 0.5}, texts={"c": "d"}, column="x", name="third")
    assert 'numbers { key: "b\\"" value: 0.5 }' in str(custom)
    assert custom.column == "x"
    assert custom.name == "third"


def test_one_op_takes_the_place_of_another():
    op = ops.invert()
    op.equalize = {}
    assert op.invert is None
    assert str(op) == "equalize {}\n"


def test_copies_are_their_own():
    job = image_job()
    for other in (copy.copy(job), copy.deepcopy(job), pickle.loads(pickle.dumps(job))):
        assert other == job
        assert type(other) is Job
        other.ops[1].random_resized_crop.height = 1
        other.batch.size = 1
        other.ops.append(ops.invert())
        assert "height: 224" in str(job)
        assert len(job.ops) == 3
        assert job.batch.size == 256


# ---- mistakes raise at once


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Job(fles="x"), r"there is no field 'fles' in a job \(did you mean 'files'\?\)"),
        (lambda: Job(feature=[]), "did you mean 'features'"),
        (lambda: Job(batch={"sise": 1}), r"there is no field 'sise' in 'batch' \(did you mean 'size'\?\)"),
        (lambda: Job(batch={"last": "PADD"}), r"batch.last: 'PADD' is not a value of 'last'; .* \(did you mean 'PAD'\?\)"),
        (lambda: Job(batch={"last": 1}), r"1 is not a value of 'last'; it is one of DROP \| PAD \| PARTIAL"),
        (lambda: ops.random_resized_crop(heigth=224), r"no field 'heigth' in 'random_resized_crop' \(did you mean"),
        (lambda: ops.random_resized_crop(height=224.5), "random_resized_crop.height: a whole number is expected, not 224.5"),
        (lambda: ops.random_resized_crop(height=-1), "a whole number from 0 on is expected, not -1"),
        (lambda: ops.random_resized_crop(height=True), "a whole number is expected, not True"),
        (lambda: ops.random_resized_crop(height="224"), "a whole number is expected, not '224'"),
        (lambda: ops.random_resized_crop(scale_min=1e39), "float32"),
        (lambda: ops.normalize(mean=[0.5, "a"]), r"normalize.mean\[1\]: a number is expected, not 'a'"),
        (lambda: ops.custom(numbers={"a": "b"}), r"numbers\['a'\]: a number is expected"),
        (lambda: ops.pad(mode="edge"), r"pad.mode: 'edge' is not a value of 'mode'; .*did you mean 'EDGE'"),
        (lambda: penstock.Feature("image"), "positional"),
        (lambda: penstock.Feature(key=b"x"), "feature.key: a text is expected, not b'x'"),
        (lambda: penstock.Feature(key="\udc80"), "characters that UTF-8 cannot encode"),
        (lambda: Job(ops=[messages.Order()]), r"ops\[0\]: a message Op or a dict is expected, not Order"),
        (lambda: Job(files="a", dataset={"files": "b"}), "one of the two"),
        (lambda: Job(features={"a": 3}), "a type's name or a dict"),
        (lambda: Job().ops.append("x"), r"ops\[0\]"),
        (lambda: setattr(Job(), "opps", []), "did you mean 'ops'"),
    ],
)
def test_mistakes_are_named_where_they_are_made(make, message):
    with pytest.raises((ConfigurationError, TypeError), match=message):
        make()


@pytest.mark.parametrize(
    ("op", "arguments", "text"),
    [
        ("random_resized_crop", {"size": 224}, "size: 224"),
        ("random_resized_crop", {"heigth": 224, "width": 224}, "heigth: 224 width: 224"),
        ("random_resized_crop", {"height": 224.5, "width": 224}, "height: 224.5 width: 224"),
        ("random_resized_crop", {"height": -1, "width": 224}, "height: -1 width: 224"),
        ("random_horizontal_flip", {"p": 0.5}, "p: 0.5"),
        ("pad", {"mode": "edge"}, "mode: edge"),
        ("pad", {"mode": "WHATEVER"}, "mode: WHATEVER"),
        ("rotate", {"degrees": 10}, "degrees: 10"),
        ("decode_image", {"channel": "RGB"}, "channel: RGB"),
    ],
)
def test_mistakes_in_ops_are_said_in_the_command_lines_words(op, arguments, text):
    """The same words, except for the sign between name and value, and for the two settings that every op has."""
    file = str(image_job()).replace("ops { decode_image {} }", f"ops {{ {op} {{ {text} }} }}")
    command = [str(BIN / "penstock"), "check-config", "-", "--kind=job", "--json"]
    answer = subprocess.run(command, input=file.encode(), capture_output=True)
    (mistake,) = json.loads(answer.stdout)["mistakes"]
    with pytest.raises(ConfigurationError) as caught:
        getattr(ops, op)(**arguments)
    said = str(caught.value).replace("height= and width=", "height: and width:").removesuffix(", column, name")
    said = said.replace("'edge' is", "edge is").replace("'WHATEVER' is", "WHATEVER is")
    assert said.removeprefix(f"{op}.{mistake['field']}: ") == mistake["message"].replace("'edge' is", "edge is").replace(
        "'WHATEVER' is", "WHATEVER is"
    )


def test_unknown_names_of_modules_are_near():
    with pytest.raises(AttributeError, match="did you mean 'random_crop'"):
        ops.randomcrop  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'Order'"):
        messages.Oder  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'size'"):
        messages.Batch().sizes  # noqa: B018
    assert not hasattr(Job(), "shape")


def test_a_job_that_is_wrong_as_a_whole_is_refused_with_all_mistakes():
    with pytest.raises(ConfigurationError) as caught:
        Job(files="x", features={"a": "BYTES"}, ops=[ops.decode_image()]).check()
    assert "batch" in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"cannot be read"):
        Job.load("/nowhere")
    with pytest.raises(ConfigurationError, match="line 1"):
        Job.from_text("nonsense {")


# ---- a parser reads the same odd values


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def wire(data):
    """Yields (field, value) of a serialized message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = data[at : at + size], at + size
        yield tag >> 3, value


def encoded(message, text):
    done = subprocess.run(
        ["protoc", f"-I{PROTO}", f"--encode=penstock.v1.{message}", "penstock/v1/job.proto"],
        input=text.encode(),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()[:1000]
    return list(wire(done.stdout))


needs_protoc = pytest.mark.skipif(not shutil.which("protoc"), reason="protoc is the judge")


@needs_protoc
def test_odd_texts_arrive_as_they_are():
    chance = random.Random(17)
    texts = ["", '"', "\\", "\\n", "\n", "'", "\0", "\x7f", "é", "\u2028", "😀", '\\"', "a\0001"]
    texts += [ "\t\r\v", "#", "{}", "\\x41", "\\101"]
    for _ in range(500):
        alphabet = chance.choice(["ab\\\"'0123x", "".join(map(chr, range(128))), "é😀\u0300\uffff"])
        texts.append("".join(chance.choices(alphabet, k=chance.randrange(12))))
    dataset = messages.Dataset(files=texts)
    assert [value.decode() for number, value in encoded("Dataset", str(dataset)) if number == 1] == texts
    values = [bytes(chance.randrange(256) for _ in range(chance.randrange(9))) for _ in range(500)]
    default = messages.Default(bytes_values=values)
    assert [value for number, value in encoded("Default", str(default)) if number == 3] == values


@needs_protoc
def test_odd_numbers_arrive_as_they_are():
    chance = random.Random(17)
    floats = [0.0, -0.0, 1e-45, 3.4028234663852886e38, math.inf, -math.inf, 0.1, 1 / 3, 1e22, 1e-7, 16777217.0, 5]
    floats += [struct.unpack("<f", chance.randbytes(4))[0] for _ in range(1000)]
    floats = [value for value in floats if not math.isnan(value)]
    ints = [0, -1, (1 << 63) - 1, -(1 << 63), *(chance.randrange(-(1 << 63), 1 << 63) for _ in range(200))]
    default = messages.Default(ints=ints, floats=[*floats, math.nan])
    fields = dict(encoded("Default", str(default)))
    read = np.frombuffer(fields[2], "<f4")
    assert read[:-1].tobytes() == np.array(floats, "<f4").tobytes()
    assert np.isnan(read[-1])
    packed, at, got = fields[1], 0, []
    while at < len(packed):
        value, at = varint(packed, at)
        got.append(value - (1 << 64) if value >> 63 else value)
    assert got == ints
    assert dict(encoded("Order", str(messages.Order(seed=(1 << 64) - 1))))[1] == (1 << 64) - 1


def test_a_job_comes_back_from_the_program_as_it_went():
    job = image_job(
        order={"seed": (1 << 64) - 1, "shuffle": "NONE", "repeats": 3},
        errors={"policy": "SUBSTITUTE", "max_bad_fraction": 1 / 3},
        limits={"max_image_side": 1000},
        weight=2,
        name='a-1',
    )
    job.dataset[0].files.append('odd "name\\ é\n-*')
    job.features.append(penstock.Feature(key="x\0y", column="x", type="BYTES", decode_raw="UINT8", shape=[2, 3],
                                         default={"bytes_values": [bytes(range(0, 250, 42))]}))
    job.features.append({"key": "f", "type": "FLOAT", "default": {"floats": 0.0}})
    job.ops.append(ops.random_apply(probability=0.0, ops=[ops.brightness(min=0.1, max=1.1), ops.grayscale()]))
    again = Job.from_text(str(job))
    assert encoded("JobSpec", str(again)) == encoded("JobSpec", str(job))
    assert again.ops[3].random_apply.probability == 0.0


# ---- with the programs


@pytest.fixture
def shards(tmp_path):
    """Small images as raw arrays, with labels."""
    with ShardWriter(tmp_path / "data", prefix="train") as writer:
        for i in range(40):
            writer.write({"image": np.full((8, 8, 3), i, "uint8"), "label": i})
    return writer.result


@pytest.mark.parametrize(
    "glob",
    [
        "train-*",
        "train-00000-of-00001.tfrecord",
        "train-?????-of-*",
        "train.tfrecords.gz",
        "cifar-10.record",
        "cifar-2024.tfrec",
        "_train data_.zlib",
        "-é.x-*",
        "photos.v2/*.tfrecord",
        "photos-0000/[a-z]*",
        "train-00000-of-00001",
    ],
)
def test_a_job_has_the_name_that_init_gives(shards, tmp_path, glob):
    shard = tmp_path / "named" / glob.replace("*", "x").replace("?????", "00000").replace("[a-z]", "a")
    shard.parent.mkdir(parents=True)
    shutil.copy(sorted((tmp_path / "data").glob("train-*.tfrecord"))[0], shard)
    files = str(tmp_path / "named" / glob)
    made = subprocess.run(
        [BIN / "penstock", "init", files, "--out", tmp_path / "made.textproto", "--index-dir", tmp_path / "indexes"],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    assert Job(files=files).name == Job.load(tmp_path / "made.textproto").name


def test_init_gives_a_job_that_can_be_changed(shards, tmp_path):
    job = penstock.init(shards.files, name="made")
    assert job.name == "made"
    assert {feature.key for feature in job.features} == {"image", "label"}
    job.batch.size = 8
    job.check()
    with pytest.raises(ConfigurationError, match="nothing-"):
        penstock.init(tmp_path / "nothing-*")


def test_preview_is_a_picture_for_a_notebook(shards, tmp_path):
    job = Job.load(shards.job)
    job.batch.size = 4
    sheet = penstock.preview(job, records=2, draws=2, cell=32)
    assert sheet._repr_png_() == sheet.png
    assert sheet.png.startswith(b"\x89PNG")
    sheet.save(tmp_path / "sheet.png")
    assert (tmp_path / "sheet.png").read_bytes() == sheet.png
    with pytest.raises(ConfigurationError):
        penstock.preview(tmp_path / "no.textproto")


def test_submit_status_and_cancel(shards, tmp_path):
    port = tmp_path / "port"
    arguments = ["standalone", "--data-root", str(tmp_path / "data"), "--listen", "127.0.0.1:0"]
    arguments += ["--state-dir", str(tmp_path / "state"), "--port-file", str(port), "--threads", "1"]
    with open(tmp_path / "log", "wb") as log:
        daemon = subprocess.Popen([str(BIN / "penstockd"), *arguments], stderr=log, stdout=log)
    with daemon:
        try:
            while not (port.exists() and port.read_text()):
                assert daemon.poll() is None, (tmp_path / "log").read_text()
            address = f"localhost:{port.read_text().strip()}"
            job = Job.load(shards.job)
            job.name, job.batch.size = "mine", 4
            answer = penstock.submit(job, coordinator=address)
            assert (answer["job"], answer["state"], answer["records"]) == ("mine", "READY", 40)
            assert [entry["name"] for entry in penstock.status(coordinator=address)["jobs"]] == ["mine"]
            job.batch.size = 5
            with pytest.raises(ConfigurationError) as caught:
                penstock.submit(job, coordinator=address)
            assert caught.value.code == "ALREADY_EXISTS"
            penstock.submit(job, coordinator=address, replace=True)
            penstock.cancel("mine", coordinator=address)
            with pytest.raises(ConfigurationError) as caught:
                penstock.cancel("nobody's", coordinator=address)
            assert caught.value.code == "NOT_FOUND"
        finally:
            daemon.terminate()
    with pytest.raises(penstock.MachineError, match="cannot be reached") as machine:
        penstock.status(coordinator="localhost:1")
    assert machine.value.code == "UNAVAILABLE"
