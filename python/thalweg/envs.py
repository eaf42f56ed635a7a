"""Environments for learning: an agent sets the window of a flow, and sees what its sender sees.

>>> import thalweg.envs
>>> envs = thalweg.envs.VectorEnv("two-flows", 64, set={"flow.1.scheme": "agent"})
>>> observations, infos = envs.reset(seed=1)
>>> observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())

All simulations are advanced in this process, on all cores, each to the next decision of its agent. It needs gymnasium:
`pip install thalweg[envs]`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import Controller, Error, Result, RunError, Sample, ScenarioError, _text, _thalweg, compare
from ._toml import Scenario, changes

__all__ = ["FEATURES", "Env", "VectorEnv", "controller", "power"]

Array: TypeAlias = NDArray[Any]
Samples: TypeAlias = Mapping[str, Array]
"""What agents saw in a step, an array for each column of `COLUMNS`."""
Vary: TypeAlias = Mapping[str, Sequence[Any] | Callable[[numpy.random.Generator], Any]]

COLUMNS: tuple[str, ...] = tuple(_thalweg.Environments.columns)
"""The columns of samples: those of `thalweg.Sample`, with `path_rate` and `path_rtt` of the empty path, and `over`."""

FEATURES = ("queueing", "trend", "loss", "marks", "delivered", "window", "base")
"""What an observation has: the queueing delay and its change, in shortest round trips; the shares of packets lost and marked; packets
acknowledged, in windows; the logarithm of the window (2^10 is 1), and that of the shortest round trip (100 ms is 1, 10 ms 0)."""

_LOW = numpy.array([0, -10, 0, 0, 0, 0, -4], dtype=numpy.float32)
_HIGH = numpy.array([10, 10, 1, 1, 10, 3, 4], dtype=numpy.float32)
_MOST_WINDOW = 2.0**20
_PACE = 1.25


def _features(seen: Samples, last: Array) -> tuple[Array, Array]:
    """The observations, and the round-trip times that the next step compares with. `last` are those of the step before."""
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
        numpy.log2(seen["window"]) / 10,
        numpy.where(known, numpy.log10(base) + 2, 0.0),
    )
    stacked = numpy.stack(columns, axis=-1)
    return numpy.clip(stacked, _LOW, _HIGH, dtype=numpy.float32, casting="unsafe"), numpy.where(known, rtt, numpy.nan)


def _decide(seen: Samples, actions: Array, pace: bool) -> tuple[Array, Array]:
    """The windows and the pacing rates of actions."""
    windows = numpy.clip(seen["window"] * numpy.exp2(actions), 1.0, _MOST_WINDOW)
    if not pace:
        return windows, numpy.full_like(windows, numpy.nan)
    # Before the first round trip is measured there is nothing to spread over.
    rates = _PACE * windows * seen["segment"] * 8 / seen["smoothed_rtt"]
    return windows, numpy.maximum(rates, 1.0)


def power(seen: Samples) -> Array:
    """The reward without another: goodput as a share of the path's rate, times the empty path's round trip as a share of that measured,
    less the share of packets lost. From -1 to 1."""
    throughput = seen["acked_bytes"] * 8 / numpy.maximum(seen["interval"], 1e-9) / seen["path_rate"]
    delay = numpy.where(numpy.isnan(seen["rtt"]), 0.0, seen["path_rtt"] / seen["rtt"])
    lost = seen["lost"] / numpy.maximum(seen["acked"] + seen["lost"], 1)
    return numpy.asarray(numpy.clip(numpy.nan_to_num(throughput), 0.0, 1.0) * numpy.clip(delay, 0.0, 1.0) - lost)


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
        jobs: int | None,
    ) -> None:
        if interval is not None and not interval > 0:
            raise ValueError(f"a step is an interval in seconds or None for a round trip, and not {interval!r}")
        if not longest > 0:
            raise ValueError(f"the longest step is a time in seconds, and not {longest!r}")
        if not delay >= 0:
            raise ValueError(f"actions are delayed by a time in seconds, and not by {delay!r}")
        name, text = _text(scenario)
        native, code, said = _thalweg.Environments.new(name, text, changes(set), count, interval, longest, delay, jobs)
        if native is None:
            raise _failed(code, said)
        self._native = native
        self.names = native.names
        self.agents = len(self.names)
        self._cells = numpy.zeros((count, self.agents, len(COLUMNS)))

    def reset(self, which: list[int], seeds: list[int], varied: list[list[str]]) -> None:
        self._check(self._native.reset(which, seeds, varied, self._cells))

    def step(self, windows: Array, rates: Array) -> None:
        contiguous = [numpy.ascontiguousarray(array, dtype=numpy.float64) for array in (windows, rates)]
        self._check(self._native.step(contiguous[0], contiguous[1], self._cells))

    def _check(self, said: tuple[int, str]) -> None:
        if said[0] != 0:
            raise _failed(*said)

    def seen(self, agent: int) -> dict[str, Array]:
        """What an agent of each simulation saw last."""
        cells = self._cells[:, agent].T.copy()
        return dict(zip(COLUMNS, cells))

    def seen_by_agents(self) -> dict[str, Array]:
        """What each agent of the first simulation saw last."""
        return dict(zip(COLUMNS, self._cells[0].T.copy()))


def _failed(code: int, said: str) -> Error:
    text = said.strip().removeprefix("error: ")
    return ScenarioError(text) if code == 2 else RunError(text)


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Simulations of a scenario in which one flow has the scheme `agent`, each with a seed of its own.

    An action from -1 to 1 is by how many powers of two the window changes; with `pace` packets are spread at 1.25 windows a round trip.
    An observation has `FEATURES`. A step is a round trip of the flow, but no longer than `longest`, or the `interval` in seconds; an
    action holds `delay` seconds after it was taken. An episode is truncated after `steps`, or else when the scenario's duration is
    over, and terminates when the flow has delivered all that it had to. By `autoreset_mode` the step after that resets it
    (`AutoresetMode.NEXT_STEP`), or the same one does, whose infos then hold `final_obs` and `final_info` (`SAME_STEP`), or nobody but
    `reset(options={"reset_mask": mask})` (`DISABLED`).

    `vary` changes the scenario in each episode: for a key, as `set` takes them, a list to choose from, or a function of a random
    generator. `reward` is a function of the samples of all simulations (`COLUMNS`). Infos hold these samples and the seeds."""

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        scenario: Scenario,
        num_envs: int = 1,
        *,
        set: Mapping[str, Any] | Sequence[str] | None = None,
        vary: Vary | None = None,
        interval: float | None = None,
        longest: float = 1.0,
        delay: float = 0.0,
        steps: int | None = None,
        pace: bool = True,
        reward: Callable[[Samples], Array] = power,
        jobs: int | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"there is at least one environment, and not {num_envs!r}")
        if steps is not None and steps < 1:
            raise ValueError(f"an episode has at least one step, and not {steps!r}")
        self.num_envs = num_envs
        self.render_mode = None
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.single_observation_space = Box(_LOW, _HIGH)
        self.single_action_space = Box(-1.0, 1.0, (1,))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._scenario, self._set, self._vary = scenario, set, dict(vary or {})
        self._steps, self._pace, self._reward = steps, pace, reward
        self._simulations = _Simulations(scenario, set, num_envs, interval, longest, delay, jobs)
        if self._simulations.agents != 1:
            raise ScenarioError(f"one flow has the scheme `agent` in a VectorEnv, and {self._simulations.agents} have")
        self._generators: list[numpy.random.Generator] = []
        self._seeds = numpy.zeros(num_envs, dtype=numpy.uint64)
        self._taken = numpy.zeros(num_envs, dtype=numpy.int64)
        self._over = numpy.zeros(num_envs, dtype=bool)
        self._last = numpy.full(num_envs, numpy.nan)
        self._observations = numpy.zeros(self.observation_space.shape or (), dtype=numpy.float32)
        self._seen: dict[str, Array] = {}

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins new episodes. Simulation i has the seed `seed` + i, or the one at place i of a list, in its first episode, and draws
        those of later ones. With a `reset_mask` among the options the others go on where they are."""
        mask = numpy.asarray((options or {}).get("reset_mask", numpy.ones(self.num_envs, dtype=bool)))
        if mask.shape != (self.num_envs,) or mask.dtype != bool:
            raise ValueError(f"a reset_mask has a truth value for each of {self.num_envs} environments")
        if not self._seen and not mask.all():
            raise gymnasium.error.ResetNeeded("the first reset is one of all environments")
        if seed is None:
            first: list[int | None] = [None] * self.num_envs
        elif isinstance(seed, (int, numpy.integer)):
            first = [int(seed) + number for number in range(self.num_envs)]
        else:
            first = list(seed)
            if len(first) != self.num_envs:
                raise ValueError(f"there are {self.num_envs} environments and {len(first)} seeds")
        if not self._generators or seed is not None:
            old = self._generators or [numpy.random.default_rng() for _ in first]
            self._generators = [
                old[number] if of is None or not mask[number] else numpy.random.default_rng(of) for number, of in enumerate(first)
            ]
        return self._renew(mask, first), self._infos()

    def _renew(self, mask: Array, seeds: Sequence[int | None]) -> Array:
        """Begins new episodes where the mask says so; gives the observations of all."""
        which = numpy.flatnonzero(mask).tolist()
        self._begin(which, [seeds[number] for number in which])
        self._seen = self._simulations.seen(0)
        fresh, last = _features(self._seen, numpy.full(self.num_envs, numpy.nan))
        self._observations = numpy.where(mask[:, None], fresh, self._observations)
        self._last = numpy.where(mask, last, self._last)
        return self._observations

    def _begin(self, which: list[int], seeds: list[int | None]) -> None:
        varied = []
        for number, seed in zip(which, seeds):
            generator = self._generators[number]
            self._seeds[number] = seed if seed is not None else generator.integers(1 << 53)
            chosen = {
                key: of(generator) if callable(of) else of[int(generator.integers(len(of)))] for key, of in self._vary.items()
            }
            varied.append(changes(chosen))
        self._simulations.reset(which, [int(self._seeds[number]) for number in which], varied)
        self._taken[which] = 0
        self._over[which] = False
        self._last[which] = numpy.nan

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Takes an action for each simulation, and goes on to the next decision of each. Of one that was over this is a reset."""
        if not self._seen:
            raise gymnasium.error.ResetNeeded("reset the environments before the first step")
        taken = numpy.asarray(actions, dtype=numpy.float64).reshape(self.num_envs)
        before = self._over.copy()
        if self._mode is AutoresetMode.DISABLED and before.any():
            raise gymnasium.error.ResetNeeded("episodes are over: reset these environments, by options={'reset_mask': ...}")
        windows, rates = _decide(self._seen, numpy.where(before, 0.0, numpy.clip(taken, -1.0, 1.0)), self._pace)
        self._simulations.step(windows, rates)
        self._taken += 1
        if before.any():
            which = numpy.flatnonzero(before).tolist()
            self._begin(which, [None] * len(which))
        self._seen = self._simulations.seen(0)
        self._observations, self._last = _features(self._seen, self._last)
        rewards = numpy.where(before, 0.0, self._reward(self._seen))
        terminations = ~before & (self._seen["over"] == 2)
        truncations = ~before & (self._seen["over"] == 1)
        if self._steps is not None:
            truncations |= ~before & ~terminations & (self._taken >= self._steps)
        self._over = terminations | truncations
        infos = self._infos()
        if self._mode is AutoresetMode.SAME_STEP and self._over.any():
            over, final = self._over.copy(), numpy.full(self.num_envs, None, dtype=object)
            for number in numpy.flatnonzero(over):
                final[number] = self._observations[number]
            ended = {"final_obs": final, "_final_obs": over, "final_info": infos, "_final_info": over}
            self._renew(over, [None] * self.num_envs)
            infos = {**self._infos(), **ended}
        return self._observations, rewards, terminations, truncations, infos

    def _infos(self) -> dict[str, Any]:
        return {**self._seen, "seed": self._seeds.copy()}

    def baselines(
        self, schemes: Sequence[str | type[Controller]], *, seed: int, set: Mapping[str, Any] | None = None, reps: int = 1
    ) -> Result:
        """Runs the scenario with schemes in the place of the agent, under the same seeds, and so with the same traffic and losses."""
        own = {key: value for key, value in (word.split("=", 1) for word in changes(self._set))}
        sets = [f"{key}={value}" for key, value in own.items()] + changes(set)
        return compare(self._scenario, schemes, seed=seed, set=sets, reps=reps)


class Env(gymnasium.Env[Any, Any]):
    """One simulation, as `VectorEnv` has many, with the same arguments."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, scenario: Scenario, **options: Any) -> None:
        self._one = VectorEnv(scenario, 1, jobs=1, **options)
        self.observation_space = self._one.single_observation_space
        self.action_space = self._one.single_action_space
        self.render_mode = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begins a new episode."""
        super().reset(seed=seed)
        observations, infos = self._one.reset(seed=seed)
        return observations[0], {name: of[0] for name, of in infos.items()}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Takes an action, and goes on to the next decision."""
        if self._one._over[0]:
            raise gymnasium.error.ResetNeeded("the episode is over: reset the environment")
        observations, rewards, terminations, truncations, infos = self._one.step(action)
        first = {name: of[0] for name, of in infos.items()}
        return observations[0], float(rewards[0]), bool(terminations[0]), bool(truncations[0]), first


def controller(policy: Callable[[Array], Any], *, pace: bool = True) -> type[Controller]:
    """A controller that does what a policy says: a function from an observation to an action, as a `VectorEnv` with a step of a round
    trip has them."""

    class Policy(Controller):
        def __init__(self) -> None:
            self._last = numpy.full(1, numpy.nan)

        def on_ack(self, sample: Sample) -> None:
            seen = {
                name: numpy.array([_number(getattr(sample, name))]) for name in COLUMNS if hasattr(sample, name)
            }
            seen["window"] = numpy.array([self.window])
            observations, self._last = _features(seen, self._last)
            action = numpy.clip(numpy.asarray(policy(observations[0]), dtype=numpy.float64).reshape(1), -1.0, 1.0)
            windows, rates = _decide(seen, action, pace)
            self.window = float(windows[0])
            self.pacing_rate = None if numpy.isnan(rates[0]) else float(rates[0])

        def on_loss(self, sample: Sample) -> None:
            """The policy sees losses with the round trip."""

        def on_undo(self, window: float) -> None:
            """Who decides has decided."""

    return Policy


def _number(value: float | None) -> float:
    return numpy.nan if value is None else value
