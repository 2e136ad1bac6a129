"""The loader in Accelerate, which must not shard it again."""

from pathlib import Path

import pytest

pytest.importorskip("accelerate")
from training import loader_of, run_ranks

RANK = Path(__file__).with_name("accelerate_rank.py")


def ids_of(seen):
    return [ids for ids, _ in seen]


@pytest.fixture(params=[1, 2])
def ranks(request, small_job, tmp_path):
    answers = run_ranks(RANK, small_job.path, small_job.data, tmp_path, ranks=request.param, ACCELERATE_USE_CPU="1")
    assert [answer["world_size"] for answer in answers] == [request.param] * request.param
    return answers


def test_ranks_get_their_own_rows_and_go_on_from_a_saved_state(ranks, small_job):
    with loader_of(*small_job, columns=("ids",), epochs=3) as rows:
        epochs = [ids.tolist() for (ids,) in rows]

    def joined(what):
        return [[row for part in parts for row in part] for parts in zip(*(ids_of(rank[what]) for rank in ranks))]

    assert joined("first") == epochs[:5]
    assert joined("begun") == epochs[5:7]
    assert joined("rest") == epochs[10:15]
    assert joined("again") == epochs[7:10]
