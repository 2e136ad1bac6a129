"""PyTorch's tensors: where torch can be imported, so in ./run test-frameworks."""

import contextlib
import io
import pickle
from typing import ClassVar

import numpy as np
import pytest

import penstock

torch = pytest.importorskip("torch")
import penstock.torch  # noqa: E402


@pytest.fixture
def fake_torch(fake):
    def make(options="", **arguments):
        return penstock.torch.Loader(f"fake?{options}", coordinator="nowhere:1", **arguments)

    return make


def labels(loop):
    return [int(batch["label"][0]) for batch in loop]


def test_tensors_look_at_the_arena(fake_torch):
    loader = fake_torch("steps=3&rows=4")
    batch = next(iter(loader))
    inner = loader._loader._stream.feeder.arena
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
    """torch.cuda, in which copies happen as late as they may: when the trainer's stream waits for their event."""

    made: ClassVar[list] = []

    def __init__(self, device):
        self.queue, self.done, self.pinned_bytes = [], 0, 0
        StandIn.made.append(self)

    @contextlib.contextmanager
    def stream(self):
        yield

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
    """Slots go back when the batch is in page-locked memory: the fake feeder overwrites them, and copies come later."""
    StandIn.made.clear()
    monkeypatch.setattr(penstock.torch, "Cuda", StandIn)
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
    # States count what the loop received, not what is on its way.
    fresh = fake_torch("steps=12&rows=2", device="cuda", memory=4 * 65536, columns=("image", "label"))
    fresh.load_state_dict(states[4])
    assert [targets.tolist() for _, targets in fresh] == got[5:]


def test_an_epoch_left_with_copies_on_their_way_is_followed_by_the_next(fake_torch, monkeypatch):
    monkeypatch.setattr(penstock.torch, "Cuda", StandIn)
    loader = fake_torch("steps=3&rows=1", device="cuda", ahead=2, columns=("label",))
    for (label,) in loader:
        break
    assert [int(label) for (label,) in loader] == [1000, 1001, 1002]


def test_page_locked_copies_leave_the_arena(fake_torch, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor.clone())
    loader = fake_torch("steps=40&rows=2", pin_memory=True, memory=4 * 65536)
    kept = list(loader)
    assert [b["label"].tolist() for b in kept] == [[2 * n, 2 * n + 1] for n in range(40)]
    assert kept[7].ids.tolist() == [[0, 14], [0, 15]]


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
    """torch.distributed says rank and world size; each rank gets batches and the gradients are averaged."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
