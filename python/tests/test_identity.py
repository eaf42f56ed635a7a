"""Kept runs are those of the same controller, whatever makes it another."""

import dataclasses
import enum
import functools
import importlib
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest

import thalweg
import thalweg.envs
from thalweg import Controller, Sample
from thalweg._identity import Identity, UnknownError

GAIN = 1.0
TABLE = {"gain": [1.0, 2.0]}


class Base(Controller):
    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def on_ack(self, sample: Sample) -> None:
        self.window += self.gain

    def on_loss(self, sample: Sample) -> None:
        self.window = max(2.0, self.window / 2)


def digest(make: Any) -> str:
    return Identity("mine", make).digest


def closed(gain: float) -> Callable[[], Controller]:
    return lambda: Base(gain)


def derived(base: type[Controller]) -> type[Controller]:
    class Derived(base):  # type: ignore[valid-type, misc]
        pass

    return Derived


def other_base(gain: float) -> type[Controller]:
    class Other(Base):
        def on_ack(self, sample: Sample) -> None:
            self.window += gain

    return Other


def by_global() -> Controller:
    return Base(GAIN)


def by_table() -> Controller:
    return Base(TABLE["gain"][0])


class Mode(enum.Enum):
    SLOW = 1
    FAST = 2


@dataclasses.dataclass(frozen=True)
class Setting:
    gain: float
    modes: tuple[Mode, ...] = (Mode.SLOW,)


class Callback:
    def __init__(self, setting: Any) -> None:
        self.setting = setting

    def __call__(self) -> Controller:
        return Base(1.0)


def defaults(gain: float) -> Callable[[], Controller]:
    def make(gain: float = gain) -> Controller:
        return Base(gain)

    return make


def keywords(gain: float) -> Callable[[], Controller]:
    def make(*, gain: float = gain) -> Controller:
        return Base(gain)

    return make


def attribute(gain: float) -> type[Controller]:
    return type("Made", (Base,), {"extra": gain})


def wrapped(gain: float) -> Callable[[], Controller]:
    @functools.lru_cache
    def number() -> float:
        return gain

    return lambda: Base(number())


def nested(gain: float) -> Callable[[], Controller]:
    def inner() -> Callable[[], float]:
        return lambda: gain

    return lambda: Base(inner()())


def policy(weights: Any) -> type[Controller]:
    return thalweg.envs.controller(lambda observation: float(weights.sum()))


DIFFER: dict[str, tuple[Any, Any]] = {
    "closures": (closed(1.0), closed(2.0)),
    "closures of another type": (closed(1), closed(1.0)),
    "arguments of partial": (functools.partial(Base, 1.0), functools.partial(Base, 2.0)),
    "keywords of partial": (functools.partial(Base, gain=1.0), functools.partial(Base, gain=2.0)),
    "partial and class": (functools.partial(Base), Base),
    "base classes": (derived(other_base(1.0)), derived(other_base(2.0))),
    "attributes of classes": (attribute(1.0), attribute(2.0)),
    "defaults": (defaults(1.0), defaults(2.0)),
    "defaults of keywords": (keywords(1.0), keywords(2.0)),
    "what is cached": (wrapped(1.0), wrapped(2.0)),
    "functions within functions": (nested(1.0), nested(2.0)),
    "bound methods": (Callback(1.0).__call__, Callback(2.0).__call__),
    "instances that are called": (Callback([1.0]), Callback([2.0])),
    "settings": (Callback(Setting(1.0)), Callback(Setting(2.0))),
    "members of enumerations": (Callback(Setting(1.0, (Mode.SLOW,))), Callback(Setting(1.0, (Mode.FAST,)))),
    "sets": (Callback({"a", "b"}), Callback({"a", "c"})),
    "policies": (thalweg.envs.controller(lambda of: 0.2), thalweg.envs.controller(lambda of: -0.5)),
    "weights": (policy(numpy.array([1.0, 2.0])), policy(numpy.array([1.0, 2.5]))),
    "pacing of policies": (thalweg.envs.controller(numpy.sum, pace=True), thalweg.envs.controller(numpy.sum, pace=False)),
}


@pytest.mark.parametrize("case", DIFFER)
def test_what_differs_is_another_controller(case: str) -> None:
    one, other = DIFFER[case]
    assert digest(one) != digest(other)
    assert digest(one) == digest(one) and digest(other) == digest(other)


def test_what_is_made_again_is_the_same_controller() -> None:
    weights = [1.0, 2.0]
    for make in (closed, derived_of, functools.partial(functools.partial, Base), attribute, nested, wrapped):
        assert digest(make(1.5)) == digest(make(1.5)), make
    assert digest(policy(numpy.array(weights))) == digest(policy(numpy.array(weights)))
    assert digest(Callback({"a", "b", "c", "d"})) == digest(Callback({"d", "c", "b", "a"}))


def derived_of(gain: float) -> type[Controller]:
    return derived(other_base(gain))


def test_globals_that_code_uses_count_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    this_module = sys.modules[__name__]
    before = {make: digest(make) for make in (by_global, by_table, Base)}
    monkeypatch.setattr(this_module, "GAIN", 2.0)
    assert digest(by_global) != before[by_global] and digest(Base) == before[Base]
    monkeypatch.setitem(TABLE, "gain", [3.0])
    assert digest(by_table) != before[by_table]
    monkeypatch.setattr(Base, "on_ack", lambda self, sample: None)
    assert digest(Base) != before[Base] and digest(functools.partial(Base, 1.0)) != before[Base]


def module(place: Path, name: str, text: str) -> ModuleType:
    (place / f"{name}.py").write_text(text, encoding="utf-8")
    importlib.invalidate_caches()
    if name in sys.modules:
        # The modification time may be the same.
        del sys.modules[name]
        for file in place.glob(f"__pycache__/{name}.*"):
            file.unlink()
    return importlib.import_module(name)


def test_user_modules_are_identified_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = "import thalweg\nimport helpers\nBETA = 0.5\n" + (
        "class Base(thalweg.Controller):\n"
        "    def on_ack(self, sample):\n        self.window += helpers.step(sample)\n"
        "    def on_loss(self, sample):\n        self.window = max(2, self.window * BETA)\n"
        "class Mine(Base):\n    pass\n"
        "def late():\n    import helpers\n    return Mine()\n"
        "def named():\n    return Mine() if getattr(helpers, 'STEP') else None\n"
    )
    helpers = "STEP = 1.0\nOTHER = 1\ndef step(sample):\n    return STEP\n"
    module(tmp_path, "helpers", helpers)
    mine = module(tmp_path, "mine", text)
    makes = ("Mine", "late", "named")
    before = {name: digest(getattr(mine, name)) for name in makes}
    assert before == {name: digest(getattr(mine, name)) for name in makes}
    # A constant set at run time.
    monkeypatch.setattr(sys.modules["helpers"], "STEP", 2.0)
    assert all(digest(getattr(mine, name)) != before[name] for name in makes)
    # Different files: a constant, a base class, a function of another module.
    for name, old, new in (("mine", "BETA = 0.5", "BETA = 0.7"), ("mine", "max(2", "max(4"), ("helpers", "return STEP", "return 2 * STEP")):
        module(tmp_path, "helpers", helpers.replace(old, new) if name == "helpers" else helpers)
        changed = module(tmp_path, "mine", text.replace(old, new) if name == "mine" else text)
        assert digest(changed.Mine) != before["Mine"], new
    module(tmp_path, "helpers", helpers)
    assert digest(module(tmp_path, "mine", text).Mine) == before["Mine"]


def test_files_that_a_controller_names_count_by_their_content(tmp_path: Path) -> None:
    weights = tmp_path / "weights.txt"

    def make() -> Controller:
        return Base(float(weights.read_text()))

    name = str(weights)

    def by_name() -> Controller:
        with open(name, encoding="utf-8") as file:
            return Base(float(file.read()))

    weights.write_text("1.0")
    before = digest(make), digest(by_name)
    weights.write_text("2.0")
    assert digest(make) != before[0] and digest(by_name) != before[1]
    weights.write_text("1.0")
    assert (digest(make), digest(by_name)) == before


PROGRAM = """
import functools, numpy, thalweg, thalweg.envs
from thalweg._identity import Identity
BETA = {"a": 1, "b": {"x", "y", "z"}}
class Mine(thalweg.Controller):
    known = frozenset({"one", "two", "three"})
    def __init__(self, gain): self.gain = gain
    def on_ack(self, sample): self.window += len(BETA) * numpy.exp(self.gain) if sample.kind in {"ack", "mark"} else 1
    def on_loss(self, sample): self.window = 2
print(Identity("m", functools.partial(Mine, 1.5)).digest)
print(Identity("p", thalweg.envs.controller(lambda of: float(numpy.tanh(of[0])), pace=False)).digest)
"""


def test_another_process_finds_the_same_controllers(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    reprs = [
        subprocess.run(
            [sys.executable, "program.py"], cwd=tmp_path, env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert reprs[0] == reprs[1] and len(reprs[0].split()) == 2


def test_unidentifiable_objects_are_rejected(tmp_path: Path) -> None:
    numbers = (number for number in range(3))
    lock = threading.Lock()

    def generates() -> Controller:
        return Base(next(numbers))

    class Locked(Base):
        guard = lock

    def evaluates() -> Controller:
        return Base(eval("GAIN"))

    for make, words in [
        (generates, "`mine` -> .*generates.* -> `numbers` is of type `builtins.generator`"),
        (Locked, "`guard` is of type `_thread.lock`"),
        (Callback(lock), "`setting` is of type `_thread.lock`"),
        (evaluates, "`mine` -> .*evaluates` uses `eval`, through which it may use anything"),
    ]:
        with pytest.raises(UnknownError, match=words):
            digest(make)
    sweep = {"scenario": "two-flows", "schemes": ["mine"], "set": ["duration=6 s"]}
    with pytest.raises(thalweg.ScenarioError, match="identified by all its parts, and .*numbers.* is of type"):
        thalweg.sweep(sweep, tmp_path / "sweep", controllers={"mine": generates})
    with pytest.raises(thalweg.ScenarioError, match="identified by all its parts"):
        thalweg.assess("mine", tmp_path / "none", only=["7.2"], quick=True, controllers={"mine": generates})
    with pytest.raises(thalweg.ScenarioError, match="identified by all its parts"):
        thalweg.hunt("mine", "queue", tmp_path / "none", controllers={"mine": generates})
    # Calls without saved runs need no identity.
    assert thalweg.run("two-flows", set={"duration": "6 s"}, controllers={"mine": Locked}).fingerprint


SWEEP: dict[str, Any] = {
    "scenario": "dumbbell",
    "schemes": ["p"],
    "set": ["duration=5 s", "warmup=1 s"],
    "grid": {"link.bottleneck.rate": ["10 Mbit/s"]},
}


def test_a_sweep_serves_no_runs_of_another_controller(tmp_path: Path) -> None:
    def delay(make: Any, out: str) -> float:
        result = thalweg.sweep(SWEEP, tmp_path / out, controllers={"p": make})
        assert result.failed == []
        found: float = result.means["delay_mean_s"][0]
        return found

    def constant(gain: float) -> Any:
        return thalweg.envs.controller(lambda observation: gain)

    cases: dict[str, list[Any]] = {
        "policies": [constant(0.2), constant(-0.5)],
        "closures": [closed(1.0), closed(30.0)],
        "partial": [functools.partial(Base, 1.0), functools.partial(Base, 30.0)],
        "base classes": [derived(other_base(1.0)), derived(other_base(30.0))],
    }
    for case, makes in cases.items():
        one, other = [delay(make, case) for make in makes]
        assert one != other, case
        fresh = delay(makes[1], f"{case}-fresh")
        assert other == fresh, case
        files = len(list((tmp_path / case).rglob("points/*/*.json")))
        assert delay(makes[0], case) == one and len(list((tmp_path / case).rglob("points/*/*.json"))) == files, case


def test_an_assessment_and_a_hunt_serve_no_runs_of_another_controller(tmp_path: Path) -> None:
    def assessed(make: Any) -> Any:
        found = thalweg.assess("mine", tmp_path / "assessed", only=["7.2"], quick=True, reps=2, controllers={"mine": make})
        return found["sections"]

    assert assessed(closed(1.0)) != assessed(closed(30.0))

    def hunted(make: Any, out: str) -> float:
        found = thalweg.hunt("mine", "queue", tmp_path / out, kinds=["rates"], candidates=64, controllers={"mine": make})
        score: float = found["score"]
        return score

    first, second = hunted(closed(0.1), "hunted"), hunted(closed(30.0), "hunted")
    assert second == hunted(closed(30.0), "fresh") and first == hunted(closed(0.1), "hunted") and first != second
