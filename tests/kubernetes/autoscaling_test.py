"""The real HorizontalPodAutoscaler scales the workers by penstock_workers_wanted, with the chart's own settings."""

import itertools
import json
import random
import threading
import time

import pytest

from metrics_api import MetricsApi
from release import Release
from waiting import eventually

WINDOW_SECONDS = 600  # autoscaling.scaleDownSeconds
PERIOD_SECONDS = 60  # one worker less
SYNC_SECONDS = 15  # interval of the controller
DEPLOYMENT = "/apis/apps/v1/namespaces/scaling/deployments/penstock-worker"
# A worker has little of a CPU and decodes each image, so that several feed one trainer on a small machine.
WORKER_CPU = "100m"
PACE = 50  # ms of a step of 20 rows


class Replicas:
    """Records the changes of the wanted number of workers: (time, number)."""

    def __init__(self, api):
        self.api = api
        self.changes = [(time.monotonic(), api.get(DEPLOYMENT)["spec"]["replicas"])]
        self.halted = threading.Event()
        self.thread = threading.Thread(target=self._poll, daemon=True)
        self.thread.start()

    def _poll(self):
        while not self.halted.wait(0.5):
            number = self.api.get(DEPLOYMENT)["spec"]["replicas"]
            if number != self.now():
                self.changes.append((time.monotonic(), number))

    def stop(self):
        self.halted.set()
        self.thread.join()

    def now(self):
        return self.changes[-1][1]


@pytest.fixture(scope="module")
def scaled(cluster, data, place):
    """A release with one worker, which the autoscaler may raise to twelve."""
    folder = place / "scaling"
    folder.mkdir()
    made = Release(cluster, "scaling", folder, data)
    made.prepare()
    made.values["worker"]["decodedCache"] = "0"
    made.values["worker"]["resources"]["limits"]["cpu"] = WORKER_CPU
    made.values["worker"]["resources"]["requests"]["cpu"] = WORKER_CPU
    metrics = MetricsApi(made)
    try:
        made.helm("install", autoscaling={"mode": "hpa", "minReplicas": 1, "maxReplicas": 12})
        made.submit()
        yield made, metrics
    finally:
        metrics.stop()


@pytest.fixture(scope="module")
def replicas(scaled):
    recorded = Replicas(scaled[0].api)
    yield recorded
    recorded.stop()


def end(release, trainer):
    release.delete(trainer)
    release.cluster.ended(trainer)


def explanation(release):
    return json.loads(release.penstock("operator", "explain", "demo", "--json"))


def test_a_starving_job_gets_its_workers_in_three_steps(scaled, replicas):
    release, metrics = scaled
    eventually("the metric reaches the autoscaler", lambda: metrics.values, context=release.cluster.plane.logs)
    assert replicas.now() == 1
    trainer = release.trainer("--epochs", "100000", "--pace", str(PACE), "--no-digest")
    try:
        eventually("the trainer reads", lambda: any(release.positions()), context=release.cluster.problems)
        # Fed: the trainer is its own limit, and the metric asks for no more than the ready workers.
        eventually(
            "enough workers",
            lambda: explanation(release)["limit"] == "TRAINER" and metrics.wanted() <= len(release.ready("worker")) > 1,
            context=lambda: f"{replicas.changes}\n{metrics.values}\n{explanation(release)}\n{release.cluster.problems()}",
        )
        print(f"changes: {replicas.changes}, metric: {metrics.values}")
        assert len(replicas.changes) - 1 <= 3
    finally:
        end(release, trainer)


def test_a_noisy_trainer_causes_at_most_one_change(scaled, replicas):
    release, metrics = scaled
    draw = random.Random(7)
    before = len(replicas.changes)
    deadline = time.monotonic() + WINDOW_SECONDS
    while time.monotonic() < deadline:
        # Each reads for about 15 s, at up to 30 % more or less than the last test's rate.
        pace = PACE * draw.uniform(0.7, 1.3)
        trainer = release.trainer("--steps", str(int(15000 / pace)), "--pace", str(int(pace)))
        release.result(trainer)
    print(f"changes: {replicas.changes[before:]}, metric: {metrics.values}")
    assert len(replicas.changes) - before <= 1


def test_quiet_workers_leave_one_a_minute(scaled, replicas):
    release, _ = scaled
    quiet = time.monotonic()
    before = len(replicas.changes)
    workers = eventually("all workers", lambda: len(release.ready("worker")) == replicas.now() and release.ready("worker"))
    number = len(workers)
    assert number > 1
    eventually("one worker", lambda: replicas.now() == 1, WINDOW_SECONDS + number * (PERIOD_SECONDS + 2 * SYNC_SECONDS))
    changes = replicas.changes[before:]
    print(f"changes after {[round(at - quiet) for at, _ in changes]} s: {[each for _, each in changes]}")
    assert [each for _, each in changes] == list(range(number - 1, 0, -1))
    assert changes[0][0] - quiet >= WINDOW_SECONDS - 2 * SYNC_SECONDS
    for (earlier, _), (later, _) in itertools.pairwise(changes):
        assert later - earlier >= PERIOD_SECONDS - SYNC_SECONDS
    eventually("the end of the other workers", lambda: len(release.pods("worker")) == 1)
    (last,) = release.pods("worker")
    for pod in workers:
        if pod["metadata"]["uid"] != last["metadata"]["uid"]:
            assert release.cluster.ended(pod).exit_code() == 0  # drained
