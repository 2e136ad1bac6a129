"""The web page in a browser, over a real cluster. Each test continues with the cluster of the test before."""

import json
import signal
import subprocess

from conftest import BIN, SIZES, Cluster, Screen, fact, wait_until

MARKUP = "<img src=x onerror=alert(1)>"


def test_start(cluster, screen):
    screen.wait_for("#verdict", "There is no job.")
    screen.wait_for("#workers", "0 workers")
    assert screen.page.title() == "Penstock"
    screen.check("start")


def test_job_without_readers(cluster, screen, data):
    for name in ("gpu1", "gpu2"):
        cluster.start_worker(name, data.folder)
    wait_until(lambda: len(cluster.status()["workers"]) == 2, "two workers")
    cluster.submit("train")
    screen.wait_for("#verdict", "No trainer reads now.")
    screen.wait_for("#sentence", "Job train is ready, and no trainer reads it.")
    screen.wait_for("#data", "shards indexed")
    screen.check("idle")


def test_load_without_waits(cluster, screen):
    cluster.read("slow", "train", 0, 1, "--pace", "300")
    screen.wait_for("#verdict", "Training does not wait for data.")
    screen.wait_for("#sentence", "Job train: the limit is the trainer")
    screen.wait_for(".rank", "hardly waits")
    assert screen.page.title() == "Penstock"
    screen.check("calm")
    cluster.end("slow")


def test_starvation_by_the_cpu(cluster, screen):
    for rank in (0, 1):
        cluster.read(f"rank{rank}", "train", rank, 2)
    screen.wait_for("#verdict", "Training waits for data.")
    screen.wait_for("#sentence", "the limit is the CPU")
    assert screen.page.title() == "train waits for data - Penstock"
    assert "%" in fact(screen, 1)
    screen.wait_for("#facts", "% of a row")
    wait_until(lambda: screen.page.locator(".rank").count() == 2, "the end of the killed reader's session")
    screen.wait_for(".rank", "rows/s")
    assert screen.page.locator(".bar i").count() >= 3
    screen.wait_for("#commands", f"penstock explain train --coordinator 127.0.0.1:{cluster.port}")

    def same_sentence():
        words = " ".join(cluster.run("explain", "train").split("\n\n", maxsplit=1)[0].split())
        return screen.text("#sentence").replace("\u00a0", " ").lower().startswith(words.lower())

    wait_until(same_sentence, "the sentence of `penstock explain`")
    screen.check("cpu")


def test_pause(cluster, screen):
    cluster.run("pause", "train")
    screen.wait_for("#verdict", "Training is paused.")
    screen.wait_for("#sentence", "paused job train: its trainers wait until penstock resume train.")
    screen.wait_for(".rank", "paused job train")
    assert screen.page.title() == "Penstock"
    assert screen.page.locator(".rank .fault").count() == 0
    assert fact(screen, 1) == "paused"
    screen.check("paused")
    cluster.run("resume", "train")
    screen.wait_for("#verdict", "Training waits for data.")


def test_numbers_do_not_move_anything(cluster, screen):
    for width, height in SIZES:
        screen.page.set_viewport_size({"width": width, "height": height})
        seen = {screen.text(".rank")}

        def changed(times, seen=seen):
            seen.add(screen.text(".rank"))
            return len(seen) > times

        wait_until(lambda changed=changed: changed(1), "the layout of the new size")
        screen.page.evaluate(
            """() => {
              window.shifts = [];
              const text = (source) => source.node?.textContent.slice(0, 60);
              const shift = (entry) => [entry.value, ...entry.sources.map(text)];
              const note = (list) => shifts.push(...list.getEntries().map(shift));
              window.observer?.disconnect();  // that of the size before
              window.observer = new PerformanceObserver(note);
              window.observer.observe({ type: "layout-shift" });
            }"""
        )
        wait_until(lambda changed=changed: changed(5), "numbers that change")
        shifts = screen.page.evaluate("shifts")
        assert sum(value for value, *_ in shifts) < 0.01, f"{width}: {shifts}"


def test_history(cluster, screen):
    wait_until(lambda: screen.page.locator(".rank .rows").first.get_attribute("d"), "a chart")
    wait_until(lambda: "L" in screen.page.locator(".rank .rows").first.get_attribute("d"), "two points")
    assert "rows/s in the last 10 min" in screen.page.locator(".rank svg").first.get_attribute("aria-label")


def test_links_and_keyboard(cluster, screen):
    page = screen.page
    page.locator("#workers li a").first.click()
    assert "#/worker/" in page.url
    screen.wait_for("#workers details[open]", "Record cache")
    screen.wait_for("#workers details[open]", "Transport:")
    page.goto(cluster.url + "#/job/train")
    screen.wait_for("#focus-name", "Job train")
    page.goto(cluster.url + "#/job/%3Cimg%3E")  # there is no such job
    screen.wait_for("#focus-name", "Job train")
    page.goto(cluster.url)
    screen.wait_for("#verdict", "Training waits")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
    assert {"SUMMARY", "A", "BUTTON"} <= reached
    page.locator("#data summary").focus()
    page.keyboard.press("Enter")
    screen.wait_for("#data details", "served by gpu")
    page.locator("#data summary").press("Enter")


def test_copy(cluster, screen):
    screen.context.grant_permissions(["clipboard-read", "clipboard-write"])
    screen.page.locator("#commands button").first.click()
    wait_until(lambda: screen.text("#commands button") == "Copied", "the copy")
    assert screen.page.evaluate("navigator.clipboard.readText()").startswith("penstock explain train --coordinator ")


def test_drain(cluster, screen, data):
    cluster.start_worker("gpu3", data.folder)
    screen.wait_for("#workers", "gpu3")
    worker = next(w["id"] for w in cluster.status()["workers"] if w["name"] == "gpu3")
    cluster.run("drain", worker)
    screen.wait_for("#workers", "has left")
    screen.wait_for("#events", "worker gpu3 has left")
    screen.check("drain")


def test_killed_worker(cluster, screen):
    cluster.end("gpu2")
    screen.wait_for("#workers", "lost")
    assert "gpu2" in screen.text(".worker"), "the worst worker comes first"
    screen.wait_for("#events", "worker gpu2 was lost")
    screen.check("killed")


def test_no_worker(cluster, screen):
    cluster.end("gpu1")
    screen.wait_for("#sentence", "no worker is live")
    screen.wait_for("#verdict", "Training waits for data.")
    assert fact(screen, 3) == "none is live"
    screen.check("no-worker")


def test_vanished_file_with_markup_as_its_name(cluster, screen, data):
    cluster.end("rank0", "rank1")
    cluster.start_worker("gpu1", data.folder)
    wait_until(lambda: any(w["state"] == "LIVE" for w in cluster.status()["workers"]), "a worker")
    cluster.submit("files", "<img*")
    wait_until(lambda: any(j["name"] == "files" and j["state"] == "READY" for j in cluster.status()["jobs"]), "the job")
    hidden = data.folder / "away"
    data.outside.rename(hidden)
    cluster.read("reader", "files")
    screen.wait_for("#focus-name", "Job files")
    screen.wait_for("#focus", MARKUP)
    screen.wait_for("#verdict", "waits for data")
    assert screen.page.locator("img").count() == 0
    screen.page.goto(cluster.url + "#/job/files")
    screen.page.locator("#data summary").click()
    screen.wait_for("#data details", MARKUP)
    screen.page.locator("#data summary").click()
    screen.check("vanished")
    hidden.rename(data.outside)
    cluster.end("reader")
    screen.page.goto(cluster.url)


def test_sixteen_ranks(cluster, screen):
    for rank in range(16):
        cluster.read(f"rank{rank}", "train", rank, 16)
    screen.wait_for("#focus", "16 ranks")
    screen.wait_for("#focus", "Show 10 more ranks")
    screen.page.locator("#focus button").click()
    wait_until(lambda: screen.page.locator(".rank").count() == 16, "all ranks")
    screen.page.locator("#focus button").click()
    screen.check("ranks")


def test_a_thousand_ranks_and_a_hundred_workers(cluster, screen):
    """The real answer, with its sessions and workers multiplied."""
    status = json.loads(screen.page.request.get(cluster.url + "api/v1/status").text())
    job = next(job for job in status["jobs"] if job["name"] == "train")
    worker = next(worker for worker in status["workers"] if worker["state"] == "LIVE")
    calm = {**job["sessions"][0], "wait_fraction": 0.01, "rows_per_second": 800, "waiting_for": "", "note": ""}
    job["sessions"] = [
        {**calm, "id": f"{rank:08x}", "rank": rank, "wait_fraction": 0.6 if rank == 777 else 0.01} for rank in range(1000)
    ]
    status["jobs"] = [job]
    status["workers"] = [
        {**worker, "id": f"w{i}", "name": f"gpu{i}", "state": "DEAD" if i == 66 else "LIVE"} for i in range(100)
    ]
    screen.page.route("**/api/v1/status", lambda route: route.fulfill(json=status))
    screen.wait_for("#focus", "Show 994 more ranks")
    screen.wait_for(".rank", "Rank 777")
    screen.wait_for(".worker", "gpu66")
    screen.wait_for("#workers", "Show 92 more workers")
    assert fact(screen, 4) == "rank 777 waits 60 %, median 1 %"
    screen.check("many")
    screen.page.unroute("**/api/v1/status")
    cluster.end(*[f"rank{rank}" for rank in range(16)])


def test_lost_coordinator(cluster, screen):
    cluster.processes["coordinator"].send_signal(signal.SIGSTOP)
    screen.wait_for("#fresh", "Old data, no answer since")
    assert screen.page.title() == "No answer - Penstock"
    screen.check("lost")
    cluster.end("coordinator")
    cluster.start_coordinator()
    screen.wait_for("#fresh", "Version ")
    wait_until(lambda: "stale" not in (screen.page.locator("body").get_attribute("class") or ""), "fresh data")
    assert screen.faults == []


def test_no_first_answer(cluster, screen):
    screen.page.route("**/api/v1/*", lambda route: route.abort())
    screen.page.reload()
    screen.wait_for("#fresh", "No answer from the coordinator yet")
    screen.page.unroute_all()
    screen.wait_for("#fresh", "Version ")


def test_token(browser, tmp_path):
    tokens = tmp_path / "tokens"
    secret = subprocess.run(
        [BIN / "penstock", "token", "eye", "--role", "viewer", "--file", tokens], check=True, capture_output=True, text=True
    ).stdout.strip()
    guarded = Cluster(tmp_path, "--tokens", tokens)
    try:
        screen = Screen(browser, guarded.url)
        page = screen.page
        page.locator("#login:not([hidden])").wait_for()
        assert not page.locator("#content").is_visible()
        screen.check("login")
        page.locator("#token").fill("wrong")
        page.keyboard.press("Enter")
        screen.wait_for("#refused", "token")
        page.locator("#token").fill(secret)
        page.keyboard.press("Enter")
        screen.wait_for("#verdict", "There is no job.")
        screen.wait_for("#rejected", "The coordinator rejected 127.0.0.1")
        (cookie,) = screen.context.cookies()
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
        assert secret not in cookie["value"]
        assert page.evaluate("document.cookie") == ""
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        page.reload()
        screen.wait_for("#verdict", "There is no job.")
        assert not page.locator("#login").is_visible()
        assert screen.faults == []
        screen.close()
    finally:
        guarded.close()
