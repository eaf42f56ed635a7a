"""Exceptions and warnings, in Python's terms."""

import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from pathlib import Path

from ._thalweg import Message, MessageKind, nearest


class Error(Exception):
    """Failure reported by the command."""


class ScenarioError(Error, ValueError, TypeError):
    """Invalid argument or scenario."""


class UnknownNameError(ScenarioError, KeyError):
    """Name of something that does not exist: a scheme, a scenario, a key, a column."""

    # That of `KeyError` puts it in quotation marks.
    __str__ = Exception.__str__


class RunError(Error):
    """Failure of a run, a check or a file."""


class TimeLimitError(RunError, TimeoutError):
    """Interruption of a run that took longer than it may."""


class ScenarioWarning(UserWarning):
    """Warning about a scenario that can run, but probably not as intended."""


_PACKAGE = str(Path(__file__).parent)
_NAMES = {"with": "kinds", "experiment": "experiments", "dir": "folder"}
"""Arguments whose names are not those of the command's."""


def in_pythons_words(message: Message) -> str:
    """Returns the text of a command's message with Python's names of arguments and functions."""
    text = "".join(_part(kind, part) for kind, part in message.parts)
    name = _name(message.argument or "")
    suggestions = message.suggestions
    if message.kind == MessageKind.UNKNOWN_OPTION:
        text = f"there is no argument or name `{name}`{f'; {text}' if text else ''}"
        suggestions = [_name(option) for option in suggestions]
    elif message.kind == MessageKind.UNKNOWN_NAME:
        text = f"there is no argument or name `{message.argument}`{f'; {text}' if text else ''}"
    elif message.kind == MessageKind.REPEATED:
        text = f"`{name}` is set by this function or another argument"
    elif message.kind == MessageKind.VALUE:
        allowed = f"it is one of {', '.join(message.allowed)}" if message.allowed else ""
        text = ": ".join(part for part in (f"{name}={_shown(message.value or '')}", allowed, text) if part)
    elif message.kind == MessageKind.ARGUMENT:
        text = f"{name}: {text}"
    suggested = " or ".join(f"`{suggestion}`" for suggestion in suggestions)
    return text + (f"; did you mean {suggested}?" if suggested else "")


def _name(option: str) -> str:
    """Returns the name of the argument for an option."""
    return _NAMES.get(option, option.replace("-", "_"))


def _part(kind: str, text: str) -> str:
    if kind == "option":
        return _name(text)
    if kind == "list":
        # Some lists are functions without arguments here.
        function = getattr(sys.modules["thalweg"], text, None)
        is_list = inspect.isfunction(function) and not inspect.signature(function).parameters
        return f"`thalweg.{text}()`" if is_list else f"`thalweg list {text}`"
    return text


def _shown(value: str) -> str:
    """Returns the text of an argument's value as Python writes it; the command has numbers as texts."""
    try:
        float(value)
    except ValueError:
        return repr(value)
    return value


def error_from_messages(
    code: int, messages: Sequence[Message], cause: BaseException | None = None, shown: Callable[[str], str] = lambda text: text
) -> Error:
    """Returns the exception for a command with this exit code, of which an exception of a controller may be the cause. Issues the
    warnings among its messages. `shown` replaces names that the user has not seen."""
    issue_warnings(messages)
    errors = [message for message in messages if message.severity == "error"]
    # Those of scenarios begin with the word themselves.
    texts = [f"{'error: ' if number and of.kind != MessageKind.SCENARIO else ''}{in_pythons_words(of)}" for number, of in enumerate(errors)]
    text = shown("\n".join(texts))
    if code != 2 or cause is not None:
        return RunError(text)
    return UnknownNameError(text) if errors and all(of.is_unknown_name for of in errors) else ScenarioError(text)


def unknown_name_error(what: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Returns the exception for a name that is none of these."""
    names = list(known)
    meant = nearest(name, names) if isinstance(name, str) else None
    there = f"there are {', '.join(names)}" if names else "there are none"
    return UnknownNameError(f"{what}; {there}{f'; did you mean `{meant}`?' if meant else ''}")


def issue_warnings(messages: Iterable[Message]) -> None:
    """Issues the command's warnings, at the call of this package."""
    warn_of(in_pythons_words(message) for message in messages if message.severity == "warning")


collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)
"""Warnings of a call in another thread, where the frames of its caller are not known."""


def warn_of(texts: Iterable[str]) -> None:
    """Issues warnings at the call of this package."""
    later = collected.get()
    if later is not None:
        later.extend(texts)
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    for text in texts:
        warnings.warn(text, ScenarioWarning, stacklevel=level)
