"""JAX's arrays, on 8 devices of the CPU."""

import gc
import pickle
import random
import re

import numpy as np
import pytest

import penstock

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding  # noqa: E402

import penstock.jax  # noqa: E402

SLOT = 65536  # size of the fake feeder's slots


@pytest.fixture
def fake_jax(fake):
    def make(options="", **arguments):
        return penstock.jax.Loader(f"fake?{options}", coordinator="nowhere:1", **arguments)

    return make


@pytest.fixture(scope="module")
def over_rows():
    assert jax.device_count() == 8
    return NamedSharding(jax.make_mesh((8,), ("data",)), PartitionSpec("data"))


def test_arrays_of_a_device_are_read(small_job):
    x, y = jnp.arange(60.0).reshape(20, 3), jnp.arange(20)
    loader = penstock.jax.Loader(arrays={"x": x, "y": y}, columns=("x", "y"), batch_size=5)
    seen = []
    for rows, numbers in loader:
        assert np.array_equal(rows, x[numbers])
        seen += numbers.tolist()
    assert sorted(seen) == list(range(20))


def labels(loop):
    return [int(np.asarray(batch["label"])[0]) for batch in loop]


def arena_of(loader):
    return loader._core.stream.feeder.arena


def in_arena(array, arena):
    at = [shard.data.unsafe_buffer_pointer() for shard in array.addressable_shards]
    return [arena.address <= address < arena.address + arena.size for address in at]


def test_arrays_look_at_the_arena(fake_jax):
    loader = fake_jax("steps=3&rows=4")
    batch = next(iter(loader))
    assert isinstance(batch["image"], jax.Array)
    assert batch["image"].shape == (4, 4, 4, 3)
    assert in_arena(batch["image"], arena_of(loader)) == [True]
    assert batch["image"][3].tolist() == np.full((4, 4, 3), 3).tolist()
    assert batch["label"].dtype == jnp.int32
    assert batch["label"].tolist() == [0, 1, 2, 3]
    assert batch["weights"].dtype == jnp.bfloat16
    assert in_arena(batch["weights"], arena_of(loader)) == [True]
    assert batch["weights"].tolist() == [[1.0, 2.0]] * 4
    assert batch["boxes"].row_splits.tolist() == [0, 0, 1, 3, 6]
    assert batch["boxes"].to_padded(2, truncate=True).shape == (4, 2, 4)
    assert batch["text"][1] == b"row 1"
    assert list(batch["words"][2]) == [b"2.0", b"2.1"]
    assert batch.ids.tolist() == [[0, n] for n in range(4)]
    assert isinstance(batch.valid, jax.Array)
    assert batch.valid.tolist() == [True] * 4
    assert (batch.epoch, batch.step) == (0, 0)


def test_columns_are_a_tuple(fake_jax):
    for images, targets, valid in fake_jax("steps=2&rows=2", columns=("image", "label", "valid")):
        assert images.shape == (2, 4, 4, 3)
        assert targets.shape == (2,)
        assert valid.tolist() == [True, True]
    with pytest.raises(penstock.ConfigurationError, match="no column 'lable'; there are image, label"):
        next(iter(fake_jax(columns=("lable",))))


def test_one_column_alone(fake_jax, over_rows):
    assert [np.asarray(array).tolist() for array in fake_jax("steps=2&rows=2", columns="label")] == [[0, 1], [2, 3]]
    for array in fake_jax("steps=1&rows=8", columns="label", sharding=over_rows):
        assert array.sharding.is_equivalent_to(over_rows, 1)
    assert next(iter(fake_jax("steps=1&rows=2", columns="text"))).tolist() == [b"row 0", b"row 1"]
    with pytest.raises(penstock.ConfigurationError, match="no column 'lable'; there are image, label"):
        next(iter(fake_jax(columns="lable")))


def test_map_gets_arrays_in_order_and_its_state_counts_its_own_loop(fake_jax):
    def double(batch):
        images, targets = batch
        assert isinstance(images, jax.Array)
        return targets * 2

    mapped = fake_jax("steps=8&rows=2", columns=("image", "label")).map(double, threads=2)
    got, states = [], []
    for targets in mapped:
        got.append(targets.tolist())
        states.append(mapped.state_dict())
    assert got == [[4 * n, 4 * n + 2] for n in range(8)]
    fresh = fake_jax("steps=8&rows=2", columns=("image", "label")).map(double)
    fresh.load_state_dict(states[2])
    assert [targets.tolist() for targets in fresh] == got[3:]


def test_repr_and_foreign_arguments_are_the_loaders(fake_jax):
    assert repr(fake_jax("rows=2")).startswith("<penstock.jax.Loader of job 'fake?rows=2': epoch 0, ")
    with pytest.raises(penstock.ConfigurationError, match=r"no argument shuffle: .*order \{ shuffle: CHUNKED \}"):
        fake_jax(shuffle=True)


def test_a_batch_is_a_tree(fake_jax):
    batch = next(iter(fake_jax("rows=2", columns=None)))
    dense = penstock.jax.Batch({name: batch[name] for name in ("image", "label")})
    total = jax.jit(lambda b: b["image"].astype(jnp.int32).sum() + b["label"].sum())(dense)
    assert int(total) == 48 + 1
    assert jax.tree.map(lambda a: a.shape, dense) == {"image": (2, 4, 4, 3), "label": (2,)}


KEPT = {
    "the array": lambda a: a,
    "a view of NumPy's": np.asarray,
    "what DLPack gives": np.from_dlpack,
    "what jit returns as it is": jax.jit(lambda a: a),
    "what jit made of a gift": jax.jit(lambda a: a + jnp.uint8(0), donate_argnums=0),
    "a row": lambda a: a[1:2],
    "a copy in another device": lambda a: jax.device_put(a, jax.devices()[5]),
    "a reshaped one": lambda a: a.reshape(a.shape[0], 48),
}


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("ahead", [0, 2])
def test_no_memory_is_reused_while_an_array_looks_at_it(fake_jax, ahead):
    """The fake feeder overwrites released memory, and has 12 slots only."""
    rng = random.Random(3)
    kept = []
    loader = fake_jax("steps=400&rows=4", memory=12 * SLOT, ahead=ahead, columns=("image",))
    for step, (images,) in enumerate(loader):
        how = rng.choice(list(KEPT))
        value = KEPT[how](images)
        rows = range(1, 2) if how == "a row" else range(4)
        kept.append((how, value, [(4 * step + row) % 251 for row in rows]))
        del images, value
        rng.shuffle(kept)
        del kept[6:]
        for name, array, wanted in kept:
            got = np.asarray(array).reshape(len(wanted), -1)
            assert (got == np.array(wanted)[:, None]).all(), (step, name)
    releases = loader._core.stream.feeder.releases
    kept.clear()
    array = got = None
    loader.close()
    gc.collect()
    jax.numpy.zeros(1).block_until_ready()  # a call makes jaxlib release its references
    releases.flush()
    assert releases.held <= 1


def test_what_is_still_computed_keeps_its_memory(fake_jax):
    """No Python object refers to the batch when the step that reads it runs. More steps are queued than fit the memory."""

    @jax.jit
    def slow(images, seed):
        nothing = jnp.sort(jnp.sin(jnp.arange(600_000) + seed)).sum() * 0
        return nothing.astype(jnp.int32) + images.astype(jnp.int32).sum()

    sums = []
    for step, (images,) in enumerate(fake_jax("steps=30&rows=4", memory=6 * SLOT, columns=("image",))):
        sums.append(slow(images, step))
    assert [int(s) for s in sums] == [48 * sum((4 * step + row) % 251 for row in range(4)) for step in range(30)]


def test_rows_are_split_over_devices_without_a_copy(fake_jax, over_rows):
    loader = fake_jax("steps=3&rows=32", sharding=over_rows, columns=("image", "label", "valid"))
    assert (loader.rank, loader.world_size) == (0, 1)
    twice = jax.jit(lambda a: a.astype(jnp.float32) * 2)
    for step, (images, targets, valid) in enumerate(loader):
        assert images.sharding == over_rows
        assert in_arena(images, arena_of(loader)) == [True] * 8
        assert [shard.data.shape for shard in images.addressable_shards] == [(4, 4, 4, 3)] * 8
        assert targets.tolist() == list(range(32 * step, 32 * step + 32))
        assert (np.asarray(twice(images))[:, 0, 0, 0] == 2 * np.asarray(targets)).all()
        assert valid.sharding.spec == PartitionSpec("data")


def test_each_column_may_have_a_sharding_of_its_own(fake_jax):
    mesh = jax.make_mesh((4, 2), ("data", "model"))
    shardings = {
        "image": NamedSharding(mesh, PartitionSpec("data", "model")),
        "label": NamedSharding(mesh, PartitionSpec("data")),
    }
    batch = next(iter(fake_jax("rows=8", sharding=shardings)))
    assert {shard.data.shape for shard in batch["image"].addressable_shards} == {(2, 2, 4, 3)}
    assert batch["label"].sharding == shardings["label"]
    assert batch["label"].tolist() == list(range(8))
    assert batch.valid.sharding.is_equivalent_to(shardings["label"], 1)
    assert isinstance(batch["weights"].sharding, SingleDeviceSharding)


def test_rows_that_no_sharding_can_split_are_refused_with_the_way_out(fake_jax, over_rows):
    with pytest.raises(penstock.ConfigurationError, match="a batch of 4 rows in this process cannot be split over 8 parts"):
        next(iter(fake_jax("rows=4", sharding=over_rows)))


def test_a_last_batch_that_cannot_be_split_is_refused_at_once(small_job, tmp_path, over_rows):
    job = tmp_path / "partial.textproto"
    with open(small_job.path) as small:
        job.write_text(small.read().replace("size: 20 last: DROP", "size: 32 last: PARTIAL"))
    with pytest.raises(penstock.ConfigurationError, match="a batch of 4 rows in .* last batch is PARTIAL; DROP or PAD it"):
        next(iter(penstock.jax.Loader(job, data_root=small_job.data, sharding=over_rows)))


def test_batches_with_a_budget_are_split_or_refused_at_once(small_job, tmp_path, over_rows):
    job = tmp_path / "budget.textproto"
    with open(small_job.path) as small:
        text = small.read().replace("size: 20", "size: 32")
    for multiple, last, words in [
        (4, "DROP", "have multiples of 4 rows in this process .* cannot be split over 8 parts"),
        (8, "PARTIAL", "DROP or PAD the last batch"),
    ]:
        bucket = f'select {{ bucket {{ by: "col(\'image/class/label\') + 1" budget: 160 multiple: {multiple} }} }}'
        job.write_text(re.sub('(files: "[^"]*")', rf"\1 {bucket}", text.replace("last: DROP", f"last: {last}")))
        with pytest.raises(penstock.ConfigurationError, match=words):
            next(iter(penstock.jax.Loader(job, data_root=small_job.data, sharding=over_rows)))
    job.write_text(job.read_text().replace("last: PARTIAL", "last: DROP"))
    sizes = {len(batch["label"]) for batch in penstock.jax.Loader(job, data_root=small_job.data, sharding=over_rows)}
    assert len(sizes) > 1
    assert all(size % 8 == 0 for size in sizes)


def test_later_sizes_of_batches_are_split_or_refused_at_once(small_job, tmp_path, over_rows):
    job = tmp_path / "growing.textproto"
    with open(small_job.path) as small:
        text = small.read()
    job.write_text(text.replace("size: 20", "size: 32 change { at_rows: 64 size: 20 }"))
    with pytest.raises(penstock.ConfigurationError, match="a batch of 20 rows in this process cannot be split over 8 parts"):
        next(iter(penstock.jax.Loader(job, data_root=small_job.data, sharding=over_rows)))
    job.write_text(text.replace("size: 20 last: DROP", "size: 32 last: PARTIAL change { at_rows: 64 size: 40 }"))
    with pytest.raises(penstock.ConfigurationError, match="its last batches may have any size, .* DROP or PAD them"):
        next(iter(penstock.jax.Loader(job, data_root=small_job.data, sharding=over_rows)))
    job.write_text(text.replace("size: 20", "size: 32 change { at_rows: 64 size: 40 }"))
    loader = penstock.jax.Loader(job, data_root=small_job.data, sharding=over_rows)
    assert [[len(batch["label"]) for batch in loader] for _ in range(2)] == [[32, 32], [40, 40]]


def test_loops_and_states_are_as_the_loaders(fake_jax, over_rows):
    arguments = {"sharding": over_rows, "ahead": 2}
    loader = fake_jax("steps=3&rows=8", **arguments)
    assert len(loader) == 3
    whole = labels(loader) + labels(loader)
    assert whole == [0, 8, 16, 1000, 1008, 1016]
    for seen in range(4):
        first = fake_jax("steps=3&rows=8", **arguments)
        loop = iter(first)
        got = labels(next(loop) for _ in range(seen))
        state = pickle.loads(pickle.dumps(first.state_dict()))
        second = fake_jax("steps=3&rows=8", **arguments)
        second.load_state_dict(state)
        assert got + labels(second) == whole[: 3 if seen < 3 else 6]


def test_a_loop_that_was_left_is_followed_by_the_next_epoch(fake_jax):
    loader = fake_jax("steps=3&rows=1", ahead=2)
    for batch in loader:
        break
    assert labels(loader) == [1000, 1001, 1002]


def test_integers_are_never_changed():
    wide = np.array([1, 1 << 40])
    with pytest.raises(penstock.DataError, match="the column token has a value beyond int32"):
        penstock.jax.narrow("token", wide)
    assert penstock.jax.narrow("token", wide % 1000).dtype == np.int32
    with jax.enable_x64(True):
        assert penstock.jax.narrow("token", wide) is wide


def test_a_loader_can_be_pickled_before_its_first_use(fake_jax):
    assert labels(pickle.loads(pickle.dumps(fake_jax("steps=2&rows=1")))) == [0, 1]
