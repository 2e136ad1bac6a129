"""Starvation in the browser. Each test gives a cluster another bottleneck, and the page names it as `penstock explain` does."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from free_port import free_port

from conftest import fact, wait_until

BENCH = Path(__file__).resolve().parents[2] / "bench"
NO_CACHES = ("--record-cache", "0", "--decoded-cache", "0", "--row-cache", "0")


@pytest.fixture(scope="module")
def jobs(cluster, data):
    """The jobs: small rows; rows that fill a narrow link; rows of which a small budget holds few."""
    cluster.start_worker("first", data.folder)
    cluster.submit("train")
    cluster.submit("wide", side=224)
    cluster.submit("large", side=1800, batch=4)
    cluster.drain("first")


@pytest.fixture(scope="module")
def slow_reads(tmp_path_factory, data):
    """Makes the environment of a worker whose reads take a number of milliseconds."""
    library = tmp_path_factory.mktemp("library") / "slow_reads.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, BENCH / "slow_reads.c", "-ldl"], check=True)
    return lambda milliseconds: {
        "LD_PRELOAD": str(library),
        "SLOW_READS_BELOW": str(data.folder),
        "SLOW_READS_MS": str(milliseconds),
    }


@contextlib.contextmanager
def reading(cluster, job, *flags):
    cluster.read("reader", job, 0, 1, *flags)
    yield
    cluster.drain("reader")


@contextlib.contextmanager
def distant_worker(cluster, data, *how):
    """A worker behind a proxy that makes its link long or narrow."""
    own, seen = free_port(), free_port()
    cluster.start("proxy", sys.executable, BENCH / "delay_proxy.py", str(seen), f"127.0.0.1:{own}", *how)
    cluster.start_worker("far", data.folder, "--advertise", f"127.0.0.1:{seen}", listen=f"127.0.0.1:{own}")
    yield
    cluster.drain("far")
    cluster.end("proxy")


def sentence_of_the_command(cluster, job):
    return " ".join(cluster.run("explain", job).split("\n\n", maxsplit=1)[0].split())


def expect(cluster, screen, job, headline, stage, worker):
    """Expects that the page, its title and `penstock explain` name this limit, and that the bar marks the stage, if any."""

    def named():
        sentence = screen.text("#sentence").replace("\u00a0", " ")
        return headline in sentence and screen.page.title() == f"{job} waits for data - Penstock"

    wait_until(named, lambda: f"{headline}: {screen.page.title()}: {screen.text('body')}")
    screen.wait_for("#verdict", f"Training of {job} waits for data.")
    screen.wait_for("#facts div:nth-child(3) dd", worker)

    def marked():
        return screen.page.locator(".bar i.worst").count() == (1 if stage else 0)

    wait_until(marked, "the mark of the stage")
    if stage:
        screen.wait_for(".stages li:has(.worst)", stage)
        screen.wait_for("#facts div:nth-child(2) dd", stage)

    def same_sentence():
        words = sentence_of_the_command(cluster, job)
        return screen.text("#sentence").replace("\u00a0", " ").lower() == f"{words}.".lower()

    wait_until(same_sentence, "the sentence of `penstock explain`")


def test_storage(cluster, screen, data, jobs, slow_reads):
    cluster.start_worker("nas", data.folder, "--read-threads", "0", *NO_CACHES, environment=slow_reads(40))
    with reading(cluster, "train"):
        expect(cluster, screen, "train", "the limit is storage: the reads of worker nas", "read", "nas")
        screen.check("storage")
    cluster.drain("nas")


def test_network(cluster, screen, data, jobs):
    with distant_worker(cluster, data, "0", "8000000"), reading(cluster, "wide"):
        expect(cluster, screen, "wide", "the limit is the network between worker far and the trainer", "", "far")
        screen.check("network")


def test_window(cluster, screen, data, jobs):
    window = ("--prefetch-steps", "2", "--prefetch-bytes", "1")
    with distant_worker(cluster, data, "400"), reading(cluster, "train", *window):
        expect(cluster, screen, "train", "the prefetch window: the trainer requests too few rows ahead", "", "far")
        screen.check("window")


def test_memory(cluster, screen, data, jobs, slow_reads):
    cluster.start_worker("small", data.folder, *NO_CACHES, threads=16, memory="64MiB", environment=slow_reads(300))
    with reading(cluster, "large"):
        expect(cluster, screen, "large", "the limit is the memory budget of worker small", "", "small")
        screen.check("memory")
    cluster.drain("small")


def test_slow_worker(cluster, screen, data, jobs, slow_reads):
    """Shares follow the rates of workers, so that a slow worker limits a job only for some seconds. The page keeps the answer
    of that time for the screenshots.
    """
    held = {}

    def answer(route):
        name = route.request.url.rsplit("/", 1)[1]
        if name in held:
            return route.fulfill(body=held[name], content_type="application/json")
        reply = route.fetch()
        if "SLOW_WORKER" in reply.text() if name == "explain" else "explain" in held:
            held[name] = reply.text()
        return route.fulfill(response=reply)

    def caught(name):
        with contextlib.suppress(AssertionError):  # on a busy machine it may not get far enough
            wait_until(lambda: (screen.text("#sentence"), "explain" in held)[1], name, 30)
        return "explain" in held

    cluster.start_worker("gpu1", data.folder)
    with reading(cluster, "train", "--prefetch-steps", "2", "--pace", "40"):
        screen.wait_for("#sentence", "Job train: the limit is the trainer itself")
        for name in ("status", "explain"):
            screen.page.route(f"**/api/v1/{name}", answer)
        for slow in ("gpu2", "gpu3", "gpu4", "gpu5"):
            # Many threads, so that it has rows in most steps.
            flags = ("--read-threads", "0", *NO_CACHES)
            cluster.start_worker(slow, data.folder, *flags, threads=32, environment=slow_reads(300))
            if caught(slow):
                break
            cluster.drain(slow)
        screen.wait_for("#sentence", f"Job train: the limit is worker {slow}, which is slower than the others.")
        assert screen.page.title() == "train waits for data - Penstock"
        assert fact(screen, 3) == slow
        screen.wait_for(".stages li:has(.worst)", "read")
        screen.check("slow-worker")
    screen.page.unroute_all()
    cluster.drain("gpu1", slow)
