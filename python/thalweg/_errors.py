"""Exceptions and warnings, in Python's terms."""

import re
import warnings
from collections.abc import Iterator


class Error(Exception):
    """Failure reported by the command."""


class ScenarioError(Error, ValueError, TypeError):
    """Invalid argument or scenario."""


class RunError(Error):
    """Failure of a run, a check or a file."""


class ScenarioWarning(UserWarning):
    """Warning about a scenario that can run, but probably not as intended."""


_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
_LIST = re.compile(r"`thalweg list (metrics|scenarios|schemes)`")
_GOES_ON = re.compile(r"\s|\d+ \|")
_OF_THE_COMMAND = re.compile(r"(?m)^(?:Usage: .*|For more information, try .*)\n?")


def in_pythons_words(messages: str) -> str:
    """Returns the command's message with Python's names of arguments and functions."""
    text = _OF_THE_COMMAND.sub("", messages.strip().removeprefix("error: "))
    text = _LIST.sub(r"`thalweg.\1()`", text)
    return _OPTION.sub(lambda found: found[1].replace("-", "_"), text).strip()


def error(code: int, messages: str) -> Error:
    """Returns the exception for a command with this exit code."""
    text = in_pythons_words(messages)
    return ScenarioError(text) if code == 2 else RunError(text)


def _warnings(messages: str) -> Iterator[str]:
    """Yields the warnings among the command's messages, each with all of its lines."""
    found: list[str] = []
    for line in messages.splitlines():
        if found and not _GOES_ON.match(line):
            yield "\n".join(found)
            found = []
        if found or line.startswith("warning"):
            found.append(line)
    if found:
        yield "\n".join(found)


def warn(messages: str, level: int) -> None:
    """Issues the command's warnings, at the call `level` frames up."""
    for text in _warnings(messages):
        # The warning of a debug build does not concern scenarios.
        if not text.startswith("warning: this program was built"):
            warnings.warn(in_pythons_words(text.rstrip()), ScenarioWarning, stacklevel=level + 1)
