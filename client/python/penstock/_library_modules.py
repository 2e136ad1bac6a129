"""Single modules of libraries whose packages import far more than a reader needs."""

from __future__ import annotations

import importlib.util
import os
from typing import Any


def module_of(package: str, path: str) -> Any:
    """Returns the module in a file of a package, without the package itself. Raises ModuleNotFoundError if it is missing.

    Some packages import torch and the SDKs of clouds, which takes seconds in each process and may fail. The module must not
    import others of its package.
    """
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or []) if found else []:
        file = os.path.join(folder, path)
        if os.path.isfile(file):
            name = f"penstock._library_modules.{package}.{path[: -len('.py')].replace('/', '.')}"
            spec = importlib.util.spec_from_file_location(name, file)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ModuleNotFoundError(f"No module named {package!r} with {path}", name=package)
