"""A cluster of real processes, its readers, and a browser that shows the coordinator's page."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support" / "cluster"))
from free_port import free_port

BIN = Path(os.environ["PENSTOCK_BIN"])
PICTURES = Path(os.environ["PENSTOCK_PICTURES"])
CHROMIUM = os.environ["PENSTOCK_CHROMIUM"]
SIZES = ((1280, 800), (360, 800))
THEMES = ("light", "dark")
SECONDS = 90  # deadline of each condition
JOB = """name: "%s"
dataset { files: "%s" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: %d width: %d } }
order { seed: 17 }
batch { size: %d last: PAD }
"""


def wait_until(condition, what, seconds=SECONDS):
    """Returns the first true value of the condition."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {seconds} s for: {what() if callable(what) else what}"
        time.sleep(0.1)
    return value


class Cluster:
    """A coordinator with workers and readers, which a test starts, kills and stops."""

    scheme = "http"

    def __init__(self, folder, *flags):
        self.folder = folder
        self.http = free_port()
        self.port = free_port()
        self.flags = flags
        self.processes = {}
        self.environment = {**os.environ, "PENSTOCK_COORDINATOR": f"127.0.0.1:{self.port}"}
        self.start_coordinator()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.http}/"

    def start(self, name, *command, environment=()):
        with (self.folder / f"{name}.log").open("a") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**self.environment, **dict(environment)}, cwd=self.folder
            )
        self.processes[name] = process
        return process

    def start_coordinator(self):
        listen = ("--listen", f"127.0.0.1:{self.port}", "--http", f"127.0.0.1:{self.http}")
        ready = self.folder / "coordinator.port"
        ready.unlink(missing_ok=True)
        self.start(
            "coordinator",
            BIN / "penstockd",
            "coordinator",
            *listen,
            "--state-dir",
            self.folder / "state",
            "--port-file",
            ready,
            *self.flags,
        )
        wait_until(ready.exists, (self.folder / "coordinator.log").read_text)

    def start_worker(self, name, data, *flags, threads=1, memory="128MiB", listen="127.0.0.1:0", environment=()):
        self.start(
            name,
            BIN / "penstockd",
            "worker",
            "--coordinator",
            f"127.0.0.1:{self.port}",
            "--listen",
            listen,
            "--socket-dir",
            "",
            "--name",
            name,
            "--data-root",
            f"data={data}",
            "--state-dir",
            self.folder / name,
            "--memory-budget",
            memory,
            "--threads",
            str(threads),
            *flags,
            environment=environment,
        )

    def submit(self, name, files="*-of-*", side=64, batch=16):
        path = self.folder / f"{name}.textproto"
        path.write_text(JOB % (name, files, side, side, batch))
        self.run("submit", str(path))

    def read(self, name, job, rank=0, world_size=1, *flags):
        ranks = ("--rank", str(rank), "--world-size", str(world_size))
        self.start(name, BIN / "penstock", "read", job, *ranks, "--epochs", "1000000", "--no-digest", *flags)

    def run(self, *arguments):
        command = (BIN / "penstock", *arguments)
        done = subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def status(self):
        return json.loads(self.run("status", "--json"))

    def end(self, *names):
        for name in names:
            self.processes[name].kill()
        for name in names:
            self.processes.pop(name).wait()

    def drain(self, *names):
        """Ends workers and readers in order, so that the page does not show them as lost."""
        for name in names:
            self.processes[name].terminate()
        for name in names:
            self.processes.pop(name).wait(SECONDS)

    def close(self):
        self.end(*list(self.processes))


class Data(NamedTuple):
    folder: Path
    outside: Path  # a shard whose name is markup


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    subprocess.run([BIN / "make_demo_dataset", folder, "400", "10"], check=True, stdout=subprocess.DEVNULL)
    shards = sorted(folder.glob("*-of-*"))
    outside = folder / "<img src=x onerror=alert(1)>"
    outside.write_bytes(shards[0].read_bytes())
    return Data(folder, outside)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


@contextlib.contextmanager
def open_browser(playwright, **options):
    arguments = ["--no-sandbox", "--disable-gpu", "--no-proxy-server"]
    started = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments, timeout=60_000, **options)
    with contextlib.closing(started):
        yield started


@pytest.fixture(scope="session")
def playwright():
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright):
    with open_browser(playwright) as started:
        yield started


class Screen:
    """A page in the browser. It collects what must not happen: errors, dialogs, requests to other hosts."""

    def __init__(self, browser, url):
        self.url = url
        self.context = browser.new_context(viewport={"width": SIZES[0][0], "height": SIZES[0][1]})
        self.page = self.context.new_page()
        self.faults = []
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("console", self.note)
        self.page.on("request", lambda request: request.url.startswith(url) or self.faults.append(f"outside: {request.url}"))
        self.page.goto(url)

    def note(self, message):
        # The browser itself reports requests without an answer, which some tests cause.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.faults.append(f"console: {message.text}")

    def text(self, selector):
        return self.page.locator(selector).first.inner_text()

    def wait_for(self, selector, text):
        """Waits until the element has the text, with plain spaces."""

        def has():
            return self.page.locator(selector).count() > 0 and text in self.text(selector).replace("\u00a0", " ")

        wait_until(has, lambda: f"{text!r} in {selector}: {self.page.locator('body').inner_text()}")

    def check(self, name):
        """Takes a picture in each size and theme, and checks what a user sees without scrolling."""
        for width, height in SIZES:
            self.page.set_viewport_size({"width": width, "height": height})
            for theme in THEMES:
                self.page.emulate_media(color_scheme=theme)
                self.page.evaluate("scrollTo(0, 0)")
                self.page.screenshot(path=PICTURES / f"{name}-{width}-{theme}.png")
                violations = Axe().run(self.page).response["violations"]
                found = [(v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")]
                assert found == [], f"{name} {width} {theme}"
            self.page.screenshot(path=PICTURES / f"{name}-{width}-all.png", full_page=True)
            assert self.page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} scrolls sideways"
            for selector in ("#verdict", "#sentence", "#facts", ".bar", ".rank"):
                element = self.page.locator(selector).first
                if element.count() > 0 and element.is_visible():
                    box = element.bounding_box()
                    assert box["y"] + box["height"] <= height, f"{name}: {selector} is below the first screen of {width}"
        self.page.set_viewport_size({"width": SIZES[0][0], "height": SIZES[0][1]})
        self.page.emulate_media(color_scheme="light")
        assert self.faults == []

    def close(self):
        self.context.close()


def fact(screen, number):
    """Returns the text of one of the facts below the sentence: 1 Waiting, 2 Stage, 3 Worker, 4 Lags."""
    return screen.text(f"#facts div:nth-child({number}) dd").replace("\u00a0", " ")


@pytest.fixture(scope="module")
def screen(browser, cluster):
    made = Screen(browser, cluster.url)
    yield made
    made.close()
