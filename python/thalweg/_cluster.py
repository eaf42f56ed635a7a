"""Sweeps whose runs are made by the workers of a Dask scheduler.

`python -m thalweg._cluster ADDRESS` is the process that `thalweg sweep --cluster ADDRESS` starts. The lines that it reads and writes are
described in `crates/thalweg-sweep/src/engine.rs`.
"""

import importlib
import json
import logging
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from . import _thalweg

_Controllers = Sequence[tuple[str, Callable[[], _thalweg.Controller]]]

NEEDED = "Dask is not installed in this Python: `pip install 'thalweg[cluster]'`"
"""What is said where there is no Dask."""

PATIENCE = 15.0
"""The time in seconds that a scheduler has to answer."""

FILE_PATIENCE = 120.0
"""The time in seconds that a scheduler which has just been started has to write its file."""

LOOK = 1.0
"""The time in seconds between two looks at the workers."""


class OtherBuildError(Exception):
    """A worker has another build of thalweg than the program that asks."""


class GoneError(Exception):
    """The cluster cannot go on."""


def work(batch: bytes, build: str, controllers: bytes) -> tuple[float, bytes, bytes]:
    """Makes the runs of a batch, on a worker: the seconds that it took, what goes back, and the exception of a controller, pickled."""
    if build != _thalweg.build:
        raise OtherBuildError
    from distributed import get_worker

    begun = time.perf_counter()
    own: _Controllers = pickle.loads(controllers) if controllers else []
    answer, cause = _thalweg.work(batch, own, get_worker().state.nthreads)
    return time.perf_counter() - begun, answer, b"" if cause is None else _carried(cause)


def _carried(cause: BaseException) -> bytes:
    """An exception as bytes, with its traceback as a note, as that is left behind."""
    told = "".join(traceback.format_exception(cause))
    note = f"On a worker of the cluster:\n{told}"
    try:
        cause.add_note(note)
        pickled = pickle.dumps(cause)
        pickle.loads(pickled)
    except Exception:
        other = RuntimeError(f"{type(cause).__name__}: {cause}")
        other.add_note(note)
        pickled = pickle.dumps(other)
    return pickled


# A worker that has no thalweg, or an older one, can say so, as it needs nothing of it.
_ASK = "(lambda package: (package.version, getattr(package, 'build', '')))(__import__('thalweg._thalweg')._thalweg)"


class WorkerPool:
    """The workers of a scheduler, for one sweep."""

    def __init__(self, client: Any, write: BinaryIO, version: str, build: str, controllers: bytes) -> None:
        self._client = client
        self._write = write
        self._version, self._build = version, build
        self._controllers = controllers
        self._writing = threading.Lock()
        self._looking = threading.Lock()
        self._fits: dict[str, bool] = {}
        self._slots: int | None = None
        self._is_over = threading.Event()
        self._batches: dict[int, Any] = {}
        self.cause: BaseException | None = None
        """The first exception of a controller that arrived."""

    def _tell(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        # Who asked may have gone.
        with self._writing, suppress(OSError, ValueError):
            self._write.write(json.dumps({**head, "bytes": len(body)}).encode() + b"\n" + body)
            self._write.flush()

    def serve(self, read: BinaryIO) -> None:
        """Hands out what comes, until nothing more does."""
        watch = threading.Thread(target=self._watch, daemon=True)
        watch.start()
        try:
            while line := read.readline():
                head = json.loads(line)
                self._submit(head["batch"], read.read(head["bytes"]))
        finally:
            self._is_over.set()
            futures = list(self._batches.values())
            self._batches.clear()
            with suppress(Exception):
                self._client.cancel(futures)

    def _submit(self, number: int, body: bytes) -> None:
        refused = self._refused()
        only = {"workers": [address for address, fits in self._fits.items() if fits]} if refused else {}
        future = self._client.submit(work, body, self._build, self._controllers, pure=False, **only)
        self._batches[number] = future
        future.add_done_callback(lambda future: self._done(number, body, refused, future))

    def _done(self, number: int, body: bytes, refused: Sequence[str], future: Any) -> None:
        """What came of a batch; called on a thread of the client's."""
        if self._is_over.is_set():
            return
        try:
            seconds, answer, cause = future.result()
        except Exception as error:
            self._failed(number, body, refused, error)
        else:
            self._batches.pop(number, None)
            if cause and self.cause is None:
                self.cause = _arrived(cause)
            self._tell({"batch": number, "seconds": seconds}, answer)

    def _failed(self, number: int, body: bytes, refused: Sequence[str], error: Exception) -> None:
        name = type(error).__name__
        if "Cancelled" in name or self._client.status != "running":
            self._lose(f"the scheduler at {_place(self._client)} is gone")
        elif name == "KilledWorker":
            words = "the workers that made it ended without a word, each time: perhaps they have too little memory"
            self._tell({"batch": number, "failed": words})
        else:
            # A worker that is new may be the reason.
            self._look(again=True)
            if self._refused() == refused and not isinstance(error, OtherBuildError):
                self._tell({"batch": number, "failed": f"a worker failed: {name}: {error}"})
            elif not self._is_over.is_set():
                self._submit(number, body)

    def _refused(self) -> list[str]:
        return [address for address, fits in self._fits.items() if not fits]

    def _lose(self, why: str) -> None:
        self._is_over.set()
        self._tell({"lost": why})

    def _watch(self) -> None:
        waits = False
        while not self._is_over.is_set():
            try:
                self._look()
            except Exception as error:
                if not self._is_over.is_set():
                    self._lose(f"the scheduler at {_place(self._client)} is gone: {type(error).__name__}: {error}")
                return
            if self._slots == 0 and not waits and not self._is_over.is_set():
                waits = True
                self._tell({"note": f"the scheduler at {_place(self._client)} has no workers yet: waiting for them"})
            self._is_over.wait(LOOK)

    def _look(self, again: bool = False) -> None:
        """Finds out which workers there are, and refuses those of another build."""
        with self._looking:
            threads: dict[str, int] = self._client.nthreads()
            for gone in set(self._fits) - set(threads):
                del self._fits[gone]
            asked = [address for address in threads if again or address not in self._fits]
            if asked:
                self._ask(asked)
            slots = sum(count for address, count in threads.items() if self._fits.get(address))
            if slots != self._slots:
                self._slots = slots
                self._tell({"slots": slots})
            if threads and not any(self._fits.values()):
                self._lose(
                    f"no worker of {_place(self._client)} has this build of thalweg: install the same one "
                    f"({self._version}, build {self._build[:8]}) where they run"
                )

    def _ask(self, asked: Sequence[str]) -> None:
        answers = self._client.run(eval, _ASK, workers=list(asked), on_error="return")
        for address, answer in answers.items():
            if isinstance(answer, OSError):
                # It is gone, or will be asked again.
                continue
            is_known = address in self._fits
            self._fits[address] = isinstance(answer, tuple) and answer[1] == self._build
            if self._fits[address] or is_known:
                continue
            if isinstance(answer, tuple):
                has = f"thalweg {answer[0]}, build {answer[1][:8] or 'unknown'}"
            else:
                has = f"no thalweg ({type(answer).__name__}: {answer})"
            self._tell(
                {"note": f"the worker {address} is refused: it has {has}; this is {self._version}, build {self._build[:8]}"}
            )


def _arrived(cause: bytes) -> BaseException | None:
    """The exception of a worker; one of a class that this process has not is told in words."""
    try:
        error: BaseException = pickle.loads(cause)
    except Exception as why:
        error = RuntimeError(f"a controller raised an exception on a worker, which cannot be read here: {why}")
    return error


def _place(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", "the cluster"))


@contextmanager
def connected(cluster: Any, note: Callable[[str], None]) -> Iterator[Any]:
    """A client of a cluster: an address, the file of a scheduler, a client, or one of Dask's clusters."""
    named: dict[str, Any] = {"address": cluster}
    if isinstance(cluster, (str, os.PathLike)):
        name = os.fspath(cluster)
        if Path(name).is_file() or name.endswith(".json"):
            _knock(_told(Path(name), note))
            named = {"scheduler_file": name}
        else:
            named["address"] = _knock(name)
    try:
        from distributed import Client
    except ImportError as error:
        raise GoneError(f"{NEEDED} ({error})") from error
    if isinstance(cluster, Client):
        yield cluster
        return
    try:
        client = Client(**named, timeout=PATIENCE, set_as_default=False, name="thalweg-sweep")
    except (OSError, ValueError, TypeError) as error:
        raise GoneError(f"no Dask scheduler answers at `{cluster}`: {error}") from error
    with client:
        yield client


def _told(file: Path, note: Callable[[str], None]) -> str:
    """The address in a scheduler's file, which a scheduler that was started at the same time writes a moment later, and not at once."""
    begun = time.monotonic()
    waits = False
    while True:
        try:
            told = json.loads(file.read_text(encoding="utf-8"))["address"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            is_there = file.is_file()
            if file.suffix != ".json" or time.monotonic() - begun > (LOOK if is_there else FILE_PATIENCE):
                if not is_there:
                    raise GoneError(f"no scheduler has written `{file}` in {FILE_PATIENCE:.0f} s: is it up, and does this host see the file?") from error
                raise GoneError(f"`{file}` is no scheduler's file: {type(error).__name__}: {error}") from error
            if not is_there and not waits:
                waits = True
                note(f"waiting for `{file}`, which a scheduler writes when it begins")
            time.sleep(0.05)
        else:
            return str(told)


def _knock(address: str) -> str:
    """An address with its scheme, once somebody listens there: where nobody does Dask would try for long."""
    whole = address if "://" in address else f"tcp://{address}"
    parts = urlsplit(whole)
    if parts.scheme not in ("tcp", "tls"):
        return whole
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise GoneError(f"`{address}` is no address of a scheduler: it has the form tcp://HOST:PORT, or is a scheduler's file")
    try:
        socket.create_connection((host, port), timeout=PATIENCE).close()
    except OSError as error:
        raise GoneError(
            f"no Dask scheduler answers at {whole}: {error.strerror or error}; `dask scheduler` starts one, and tells its address"
        ) from error
    return whole


def serve(read: BinaryIO, write: BinaryIO, cluster: Any, controllers: bytes = b"") -> BaseException | None:
    """Is the engine of a sweep, which asks on one stream and is answered on the other; gives the first exception of a controller."""
    try:
        hello = json.loads(read.readline() or b"{}")
        if hello.get("hello") != "thalweg-sweep":
            raise GoneError("this is no sweep")

        def note(text: str) -> None:
            write.write(json.dumps({"note": text}).encode() + b"\n")
            write.flush()

        with connected(cluster, note) as client:
            crew = WorkerPool(client, write, hello["version"], hello["build"], controllers)
            crew.serve(read)
            return crew.cause
    except GoneError as error:
        with suppress(OSError, ValueError):
            write.write(json.dumps({"lost": str(error)}).encode() + b"\n")
            write.flush()
    return None


@contextmanager
def served(
    cluster: Any, controllers: _Controllers, modules: Collection[ModuleType], place: Path
) -> Iterator[tuple[str, list[BaseException]]]:
    """An engine of this process: its address, whose socket is in the folder, and what controllers will have raised. `modules` are those
    that workers need not have."""
    pickled = _pickled(controllers, modules) if controllers else b""
    causes: list[BaseException] = []
    path = place / "engine"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)

        def wait() -> None:
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            with stream, stream.makefile("rb") as read, stream.makefile("wb") as write:
                cause = serve(read, write, cluster, pickled)
                if cause is not None:
                    causes.append(cause)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        try:
            yield f"unix:{path}", causes
        finally:
            # Where the sweep ended before it asked.
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=PATIENCE)


def _pickled(controllers: _Controllers, modules: Collection[ModuleType]) -> bytes:
    """Controllers as bytes, with what they have of these modules."""
    try:
        import cloudpickle
    except ImportError as error:
        raise GoneError(f"{NEEDED} ({error})") from error
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        pickled: bytes = cloudpickle.dumps(list(controllers))
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return pickled


def main() -> None:
    """The process that the command starts."""
    # Ctrl-C ends the command, and with it this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    # What anything else prints is none of the command's lines.
    write = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, write, sys.argv[1])
    # Threads of a client whose scheduler is gone would be waited for.
    os._exit(0)


if __name__ == "__main__":
    # Workers know the module by its name.
    importlib.import_module("thalweg._cluster").main()
