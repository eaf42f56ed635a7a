"""The adapter for stable-baselines3, whose base class is stood in for: it needs torch, which takes gigabytes."""

import abc
import sys
import types
from typing import Any

import numpy
import pytest

import thalweg.envs

PATH: dict[str, Any] = {
    "duration": "5 s",
    "link": [{"name": "core", "between": ["a", "b"], "rate": "20 Mbit/s", "delay": "15 ms", "queue": "1 bdp"}],
    "flow": [{"name": "flow", "from": "a", "to": "b", "scheme": "agent"}],
}


class VecEnv(abc.ABC):
    """What `stable_baselines3.common.vec_env.VecEnv` of 2.9 asks of those that derive from it."""

    def __init__(self, num_envs: int, observation_space: Any, action_space: Any) -> None:
        self.num_envs, self.observation_space, self.action_space = num_envs, observation_space, action_space
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(num_envs)]
        self._seeds: list[int | None] = [None for _ in range(num_envs)]
        self._options: list[dict[str, Any]] = [{} for _ in range(num_envs)]
        render_modes = self.get_attr("render_mode")
        assert all(mode == render_modes[0] for mode in render_modes)
        self.render_mode = render_modes[0]

    def _reset_seeds(self) -> None:
        self._seeds = [None for _ in range(self.num_envs)]

    def _reset_options(self) -> None:
        self._options = [{} for _ in range(self.num_envs)]

    def seed(self, seed: int) -> None:
        self._seeds = [seed + number for number in range(self.num_envs)]

    def step(self, actions: Any) -> Any:
        self.step_async(actions)
        return self.step_wait()

    @abc.abstractmethod
    def reset(self) -> Any: ...
    @abc.abstractmethod
    def step_async(self, actions: Any) -> None: ...
    @abc.abstractmethod
    def step_wait(self) -> Any: ...
    @abc.abstractmethod
    def close(self) -> None: ...
    @abc.abstractmethod
    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]: ...
    @abc.abstractmethod
    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None: ...
    @abc.abstractmethod
    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]: ...
    @abc.abstractmethod
    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]: ...


def imported(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with the stand-in in place of stable-baselines3."""
    names = ("stable_baselines3", "stable_baselines3.common", "stable_baselines3.common.vec_env")
    modules = [types.ModuleType(name) for name in names]
    modules[1].vec_env = modules[2]  # type: ignore[attr-defined]
    modules[2].VecEnv = VecEnv  # type: ignore[attr-defined]
    for name, module in zip(names, modules):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "thalweg.sb3", raising=False)
    import thalweg.sb3

    return thalweg.sb3


def test_pictures_are_those_of_each_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = imported(monkeypatch).VecEnv(PATH, 3, steps=4, render_mode="rgb_array")
    assert envs.get_images() == [None] * 3
    envs.reset()
    first, *others = envs.get_images()
    assert len(others) == 2 and first.dtype == numpy.uint8 and first.shape == others[0].shape == others[1].shape and first.shape[2] == 3


def test_it_is_an_environment_of_stable_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    sb3 = imported(monkeypatch)
    envs = sb3.VecEnv(PATH, 3, steps=4)
    plain = thalweg.envs.VectorEnv(PATH, 3, steps=4)
    envs.seed(5)
    assert numpy.array_equal(envs.reset(), plain.reset(seed=5)[0])
    assert [of["seed"] for of in envs.reset_infos] == plain._seeds.tolist()
    for number in range(1, 9):
        observations, rewards, over, infos = envs.step(numpy.zeros((3, 1), dtype=numpy.float32))
        assert observations.shape == (3, 7) and rewards.dtype == numpy.float32 and len(infos) == 3
        assert over.all() == (number % 4 == 0)
        assert all(("terminal_observation" in info) == (info.get("TimeLimit.truncated") is True) == bool(ended) for info, ended in zip(infos, over))
    # A seed is used once.
    before = envs.envs._seeds.tolist()
    envs.reset()
    assert not set(before) & set(envs.envs._seeds.tolist())
    assert envs.get_attr("num_envs", numpy.int64(1)) == [3] and envs.get_attr("num_envs", numpy.array([0, 1])) == [3, 3]
    assert envs.get_images() == [None] * 3
    assert envs.get_attr("num_envs", [0, 2]) == [3, 3] and envs.env_is_wrapped(object) == [False] * 3
    with pytest.raises(AttributeError, match="one object"):
        envs.set_attr("x", 1, indices=[0])
    with pytest.raises(AttributeError):
        envs.get_attr("nothing")
    envs.close()
    monkeypatch.delitem(sys.modules, "thalweg.sb3")
