"""Inputs that code takes when it runs: files, environment variables, clocks, random numbers, the network, other processes.

The bytecode of a function names what it calls. An input whose value is known before the run (a file or an environment variable with a
constant name) can be part of an identity; all others make the outcome of a call unpredictable. Names that code composes (`getattr(os, "env"
+ "iron")`) are not found, nor is what functions of installed packages read by themselves, except for functions with usual names
(`read_csv`, `load`, `from_pretrained`).
"""

import dis
import importlib.util
import os
import random
import re
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ._origins import is_of_thalweg, is_standard, is_users

_WHOLE = frozenset({
    "asyncio.subprocess", "configparser", "curses", "dbm", "fcntl", "fileinput", "ftplib", "getpass", "glob", "grp", "http.client", "imaplib",
    "importlib.metadata", "importlib.resources", "linecache", "mailbox", "mmap", "multiprocessing", "netrc", "nntplib", "platform", "poplib",
    "posixsubprocess", "pty", "pwd", "readline", "resource", "secrets", "select", "selectors", "shutil", "smtplib", "socket", "socketserver",
    "sqlite3", "ssl", "subprocess", "telnetlib", "tempfile", "termios", "urllib.request", "webbrowser", "xmlrpc",
})  # fmt: skip
"""Modules of the standard library all of whose functions and classes are inputs."""
_WHOLE_OF_OTHERS = frozenset({"aiohttp", "boto3", "fsspec", "httpx", "psutil", "redis", "requests", "sqlalchemy", "urllib3", "zmq"})
"""The same, of others."""
_EXCEPT = {
    "os": frozenset({"PathLike", "fsdecode", "fsencode", "fspath", "strerror"}),
    "time": frozenset({"mktime", "sleep", "strptime", "struct_time"}),
}
"""Modules all of whose functions are inputs, except these."""
_NAMED = {
    "asyncio": ("create_subprocess_exec", "create_subprocess_shell", "open_connection", "open_unix_connection", "start_server"),
    "builtins": ("input",),
    "bz2": ("BZ2File", "open"),
    "codecs": ("open",),
    "gzip": ("GzipFile", "open"),
    "inspect": ("findsource", "getsource", "getsourcefile", "getsourcelines"),
    "io": ("FileIO", "open", "open_code"),
    "lzma": ("LZMAFile", "open"),
    "os.path": (
        "abspath", "exists", "expanduser", "expandvars", "getatime", "getctime", "getmtime", "getsize", "isdir", "isfile", "islink", "ismount",
        "lexists", "realpath", "relpath", "samefile",
    ),
    "pkgutil": ("get_data",),
    "random": ("SystemRandom",),
    "tarfile": ("TarFile", "is_tarfile", "open"),
    "thread": ("get_ident", "get_native_id"),
    "threading": ("get_ident", "get_native_id"),
    "tokenize": ("open",),
    "uuid": ("getnode", "uuid1", "uuid4"),
    "wave": ("open",),
    "xml.dom.minidom": ("parse",),
    "xml.etree.ElementTree": ("iterparse", "parse"),
    "xml.sax": ("parse",),
    "zipfile": ("Path", "ZipFile", "is_zipfile"),
}  # fmt: skip
"""Functions and classes that are inputs, by module."""
_ALIASES = {"genericpath": "os.path", "ntpath": "os.path", "posixpath": "os.path", "nt": "os", "posix": "os"}
_OF_OTHERS = re.compile(
    r"(read|load|open|fetch|download|scan)(_(?!state_dict$)\w+)?$|loadtxt$|imread$|fromfile$|genfromtxt$|memmap$|mmap$|urlopen$"
    r"|rand(?!om$|om_state$)\w*$|from_(file|path|url|csv|json|hub|pretrained|parquet)$"
)
"""Names of functions of installed packages that read something."""
_TAKES_A_FILE = re.compile(
    r"(open|load|loadtxt|fromfile|genfromtxt|imread|parse|iterparse|GzipFile|BZ2File|LZMAFile|ZipFile|FileIO)$"
    r"|read_(csv|excel|feather|fwf|hdf|json|orc|parquet|pickle|table)$"
)
"""Names of functions whose first argument may be the name of the only file that they read."""
_CLASS_METHODS = frozenset({"now", "utcnow", "today", "cwd", "home"})
_METHODS = frozenset({"read_text", "read_bytes", "iterdir", "rglob", "expanduser", "utcnow", "getenv", "environ"})
"""Attributes of objects of unknown classes that are inputs."""
_CALLED_METHODS = re.compile(
    r"(open|exists|is_file|is_dir|stat|lstat|glob|urlopen|now|today|recv|recvfrom|accept|connect|communicate|cwd|home)$"
    r"|(read|load|fetch|download)_(?!state_dict$)\w+$|from_(file|path|url|csv|json|hub|pretrained|parquet)$"
)
"""Methods of objects of unknown classes that are inputs."""
_PATHS_OWN = frozenset({"read_text", "read_bytes", "open"})
"""Methods of paths that read the file of this name."""
_SEEDED = frozenset({"Random", "RandomState", "SeedSequence", "default_rng", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"})
"""Generators of random numbers that take an unpredictable seed if none is given."""

_SKIPPED = frozenset({"CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "MAKE_CELL", "NOP", "NOT_TAKEN", "PRECALL", "PUSH_NULL", "RESUME"})
_PAIRS = re.compile(r"((?:LOAD|STORE)_FAST)(?:_BORROW)?_((?:LOAD|STORE)_FAST)(?:_BORROW)?")
_OF_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_OF_CELLS = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_OF_LOCALS = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR"})
_OF_CONSTANTS = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
_LOADS = _OF_GLOBALS | _OF_CELLS | _OF_LOCALS | _OF_CONSTANTS
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"})
_STORES = frozenset({"STORE_FAST", "STORE_DEREF", "STORE_NAME"})
_KNOWN_ENDS = _ATTRIBUTES | _STORES | {"POP_TOP"}
"""Steps after which a module on the stack is in no unknown place."""


def _is_function(of: object) -> bool:
    """Returns true for functions of Python, C, Cython and numpy."""
    known = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    return isinstance(of, known) or type(of).__name__ in ("cython_function_or_method", "_ArrayFunctionDispatcher")


def _is_hidden_generator(of: object) -> bool:
    """Returns true for the generator of the functions of `random` or of `numpy.random`."""
    numpys = sys.modules.get("numpy.random.mtrand")
    return of is random._inst or numpys is not None and of is numpys._rand


def input_of(of: Any) -> str | None:
    """Returns the name of a function, a class or an object that is an input."""
    if of is os.environ or of is getattr(os, "environb", of):
        return "os.environ"
    if of is not None and (of is sys.stdin or of is sys.__stdin__):
        return "sys.stdin"
    kind = type(of)
    if isinstance(of, type):
        return None if issubclass(of, BaseException) else named_input(of.__module__, of.__name__)
    if _is_function(of):
        owner = getattr(of, "__self__", None)
        if owner is not None and _is_hidden_generator(owner):
            return f"{'random' if isinstance(owner, random.Random) else 'numpy.random'}.{getattr(of, '__name__', '')}"
        if owner is None or isinstance(owner, types.ModuleType):
            return named_input(getattr(of, "__module__", None), getattr(of, "__name__", None))
        return None
    name = named_input(kind.__module__, kind.__name__)
    return name if name is not None and _is_whole(_canonical(kind.__module__)) else None


def _canonical(module: str) -> str:
    return _ALIASES.get(module, module.removeprefix("_"))


def _is_whole(module: str) -> bool:
    return any(module == whole or module.startswith(f"{whole}.") for whole in _WHOLE) or module.partition(".")[0] in _WHOLE_OF_OTHERS


def named_input(module: object, name: object) -> str | None:
    """Returns the name of an attribute of a module that is an input."""
    if not isinstance(module, str) or not isinstance(name, str) or name.startswith("__"):
        return None
    found = sys.modules.get(module)
    if found is not None and is_users(found):
        return None
    known = _canonical(module)
    if is_of_thalweg(module):
        # Functions that run or read something.
        is_input = isinstance(vars(found).get(name) if found is not None and module == "thalweg" else None, types.FunctionType)
    elif found is None or is_standard(found):
        but = _EXCEPT.get(known)
        is_input = _is_whole(known) or but is not None and name not in but or name in _NAMED.get(known, ())
    else:
        is_input = _is_whole(known) or _OF_OTHERS.match(name) is not None
    return (name if known == "builtins" or (known, name) == ("io", "open") else f"{known}.{name}") if is_input else None


def attribute_input(module: types.ModuleType, name: str) -> str | None:
    """Returns the name of a module's attribute that is an input."""
    value = vars(module).get(name)
    if isinstance(value, types.ModuleType) or isinstance(value, type) and issubclass(value, BaseException):
        return None
    found = input_of(value)
    if found is None and callable(value) and not is_of_thalweg(module.__name__) and not is_standard(module):
        # Functions may come from elsewhere, and those of compiled modules have no names.
        found = named_input(module.__name__, name)
    return found


@dataclass
class Reads:
    """Inputs of a function."""

    unknown: list[str] = field(default_factory=list)
    """Inputs whose values are not known before the call, with what is unknown about them."""
    variables: list[str] = field(default_factory=list)
    """Names of environment variables."""
    files: list[str] = field(default_factory=list)
    """Names of files."""
    passed: list[types.ModuleType] = field(default_factory=list)
    """Modules that code puts in places which are not followed."""


@dataclass
class _Value:
    """What is on top of the stack: the objects that it may be, and whether it is always the same one."""

    of: tuple[Any, ...] = ()
    is_constant: bool = False
    is_self: bool = False


class _Function:
    """Search for the inputs of a function and of the code within it."""

    def __init__(self, of: types.FunctionType) -> None:
        self._globals = of.__globals__
        self._cells: dict[str, Any] = {}
        for name, cell in zip(of.__code__.co_freevars, of.__closure__ or ()):
            try:
                self._cells[name] = cell.cell_contents
            except ValueError:
                continue
        self._codes = [(code, list(_steps(code))) for code in codes_of(of.__code__)]
        self._code = of.__code__
        # Variables that code sets have no constant value.
        every = [step for _, steps in self._codes for step in steps]
        self._stored = {step.argval for step in every if step.opname in ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF")}
        self._locals: dict[str, list[Any]] = {}
        # A variable may be set by a later step; two rounds follow it from variable to variable.
        for _ in range(3):
            self.reads = Reads()
            for code, steps in self._codes:
                self._search(code, steps)

    def _search(self, code: types.CodeType, steps: list[dis.Instruction]) -> None:
        self._code = code
        top, imported = _Value(), _Value()
        for at, step in enumerate(steps):
            if step.opname in _LOADS:
                top = self._loaded(step)
            elif step.opname == "IMPORT_NAME":
                top = imported = self._imported(steps, at)
            elif step.opname in _ATTRIBUTES:
                top = self._attribute(imported if step.opname == "IMPORT_FROM" else top, steps, at)
            elif step.opname in _STORES:
                known = self._locals.setdefault(step.argval, [])
                known += [value for value in top.of if not any(value is other for other in known)]
                top = _Value()
                continue
            else:
                top = _Value()
                continue
            following = steps[at + 1].opname if at + 1 < len(steps) else ""
            for value in top.of:
                if isinstance(value, types.ModuleType):
                    if following not in _KNOWN_ENDS:
                        self.reads.passed.append(value)
                elif step.opname not in _ATTRIBUTES and (name := input_of(value)) is not None:
                    self._input(name, value, steps, at)
                elif _is_callable_of_others(value) and value.__name__ in _SEEDED:
                    self._seeded(value, steps, at)

    def _loaded(self, step: dis.Instruction) -> _Value:
        name = step.argval
        if step.opname in _OF_CONSTANTS:
            return _Value((name,), True)
        if step.opname in _OF_CELLS and name in self._cells:
            return _Value((self._cells[name],), name not in self._stored)
        if step.opname in _OF_GLOBALS and (step.opname == "LOAD_GLOBAL" or name not in self._locals):
            builtin = self._globals.get("__builtins__", {})
            place = self._globals if name in self._globals else builtin if isinstance(builtin, dict) else vars(builtin)
            return _Value((place[name],), name not in self._stored) if name in place else _Value()
        is_self = name in ("self", "cls") and self._code.co_argcount > 0 and self._code.co_varnames[0] == name
        return _Value(tuple(self._locals.get(name, ())), is_self=is_self)

    def _imported(self, steps: list[dis.Instruction], at: int) -> _Value:
        level, names = (steps[at - 2].argval, steps[at - 1].argval) if at > 1 else (0, None)
        name = steps[at].argval
        if isinstance(level, int) and level:
            name = importlib.util.resolve_name("." * level + name, self._globals.get("__package__"))
        module = sys.modules.get(name if names else name.partition(".")[0])
        return _Value((module,), True) if module is not None else _Value()

    def _attribute(self, receiver: _Value, steps: list[dis.Instruction], at: int) -> _Value:
        """Notes an attribute that is an input; returns its value."""
        name = steps[at].argval
        is_called = steps[at].opname == "LOAD_METHOD" or steps[at].opname == "LOAD_ATTR" and "NULL|self" in steps[at].argrepr
        values: list[Any] = []
        is_known = False
        for of in receiver.of:
            if isinstance(of, types.ModuleType):
                is_known = True
                if (found := attribute_input(of, name)) is not None:
                    self._input(found, vars(of).get(name), steps, at)
                try:
                    values.append(getattr(of, name))
                except Exception:
                    continue
            elif isinstance(of, type):
                is_known = True
                if name in _CLASS_METHODS and not is_users_object(of) and of.__module__.partition(".")[0] in ("datetime", "pathlib"):
                    self._input(f"{of.__name__}.{name}", None, steps, at)
                elif name in _METHODS | _PATHS_OWN and issubclass(of, PurePath):
                    self._input(f"{of.__name__}.{name}", None, steps, at)
                values += [vars(base)[name] for base in of.__mro__ if name in vars(base)][:1]
            elif isinstance(of, PurePath) and receiver.is_constant and name in _PATHS_OWN and not is_users_object(of) and _is_plain(str(of)):
                is_known = True
                self.reads.files.append(str(of))
            elif of is os.environ or is_users_object(of) and any(name in vars(base) for base in type(of).__mro__):
                is_known = True
        if not is_known and (name in _METHODS or is_called and not receiver.is_self and _CALLED_METHODS.match(name)):
            self._input(name, None, steps, at)
        is_of_modules = all(isinstance(of, types.ModuleType) for of in receiver.of)
        return _Value(tuple(values), receiver.is_constant and is_of_modules and len(values) == 1)

    def _input(self, name: str, of: Any, steps: list[dis.Instruction], at: int) -> None:
        """Notes an input, unless the file or the variable that it reads is known, or it has a variable whose uses are noted."""
        if at + 1 < len(steps) and steps[at + 1].opname in _STORES and input_of(of) is not None:
            return
        if of is os.environ:
            if (variable := self._variable(steps, at)) is not None:
                self.reads.variables.append(variable)
                return
        elif of is os.getenv:
            if isinstance(variable := self._first_argument(steps, at), str):
                self.reads.variables.append(variable)
                return
        elif of is not None and _TAKES_A_FILE.match(name.rpartition(".")[2]):
            path = self._first_argument(steps, at)
            if isinstance(path, PurePath) and not is_users_object(path):
                path = str(path)
            # A name that is no file may be one of something else, except for functions of Python.
            if type(path) is str and _is_plain(path) and (_is_of_python(of) or os.path.isfile(path)):
                self.reads.files.append(path)
                return
            self.reads.unknown.append(f"`{name}` with a file whose name is not constant")
            return
        self.reads.unknown.append(f"`{name}`")

    def _seeded(self, of: Any, steps: list[dis.Instruction], at: int) -> None:
        following = steps[at + 1] if at + 1 < len(steps) else None
        is_without = following is not None and (
            following.opname == "CALL" and following.arg == 0 or following.opname == "LOAD_CONST" and following.argval is None
        )
        if is_without:
            self.reads.unknown.append(f"`{of.__name__}` without a seed")

    def _variable(self, steps: list[dis.Instruction], at: int) -> str | None:
        """Returns the environment variable that `os.environ` is read for: `os.environ["NAME"]` or `os.environ.get("NAME")`."""
        following = steps[at + 1 : at + 3]
        if len(following) < 2:
            return None
        if following[0].opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found = self._first_argument(steps, at + 1) if following[0].argval == "get" else None
            return found if isinstance(found, str) else None
        is_item = following[1].opname == "BINARY_SUBSCR" or following[1].opname == "BINARY_OP" and following[1].argrepr == "[]"
        name = self._constant(following[0]) if is_item else None
        return name if isinstance(name, str) else None

    def _constant(self, step: dis.Instruction) -> Any:
        """Returns the constant value that a step puts on the stack, or None."""
        if step.opname not in _OF_CONSTANTS | _OF_GLOBALS | _OF_CELLS:
            return None
        value = self._loaded(step)
        return value.of[0] if value.is_constant and len(value.of) == 1 else None

    def _first_argument(self, steps: list[dis.Instruction], at: int) -> Any:
        """Returns the first argument, by position, of a call of what the step at `at` puts on the stack, or None if it is not constant. All
        other arguments must be variables, constants or attributes."""
        first, pushed, names = None, 0, 0
        for number, step in enumerate(steps[at + 1 :]):
            if step.opname in ("CALL", "CALL_KW"):
                if step.opname == "CALL_KW":
                    names, pushed = len(steps[at + number].argval or ()), pushed - 1
                return first if step.arg == pushed and pushed - names > 0 else None
            if step.opname == "KW_NAMES":
                names = len(self._code.co_consts[step.arg or 0])
            elif step.opname in _LOADS:
                pushed += 1
                if pushed == 1:
                    first = self._constant(step)
            elif step.opname == "LOAD_ATTR" and "NULL|self" not in step.argrepr:
                if pushed == 1:
                    first = getattr(first, step.argval, None) if isinstance(first, types.ModuleType) else None
            else:
                return None
        return None


def _is_plain(path: str) -> bool:
    """Returns true for a name of a file whose content is its identity: no address, no device."""
    if "://" in path or path.startswith(("/proc/", "/sys/", "/dev/")):
        return False
    return not os.path.exists(path) or os.path.isfile(path)


def is_users_object(of: Any) -> bool:
    """Returns true for a class or a function of a user, or an instance of a user's class."""
    name = getattr(of, "__module__", None) if isinstance(of, type) or _is_function(of) else type(of).__module__
    module = sys.modules.get(name) if isinstance(name, str) else None
    return module is not None and is_users(module)


def _is_callable_of_others(of: Any) -> bool:
    return (isinstance(of, type) or _is_function(of)) and not is_users_object(of)


def _is_of_python(of: Any) -> bool:
    module = sys.modules.get(getattr(of, "__module__", None) or "")
    return module is not None and is_standard(module)


def codes_of(of: types.CodeType) -> Iterator[types.CodeType]:
    """Returns a code object and the ones within it."""
    yield of
    for constant in of.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def _steps(code: types.CodeType) -> Iterator[dis.Instruction]:
    """Returns the instructions of code, without those of no effect, and each pair that newer versions join as two."""
    for step in dis.get_instructions(code):
        if (pair := _PAIRS.fullmatch(step.opname)) is not None:
            for name, variable in zip(pair.groups(), step.argval):
                yield step._replace(opname=name, argval=variable)
        elif step.opname not in _SKIPPED:
            yield step


def reads_of(function: types.FunctionType) -> Reads:
    """Returns the inputs of a function and of the code within it. The modules that it imports must be loaded."""
    return _Function(function).reads


def functions_within(of: Any) -> list[types.FunctionType]:
    """Returns the functions of a class or function and of all that their code names in the same installed package."""
    top = of.__module__.partition(".")[0]
    found: dict[int, types.FunctionType] = {}
    known: set[int] = set()
    waiting = [of]
    while waiting:
        one = waiting.pop()
        one = getattr(one, "__func__", getattr(one, "func", one))
        if id(one) in known or (getattr(one, "__module__", None) or "").partition(".")[0] != top and not isinstance(one, property):
            continue
        known.add(id(one))
        if isinstance(one, property):
            waiting += [one.fget, one.fset, one.fdel]
        elif isinstance(one, type):
            waiting += [value for base in one.__mro__ for value in vars(base).values() if base.__module__.partition(".")[0] == top]
        elif isinstance(one, types.FunctionType):
            found[id(one)] = one
            names = {name for code in codes_of(one.__code__) for name in code.co_names}
            modules = [value for name in names if isinstance(value := one.__globals__.get(name), types.ModuleType)]
            places = [one.__globals__, *(vars(module) for module in modules if module.__name__.partition(".")[0] == top)]
            waiting += [place[name] for place in places for name in names & place.keys()]
            waiting += [cell.cell_contents for cell in one.__closure__ or () if cell != types.CellType()]
    return list(found.values())


def passed_inputs(modules: Mapping[int, types.ModuleType], words: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Returns the inputs among the attributes of modules which any code names, each with the place of that code."""
    for module in sorted(modules.values(), key=lambda of: of.__name__):
        for name in sorted(words.keys() & vars(module).keys()):
            if (found := attribute_input(module, name)) is not None:
                yield found, words[name]
