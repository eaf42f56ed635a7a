"""`send`, `recv` and `bench` for asyncio: others go on while bytes move.

>>> received, sent = await asyncio.gather(thalweg.aio.recv("inbox", trust=key), thalweg.aio.send(["data"], "host"))

Whoever cancels a call ends its transfer: it is over when `CancelledError` comes.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from . import Controller, Controllers, _stop, _thalweg
from . import bench as _bench
from . import recv as _recv
from . import send as _send

__all__ = ["bench", "recv", "send"]


async def _awaited(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    stop = _thalweg.Stop()
    before = _stop.set(stop)
    try:
        # The thread has the context of this moment.
        work = asyncio.ensure_future(asyncio.to_thread(call))
        await asyncio.sleep(0)
    finally:
        _stop.reset(before)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        with suppress(Exception):
            await work
        raise


async def send(
    paths: Sequence[str | os.PathLike[str]],
    receiver: str,
    scheme: str | type[Controller] = "cubic",
    *,
    controllers: Controllers | None = None,
    **options: int | str | bool,
) -> dict[str, Any]:
    """Sends files, as `thalweg.send` does."""
    return await _awaited(lambda: _send(paths, receiver, scheme, controllers=controllers, **options))


async def recv(
    folder: str | os.PathLike[str],
    *,
    controllers: Controllers | None = None,
    **options: int | str | bool,
) -> dict[str, Any]:
    """Receives files from one sender, as `thalweg.recv` does."""
    return await _awaited(lambda: _recv(folder, controllers=controllers, **options))


async def bench(
    scheme: str | type[Controller] = "cubic",
    server: str | None = None,
    *,
    controllers: Controllers | None = None,
    **options: int | str | bool,
) -> dict[str, Any]:
    """Measures how fast real sockets are, as `thalweg.bench` does."""
    return await _awaited(lambda: _bench(scheme, server, controllers=controllers, **options))
