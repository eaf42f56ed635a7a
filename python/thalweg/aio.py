"""Long calls as coroutines for asyncio; other tasks run meanwhile.

>>> result = await thalweg.aio.run("dumbbell", seed=7)
>>> received, sent = await asyncio.gather(thalweg.aio.recv("inbox", trust=key), thalweg.aio.send(["data"], "host"))

Cancelling a call ends its runs or its transfer; `CancelledError` is raised afterwards.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from . import Controller, Controllers, Result, SweepResult, _stop, _thalweg
from . import bench as _bench
from . import compare as _compare
from . import recv as _recv
from . import run as _run
from . import send as _send
from . import sweep as _sweep
from ._errors import collected, warn_of
from ._toml import Scenario

__all__ = ["bench", "compare", "recv", "run", "send", "sweep"]

_T = TypeVar("_T")


async def _awaited(call: Callable[[], _T]) -> _T:
    """Runs a call in a thread; stops it if the task is cancelled."""
    stop = _thalweg.Stop()
    found: list[str] = []
    before, outside = _stop.set(stop), collected.set(found)
    try:
        # The task, and with it the thread, gets a copy of the current context.
        work = asyncio.ensure_future(asyncio.to_thread(call))
    finally:
        _stop.reset(before)
        collected.reset(outside)
    try:
        result = await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        # The thread ends soon, and further cancellations change nothing; nobody needs its outcome.
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        if not work.cancelled():
            work.exception()
        raise
    except Exception:
        warn_of(found)
        raise
    warn_of(found)
    return result


async def run(scenario: Scenario, **options: Any) -> Result:
    """Runs a scenario, as `thalweg.run` does, with its arguments."""
    return await _awaited(lambda: _run(scenario, **options))


async def compare(scenario: Scenario, schemes: Iterable[str | type[Controller]], **options: Any) -> Result:
    """Runs a scenario with each of several schemes, as `thalweg.compare` does, with its arguments."""
    return await _awaited(lambda: _compare(scenario, schemes, **options))


async def sweep(file: Scenario, out: str | os.PathLike[str] | None = None, **options: Any) -> SweepResult:
    """Runs a sweep, as `thalweg.sweep` does, with its arguments."""
    return await _awaited(lambda: _sweep(file, out, **options))


async def send(
    paths: Sequence[str | os.PathLike[str]],
    receiver: str,
    scheme: str | type[Controller] | None = None,
    *,
    controllers: Controllers | None = None,
    **options: int | float | str | bool,
) -> dict[str, Any]:
    """Sends files, as `thalweg.send` does."""
    return await _awaited(lambda: _send(paths, receiver, scheme, controllers=controllers, **options))


async def recv(
    folder: str | os.PathLike[str],
    *,
    controllers: Controllers | None = None,
    **options: int | float | str | bool,
) -> dict[str, Any]:
    """Receives files from one sender, as `thalweg.recv` does."""
    return await _awaited(lambda: _recv(folder, controllers=controllers, **options))


async def bench(
    scheme: str | type[Controller] | None = None,
    server: str | None = None,
    *,
    controllers: Controllers | None = None,
    **options: int | float | str | bool,
) -> dict[str, Any]:
    """Measures how fast real sockets are, as `thalweg.bench` does."""
    return await _awaited(lambda: _bench(scheme, server, controllers=controllers, **options))
