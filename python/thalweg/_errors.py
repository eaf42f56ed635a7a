"""Exceptions and warnings, in Python's terms."""

import re
import sys
import warnings
from pathlib import Path


class Error(Exception):
    """Failure reported by the command."""


class ScenarioError(Error, ValueError, TypeError):
    """Invalid argument or scenario."""


class UnknownNameError(ScenarioError, KeyError):
    """Name that a table, a result or a catalog has not."""

    # That of `KeyError` puts it in quotation marks.
    __str__ = Exception.__str__


class RunError(Error):
    """Failure of a run, a check or a file."""


class ScenarioWarning(UserWarning):
    """Warning about a scenario that can run, but probably not as intended."""


_PACKAGE = str(Path(__file__).parent)
_NAMES = {"with": "kinds", "experiment": "experiments"}
"""Arguments whose names are not those of the command's options."""
_QUOTED = re.compile(r"'--([a-z][a-z0-9-]*)(?:[ =][^']*)?'")
_INVALID = re.compile(r"invalid value '(?P<value>.*?)' for '(?:--(?P<option>[a-z0-9-]+)|[<\[](?P<place>[\w-]+))[^']*'(?:: (?P<why>[^\n]*))?")
_POSSIBLE = re.compile(r"\s*\[possible values: ([^\]]*)\]")
_UNKNOWN = re.compile(r"(?:unexpected argument|unrecognized subcommand) '(?:--)?(?P<name>[^']*)'(?: found)?")
_TWICE = re.compile(r"the argument `([^`]*)` cannot be used multiple times")
_TIP = re.compile(r"\s*tip: (?:a similar|some similar) (?:\w+) exists?: ([^\n]*)")
_OTHER_TIP = re.compile(r"\s*tip: to pass [^\n]*|; `--list` shows them|; --unpack writes their files, to be changed")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
_LIST = re.compile(r"`thalweg list (metrics|scenarios|schemes)`")
_GOES_ON = re.compile(r"\s|\d+ \|")
_OF_THE_COMMAND = re.compile(r"(?m)^(?:Usage: .*|For more information, try .*)\n?")


def in_pythons_words(messages: str) -> str:
    """Returns the command's message with Python's names of arguments and functions."""
    text = _OF_THE_COMMAND.sub("", messages.strip().removeprefix("error: "))
    text = _LIST.sub(r"`thalweg.\1()`", text)
    text = _OTHER_TIP.sub("", text)
    text = _TIP.sub(lambda found: "; did you mean " + re.sub(r"'(?:--)?([^']*)'", r"`\1`", found[1]) + "?", text)
    text = _POSSIBLE.sub(r": it is one of \1", text)
    text = _INVALID.sub(_invalid, text)
    text = _UNKNOWN.sub(lambda found: f"there is no argument or name `{_name(found['name'])}`", text)
    text = _QUOTED.sub(lambda found: f"`{_name(found[1])}`", text)
    text = _TWICE.sub(r"`\1` is set by this function or another argument", text)
    return _OPTION.sub(lambda found: _name(found[1]), text).strip()


def _name(option: str) -> str:
    """Returns the name of the argument for an option."""
    return _NAMES.get(option, option.replace("-", "_"))


def _invalid(found: re.Match[str]) -> str:
    value, why = found["value"], found["why"]
    shown = value if re.fullmatch(r"[-+]?[0-9.]+", value) else repr(value)
    return f"{_name(found['option'] or found['place'].lower())}={shown}{f': {why}' if why else ''}"


def error(code: int, messages: str, cause: BaseException | None = None) -> Error:
    """Returns the exception for a command with this exit code, of which an exception of a controller may be the cause. Issues the
    warnings among its messages."""
    warn(messages)
    text = in_pythons_words(_apart(messages)[1])
    return ScenarioError(text) if code == 2 and cause is None else RunError(text)


def _apart(messages: str) -> tuple[list[str], str]:
    """Returns the warnings among the command's messages, each with all of its lines, and the messages without warnings and notes."""
    blocks: list[list[str]] = []
    rest: list[str] = []
    is_aside = False
    for line in messages.splitlines():
        if line.startswith(("warning", "note:")):
            is_aside = True
            blocks.append([line])
        elif is_aside and _GOES_ON.match(line):
            blocks[-1].append(line)
        else:
            is_aside = False
            rest.append(line)
    return ["\n".join(block) for block in blocks if block[0].startswith("warning")], "\n".join(rest)


def warn(messages: str) -> None:
    """Issues the command's warnings, at the call of this package."""
    found = _apart(messages)[0]
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    for text in found:
        # The warning of a debug build does not concern scenarios.
        if not text.startswith("warning: this program was built"):
            warnings.warn(in_pythons_words(text.rstrip()), ScenarioWarning, stacklevel=level)
