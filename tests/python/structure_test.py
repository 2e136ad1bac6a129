"""The structure of the package: no module uses private names of another, and the folder's README names each file."""

import ast
import re

import pytest

from fixtures import ROOT

PACKAGE = ROOT / "client" / "python" / "penstock"
MODULES = sorted(PACKAGE.glob("*.py"))
# Private names of other libraries without a public equivalent, and the reason.
ELSEWHERE = {
    ("_tf_feed.py", "_current_frames"): "sys: the only way to see what other threads do",
    ("_jax_put.py", "_jax"): "jaxlib: what jax.device_put ends in; the module works without it",
}

NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}  # public, although they begin with an underscore
# Files that are longer than 400 lines, with their lines. They may only shrink.
LONG = {}


def is_private(name):
    return name not in NAMED_TUPLE and name.startswith("_") and not name.startswith("__") and name != "_"


def defined(tree):
    """Names that a module binds: its functions, classes, variables, attributes and slots."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            names.add(node.attr)
    return names


def is_self(node):
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def is_mine(node):
    """Returns whether the node is self, cls or super()."""
    return is_self(node) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super")


def foreign_uses(text):
    """Returns private names from elsewhere that a module uses: imported, or read from an object that is not `self`."""
    tree = ast.parse(text)
    own = defined(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (alias.name for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own and not is_mine(node.value):
            yield node.attr


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_module_uses_private_names_of_another(module):
    found = {name for name in foreign_uses(module.read_text()) if (module.name, name) not in ELSEWHERE}
    assert found == set()


def test_the_check_finds_such_uses():
    text = "from ._a import _b\nimport c\nclass D:\n  def e(self, f):\n    self._g = f._g\n    return f._h + c._i + self._j\n"
    assert sorted(foreign_uses(text)) == ["_b", "_h", "_i"]


def test_the_readme_names_each_file():
    text = (ROOT / "client" / "python" / "README.md").read_text()
    named = set(re.findall(r"`(\w+\.py)`", text))
    assert {path.name for path in MODULES} - named == {"__init__.py", "ops.py", "messages.py"}
    assert named <= {path.name for path in MODULES}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_a_module_has_at_most_400_lines(module):
    assert len(module.read_text().splitlines()) <= LONG.get(module.name, 400)
