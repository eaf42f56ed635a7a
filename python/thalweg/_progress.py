"""Progress of calls: a bar in notebooks, a line on terminals."""

import html
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _arguments as arguments

Show = Callable[[float | None, str], object]
"""Receives the completed share, from 0 to 1 or None if unknown, and its description."""

FIRST_DELAY = 0.5
"""Time until progress is first shown, in seconds."""
INTERVAL = 0.1
"""Interval between updates, in seconds."""

_how: bool | Show = True


def show_progress(how: bool | Show = True) -> None:
    """Sets how calls of more than half a second show their progress: by default as a bar in notebooks, as a line on standard error on a
    terminal, and not at all elsewhere. False disables it, True enables it again. A function is called instead, several times a second,
    with the completed share (from 0 to 1; None if unknown) and its description; an exception that it raises ends the call."""
    global _how
    if not isinstance(how, bool):
        arguments.function("how", how)
    _how = how


class _Notebook:
    """Bar in the output of a notebook cell."""

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
    """Line on standard error."""

    def show(self, share: float | None, words: str) -> None:
        done = "" if share is None else f"{share:4.0%}  "
        print(f"\r{f'{done}{words}'[: shutil.get_terminal_size().columns - 1]}\x1b[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _place() -> _Notebook | _Terminal | None:
    """Returns the display visible to the caller, if any."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _Notebook()
    # Programs without standard error have None.
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


def _left(seconds: float) -> str:
    total = round(seconds)
    if total < 60:
        return f"{total} s left"
    if total < 3600:
        return f"{total // 60}:{total % 60:02} min left"
    return f"{total // 3600}:{total // 60 % 60:02} h left"


@contextmanager
def progress_shown() -> Iterator[Show | None]:
    """Yields the function to call during an operation, if any; clears the display at the end."""
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
        if now < begun + FIRST_DELAY or is_there and now < last + INTERVAL:
            return
        last, is_there = now, True
        if share is not None:
            # Saved runs do not count towards the speed.
            first = first or (now, share)
            if share > first[1] and now > first[0]:
                words += f", {_left((1 - share) * (now - first[0]) / (share - first[1]))}"
        place.show(share, words)

    try:
        yield show
    finally:
        if is_there:
            place.end()
