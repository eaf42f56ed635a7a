"""Sweeps executed by the workers of a Dask scheduler.

`python -m thalweg._cluster ADDRESS` is the process that `thalweg sweep --cluster ADDRESS` starts. The lines that it reads and writes are
described in `crates/thalweg-sweep/src/remote_client.rs`.
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

NEEDED = "Dask is not installed in this Python: `pip install 'distributed>=2026.3'`, or `pip install '.[cluster]'` in the repository"
"""Message if Dask is missing."""

CONNECT_TIMEOUT = 15.0
"""Timeout for a scheduler to answer, in seconds."""

FILE_TIMEOUT = 120.0
"""Timeout for a newly started scheduler to write its file, in seconds."""

POLL_INTERVAL = 1.0
"""Polling interval for the workers, in seconds."""


class OtherBuildError(Exception):
    """A worker has another build of thalweg than the program that sends the batch."""


class GoneError(Exception):
    """The cluster cannot continue."""


def run_batch(batch: bytes, build: str, controllers: bytes) -> tuple[float, bytes, bytes]:
    """Executes a batch of runs, on a worker; returns the duration in seconds, the results, and the pickled exception of a controller."""
    if build != _thalweg.build:
        raise OtherBuildError
    from distributed import get_worker

    begun = time.perf_counter()
    factories: _Controllers = pickle.loads(controllers) if controllers else []
    answer, cause = _thalweg.work(batch, factories, get_worker().state.nthreads)
    return time.perf_counter() - begun, answer, b"" if cause is None else _carried(cause)


def _carried(cause: BaseException) -> bytes:
    """Pickles an exception, with its traceback as a note, as pickling drops it."""
    content = "".join(traceback.format_exception(cause))
    note = f"On a worker of the cluster:\n{content}"
    try:
        cause.add_note(note)
        pickled = pickle.dumps(cause)
        pickle.loads(pickled)
    except Exception:
        other = RuntimeError(f"{type(cause).__name__}: {cause}")
        other.add_note(note)
        pickled = pickle.dumps(other)
    return pickled


# Needs no thalweg on the worker, so it works without one, and with an older one.
_VERSION_QUERY = "(lambda package: (package.version, getattr(package, 'build', '')))(__import__('thalweg._thalweg')._thalweg)"


class WorkerPool:
    """Workers of a scheduler, for one sweep."""

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
        """First exception of a controller that arrived."""

    def _send(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        # The sweep may have ended.
        with self._writing, suppress(OSError, ValueError):
            self._write.write(json.dumps({**head, "bytes": len(body)}).encode() + b"\n" + body)
            self._write.flush()

    def serve(self, read: BinaryIO) -> None:
        """Distributes batches until the end of the stream."""
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
        future = self._client.submit(run_batch, body, self._build, self._controllers, pure=False, **only)
        self._batches[number] = future
        future.add_done_callback(lambda future: self._done(number, body, refused, future))

    def _done(self, number: int, body: bytes, refused: Sequence[str], future: Any) -> None:
        """Handles the result of a batch; called on a thread of the client."""
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
            self._send({"batch": number, "seconds": seconds}, answer)

    def _failed(self, number: int, body: bytes, refused: Sequence[str], error: Exception) -> None:
        name = type(error).__name__
        if "Cancelled" in name or self._client.status != "running":
            self._lose(f"the scheduler at {_place(self._client)} is gone")
        elif name == "KilledWorker":
            words = "the workers that made it ended without a message, each time: possibly too little memory"
            self._send({"batch": number, "failed": words})
        else:
            # A new worker may be the cause.
            self._update_workers(again=True)
            if self._refused() == refused and not isinstance(error, OtherBuildError):
                self._send({"batch": number, "failed": f"a worker failed: {name}: {error}"})
            elif not self._is_over.is_set():
                self._submit(number, body)

    def _refused(self) -> list[str]:
        return [address for address, fits in self._fits.items() if not fits]

    def _lose(self, why: str) -> None:
        self._is_over.set()
        self._send({"lost": why})

    def _watch(self) -> None:
        waits = False
        while not self._is_over.is_set():
            try:
                self._update_workers()
            except Exception as error:
                if not self._is_over.is_set():
                    self._lose(f"the scheduler at {_place(self._client)} is gone: {type(error).__name__}: {error}")
                return
            if self._slots == 0 and not waits and not self._is_over.is_set():
                waits = True
                self._send({"note": f"the scheduler at {_place(self._client)} has no workers yet: waiting for them"})
            self._is_over.wait(POLL_INTERVAL)

    def _update_workers(self, again: bool = False) -> None:
        """Updates the list of workers, and refuses workers of another build."""
        with self._looking:
            threads: dict[str, int] = self._client.nthreads()
            for gone in set(self._fits) - set(threads):
                del self._fits[gone]
            unchecked = [address for address in threads if again or address not in self._fits]
            if unchecked:
                self._query_versions(unchecked)
            slots = sum(count for address, count in threads.items() if self._fits.get(address))
            if slots != self._slots:
                self._slots = slots
                self._send({"slots": slots})
            if threads and not any(self._fits.values()):
                self._lose(
                    f"no worker of {_place(self._client)} has this build of thalweg: install the same one "
                    f"({self._version}, build {self._build[:8]}) where they run"
                )

    def _query_versions(self, unchecked: Sequence[str]) -> None:
        answers = self._client.run(eval, _VERSION_QUERY, workers=list(unchecked), on_error="return")
        for address, answer in answers.items():
            if isinstance(answer, OSError):
                # It is gone, or will be queried again.
                continue
            is_known = address in self._fits
            self._fits[address] = isinstance(answer, tuple) and answer[1] == self._build
            if self._fits[address] or is_known:
                continue
            if isinstance(answer, tuple):
                has = f"thalweg {answer[0]}, build {answer[1][:8] or 'unknown'}"
            else:
                has = f"no thalweg ({type(answer).__name__}: {answer})"
            self._send(
                {"note": f"the worker {address} is refused: it has {has}; this is {self._version}, build {self._build[:8]}"}
            )


def _arrived(cause: bytes) -> BaseException | None:
    """Unpickles the exception of a worker; if its class is missing here, returns one with its description."""
    try:
        error: BaseException = pickle.loads(cause)
    except Exception as why:
        error = RuntimeError(f"a controller raised an exception on a worker, which cannot be read here: {why}")
    return error


def _place(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", "the cluster"))


@contextmanager
def connect_to_cluster(cluster: Any, note: Callable[[str], None]) -> Iterator[Any]:
    """Yields a client of a cluster: an address, the file of a scheduler, a client, or one of Dask's clusters."""
    named: dict[str, Any] = {"address": cluster}
    if isinstance(cluster, (str, os.PathLike)):
        name = os.fspath(cluster)
        if Path(name).is_file() or name.endswith(".json"):
            _reachable_url(_scheduler_address(Path(name), note))
            named = {"scheduler_file": name}
        else:
            named["address"] = _reachable_url(name)
    try:
        from distributed import Client
    except ImportError as error:
        raise GoneError(f"{NEEDED} ({error})") from error
    if isinstance(cluster, Client):
        yield cluster
        return
    try:
        client = Client(**named, timeout=CONNECT_TIMEOUT, set_as_default=False, name="thalweg-sweep")
    except (OSError, ValueError, TypeError) as error:
        raise GoneError(f"no Dask scheduler answers at `{cluster}`: {error}") from error
    with client:
        yield client


def _scheduler_address(file: Path, note: Callable[[str], None]) -> str:
    """Returns the address in a scheduler's file; waits for a scheduler started at the same time, which writes the file a moment later."""
    begun = time.monotonic()
    waits = False
    while True:
        try:
            content = json.loads(file.read_text(encoding="utf-8"))["address"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            is_there = file.is_file()
            if file.suffix != ".json" or time.monotonic() - begun > (POLL_INTERVAL if is_there else FILE_TIMEOUT):
                if not is_there:
                    raise GoneError(f"no scheduler has written `{file}` in {FILE_TIMEOUT:.0f} s: is it up, and does this host see the file?") from error
                raise GoneError(f"`{file}` is not a scheduler's file: {type(error).__name__}: {error}") from error
            if not is_there and not waits:
                waits = True
                note(f"waiting for `{file}`, which a scheduler writes when it begins")
            time.sleep(0.05)
        else:
            return str(content)


def _reachable_url(address: str) -> str:
    """Returns an address with its scheme, after a successful connection: Dask retries an unreachable address for long."""
    url = address if "://" in address else f"tcp://{address}"
    parts = urlsplit(url)
    if parts.scheme not in ("tcp", "tls"):
        return url
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise GoneError(f"`{address}` is not an address of a scheduler: it has the form tcp://HOST:PORT, or is a scheduler's file")
    try:
        socket.create_connection((host, port), timeout=CONNECT_TIMEOUT).close()
    except OSError as error:
        raise GoneError(
            f"no Dask scheduler answers at {url}: {error.strerror or error}; `dask scheduler` starts one, and prints its address"
        ) from error
    return url


def serve_batches(read: BinaryIO, write: BinaryIO, cluster: Any, controllers: bytes = b"") -> BaseException | None:
    """Serves as the engine of a sweep: requests arrive on one stream, answers leave on the other; returns the first exception of a
    controller."""
    try:
        hello = json.loads(read.readline() or b"{}")
        if hello.get("hello") != "thalweg-sweep":
            raise GoneError("this is not a sweep")

        def note(text: str) -> None:
            write.write(json.dumps({"note": text}).encode() + b"\n")
            write.flush()

        with connect_to_cluster(cluster, note) as client:
            pool = WorkerPool(client, write, hello["version"], hello["build"], controllers)
            pool.serve(read)
            return pool.cause
    except GoneError as error:
        with suppress(OSError, ValueError):
            write.write(json.dumps({"lost": str(error)}).encode() + b"\n")
            write.flush()
    return None


@contextmanager
def serving_cluster(
    cluster: Any, controllers: _Controllers, modules: Collection[ModuleType], place: Path
) -> Iterator[tuple[str, list[BaseException]]]:
    """Yields an engine in this process: its address, a socket in the folder, and the exceptions that controllers raise. `modules` are
    pickled by value, as workers need not have them."""
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
                cause = serve_batches(read, write, cluster, pickled)
                if cause is not None:
                    causes.append(cause)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        try:
            yield f"unix:{path}", causes
        finally:
            # The sweep ended before its first request.
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=CONNECT_TIMEOUT)


def _pickled(controllers: _Controllers, modules: Collection[ModuleType]) -> bytes:
    """Pickles controllers, with the content of these modules."""
    try:
        import cloudpickle
    except ImportError as error:
        raise GoneError(f"{NEEDED} ({error})") from error
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        for name, make in controllers:
            try:
                cloudpickle.dumps(make)
            except Exception as why:
                raise GoneError(f"the controller `{name}` cannot be sent to workers, as it cannot be pickled: {why}") from why
        # Together, as they may share objects.
        pickled: bytes = cloudpickle.dumps(list(controllers))
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return pickled


def main() -> None:
    """Entry point of the process that the command starts."""
    # Ctrl-C ends the command, and then this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    # Other output must not mix with the protocol on standard output.
    write = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve_batches(sys.stdin.buffer, write, sys.argv[1])
    # Exit would wait for the threads of a client without a scheduler.
    os._exit(0)


if __name__ == "__main__":
    # Workers import the module by its name.
    importlib.import_module("thalweg._cluster").main()
