"""Controllers that are written in Python."""

import dataclasses
import gc
import functools
import math
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pytest

import thalweg
import thalweg.envs
from thalweg import Controller, Sample

PATH = {
    "duration": "10 s",
    "link": [{"name": "core", "between": ["a", "b"], "rate": "10 Mbit/s", "delay": "10 ms", "queue": "1 bdp", "loss": 0.001}],
    "flow": [{"name": "flow", "from": "a", "to": "b", "scheme": "aimd"}],
}


class Aimd(Controller):
    """Additive increase, multiplicative decrease."""

    def __init__(self, increase: float = 1.0) -> None:
        self.increase = increase
        self.slow_start = True

    def on_ack(self, sample: Sample) -> None:
        if sample.recovering or sample.app_limited:
            return
        self.window += sample.acked if self.slow_start else self.increase

    def on_loss(self, sample: Sample) -> None:
        self.slow_start = False
        self.window = 2.0 if sample.kind == "timeout" else max(2.0, self.window / 2)


def test_aimd_fills_a_path_beside_cubic() -> None:
    result = thalweg.compare(PATH, [Aimd, "cubic", "newreno"], seed=3, controllers={"aimd": Aimd})
    aimd, cubic, reno = result.flows["goodput_bps"]
    assert result.flows["compared"] == ["aimd", "cubic", "newreno"]
    assert aimd > 7e6 and 0.8 < aimd / reno < 1.3 and cubic > 7e6


def test_the_same_seed_gives_the_same_run() -> None:
    def once(jobs: int) -> list[str]:
        scenario = {**PATH, "flow": [{**PATH["flow"][0], "count": 3}]}  # type: ignore[dict-item]
        return thalweg.run(scenario, seed=5, reps=3, jobs=jobs, controllers={"aimd": Aimd}).fingerprints

    first = once(1)
    assert first == once(3) and len(set(first)) == 3


def test_each_flow_has_an_instance_sampled_per_round_trip_or_packet() -> None:
    calls: dict[int, list[float]] = {}

    class Counting(Controller):
        def on_ack(self, sample: Sample) -> None:
            calls.setdefault(id(self), []).append(sample.now)
            kept.append(self)

        def on_loss(self, sample: Sample) -> None:
            raise AssertionError("a window of ten segments fits into the queue")

    class Eager(Counting):
        per_packet = True

    kept: list[Controller] = []
    scenario = {**PATH, "link": [{**PATH["link"][0], "loss": 0, "queue": "100 pkt"}]}  # type: ignore[dict-item]
    flow = {"from": "a", "to": "b", "count": 2}
    for kind in (Counting, Eager):
        calls.clear()
        result = thalweg.run({**scenario, "flow": [{**flow, "scheme": "mine"}]}, controllers={"mine": kind})
        assert len(calls) == 2
        packets = sum(result.flows["sent_packets"])
        reported = sum(map(len, calls.values()))
        if kind is Eager:
            assert packets - 20 <= reported <= packets
        else:
            # Twenty packets of 1.2 ms and acknowledgements: a round trip of 24.04 ms.
            assert 380 <= reported / 2 <= 420


@pytest.mark.parametrize("name", ["window", "pacing_rate"])
def test_decisions_are_numbers(name: str) -> None:
    flow = Aimd()
    for wrong in (True, False, numpy.True_, numpy.array(True), numpy.timedelta64(20, "s"), "20", [20], 20j):
        with pytest.raises(TypeError, match=f"{name} is a number of"):
            setattr(flow, name, wrong)
    numbers: list[Any] = [20, 20.0, numpy.float32(20), numpy.float64(20), numpy.int64(20), numpy.array(20.0), Decimal(20), Fraction(20)]
    for number in numbers:
        setattr(flow, name, number)
        assert getattr(flow, name) == 20


def test_class_names_may_begin_with_an_underscore() -> None:
    class _Hidden_Aimd(Aimd):
        pass

    compared = thalweg.compare("two-flows", [_Hidden_Aimd], set={"duration": "6 s"})
    assert compared.document["schemes"][0]["scheme"] == "hidden-aimd"


def test_samples_describe_the_path() -> None:
    samples: list[Sample] = []

    class Watching(Controller):
        def __init__(self, window: float) -> None:
            self.window = window

        def on_ack(self, sample: Sample) -> None:
            samples.append(sample)

        def on_loss(self, sample: Sample) -> None:
            samples.append(sample)

    # A packet of 1500 bytes takes 1.2 ms: 17 or 18 fill the path, and the rest of 30 wait.
    scenario = {**PATH, "link": [{**PATH["link"][0], "loss": 0.0, "queue": "20 pkt"}]}  # type: ignore[dict-item]
    thalweg.run(scenario, controllers={"aimd": lambda: Watching(30.0)})
    last = samples[-1]
    assert last.kind == "ack" and last.lost == 0 and last.acked == 30
    assert last.rtt == pytest.approx(30 * 0.0012, rel=0.01)
    assert last.min_rtt == pytest.approx(0.0212, abs=0.0005) and last.smoothed_rtt is not None
    assert last.rtt is not None and last.min_rtt is not None and last.rtt > last.min_rtt
    # 1448 bytes of 1500.
    assert last.delivery_rate == pytest.approx(1e7 * 1448 / 1500, rel=0.02)
    assert last.segment == 1448 and 28 < last.in_flight <= 30
    samples.clear()
    thalweg.run(scenario, controllers={"aimd": lambda: Watching(100.0)})
    losses = [sample for sample in samples if sample.kind != "ack"]
    assert losses and all(sample.lost > 0 for sample in losses if sample.kind == "detected")
    assert "ack at" in repr(last)
    with pytest.raises(AttributeError):
        last.now = 0.0  # type: ignore[misc]


def test_an_exception_ends_the_run_with_its_traceback_and_the_time() -> None:
    class Late(Aimd):
        def on_ack(self, sample: Sample) -> None:
            if sample.now > 2:
                raise ZeroDivisionError("nobody expected that")
            super().on_ack(sample)

    with pytest.raises(thalweg.RunError, match=r"`flow` at 2\.\d+ s: the controller `aimd` raised an exception") as caught:
        thalweg.run(PATH, seed=1, controllers={"aimd": Late})
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    reported = "".join(traceback.format_exception(caught.value))
    assert 'raise ZeroDivisionError("nobody expected that")' in reported and "in on_ack" in reported
    # The next run is unaffected.
    assert thalweg.run(PATH, seed=1, controllers={"aimd": Aimd}).fingerprint


def test_ctrl_c_ends_a_controller_that_never_returns() -> None:
    program = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import thalweg\n"
        "class Stuck(thalweg.Controller):\n"
        "    def on_ack(self, sample):\n"
        "        print('begun', flush=True)\n"
        "        while True:\n"
        "            pass\n"
        "    def on_loss(self, sample):\n"
        "        pass\n"
        "try:\n"
        "    thalweg.compare('two-flows', [Stuck])\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert output.endswith("interrupted\n") and child.returncode == 0


def controller_that_acts(act: Callable[[Any], None]) -> type[Controller]:
    class Wrong(Controller):
        def on_ack(self, sample: Sample) -> None:
            act(self)

        def on_loss(self, sample: Sample) -> None:
            pass

    return Wrong


@pytest.mark.parametrize(
    ("name", "value", "kind", "reported"),
    [
        ("window", math.nan, ValueError, "window must lie from 1 to 1073741824 segments, and NaN does not"),
        ("window", -3.0, ValueError, "-3 does not"),
        ("window", 0.5, ValueError, "0.5 does not"),
        ("window", 1e18, ValueError, "1000000000000000000 does not"),
        ("window", math.inf, ValueError, "inf does not"),
        ("window", 10**400, ValueError, "window must lie from 1 to 1073741824 segments, and an integer of 1329 bits does not"),
        ("window", -(10**400), ValueError, "an integer of 1329 bits does not"),
        ("window", "10", TypeError, "window is a number of segments, and not of type str"),
        ("window", None, TypeError, "not of type NoneType"),
        ("pacing_rate", 0.0, ValueError, "None does not pace"),
        ("pacing_rate", -1.0, ValueError, "-1 does not"),
        ("pacing_rate", 10**400, ValueError, "from 1 to 1e15 bit/s, and an integer of 1329 bits does not; None does not pace"),
        ("pacing_rate", "fast", TypeError, "pacing_rate is a number of bit/s, or None, and not of type str"),
    ],
)
def test_invalid_return_values_are_reported_at_the_call(name: str, value: object, kind: type[Exception], reported: str) -> None:
    wrong = controller_that_acts(lambda controller: setattr(controller, name, value))
    with pytest.raises(thalweg.RunError, match="raised an exception") as caught:
        thalweg.run(PATH, controllers={"aimd": wrong})
    assert isinstance(caught.value.__cause__, kind) and reported in str(caught.value.__cause__)


def test_incomplete_controllers_are_rejected() -> None:
    class Half(Controller):
        def on_ack(self, sample: Sample) -> None:
            self.window += 10

    def cause(make: Any) -> str:
        with pytest.raises(thalweg.RunError) as caught:
            thalweg.run(PATH, controllers={"aimd": make})
        return str(caught.value.__cause__)

    assert cause(Half) == "a controller needs a method on_loss(self, sample)"
    assert cause(Controller) == "a controller needs a method on_ack(self, sample)"
    assert cause(lambda: {}) == "a controller must derive from thalweg.Controller, and this is of type dict"
    with pytest.raises(TypeError, match="not of type int"):
        thalweg.run(PATH, controllers={"aimd": 3})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="there is a scheme `cubic` already"):
        thalweg.run(PATH, controllers={"cubic": Aimd})
    with pytest.raises(ValueError, match="small letters"):
        thalweg.run(PATH, controllers={"My Own": Aimd})
    with pytest.raises(thalweg.ScenarioError, match="no scheme `aimd`"):
        thalweg.run(PATH)


def test_pacing_spreads_packets() -> None:
    class Paced(Controller):
        def __init__(self, rate: float | None) -> None:
            self.window, self.pacing_rate = 1000.0, rate

        def on_ack(self, sample: Sample) -> None:
            pass

        def on_loss(self, sample: Sample) -> None:
            pass

    result = thalweg.run(PATH, set={"link.core.loss": 0.0}, controllers={"aimd": lambda: Paced(4e6)})
    assert result.flows["goodput_bps"][0] == pytest.approx(4e6, rel=0.01)
    assert sum(result.links["drops"]) == 0


def test_instances_go_with_their_run() -> None:
    alive: list[int] = []

    class Mortal(Aimd):
        def __del__(self) -> None:
            alive.append(1)

    for _ in range(3):
        thalweg.run(PATH, set={"duration": "1 s"}, controllers={"aimd": Mortal})
    gc.collect()
    kept = [of for of in gc.get_objects() if isinstance(of, Mortal)]
    assert len(alive) >= 3 and kept == []


def test_each_flow_has_one_instance_of_a_factory() -> None:
    made: list[Controller] = []

    def factory() -> Controller:
        made.append(Aimd())
        return made[-1]

    scenario = {**PATH, "flow": [{**PATH["flow"][0], "count": 3}]}  # type: ignore[dict-item]
    thalweg.run(scenario, seed=1, controllers={"aimd": factory})
    assert len(made) == 3 and len({id(of) for of in made}) == 3
    made.clear()
    thalweg.compare(scenario, ["aimd", "cubic"], seed=1, reps=2, jobs=1, controllers={"aimd": factory})
    assert len(made) == 6
    made.clear()
    thalweg.validate(scenario, controllers={"aimd": factory})
    assert len(made) <= 1


def test_a_factory_that_returns_an_instance_again_is_refused() -> None:
    scenario = {**PATH, "duration": "2 s", "flow": [{**PATH["flow"][0], "count": 2}]}  # type: ignore[dict-item]
    one, other = Aimd(), Aimd()
    with pytest.raises(thalweg.RunError, match="the controller `aimd`") as caught:
        thalweg.run(scenario, seed=1, controllers={"aimd": lambda: one})
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError) and "a factory returns a new instance at each call" in str(cause)
    # One flow may have it, once: the next run would begin with its state.
    single = {**PATH, "duration": "2 s"}
    assert thalweg.run(single, seed=1, controllers={"aimd": lambda: other}).fingerprint
    assert other.window != Aimd().window
    with pytest.raises(thalweg.RunError):
        thalweg.run(single, seed=1, controllers={"aimd": lambda: other})


class Random(Controller):
    """Begins with a window that is drawn, and draws at each round trip."""

    drawn: dict[int, list[float]] = {}

    def __init__(self) -> None:
        self.window = self.rng.uniform(5, 15)

    def on_ack(self, sample: Sample) -> None:
        self.drawn.setdefault(id(self.rng), []).append(self.rng.random())
        self.window = max(2.0, self.window + self.rng.choice([-1, 1]))

    def on_loss(self, sample: Sample) -> None:
        pass


def test_random_numbers_of_controllers_follow_from_the_seed() -> None:
    scenario = {**PATH, "duration": "3 s", "flow": [{**PATH["flow"][0], "count": 3}]}  # type: ignore[dict-item]

    def once(seed: int, jobs: int = 1) -> list[str]:
        return thalweg.run(scenario, seed=seed, reps=2, jobs=jobs, controllers={"aimd": Random}).fingerprints

    def factory() -> Controller:
        return Random()

    first = once(1)
    assert first == once(1, jobs=2) and not set(first) & set(once(3))
    assert first == thalweg.run(scenario, seed=1, reps=2, controllers={"aimd": factory}).fingerprints
    Random.drawn.clear()
    thalweg.run(scenario, seed=1, controllers={"aimd": Random})
    # Each flow draws other numbers.
    assert len({numbers[0] for numbers in Random.drawn.values()}) == len(Random.drawn) == 3


def test_partial_is_a_controller_like_any_other(tmp_path: Path) -> None:
    factories = {"slow": functools.partial(Aimd, 0.1), "fast": functools.partial(Aimd, increase=4.0)}
    path = {**PATH, "flow": [{**PATH["flow"][0], "scheme": "cubic"}]}  # type: ignore[dict-item]
    compared = thalweg.compare(path, ["slow", "fast"], seed=1, controllers=factories)
    slow, fast = compared.flows["goodput_bps"]
    assert fast > slow
    sweep = {"scenario": "two-flows", "set": ["duration=6 s"], "schemes": ["slow", "fast"]}
    swept = thalweg.sweep(sweep, tmp_path, controllers=factories)
    assert swept.failed == [] and swept.means["goodput_bps"][0] != swept.means["goodput_bps"][1]


def test_a_controller_moves_real_bytes() -> None:
    reported = thalweg.bench(Aimd, time="500 ms")
    assert reported["scheme"].startswith("aimd") and reported["received_bits_per_second"] > 1e6
    assert reported["client"]["bytes"] > 100_000

    class Late(Aimd):
        def on_ack(self, sample: Sample) -> None:
            if sample.now >= 0 and sample.acked > 0:
                raise ZeroDivisionError("on a real path")

    with pytest.raises(thalweg.RunError) as caught:
        thalweg.bench(Late, time="2 s")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class Stubborn(Controller):
    """Keeps its window, and raises an exception where it has had enough."""

    enough = 1e9

    def __init__(self) -> None:
        self.window = 400.0
        self.had = 0

    def on_ack(self, sample: Sample) -> None:
        self.had += sample.acked
        if self.had > self.enough:
            raise ValueError("so much was not expected")

    def on_loss(self, sample: Sample) -> None:
        pass


def test_a_controller_is_assessed_like_any_other(tmp_path: Path) -> None:
    found = thalweg.assess(Stubborn, tmp_path / "assessed", only=["7.2"], quick=True, reps=2)
    verdicts = {claim["text"]: claim["verdict"] for section in found["sections"] for e in section["experiments"] for claim in e["claims"]}
    assert found["scheme"] == "stubborn" and verdicts["The scheme's loss is at most twice CUBIC's"] == "does-not", verdicts
    assert not found["failed"] and (tmp_path / "assessed" / "stubborn.html").exists()
    with pytest.raises(thalweg.ScenarioError, match="no section `9.9`"):
        thalweg.assess(Stubborn, tmp_path / "assessed", only=["9.9"])


def test_an_exception_at_some_points_of_an_assessment_loses_no_others(tmp_path: Path) -> None:
    class Patient(Stubborn):
        # 40 s of 2 Mbit/s carry at most 6800 packets; 40 s of 10 Mbit/s carry five times as many.
        enough = 10_000.0

    found = thalweg.assess("patient", tmp_path, only=["7.2"], quick=True, reps=2, controllers={"patient": Patient})
    assert {point["values"]["link.bottleneck.queue.rate"] for point in found["failed"]} == {"10 Mbit/s"}, found["failed"]
    assert all("so much was not expected" in point["why"] or "patient" in point["why"] for point in found["failed"])
    outcomes = [point["outcome"] for point in found["sections"][0]["experiments"][0]["claims"][0]["points"]]
    assert sorted(outcomes) == ["does-not", "no-result"], outcomes


def test_the_worst_is_hunted_for(tmp_path: Path) -> None:
    found = thalweg.hunt(Aimd, "queue", tmp_path, kinds=["rates", "flows"], candidates=128, jobs=2)
    assert found["goal"] == "queue" and 0 < found["score"] <= 1 and 'scheme = "aimd"' in found["scenario"], found


def test_a_failed_point_shows_the_command_to_rerun_it(tmp_path: Path) -> None:
    class Broken(thalweg.Controller):
        def on_ack(self, sample: thalweg.Sample) -> None:
            raise RuntimeError("by design")

        def on_loss(self, sample: thalweg.Sample) -> None:
            pass

    sweep: dict[str, Any] = {"scenario": "two-flows", "set": ["duration=2 s", "warmup=0 s"], "schemes": ["cubic", "broken"], "reps": 1}
    sweep["grid"] = {"link.left-right.delay": ["5 ms"]}
    done = thalweg.sweep(sweep, tmp_path, controllers={"broken": Broken})
    (failed,) = done.failed
    assert "raised an exception" in failed["why"] and "by design" in str(done.cause)
    assert failed["call"] in str(done)
    with pytest.raises(thalweg.RunError, match="broken") as caught:
        eval(failed["call"].replace("...", "Broken"), {"thalweg": thalweg, "Broken": Broken})
    assert "by design" in str(caught.value.__cause__)


def test_other_values_than_controllers_seeds_and_sweeps_are_refused(tmp_path: Path) -> None:
    not_one: Any = int
    with pytest.raises(TypeError, match="class `int` does not derive from `thalweg.Controller`"):
        thalweg.compare("two-flows", [not_one])
    for seed, reps, reported in ((-1, 1, "seed=-1"), (2**64, 1, "seed="), (1, 0, "reps=0")):
        with pytest.raises(thalweg.ScenarioError, match=reported):
            thalweg.run("two-flows", seed=seed, reps=reps)
    with pytest.raises(thalweg.ScenarioError, match="--> sweep:"):
        thalweg.sweep({"scenario": "two-flows", "grid": {"link.left-right.dely": ["5 ms"]}}, tmp_path)


@dataclasses.dataclass
class WithFields(Aimd):
    """A field with a default is an attribute of the class."""

    window: float = 64.0
    increase: float = 1.0


@dataclasses.dataclass(slots=True)
class WithSlots(Controller):
    window: float

    def on_ack(self, sample: Sample) -> None:
        self.window += 1


class WithProperty(Aimd):
    @property
    def window(self) -> float:
        return 200.0

    @window.setter
    def window(self, window: float) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("window", type("Fixed", (Aimd,), {"window": 300})),
        ("window", WithFields),
        ("window", functools.partial(WithSlots, 20.0)),
        ("window", WithProperty),
        ("window", type("Policy", (thalweg.envs.controller(lambda observation: 0.0),), {"window": 64})),
        ("pacing_rate", type("Paced", (Aimd,), {"pacing_rate": 1e6})),
        ("rng", type("Random", (Aimd,), {"rng": None})),
    ],
)
def test_a_class_conceals_no_decision(name: str, of: Callable[[], Controller]) -> None:
    for call in (lambda: thalweg.run(PATH, controllers={"aimd": of}), lambda: thalweg.score(of, {"path": "two-flows"}, seed=1)):
        with pytest.raises(thalweg.Error) as raised:
            call()
        # The class of what a factory returns is known only during the run.
        assert f"defines `{name}`" in str(raised.value.__cause__ or raised.value)


def test_annotations_and_assignments_are_decisions() -> None:
    class Annotated(Controller):
        window: float

        def __init__(self) -> None:
            self.window = 64
            self.pacing_rate = 5e6

        def on_ack(self, sample: Sample) -> None:
            self.window = 20

        def on_loss(self, sample: Sample) -> None:
            pass

    windows = set(thalweg.run(PATH, controllers={"aimd": Annotated}).series("window")["value"])
    assert windows <= {64.0, 20.0} and 20.0 in windows
