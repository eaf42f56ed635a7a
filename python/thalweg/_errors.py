"""What is raised, and what is warned of, in Python's words."""

import re
import warnings
from collections.abc import Iterator


class Error(Exception):
    """What the command says when it fails."""


class ScenarioError(Error, ValueError, TypeError):
    """An argument of a call or the scenario is wrong."""


class RunError(Error):
    """A run, a check or a file failed."""


class ScenarioWarning(UserWarning):
    """A scenario can run, and is probably not meant as it is."""


_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
_GOES_ON = re.compile(r"\s|\d+ \|")
_OF_THE_COMMAND = re.compile(r"(?m)^(?:Usage: .*|For more information, try .*)\n?")


def in_pythons_words(said: str) -> str:
    """The message of the command with the names that arguments have in Python."""
    text = _OF_THE_COMMAND.sub("", said.strip().removeprefix("error: "))
    return _OPTION.sub(lambda found: found[1].replace("-", "_"), text).strip()


def error(code: int, said: str) -> Error:
    """The exception for a command that ended with this code."""
    text = in_pythons_words(said)
    return ScenarioError(text) if code == 2 else RunError(text)


def _warnings(said: str) -> Iterator[str]:
    """The warnings among the messages of the command, each with its lines."""
    found: list[str] = []
    for line in said.splitlines():
        if found and not _GOES_ON.match(line):
            yield "\n".join(found)
            found = []
        if found or line.startswith("warning"):
            found.append(line)
    if found:
        yield "\n".join(found)


def warn(said: str, level: int) -> None:
    """Warns of what the command warns of, at the place of the call that is `level` calls above."""
    for text in _warnings(said):
        # That of a build for tests is no concern of scenarios.
        if not text.startswith("warning: this program was built"):
            warnings.warn(in_pythons_words(text.rstrip()), ScenarioWarning, stacklevel=level + 1)
