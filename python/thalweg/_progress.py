"""Shows how far a call is: a bar in notebooks, a line on terminals."""

import html
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Show = Callable[[float | None, str], object]
"""Hears the share that is done, from 0 to 1 or None where nobody knows, and the same in words."""

PATIENCE = 0.5
"""The time in seconds after which something is shown."""
INTERVAL = 0.1
"""The time in seconds from one showing to the next."""

_how: bool | Show = True


def show_progress(how: bool | Show = True) -> None:
    """Calls that take longer than half a second show how far they are: in notebooks as a bar, on a terminal as a line on standard error,
    and elsewhere not at all. False turns that off, True on again. A function is called in its place, several times a second, with
    the share that is done (from 0 to 1; None where nobody knows) and the same in words; an exception that it raises ends the call."""
    global _how
    _how = how


class _Notebook:
    """A bar in the output of a cell."""

    def __init__(self) -> None:
        self._name = uuid.uuid4().hex
        self._is_there = False

    def _put(self, page: str, words: str) -> None:
        import IPython.display

        put: Any = IPython.display.update_display if self._is_there else IPython.display.display
        put({"text/html": page, "text/plain": words}, raw=True, display_id=self._name)
        self._is_there = True

    def show(self, share: float | None, words: str) -> None:
        value = "" if share is None else f' value="{share:.4f}"'
        self._put(f'<progress max="1"{value} style="width:16em"></progress> <small>{html.escape(words)}</small>', words)

    def end(self) -> None:
        if self._is_there:
            self._put("", "")


class _Terminal:
    """A line on standard error."""

    def show(self, share: float | None, words: str) -> None:
        done = "" if share is None else f"{share:4.0%}  "
        print(f"\r{f'{done}{words}'[: shutil.get_terminal_size().columns - 1]}\x1b[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _place() -> _Notebook | _Terminal | None:
    """The place where whoever calls would see something."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _Notebook()
    # Standard error is None in programs without one.
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


def _left(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s left"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min left"
    return f"{whole // 3600}:{whole // 60 % 60:02} h left"


@contextmanager
def shown() -> Iterator[Show | None]:
    """What is to be called while something is under way, if anything; at the end it is gone."""
    if _how is False:
        yield None
        return
    if _how is not True:
        yield _how
        return
    place = _place()
    if place is None:
        yield None
        return
    begun = last = time.monotonic()
    first: tuple[float, float] | None = None
    is_there = False

    def show(share: float | None, words: str) -> None:
        nonlocal last, first, is_there
        now = time.monotonic()
        if now < begun + PATIENCE or is_there and now < last + INTERVAL:
            return
        last, is_there = now, True
        if share is not None:
            # What was there before says nothing of how fast it goes.
            first = first or (now, share)
            if share > first[1] and now > first[0]:
                words += f", {_left((1 - share) * (now - first[0]) / (share - first[1]))}"
        place.show(share, words)

    try:
        yield show
    finally:
        if is_there:
            place.end()
