"""same-allocation.sbatch with torchrun: a task on each node, which starts the trainers of the node."""

import os

import pytest

from conftest import STEPS
from private_slurm import eventually

# The command of docs/slurm.md, with the address of the first node, whose name is none of this host.
COMMAND = """torchrun --nnodes=$SLURM_JOB_NUM_NODES --nproc-per-node=2 --rdzv-backend=c10d --rdzv-id=$SLURM_JOB_ID \
--rdzv-endpoint=127.0.0.1:$((20000 + SLURM_JOB_ID % 10000)) trainer.py train 2"""


@pytest.mark.skipif("PENSTOCK_TORCH" not in os.environ, reason="PyTorch is not here: ./run test-frameworks installs it")
def test_a_requeued_torchrun_job_resumes_with_the_same_digests(root):
    """The job's user is root, because other users do not reach the environment with PyTorch."""
    environment = {"PATH": f"{os.environ['PENSTOCK_TORCH']}:{root.environment['PATH']}", "OMP_NUM_THREADS": "1"}
    arguments = (root.data.job, root.data.root, f"--chdir={root.place}", "bash", "-c", COMMAND)
    root.allow("torchrun", 7)
    job = root.submit("same-allocation.sbatch", "torchrun", environment=environment, arguments=arguments)
    root.wait_for_steps("torchrun", 7, 4, job)
    job.requeue()
    root.allow("torchrun", STEPS)
    job.wait("COMPLETED")
    root.check_digests("torchrun", 4)
    eventually("the end of the files on the nodes", lambda: not list(root.node_tmp.iterdir()), context=job.output)
