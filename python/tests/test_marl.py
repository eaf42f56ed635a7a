"""Several agents in one simulation."""

from typing import Any

import gymnasium
import numpy
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

import thalweg
from thalweg.marl import ParallelEnv

PATH: dict[str, Any] = {
    "duration": "20 s",
    "link": [{"name": "core", "between": ["a", "b"], "rate": "20 Mbit/s", "delay": "15 ms", "queue": "2 bdp"}],
    "flow": [
        {"name": "one", "from": "a", "to": "b", "scheme": "agent"},
        {"name": "other", "from": "a", "to": "b", "scheme": "agent"},
        {"name": "classic", "from": "a", "to": "b", "scheme": "vegas"},
    ],
}


def test_it_has_the_parallel_api() -> None:
    env = ParallelEnv(PATH, steps=50)
    assert env.possible_agents == ["one", "other"]
    parallel_api_test(env, num_cycles=200)


def test_the_same_seed_is_the_same_episode(recwarn: pytest.WarningsRecorder) -> None:
    late = {**PATH, "flow": [PATH["flow"][0], {**PATH["flow"][1], "start": "2 s"}, PATH["flow"][2]]}
    for path in (PATH, late):
        with numpy.errstate(all="raise"):
            parallel_seed_test(lambda path=path: ParallelEnv(path, steps=50), num_cycles=120)
    assert not [warned for warned in recwarn if issubclass(warned.category, RuntimeWarning)]


def test_agents_share_as_they_decide_and_seeds_repeat() -> None:
    def play(seed: int) -> dict[str, float]:
        env = ParallelEnv(PATH)
        env.reset(seed=seed)
        acked = {name: 0.0 for name in env.possible_agents}
        for number in range(200):
            rise = {"one": -0.5, "other": 0.5} if number == 0 else {"one": 0.0, "other": 0.0}
            *_, infos = env.step({name: numpy.array([of]) for name, of in rise.items()})
            for name, info in infos.items():
                acked[name] += info["acked_bytes"]
        return acked

    first = play(1)
    # Windows of 10 / sqrt(2) and 10 * sqrt(2), in whole segments: 7 and 14.
    assert first["other"] / first["one"] == pytest.approx(2, rel=0.1)
    assert play(1) == first


def test_an_agent_leaves_when_its_flow_ends() -> None:
    flows = [{**PATH["flow"][0], "workload": "100 kB"}, *PATH["flow"][1:]]
    env = ParallelEnv({**PATH, "flow": flows}, interval=0.1)
    env.reset(seed=1)
    ended: dict[str, float] = {}
    while env.agents:
        _, _, terminations, truncations, infos = env.step({name: numpy.zeros(1) for name in env.agents})
        ended |= {name: infos[name]["now"] for name in terminations if terminations[name] or truncations[name]}
    assert ended["one"] < 2 and ended["other"] == 20
    with pytest.raises(thalweg.ScenarioError, match="no flow has the scheme"):
        ParallelEnv("two-flows")


def test_actions_are_of_all_agents_after_a_reset() -> None:
    env = ParallelEnv(PATH)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step({"one": 0.0, "other": 0.0})
    env.reset(seed=1)
    with pytest.raises(thalweg.ScenarioError, match="there is no action of `other`"):
        env.step({"one": 0.0})
    with pytest.raises(thalweg.ScenarioError, match="not NaN"):
        env.step({"one": 0.0, "other": numpy.nan})


def test_an_agent_that_starts_later_begins_with_its_initial_window() -> None:
    late = {**PATH, "flow": [PATH["flow"][0], {**PATH["flow"][1], "start": "1 s"}]}
    env = ParallelEnv(late, interval=0.1)
    env.reset(seed=1)
    for _ in range(15):
        *_, infos = env.step({"one": 0.0, "other": 0.0})
    assert [infos[name]["window"] for name in ("one", "other")] == [10, 10]
