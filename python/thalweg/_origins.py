"""Origins of code: thalweg, the standard library, installed distributions, or the user."""

import functools
import hashlib
import sys
import sysconfig
import types
from pathlib import Path

from . import _thalweg

_OF_OTHERS = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]


@functools.cache
def code_of_package() -> str:
    """Returns a hash of thalweg's build and of its Python files."""
    hasher = hashlib.sha256(_thalweg.build.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        hasher.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()


def modules_of_user() -> set[types.ModuleType]:
    """Returns the imported modules that are of neither Python, an installed distribution nor thalweg, without the main one."""
    return {module for name, module in list(sys.modules.items()) if isinstance(module, types.ModuleType) and _is_users(name, module)}


def _is_users(name: str, module: types.ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or name != module.__name__ or name.partition(".")[0] in ("__main__", "thalweg"):
        return False
    path = Path(file)
    return not any(path.is_relative_to(folder) for folder in _OF_OTHERS) and {"site-packages", "dist-packages"}.isdisjoint(path.parts)
