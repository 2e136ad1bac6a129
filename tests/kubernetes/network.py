"""The pods' network: each pod has a network namespace with an address. The kernel routes between them, so kube-proxy works."""

import itertools
import subprocess
import threading
from pathlib import Path

GATEWAY = "10.244.0.1"


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


class PodNetwork:
    """Gives out addresses. No address has two pods."""

    def __init__(self):
        self.numbers = itertools.count(2)
        self.lock = threading.Lock()
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def join(self):
        """Returns the name of a new network namespace, and its address."""
        with self.lock:
            number = next(self.numbers)
        name, link = f"penstock-pod-{number}", f"pod{number}"
        address = f"10.244.{number // 256}.{number % 256}"
        ip("netns", "add", name)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("address", "add", f"{GATEWAY}/32", "dev", link)
        ip("link", "set", link, "up")
        ip("route", "add", f"{address}/32", "dev", link)
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "address", "add", f"{address}/32", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "route", "add", f"{GATEWAY}/32", "dev", "eth0")
        ip("-n", name, "route", "add", "default", "via", GATEWAY)
        return name, address

    def leave(self, name):
        ip("netns", "delete", name)
