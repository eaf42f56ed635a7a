"""Scoring of candidates."""

import gc
import math
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import thalweg
from thalweg import Controller, Sample
from thalweg._score import _log_goodput, _log_speed, _totals, evaluate_controller, mean_and_interval

ONE = {"plain": thalweg.BATTERY["broadband"]}


class Aimd(Controller):
    def on_ack(self, sample: Sample) -> None:
        if not sample.recovering:
            self.window += 1

    def on_loss(self, sample: Sample) -> None:
        self.window = max(2.0, self.window / 2)


class Timid(Aimd):
    def on_ack(self, sample: Sample) -> None:
        self.window = 2.0


def test_a_score_is_a_number_with_its_interval_and_parts() -> None:
    score = thalweg.score(Aimd, reps=2, seed=4)
    assert list(score.parts) == list(thalweg.BATTERY) and score.runs == 14
    assert score.low < score.value < score.high and 0.5 < score.value < 3
    of_parts = math.prod(part.power for part in score.parts.values()) ** (1 / len(score.parts))
    assert score.value == pytest.approx(of_parts) == float(score)
    for part in score.parts.values():
        assert part.power == pytest.approx(part.goodput / part.delay)
    assert score.parts["shared"].jain is not None and score.parts["plain" if "plain" in score.parts else "slow"].jain is None
    assert "lossy: power" in str(score)
    assert thalweg.score(Aimd, reps=2, seed=4) == score
    # The reference scores 1, and a controller that hardly sends scores less.
    assert thalweg.score(Timid, ONE, seed=1).value < 0.5


def test_seeds_are_drawn_and_reported() -> None:
    one, other = (thalweg.score(Aimd, ONE) for _ in range(2))
    assert one.seed != other.seed
    assert thalweg.score(Aimd, ONE, seed=one.seed) == one


def test_the_interval_is_that_of_students_t() -> None:
    # Two groups of three with variance 1: the standard error of the mean of means is sqrt(2 / 3) / 2, with 4 degrees of freedom.
    mean, half = mean_and_interval([[1, 2, 3], [11, 12, 13]])
    assert mean == 7 and half == pytest.approx(2.776 * math.sqrt(2 / 3) / 2)
    assert mean_and_interval([[1, 2, 3], [5]]) == (3.5, math.inf)
    assert mean_and_interval([[1, 1], [5, 5]]) == (3, 0)
    # All variance is in one group of two: one degree of freedom.
    mean, half = mean_and_interval([[1, 3], [5, 5], [6, 6]])
    assert half == pytest.approx(12.706 / 3)
    # 2 and 0.5 in groups of three: (2.5 / 3)^2 / ((2 / 3)^2 / 2 + (0.5 / 3)^2 / 2) = 2.94 degrees; Student's t is 3.219.
    spread = math.sqrt(2), math.sqrt(0.5)
    mean, half = mean_and_interval([[-of, 0, of] for of in spread])
    assert half == pytest.approx(3.219 * math.sqrt(2.5 / 3) / 2, rel=0.005)


def test_the_interval_covers_groups_of_unequal_variance() -> None:
    # One random group of seven: by degrees of freedom as for equal variances, 71 to 75 % of the intervals contained the mean.
    normal = random.Random(1).gauss
    intervals = [mean_and_interval([[normal(0, 1), normal(0, 1)], *([[0, 0]] * 6)]) for _ in range(2000)]
    assert 0.93 < sum(abs(mean) <= half for mean, half in intervals) / 2000 < 0.97


def test_a_part_has_the_results_of_the_candidates_flows() -> None:
    lossy: dict[str, Any] = {**thalweg.BATTERY["lossy"], "duration": "4 s"}  # type: ignore[dict-item]
    (flow,) = lossy["flow"]
    mine = [{**flow, "name": "one", "count": 2}, {**flow, "name": "two"}]
    udp = {"name": "cross", "from": "a", "to": "b", "scheme": "udp", "workload": {"kind": "cbr", "rate": "5 Mbit/s"}}
    path = {**lossy, "flow": [*mine, udp]}
    part = thalweg.score(Timid, {"x": path}, seed=1, reps=2).parts["x"]
    compared = thalweg.compare(path, ["timid", "cubic"], flows=["one", "two"], seed=1, reps=2, controllers={"timid": Timid})
    rows = [{key: row[key] for key in row} for row in compared.groups if row["group"] != "cross"]
    sums: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        of = sums.setdefault((row["compared"], row["seed"]), {"goodput": 0, "delay": 0, "samples": 0})
        of["goodput"] += row["goodput_bps"]
        of["delay"] += row["delay_mean_s"] * row["delay_samples"]
        of["samples"] += row["delay_samples"]
    goodput = math.prod(sums["timid", seed]["goodput"] / sums["cubic", seed]["goodput"] for seed in (1, 2)) ** 0.5
    delays = {key: of["delay"] / of["samples"] for key, of in sums.items()}
    delay = math.prod(delays["timid", seed] / delays["cubic", seed] for seed in (1, 2)) ** 0.5
    assert (part.goodput, part.delay, part.power) == pytest.approx((goodput, delay, goodput / delay))
    retransmitted, sent = (sum(row[key] for row in rows if row["compared"] == "timid") for key in ("retransmissions", "sent_packets"))
    assert part.retransmissions == pytest.approx(retransmitted / sent)
    assert part.jain == pytest.approx(compared.document["compared"]["schemes"][0]["metrics"]["jain"]["mean"])
    # The same numbers from the totals of the network, where there are no other flows.
    alone = {**lossy, "flow": mine}
    whole = thalweg.compare(alone, ["timid", "cubic"], seed=1, controllers={"timid": Timid}).document["schemes"]
    names = {"one", "two"}
    for of in whole:
        run = of["runs"][0]
        kept = {key: run["totals"][key] for key in ("goodput_bps", "delay_mean_s", "retransmissions", "sent_packets", "jain")}
        found = _totals({**run, "groups": [*run["groups"], {"name": "other"}]}, names)
        assert found.pop("groups") == run["groups"] and found == pytest.approx(kept)


def test_a_path_without_the_candidate_is_refused() -> None:
    with pytest.warns(thalweg.ScenarioWarning, match="no flows"), pytest.raises(thalweg.ScenarioError, match="no flow of the path `x`"):
        thalweg.score(Aimd, {**ONE, "x": {}}, reps=1)


def test_runs_in_which_the_reference_delivers_nothing_do_not_count() -> None:
    plain: dict[str, Any] = {**ONE["plain"]}  # type: ignore[dict-item]
    (flow,) = plain["flow"]
    short = {**flow, "workload": {"kind": "transfer", "size": "10 kB"}}
    with pytest.raises(thalweg.ScenarioError, match="`x` of the battery `cubic` delivers nothing between the warm-up and the end"):
        thalweg.score(Aimd, {"x": {**plain, "flow": [short]}}, reps=1)

    def compared(scenario: Any, first: int) -> dict[str, Any]:
        def run(goodput: float) -> dict[str, Any]:
            totals = {"goodput_bps": goodput, "delay_mean_s": 0.1 if goodput else None, "retransmissions": 0, "sent_packets": 1}
            return {"groups": [{"name": "web", "scheme": "candidate"}], "flows": [], "totals": totals}

        runs = {"candidate": [1e6, 2e6, 3e6], "cubic": [1e6, 0, 1e6]}
        schemes = [{"scheme": name, "runs": [run(goodput) for goodput in of]} for name, of in runs.items()]
        return {"duration_s": 10.0, "schemes": schemes}

    with pytest.warns(thalweg.ScenarioWarning, match="in 1 of 3 runs: these do not count"):
        score = evaluate_controller(compared, ONE, 1)
    assert score.runs == 2 and score.value == pytest.approx(math.sqrt(3))


def test_transfers_score_by_their_completion_times() -> None:
    plain: dict[str, Any] = {**ONE["plain"], "warmup": 0}  # type: ignore[dict-item]
    (flow,) = plain["flow"]
    transfer = {**flow, "name": "file", "workload": {"kind": "transfer", "size": "500 kB"}}
    path = {**plain, "flow": [transfer]}
    part = thalweg.score(Timid, {"x": path}, seed=1).parts["x"]
    compared = thalweg.compare(path, ["timid", "cubic"], seed=1, reps=2, controllers={"timid": Timid}).groups
    times = [{row["seed"]: row["completion_mean_s"] for row in compared if row["compared"] == scheme} for scheme in ("cubic", "timid")]
    # The goodput over the duration is the same.
    assert part.goodput == pytest.approx(math.prod(times[0][seed] / times[1][seed] for seed in (1, 2)) ** 0.5) and part.goodput < 0.2
    assert thalweg.score(Timid, {"x": path}, seed=1).value < 1
    # The other flow counts as much as the transfers.
    mixed = thalweg.score(Timid, {"x": {**plain, "flow": [transfer, {**flow, "name": "bulk"}]}}, seed=1).parts["x"]
    assert 0.05 < mixed.goodput < 0.5


def test_unfinished_transfers_are_not_a_gain() -> None:
    def group(completions: int, unfinished: int, mean: float | None, goodput: float = 1e6) -> dict[str, Any]:
        return {"completions": completions, "unfinished": unfinished, "completion_mean_s": mean, "goodput_bps": goodput}

    half = math.log(0.5)
    assert _log_speed(group(4, 0, 2.0), group(4, 0, 1.0), 10) == pytest.approx(half)
    assert _log_speed(group(2, 2, 1.0), group(4, 0, 1.0), 10) == pytest.approx(half)
    # One that finishes more gains by its times alone.
    assert _log_speed(group(4, 0, 1.0), group(2, 2, 1.0), 10) == 0
    # Nothing finished takes at least the duration; with neither, goodput decides.
    assert _log_speed(group(0, 4, None), group(4, 0, 5.0), 10) == pytest.approx(half)
    assert _log_speed(group(4, 0, 5.0), group(0, 4, None), 10) == pytest.approx(-half)
    assert _log_speed(group(0, 4, None, 1e6), group(0, 4, None, 2e6), 10) == pytest.approx(half)
    bulk, fast = group(0, 0, None, 1e6), group(1, 0, 1.0)
    one, other = ({"groups": of, "goodput_bps": 5e6} for of in ([fast, bulk], [group(1, 0, 0.5), {**bulk, "goodput_bps": 4e6}]))
    assert _log_goodput(one, other, 10) == pytest.approx((half + 2 * half) / 2) and _log_goodput(other, other, 10) == 0


def peek_at_frames() -> object:
    """The frames that an exception leads to: the candidate's own alone."""
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame if error.__traceback__ else None
        names = []
        while frame is not None:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        assert names == ["peek_at_frames", "<lambda>", "on_ack"], names
    raise PermissionError("there is nothing above")


CHEATS: list[Callable[[], Any]] = [
    lambda: thalweg.run("two-flows"),
    lambda: thalweg.score(Aimd),
    lambda: thalweg._thalweg.main(["thalweg", "run", "two-flows"]),
    lambda: gc.get_objects(),
    lambda: gc.get_referrers(Aimd),
    lambda: sys._getframe(),
    lambda: sys._current_frames(),
    lambda: threading.Thread(target=print).start(),
    lambda: open("/proc/self/maps", encoding="utf-8"),
    lambda: __import__("os").system("true"),
    lambda: __import__("socket").socket(),
    lambda: __import__("antigravity"),
    lambda: peek_at_frames(),
]


@pytest.mark.parametrize("number", range(len(CHEATS)))
def test_a_candidate_cannot_see_the_future(number: int) -> None:
    import os
    import socket

    assert os and socket  # What is imported already is not imported again.

    class Cheat(Aimd):
        def on_ack(self, sample: Sample) -> None:
            CHEATS[number]()

    with pytest.raises(thalweg.RunError) as caught:
        thalweg.score(Cheat, ONE)
    assert isinstance(caught.value.__cause__, PermissionError), caught.value.__cause__


def test_a_candidate_is_handed_numbers_alone() -> None:
    kinds: set[type] = set()

    class Looking(Aimd):
        def on_ack(self, sample: Sample) -> None:
            for of in (self, sample):
                kinds.update(type(getattr(of, name)) for name in dir(of) if not name.startswith("_") and not callable(getattr(of, name)))
            super().on_ack(sample)

    thalweg.score(Looking, ONE, reps=1)
    assert kinds <= {bool, int, float, str, type(None), random.Random}


def test_a_candidate_that_never_returns_is_interrupted() -> None:
    class Stuck(Aimd):
        def on_ack(self, sample: Sample) -> None:
            while sample.now > 1:
                pass

    begun = time.monotonic()
    with pytest.raises(thalweg.TimeLimitError, match="longer than limit=0.5 seconds"):
        thalweg.score(Stuck, ONE, limit=0.5)
    assert time.monotonic() - begun < 30
    assert thalweg.score(Aimd, ONE).runs == 2


def test_the_time_of_the_reference_does_not_count() -> None:
    plain: dict[str, Any] = {**ONE["plain"]}  # type: ignore[dict-item]
    fast = {**plain, "duration": "30 s", "link": [{**plain["link"][0], "rate": "500 Mbit/s"}]}
    started = time.monotonic()
    thalweg.run(fast)
    # The candidate sends two packets a round trip.
    limit = (time.monotonic() - started) / 4
    assert thalweg.score(Timid, {"fast": fast}, reps=1, limit=limit).value < 0.1


def test_schemes_that_are_not_candidates_may_go_on() -> None:
    assert thalweg.score(Aimd, ONE).runs == 2
    assert len(gc.get_objects()) > 0 and thalweg.run("two-flows", set={"duration": "6 s"}).fingerprint
    with pytest.raises(thalweg.ScenarioError, match="at least one"):
        thalweg.score(Aimd, {})
