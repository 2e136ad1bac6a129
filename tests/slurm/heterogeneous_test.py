"""heterogeneous.sbatch: trainers in component 0, coordinator and worker in component 1."""

from conftest import STEPS

SCRIPT = "heterogeneous.sbatch"


def test_a_requeued_heterogeneous_job_resumes_with_the_same_digest(alice):
    alice.allow("mixed", 20)  # in the second epoch
    job = alice.submit(SCRIPT, "mixed")
    alice.wait_for_steps("mixed", 20, 1, job)
    job.requeue()
    alice.allow("mixed", STEPS)
    job.wait("COMPLETED")
    alice.check_digests("mixed", 1)
    alice.check_nothing_remains("mixed")


def test_daemons_run_on_the_nodes_of_component_1(alice):
    alice.allow("places", 3)
    job = alice.submit(SCRIPT, "places", "--nodelist=n2", ":", "--nodelist=n1")
    alice.wait_for_steps("places", 3, 1, job)
    steps = alice.slurm.command("squeue", "--steps", f"--user={alice.user}", "-ho", "%j %N").stdout.split("\n")
    assert {"penstock-coordinator n1", "penstock-worker n1", "python3 n2"} <= set(steps)
    job.cancel()
    alice.check_nothing_remains("places")
