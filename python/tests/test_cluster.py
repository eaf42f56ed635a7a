"""Sweeps on a Dask scheduler with two workers, which these tests start and of which they kill one."""

import functools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from distributed import Client

import thalweg
from thalweg import _cluster, _thalweg, _toml

COMMAND = str(Path(sys.executable).with_name("thalweg"))
WRITTEN = ["results.json", "flows.parquet", "links.parquet"]
SWEEP = {
    "scenario": "two-flows",
    "set": ["warmup=500 ms"],
    "schemes": ["cubic", "vegas"],
    "reps": 10,
    "grid": {"duration": ["8 s", "9 s", "10 s"], "link.left-right.rate": ["20 Mbit/s", "40 Mbit/s"]},
}
OTHER = "import thalweg._thalweg as factories; factories.build = 'another'; from distributed.cli.dask_worker import main; main()"


def start_dask(kind: str, place: Path, *words: str, program: str = "") -> subprocess.Popen[str]:
    what = ["-c", program] if program else ["-m", f"distributed.cli.dask_{kind}"]
    call = [sys.executable, *what, "--scheduler-file", str(place / "scheduler.json"), "--no-dashboard", *words]
    with open(place / f"{kind}.log", "a", encoding="utf-8") as log:
        return subprocess.Popen(call, cwd=place, stdout=log, stderr=log, text=True)


class Cluster:
    """A scheduler and two workers with one thread each."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.file = place / "scheduler.json"
        self.scheduler = start_dask("scheduler", place, "--host", "127.0.0.1", "--port", "0")
        self.workers = [self.worker(), self.worker()]

    def worker(self, program: str = "") -> subprocess.Popen[str]:
        return start_dask("worker", self.place, "--nthreads", "1", "--no-nanny", program=program)

    @property
    def address(self) -> str:
        scheduler_address: str = json.loads(self.file.read_text(encoding="utf-8"))["address"]
        return scheduler_address

    def end(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


def wait_until(until: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not until():
        assert time.monotonic() - begun < 60
        time.sleep(0.005)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        wait_until(started.file.exists)
        yield started
    finally:
        started.end()


class Timid(thalweg.Controller):
    """Half of what Reno does."""

    def on_ack(self, sample: thalweg.Sample) -> None:
        self.window += 0.5

    def on_loss(self, sample: thalweg.Sample) -> None:
        self.window = max(2, self.window / 2)


def test_a_sweep_outlives_one_of_its_workers(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    # On an overloaded host a short sweep may end before the worker is killed.
    for reps in (10, 50, 250):
        away = Path(f"away-{reps}")
        sweep = {**SWEEP, "reps": reps}
        Path("s.toml").write_text(_toml.toml_document(sweep), encoding="utf-8")
        call = [COMMAND, "sweep", "s.toml", "--out", str(away), "--cluster", cluster.address]
        child = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: len(list(away.glob("points/*/*.json"))) > 10 or child.poll() is not None)
        if child.poll() is None:
            break
    assert child.poll() is None, "it was over too soon for a worker to be killed"
    cluster.workers[0].kill()
    printed, output = child.communicate(timeout=300)
    assert child.returncode == 0, output
    assert f"{12 * reps} runs in" in output and "0 were stored" in output
    here = thalweg.sweep(sweep, "here")
    assert str(here) == printed.replace("s.toml", "sweep.toml")
    for name in WRITTEN[1:]:
        assert (away / name).read_bytes() == Path("here", name).read_bytes(), name
    files = sorted(path.relative_to("here") for path in Path("here").glob("points/*/*.json"))
    assert len(files) == 12 * reps and all((away / of).read_bytes() == (Path("here") / of).read_bytes() for of in files)


def test_python_controllers_are_sent_to_the_workers(cluster: Cluster, tmp_path: Path) -> None:
    sweep = {**SWEEP, "schemes": ["timid", "cubic"], "reps": 1, "grid": {"duration": ["1 s", "2 s"]}}
    factories = {"timid": Timid}
    away = thalweg.sweep(sweep, tmp_path / "away", controllers=factories, key="1", cluster=cluster.file)
    here = thalweg.sweep(sweep, tmp_path / "here", controllers=factories, key="1")
    assert away.document == here.document and len(away.points) == 4 and away.failed == []
    failing = thalweg.sweep({**sweep, "grid": {"duration": ["1 s", "400 ms"]}}, tmp_path / "failing", controllers=factories, key="1", cluster=cluster.file)
    assert [point["point"] for point in failing.failed] == [3, 4]


class Broken(Timid):
    def on_ack(self, sample: thalweg.Sample) -> None:
        raise RuntimeError("by design")


def test_worker_exceptions_are_the_cause_of_failures(cluster: Cluster, tmp_path: Path) -> None:
    sweep = {**SWEEP, "schemes": ["broken"], "reps": 1, "grid": {"duration": ["1 s"]}}
    makes: list[Callable[[], thalweg.Controller]] = [Broken, functools.partial(Broken)]
    for number, make in enumerate(makes):
        done = thalweg.sweep(sweep, tmp_path / str(number), controllers={"broken": make}, key="1", cluster=cluster.file)
        assert len(done.failed) == 1 and isinstance(done.cause, RuntimeError) and str(done.cause) == "by design"
        assert "in on_ack" in "".join(done.cause.__notes__)


def test_an_assessment_is_the_same_on_the_workers(cluster: Cluster, tmp_path: Path) -> None:
    def assessed(*words: str) -> tuple[str, str]:
        call = [COMMAND, "assess", "cubic", "--reps", "2", "--quick", "--only", "7.4", "--json", *words]
        done = subprocess.run(call, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout, done.stderr

    away, output = assessed("--out", "away", "--cluster", str(cluster.file))
    assert "0 were stored" in output and json.loads(away)["complete"] is True
    assert away == assessed("--out", "here")[0]


def test_a_worker_with_another_build_is_refused(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cluster.workers.append(cluster.worker(OTHER))
    with Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        short = {**SWEEP, "reps": 1, "grid": {"duration": ["1 s", "2 s", "3 s"]}}
        Path("s.toml").write_text(_toml.toml_document(short), encoding="utf-8")
        call = [COMMAND, "sweep", "s.toml", "--cluster", str(cluster.file)]
        done = subprocess.run(call, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and "6 runs in" in done.stderr, done.stderr
        assert "is refused: it has thalweg" in done.stderr and "build another" in done.stderr, done.stderr
        cluster.workers[1].kill()
        wait_until(lambda: len(client.nthreads()) == 1)
    with pytest.raises(thalweg.RunError, match="no worker of .* has this build of thalweg"):
        thalweg.sweep(short, "none", cluster=cluster.address)
    assert not list(Path("none").glob("points/*/*.json"))


def test_an_unreachable_address_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(thalweg.RunError, match="no Dask scheduler answers at tcp://127.0.0.1:1: .*refused"):
        thalweg.sweep(SWEEP, "none", cluster="127.0.0.1:1")
    Path("s.toml").write_text(_toml.toml_document(SWEEP), encoding="utf-8")
    Path("half.json").write_text('{"address": "tc', encoding="utf-8")
    monkeypatch.setattr(_cluster, "FILE_TIMEOUT", 0.1)
    monkeypatch.setattr(_cluster, "POLL_INTERVAL", 0.1)
    for address, words in [
        ("here", "has the form tcp://HOST:PORT"),
        ("s.toml", "`s.toml` is not a scheduler's file"),
        ("half.json", "`half.json` is not a scheduler's file"),
        ("none.json", "no scheduler has written `none.json`"),
    ]:
        with pytest.raises(thalweg.RunError, match=words):
            thalweg.sweep("s.toml", cluster=address)
    for python, words in [(sys.executable, "`dask scheduler` starts one"), ("/bin/false", "needs the Python package")]:
        call = [COMMAND, "sweep", "s.toml", "--cluster", "tcp://127.0.0.1:1"]
        done = subprocess.run(call, capture_output=True, text=True, timeout=120, env={**os.environ, "THALWEG_PYTHON": python})
        assert done.returncode == 1 and words in done.stderr, done.stderr


def test_a_controller_that_cannot_be_sent_is_named(tmp_path: Path) -> None:
    class Sent(thalweg.Controller):
        def on_ack(self, sample: thalweg.Sample) -> None:
            pass

        def on_loss(self, sample: thalweg.Sample) -> None:
            pass

    held = threading.Lock()

    def locked() -> thalweg.Controller:
        with held:
            return Sent()

    with pytest.raises(thalweg.RunError, match="the controller `locked` cannot be sent to workers.*lock"):
        thalweg.sweep({**SWEEP, "schemes": [Sent, "locked"]}, tmp_path, controllers={"locked": locked}, key="1", cluster="127.0.0.1:1")


def test_workers_make_only_what_is_a_batch_of_their_build() -> None:
    with pytest.raises(_cluster.OtherBuildError):
        _cluster.run_batch(b"[]", "another", b"")
    with pytest.raises(ValueError, match="not a batch"):
        _thalweg.work(b"{", [], 1)
    assert len(_thalweg.build) == 32
