"""Saved runs of controllers: reused by calls with the same key only."""

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import thalweg
import thalweg.envs
from thalweg import Controller, Sample

SCENARIO = {
    "duration": "1 s",
    "link": [{"between": ["a", "b"], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "1 bdp"}],
    "flow": [{"from": "a", "to": "b", "scheme": "mine"}],
}


class Additive(Controller):
    acknowledgements = 0

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def on_ack(self, sample: Sample) -> None:
        Additive.acknowledgements += 1
        self.window = 2 + self.gain

    def on_loss(self, sample: Sample) -> None:
        self.window = 2.0


def run_sweep(folder: Path, make: Callable[[], Controller], **options: Any) -> tuple[float, bool]:
    """Returns the goodput of a sweep with this controller, and whether anything was simulated for it."""
    before = Additive.acknowledgements
    sweep = thalweg.sweep({"scenario": SCENARIO, "grid": {"link.1.delay": ["5 ms", "10 ms"]}}, folder, controllers={"mine": make}, **options)
    assert sweep.failed == []
    return float(numpy.sum(sweep.means["goodput_bps"])), Additive.acknowledgements > before


def test_runs_are_reused_by_calls_with_the_same_key(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, is_made = run_sweep(tmp_path, Additive, key="1")
        assert is_made
        assert run_sweep(tmp_path, Additive, key="1") == (first, False)
        # The program keeps the key: it says that this is the same controller.
        assert run_sweep(tmp_path, functools.partial(Additive, 4.0), key="1") == (first, False)
        second, is_made = run_sweep(tmp_path, functools.partial(Additive, 4.0), key="2")
        assert is_made and second > first
        assert run_sweep(tmp_path, Additive, key="1") == (first, False)


def test_without_a_key_each_call_makes_its_runs(tmp_path: Path) -> None:
    for gain in (1.0, 1.0, 4.0):
        with pytest.warns(thalweg.ScenarioWarning, match="runs of `mine` are not reused by later calls: give them a key"):
            assert run_sweep(tmp_path, functools.partial(Additive, gain))[1]


def test_a_retrained_policy_has_its_own_runs(tmp_path: Path) -> None:
    weights = {"gain": -0.5}
    policy = thalweg.envs.controller(lambda observed: weights["gain"])
    results = []
    for gain in (-0.5, 0.1):
        weights["gain"] = gain
        with pytest.warns(thalweg.ScenarioWarning, match="give them a key"):
            results.append(run_sweep(tmp_path, policy)[0])
    assert results[0] != results[1]


def test_shards_need_a_key(tmp_path: Path) -> None:
    with pytest.raises(thalweg.ScenarioError, match="need the same key"):
        run_sweep(tmp_path, Additive, shard=(1, 2))
    assert not tmp_path.joinpath("points").exists()
    for number in (1, 2):
        thalweg.sweep(
            {"scenario": SCENARIO, "grid": {"link.1.delay": ["5 ms", "10 ms"]}}, tmp_path, controllers={"mine": Additive}, shard=(number, 2), key="1"
        )
    assert run_sweep(tmp_path, Additive, key="1")[1] is False


@pytest.mark.parametrize("key", ["", 3, b"1"])
def test_a_key_is_a_text(tmp_path: Path, key: Any) -> None:
    with pytest.raises(thalweg.ScenarioError, match="key="):
        run_sweep(tmp_path, Additive, key=key)


def test_hunts_reuse_runs_by_their_key(tmp_path: Path) -> None:
    def hunted(**options: Any) -> int:
        before = Additive.acknowledgements
        thalweg.hunt(Additive, "stall", tmp_path, candidates=2, **options)
        return Additive.acknowledgements - before

    every = hunted(key="1")
    # The worst scenario found is always run again.
    assert hunted(key="1") < every
    assert hunted(key="2") == every
    with pytest.warns(thalweg.ScenarioWarning, match="runs of `additive` are not reused"):
        assert hunted() == every
