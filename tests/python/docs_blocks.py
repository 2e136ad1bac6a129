"""Runs the blocks of a page in docs/ as its reader types them: in a folder that has shards in data/."""

import os
import re
import subprocess
import sys

from fixtures import BIN, ROOT


class Page:
    def __init__(self, name):
        self.blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs" / name).read_text(), re.M | re.S)

    def of(self, language):
        return [text for kind, text in self.blocks if kind == language]


class Place:
    """The folder in which the page's reader works."""

    def __init__(self, folder, data):
        self.folder = folder
        (folder / "data").symlink_to(data)
        self.environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(folder / "cache")}

    def type(self, *commands):
        for text in commands:
            self.run_shell(text)

    def run_shell(self, text):
        return self._run(["bash", "-ec", text])

    def run(self, text, *launcher):
        """Returns the output of a Python block. With a launcher such as torchrun the block is a script."""
        if not launcher:
            return self._run([sys.executable, "-c", text])
        script = self.folder / "script.py"
        script.write_text(text)
        return self._run([sys.executable, *launcher, str(script)])

    def _run(self, command):
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
