"""Runs of controllers that take something from outside are not reused, unless that is part of the key."""

import datetime
import functools
import importlib
import importlib.resources
import io
import os
import pathlib
import random
import re
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
import uuid
import warnings
from collections.abc import Callable
from datetime import datetime as moment
from os import environ, getenv
from os.path import join as joined_path
from pathlib import Path
from typing import Any

import numpy
import numpy as renamed
import pandas
import pytest

import thalweg
from thalweg import Controller, Sample
from thalweg._identity import Identity

FOLDER = "."
NAME = "weights.txt"
PLACE = Path("weights.txt")
CLOCK = time.perf_counter
MODULES = {"numpy": numpy, "time": time}
Make = Callable[[], Controller]


class Mine(Controller):
    def __init__(self, gain: Any = 1.0) -> None:
        self.gain = float(gain)

    def on_ack(self, sample: Sample) -> None:
        self.window += self.gain

    def on_loss(self, sample: Sample) -> None:
        self.window = max(2.0, self.window / 2)


def read(name: str) -> str:
    with open(name, encoding="utf-8") as file:
        return file.read()


class Holding(Mine):
    clock = staticmethod(time.monotonic)

    def __init__(self) -> None:
        super().__init__(self.clock())


class Loading(Mine):
    def __init__(self) -> None:
        import numpy as np

        self.np = np
        super().__init__(self.np.load(f"{FOLDER}/{NAME}"))


class Handing(Mine):
    def __init__(self) -> None:
        self.modules = [os]
        super().__init__(self.modules[0].getenv("GAIN".lower()))


def within() -> Controller:
    from os import environ as variables

    return Mine(variables[NAME.upper()])


def by_alias() -> Controller:
    tool = os
    other = tool
    return Mine(other.environ[NAME.upper()])


def by_keyword() -> Controller:
    with open(mode="r", file=NAME + "") as file:
        return Mine(file.read())


def set_before() -> Controller:
    global NAME
    NAME = "".join([FOLDER, "x"])
    with open(NAME, encoding="utf-8") as file:
        return Mine(file.read())


def joined() -> Controller:
    with open(os.path.join(FOLDER, "w.txt"), encoding="utf-8") as file:
        return Mine(file.read())


def joined_by_name() -> Controller:
    with open(joined_path(FOLDER, "w.txt"), encoding="utf-8") as file:
        return Mine(file.read())


def formatted() -> Controller:
    with open(f"{FOLDER}/w.txt", encoding="utf-8") as file:
        return Mine(file.read())


def in_a_method() -> type[Controller]:
    class Found(Mine):
        def on_ack(self, sample: Sample) -> None:
            self.window += float(self.weights())

        def weights(self) -> str:
            return (Path(FOLDER) / "w.txt").read_text()

    return Found


def stored_weights() -> Any:
    booster: Any = numpy.zeros(1)
    return lambda: Mine(booster.copy().load_model("w.txt"))


TAKES: dict[str, tuple[Any, str]] = {
    "a joined name": (joined, "`open` with a file whose name is not constant"),
    "a name joined by another": (joined_by_name, "`open` with a file"),
    "a formatted name": (formatted, "`open` with a file"),
    "an argument": (lambda: Mine(read(NAME)), "`read` uses `open` with a file"),
    "an argument of partial": (functools.partial(read, NAME), "`open` with a file"),
    "a name by keyword": (by_keyword, "`open` with a file"),
    "a name that code sets": (set_before, "`open` with a file"),
    "the read function itself": (lambda: Mine(list(map(open, [NAME]))[0].read()), "`open` with a file"),
    "a file by io": (lambda: Mine(io.open(FOLDER + NAME).read()), "`open` with a file"),
    "a path of parts": (lambda: Mine(Path(FOLDER, "w.txt").read_text()), "`read_text`"),
    "a joined path": (lambda: Mine((Path(FOLDER) / "w.txt").read_text()), "`read_text`"),
    "an opened path": (lambda: Mine((Path(FOLDER) / "w.txt").open().read()), "`open`"),
    "bytes of a path": (lambda: Mine(Path(FOLDER).joinpath("w").read_bytes()), "`read_bytes`"),
    "a method of the class": (lambda: Mine(Path.read_text(Path(FOLDER, "w"))), "`Path.read_text`"),
    "a path in a method": (in_a_method(), "`Found.weights` uses `read_text`|weights` uses `read_text`"),
    "a folder": (lambda: Mine(len(os.listdir(FOLDER))), "`os.listdir`"),
    "an existing file": (lambda: Mine(os.path.exists(FOLDER)), "`os.path.exists`"),
    "numpy.load": (lambda: Mine(numpy.load(f"{FOLDER}/{NAME}")), "`numpy.load` with a file"),
    "numpy.loadtxt": (lambda: Mine(renamed.loadtxt(FOLDER + NAME)), "`numpy.*loadtxt` with a file"),
    "numpy in an attribute": (Loading, "`numpy.load`"),
    "pandas.read_csv": (lambda: Mine(pandas.read_csv(FOLDER + NAME).iloc[0, 0]), "`pandas.*read_csv` with a file"),
    "an address": (lambda: Mine(pandas.read_csv("http://host/w.csv").iloc[0, 0]), "`pandas.*read_csv` with a file"),
    "a stored model": (stored_weights(), "`load_model`"),
    "a device": (lambda: Mine(open("/dev/urandom", "rb").read(1)[0]), "`open` with a file"),
    "a composed variable": (lambda: Mine(os.environ[NAME.upper()]), "`os.environ`"),
    "a variable by getenv": (lambda: Mine(os.getenv(NAME.upper())), "`os.getenv`"),
    "another name of environ": (lambda: Mine(environ[NAME.upper()]), "`os.environ`"),
    "another name of getenv": (lambda: Mine(getenv(NAME.upper())), "`os.getenv`"),
    "all variables": (lambda: Mine(len(dict(os.environ))), "`os.environ`"),
    "variables imported within": (within, "`os.environ`"),
    "a variable for a module": (by_alias, "`os.environ`"),
    "a module in a list": (Handing, "`os.getenv`"),
    "a module in a global": (lambda: Mine(MODULES["time"].time()), "`time.time`"),
    "time.time": (lambda: Mine(time.time()), "`time.time`"),
    "a clock in a global": (lambda: Mine(CLOCK()), "`time.perf_counter`"),
    "a clock in a class": (Holding, "`time.monotonic`"),
    "a clock in partial": (functools.partial(lambda clock: Mine(clock()), time.time), "`time.time`"),
    "datetime.now": (lambda: Mine(moment.now().second), "`datetime.now`"),
    "datetime by its module": (lambda: Mine(datetime.datetime.now().second), "`datetime.now`"),
    "date.today": (lambda: Mine(datetime.date.today().day), "`date.today`"),
    "random": (lambda: Mine(random.random()), "`random.random`"),
    "a generator without a seed": (lambda: Mine(random.Random().random()), "`Random` without a seed"),
    "numpy.random": (lambda: Mine(numpy.random.rand()), "`numpy.random.rand`"),
    "numpy's generator without a seed": (lambda: Mine(numpy.random.default_rng().random()), "`default_rng` without a seed"),
    "uuid": (lambda: Mine(uuid.uuid4().int), "`uuid.uuid4`"),
    "a process": (lambda: Mine(subprocess.run(["a"], capture_output=True).stdout), "`subprocess.run`"),
    "the network": (lambda: Mine(socket.create_connection(("h", 1)).recv(1)), "`socket.create_connection`"),
    "an address by urllib": (lambda: Mine(urllib.request.urlopen("http://h").read()), "`urllib.request.urlopen`"),
    "a database": (lambda: Mine(sqlite3.connect("a.db").execute("x").fetchone()), "`sqlite3.connect`"),
    "a resource": (lambda: Mine(importlib.resources.files("a").joinpath("b").read_text()), "`importlib.resources"),
    "standard input": (lambda: Mine(sys.stdin.readline()), "`sys.stdin`"),
    "a question": (lambda: Mine(input()), "`input`"),
    "a run": (lambda: Mine(thalweg.run("dumbbell").flows["goodput_bps"][0]), "`thalweg.run`"),
}


@pytest.mark.parametrize("case", TAKES)
def test_a_controller_that_takes_something_unknown_is_another_one_each_time(case: str) -> None:
    make, words = TAKES[case]
    one, other = Identity("mine", make), Identity("mine", make)
    assert one.digest != other.digest
    assert any(re.search(words, text) for text in one.inputs), one.inputs


class Computing(Mine):
    """Has methods with the names of inputs, and uses samples, modules and seeds as controllers do."""

    def open(self) -> float:
        return 1.0

    def load_table(self) -> float:
        return float(numpy.sin(self.open()))

    def on_ack(self, sample: Sample) -> None:
        elapsed = sample.now - getattr(self, "then", 0.0)
        self.load = datetime.timedelta(seconds=elapsed).total_seconds()
        self.path = os.path.join("a", os.sep)
        self.window += self.load_table() * self.rng.random() + self.load + random.Random(7).random()


KNOWN: dict[str, Any] = {
    "names like those of inputs": Computing,
    "a path that is not read": lambda: Mine(len(str(pathlib.Path("a") / "b"))),
    "moments from numbers": lambda: Mine(moment.fromtimestamp(0).year),
}


@pytest.mark.parametrize("case", KNOWN)
def test_a_controller_that_takes_nothing_is_the_same_one(case: str) -> None:
    one, other = Identity("mine", KNOWN[case]), Identity("mine", KNOWN[case])
    assert (one.inputs, one.digest) == ([], other.digest)


def by_constant() -> Controller:
    with open("weights.txt", encoding="utf-8") as file:
        return Mine(file.read())


def by_global() -> Controller:
    with open(NAME, "r", encoding="utf-8") as file:
        return Mine(file.read())


FILES: dict[str, Make] = {
    "a constant": by_constant,
    "a global": by_global,
    "a path": lambda: Mine(PLACE.read_text()),
    "an opened path": lambda: Mine(PLACE.open().read()),
    "numpy": lambda: Mine(numpy.loadtxt("weights.txt")),
    "pandas": lambda: Mine(pandas.read_csv(NAME, header=None).iloc[0, 0]),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_with_a_constant_name_counts(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    digests = []
    for content in ("1.0", "2.0", "1.0"):
        Path("weights.txt").write_text(content)
        found = Identity("mine", FILES[case])
        assert found.inputs == []
        digests.append(found.digest)
    assert digests[0] == digests[2] != digests[1]


def imported_within() -> Controller:
    from os import environ as variables

    return Mine(variables.get("THALWEG_TEST_GAIN", "1"))


VARIABLES: dict[str, Make] = {
    "an item": lambda: Mine(os.environ["THALWEG_TEST_GAIN"]),
    "get": lambda: Mine(os.environ.get("THALWEG_TEST_GAIN", 1)),
    "getenv": lambda: Mine(os.getenv("THALWEG_TEST_GAIN", default="1")),
    "another name of environ": lambda: Mine(environ["THALWEG_TEST_GAIN"]),
    "another name of getenv": lambda: Mine(getenv("THALWEG_TEST_GAIN")),
    "imported within": imported_within,
}


@pytest.mark.parametrize("case", VARIABLES)
def test_a_variable_with_a_constant_name_counts(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = []
    for content in ("1.0", "2.0", "1.0", None):
        if content is None:
            monkeypatch.delenv("THALWEG_TEST_GAIN")
        else:
            monkeypatch.setenv("THALWEG_TEST_GAIN", content)
        found = Identity("mine", VARIABLES[case])
        assert found.inputs == []
        digests.append(found.digest)
    assert digests[0] == digests[2] and len(set(digests)) == 3


INSTALLED = """
import os, time
import thalweg
from installed_controllers import helpers

class Base(thalweg.Controller):
    def on_ack(self, sample): self.window += 1
    def on_loss(self, sample): self.window = 2

class Plain(Base):
    pass

class Timed(Base):
    def on_ack(self, sample): self.window += helpers.step()

class Filed(Base):
    def __init__(self): self.gain = float(open("weights.txt").read())

def timed():
    return Timed()

def made():
    return Base() if os.environ["THALWEG_TEST_GAIN"] == "1" else Plain()
"""


def test_a_controller_of_an_installed_package_takes_things_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "installed_controllers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "helpers.py").write_text("import time\ndef step():\n    return time.time() % 2\n")
    (package / "controllers.py").write_text(INSTALLED)
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.chdir(tmp_path)
    found = importlib.import_module("installed_controllers.controllers")
    assert Identity("mine", found.Plain).digest == Identity("mine", found.Plain).digest
    for make in (found.Timed, functools.partial(found.Timed), lambda: found.timed()):
        assert "`step` uses `time.time`" in Identity("mine", make).inputs[0]
    digests = []
    for text in ("1", "2", "1"):
        Path("weights.txt").write_text(text)
        monkeypatch.setenv("THALWEG_TEST_GAIN", text)
        digests.append([Identity("mine", make).digest for make in (found.Filed, found.made)])
    assert digests[0] == digests[2]
    assert all(one != other for one, other in zip(digests[0], digests[1]))


def test_a_sweep_tells_why_it_reuses_no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = {"scenario": "two-flows", "schemes": ["mine"], "set": ["duration=2 s", "warmup=500 ms"]}

    def delay() -> float:
        with pytest.warns(thalweg.ScenarioWarning, match=r"not reused by later calls: `mine` -> .*`open` with a file.*Read it before") as found:
            result = thalweg.sweep(sweep, "out", controllers={"mine": joined})
        assert found[0].filename == __file__ and result.failed == []
        value: float = result.means["delay_mean_s"][0]
        return value

    Path("w.txt").write_text("0.1")
    first = delay()
    Path("w.txt").write_text("30")
    assert delay() != first
    with pytest.raises(thalweg.ScenarioError, match="shard could not be joined with those of others: .*`open`"):
        thalweg.sweep(sweep, "out", shard=(1, 2), controllers={"mine": joined})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thalweg.sweep(sweep, "out", controllers={"mine": Mine})
