"""The rank of this trainer and the number of trainers: the documented order, contradictions, and the ranks of this host."""

import json
import sys
import types

import pytest

import penstock
from penstock import ConfigurationError, _notices, _opening, find_place

NOBODY = {}
LAUNCHED = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}
CLUSTER = {"chief": ["a:1"], "worker": ["a:2", "b:1", "b:2"], "ps": ["c:1"]}
SLURM = {"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "6", "SLURM_STEP_TASKS_PER_NODE": "3(x2)"}


def tf_config(kind="worker", index=1, cluster=CLUSTER):
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


@pytest.fixture
def torch(monkeypatch):
    """Imports a fake torch.distributed. Returns a function that initializes it."""
    module = types.ModuleType("torch.distributed")
    place = []
    module.is_available = lambda: True
    module.is_initialized = lambda: bool(place)
    module.get_rank = lambda: place[0]
    module.get_world_size = lambda: place[1]
    monkeypatch.setitem(sys.modules, "torch.distributed", module)
    return lambda rank, world_size: place.extend((rank, world_size))


@pytest.fixture
def jax(monkeypatch):
    """Imports a fake JAX. Returns a function that initializes jax.distributed."""
    modules = sys.modules
    distributed = types.ModuleType("jax._src.distributed")
    distributed.global_state = types.SimpleNamespace(client=None, process_id=0, num_processes=1)
    monkeypatch.setitem(modules, "jax", types.ModuleType("jax"))
    monkeypatch.setitem(modules, "jax._src.distributed", distributed)

    def initialize(rank, world_size):
        distributed.global_state = types.SimpleNamespace(client=object(), process_id=rank, num_processes=world_size)

    return initialize


def found(environment, rank=None, world_size=None):
    place = find_place(rank, world_size, environment)
    return place.rank, place.world_size, place.source


def test_arguments_come_before_all_else(torch, jax):
    torch(1, 2)
    jax(1, 3)
    everything = {**LAUNCHED, **tf_config(), **SLURM}
    assert found(everything, 4, 5) == (4, 5, "the arguments")


def test_the_documented_order_is_the_order(torch, jax):
    everything = {**LAUNCHED, **tf_config(), **SLURM}
    assert found({}) == (0, 1, "the default")
    assert found(SLURM) == (2, 6, "SLURM_PROCID and SLURM_STEP_NUM_TASKS")
    assert found({**SLURM, **tf_config()}) == (2, 4, "TF_CONFIG")
    jax(1, 3)
    assert found({**SLURM, **tf_config()}) == (1, 3, "jax.distributed")
    assert found(everything) == (3, 8, "RANK and WORLD_SIZE")
    torch(1, 2)
    assert found(everything) == (1, 2, "torch.distributed")


def test_what_is_imported_and_not_initialized_says_nothing(torch, jax):
    assert found({**tf_config(), **SLURM}) == (2, 4, "TF_CONFIG")
    assert found(SLURM) == (2, 6, "SLURM_PROCID and SLURM_STEP_NUM_TASKS")
    assert found(NOBODY) == (0, 1, "the default")


def test_torch_without_its_distributed_part_says_nothing(torch, monkeypatch):
    torch(1, 2)
    monkeypatch.setattr(sys.modules["torch.distributed"], "is_available", lambda: False)
    assert found(NOBODY) == (0, 1, "the default")


def test_rank_alone_or_world_size_alone_says_nothing():
    assert found({"RANK": "3"}) == (0, 1, "the default")
    assert found({"WORLD_SIZE": "3"}) == (0, 1, "the default")


@pytest.mark.parametrize(
    ("kind", "index", "place"),
    [("chief", 0, (0, 4)), ("worker", 0, (1, 4)), ("worker", 2, (3, 4)), ("evaluator", 0, (0, 1)), ("ps", 0, (0, 1))],
)
def test_tf_config_counts_chiefs_and_then_workers(kind, index, place):
    assert found(tf_config(kind, index))[:2] == place


def test_tf_config_without_a_chief_or_with_a_master():
    assert found(tf_config("worker", 1, {"worker": ["a:1", "b:1"]}))[:2] == (1, 2)
    assert found(tf_config("master", 0, {"master": ["a:1"], "worker": ["b:1"]}))[:2] == (0, 2)


def test_slurm_counts_inside_srun_alone():
    batch_script = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}
    assert found(batch_script) == (0, 1, "the default")
    assert found({**batch_script, "SLURM_STEP_ID": "0", "SLURM_PROCID": "5"})[:2] == (5, 8)


@pytest.mark.parametrize(
    ("environment", "arguments", "message"),
    [
        (NOBODY, (1, None), "rank=1, world_size=None: give both, or none"),
        (NOBODY, (None, 2), "rank=None, world_size=2: give both, or none"),
        (NOBODY, (2, 2), "rank 2 of 2 .the arguments.: ranks are 0 to world_size - 1"),
        (NOBODY, (-1, 2), "rank -1 of 2"),
        (NOBODY, (0, 0), "rank 0 of 0"),
        ({"RANK": "8", "WORLD_SIZE": "8"}, (None, None), "rank 8 of 8 .RANK and WORLD_SIZE."),
        ({"RANK": "first", "WORLD_SIZE": "8"}, (None, None), "RANK='first' and WORLD_SIZE='8' must be numbers: correct them"),
        (tf_config("worker", 3), (None, None), "rank 4 of 4 .TF_CONFIG."),
        ({"TF_CONFIG": "{"}, (None, None), "TF_CONFIG='{' is not in TensorFlow's format: correct it, or give rank="),
        ({"TF_CONFIG": "[]"}, (None, None), "is not in TensorFlow's format"),
        ({**SLURM, "SLURM_PROCID": "6"}, (None, None), "rank 6 of 6"),
    ],
)
def test_what_contradicts_itself_is_said(environment, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        find_place(*arguments, environment)


@pytest.mark.parametrize(
    ("environment", "local_world"),
    [
        (LAUNCHED, 4),
        ({**LAUNCHED, "LOCAL_WORLD_SIZE": "64"}, 8),  # at most the world size
        ({"RANK": "0", "WORLD_SIZE": "8"}, 1),  # unknown
        ({"RANK": "0", "WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, 2),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}, 2),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.7"}, 1),
        (SLURM, 3),
        (tf_config("worker", 1), 2),  # two on host b
        (tf_config("chief", 0), 2),  # chief and one worker on host a
    ],
)
def test_ranks_of_this_host_are_counted(environment, local_world):
    assert find_place(None, None, environment).local_world == local_world


# ---- The ranks of a loader


@pytest.fixture(autouse=True)
def nothing_was_said(monkeypatch):
    monkeypatch.setattr(_notices, "_printed", set())
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TF_CONFIG", "SLURM_PROCID", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)


def test_the_choice_is_said_once(fake, monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for _ in range(3):
        loader = fake("steps=1")
        assert (loader.rank, loader.world_size) == (1, 2)
        assert len(loader) == 1
    assert capsys.readouterr().err == "penstock: rank 1 of 2 (RANK and WORLD_SIZE)\n"


def test_what_was_given_is_not_said(fake, capsys):
    assert len(fake("steps=1", rank=0, world_size=2)) == 1
    assert capsys.readouterr().err == ""


def test_the_environment_is_read_when_the_loader_begins(fake, monkeypatch):
    loader = fake("steps=1")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert loader.rank == 1


def threads_of(loader):
    assert loader.schema
    return loader._core.stream.feeder.welcome.threads


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(_opening, "available_cpus", lambda: 8)


@pytest.fixture
def job_file(fake, tmp_path):
    path = tmp_path / "x.textproto"
    path.write_text("")
    return lambda **arguments: penstock.Loader(path, **arguments)


def test_ranks_that_read_by_themselves_share_the_cores_of_their_host(eight_cores, job_file, monkeypatch, capsys):
    for name, value in LAUNCHED.items():
        monkeypatch.setenv(name, value)
    assert threads_of(job_file()) == 2
    said = capsys.readouterr().err
    assert "4 ranks on this host read by themselves, each with 2 of the cores" in said
    assert "`penstockd standalone`" in said


def test_threads_that_are_given_are_those(eight_cores, job_file, monkeypatch, capsys):
    for name, value in LAUNCHED.items():
        monkeypatch.setenv(name, value)
    assert threads_of(job_file(threads=5)) == 5
    assert "penstockd" not in capsys.readouterr().err


def test_a_served_job_needs_no_share(eight_cores, fake, monkeypatch, capsys):
    for name, value in LAUNCHED.items():
        monkeypatch.setenv(name, value)
    threads_of(fake("steps=1"))
    assert "penstockd" not in capsys.readouterr().err


def test_more_ranks_than_cores_have_one_each(eight_cores, job_file, monkeypatch):
    for name, value in {"RANK": "0", "WORLD_SIZE": "20", "LOCAL_WORLD_SIZE": "20"}.items():
        monkeypatch.setenv(name, value)
    assert threads_of(job_file()) == 1


def test_a_rank_that_another_trainer_reads_is_no_fault_of_the_data():
    from penstock._errors import error_of

    said = error_of("ALREADY_EXISTS", "rank 1 of 4 of job train has another reader that is alive", of_batch=True)
    assert isinstance(said, ConfigurationError)
