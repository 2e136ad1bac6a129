"""PyTorch's tensors. These tests need torch, which ./run test-frameworks installs."""

import contextlib
import io
import pickle
from typing import ClassVar

import numpy as np
import pytest
from free_port import free_port

import penstock

torch = pytest.importorskip("torch")
import penstock.torch  # noqa: E402
from penstock import _torch_work  # noqa: E402


@pytest.fixture
def fake_torch(fake):
    def make(options="", **arguments):
        return penstock.torch.Loader(f"fake?{options}", coordinator="nowhere:1", **arguments)

    return make


def test_tensors_are_read_as_arrays(small_job):
    x, y = torch.rand(20, 3), torch.arange(20)
    loader = penstock.torch.Loader(arrays={"x": x, "y": y}, columns=("x", "y"), batch_size=5)
    seen = []
    for rows, numbers in loader:
        assert torch.equal(rows, x[numbers])
        seen += numbers.tolist()
    assert sorted(seen) == list(range(20))


def labels(loop):
    return [int(batch["label"][0]) for batch in loop]


def test_tensors_look_at_the_arena(fake_torch):
    loader = fake_torch("steps=3&rows=4")
    batch = next(iter(loader))
    inner = loader._core.stream.feeder.arena
    image = batch["image"]
    assert image.shape == (4, 4, 4, 3)
    assert inner.address <= image.data_ptr() < inner.address + inner.size
    assert batch["label"].tolist() == [0, 1, 2, 3]
    assert batch["weights"].dtype == torch.bfloat16
    assert batch["weights"].tolist() == [[1.0, 2.0]] * 4
    assert batch["boxes"].row_splits.tolist() == [0, 0, 1, 3, 6]
    assert batch["text"][1] == b"row 1"
    assert batch["words"][2] == [b"2.0", b"2.1"]
    assert batch.ids.tolist() == [[0, n] for n in range(4)]
    assert batch.valid.all()
    image += 1
    assert (image[3] == 4).all()


def test_unsigned_integers_keep_their_type(small_job, tmp_path, monkeypatch):
    row = {"a": np.uint32(0xFFFFFFFF), "b": np.uint64(0xFFFFFFFFFFFFFFFF)}
    job = penstock.convert([row], tmp_path / "out").job
    batch = next(iter(penstock.torch.Loader(job, batch_size=1)))
    assert batch["a"].dtype == torch.uint32
    assert batch["b"].dtype == torch.uint64
    assert [batch["a"].item(), batch["b"].item()] == [row["a"], row["b"]]
    monkeypatch.delattr(torch, "uint32")
    with pytest.raises(penstock.ConfigurationError, match="has no uint32: upgrade it to 2.3, or add an op to the job: cast"):
        next(iter(penstock.torch.Loader(job, batch_size=1)))


def test_a_tensor_keeps_its_memory_and_nothing_else_does(fake_torch):
    loader = fake_torch("steps=40&rows=2", memory=4 * 65536)
    kept = None
    for batch in loader:
        if batch.step == 0:
            kept = batch["label"]
        assert batch["label"].tolist() == [2 * batch.step, 2 * batch.step + 1]
    assert kept.tolist() == [0, 1]


def test_columns_are_a_tuple(fake_torch):
    for images, targets in fake_torch("steps=2&rows=2", columns=("image", "label")):
        assert images.shape == (2, 4, 4, 3)
        assert targets.shape == (2,)
    with pytest.raises(penstock.ConfigurationError, match="no column 'lable'; there are image, label"):
        next(iter(fake_torch(columns=("lable",))))


def test_loops_and_states_are_as_the_loaders(fake_torch):
    loader = fake_torch("steps=3&rows=1")
    assert len(loader) == 3
    whole = labels(loader) + labels(loader)
    assert whole == [0, 1, 2, 1000, 1001, 1002]
    for seen in range(4):
        first = fake_torch("steps=3&rows=1")
        loop = iter(first)
        got = [int(next(loop)["label"]) for _ in range(seen)]
        file = io.BytesIO()
        torch.save({"loader": first.state_dict()}, file)
        file.seek(0)
        second = pickle.loads(pickle.dumps(fake_torch("steps=3&rows=1")))
        second.load_state_dict(torch.load(file)["loader"])
        rest = labels(second)
        assert got + rest == whole[: 3 if seen < 3 else 6]


def test_images_are_normalized_as_torchvision_does(fake_torch):
    how = penstock.torch.Normalize(mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 0.125))
    plain = next(iter(fake_torch("rows=4")))["image"]
    image = next(iter(fake_torch("rows=4", normalize={"image": how})))["image"]
    assert image.shape == (4, 3, 4, 4)
    assert image.dtype == torch.float32
    assert image.is_contiguous(memory_format=torch.channels_last)
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (how.mean, how.std))
    torch.testing.assert_close(image, (plain.permute(0, 3, 1, 2) / 255 - mean) / std)
    with pytest.raises(penstock.ConfigurationError, match="label is no column of images"):
        next(iter(fake_torch(normalize={"label": how})))


def test_dicts_of_batches_are_rebuilt_by_those_who_move_them(fake_torch):
    batch = next(iter(fake_torch("rows=2")))
    again = type(batch)(dict(batch))
    assert isinstance(again, dict)
    assert again["label"].tolist() == [0, 1]


class StandIn:
    """Replaces torch.cuda. Copies happen as late as permitted: when the trainer's stream waits for their event."""

    made: ClassVar[list] = []

    def __init__(self, device):
        self.queue, self.done, self.pinned_bytes = [], 0, 0
        StandIn.made.append(self)

    @contextlib.contextmanager
    def stream(self):
        yield

    def on_current_stream(self):
        return contextlib.nullcontext

    def pinned(self, tensor):
        self.pinned_bytes += tensor.numel() * tensor.element_size()
        return tensor.clone()

    def to_device(self, tensor):
        there = torch.full_like(tensor, 77)
        self.queue.append((there, tensor))
        return there

    def event(self):
        return len(self.queue)

    def join(self, event, tensors):
        for there, source in self.queue[self.done : event]:
            there.copy_(source)
        self.done = max(self.done, event)


def test_copies_to_a_device_are_on_their_way_before_their_batch_is_due(fake_torch, monkeypatch):
    """Slots are released when the batch is in page-locked memory. The fake feeder overwrites them before the copies."""
    StandIn.made.clear()
    monkeypatch.setattr(_torch_work, "Cuda", StandIn)
    loader = fake_torch("steps=12&rows=2", device="cuda", ahead=2, memory=4 * 65536, columns=("image", "label"))
    loop = iter(loader)
    images, targets = next(loop)
    stand_in = StandIn.made[0]
    assert len(stand_in.queue) == 3 * 2
    assert stand_in.done == 2
    got = [targets.tolist()]
    states = [loader.state_dict()]
    for images, targets in loop:
        assert (images[1] == (targets[1] % 251)).all()
        got.append(targets.tolist())
        states.append(loader.state_dict())
    assert got == [[2 * n, 2 * n + 1] for n in range(12)]
    # States count the batches that the loop received, not those under way.
    fresh = fake_torch("steps=12&rows=2", device="cuda", memory=4 * 65536, columns=("image", "label"))
    fresh.load_state_dict(states[4])
    assert [targets.tolist() for _, targets in fresh] == got[5:]


def test_an_epoch_left_with_copies_on_their_way_is_followed_by_the_next(fake_torch, monkeypatch):
    monkeypatch.setattr(_torch_work, "Cuda", StandIn)
    loader = fake_torch("steps=3&rows=1", device="cuda", ahead=2, columns=("label",))
    for (label,) in loader:
        break
    assert [int(label) for (label,) in loader] == [1000, 1001, 1002]


def test_page_locked_copies_leave_the_arena(fake_torch, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor.clone())
    monkeypatch.setattr(_torch_work, "pins_memory", lambda: True)
    loader = fake_torch("steps=40&rows=2", pin_memory=True, memory=4 * 65536)
    kept = list(loader)
    assert [b["label"].tolist() for b in kept] == [[2 * n, 2 * n + 1] for n in range(40)]
    assert kept[7].ids.tolist() == [[0, 14], [0, 15]]


@pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine has an accelerator")
def test_pin_memory_without_an_accelerator_warns_as_a_data_loader_does(fake_torch):
    loader = fake_torch("steps=3&rows=1", pin_memory=True)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        assert labels(loader) == [0, 1, 2]


def test_memory_that_cannot_be_page_locked_is_said_in_bytes(fake_torch, monkeypatch):
    def pin_memory(tensor):
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin_memory)
    monkeypatch.setattr(_torch_work, "pins_memory", lambda: True)
    with pytest.raises(penstock.MachineError, match="PyTorch cannot page-lock 16 bytes: CUDA error: out of memory"):
        next(iter(fake_torch("rows=2", columns="label", pin_memory=True)))


def test_copies_to_a_device_that_cannot_be_page_locked_are_a_machine_error(fake_torch, monkeypatch):
    class Full(StandIn):
        def pinned(self, tensor):
            raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(_torch_work, "Cuda", Full)
    with pytest.raises(penstock.MachineError, match="device='cuda': PyTorch cannot page-lock 16 bytes: CUDA error: out"):
        next(iter(fake_torch("rows=2", columns="label", device="cuda")))


@pytest.mark.parametrize("device", ["cudda", "cuda:x", "cuda:-3", 1.5, object()])
def test_what_is_no_device_is_a_configuration_error(fake_torch, device):
    with pytest.raises(penstock.ConfigurationError, match="device=.* is not a device: "):
        fake_torch(device=device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", 0, "xpu"])
def test_a_device_that_is_not_there_is_a_configuration_error(fake_torch, device):
    with pytest.raises(penstock.ConfigurationError, match="device='.*' cannot be used: "):
        next(iter(fake_torch(device=device)))


def normalizing(**changes):
    return {"image": penstock.torch.Normalize(**changes)}


@pytest.mark.parametrize(
    ("normalize", "message"),
    [
        (True, "normalize=True names no column: normalize="),
        (penstock.torch.Normalize(), "names no column"),
        ({"image": (0.5, 0.5)}, r"normalize\['image'\] is a penstock.torch.Normalize, not \(0.5, 0.5\)"),
        (normalizing(std=(0.2, 0.0, 0.2)), r"normalize\['image'\].std holds 0"),
        (normalizing(mean="imagenet"), r"normalize\['image'\].mean is a number for each channel"),
        (normalizing(mean=None), r"normalize\['image'\].mean is a number for each channel"),
        (normalizing(dtype=torch.uint8), r"normalize\['image'\].dtype is a floating point type .*not torch.uint8"),
        (normalizing(dtype="float32"), r"normalize\['image'\].dtype is a floating point type"),
    ],
)
def test_normalize_is_checked_by_the_constructor(fake_torch, normalize, message):
    with pytest.raises(penstock.ConfigurationError, match=message):
        fake_torch(normalize=normalize)


def test_normalize_is_checked_against_the_columns(fake_torch):
    with pytest.raises(penstock.ConfigurationError, match="mean has 2 values, and image has 3 channels"):
        next(iter(fake_torch(normalize=normalizing(mean=(0.5, 0.5)))))
    with pytest.raises(penstock.ConfigurationError, match="normalize: no column 'picture'; there are image"):
        next(iter(fake_torch(normalize={"picture": penstock.torch.Normalize()})))
    one = next(iter(fake_torch("rows=2", columns="image", normalize=normalizing(mean=(0.5,), std=(0.5,)))))
    assert one.shape == (2, 3, 4, 4)


def test_one_column_alone(fake_torch):
    assert [tensor.tolist() for tensor in fake_torch("steps=2&rows=2", columns="label")] == [[0, 1], [2, 3]]
    with pytest.raises(penstock.ConfigurationError, match="no column 'lable'; there are image, label"):
        next(iter(fake_torch(columns="lable")))


def test_repr_is_the_loaders(fake_torch):
    loader = fake_torch("steps=1&rows=2")
    assert repr(loader).startswith("<penstock.torch.Loader of job 'fake?steps=1&rows=2': epoch 0, ")
    list(loader)
    assert "epoch 1," in repr(loader)


# ---- map


def test_map_gets_tensors_in_order_and_its_state_counts_its_own_loop(fake_torch):
    def double(batch):
        images, targets = batch
        assert isinstance(images, torch.Tensor)
        return targets * 2

    loader = fake_torch("steps=12&rows=2", columns=("image", "label"))
    mapped = loader.map(double, threads=3)
    assert len(mapped) == 12
    got, states = [], []
    for targets in mapped:
        got.append(targets.tolist())
        states.append(mapped.state_dict())
    assert got == [[4 * n, 4 * n + 2] for n in range(12)]
    assert mapped.epoch == loader.map(double).epoch == 1
    fresh = fake_torch("steps=12&rows=2", columns=("image", "label")).map(double)
    fresh.load_state_dict(states[4])
    assert [targets.tolist() for targets in fresh] == got[5:]


def test_map_of_a_normalized_loader_and_of_a_mapped_one(fake_torch):
    loader = fake_torch("steps=3&rows=2", columns="image", normalize=normalizing(mean=(0.0,), std=(1.0,)))
    shapes = list(loader.map(lambda image: image.shape).map(tuple, threads=2))
    assert shapes == [(2, 3, 4, 4)] * 3


def test_map_goes_on_where_the_loaders_own_loop_ended(fake_torch, monkeypatch):
    monkeypatch.setattr(_torch_work, "Cuda", StandIn)
    loader = fake_torch("steps=4&rows=1", device="cuda", ahead=2, columns="label", epochs=2)
    loop = iter(loader)
    seen = [int(next(loop)) for _ in range(3)]  # two more are under way, one of them of the next epoch
    del loop
    assert seen == [0, 1, 2]
    mapped = loader.map(int)
    assert mapped.epoch == 1
    assert list(mapped) == [1000, 1001, 1002, 1003]


def test_map_waits_for_a_devices_copies(fake_torch, monkeypatch):
    monkeypatch.setattr(_torch_work, "Cuda", StandIn)
    loader = fake_torch("steps=12&rows=2", device="cuda", memory=8 * 65536, columns=("image", "label"))

    def check(batch):
        images, targets = batch
        assert (images[1] == (targets[1] % 251)).all()
        return targets.tolist()

    assert list(loader.map(check, threads=1)) == [[2 * n, 2 * n + 1] for n in range(12)]


def test_the_function_runs_in_the_stream_of_the_loop(fake_torch, monkeypatch):
    entered = []

    class WithStreams(StandIn):
        def on_current_stream(self):
            @contextlib.contextmanager
            def enter():
                entered.append("in")
                yield
                entered.append("out")

            return enter

    monkeypatch.setattr(_torch_work, "Cuda", WithStreams)
    loader = fake_torch("steps=2&rows=1", device="cuda", columns="label")
    list(loader.map(lambda label: entered.append(int(label))))
    assert entered == ["in", 0, "out", "in", 1, "out"]


def test_a_data_loader_around_the_loader_is_refused_with_the_reason(fake_torch):
    for workers in (0, 1):
        wrapped = torch.utils.data.DataLoader(fake_torch("steps=2&rows=1"), batch_size=2, num_workers=workers)
        with pytest.raises(penstock.ConfigurationError, match="in place of the DataLoader"):
            next(iter(wrapped))


def test_a_data_loaders_argument_is_rejected(fake_torch):
    with pytest.raises(penstock.ConfigurationError, match="a loader has no argument num_workers: .*threads="):
        fake_torch(num_workers=8)


def test_a_worker_of_a_data_loader_is_refused(fake_torch):
    class Wrapped(torch.utils.data.IterableDataset):
        def __init__(self, loader):
            self.loader = loader

        def __iter__(self):
            return iter(self.loader)

    wrapped = torch.utils.data.DataLoader(Wrapped(fake_torch()), batch_size=None, num_workers=1)
    with pytest.raises(penstock.ConfigurationError, match="does not run inside a worker of torch"):
        next(iter(wrapped))


def _rank(rank, port, queue, job):
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    loader = penstock.torch.Loader(**job)
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(48, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-6)
    ids, losses = [], []
    for batch in loader:
        loss = (model(batch["image"].flatten(1).float())[:, 0] - batch["label"]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ids.append(batch.ids.numpy().copy())
        losses.append(float(loss.detach()))
    queue.put((rank, loader.world_size, ids, losses))
    queue.close()
    queue.join_thread()
    dist.barrier()
    dist.destroy_process_group()


def test_distributed_ranks_find_their_place(fake):
    """torch.distributed has rank and world size. Each rank gets batches, and the gradients are averaged."""
    port = free_port()
    context = torch.multiprocessing.get_context("spawn")
    queue = context.Queue()
    job = {"job": "fake?steps=4&rows=3", "coordinator": "nowhere:1"}
    ranks = [context.Process(target=_rank, args=(n, port, queue, job)) for n in range(2)]
    for process in ranks:
        process.start()
    results = sorted((queue.get(timeout=200) for _ in ranks), key=lambda result: result[0])
    for process in ranks:
        process.join(200)
        assert process.exitcode == 0
    assert [result[1] for result in results] == [2, 2]
    assert np.isfinite(results[0][3]).all()
