"""Hashes of controllers, the keys of saved runs.

A hash covers a class or a factory with all that its code can reach: base classes, methods, closures, arguments of `functools.partial`, the
globals that functions name and their values, instances with their state, and the content of files whose names are among these values. The
standard library is identified by the version of Python, installed packages by the record of their distribution, and thalweg by its files.
Different hashes may belong to equivalent controllers. Objects that cannot be followed are rejected. Inputs read at run time (environment
variables, clocks, composed file names) are not covered.
"""

import copyreg
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import struct
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from . import _thalweg


class UnknownError(Exception):
    """An object without a reproducible identity."""


_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)
_DESCRIPTORS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_NOT_OF_A_CLASS = frozenset({
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__annotate__", "__annotate_func__",
    "__annotations_cache__", "__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl",
})  # fmt: skip
_GLOBAL_STEPS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL"})
_NAMES_ANYTHING = frozenset({"eval", "exec", "globals"})
"""Functions through which code may use objects that none of its names refers to."""

_LONGEST_NAME = 4096
_PACKAGE = Path(__file__).parent
_STANDARD = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
_INSTALLED = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]


def _is_below(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _is_installed(path: Path) -> bool:
    return _is_below(path, _INSTALLED) or bool({"site-packages", "dist-packages"}.intersection(path.parts))


def _file_of(module: types.ModuleType) -> Path | None:
    name = getattr(module, "__file__", None)
    return Path(name) if isinstance(name, str) else None


def _is_of_thalweg(name: str) -> bool:
    return name.partition(".")[0] == "thalweg"


def _is_standard(module: types.ModuleType) -> bool:
    top = module.__name__.partition(".")[0]
    if top == "__main__":
        return False
    path = _file_of(module)
    if path is None:
        return top in sys.stdlib_module_names or top in sys.builtin_module_names
    return _is_below(path, _STANDARD) and not _is_installed(path)


def is_users(module: types.ModuleType) -> bool:
    """True for a module that is of neither Python, an installed distribution nor thalweg: its content may change between calls."""
    path = _file_of(module)
    return not (_is_of_thalweg(module.__name__) or _is_standard(module) or (path is not None and _is_installed(path)))


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


@functools.cache
def _distribution(top: str) -> str:
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
    place = _file_of(sys.modules[top]) if top in sys.modules else None
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
def _thalweg_itself() -> str:
    hasher = hashlib.sha256(_thalweg.build.encode())
    for path in sorted(_PACKAGE.glob("*.py")):
        hasher.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()


class Identity:
    """Hash of an object, and the user's modules that it depends on."""

    def __init__(self, name: str, of: object) -> None:
        self.modules: set[types.ModuleType] = set()
        self._hash = hashlib.sha256()
        # Keeps objects alive while their addresses identify them.
        self._known: dict[int, tuple[int, object]] = {}
        self._seen: set[tuple[int, frozenset[str]]] = set()
        self._path = [f"`{name}`"]
        self._put("thalweg", _thalweg_itself(), sys.version)
        try:
            self._walk(of)
        except RecursionError as error:
            raise UnknownError(f"{self._where()} is nested too deep") from error

    @property
    def digest(self) -> str:
        """Returns the hash, in hexadecimal digits."""
        return self._hash.hexdigest()

    def _put(self, *words: str | bytes) -> None:
        for word in words:
            data = word.encode("utf-8", "surrogatepass") if isinstance(word, str) else word
            self._hash.update(struct.pack("<Q", len(data)) + data)

    def _where(self) -> str:
        return " -> ".join(self._path)

    def _at(self, name: str, of: object) -> None:
        self._path.append(name)
        self._walk(of)
        self._path.pop()

    def _is_known(self, of: object) -> bool:
        """Returns true, and hashes its number, for an object that was visited before."""
        known = self._known.get(id(of))
        if known is not None:
            self._put("again", str(known[0]))
            return True
        self._known[id(of)] = (len(self._known), of)
        return False

    def _walk(self, of: object) -> None:
        kind = type(of)
        if kind in _ATOMS:
            self._atom(of)
        elif isinstance(of, types.CodeType):
            self._code(of)
        elif kind is tuple:
            self._put("tuple", str(len(of)))  # type: ignore[arg-type]
            for item in of:  # type: ignore[attr-defined]
                self._walk(item)
        elif isinstance(of, _DESCRIPTORS):
            self._put("descriptor", of.__objclass__.__qualname__, of.__name__)
        elif isinstance(of, types.ModuleType):
            self._module(of, frozenset())
        elif kind is frozenset:
            # Equal constants of code may be distinct objects.
            self._set(of, kind)
        elif not self._is_known(of):
            self._compound(of, kind)

    def _atom(self, of: object) -> None:
        self._put(type(of).__name__)
        match of:
            case bytes():
                self._put(of)
            case bool() | float() | complex():
                self._put(repr(of))
            case int():
                self._put(f"{of:x}")
            case str():
                self._put(of)
                self._file(of)
            case _:
                self._put(repr(of))

    def _file(self, name: str) -> None:
        """Hashes the content of a file of that name, which a controller may read."""
        if not 0 < len(name) < _LONGEST_NAME or "\0" in name:
            return
        try:
            with open(name, "rb") as file:
                self._put("file", hashlib.file_digest(file, "sha256").digest())
        except (OSError, ValueError):
            pass

    def _compound(self, of: Any, kind: type) -> None:
        if isinstance(of, type):
            self._class(of)
        elif kind is types.FunctionType:
            self._function(of)
        elif kind is types.MethodType:
            self._put("method")
            self._walk(of.__func__)
            self._walk(of.__self__)
        elif kind is types.CellType:
            self._cell(of)
        elif kind in (list, dict, types.MappingProxyType):
            self._put(kind.__name__, str(len(of)))
            for number, item in enumerate(of.items() if kind is not list else of):
                self._at(f"item {number if kind is list else item[0]!r}", item)
        elif kind is set:
            self._set(of, kind)
        elif isinstance(of, PurePath):
            self._put("path")
            self._walk(str(of))
        elif isinstance(of, (staticmethod, classmethod)):
            self._put(kind.__name__)
            self._walk(of.__func__)
        elif isinstance(of, property):
            self._put("property")
            for part in (of.fget, of.fset, of.fdel):
                self._walk(part)
        elif kind is functools.partial:
            self._put("partial")
            for part in (of.func, of.args, of.keywords, vars(of)):
                self._walk(part)
        elif kind is functools.cached_property:
            self._put("cached_property", str(of.attrname))
            self._walk(of.func)
        elif isinstance(of, functools._lru_cache_wrapper):
            self._put("cache", repr(of.cache_parameters()))
            self._walk(of.__wrapped__)
        else:
            self._instance(of, kind)

    def _cell(self, of: types.CellType) -> None:
        try:
            content = of.cell_contents
        except ValueError:
            self._put("empty")
            return
        self._put("cell")
        self._walk(content)

    def _set(self, of: Any, kind: type) -> None:
        """Hashes a set. Its order differs between processes: the hashes of its items are sorted."""
        outer, parts = self._hash, []
        for item in of:
            self._hash = hashlib.sha256()
            self._walk(item)
            parts.append(self._hash.digest())
        self._hash = outer
        self._put(kind.__name__, *sorted(parts))

    def _instance(self, of: Any, kind: type) -> None:
        """Hashes any other object, as it would be pickled."""
        try:
            reduced = copyreg.dispatch_table[kind](of) if kind in copyreg.dispatch_table else of.__reduce_ex__(4)
        except RecursionError:
            raise
        except Exception as error:
            raise UnknownError(f"{self._where()} is of type `{kind.__module__}.{kind.__qualname__}`, which has no copy: {error}") from error
        if isinstance(reduced, str):
            self._put("global", reduced)
            self._home(getattr(of, "__module__", None))
            return
        make, arguments, *further = reduced
        state, items, pairs, setter = [*further, None, None, None, None][:4]
        self._put("instance")
        self._walk(make)
        self._walk(arguments)
        if isinstance(state, dict):
            self._put("state", str(len(state)))
            for name, value in state.items():
                self._walk(name)
                self._at(f"`{name}`", value)
        else:
            self._walk(state)
        self._walk(list(items) if items is not None else None)
        self._walk(list(pairs) if pairs is not None else None)
        self._walk(setter)
        if isinstance(of, _thalweg.Controller):
            self._walk((of.window, of.pacing_rate))

    def _home(self, name: object) -> bool:
        """Hashes the origin of a module; returns true if the origin determines its content."""
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is None:
            self._put("nowhere", str(name))
            return False
        self._put("module", module.__name__)
        if _is_standard(module) or _is_of_thalweg(module.__name__):
            return True
        if not is_users(module):
            self._put(_distribution(module.__name__.partition(".")[0]))
            return True
        self.modules.add(module)
        return False

    def _is_named(self, of: Any) -> bool:
        """Returns true, and hashes its name, for an object that is found by its name in a module identified by its origin."""
        module = sys.modules.get(getattr(of, "__module__", None) or "")
        found: Any = module
        for part in of.__qualname__.split("."):
            found = getattr(found, part, None)
        if module is None or found is not of or (is_users(module) and not isinstance(of, types.BuiltinFunctionType)):
            return False
        self._put("named", of.__qualname__)
        return self._home(module.__name__)

    def _class(self, of: type) -> None:
        if self._is_named(of):
            return
        self._put("class", of.__qualname__)
        self._home(of.__module__)
        self._path.append(f"`{of.__qualname__}`")
        self._walk(type(of))
        for base in of.__bases__:
            self._walk(base)
        for name, value in of.__dict__.items():
            if name not in _NOT_OF_A_CLASS:
                self._put(name)
                self._at(f"`{name}`", value)
        self._path.pop()

    def _function(self, of: types.FunctionType) -> None:
        if self._is_named(of):
            return
        self._put("function")
        self._path.append(f"`{of.__qualname__}`")
        self._code(of.__code__)
        for part in (of.__defaults__, of.__kwdefaults__, vars(of)):
            self._walk(part)
        for name, cell in zip(of.__code__.co_freevars, of.__closure__ or ()):
            self._put(name)
            self._at(f"`{name}`", cell)
        words = frozenset(_words(of.__code__))
        for name in sorted(_globals(of.__code__)):
            self._global(of, name, words)
        for name in _imports(of):
            self._imported(name, words)
        self._path.pop()

    def _global(self, of: types.FunctionType, name: str, words: frozenset[str]) -> None:
        self._put("global", name)
        if name not in of.__globals__:
            if name in _NAMES_ANYTHING:
                raise UnknownError(f"{self._where()} calls `{name}`, through which it may use anything")
            return
        value = of.__globals__[name]
        if isinstance(value, types.ModuleType):
            self._module(value, words)
        else:
            self._at(f"`{name}`", value)

    def _imported(self, name: str, words: frozenset[str]) -> None:
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise UnknownError(f"{self._where()} imports `{name}`, which cannot be imported: {error}") from error
        self._module(module, words)

    def _module(self, of: types.ModuleType, words: frozenset[str]) -> None:
        """Hashes a module used by code with these names: its origin, and the values of its globals among the names."""
        self._put("of module")
        is_identified = self._home(of.__name__)
        key = (id(of), words)
        if is_identified and (_is_standard(of) or _is_of_thalweg(of.__name__)) or key in self._seen:
            return
        self._seen.add(key)
        path = _file_of(of)
        if not is_identified and path is not None:
            try:
                self._put(path.read_bytes())
            except OSError as error:
                raise UnknownError(f"{self._where()} uses the module `{of.__name__}`, whose file cannot be read: {error}") from error
        for name in sorted(words.intersection(vars(of))):
            value = vars(of)[name]
            self._put(name)
            if isinstance(value, types.ModuleType):
                self._module(value, words)
            elif not is_identified or isinstance(value, (*_ATOMS, tuple, list, dict)):
                self._at(f"`{of.__name__}.{name}`", value)

    def _code(self, of: types.CodeType) -> None:
        self._put("code", of.co_code, getattr(of, "co_exceptiontable", b""), str(of.co_flags))
        counts = (of.co_argcount, of.co_posonlyargcount, of.co_kwonlyargcount)
        self._walk((counts, of.co_names, of.co_varnames, of.co_freevars, of.co_cellvars, of.co_consts))


def _codes(of: types.CodeType) -> Iterator[types.CodeType]:
    """Returns a code object and the ones within it."""
    yield of
    for constant in of.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _globals(of: types.CodeType) -> set[str]:
    """Returns the globals that code uses by name."""
    steps = (step for code in _codes(of) for step in dis.get_instructions(code))
    return {str(step.argval) for step in steps if step.opname in _GLOBAL_STEPS}


def _words(of: types.CodeType) -> Iterator[str]:
    """Returns all names in code, and texts that may be names."""
    for code in _codes(of):
        yield from code.co_names
        yield from (constant for constant in code.co_consts if isinstance(constant, str) and constant.isidentifier())


def _imports(of: types.FunctionType) -> list[str]:
    """Returns the modules that a function imports when called."""
    names = []
    for code in _codes(of.__code__):
        before: list[Any] = [None, None]
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                level = before[0] if isinstance(before[0], int) else 0
                package = of.__globals__.get("__package__")
                names.append(importlib.util.resolve_name("." * level + step.argval, package) if level else step.argval)
            before = [before[1], step.argval]
    return names


def identities(controllers: Mapping[str, Callable[[], _thalweg.Controller]]) -> dict[str, Identity]:
    """Returns the identity of each controller, by name."""
    return {name: Identity(name, make) for name, make in sorted(controllers.items())}
