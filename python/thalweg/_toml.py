"""Scenarios and sweeps built of dictionaries, as TOML."""

import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from . import _arguments as arguments
from ._errors import ScenarioError

Value: TypeAlias = "str | int | float | bool | Mapping[str, Any] | Sequence[Any]"


class Loaded(NamedTuple):
    """A scenario of which at least a dictionary's content, or a file's place, is fixed."""

    name: str
    """The file, the built-in scenario or, with a text, the name in messages."""
    text: str | None
    folder: Path
    """Folder from which relative names of files are found."""


Scenario: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Loaded"

_BASES = {"s": Decimal("1e-12"), "B": Decimal(1), "bit/s": Decimal(1)}
"""Resolutions of quantities, in the units of plain numbers."""

_UNITS = {
    "s": ("d", "h", "min", "s", "ms", "us", "µs", "ns", "ps"),
    "B": ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"),
    "bit/s": ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "B/s", "kB/s", "MB/s", "GB/s"),
}
"""Units of texts, by the unit of plain numbers beside them."""

_QUANTITIES = frozenset({"delay", "duration", "jitter", "overhead", "rate", "spread", "stagger", "start", "warmup"})
"""Keys whose plain numbers are seconds or bit/s, whatever texts are beside them; others refuse numbers or take several kinds."""

_QUANTITY = re.compile(r"\s*[0-9.][0-9._]*(?:[eE][-+]?[0-9]+)?\s*(\S+)\s*")

FILE_KEYS = frozenset({"file", "include", "matrix", "network", "trace"})
"""Keys of scenarios that take names of files."""


def toml_key(name: object) -> str:
    """Formats a key, quoted if necessary."""
    if not isinstance(name, str):
        raise ScenarioError(f"a key is a text, not {name!r}")
    arguments.unicode(name)
    plain = name and all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
    return name if plain else json.dumps(name, ensure_ascii=False)


def toml_value(of: object) -> str:
    """Formats a value on one line."""
    if isinstance(of, bool):
        return "true" if of else "false"
    if isinstance(of, str):
        # TOML has the escapes of JSON, and escapes the delete character too.
        return json.dumps(arguments.unicode(of), ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(of, Mapping):
        return "{ " + ", ".join(f"{toml_key(name)} = {toml_value(item)}" for name, item in of.items()) + " }"
    if isinstance(of, Sequence) and not isinstance(of, (bytes, bytearray)):
        return "[" + ", ".join(toml_value(item) for item in of) + "]"
    if isinstance(of, os.PathLike):
        return toml_value(os.fspath(of))
    if isinstance(of, int):
        return str(int(of))
    if isinstance(of, (float, Decimal)) and math.isfinite(of):
        return repr(float(of))
    plain = of if arguments.is_numpy_time(of) else arguments.plain(of)
    if plain is not of:
        return toml_value(plain)
    words = f"{of!r} is not a value of a scenario: use texts with units, numbers, true and false, lists, arrays and dictionaries"
    raise ScenarioError(words)


def toml_document(of: Mapping[str, Any]) -> str:
    """Formats a file: one line for each key of the outermost dictionary."""
    return "".join(f"{toml_key(name)} = {toml_value(item)}\n" for name, item in of.items())


def toml_changes(sets: Mapping[str, Any] | Sequence[str] | None) -> list[str]:
    """Formats changes of a scenario, as for `--set`."""
    if sets is None:
        return []
    if isinstance(sets, Mapping):
        return [f"{arguments.unicode(name) if isinstance(name, str) else name}={toml_value(item)}" for name, item in sets.items()]
    found = list(sets) if isinstance(sets, Iterable) and not isinstance(sets, (str, bytes)) else [None]
    if not all(isinstance(of, str) for of in found):
        raise ScenarioError("set is a dictionary, or a list of texts such as \"duration=5 s\"")
    return [arguments.unicode(str(of)) for of in found]


def number(of: object) -> Decimal:
    """Returns a real number, as short as it is written."""
    try:
        return Decimal(str(of))
    except ArithmeticError:
        # A fraction.
        return Decimal(repr(float(of)))  # type: ignore[arg-type]


def with_unit(of: object, unit: str) -> str:
    """Formats a plain number with its unit, rounding digits beyond its resolution that come from computation, as in scenarios."""
    exact = number(of)
    base = _BASES[unit]
    if not exact.is_finite():
        return f"{of} {unit}"
    is_finer = exact.adjusted() < 15 and exact % base != 0
    return f"{exact.quantize(base).normalize():f} {unit}" if is_finer else f"{exact} {unit}"


def with_units_of_texts(name: object, axis: Any) -> Any:
    """Returns the values of an axis; numbers beside texts that all have a unit get the unit of plain numbers."""
    if not isinstance(name, str) or name.rpartition(".")[2] not in _QUANTITIES:
        return axis
    listed = arguments.plain(axis)
    if not isinstance(listed, (list, tuple)):
        return axis
    found = {match[1] if (match := _QUANTITY.fullmatch(of)) else "" for of in listed if isinstance(of, str)}
    unit = next((unit for unit, names in _UNITS.items() if found and found.issubset(names)), None)
    if unit is None:
        return axis
    return [with_unit(of, unit) if isinstance(of, (int, float, Decimal)) and not isinstance(of, bool) and of == of else of for of in listed]


def absolute(of: Any, folder: Path, is_file: bool = False) -> Any:
    """Returns a scenario with absolute paths of existing files, where its keys take files."""
    if isinstance(of, Mapping):
        return {name: absolute(item, folder, isinstance(name, str) and name.rpartition(".")[2] in FILE_KEYS) for name, item in of.items()}
    if isinstance(of, (list, tuple)):
        return [absolute(item, folder, is_file) for item in of]
    if is_file and isinstance(of, (str, os.PathLike)) and os.path.isfile(folder / of):
        return str(folder / of)
    return of


def absolute_changes(changes: Iterable[str], folder: Path) -> list[str]:
    """Returns changes of a scenario, of the form `KEY=VALUE`, with absolute paths of existing files."""
    return [_absolute_change(change, folder) if any(key in change for key in FILE_KEYS) else change for change in changes]


def _absolute_change(change: str, folder: Path) -> str:
    name, _, text = change.partition("=")
    try:
        given: Any = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        # Texts need no quotation marks.
        given = text.strip()
    key = name.strip()
    found = absolute({key: given}, folder)[key]
    return change if found == given else f"{name}={toml_value(found)}"


def texts(of: Any) -> Iterator[str]:
    """Iterates over the texts in keys, and over those of changes among them."""
    listed = arguments.plain(of)
    if isinstance(listed, Mapping):
        for item in listed.values():
            yield from texts(item)
    elif isinstance(listed, (list, tuple)):
        for item in listed:
            yield from texts(item)
    elif isinstance(listed, (str, os.PathLike)):
        text = os.fspath(listed)
        yield text
        # A change of the form `KEY=VALUE`.
        yield text.partition("=")[2].strip().strip("\"'")


def named(scenario: object) -> str:
    """Returns the name of a scenario that is a file or built in."""
    if not isinstance(scenario, (str, os.PathLike)):
        raise ScenarioError(f"a scenario is a file, the name of a built-in one, or a dictionary, and not of type {type(scenario).__name__}")
    name = os.fspath(scenario)
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return arguments.unicode(name)
    return name


def loaded(scenario: Scenario) -> Loaded:
    """Returns a scenario that stays the same if its dictionary, the working directory or, unless it names other files, its file changes."""
    if isinstance(scenario, Loaded):
        return scenario
    here = Path.cwd()
    if isinstance(scenario, Mapping):
        return Loaded("scenario", toml_document(absolute(scenario, here)), here)
    name = named(scenario)
    if not os.path.isfile(name):
        return Loaded(name, None, here)
    path = here / name
    kept = Loaded(str(path), None, path.parent)
    try:
        text = path.read_text(encoding="utf-8")
        parsed = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        # Reading it again reports what is wrong.
        return kept
    # Names in a text would be found from the working directory.
    names_files = "include" in parsed or any(of and (os.path.isfile(path.parent / of) or os.path.isfile(of)) for of in texts(parsed))
    return kept if names_files else Loaded(name, text, path.parent)
