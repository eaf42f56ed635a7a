"""Environments for reinforcement learning: an agent sets the window of a flow, and observes its sender's samples.

>>> import thalweg.envs
>>> envs = thalweg.envs.VectorEnv("two-flows", 64, set={"flow.1.scheme": "agent"})
>>> observations, infos = envs.reset(seed=1)
>>> observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())

All simulations are advanced in this process, on all cores, each to the next decision of its agent. It needs gymnasium and
numpy: `pip install '.[envs]'` in the repository, or `pip install 'gymnasium>=1.1,<2' 'numpy>=2'`.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, SupportsIndex, TypeAlias

import gymnasium
import numpy
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _arguments as arguments
from . import MAX_REPS, Controller, Controllers, Result, Sample, ScenarioError, Table, _thalweg, compare
from ._episodes import Vary as Vary
from ._episodes import checked, episode, generators
from ._errors import Error, UnknownNameError, error_from_messages, issue_warnings
from ._rendering import FRAME_STEPS, Past, checked_mode, line
from ._results import join_tables
from ._toml import Scenario, absolute_changes, loaded, toml_changes

__all__ = ["COLUMNS", "FEATURES", "FRAME_STEPS", "Baselines", "Env", "VectorEnv", "controller", "power"]

Array: TypeAlias = NDArray[Any]
Samples: TypeAlias = Mapping[str, Array]
"""Samples of agents for a step: an array for each column of `COLUMNS`."""

COLUMNS: tuple[str, ...] = tuple(_thalweg.Environments.columns)
"""Columns of samples: the fields of `thalweg.Sample`, with `path_rate` and `path_rtt` of the empty path, and `over`."""

FEATURES = ("queueing", "trend", "loss", "marks", "delivered", "window", "base")
"""Features of an observation: the queueing delay and its change, in minimum round trips; the shares of packets lost and marked; packets
acknowledged, in windows; the logarithm of the window (2^10 is 1), and of the minimum round trip (100 ms is 1, 10 ms 0)."""

_BOUNDS = ((0.0, 10.0), (-10.0, 10.0), (0.0, 1.0), (0.0, 1.0), (0.0, 10.0), (0.0, 3.0), (-4.0, 4.0))
_LOW = numpy.array([low for low, _ in _BOUNDS], dtype=numpy.float32)
_HIGH = numpy.array([high for _, high in _BOUNDS], dtype=numpy.float32)
_MOST_WINDOW = 2.0**20
_PACE = 1.25


def _each(of: Callable[[float], float], values: Array) -> Array:
    """Returns a function's values: those of numpy may differ in the last digit from the ones of one environment, and between processors."""
    return numpy.array([of(value) for value in values.ravel().tolist()]).reshape(values.shape)


def _power_of_two(exponent: float) -> float:
    return float(2.0**exponent)


def _features(seen: Samples, last: Array) -> tuple[Array, Array]:
    """Returns the observations, and the round-trip times for comparison in the next step. `last` are those of the previous step."""
    base = seen["min_rtt"]
    known = base > 0
    base = numpy.where(known, base, 1.0)
    rtt = numpy.where(numpy.isnan(seen["rtt"]), last, seen["rtt"])
    rtt = numpy.where(known & ~numpy.isnan(rtt), rtt, base)
    before = numpy.where(numpy.isnan(last), rtt, last)
    acked = seen["acked"]
    columns = (
        rtt / base - 1,
        (rtt - before) / base,
        seen["lost"] / numpy.maximum(acked + seen["lost"], 1),
        seen["marks"] / numpy.maximum(acked, 1),
        acked / numpy.maximum(seen["window"], 1),
        # There is none before the flow starts.
        _each(math.log2, numpy.maximum(seen["window"], 1)) / 10,
        numpy.where(known, _each(math.log10, base) + 2, 0.0),
    )
    stacked = numpy.stack(columns, axis=-1)
    return numpy.clip(stacked, _LOW, _HIGH, dtype=numpy.float32, casting="unsafe"), numpy.where(known, rtt, numpy.nan)


def _decide(before: Array, seen: Samples, actions: Array, pace: bool) -> tuple[Array, Array]:
    """Returns the windows and the pacing rates of actions, after these windows. Without one the flow's own is multiplied. A flow that has
    not started has none: NaN is not a decision."""
    started = numpy.where(seen["window"] > 0, seen["window"], numpy.nan)
    windows = numpy.clip(numpy.where(numpy.isnan(before), started, before) * _each(_power_of_two, actions), 1.0, _MOST_WINDOW)
    if not pace:
        return windows, numpy.full_like(windows, numpy.nan)
    # No pacing before the first round-trip sample.
    rates = _PACE * windows * seen["segment"] * 8 / seen["smoothed_rtt"]
    return windows, numpy.maximum(rates, 1.0)


def power(seen: Samples) -> Array:
    """Default reward: goodput as a share of the path's rate (without its schedule), times the ratio of the empty path's round trip to the measured one, less the
    share of packets lost. From -1 to 1."""
    throughput = seen["acked_bytes"] * 8 / numpy.maximum(seen["interval"], 1e-9) / seen["path_rate"]
    delay = numpy.where(numpy.isnan(seen["rtt"]), 0.0, seen["path_rtt"] / seen["rtt"])
    lost = seen["lost"] / numpy.maximum(seen["acked"] + seen["lost"], 1)
    return numpy.asarray(numpy.clip(numpy.nan_to_num(throughput), 0.0, 1.0) * numpy.clip(delay, 0.0, 1.0) - lost)


# The same for one simulation, with plain numbers: arrays of length one cost a hundred times as much.

_One: TypeAlias = Mapping[str, Any]


def _features_of_one(seen: _One, last: float) -> tuple[list[float], float]:
    acked, lost = seen["acked"], seen["lost"]
    least: float = seen["min_rtt"] or 0.0
    known = least > 0
    base = least if known else 1.0
    rtt: float = last if seen["rtt"] is None else seen["rtt"]
    rtt = rtt if known and not math.isnan(rtt) else base
    before = rtt if math.isnan(last) else last
    values = (
        rtt / base - 1,
        (rtt - before) / base,
        lost / max(acked + lost, 1),
        seen["marks"] / max(acked, 1),
        acked / max(seen["window"], 1),
        math.log2(max(seen["window"], 1)) / 10,
        math.log10(base) + 2 if known else 0.0,
    )
    return [min(max(value, low), high) for value, (low, high) in zip(values, _BOUNDS)], rtt if known else math.nan


def _decide_for_one(before: float, seen: _One, action: float, pace: bool) -> tuple[float, float]:
    window = seen["window"] if math.isnan(before) else before
    if not window:
        return math.nan, math.nan
    window = min(max(window * _power_of_two(action), 1.0), _MOST_WINDOW)
    if not pace or seen["smoothed_rtt"] is None:
        return window, math.nan
    return window, max(_PACE * window * seen["segment"] * 8 / seen["smoothed_rtt"], 1.0)


def _power_of_one(seen: _One) -> float:
    rate, rtt = seen["path_rate"], seen["rtt"]
    throughput = seen["acked_bytes"] * 8 / max(seen["interval"], 1e-9) / rate if rate else 0.0
    delay = seen["path_rtt"] / rtt if rtt and seen["path_rtt"] else 0.0
    lost = seen["lost"] / max(seen["acked"] + seen["lost"], 1)
    return float(min(max(throughput, 0.0), 1.0) * min(max(delay, 0.0), 1.0) - lost)


def _known(cells: Sequence[float]) -> dict[str, Any]:
    """Returns the samples of one agent, by name; None if unknown, as in `thalweg.Sample`."""
    return {name: None if cell != cell else cell for name, cell in zip(COLUMNS, cells)}


def _most_steps(*limits: SupportsIndex | None) -> int | None:
    """Checks limits of the steps of an episode; returns the smallest."""
    known = [arguments.integer("steps", limit, 1, 2**63 - 1) for limit in limits if limit is not None]
    return min(known, default=None)


def rewarded(reward: Callable[[Samples], Array], seen: Samples, used: Array) -> Array:
    """Returns the rewards of all agents by a function, which gets copies of the samples. Those that are not used may be NaN."""
    count = len(used)
    if reward is power:
        return power(seen)
    found = reward({name: of.copy() for name, of in seen.items()})
    try:
        rewards: Array = numpy.asarray(found, dtype=numpy.float64)
    except (TypeError, ValueError):
        rewards = numpy.array(None)
    if rewards.shape != (count,) or not numpy.isfinite(rewards[used]).all():
        shape = getattr(found, "shape", None)
        what = f"{found!r}" if shape is None or shape == (count,) else f"an array of shape {tuple(shape)}"
        raise ScenarioError(f"reward returns an array of shape ({count},), a finite number for each agent, and not {what}")
    return rewards


class _Simulations:
    """Simulations that stop where their agents decide."""

    def __init__(
        self,
        scenario: Scenario,
        set: Mapping[str, Any] | Sequence[str] | None,
        count: int,
        interval: float | None,
        longest: float,
        delay: float,
        jobs: SupportsIndex | None,
        ecn: str | None,
        vary: Vary | None = None,
        warn: bool = True,
    ) -> None:
        interval = None if interval is None else arguments.seconds("interval", interval)
        longest, delay = arguments.seconds("longest", longest), arguments.seconds("delay", delay, or_zero=True)
        arguments.choice("ecn", ecn, arguments.ECN)
        self.scenario = loaded(scenario)
        self.sets = self.kept(toml_changes(set))
        if any(change.partition("=")[0].strip() == "seed" for change in self.sets):
            raise ScenarioError("set: `seed` has no effect: `reset` takes the seed of episodes")
        threads = None if jobs is None else arguments.integer("jobs", jobs, 1, 2**16)
        name, text = self.scenario.name, self.scenario.text
        native, code, messages = _thalweg.Environments.new(name, text, self.sets, count, interval, longest, delay, threads, ecn)
        if native is None:
            raise error_from_messages(code, messages)
        if warn:
            issue_warnings(messages)
        self._native, self._interval, self._longest, self._ecn = native, interval, longest, ecn
        self.names = native.names
        self.agents = len(self.names)
        self._cells = numpy.zeros((count, self.agents, len(COLUMNS)))
        first = {key: of[0] for key, of in (vary or {}).items() if not callable(of)}
        self._varied = list(first)
        if first:
            try:
                self.length(0, toml_changes(first), None)
            except UnknownNameError:
                raise
            except ScenarioError:
                # They may be valid together with the values of functions.
                pass
        self._varied = list(vary or {})

    def kept(self, sets: Iterable[str]) -> list[str]:
        """Returns changes that mean the same files in any working directory."""
        return absolute_changes(sets, self.scenario.folder)

    def reset(self, which: list[int], seeds: list[int], varied: list[list[str]]) -> None:
        self._check(self._native.reset(which, seeds, [self.kept(of) for of in varied], self._cells))

    def step(self, windows: Array, rates: Array, begun: Sequence[int] = ()) -> None:
        """Advances all simulations but those whose episodes have just begun."""
        contiguous = [numpy.ascontiguousarray(array, dtype=numpy.float64) for array in (windows, rates)]
        self._check(self._native.step(contiguous[0], contiguous[1], begun, self._cells))

    def _check(self, status: tuple[int, Sequence[_thalweg.Message]]) -> None:
        if status[0] != 0:
            raise self._error(*status)

    def _error(self, code: int, messages: Sequence[_thalweg.Message]) -> Error:
        def place(found: re.Match[str]) -> str:
            # Varied keys follow the changes of `set`.
            number = int(found[1]) - 1 - len(self.sets)
            return f"--> vary `{self._varied[number]}`" if 0 <= number < len(self._varied) else found[0]

        return error_from_messages(code, messages, shown=lambda text: re.sub(r"--> set (\d+)", place, text))

    def reset_one(self, seed: int, varied: list[str]) -> dict[str, Any]:
        """Begins a new episode of the only simulation, which has one agent; returns its sample."""
        cells, code, messages = self._native.reset_one(seed, self.kept(varied))
        self._check((code, messages))
        return _known(cells)

    def step_one(self, window: float, rate: float) -> dict[str, Any]:
        """Takes the decision of the only agent; returns its next sample."""
        cells, code, messages = self._native.step_one(window, rate)
        self._check((code, messages))
        return _known(cells)

    @cached_property
    def _single(self) -> "_Simulations":
        """One more simulation of the same scenario, to measure lengths with."""
        return _Simulations(self.scenario, self.sets, 1, self._interval, self._longest, 0.0, 1, self._ecn, warn=False)

    def length(self, seed: int, varied: list[str], steps: int | None) -> tuple[float, float]:
        """Returns the duration of an episode and the warm-up of its measurements: none if `steps` shorten it. The first round trip of the flow, and the time before,
        are simulated; each later one counts as a round trip of the empty path."""
        lengths, code, messages = self._native.length(self.kept(varied))
        if lengths is None:
            raise self._error(code, messages)
        duration, warmup, rtt = lengths
        if steps is not None and (self._interval is not None or rtt is not None):
            end = self._single._end(seed, varied, steps, duration, rtt or 0.0)
            if end < duration:
                # Episodes have none, and the scenario's is for its whole duration.
                duration, warmup = end, 0.0
        return duration, warmup if warmup < duration else 0.0

    def _end(self, seed: int, varied: list[str], steps: int, duration: float, rtt: float) -> float:
        """Returns the time of this step, if nothing delays the flow; `duration` or more if the episode ends before."""
        seen, left = self.reset_one(seed, varied), steps
        if self._interval is not None:
            return float(seen["now"]) + left * self._interval
        while left and not seen["min_rtt"] and seen["over"] == 0:
            seen, left = self.step_one(math.nan, math.nan), left - 1
        now = float(seen["now"])
        if seen["over"] == 1 or not left:
            return duration if seen["over"] == 1 else now
        # A round trip has a step at its end, and before it whenever `longest` has passed.
        each = max(math.ceil(rtt / self._longest), 1)
        rounds, rest = divmod(left, each)
        return now + rounds * rtt + (rest * self._longest if rest else 0.0)

    def seen(self, agent: int) -> dict[str, Array]:
        """Returns the last samples of one agent in each simulation."""
        cells = self._cells[:, agent].T.copy()
        return dict(zip(COLUMNS, cells))

    def seen_by_agents(self) -> dict[str, Array]:
        """Returns the last samples of each agent of the first simulation."""
        return dict(zip(COLUMNS, self._cells[0].T.copy()))


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Simulations of a scenario in which one flow has the scheme `agent`, each with an independent random stream.

    An action from -1 to 1 is the base-2 logarithm of the window's change, relative to the last action's window; with `pace` packets are paced at 1.25 windows a round trip.
    An observation has `FEATURES`. A step is a round trip of the flow, but no longer than `longest`, or the `interval` in seconds; an
    action takes effect `delay` seconds later. An episode is truncated after `steps`, or else at the end of the scenario's
    duration, and terminates when the flow has delivered all of its data. By `autoreset_mode` the step after that resets it
    (`AutoresetMode.NEXT_STEP`), or the same one does, whose infos then hold `final_obs` and `final_info` (`SAME_STEP`), or only
    `reset(options={"reset_mask": mask})` (`DISABLED`).

    `vary` changes the scenario in each episode: for a key, as `set` takes them, a list to choose from, or a function of a random
    generator. A scenario file is read once, unless it names other files. `reward` is a function of the samples of all simulations
    (`COLUMNS`), and returns a number for each. Infos hold these samples and the seeds. With
    `ecn="classic"` or "l4s" queues may mark the agent's packets (ECT(0) or ECT(1)); without, the scenario decides. With `render_mode`
    "ansi" `render` returns a line for each, with "rgb_array" a picture of its last `FRAME_STEPS` steps. `max_episode_steps`, which
    `gymnasium.make_vec` passes on, is another limit like `steps`."""

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 20, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        scenario: Scenario,
        num_envs: SupportsIndex = 1,
        *,
        set: Mapping[str, Any] | Sequence[str] | None = None,
        vary: Vary | None = None,
        interval: float | None = None,
        longest: float = 1.0,
        delay: float = 0.0,
        steps: SupportsIndex | None = None,
        pace: bool = True,
        reward: Callable[[Samples], Array] = power,
        jobs: SupportsIndex | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        ecn: str | None = None,
        render_mode: str | None = None,
        max_episode_steps: SupportsIndex | None = None,
    ) -> None:
        self.num_envs = num_envs = arguments.integer("num_envs", num_envs, 1, 2**24)
        self.render_mode = checked_mode(render_mode)
        self._mode = arguments.choice("autoreset_mode", autoreset_mode, list(AutoresetMode))
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.single_observation_space = Box(_LOW, _HIGH)
        self.single_action_space = Box(-1.0, 1.0, (1,))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._vary = checked(vary)
        self._steps = _most_steps(steps, max_episode_steps)
        self._pace, self._reward = arguments.truth("pace", pace), arguments.function("reward", reward)
        self._simulations = _Simulations(scenario, set, num_envs, interval, longest, delay, jobs, ecn, self._vary)
        if self._simulations.agents != 1:
            raise ScenarioError(f"one flow has the scheme `agent` in a VectorEnv, and {self._simulations.agents} have")
        self._generators: list[numpy.random.Generator] = []
        self._seeds = numpy.zeros(num_envs, dtype=numpy.uint64)
        self._taken = numpy.zeros(num_envs, dtype=numpy.int64)
        self._over = numpy.zeros(num_envs, dtype=bool)
        self._last = numpy.full(num_envs, numpy.nan)
        self._windows = numpy.full(num_envs, numpy.nan)
        self._observations = numpy.zeros(self.observation_space.shape or (), dtype=numpy.float32)
        self._seen: dict[str, Array] = {}
        self._ended: tuple[Array, Array, Array, dict[str, Any]] | None = None
        self._pasts = [Past() for _ in range(num_envs)] if self.render_mode == "rgb_array" else []

    def reset(
        self, *, seed: SupportsIndex | Sequence[SupportsIndex | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins new episodes. Simulation i draws its seeds and varied values from stream i of `seed`, or from the first stream of item i
        of a list: all are independent. With a `reset_mask` among the options the other simulations continue."""
        mask = numpy.asarray((options or {}).get("reset_mask", numpy.ones(self.num_envs, dtype=bool)))
        if mask.shape != (self.num_envs,) or mask.dtype != bool:
            raise ScenarioError(f"a reset_mask has a truth value for each of {self.num_envs} environments")
        if not self._seen and not mask.all():
            raise gymnasium.error.ResetNeeded("the first reset is one of all environments")
        if seed is None:
            fresh: list[numpy.random.Generator | None] = [None] * self.num_envs
        elif isinstance(seed, Sequence) or isinstance(seed, numpy.ndarray):
            fresh = [None if of is None else generators(of, 1)[0] for of in seed]
            if len(fresh) != self.num_envs:
                raise ScenarioError(f"there are {self.num_envs} environments and {len(fresh)} seeds")
        else:
            fresh = list(generators(seed, self.num_envs))
        if not self._generators:
            self._generators = generators(None, self.num_envs)
        for number in numpy.flatnonzero(mask):
            self._generators[number] = fresh[number] or self._generators[number]
        self._ended = None
        self._renew(mask)
        return self._observations.copy(), self._infos()

    def _renew(self, mask: Array) -> None:
        """Begins new episodes where the mask is true."""
        seen, self._seen = self._seen, {}
        try:
            self._begin(numpy.flatnonzero(mask).tolist())
        except Exception:
            # The others are where they were. A failed reset of all leaves no episode.
            self._seen = seen if self._ended is not None or not mask.all() else {}
            self._over = self._over | mask
            raise
        self._ended = None
        self._seen = self._simulations.seen(0)
        self._remember()
        fresh, last = _features(self._seen, numpy.full(self.num_envs, numpy.nan))
        self._observations = numpy.where(mask[:, None], fresh, self._observations)
        self._last = numpy.where(mask, last, self._last)

    def _begin(self, which: list[int]) -> None:
        varied = []
        seeds = self._seeds.copy()
        for number in which:
            seeds[number], changed = episode(self._generators[number], self._vary)
            varied.append(changed)
        self._simulations.reset(which, [int(seeds[number]) for number in which], varied)
        self._seeds = seeds
        for number in which if self._pasts else ():
            self._pasts[number].clear()
        self._taken[which] = 0
        self._over[which] = False
        self._last[which] = numpy.nan
        self._windows[which] = numpy.nan

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Takes an action for each simulation, and advances each to its next decision. A simulation that was over is reset."""
        if not self._seen:
            raise gymnasium.error.ResetNeeded("reset the environments before the first step")
        taken = checked_actions(actions, self.num_envs)
        if self._ended is not None:
            return self._with_successors(*self._ended)
        before = self._over.copy()
        if self._mode is AutoresetMode.DISABLED and before.any():
            raise gymnasium.error.ResetNeeded("episodes are over: reset these environments, by options={'reset_mask': ...}")
        seen, begun = self._seen, numpy.flatnonzero(before).tolist()
        windows, rates = _decide(self._windows, seen, numpy.where(before, 0.0, taken), self._pace)
        # An interrupt, as by Ctrl-C, ends all episodes.
        self._seen = {}
        if begun:
            try:
                self._begin(begun)
            except Exception:
                # The others have not advanced: the step may be repeated.
                self._seen = seen
                raise
        self._simulations.step(windows, rates, begun)
        self._windows = numpy.where(before, numpy.nan, windows)
        self._taken[~before] += 1
        self._seen = self._simulations.seen(0)
        self._remember()
        self._observations, self._last = _features(self._seen, self._last)
        rewards = numpy.where(before, 0.0, rewarded(self._reward, self._seen, ~before))
        terminations = ~before & (self._seen["over"] == 2)
        truncations = ~before & (self._seen["over"] == 1)
        if self._steps is not None:
            truncations |= ~before & ~terminations & (self._taken >= self._steps)
        self._over = terminations | truncations
        infos = self._infos()
        if self._mode is AutoresetMode.SAME_STEP and self._over.any():
            # If an episode cannot begin, the step may be repeated: it advances nothing, and begins them again.
            self._ended = rewards, terminations, truncations, infos
            return self._with_successors(*self._ended)
        return self._observations.copy(), rewards, terminations, truncations, infos

    def _with_successors(
        self, rewards: Array, terminations: Array, truncations: Array, infos: dict[str, Any]
    ) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Begins new episodes in the step in which the former ones ended; returns the step."""
        over, final = self._over.copy(), numpy.full(self.num_envs, None, dtype=object)
        for number in numpy.flatnonzero(over):
            final[number] = self._observations[number].copy()
        self._renew(over)
        ended = {"final_obs": final, "_final_obs": over, "final_info": infos, "_final_info": over}
        return self._observations.copy(), rewards, terminations, truncations, {**self._infos(), **ended}

    def _infos(self) -> dict[str, Any]:
        # Copies: callers may change them, and decisions depend on the samples kept here.
        return {**self._simulations.seen(0), "seed": self._seeds.copy()}

    def render(self) -> tuple[str, ...] | tuple[Array, ...] | None:
        """Returns a line for each simulation, in the render mode "ansi"; in "rgb_array" a picture of each."""
        if self.render_mode is None or not self._seen:
            return None
        if self.render_mode == "rgb_array":
            return tuple(past.frame() for past in self._pasts)
        return tuple(line(seen) for seen in self._each())

    def _each(self) -> list[_One]:
        rows = zip(*(of.tolist() for of in self._seen.values()))
        return [_known(row) for row in rows]

    def _remember(self) -> None:
        for past, seen in zip(self._pasts, self._each() if self._pasts else ()):
            past.add(seen)

    def baselines(
        self,
        schemes: Iterable[str | type[Controller]],
        *,
        seed: SupportsIndex,
        set: Mapping[str, Any] | Sequence[str] | None = None,
        reps: SupportsIndex = 1,
        controllers: Controllers | None = None,
    ) -> "Baselines":
        """Runs schemes in place of the agent through the first episodes of this many simulations with this seed: the same paths, traffic,
        losses and, if `steps` bounds them, lengths: of an episode in which a round trip is one of the empty path. The scenario is the one
        that the environment has: a file that was changed is not read again, unless it names other files."""
        results = []
        for generator in generators(seed, arguments.integer("reps", reps, 1, MAX_REPS)):
            first, varied = episode(generator, self._vary)
            # Later changes of a key take precedence.
            sets = [*self._simulations.sets, *self._simulations.kept(varied)]
            duration, warmup = self._simulations.length(first, varied, self._steps)
            sets += [f"duration={duration!r}", f"warmup={warmup!r}", *self._simulations.kept(toml_changes(set))]
            names = self._simulations.names
            results.append(compare(self._simulations.scenario, schemes, flows=names, seed=first, set=sets, controllers=controllers))
        return Baselines(results, self._simulations.names)


class Baselines:
    """Results of schemes in the episodes of an environment."""

    def __init__(self, results: Sequence[Result], names: Sequence[str]) -> None:
        self.results = list(results)
        """The comparison of each episode."""
        self.names = list(names)
        """Names of the flows that have the schemes."""

    @cached_property
    def flows(self) -> Table:
        """A row for each flow of each scheme in each episode."""
        return join_tables("episode", [result.flows for result in self.results])

    @cached_property
    def totals(self) -> Table:
        """A row for each scheme in each episode, with the values of the network."""
        return join_tables("episode", [result.totals for result in self.results])

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __str__(self) -> str:
        if len(self.results) == 1:
            return str(self.results[0])
        rows = [row for row in self.flows if row["flow"] in self.names]
        lines = [f"Means of {len(self.results)} episodes, {', '.join(f'`{name}`' for name in self.names)}"]
        for scheme in dict.fromkeys(row["compared"] for row in rows):
            of = [row for row in rows if row["compared"] == scheme]
            words = [f"{scheme:12}"]
            # The goodput of a flow that ends is one over the whole run, and not until its end.
            speed = ("completion_s", "s", 1.0) if any(row.get("completion_s") is not None for row in of) else ("goodput_bps", "Mbit/s", 1e-6)
            for name, unit, factor in (speed, ("delay_mean_s", "ms", 1e3), ("loss", "% lost", 1e2)):
                known = [row[name] * factor for row in of if row.get(name) is not None]
                words.append(f"{sum(known) / len(known):9.3f} {unit}" if known else f"{'-':>9} {unit}")
            lines.append("  ".join(words))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<thalweg.envs.Baselines: {len(self.results)} episodes>"


class Env(gymnasium.Env[Any, Any]):
    """One simulation, with the arguments of `VectorEnv`. In infos unknown values are None."""

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 20}

    def __init__(
        self,
        scenario: Scenario,
        *,
        set: Mapping[str, Any] | Sequence[str] | None = None,
        vary: Vary | None = None,
        interval: float | None = None,
        longest: float = 1.0,
        delay: float = 0.0,
        steps: SupportsIndex | None = None,
        pace: bool = True,
        reward: Callable[[Samples], Array] = power,
        ecn: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.observation_space = Box(_LOW, _HIGH)
        self.action_space = Box(-1.0, 1.0, (1,))
        self.render_mode = checked_mode(render_mode)
        self._vary, self._pace, self._reward = checked(vary), arguments.truth("pace", pace), arguments.function("reward", reward)
        self._steps = _most_steps(steps)
        self._simulations = _Simulations(scenario, set, 1, interval, longest, delay, 1, ecn, self._vary)
        if self._simulations.agents != 1:
            raise ScenarioError(f"one flow has the scheme `agent` in an Env, and {self._simulations.agents} have")
        self._generator: numpy.random.Generator | None = None
        self._seen: dict[str, Any] = {}
        self._past = Past() if self.render_mode == "rgb_array" else None
        self._seed, self._taken, self._last, self._window, self._is_over = 0, 0, math.nan, math.nan, True

    def reset(self, *, seed: SupportsIndex | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begins a new episode, the first of this seed or the next."""
        if seed is not None or self._generator is None:
            self._generator = generators(seed, 1)[0]
        super().reset(seed=None if seed is None else int(seed))
        # A function of `vary` may fail, and its value may be invalid.
        self._is_over, self._seen = True, {}
        self._seed, varied = episode(self._generator, self._vary)
        self._seen = self._simulations.reset_one(self._seed, varied)
        self._taken, self._window, self._is_over = 0, math.nan, False
        if self._past is not None:
            self._past.clear()
            self._past.add(self._seen)
        observation, self._last = _features_of_one(self._seen, math.nan)
        return numpy.array(observation, dtype=numpy.float32), {**self._seen, "seed": self._seed}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Takes an action, and advances to the next decision."""
        if self._is_over:
            raise gymnasium.error.ResetNeeded("the episode is over, or none was begun: reset the environment")
        self._window, rate = _decide_for_one(self._window, self._seen, _number(action), self._pace)
        # An interrupt, as by Ctrl-C, ends the episode.
        self._is_over = True
        self._seen = seen = self._simulations.step_one(self._window, rate)
        self._taken += 1
        if self._past is not None:
            self._past.add(seen)
        observation, self._last = _features_of_one(seen, self._last)
        terminated = seen["over"] == 2
        truncated = not terminated and (seen["over"] == 1 or self._steps is not None and self._taken >= self._steps)
        self._is_over = terminated or truncated
        infos = {**seen, "seed": self._seed}
        return numpy.array(observation, dtype=numpy.float32), self._rewarded(seen), terminated, truncated, infos

    def _rewarded(self, seen: dict[str, Any]) -> float:
        if self._reward is power:
            return _power_of_one(seen)
        arrays = {name: numpy.array([math.nan if cell is None else cell]) for name, cell in seen.items()}
        return float(rewarded(self._reward, arrays, numpy.ones(1, dtype=bool))[0])

    def render(self) -> str | Array | None:
        """Returns a line that describes the flow, in the render mode "ansi"; in "rgb_array" a picture of its last steps."""
        if self.render_mode is None or not self._seen:
            return None
        return line(self._seen) if self._past is None else self._past.frame()


def _number(action: Any) -> float:
    """Returns an action as a number from -1 to 1: a number, or any kind of array of one, such as a tensor."""
    # Policies return arrays of numpy. For one number `checked_actions` takes 71 us, and this 1 us.
    number = action.item() if isinstance(action, (numpy.ndarray, numpy.generic)) and action.size == 1 else action
    is_number = isinstance(number, (int, float)) and number == number
    # Integers may be too large for `float`.
    return float(min(max(number, -1.0), 1.0)) if is_number else float(checked_actions(action, 1)[0])


def checked_actions(actions: Any, count: int) -> Array:
    """Returns this many actions as numbers from -1 to 1."""
    those = "an action is a number from -1 to 1, or an array of one" if count == 1 else f"there are {count} actions from -1 to 1"
    wrong = f"{those}, and not {actions!r}"
    try:
        given = numpy.asarray(actions)
        if given.dtype.kind not in "biuf":
            raise ScenarioError(wrong)
        taken: Array = given.astype(numpy.float64).reshape(count)
    except (TypeError, ValueError) as why:
        raise ScenarioError(wrong) from why
    if numpy.isnan(taken).any():
        raise ScenarioError("an action is a number from -1 to 1, and not NaN")
    return numpy.clip(taken, -1.0, 1.0)


def controller(policy: Callable[[Array], Any], *, pace: bool = True, ecn: str | None = None) -> type[Controller]:
    """Returns a controller that follows a policy: a function from an observation to an action, as in an environment with a step of a
    round trip. `ecn` is as for controllers."""
    arguments.function("policy", policy)
    arguments.truth("pace", pace)
    codepoint = arguments.choice("ecn", ecn, arguments.ECN)

    class Policy(Controller):
        ecn = codepoint

        def __init__(self) -> None:
            self._last = math.nan

        def on_ack(self, sample: Sample) -> None:
            seen = {name: getattr(sample, name, None) for name in COLUMNS}
            seen["window"] = self.window
            observation, self._last = _features_of_one(seen, self._last)
            action = _number(policy(numpy.array(observation, dtype=numpy.float32)))
            self.window, rate = _decide_for_one(math.nan, seen, action, pace)
            self.pacing_rate = None if math.isnan(rate) else rate

        def on_loss(self, sample: Sample) -> None:
            """Does nothing: the policy sees losses in the next sample."""

        def on_undo(self, window: float) -> None:
            """Does nothing: decisions are not undone."""

    return Policy


gymnasium.register("thalweg/Scenario-v0", entry_point="thalweg.envs:Env", vector_entry_point="thalweg.envs:VectorEnv")
