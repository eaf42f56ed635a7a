"""Several agents in one simulation, by PettingZoo's parallel API: each flow with the scheme `agent` is one.

It needs PettingZoo, gymnasium and numpy: `pip install '.[envs]'` in the repository, or
`pip install 'pettingzoo>=1.25,<2' 'gymnasium>=1.1,<2' 'numpy>=2'`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsIndex

import gymnasium
import numpy
import pettingzoo
from gymnasium.spaces import Box, Space

from . import _arguments as arguments
from ._episodes import Vary, checked, episode, generators
from ._errors import ScenarioError
from ._toml import Scenario
from .envs import (
    _HIGH,
    _LOW,
    Array,
    Samples,
    _decide,
    _features,
    _known,
    _Simulations,
    checked_actions,
    power,
    rewarded,
)

__all__ = ["ParallelEnv"]


class ParallelEnv(pettingzoo.ParallelEnv[str, Any, Any]):  # type: ignore[misc]
    """A scenario in which several flows have the scheme `agent`; agents have the flows' names.

    All decide at the same times, every `interval` seconds. Observations, actions, rewards and the other arguments are as in
    `thalweg.envs.VectorEnv`; in infos unknown values are None."""

    metadata: dict[str, Any] = {"render_modes": [], "name": "thalweg"}

    def __init__(
        self,
        scenario: Scenario,
        *,
        interval: float = 0.05,
        set: Mapping[str, Any] | Sequence[str] | None = None,
        vary: Vary | None = None,
        delay: float = 0.0,
        steps: SupportsIndex | None = None,
        pace: bool = True,
        reward: Callable[[Samples], Array] = power,
        ecn: str | None = None,
    ) -> None:
        self._vary, self._pace, self._reward = checked(vary), arguments.truth("pace", pace), arguments.function("reward", reward)
        self._simulations = _Simulations(scenario, set, 1, interval, 1.0, delay, 1, ecn, self._vary)
        self.possible_agents = self._simulations.names
        self.agents: list[str] = []
        self.observation_spaces = {name: Box(_LOW, _HIGH) for name in self.possible_agents}
        self.action_spaces = {name: Box(-1.0, 1.0, (1,)) for name in self.possible_agents}
        self.render_mode = None
        self._steps = None if steps is None else arguments.integer("steps", steps, 1, 2**63 - 1)
        self._generator = generators(None, 1)[0]
        self._taken = 0
        self._last: Array = numpy.array([])
        self._windows: Array = numpy.array([])
        self._seen: dict[str, Array] = {}

    def observation_space(self, agent: str) -> Space[Any]:
        """Returns the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Returns the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: SupportsIndex | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begins a new episode, the first of this seed or the next."""
        if seed is not None:
            self._generator = generators(seed, 1)[0]
        # A function of `vary` may fail, and its value may be invalid.
        self._seen = {}
        first, varied = episode(self._generator, self._vary)
        self._simulations.reset([0], [first], [varied])
        self.agents = list(self.possible_agents)
        self._taken = 0
        self._last = numpy.full(len(self.agents), numpy.nan)
        self._windows = numpy.full(len(self.agents), numpy.nan)
        return self._observe(), self._infos()

    def _observe(self) -> dict[str, Any]:
        self._seen = self._simulations.seen_by_agents()
        observations, self._last = _features(self._seen, self._last)
        return {name: row for name, row in zip(self.possible_agents, observations) if name in self.agents}

    def _infos(self) -> dict[str, Any]:
        rows = enumerate(self.possible_agents)
        return {name: _known([of[row].item() for of in self._seen.values()]) for row, name in rows if name in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Takes an action of each remaining agent, and advances to the next decision."""
        if not self._seen:
            raise gymnasium.error.ResetNeeded("reset the environment before the first step")
        missing = [name for name in self.agents if name not in actions]
        if missing:
            raise ScenarioError(f"there is no action of {', '.join(f'`{name}`' for name in missing)}")
        taken = numpy.zeros(len(self.possible_agents))
        for row, name in enumerate(self.possible_agents):
            if name in self.agents:
                taken[row] = checked_actions(actions[name], 1)[0]
        self._windows, rates = _decide(self._windows, self._seen, taken, self._pace)
        # An interrupt, as by Ctrl-C, ends the episode.
        self._seen = {}
        self._simulations.step(self._windows, rates)
        self._taken += 1
        observations = self._observe()
        infos = self._infos()
        used = numpy.array([name in self.agents for name in self.possible_agents])
        all_rewards = rewarded(self._reward, self._seen, used)
        rewards, terminations, truncations = {}, {}, {}
        for row, name in enumerate(self.possible_agents):
            if name in self.agents:
                over = self._seen["over"][row]
                rewards[name] = float(all_rewards[row])
                terminations[name] = bool(over == 2)
                late = self._steps is not None and self._taken >= self._steps
                truncations[name] = bool(over == 1 or late and over == 0)
        self.agents = [name for name in self.agents if not terminations[name] and not truncations[name]]
        return observations, rewards, terminations, truncations, infos
