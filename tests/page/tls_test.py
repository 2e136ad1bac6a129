"""The page by TLS, with tokens. The browser trusts only the test's own authority, and verifies the coordinator's name."""

import os
import socket
import ssl
import subprocess

import pytest
from playwright.sync_api import Error

from conftest import BIN, Cluster, Screen, open_browser, wait_until


class GuardedCluster(Cluster):
    """A cluster whose processes use TLS and have tokens. `secrets` has the token of each role."""

    scheme = "https"

    def __init__(self, folder):
        subprocess.run([BIN / "make_certificates", folder, "node"], check=True)
        tokens = folder / "tokens"
        self.secrets = {}
        for role in ("operator", "trainer", "viewer", "worker"):
            command = [BIN / "penstock", "token", role, "--role", role, "--file", tokens]
            self.secrets[role] = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
            path = folder / f"{role}.token"
            path.touch(0o600)
            path.write_text(self.secrets[role])
        self.tls = ("--tls-cert", folder / "node.pem", "--tls-key", folder / "node.key", "--tls-ca", folder / "ca.pem")
        super().__init__(folder, "--tokens", tokens, *self.tls)
        self.environment |= {
            "PENSTOCK_TLS_CA": str(folder / "ca.pem"),
            "PENSTOCK_TLS_CERT": str(folder / "node.pem"),
            "PENSTOCK_TLS_KEY": str(folder / "node.key"),
            "PENSTOCK_TOKEN_FILE": str(folder / "operator.token"),
        }

    def start_worker(self, name, data):
        environment = {"PENSTOCK_TOKEN_FILE": str(self.folder / "worker.token")}
        super().start_worker(name, data, *self.tls, "--tls-name", "localhost", environment=environment)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    made = GuardedCluster(tmp_path_factory.mktemp("guarded"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def trusting(guarded, playwright, tmp_path_factory):
    """A browser whose user trusts the authority of the cluster: its NSS database has the certificate."""
    home = tmp_path_factory.mktemp("home")
    database = home / ".pki" / "nssdb"
    database.mkdir(parents=True)
    certutil = ("certutil", "-d", f"sql:{database}")
    subprocess.run([*certutil, "-N", "--empty-password"], check=True)
    subprocess.run([*certutil, "-A", "-n", "test", "-t", "C,,", "-i", guarded.folder / "ca.pem"], check=True)
    with open_browser(playwright, env={**os.environ, "HOME": str(home)}) as started:
        yield started


def test_a_browser_without_the_authority_rejects_the_page(browser, guarded):
    context = browser.new_context()
    with pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
        context.new_page().goto(guarded.url)
    context.close()


def test_a_client_may_offer_its_last_session(guarded):
    """Browsers resume the session of a connection for the next one."""
    context = ssl.create_default_context(cafile=guarded.folder / "ca.pem")
    session = None
    for _ in range(3):
        with (
            socket.create_connection(("127.0.0.1", guarded.http)) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as stream,
        ):
            stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert stream.recv(4096).startswith(b"HTTP/1.1 200 ")
            session = stream.session


def log_in(screen, token):
    screen.page.locator("#token").fill(token)
    screen.page.keyboard.press("Enter")


def test_the_page_by_tls_with_a_token(trusting, guarded, data):
    screen = Screen(trusting, guarded.url)
    page = screen.page
    page.locator("#login:not([hidden])").wait_for()
    assert not page.locator("#content").is_visible()

    log_in(screen, "wrong")
    screen.wait_for("#refused", "Penstock does not know this token. Ask an operator for a new one.")
    screen.check("tls-wrong-token")
    log_in(screen, guarded.secrets["worker"])
    screen.wait_for("#refused", "'worker' has the role worker, and this page needs the role viewer or operator")
    screen.check("tls-wrong-role")
    assert screen.context.cookies() == []

    log_in(screen, guarded.secrets["viewer"])
    screen.wait_for("#verdict", "There is no job.")
    (cookie,) = screen.context.cookies()
    assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
    assert cookie["name"].startswith("__Host-"), "no other host can set the cookie"
    assert guarded.secrets["viewer"] not in cookie["value"]
    assert page.evaluate("document.cookie + JSON.stringify({...localStorage, ...sessionStorage})") == "{}"

    guarded.start_worker("gpu1", data.folder)
    guarded.submit("train")
    guarded.read("reader", "train")
    screen.wait_for("#verdict", "Training waits for data.")
    screen.wait_for("#sentence", "the limit is the CPU of worker gpu1")
    screen.wait_for("#commands", "penstock explain train")
    page.reload()
    screen.wait_for("#verdict", "Training waits for data.")
    assert not page.locator("#login").is_visible(), "the page asks for the token once"
    screen.check("tls")
    screen.close()


def test_nothing_is_loaded_from_elsewhere(trusting, guarded):
    """The policy of the page forbids other hosts, and scripts that are part of a text."""
    screen = Screen(trusting, guarded.url)
    page = screen.page
    page.locator("#login:not([hidden])").wait_for()
    page.evaluate(
        """() => {
          window.blocked = [];
          addEventListener("securitypolicyviolation", (event) => blocked.push(event.effectiveDirective));
          const add = (tag, attributes) => document.body.append(Object.assign(document.createElement(tag), attributes));
          add("img", { src: "https://localhost/x.png" });
          add("link", { rel: "stylesheet", href: "https://localhost/x.css" });
          add("iframe", { src: "https://localhost/" });
          fetch("https://localhost/").catch(() => {});
          try { add("script", { src: "https://localhost/x.js" }); } catch {}
          try { document.body.innerHTML = "<b>x</b>"; } catch {}
        }"""
    )
    expected = {"img-src", "style-src-elem", "frame-src", "connect-src", "require-trusted-types-for"}
    wait_until(lambda: expected <= set(page.evaluate("blocked")), lambda: f"blocked: {page.evaluate('blocked')}")
    screen.close()
