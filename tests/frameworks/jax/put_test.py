"""Batches are on devices exactly as jax.device_put puts them, whether the loader calls it or not."""

import numpy as np
import pytest

import penstock

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

import penstock.jax  # noqa: E402
from penstock import _jax_put  # noqa: E402

pytestmark = pytest.mark.skipif(_jax_put._batched_put is None, reason="this jaxlib has no such function")

MESH = (4, 2)
SPECS = [(), ("data",), (("data", "model"),), (None, "model"), ("data", "model")]


@pytest.fixture
def asked(monkeypatch):
    """Records the shapes of jax.device_put's calls."""
    shapes, device_put = [], jax.device_put

    def note(array, *arguments, **named):
        shapes.append(np.shape(array))
        return device_put(array, *arguments, **named)

    monkeypatch.setattr(jax, "device_put", note)
    return shapes


def same(ours, theirs):
    assert type(ours) is type(theirs)
    assert ours.aval == theirs.aval
    assert ours.sharding == theirs.sharding
    assert ours.committed == theirs.committed
    assert ours.weak_type == theirs.weak_type
    for our, their in zip(ours.addressable_shards, theirs.addressable_shards):
        assert (our.device, our.index) == (their.device, their.index)
        assert np.asarray(our.data).tobytes() == np.asarray(their.data).tobytes()
    return True


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float32, np.bool_, jnp.bfloat16, np.float16])
@pytest.mark.parametrize("spec", [None, *SPECS])
def test_what_is_put_is_what_device_put_puts(asked, kind, spec):
    sharding = NamedSharding(jax.make_mesh(MESH, ("data", "model")), PartitionSpec(*spec)) if spec is not None else None
    put, rng = _jax_put.Put(), np.random.default_rng(3)
    for step in range(3):
        array = (rng.standard_normal((8, 4, 3)) * 50).astype(kind)
        array[0, 0, 0] = np.nan if kind in (np.float32, np.float16) else 1  # NaN is not equal to itself
        asked.clear()
        (ours,) = put(["a"], [array], [sharding])
        assert len(asked) == (1 if step == 0 else 0)
        assert same(ours, jax.device_put(array, sharding))
        assert float(jnp.where(jnp.isnan(ours.astype(float)), 0, ours).sum()) == pytest.approx(
            float(np.nan_to_num(array.astype(np.float32)).sum()), rel=0.02, abs=1
        )


def test_a_loop_asks_device_put_for_its_first_batch_alone(fake, asked):
    loop = iter(penstock.jax.Loader("fake?steps=50&rows=4", coordinator="nowhere:1", columns=("image", "label")))
    first = next(loop)
    asked.clear()
    for number, (images, labels) in enumerate(loop, 1):
        assert same(images, jax.device_put(np.asarray(images)))
        assert images.aval == first[0].aval
        assert labels.tolist() == [4 * number + row for row in range(4)]
        assert asked.pop() == images.shape  # this test's own call
    assert asked == []


def test_a_batch_of_another_shape_is_as_it_is(small_job, tmp_path, asked):
    job = tmp_path / "job.textproto"
    with open(small_job.path) as file:
        job.write_text(file.read().replace("size: 20 last: DROP", "size: 30 last: PARTIAL"))
    loader = penstock.jax.Loader(job, data_root=small_job.data, columns=("image", "label"), epochs=3)
    plain = penstock.Loader(job, data_root=small_job.data, epochs=3)
    sizes = []
    for (images, labels), batch in zip(loader, plain):
        sizes.append(len(labels))
        assert np.array_equal(images, batch["image"])
        assert np.array_equal(labels, batch["label"])
    assert sizes == [30, 30, 30, 10] * 3
    assert sorted({shape[0] for shape in asked}) == [10, 30]
    assert len(asked) == 4  # two columns of two shapes


def test_settings_that_change_in_a_loop_hold_from_the_next_batch_on(fake):
    loader = penstock.jax.Loader("fake?steps=9&rows=4", coordinator="nowhere:1", columns=("label",), ahead=0)
    loop = iter(loader)
    devices = jax.devices()
    for step in range(9):
        with jax.default_device(devices[3] if step in (3, 4) else None), jax.enable_x64(step in (6, 7)):
            (labels,) = next(loop)
        assert labels.devices() == {devices[3] if step in (3, 4) else devices[0]}
        assert labels.dtype == (np.int64 if step in (6, 7) else np.int32)
        assert labels.tolist() == [4 * step + row for row in range(4)]


def test_transfers_that_are_guarded_are_explicit_ones(fake):
    with jax.transfer_guard("disallow"):
        loader = penstock.jax.Loader("fake?steps=4&rows=4", coordinator="nowhere:1", columns=("label",))
        got = [labels for (labels,) in loader]
    assert [labels.tolist()[0] for labels in got] == [0, 4, 8, 12]


def raises(*_):
    raise TypeError("other arguments than in another release")


def other(aval, sharding, parts, devices, committed):
    return jax.device_put(parts[0] + np.ones((), parts[0].dtype))


@pytest.mark.parametrize("stand_in", [None, raises, other])
def test_where_jaxlib_is_another_one_device_put_does_it(fake, asked, monkeypatch, stand_in):
    monkeypatch.setattr(_jax_put, "_batched_put", stand_in)
    loader = penstock.jax.Loader("fake?steps=5&rows=4", coordinator="nowhere:1", columns=("image", "label"))
    assert [labels.tolist()[0] for _, labels in loader] == [0, 4, 8, 12, 16]
    assert asked.count((4,)) >= 5


def test_what_fails_in_the_middle_is_done_by_device_put(fake, asked, monkeypatch):
    loop = iter(penstock.jax.Loader("fake?steps=5&rows=4", coordinator="nowhere:1", columns=("label",), ahead=0))
    got = [int(next(loop)[0][0]) for _ in range(2)]
    monkeypatch.setattr(_jax_put, "_batched_put", raises)
    got += [int(labels[0]) for (labels,) in loop]
    assert got == [0, 4, 8, 12, 16]
    assert len(asked) == 4
