"""device= with register=True: copies from the arena itself, with a replacement of torch.cuda whose copies are late."""

import contextlib
import ctypes
import gc
from typing import ClassVar, NamedTuple

import pytest

import penstock

torch = pytest.importorskip("torch")
import penstock._cuda  # noqa: E402
import penstock.torch  # noqa: E402
from penstock import _torch_work  # noqa: E402

SLOT = 65536  # size of the fake feeder's slots, which it overwrites after their release


class Event(NamedTuple):
    cuda: object
    number: int

    def query(self):
        return self.cuda.done >= self.number

    def synchronize(self):
        self.cuda.run(self.number)


class Late:
    """Copies happen when the test runs them, or when a thread waits for their event."""

    made: ClassVar[list] = []
    locked: ClassVar[dict] = {}
    refuses: ClassVar[bool] = False

    def __init__(self, device):
        self.queue, self.done, self.events, self.clones, self.pinned_bytes = [], 0, [], [], 0
        Late.made.append(self)

    stream = contextlib.nullcontext

    def pinned(self, tensor):
        self.pinned_bytes += tensor.numel() * tensor.element_size()
        return tensor.clone()

    def to_device(self, tensor):
        self.clones.append(tensor)  # PyTorch's allocator keeps the sources of copies under way
        return self.to_device_in_parts(tensor, [])

    def to_device_in_parts(self, tensor, borders):
        """Acts like a device: it has addresses, and keeps no objects."""
        there = torch.full_like(tensor, 77)
        self.queue.append((there, tensor.data_ptr(), tensor.numel() * tensor.element_size()))
        return there

    def event(self):
        self.events.append(len(self.queue))
        return Event(self, len(self.events))

    def join(self, event, tensors):
        pass

    def run(self, number):
        until = self.events[number - 1] if number else 0
        for there, address, size in self.queue[self.events[self.done - 1] if self.done else 0 : until]:
            ctypes.memmove(there.data_ptr(), address, size)
        self.done = max(self.done, number)

    def lock(self, address, size):
        if Late.refuses:
            return False
        assert address not in Late.locked, "locked twice"
        Late.locked[address] = size
        return True

    def unlock(self, address):
        Late.locked.pop(address)


@pytest.fixture
def late(fake, monkeypatch):
    Late.refuses = False
    monkeypatch.setattr(_torch_work, "Cuda", Late)

    def make(options="", **arguments):
        settings = {"device": "cuda", "register": True, "columns": ("image", "label"), **arguments}
        return penstock.torch.Loader(f"fake?{options}", coordinator="nowhere:1", **settings)

    yield make
    penstock._cuda._under_way.clear()
    penstock.shutdown()
    Late.made.clear()
    gc.collect()


def is_batch(images, targets, step):
    return targets.tolist() == [2 * step, 2 * step + 1] and (images[1] == (2 * step + 1) % 251).all()


def test_a_batch_stays_until_it_was_copied_however_late(late):
    """The device is three batches late, and the loop keeps no object of the arena."""
    kept = []
    for step, (images, targets) in enumerate(late("steps=40&rows=2", memory=12 * SLOT)):
        kept.append((images, targets))
        del images, targets
        if step >= 3:
            Late.made[0].run(step - 2)
            assert is_batch(*kept[step - 3], step - 3)
    Late.made[0].run(40)
    assert all(is_batch(*batch, step) for step, batch in enumerate(kept))
    assert Late.made[0].pinned_bytes == 0
    assert sum(Late.locked.values()) == 12 * SLOT


def test_where_memory_is_short_the_loader_waits_for_copies(late):
    kept = list(late("steps=40&rows=2", memory=5 * SLOT))
    penstock._cuda.wait_for_copies()
    assert all(is_batch(*batch, step) for step, batch in enumerate(kept))


def test_what_was_copied_goes_back(late):
    loader = late("steps=40&rows=2", memory=12 * SLOT)
    for step, batch in enumerate(loader):
        Late.made[0].run(step + 1)
    penstock._cuda.settle()
    gc.collect()
    releases = loader._core.stream.feeder.releases
    releases.flush()
    assert releases.held == 0


@pytest.mark.parametrize("why", ["the system refuses", "another loader has begun"])
def test_without_locked_memory_copies_go_through_pytorchs(late, fake, why):
    if why == "the system refuses":
        Late.refuses = True
    else:
        next(iter(fake("steps=1&rows=2", memory=12 * SLOT)))
    kept = list(late("steps=20&rows=2", memory=12 * SLOT))
    Late.made[0].run(20)
    assert all(is_batch(*batch, step) for step, batch in enumerate(kept))
    assert Late.made[0].pinned_bytes == 20 * (2 * 48 + 2 * 8)
    assert Late.locked == {}


def test_chunks_are_locked_once_and_no_copy_crosses_a_border(late, monkeypatch):
    monkeypatch.setattr(penstock._cuda, "CHUNK", 1024)
    crossed = []

    def parts(self, tensor, borders):
        base, size = tensor.data_ptr(), tensor.numel() * tensor.element_size()
        for begin, end in zip([0, *borders], [*borders, size]):
            at = base + begin
            start = max(address for address in Late.locked if address <= at)
            assert at + (end - begin) <= start + Late.locked[start]
        crossed.append(len(borders))
        return whole(self, tensor, borders)

    whole = Late.to_device_in_parts
    monkeypatch.setattr(Late, "to_device_in_parts", parts)
    for step, (images, targets) in enumerate(late("steps=20&rows=60", memory=6 * SLOT)):
        Late.made[0].run(step + 1)
        assert targets.tolist() == list(range(60 * step, 60 * step + 60))
        assert images[:, 0, 0, 0].tolist() == [label % 251 for label in targets.tolist()]
    assert max(crossed) >= 2


def test_parts_are_the_whole():
    cuda = object.__new__(penstock._cuda.Cuda)
    cuda._device = torch.device("cpu")
    for tensor in (torch.arange(300).reshape(100, 3), torch.rand(77).bfloat16(), torch.rand(50) > 0.5):
        size = tensor.numel() * tensor.element_size()
        for borders in ([], [1], [8, 33], [size - 1]):
            assert torch.equal(cuda.to_device_in_parts(tensor, borders), tensor)


def test_two_threads_lock_a_chunk_once(late):
    from concurrent.futures import ThreadPoolExecutor

    def labels(_):
        return [step for step, _ in enumerate(late("steps=5&rows=2", memory=40 * SLOT))]

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(labels, range(2))) == [[0, 1, 2, 3, 4]] * 2
    penstock._cuda.wait_for_copies()
    assert len(Late.locked) == 1


def test_memory_is_unlocked_before_its_mapping_goes(late):
    loop = iter(late("steps=3&rows=2", memory=12 * SLOT))
    batch = next(loop)
    assert Late.locked
    Late.made[0].run(2)
    penstock._cuda.settle()
    del loop, batch
    penstock.shutdown()
    gc.collect()
    assert Late.locked == {}


def test_it_is_for_cuda_devices(late):
    with pytest.raises(penstock.ConfigurationError, match="page-locks memory for device='cuda', not for device='cpu'"):
        late(device="cpu")


def test_real_batches_are_the_same(late, small_job):
    job = {"job": small_job.path, "data_root": small_job.data, "columns": ("image", "label"), "epochs": 3}
    wanted = [(images.clone(), labels.clone()) for images, labels in penstock.torch.Loader(**job)]
    penstock.shutdown()
    got = []
    for step, batch in enumerate(penstock.torch.Loader(**job, device="cuda", register=True)):
        got.append(batch)
        if step >= 3:
            Late.made[0].run(step - 2)
    Late.made[0].run(len(got))
    assert len(got) == len(wanted) == 15
    assert all(torch.equal(a, b) for batches in zip(got, wanted) for a, b in zip(*batches))
    assert Late.made[0].pinned_bytes == 0
