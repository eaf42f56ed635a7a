"""Checks of arguments, each with an error in Python's words."""

import math
import numbers
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ._errors import ScenarioError


def is_numpy_time(value: Any) -> bool:
    """Returns true for numpy's times: they are integers to Python, in a unit that is lost."""
    return getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M")


def is_number(value: Any) -> bool:
    """Returns true for real numbers, decimal ones too."""
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool) and not is_numpy_time(value)


def plain(value: Any) -> Any:
    """Returns arrays and numbers of numpy, pandas and others as lists and numbers of Python, other values unchanged."""
    convert = getattr(value, "tolist", None)
    return convert() if callable(convert) else value


def integer(name: str, value: Any, least: int, most: int) -> int:
    """Checks an integer; numpy's integers are accepted."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise ScenarioError(f"{name}={value!r}: it is a whole number from {least} to {most}")
    return number


def seconds(name: str, value: Any, *, or_zero: bool = False) -> float:
    """Checks a time in seconds."""
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:
        number = math.nan
    if not (number >= 0 if or_zero else number > 0):
        raise ScenarioError(f"{name}={value!r}: it is a number of seconds{', 0 or more' if or_zero else ' greater than 0'}")
    return number


def path(name: str, value: Any) -> str:
    """Checks the path of a file or a folder."""
    found = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(found, str) or not found:
        raise ScenarioError(f"{name}={value!r}: it is a path")
    return found


def text(name: str, value: Any, what: str = "text") -> str:
    """Checks a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ScenarioError(f"{name}={value!r}: it is a {what}")
    return unicode(value)


def unicode(value: str) -> str:
    """Checks that a text has no halves of characters, which no file and no command can take."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ScenarioError(f"{value!r} is not text: it has a part of a character (a surrogate)") from None
    return value


def items(name: str, value: Any, example: str, *, least: int = 0) -> list[Any]:
    """Checks a list; a text would be one of letters."""
    if isinstance(value, (str, bytes, os.PathLike, Mapping)) or not isinstance(value, Iterable):
        raise ScenarioError(f'{name} is a list, such as ["{example}"], and not {value!r}')
    found = list(value)
    if len(found) < least:
        raise ScenarioError(f'{name} is empty: it is a list, such as ["{example}"]')
    return found


def texts(name: str, value: Any, example: str) -> list[str]:
    """Checks a list of texts."""
    found = items(name, value, example)
    for item in found:
        if not isinstance(item, str):
            raise ScenarioError(f'{name} is a list of texts, such as ["{example}"], and has {item!r}')
        unicode(item)
    return found


def mapping(name: str, value: Any, of: str) -> Mapping[Any, Any]:
    """Checks a dictionary."""
    if not isinstance(value, Mapping):
        raise ScenarioError(f"{name} is a dictionary of {of}, and not {value!r}")
    return value


def function(name: str, value: Any) -> Callable[..., Any]:
    """Checks something that is called."""
    if not callable(value):
        raise ScenarioError(f"{name} is a function, and not {value!r}")
    return value  # type: ignore[no-any-return]


def truth(name: str, value: Any) -> bool:
    """Checks a truth value."""
    if not isinstance(value, bool):
        raise ScenarioError(f"{name}={value!r}: it is True or False")
    return value


def choice(name: str, value: Any, allowed: Mapping[Any, str] | Sequence[Any]) -> Any:
    """Checks a value that is one of several, which may have descriptions."""
    if not any(type(value) is type(one) and value == one for one in allowed):
        words = [f"{one!r} ({allowed[one]})" if isinstance(allowed, Mapping) and allowed[one] else repr(one) for one in allowed]
        raise ScenarioError(f"{name}={value!r}: it is one of {', '.join(words)}")
    return value


ECN = {None: "", "classic": "ECT(0), RFC 3168", "l4s": "ECT(1), RFC 9331"}
"""Values of `ecn` of controllers and environments."""


def option(name: str, value: Any) -> Any:
    """Checks the value of an option of a command."""
    if not (isinstance(value, (str, bool, os.PathLike)) or is_number(value)):
        raise ScenarioError(f"{name}={value!r}: it is a text, a number, a path, True or False")
    return value
