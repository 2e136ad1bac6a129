"""same-allocation.sbatch: digests, secrets, requeues, preemption, time limits, jobs side by side, scancel."""

import os
import signal

import pytest

import remains
from conftest import STEPS
from private_slurm import eventually

SCRIPT = "same-allocation.sbatch"


def test_an_undisturbed_job_has_the_digests_of_read_and_leaves_nothing(alice):
    job = alice.submit(SCRIPT, "plain")
    job.wait("COMPLETED")
    alice.check_digests("plain", 2)
    alice.check_nothing_remains("plain")


def test_a_requeued_job_resumes_with_the_same_digests(alice):
    alice.allow("again", 0)
    job = alice.submit(SCRIPT, "again")
    job.wait("RUNNING")
    job.requeue()  # before anything has started
    for steps in (0, 7, 15):  # at the first step, in the middle of an epoch, at the start of the second one
        alice.allow("again", steps)
        alice.wait_for_steps("again", steps, 2, job)
        job.requeue()
    alice.allow("again", STEPS)
    job.wait("COMPLETED")
    alice.check_digests("again", 2)
    alice.check_nothing_remains("again")


def test_files_of_a_job_are_for_its_user_alone(alice):
    alice.allow("secret", 2)
    job = alice.submit(SCRIPT, "secret")
    alice.wait_for_steps("secret", 2, 2, job)
    keys = {path.name: path.stat().st_mode & 0o777 for path in (alice.run("secret") / f"job-{job.number}").iterdir()}
    names = ("address", "cert.pem", "key.pem", "tokens", "operator.token", "worker.token", "trainer.token")
    assert keys == dict.fromkeys(names, 0o600)
    assert remains.readable_by_others(alice.run("secret")) == []
    folders = list(alice.node_tmp.iterdir())
    assert len(folders) == 3  # a coordinator and two workers
    assert [path for path in folders if path.stat().st_mode & 0o077] == []
    job.cancel()
    alice.check_nothing_remains("secret")


def test_jobs_of_two_users_on_the_same_nodes_do_not_collide(alice, bob):
    runs = [(alice, "one"), (alice, "two"), (bob, "one")]
    jobs = []
    for user, name in runs:
        user.allow(name, 1)
        jobs.append(user.submit(SCRIPT, name))
    for (user, name), job in zip(runs, jobs, strict=True):
        user.wait_for_steps(name, 1, 2, job)
    assert {job.field("NodeList") for job in jobs} == {"n[1-2]"}
    assert {job.state() for job in jobs} == {"RUNNING"}
    for user, name in runs:
        user.allow(name, STEPS)
    for (user, name), job in zip(runs, jobs, strict=True):
        job.wait("COMPLETED")
        user.check_digests(name, 2)
    for user, name in runs:
        user.check_nothing_remains(name)


@pytest.mark.parametrize("steps", [None, 0, 7], ids=["at the start", "at the first step", "in the middle"])
def test_nothing_remains_after_scancel_and_the_next_job_continues(alice, steps):
    name = "cancelled"
    alice.allow(name, steps or 0)
    job = alice.submit(SCRIPT, name)
    if steps is None:
        job.wait("RUNNING")
    else:
        alice.wait_for_steps(name, steps, 2, job)
    job.cancel()
    alice.check_nothing_remains(name)
    alice.allow(name, STEPS)
    alice.submit(SCRIPT, name).wait("COMPLETED")
    alice.check_digests(name, 2)


def test_a_preempted_job_resumes_with_the_same_digests(alice, bob):
    alice.allow("low", 7)
    job = alice.submit(SCRIPT, "low")
    alice.wait_for_steps("low", 7, 2, job)
    urgent = bob.submit(SCRIPT, "urgent", "--partition=urgent", "--exclusive")
    urgent.wait("COMPLETED")
    bob.check_digests("urgent", 2)
    job.wait_for_restart(1)
    alice.allow("low", STEPS)
    job.wait("COMPLETED")
    alice.check_digests("low", 2)
    alice.check_nothing_remains("low")


def test_a_job_near_its_time_limit_requeues_itself_and_resumes(alice):
    alice.allow("limit", 7)
    job = alice.submit(SCRIPT, "limit", "--time=2", "--signal=B:USR1@60")  # Slurm rounds to minutes
    alice.wait_for_steps("limit", 7, 2, job)
    job.wait_for_restart(1)
    alice.allow("limit", STEPS)
    job.wait("COMPLETED")
    assert "the time limit is near: requeueing job" in job.output()
    alice.check_digests("limit", 2)
    alice.check_nothing_remains("limit")


def test_the_job_after_a_timed_out_one_continues_its_run(alice):
    alice.allow("timeout", 7)
    job = alice.submit(SCRIPT, "timeout", "--time=1", "--signal=B:CONT@1")  # no warning
    following = alice.submit(SCRIPT, "timeout")
    alice.wait_for_steps("timeout", 7, 2, job)
    assert following.state() == "PENDING"  # --dependency=singleton
    job.wait("TIMEOUT")
    alice.allow("timeout", STEPS)
    following.wait("COMPLETED")
    alice.check_digests("timeout", 2)
    alice.check_nothing_remains("timeout")


def test_killed_daemons_start_again_under_the_trainers(alice):
    alice.allow("killed", 7)
    job = alice.submit(SCRIPT, "killed")
    alice.wait_for_steps("killed", 7, 2, job)

    def daemons(*words):
        commands = remains.processes(alice.user).items()
        return {pid for pid, command in commands if command.startswith("penstockd ") and all(word in command for word in words)}

    killed = daemons("coordinator --listen") | daemons("worker --listen", "--name n2")
    assert len(killed) == 2
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    eventually("new daemons", lambda: len(daemons() - killed) == 3, context=job.output)
    alice.allow("killed", STEPS)
    job.wait("COMPLETED")
    alice.check_digests("killed", 2)
    alice.check_nothing_remains("killed")


TRAINER_THAT_SAVES_LATE = """
trap 'touch $PENSTOCK_RUN/asked; until [ -e $PENSTOCK_RUN/save ]; do sleep 0.1; done; touch $PENSTOCK_RUN/saved; exit' TERM
touch $PENSTOCK_RUN/started
sleep infinity &
while :; do wait; done
"""


def test_trainers_have_time_for_a_checkpoint_after_sigterm(alice):
    run = alice.run("late")
    trainer = ("bash", "-c", TRAINER_THAT_SAVES_LATE)
    job = alice.submit(SCRIPT, "late", "--nodes=1", arguments=(alice.data.job, alice.data.root, *trainer))
    eventually("the trainer", (run / "started").exists, context=job.output)
    alice.slurm.command("scancel", str(job.number), user=alice.user)
    eventually("SIGTERM", (run / "asked").exists, context=job.output)
    (run / "save").touch()
    eventually("the checkpoint", (run / "saved").exists, context=job.output)
    alice.check_nothing_remains("late")


def test_a_mistake_ends_the_job_with_its_message(alice):
    job = alice.submit(SCRIPT, "mistake", arguments=(alice.data.job, "/no/such/folder", *alice.trainer))
    job.wait("FAILED")
    assert "/no/such/folder" in job.output()
    assert "a step of Penstock has ended" in job.output()
    alice.check_nothing_remains("mistake")


def test_an_unknown_interface_ends_the_job_with_its_message(alice):
    job = alice.submit(SCRIPT, "interface", environment={"PENSTOCK_INTERFACE": "none"})
    job.wait("FAILED")
    assert "PENSTOCK_INTERFACE: none has no IPv4 address" in job.output()
    assert "workers.log" not in job.output()  # which does not exist yet
    alice.check_nothing_remains("interface")


def test_a_second_job_of_a_run_ends_and_does_not_disturb_the_first(alice):
    alice.allow("twice", 2)
    job = alice.submit(SCRIPT, "twice")
    alice.wait_for_steps("twice", 2, 2, job)
    second = alice.submit(SCRIPT, "twice", "--dependency=")
    second.wait("FAILED")
    assert "another job uses the run's folder" in second.output()
    alice.allow("twice", STEPS)
    job.wait("COMPLETED")
    alice.check_digests("twice", 2)
    alice.check_nothing_remains("twice")


def test_a_job_that_may_not_be_requeued_fails_near_its_time_limit(alice):
    alice.allow("once", 2)
    job = alice.submit(SCRIPT, "once", "--no-requeue")
    alice.wait_for_steps("once", 2, 2, job)
    alice.slurm.command("scancel", "--batch", "--signal=USR1", str(job.number), user=alice.user)  # as near the limit
    job.wait("FAILED")
    assert f"job {job.number} may not be requeued" in job.output()
    alice.check_nothing_remains("once")
