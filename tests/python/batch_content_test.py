"""The content of a batch: columns, strings and the schema. These tests use the fake feeder."""

import pickle

import numpy as np
import pytest

import penstock
from fixtures import held


def test_a_batch_has_its_columns_as_views_that_may_be_written(fake):
    loader = fake("rows=4")
    batch = next(iter(loader))
    assert list(batch) == ["image", "label", "weights", "boxes", "text", "words"]
    assert batch["image"].shape == (4, 4, 4, 3)
    assert batch["image"].dtype == np.uint8
    assert (batch["image"][2] == 2).all()
    assert batch["label"].tolist() == [0, 1, 2, 3]
    assert batch["weights"].dtype == np.uint16
    assert batch["weights"].tolist() == [[0x3F80, 0x4000]] * 4
    assert batch.ids.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]
    assert batch.sources.tolist() == batch.ids.tolist()
    assert batch.valid.dtype == np.bool_
    assert batch.valid.all()
    assert (batch.epoch, batch.step, batch.rows, batch.position) == (0, 0, 4, 0)
    assert batch["text"].tolist() == [b"row 0", b"row 1", b"row 2", b"row 3"]
    batch["image"][:] = 7
    assert (batch["image"] == 7).all()
    assert not batch["image"].flags.owndata
    assert "image" in batch
    assert "nothing" not in batch
    with pytest.raises(KeyError, match="no column 'nothing'; there are image, label"):
        batch["nothing"]


def test_ragged_columns_are_values_and_row_splits(fake):
    batch = next(iter(fake("rows=3")))
    boxes = batch["boxes"]
    assert isinstance(boxes, penstock.Ragged)
    assert boxes.row_splits.tolist() == [0, 0, 1, 3]
    assert boxes.values.shape == (3, 4)
    assert len(boxes) == 3
    assert boxes[2].tolist() == [[2.0] * 4] * 2
    assert boxes[-1].shape == (2, 4)
    padded = boxes.to_padded(value=-1)
    assert padded.shape == (3, 2, 4)
    assert padded[1].tolist() == [[1.0] * 4, [-1.0] * 4]
    assert boxes.to_padded(4).shape == (3, 4, 4)
    with pytest.raises(ValueError, match="a row has 2 elements, more than length=1"):
        boxes.to_padded(1)
    assert boxes.to_padded(1, truncate=True).tolist() == [[[0.0] * 4], [[1.0] * 4], [[2.0] * 4]]
    with pytest.raises(IndexError):
        boxes[3]


def test_strings_are_bytes_objects_or_offsets(fake):
    batch = next(iter(fake("rows=3")))
    assert [row.tolist() for row in batch["words"]] == [[], [b"1.0"], [b"2.0", b"2.1"]]
    assert batch["words"].to_padded().tolist() == [[b"", b""], [b"1.0", b""], [b"2.0", b"2.1"]]
    strings = batch.strings("text")
    assert strings.offsets.tolist() == [0, 5, 10, 15]
    assert strings.row_splits is None
    assert strings.text.tobytes() == b"row 0row 1row 2"
    assert batch.strings("words").row_splits.tolist() == [0, 0, 1, 3]
    with pytest.raises(KeyError, match="label is a column of int64"):
        batch.strings("label")


def test_the_schema_says_what_columns_are(fake):
    schema = fake().schema
    assert schema["weights"].type == "bfloat16"
    assert schema["weights"].dtype == np.uint16
    assert schema["image"].shape == (4, 4, 3)
    assert schema["boxes"].ragged
    assert schema["text"].string


def test_a_dict_of_copies_is_free_of_the_batch(fake):
    loader = fake("steps=1&rows=3")
    copies = next(iter(loader)).copy()
    assert held(loader, 0) == 0
    assert copies["label"].tolist() == [0, 1, 2]
    assert copies["boxes"].row_splits.tolist() == [0, 0, 1, 3]
    with pytest.raises(TypeError, match="send batch.copy"):
        pickle.dumps(next(iter(fake())))
