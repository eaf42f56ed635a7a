"""Origins of modules: the standard library, installed distributions, thalweg, or the user."""

import functools
import hashlib
import importlib.metadata
import sys
import sysconfig
import types
from collections.abc import Mapping
from pathlib import Path

from . import _thalweg

_PACKAGE = Path(__file__).parent
_STANDARD = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
_INSTALLED = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]


def _is_below(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _is_installed(path: Path) -> bool:
    return _is_below(path, _INSTALLED) or bool({"site-packages", "dist-packages"}.intersection(path.parts))


def file_of(module: types.ModuleType) -> Path | None:
    """Returns the file of a module, if it has one."""
    name = getattr(module, "__file__", None)
    return Path(name) if isinstance(name, str) else None


def is_of_thalweg(name: str) -> bool:
    """Returns true for the name of a module of thalweg."""
    return name.partition(".")[0] == "thalweg"


def is_standard(module: types.ModuleType) -> bool:
    """Returns true for a module of the standard library."""
    top = module.__name__.partition(".")[0]
    if top == "__main__":
        return False
    path = file_of(module)
    if path is None:
        return top in sys.stdlib_module_names or top in sys.builtin_module_names
    return _is_below(path, _STANDARD) and not _is_installed(path)


def is_users(module: types.ModuleType) -> bool:
    """Returns true for a module that is of neither Python, an installed distribution nor thalweg: its content may change between calls."""
    path = file_of(module)
    return not (is_of_thalweg(module.__name__) or is_standard(module) or (path is not None and _is_installed(path)))


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


@functools.cache
def distribution_record(top: str) -> str:
    """Returns the record of an installed distribution, with a hash of each of its files; without one, the sizes and times of its
    files."""
    hasher = hashlib.sha256()
    for name in sorted(set(_distributions().get(top, []))):
        record = importlib.metadata.distribution(name).read_text("RECORD")
        if record:
            hasher.update(f"{name}\n{record}\n".encode())
            continue
        for file in importlib.metadata.files(name) or []:
            hasher.update(f"{file} {_stamp_of(Path(str(file.locate())))}\n".encode())
    place = file_of(sys.modules[top]) if top in sys.modules else None
    if place is not None:
        folder = sorted(place.parent.rglob("*.*")) if place.name == "__init__.py" else [place]
        for path in folder:
            if "__pycache__" not in path.parts:
                hasher.update(f"{path.name} {_stamp_of(path)}\n".encode())
    return hasher.hexdigest()


def _stamp_of(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "gone"
    return f"{found.st_size} {found.st_mtime_ns}"


@functools.cache
def thalweg_itself() -> str:
    """Returns a hash of thalweg's build and of its Python files."""
    hasher = hashlib.sha256(_thalweg.build.encode())
    for path in sorted(_PACKAGE.glob("*.py")):
        hasher.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()
