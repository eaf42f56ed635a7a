"""`thalweg.envs.VectorEnv` for stable-baselines3.

It needs stable-baselines3 and what `thalweg.envs` needs: `pip install '.[envs]' stable-baselines3` in the repository.

>>> model = stable_baselines3.PPO("MlpPolicy", thalweg.sb3.VecEnv(scenario, 64, steps=150))
"""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy
from gymnasium.vector import AutoresetMode
from stable_baselines3.common import vec_env

from ._toml import Scenario
from .envs import Array, VectorEnv

__all__ = ["VecEnv"]


class VecEnv(vec_env.VecEnv):  # type: ignore[misc]
    """Vector environment with the arguments of `thalweg.envs.VectorEnv`, which is its attribute `envs`. All simulations are one object:
    they share attributes, and a method is called once for all."""

    def __init__(self, scenario: Scenario, num_envs: int = 1, **options: Any) -> None:
        self.envs = VectorEnv(scenario, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self.render_mode = self.envs.render_mode
        self._actions: Any = None
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self) -> Array:
        """Begins new episodes: with the seed set by `seed`, or else the next ones."""
        seeds = getattr(self, "_seeds", None)
        seed = seeds[0] if seeds else None
        observations, infos = self.envs.reset(seed=seed)
        self.reset_infos = _rows(infos, self.num_envs)
        # A seed is used once.
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: Array) -> None:
        """Takes actions."""
        self._actions = actions

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Advances to the next decisions; the last observation of a finished episode is in its infos."""
        observations, rewards, ended, cut, infos = self.envs.step(self._actions)
        over = ended | cut
        env_infos = _rows(infos, self.num_envs)
        for number in numpy.flatnonzero(over):
            env_infos[number]["terminal_observation"] = infos["final_obs"][number]
            env_infos[number]["TimeLimit.truncated"] = bool(cut[number] and not ended[number])
        return observations, rewards.astype(numpy.float32), over, env_infos

    def get_images(self) -> Sequence[Array | None]:
        """Returns a picture of each simulation, in the render mode "rgb_array"."""
        pictures: Any = self.envs.render() if self.render_mode == "rgb_array" else None
        return list(pictures) if pictures else [None] * self.num_envs

    def close(self) -> None:
        """Ends the simulations."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of the simulations, for each of them."""
        return [getattr(self.envs, attr_name)] * len(self._named(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of all simulations."""
        self._all(indices)
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Calls a method of all simulations, once."""
        self._all(indices)
        return [getattr(self.envs, method_name)(*method_args, **method_kwargs)] * self.num_envs

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """No simulation has a wrapper."""
        return [False] * len(self._named(indices))

    def _named(self, indices: Any) -> Sequence[int]:
        if indices is None:
            return range(self.num_envs)
        return [int(indices)] if isinstance(indices, numbers.Integral) else list(indices)

    def _all(self, indices: Any) -> None:
        if sorted(self._named(indices)) != list(range(self.num_envs)):
            raise AttributeError("all simulations are one object, which is not to be changed for some of them")


def _rows(infos: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Returns the infos of each simulation."""
    plain = {name: of for name, of in infos.items() if isinstance(of, numpy.ndarray) and not name.startswith(("final_", "_final"))}
    return [{name: of[number] for name, of in plain.items()} for number in range(count)]
