"""Constructors: arguments of other libraries, `columns`, and the text of repr()."""

import numpy as np
import pytest

import penstock


@pytest.mark.parametrize(
    ("argument", "value", "here"),
    [
        ("num_workers", 4, "threads="),
        ("persistent_workers", True, "leave it out"),
        ("prefetch_factor", 2, "prefetch_steps="),
        ("shuffle", True, r"order \{ shuffle: CHUNKED \}"),
        ("seed", 3, r"order \{ seed: 17 \}"),
        ("drop_last", False, r"batch \{ last: DROP \}, PAD or PARTIAL"),
        ("sampler", range(3), "for a subset write shards of it"),
        ("transform", str, r"loader.map\(fn\)"),
        ("collate_fn", list, r"loader.map\(fn\)"),
        ("pin_memory", True, "penstock.torch.Loader"),
    ],
)
def test_another_loaders_argument_is_rejected_with_what_does_the_same_here(fake, argument, value, here):
    with pytest.raises(penstock.ConfigurationError, match=f"a loader has no argument {argument}: .*{here}"):
        fake(**{argument: value})


def test_all_of_them_are_named_at_once(fake):
    with pytest.raises(penstock.ConfigurationError) as caught:
        fake(batch_size=8, num_workers=4, shuffle=True)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "a loader has no argument num_workers",
        "a loader has no argument shuffle",
    ]


def test_an_argument_that_no_loader_has_is_a_type_error(fake):
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        fake(colour=3)


def test_indexing_a_loader_is_rejected_with_advice_about_data_loader(fake):
    for loader in (fake(), fake().map(len)):
        with pytest.raises(penstock.ConfigurationError, match=r"inside a torch.utils.data.DataLoader: every worker"):
            loader[3]


# ---- columns


def test_columns_are_a_tuple_and_one_name_is_that_column_alone(fake):
    for images, labels, valid in fake("steps=2&rows=3", columns=("image", "label", "valid")):
        assert images.shape == (3, 4, 4, 3)
        assert valid.all()
    assert labels.tolist() == [3, 4, 5]
    alone = list(fake("steps=2&rows=3", columns="label"))
    assert [array.tolist() for array in alone] == [[0, 1, 2], [3, 4, 5]]
    assert isinstance(alone[0], np.ndarray)
    assert [array.tolist() for array in fake("steps=1&rows=2", columns="ids")] == [[[0, 0], [0, 1]]]


def test_map_gets_the_chosen_columns(fake):
    assert list(fake("steps=2&rows=2", columns="label").map(sum)) == [1, 5]


def test_arrays_of_chosen_columns_keep_the_batches_memory(fake):
    kept = list(fake("steps=40&rows=2", columns="label", memory=64 * 65536))
    assert [array.tolist() for array in kept] == [[2 * n, 2 * n + 1] for n in range(40)]


def test_an_unknown_column_is_reported_with_the_known_ones(fake):
    known = "no column 'lable'; there are image, label, .*; and ids, sources, valid"
    with pytest.raises(penstock.ConfigurationError, match=known):
        next(iter(fake(columns="lable")))
    for wrong in (5, ("image", 3), [None]):
        with pytest.raises(penstock.ConfigurationError, match="give a column's name, or several"):
            fake(columns=wrong)


# ---- repr


def test_repr_shows_job_epoch_batch_size_and_rank_and_starts_nothing(fake):
    import penstock._feeder as feeder

    loader = fake("steps=2&rows=3", rank=1, world_size=4, start_epoch=2)
    assert repr(loader) == "<penstock.Loader of job 'fake?steps=2&rows=3': epoch 2, the job's batch size, rank 1 of 4>"
    assert feeder.current_feeder() is None
    for _ in loader:
        assert "epoch 2," in repr(loader)
    opened = repr(loader)
    assert opened.startswith("<penstock.Loader of job 'fake': epoch 3, batch size ")
    assert opened.endswith(", rank 1 of 4>")
    loader.close()
    assert repr(loader).endswith("rank 1 of 4, closed>")


def test_repr_of_a_mapped_loader_and_of_a_loaded_state(fake):
    loader = fake("steps=2&rows=3")
    mapped = loader.map(len)
    assert repr(mapped).startswith("<penstock.MappedLoader of job 'fake")
    list(mapped)
    assert "epoch 1," in repr(mapped)
    other = fake("steps=2&rows=3")
    other.load_state_dict(mapped.state_dict())
    assert "epoch of the loaded state" in repr(other)


def test_repr_never_fails(fake, monkeypatch):
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "two")
    assert "rank unknown" in repr(fake())


def test_the_line_about_ranks_is_printed_only_for_several_ranks(fake, monkeypatch, capsys):
    from penstock import _notices

    monkeypatch.setattr(_notices, "_printed", set())
    len(fake())
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    len(fake())
    assert capsys.readouterr().err == "penstock: rank 1 of 2 (RANK and WORLD_SIZE)\n"
