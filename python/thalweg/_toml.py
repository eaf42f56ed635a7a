"""Scenarios and sweeps built of dictionaries, as TOML."""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ._errors import ScenarioError

Value: TypeAlias = "str | int | float | bool | Mapping[str, Any] | Sequence[Any]"
Scenario: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"


def toml_key(name: object) -> str:
    """Formats a key, quoted if necessary."""
    if not isinstance(name, str):
        raise ScenarioError(f"a key is a text, not {name!r}")
    plain = name and all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
    return name if plain else json.dumps(name, ensure_ascii=False)


def toml_value(of: object) -> str:
    """Formats a value on one line."""
    if isinstance(of, bool):
        return "true" if of else "false"
    if isinstance(of, str):
        # TOML has the escapes of JSON, and escapes the delete character too.
        return json.dumps(of, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(of, Mapping):
        return "{ " + ", ".join(f"{toml_key(name)} = {toml_value(item)}" for name, item in of.items()) + " }"
    if isinstance(of, Sequence) and not isinstance(of, (bytes, bytearray)):
        return "[" + ", ".join(toml_value(item) for item in of) + "]"
    if isinstance(of, os.PathLike):
        return toml_value(os.fspath(of))
    if isinstance(of, int):
        return str(int(of))
    if isinstance(of, float) and math.isfinite(of):
        return repr(float(of))
    # Values of numpy, pandas and others are a list or a number now.
    plain = getattr(of, "tolist", None)
    if callable(plain):
        return toml_value(plain())
    words = f"{of!r} is no value of a scenario: it takes texts with units, numbers, true and false, lists, arrays and dictionaries"
    raise ScenarioError(words)


def toml_document(of: Mapping[str, Any]) -> str:
    """Formats a file: one line for each key of the outermost dictionary."""
    return "".join(f"{toml_key(name)} = {toml_value(item)}\n" for name, item in of.items())


def toml_changes(sets: Mapping[str, Any] | Sequence[str] | None) -> list[str]:
    """Formats changes of a scenario, as for `--set`."""
    if sets is None:
        return []
    if isinstance(sets, Mapping):
        return [f"{name}={toml_value(item)}" for name, item in sets.items()]
    found = list(sets) if isinstance(sets, Iterable) and not isinstance(sets, (str, bytes)) else [None]
    if not all(isinstance(of, str) for of in found):
        raise ScenarioError("set is a dictionary, or a list of texts such as \"duration=5 s\"")
    return [str(of) for of in found]
