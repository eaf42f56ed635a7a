"""Scores of candidate controllers: one number over a battery of paths.

A candidate may use its samples only. It is called on a separate thread without Python frames above it. During the call an audit hook
(PEP 578) refuses to open files, start threads or processes, use the network, import modules, inspect frames or the garbage collector, and
simulate. This prevents accidental cheating in a search. It is not a sandbox for malicious code: run that in a container.
"""

import _thread
import math
import secrets
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _thalweg
from ._errors import ScenarioError, warn_of
from ._toml import Scenario

__all__ = ["BATTERY", "Score", "ScorePart", "mean_and_interval"]


def _path(rate: str, delay: str, queue: str, loss: float = 0.0, flows: int = 1) -> dict[str, Any]:
    link = {"name": "core", "between": ["a", "b"], "rate": rate, "delay": delay, "queue": queue, "loss": loss}
    flow = {"from": "a", "to": "b", "scheme": "cubic", "count": flows, "spread": "500 ms", "overhead": "200 us"}
    return {"duration": "10 s", "warmup": "1 s", "link": [link], "flow": [flow]}


BATTERY: dict[str, Scenario] = {
    "broadband": _path("10 Mbit/s", "20 ms", "1 bdp"),
    "bloated": _path("10 Mbit/s", "20 ms", "5 bdp"),
    "shallow": _path("20 Mbit/s", "20 ms", "0.25 bdp"),
    "lossy": _path("10 Mbit/s", "20 ms", "1 bdp", 0.01),
    "long": _path("10 Mbit/s", "150 ms", "1 bdp"),
    "slow": _path("1 Mbit/s", "25 ms", "2 bdp"),
    "shared": _path("10 Mbit/s", "20 ms", "1 bdp", flows=4),
}
"""Seven scenarios of ten seconds: an ordinary path, large and small buffers, random loss, a long delay, a low rate, and four flows."""

_MIN_RATIO = 1e-3
# Student's t of a 95 % interval, by degrees of freedom from 1 on.
_STUDENT_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True)
class ScorePart:
    """Results of a candidate's flows on one path. Power, goodput and mean one-way delay are ratios to those of the same flows with the
    reference, as geometric means over seeds. The goodput of transfers is the inverse of their mean completion time."""

    power: float
    goodput: float
    delay: float
    retransmissions: float
    """Share of the candidate's packets that were retransmitted, not a ratio to the reference."""
    jain: float | None
    """Jain's index of the candidate's flows, if there are several."""


@dataclass(frozen=True)
class Score:
    """Score of a candidate: its power (goodput over one-way delay, Kleinrock 1979) relative to the reference, as the geometric mean over
    all paths."""

    value: float
    low: float
    """Lower end of the 95 % interval over seeds."""
    high: float
    """Upper end of that interval."""
    parts: dict[str, ScorePart]
    """Results by path."""
    seed: int
    """First seed of all paths; it reproduces the score."""
    runs: int
    """Number of the candidate's runs."""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        lines = [f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"]
        lines += [f"  {name}: power {of.power:.3f}, goodput {of.goodput:.3f}, delay {of.delay:.3f}" for name, of in self.parts.items()]
        return "\n".join(lines)


def mean_and_interval(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Returns the equally weighted mean of the means of groups, and half of its 95 % interval from the variances within the groups;
    infinite if a group has one value. The degrees of freedom are Welch's and Satterthwaite's (Satterthwaite 1946): groups differ in
    variance, and the largest decides."""
    means = [sum(group) / len(group) for group in groups]
    mean = sum(means) / len(means)
    if any(len(group) < 2 for group in groups):
        return mean, math.inf
    squares = [sum((value - mean_of_group) ** 2 for value in group) / (len(group) - 1) / len(group) for group, mean_of_group in zip(groups, means)]
    within = sum(squares)
    weights = sum(square**2 / (len(group) - 1) for square, group in zip(squares, groups))
    if weights == 0:
        return mean, 0.0
    return mean, _student_t(within**2 / weights) * math.sqrt(within) / len(groups)


def _student_t(degrees: float) -> float:
    """Returns the 97.5 % quantile of Student's distribution with at least one degree of freedom, interpolated in 1 / `degrees`."""
    if degrees > len(_STUDENT_T):
        return 1.96 + 2.5 / degrees
    lower = min(int(degrees), len(_STUDENT_T) - 1)
    below, above = _STUDENT_T[lower - 1], _STUDENT_T[lower]
    return above + (below - above) * (1 / degrees - 1 / (lower + 1)) / (1 / lower - 1 / (lower + 1))


_REFUSED_EVENTS = (
    "open", "import", "os.", "subprocess.", "socket.", "ctypes.", "gc.", "mmap.", "pty.", "shutil.", "signal.", "fcntl.", "sqlite3.",
    "sys._getframe", "sys._current", "sys.setprofile", "sys.settrace", "sys.addaudithook", "_thread.", "code.__new__",
)  # fmt: skip
_is_hook_installed = False


def _refuse_event_of_candidate(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_REFUSED_EVENTS) and _thalweg.in_candidate():
        raise PermissionError(f"a candidate may use only its samples: {event} is refused")


def install_audit_hook() -> None:
    """Installs the audit hook for the rest of the process. It affects candidates only."""
    global _is_hook_installed
    if _is_hook_installed:
        return
    _is_hook_installed = True
    sys.addaudithook(_refuse_event_of_candidate)
    if sys.version_info < (3, 12):
        # Earlier versions raise no audit event for threads.
        start = _thread.start_new_thread

        def start_new_thread(*arguments: Any) -> int:
            _refuse_event_of_candidate("_thread.start_new_thread", ())
            return start(*arguments)

        for place, name in ((_thread, "start_new_thread"), (_thread, "start_new"), (threading, "_start_new_thread")):
            setattr(place, name, start_new_thread)


def evaluate_controller(
    compare: Callable[[Scenario, int], dict[str, Any]], battery: Mapping[str, Scenario], seed: int | None
) -> Score:
    """Returns the score of the candidate; `compare` runs it on a scenario beside the reference and returns the document."""
    first = secrets.randbits(48) if seed is None else seed
    install_audit_hook()
    parts: dict[str, ScorePart] = {}
    powers: list[list[float]] = []
    runs = 0
    for name, scenario in battery.items():
        document = compare(scenario, first)
        candidate_runs, other = _candidate_totals(name, document)
        goodput = [_log_goodput(mine, its, document["duration_s"]) for mine, its in zip(candidate_runs, other)]
        # A candidate that delivers nothing has no delay; it must not gain from this.
        delay = [_log_ratio(mine["delay_mean_s"] or its["delay_mean_s"], its["delay_mean_s"]) for mine, its in zip(candidate_runs, other)]
        powers.append([log_goodput - log_delay for log_goodput, log_delay in zip(goodput, delay)])
        retransmitted = sum(of["retransmissions"] or 0 for of in candidate_runs) / max(sum(of["sent_packets"] or 0 for of in candidate_runs), 1)
        jain = [of["jain"] for of in candidate_runs if of["jain"] is not None]
        parts[name] = ScorePart(
            power=_geometric_mean(powers[-1]),
            goodput=_geometric_mean(goodput),
            delay=_geometric_mean(delay),
            retransmissions=retransmitted,
            jain=sum(jain) / len(jain) if jain else None,
        )
        runs += len(candidate_runs)
    mean, half = mean_and_interval(powers)
    low, high = math.exp(mean - half), math.exp(mean + half) if half < 700 else math.inf
    return Score(math.exp(mean), low, high, parts, first, runs)


def _candidate_totals(path: str, document: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the metrics of the candidate's flows in each run, and of the same flows with the reference. Runs in which the reference
    delivered nothing in the measured time have no ratio, and are left out with a warning."""
    candidate, reference = document["schemes"]
    groups = {group["name"] for group in candidate["runs"][0]["groups"] if group["scheme"] == candidate["scheme"]}
    if not groups:
        raise ScenarioError(f"no flow of the path `{path}` of the battery has a scheme that the candidate replaces")
    pairs = [(_totals(mine, groups), _totals(its, groups)) for mine, its in zip(candidate["runs"], reference["runs"])]
    kept = [(mine, its) for mine, its in pairs if its["goodput_bps"]]
    if len(kept) < len(pairs):
        nothing = f"on the path `{path}` of the battery `{reference['scheme']}` delivers nothing between the warm-up and the end"
        if not kept:
            raise ScenarioError(f"{nothing}: there is nothing to compare the candidate with")
        warn_of([f"{nothing} in {len(pairs) - len(kept)} of {len(pairs)} runs: these do not count"])
    return [mine for mine, _ in kept], [its for _, its in kept]


def _totals(run: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Returns the metrics of these groups of a run together."""
    groups = [group for group in run["groups"] if group["name"] in names]
    if len(groups) == len(run["groups"]):
        return {"jain": None, **run["totals"], "groups": groups}
    weights = [(group["delay_mean_s"], group["delay_samples"]) for group in groups if group["delay_samples"]]
    samples = sum(count for _, count in weights)
    goodputs = [flow["goodput_bps"] or 0 for flow in run["flows"] if flow["group"] in names and flow["wanted_more"]]
    squares = sum(goodput**2 for goodput in goodputs)
    return {
        "goodput_bps": sum(group["goodput_bps"] or 0 for group in groups),
        "delay_mean_s": sum(mean * count for mean, count in weights) / samples if samples else None,
        "retransmissions": sum(group["retransmissions"] or 0 for group in groups),
        "sent_packets": sum(group["sent_packets"] or 0 for group in groups),
        "groups": groups,
        "jain": None if len(goodputs) < 2 else sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else 1.0,
    }


def _log_goodput(candidate: Mapping[str, Any], reference: Mapping[str, Any], duration: float) -> float:
    """Returns the logarithm of the ratio of goodputs. That of transfers is the same however long they take: for groups with transfers it
    is the inverse ratio of the mean completion times, with as much weight together as the other groups."""
    pairs = list(zip(candidate["groups"], reference["groups"]))
    transfers = [_log_speed(mine, its, duration) for mine, its in pairs if _transfers(mine) or _transfers(its)]
    if not transfers:
        return _log_ratio(candidate["goodput_bps"], reference["goodput_bps"])
    logarithms = [sum(transfers) / len(transfers)]
    if len(transfers) < len(pairs):
        others = [(mine["goodput_bps"] or 0, its["goodput_bps"] or 0) for mine, its in pairs if not (_transfers(mine) or _transfers(its))]
        logarithms.append(_log_ratio(sum(mine for mine, _ in others), sum(its for _, its in others)))
    return sum(logarithms) / len(logarithms)


def _transfers(group: Mapping[str, Any]) -> float:
    return (group.get("completions") or 0) + (group.get("unfinished") or 0)


def _log_speed(candidate: Mapping[str, Any], reference: Mapping[str, Any], duration: float) -> float:
    """Returns the logarithm of the inverse ratio of the mean completion times of a group's transfers: of the duration where none
    completes. A candidate that leaves more of them unfinished must not gain from this."""
    completions = [of.get("completions") or 0 for of in (candidate, reference)]
    if not any(completions):
        return _log_ratio(candidate["goodput_bps"], reference["goodput_bps"])
    times = [of["completion_mean_s"] if count else duration for of, count in zip((candidate, reference), completions)]
    finished = [count / _transfers(of) for of, count in zip((candidate, reference), completions) if count]
    share = min(1.0, finished[0] / finished[1]) if len(finished) == 2 else 1.0
    return _log_ratio(times[1] * share, times[0])


def _log_ratio(candidate: float | None, reference: float | None) -> float:
    """Returns the logarithm of the ratio, of at least 0.001, of candidate to reference; 0 without a reference."""
    if not reference:
        return 0.0
    return math.log(max((candidate or 0.0) / reference, _MIN_RATIO))


def _geometric_mean(logarithms: Sequence[float]) -> float:
    return math.exp(sum(logarithms) / len(logarithms))
