"""Hashes of controllers, the keys of saved runs.

A hash covers a class or a factory with all that its code can reach: base classes, methods, closures, arguments of `functools.partial`, the
globals that functions name and their values, instances with their state, and the content of files whose names are among these values. The
standard library is identified by the version of Python, installed packages by the record of their distribution, and thalweg by its files,
each with the values of the attributes that code names, which may have been replaced. Different hashes may belong to equivalent controllers.
Objects that cannot be followed are rejected, and so is code that reaches objects by no name (`importlib`, `sys.modules`, `eval`). Instances
of user classes count with all of their attributes, since their own methods of copying may leave some out. Environment variables count if
their names are constant. Code with other inputs at run time (clocks, composed file names, the network) has another hash each time.
"""

import builtins
import collections
import copyreg
import dis
import functools
import hashlib
import importlib
import importlib.machinery
import importlib.util
import io
import os
import random
import secrets
import struct
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

from . import _thalweg
from ._outside_inputs import codes_of, functions_within, input_of, passed_inputs, reads_of
from ._origins import distribution_record, file_of, is_of_thalweg, is_standard, is_users, thalweg_itself


class UnknownError(Exception):
    """An object without a reproducible identity."""

    advice = "Create that where it is used, such as in `__init__`, or pass its parts."
    """What to do, as a sentence."""


class ReachError(UnknownError):
    """Code that may use objects that it does not name."""

    advice = "Name what it uses: with `import` or `from ... import`, as a global, a default or an argument of `functools.partial`."


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
_REACH_ANYTHING = {
    "builtins": ("eval", "exec", "globals", "compile", "__import__"),
    "importlib": ("import_module", "reload", "__import__"),
    "importlib.util": ("module_from_spec", "find_spec"),
    "sys": ("modules", "_getframe", "_current_frames", "_getframemodulename"),
    "inspect": ("currentframe", "stack", "trace", "getmodule", "getouterframes"),
    "gc": ("get_objects", "get_referrers", "get_referents"),
    "ctypes": ("pythonapi", "py_object", "PyDLL"),
    "pkgutil": ("resolve_name", "get_loader", "find_loader"),
    "pydoc": ("locate",),
    "runpy": ("run_module", "run_path"),
    "pickle": ("load", "loads", "Unpickler", "_load", "_loads", "_Unpickler"),
    "marshal": ("load", "loads"),
    "shelve": ("open",),
}
"""Objects through which code may use others that none of its names refers to, by module."""
_REACHING_ATTRIBUTES = frozenset({"__globals__", "f_globals", "f_locals", "f_builtins", "__subclasses__"})
"""Attributes that lead to such objects."""
_READ_BY_TEXT = frozenset({"getattr", "vars", "dir", "attrgetter", "methodcaller", "getmembers", "getattr_static", "__dict__", "__getattribute__"})
"""Names by which code reads attributes whose names it may compose."""
_OF_THE_IMPORT = frozenset({
    "__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__", "__warningregistry__",
})  # fmt: skip
_COPY: dict[type, Callable[[Any], object]] = {
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: bytes.__bytes__,
    bytearray: lambda of: bytes(bytearray.copy(of)),
    tuple: lambda of: tuple(tuple.__iter__(of)),
    list: list.copy,
    dict: dict.copy,
    set: lambda of: set(set.__iter__(of)),
    frozenset: lambda of: frozenset(frozenset.__iter__(of)),
    collections.deque: lambda of: (list(collections.deque.__iter__(of)), vars(collections.deque)["maxlen"].__get__(of)),
    collections.OrderedDict: lambda of: list(collections.OrderedDict.items(of)),
    collections.defaultdict: lambda of: (vars(collections.defaultdict)["default_factory"].__get__(of), dict.copy(of)),
}
"""Functions that copy the content of an instance, whatever methods its class replaces."""
_STATELESS = (io.IOBase, type(threading.Lock()), type(threading.RLock()))
"""Objects of modules whose content does not count: streams and locks."""
_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8
"""Flags of classes (`Py_TPFLAGS_HEAPTYPE`, `Py_TPFLAGS_IMMUTABLETYPE`)."""

_LONGEST_NAME = 4096


def _reaches_anything(of: object) -> str | None:
    """Returns the name of an object through which code may use anything."""
    for module, names in _REACH_ANYTHING.items():
        loaded = vars(sys.modules[module]) if module in sys.modules else {}
        for name in names:
            if loaded.get(name, _REACH_ANYTHING) is of:
                return name if module == "builtins" else f"{module}.{name}"
    return None


def _is_mutable(of: type) -> bool:
    return of.__flags__ & (_HEAP_TYPE | _IMMUTABLE_TYPE) == _HEAP_TYPE


def _module_of(of: types.FunctionType) -> types.ModuleType | None:
    """Returns the module whose globals a function has."""
    module = sys.modules.get(of.__globals__.get("__name__") or "")
    return module if module is not None and vars(module) is of.__globals__ else None


def _packages_of(kind: type) -> set[str]:
    """Returns the names of the packages with classes that derive from this one."""
    found: set[str] = set()
    below: list[type] = kind.__subclasses__()
    for derived in below:
        found |= {derived.__module__.partition(".")[0]} | _packages_of(derived)
    return found - {"thalweg"}


def _is_generator(of: object) -> bool:
    return isinstance(of, random.Random) or type(of).__module__.startswith("numpy.random.")


class Identity:
    """Hash of an object, and the user's modules that it depends on."""

    def __init__(self, name: str, of: object) -> None:
        self.modules: set[types.ModuleType] = set()
        self._hash = hashlib.sha256()
        # Keeps objects alive while their addresses identify them.
        self._known: dict[int, tuple[int, object]] = {}
        # Modules, and classes of others, whose attributes count as far as code names them.
        self._places: dict[int, types.ModuleType | type] = {}
        self._read: set[tuple[int, str]] = set()
        # Names in code, each with the place of the first code that has it.
        self._words: dict[str, str] = {}
        # Modules that code may use by any of these names, as they are in places that are not followed.
        self._passed: dict[int, types.ModuleType] = {}
        self._root, self._packages = of, _packages_of(_thalweg.Controller)
        self.inputs: list[str] = []
        """What the object takes at run time, each as a clause. With any, the hash is another one each time."""
        self._path = [f"`{name}`"]
        self._put("thalweg", thalweg_itself(), sys.version)
        try:
            self._walk(of)
            while self._walk_places():
                pass
        except RecursionError as error:
            raise UnknownError(f"{self._where()} is nested too deep") from error
        self.inputs += [f"{where} uses `{found}`" for found, where in passed_inputs(self._passed, self._words)]
        if self.inputs:
            self._put("inputs", secrets.token_bytes(32))

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

    def _at(self, name: str, of: object, is_named: bool = False) -> None:
        """Hashes a part; `is_named` for what code names, whose inputs are found there."""
        self._path.append(name)
        (self._follow if is_named else self._walk)(of)
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
        """Hashes an object that code may use without its name."""
        if isinstance(of, types.ModuleType):
            self._passed[id(of)] = of
        elif type(of) not in _ATOMS and (found := input_of(of)) is not None:
            self.inputs.append(f"{self._where()} is `{found}`")
        self._follow(of)

    def _follow(self, of: object) -> None:
        kind = type(of)
        if kind not in _ATOMS and (name := _reaches_anything(of)) is not None:
            where = " -> ".join(part for part in self._path if part != f"`{name}`")
            raise ReachError(f"{where} uses `{name}`, through which it may use anything")
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
            self._module(of)
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
                if of.isidentifier():
                    self._words.setdefault(of, self._where())
                self._file(of)
            case _:
                self._put(repr(of))

    def _file(self, name: str) -> None:
        """Hashes the content of a file of that name, which a controller may read."""
        if not 0 < len(name) < _LONGEST_NAME or "\0" in name:
            return
        try:
            if not os.path.isfile(name):
                return
            with open(name, "rb") as file:
                self._put("file", hashlib.file_digest(file, "sha256").digest())
        except (OSError, ValueError):
            pass

    def _compound(self, of: Any, kind: type) -> None:
        if isinstance(of, type):
            self._class(of)
        elif of is os.environ:
            # The variables that code reads count.
            self._put("environment")
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
        elif isinstance(of, (staticmethod, classmethod)):
            self._put("method of a class")
            self._walk(of.__func__)
            self._own(of, kind, type(of) not in (staticmethod, classmethod))
        elif isinstance(of, property):
            self._put("property")
            for part in (of.fget, of.fset, of.fdel):
                self._walk(part)
            self._own(of, kind, kind is not property)
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
        elif isinstance(of, PurePath) and not self._is_users_class(kind):
            self._put("path")
            self._walk(str(of))
        else:
            self._instance(of, kind)

    def _cell(self, of: types.CellType, is_named: bool = False) -> None:
        try:
            content = of.cell_contents
        except ValueError:
            self._put("empty")
            return
        self._put("cell")
        (self._follow if is_named else self._walk)(content)

    def _set(self, of: Any, kind: type) -> None:
        """Hashes a set. Its order differs between processes: the hashes of its items are sorted."""
        outer, parts = self._hash, []
        for item in of:
            self._hash = hashlib.sha256()
            self._walk(item)
            parts.append(self._hash.digest())
        self._hash = outer
        self._put(kind.__name__, *sorted(parts))

    def _is_users_class(self, kind: type) -> bool:
        if not kind.__flags__ & _HEAP_TYPE:
            return False
        module = sys.modules.get(kind.__module__)
        if module is None or is_users(module):
            return True
        # A class that a function of others made, or that names another module. Compiled modules have classes without names.
        path = file_of(module)
        return (module is builtins or path is not None and path.suffix == ".py") and not self._is_found(kind, module)

    def _instance(self, of: Any, kind: type) -> None:
        """Hashes any other object: one of a class of others as it would be pickled, one of a user class with all of its attributes."""
        if self._is_users_class(kind):
            self._put("own")
            self._walk(kind)
            self._own(of, kind, True)
            self._native(of, kind)
            return
        if kind in weakref.ProxyTypes:
            raise UnknownError(f"{self._where()} is of type `{kind.__module__}.{kind.__qualname__}`, which stands for another object")
        reducer = copyreg.dispatch_table.get(kind)
        if isinstance(reducer, types.FunctionType) and (module := _module_of(reducer)) is not None and is_users(module):
            reducer = None
        self._reduced(of, kind, reducer or (lambda of: of.__reduce_ex__(4)))
        # A logger is pickled as its name, for instance, without attributes that users add.
        for name, value in self._dictionary(of, kind).items():
            is_plain = type(value) in (*_ATOMS, tuple, list, dict, set, types.FunctionType) or self._is_users_class(type(value))
            if is_plain and isinstance(name, str) and not name.startswith("_"):
                self._put(name)
                self._followed(name, value)

    def _followed(self, name: str, of: object) -> None:
        """Hashes an object of others, as far as it can be followed."""
        path = list(self._path)
        try:
            self._at(f"`{name}`", of)
        except ReachError:
            raise
        except UnknownError:
            self._put(type(of).__qualname__)
        self._path = path

    def _dictionary(self, of: object, kind: type) -> dict[Any, Any]:
        """Returns the `__dict__` of an instance itself, whatever the class puts in its place."""
        found = next((vars(base)["__dict__"] for base in kind.__mro__ if "__dict__" in vars(base)), None)
        if found is not None and not isinstance(found, (types.GetSetDescriptorType, types.MemberDescriptorType)):
            raise UnknownError(f"{self._where()} is of type `{kind.__module__}.{kind.__qualname__}`, which hides its `__dict__`")
        known: dict[Any, Any] = found.__get__(of, kind) if found is not None else {}
        return known

    def _own(self, of: Any, kind: type, with_class: bool) -> None:
        """Hashes the attributes of an instance, whatever its methods of copying give."""
        if with_class:
            self._walk(kind)
        known = self._dictionary(of, kind)
        self._put("attributes", str(len(known)))
        for name, value in known.items():
            self._walk(name)
            self._at(f"`{name}`", value)
        for base in kind.__mro__:
            if base.__flags__ & _HEAP_TYPE and base is not _thalweg.Controller:
                for name, slot in base.__dict__.items():
                    if isinstance(slot, types.MemberDescriptorType) and name != "__weakref__":
                        try:
                            value = slot.__get__(of, kind)
                        except AttributeError:
                            continue
                        self._put(name)
                        self._at(f"`{name}`", value)

    def _native(self, of: Any, kind: type) -> None:
        """Hashes the content that an instance of a user class has from the class of others that it derives from."""
        native = next(base for base in kind.__mro__ if not self._is_users_class(base))
        if issubclass(native, _thalweg.Controller):
            self._walk((of.window, of.pacing_rate))
            return
        simple = next((base for base in native.__mro__ if base in _COPY), None)
        if simple is not None:
            self._walk(_COPY[simple](of))
            return
        # The space of a class of Python: the header, `__dict__`, weak references and slots, eight bytes each.
        if native.__basicsize__ <= object.__basicsize__ + 16 + 8 * len(copyreg._slotnames(native)):  # type: ignore[attr-defined]
            return
        reduce: Any = native.__reduce__
        reduce_ex: Any = native.__reduce_ex__
        if reduce is not object.__reduce__:
            self._reduced(of, kind, reduce)
        elif reduce_ex is not object.__reduce_ex__:
            self._reduced(of, kind, lambda of: reduce_ex(of, 4))
        else:
            raise UnknownError(f"{self._where()} is of type `{kind.__module__}.{kind.__qualname__}`, whose base `{native.__qualname__}` has no copy")

    def _reduced(self, of: Any, kind: type, reduce: Callable[[Any], Any]) -> None:
        try:
            reduced = reduce(of)
        except RecursionError:
            raise
        except Exception as error:
            raise UnknownError(f"{self._where()} is of type `{kind.__module__}.{kind.__qualname__}`, which has no copy: {error}") from error
        if isinstance(reduced, str):
            self._put("global", reduced)
            module = sys.modules.get(getattr(of, "__module__", None) or "")
            if module is not None:
                self._module(module)
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
        if is_standard(module) or is_of_thalweg(module.__name__):
            return True
        if not is_users(module):
            self._put(distribution_record(module.__name__.partition(".")[0]))
            return True
        self.modules.add(module)
        path = file_of(module)
        if path is not None and path.name.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
            # Its functions have no code to hash.
            self._content(module, path)
        return False

    def _content(self, module: types.ModuleType, path: Path) -> None:
        try:
            self._put(path.read_bytes())
        except OSError as error:
            raise UnknownError(f"{self._where()} uses the module `{module.__name__}`, whose file cannot be read: {error}") from error

    def _is_found(self, of: Any, module: types.ModuleType) -> bool:
        found: Any = module
        for part in of.__qualname__.split("."):
            found = getattr(found, part, None)
        return found is of

    def _is_named(self, of: Any) -> bool:
        """Returns true, and hashes its name, for an object that is found by its name in a module identified by its origin."""
        module = sys.modules.get(getattr(of, "__module__", None) or "")
        if module is None or is_users(module) or not self._is_found(of, module):
            return False
        if isinstance(of, types.FunctionType) and ((home := _module_of(of)) is None or is_users(home)):
            return False
        self._put("named", of.__qualname__)
        for base in of.__mro__ if isinstance(of, type) else ():
            if _is_mutable(base):
                self._places.setdefault(id(base), base)
        if of is self._root or module.__name__.partition(".")[0] in self._packages:
            for function in functions_within(of):
                self._path.append(f"`{function.__qualname__}`")
                self._reads(function)
                self._path.pop()
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
        is_others = self._is_others(of)
        if is_others:
            self._put(of.__qualname__, of.__code__.co_code)
            self._home(of.__globals__["__name__"])
        else:
            self._code(of.__code__)
        for part in (of.__defaults__, of.__kwdefaults__, vars(of)):
            self._walk(part)
        for name, cell in zip(of.__code__.co_freevars, of.__closure__ or ()):
            self._put(name)
            self._path.append(f"`{name}`")
            if not self._is_known(cell):
                self._cell(cell, not is_others)
            self._path.pop()
        if not is_others:
            self._used(of)
        self._path.pop()

    def _is_others(self, of: types.FunctionType) -> bool:
        """Returns true for a function of the file of a module identified by its origin; its closure may be the user's."""
        module = _module_of(of)
        return module is not None and not is_users(module) and of.__code__.co_filename == getattr(module, "__file__", None)

    def _used(self, of: types.FunctionType) -> None:
        """Hashes what a function uses: globals, built-in names and imported modules."""
        for code in codes_of(of.__code__):
            for name in code.co_names:
                self._words.setdefault(name, self._where())
            for name in _REACHING_ATTRIBUTES.intersection(code.co_names):
                raise ReachError(f"{self._where()} uses `{name}`, through which it may use anything")
        for name in sorted(_globals(of.__code__)):
            self._put("global", name)
            if name in of.__globals__:
                self._at(f"`{name}`", of.__globals__[name], True)
            elif name in vars(builtins):
                self._attribute(builtins, name)
        self._reads(of)

    def _reads(self, of: types.FunctionType) -> None:
        """Hashes what a function imports and takes from outside."""
        for name, names in _imports(of):
            self._imported(name, names)
        reads = reads_of(of)
        for name in sorted(set(reads.files)):
            self._file(name)
        self.inputs += [f"{self._where()} uses {found}" for found in dict.fromkeys(reads.unknown)]
        for name in sorted(set(reads.variables)):
            self._put("variable", name, repr(os.environ.get(name)))
        self._passed.update((id(module), module) for module in reads.passed)

    def _imported(self, name: str, names: Iterable[str]) -> None:
        """Hashes a module that a function imports, with the packages around it and the modules among the names taken from it."""
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            self._module(self._loaded(".".join(parts[:count])))
        module = self._loaded(name)
        for part in names:
            if hasattr(module, "__path__") and not hasattr(module, part):
                self._module(self._loaded(f"{name}.{part}"))

    def _loaded(self, name: str) -> types.ModuleType:
        try:
            return importlib.import_module(name)
        except Exception as error:
            raise UnknownError(f"{self._where()} imports `{name}`, which cannot be imported: {error}") from error

    def _module(self, of: types.ModuleType) -> None:
        """Hashes the origin of a module. The values of its attributes that code names follow when all names are known."""
        self._put("of module")
        is_users_own = self._is_users_module(of)
        if is_users_own and sys.modules.get(of.__name__) is not of:
            self._put("made", of.__name__)
        else:
            self._home(of.__name__)
        if id(of) in self._places:
            return
        self._places[id(of)] = of
        path = file_of(of)
        if is_users_own and path is not None:
            self._content(of, path)
        if is_users_own and type(of) is not types.ModuleType:
            self._walk(type(of))

    def _is_users_module(self, of: types.ModuleType) -> bool:
        return sys.modules.get(of.__name__) is not of or is_users(of)

    def _walk_places(self) -> bool:
        """Hashes the attributes of modules and classes that code names and that are not hashed yet. Returns true if there were any, as
        they may lead to further names and modules."""
        is_composed = not _READ_BY_TEXT.isdisjoint(self._words.keys())
        found = []
        for number, place in self._places.items():
            own = isinstance(place, types.ModuleType) and self._is_users_module(place)
            for name, value in vars(place).items():
                is_meant = name in self._words or own and name == "__getattr__"
                if not is_meant and is_composed and name not in _OF_THE_IMPORT:
                    is_meant = own or isinstance(place, types.ModuleType) and type(value) in _ATOMS
                if is_meant and isinstance(name, str) and (number, name) not in self._read:
                    found.append((place.__module__ if isinstance(place, type) else "", place.__name__, name, place))
        for _, _, name, place in sorted(found, key=lambda of: of[:3]):
            self._read.add((id(place), name))
            if name in vars(place):
                self._attribute(place, name)
        return bool(found)

    def _attribute(self, place: types.ModuleType | type, name: str) -> None:
        """Hashes the value of an attribute of a module or of a class of others."""
        value = vars(place)[name]
        self._put("attribute", place.__name__, name)
        path = self._path
        self._path = [self._words.get(name, self._where()), f"`{name}`" if place is builtins else f"`{place.__name__}.{name}`"]
        own = isinstance(place, types.ModuleType) and self._is_users_module(place)
        if own or isinstance(value, (types.ModuleType, types.FunctionType, type, *_ATOMS)) or _reaches_anything(value) is not None:
            self._follow(value)
        elif isinstance(place, type) and not isinstance(value, (tuple, list, dict, set, frozenset, property, staticmethod, classmethod)):
            self._put(type(value).__qualname__)
        elif isinstance(value, _STATELESS) or _is_generator(getattr(value, "__self__", None)):
            # What code takes from these is found in the code.
            self._put(type(value).__qualname__, getattr(value, "__qualname__", ""))
        elif name.startswith("_"):
            # An internal object of others.
            self._followed(name, value)
        else:
            self._follow(value)
        self._path = path

    def _code(self, of: types.CodeType) -> None:
        self._put("code", of.co_code, getattr(of, "co_exceptiontable", b""), str(of.co_flags))
        counts = (of.co_argcount, of.co_posonlyargcount, of.co_kwonlyargcount)
        self._walk((counts, of.co_names, of.co_varnames, of.co_freevars, of.co_cellvars, of.co_consts))


def _globals(of: types.CodeType) -> set[str]:
    """Returns the globals that code uses by name."""
    steps = (step for code in codes_of(of) for step in dis.get_instructions(code))
    return {str(step.argval) for step in steps if step.opname in _GLOBAL_STEPS}


def _imports(of: types.FunctionType) -> list[tuple[str, tuple[str, ...]]]:
    """Returns the modules that a function imports when called, each with the names that it takes from it."""
    found = []
    for code in codes_of(of.__code__):
        before: list[Any] = [None, None]
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                level = before[0] if isinstance(before[0], int) else 0
                package = of.__globals__.get("__package__")
                name = importlib.util.resolve_name("." * level + step.argval, package) if level else step.argval
                found.append((name, before[1] if isinstance(before[1], tuple) else ()))
            before = [before[1], step.argval]
    return found


def identities(controllers: Mapping[str, Callable[[], _thalweg.Controller]]) -> dict[str, Identity]:
    """Returns the identity of each controller, by name."""
    return {name: Identity(name, make) for name, make in sorted(controllers.items())}
