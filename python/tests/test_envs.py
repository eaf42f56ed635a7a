"""Environments for learning."""

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy
import pandas
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import thalweg
import thalweg.envs
from thalweg import _toml
from thalweg.envs import COLUMNS, Env, VectorEnv

PATH: dict[str, Any] = {
    "duration": "5 s",
    "link": [{"name": "core", "between": ["a", "b"], "rate": "20 Mbit/s", "delay": "15 ms", "queue": "1 bdp", "loss": 0.001}],
    "flow": [{"name": "flow", "from": "a", "to": "b", "scheme": "agent"}],
}
STAY = 0.0


def play_random_steps(envs: VectorEnv, steps: int, seed: int = 1) -> list[numpy.ndarray[Any, Any]]:
    """What happens under actions that are always the same."""
    actions = numpy.random.default_rng(9).uniform(-0.3, 0.35, (steps, envs.num_envs, 1))
    observations, infos = envs.reset(seed=seed)
    reported = [observations, infos["acked"]]
    for action in actions:
        observations, rewards, terminations, truncations, infos = envs.step(action)
        assert observations.dtype == numpy.float32 and envs.observation_space.contains(observations)
        reported += [observations, rewards, terminations, truncations, infos["acked"], infos["now"]]
    return reported


def test_the_same_seeds_give_the_same_steps_on_any_number_of_threads() -> None:
    runs = [play_random_steps(VectorEnv(PATH, 5, jobs=jobs), 40) for jobs in (1, 3)]
    assert all(numpy.array_equal(one, other, equal_nan=True) for one, other in zip(*runs))
    other = play_random_steps(VectorEnv(PATH, 5), 40, seed=2)
    assert not all(numpy.array_equal(one, two, equal_nan=True) for one, two in zip(runs[0], other))
    # The first simulations are the same as with fewer simulations, or with one.
    fewer = play_random_steps(VectorEnv(PATH, 2), 1)
    assert numpy.array_equal(fewer[0], runs[0][0][:2])
    observation, _ = Env(PATH).reset(seed=1)
    assert numpy.array_equal(observation, runs[0][0][0])


def test_environments_share_no_streams() -> None:
    def seeds(seed: Any, count: int = 4) -> set[int]:
        """The seeds of the first episodes of each simulation."""
        envs = VectorEnv(PATH, count, steps=1)
        found: set[int] = set()
        envs.reset(seed=seed)
        for _ in range(5):
            found.update(envs._seeds.tolist())
            envs.step(numpy.zeros((count, 1)))
            envs.step(numpy.zeros((count, 1)))
        assert len(found) == 5 * count
        return found

    streams = [seeds(seed) for seed in (0, 1, 2, 3, 7)]
    streams += [seeds([10, 11, 12, 13]), seeds(14, 1)]
    assert len(set.union(*streams)) == sum(map(len, streams))
    assert seeds(7) == streams[4] and seeds([14], 1) == streams[6]
    drawn = []
    for number in (1, 2):
        envs = VectorEnv(PATH, 4, vary={"link.core.delay": lambda rng: f"{rng.uniform(5, 50):.6f} ms"})
        envs.reset(seed=number)
        drawn += envs._seen["path_rtt"].tolist()
    assert len(set(drawn)) == 8


def test_one_environment_does_what_the_first_of_many_does() -> None:
    options: dict[str, Any] = {"steps": 30, "vary": {"link.core.rate": ["5 Mbit/s", "20 Mbit/s"]}, "reward": thalweg.envs.power}
    for extra in (options, {**options, "pace": False, "interval": 0.02, "delay": 0.01}):
        one, many = Env(PATH, **extra), VectorEnv(PATH, 1, **extra)
        observation, infos = one.reset(seed=5)
        others, reported = many.reset(seed=5)
        actions = numpy.random.default_rng(2).uniform(-0.4, 0.5, 40)
        for action in actions:
            assert observation == pytest.approx(others[0], abs=1e-6)
            for name in COLUMNS:
                known = float(reported[name][0])
                assert infos[name] is None if numpy.isnan(known) else infos[name] == pytest.approx(known), name
            observation, reward, terminated, truncated, infos = one.step([action])
            others, rewards, terminations, truncations, reported = many.step([[action]])
            assert (terminated, truncated) == (terminations[0], truncations[0]) and reward == pytest.approx(rewards[0])
            if truncated:
                break
        assert truncated


def test_it_is_an_environment_of_gymnasium() -> None:
    check_env(Env(PATH, steps=20), skip_render_check=True)
    envs = VectorEnv(PATH, 3)
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    recorded = gymnasium.wrappers.vector.RecordEpisodeStatistics(VectorEnv(PATH, 2, steps=10))
    recorded.reset(seed=1)
    for _ in range(10):
        *_, infos = recorded.step(numpy.zeros((2, 1)))
    assert list(infos["episode"]["l"]) == [10, 10]


def test_an_episode_is_truncated_and_the_step_after_resets_it() -> None:
    envs = VectorEnv(PATH, 2, steps=5)
    envs.reset(seed=1)
    for number in range(1, 13):
        before = envs._seeds.copy()
        observations, rewards, terminations, truncations, infos = envs.step(numpy.full((2, 1), STAY))
        assert not terminations.any()
        assert truncations.all() == (number % 6 == 5)
        if number % 6 == 0:
            # Reset step: the action is ignored, and the next seed starts.
            assert (rewards == 0).all() and (infos["seed"] != before).all() and (infos["now"] < 0.05).all()
            assert (infos["window"] == 10).all()
        else:
            assert (infos["seed"] == before).all() and (rewards > 0).all()


def test_episodes_are_reset_according_to_the_autoreset_mode() -> None:
    same = VectorEnv(PATH, 2, steps=5, autoreset_mode=AutoresetMode.SAME_STEP)
    later = VectorEnv(PATH, 2, steps=5)
    hand = VectorEnv(PATH, 2, steps=5, autoreset_mode=AutoresetMode.DISABLED)
    assert same.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    for envs in (same, later, hand):
        envs.reset(seed=1)
    for number in range(1, 16):
        action = numpy.full((2, 1), 0.1 if number % 5 else STAY)
        seen, rewards, _, truncations, infos = same.step(action)
        other, expected, *_, final = later.step(action)
        assert (rewards == expected).all() and truncations.all() == (number % 5 == 0)
        if number % 5:
            assert (seen == other).all() and "final_obs" not in infos
            continue
        # The ended episode, and its successor: the same as a step later.
        assert (numpy.stack(infos["final_obs"]) == other).all() and (infos["final_info"]["now"] == final["now"]).all()
        begun, *_, started = later.step(action)
        assert (seen == begun).all() and (infos["seed"] == started["seed"]).all() and (infos["now"] < 0.05).all()
    with pytest.raises(gymnasium.error.ResetNeeded, match="the first reset"):
        VectorEnv(PATH, 2).reset(options={"reset_mask": numpy.array([True, False])})
    for _ in range(5):
        before, *_ = hand.step(numpy.full((2, 1), 0.1))
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset_mask"):
        hand.step(numpy.zeros((2, 1)))
    renewed, infos = hand.reset(options={"reset_mask": numpy.array([True, False])})
    assert infos["now"][0] < 0.05 < infos["now"][1] and (renewed[1] == before[1]).all() and (renewed[0] != before[0]).any()
    with pytest.raises(ValueError, match="a truth value for each of 2"):
        hand.reset(options={"reset_mask": [1, 0]})


def test_the_end_of_the_duration_truncates_and_that_of_the_transfer_terminates() -> None:
    env = Env(PATH, set={"duration": "500 ms"})
    env.reset(seed=1)
    ends: list[tuple[bool, bool]] = []
    while not ends or not any(ends[-1]):
        _, _, terminated, truncated, infos = env.step([STAY])
        ends.append((terminated, truncated))
    assert ends[-1] == (False, True) and infos["now"] == 0.5
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step([STAY])
    flow = {**PATH["flow"][0], "workload": {"kind": "transfer", "size": "300 kB"}}
    env = Env({**PATH, "flow": [flow]})
    env.reset(seed=1)
    ends.clear()
    while not ends or not any(ends[-1]):
        _, _, terminated, truncated, infos = env.step([STAY])
        ends.append((terminated, truncated))
    assert ends[-1] == (True, False) and infos["now"] < 2


def test_a_step_is_a_round_trip_or_an_interval() -> None:
    def spans(**options: Any) -> numpy.ndarray[Any, Any]:
        envs = VectorEnv(PATH, 1, set={"link.core.loss": 0.0}, **options)
        envs.reset(seed=1)
        return numpy.array([envs.step([[STAY]])[4]["interval"][0] for _ in range(20)])

    # 30 ms, plus the transmission times of a packet of 1500 bytes and of an acknowledgement of 52 bytes.
    assert spans() == pytest.approx(numpy.full(20, 0.0306208), abs=1e-4)
    assert spans(interval=0.010) == pytest.approx(numpy.full(20, 0.010))
    stalled = VectorEnv(PATH, 1, set={"link.core.loss": 1.0}, longest=0.25)
    observations, infos = stalled.reset(seed=1)
    assert infos["now"][0] == 0.25 and (observations[0][:5] == 0).all()


@pytest.mark.parametrize(("delay", "expected"), [(0.0, [20, 40, 20, 20, 20]), (0.05, [20, 40, 20, 20, 20]), (0.12, [10, 10, 20, 40, 20])])
def test_actions_multiply_the_last_window_after_their_delay(delay: float, expected: list[float]) -> None:
    actions = [1.0, 1.0, -1.0, 0.0, 0.0]
    envs, env = VectorEnv(PATH, 1, interval=0.05, delay=delay), Env(PATH, interval=0.05, delay=delay)
    envs.reset(seed=1)
    env.reset(seed=1)
    assert [envs.step([[action]])[4]["window"][0] for action in actions] == expected
    assert [env.step(action)[4]["window"] for action in actions] == expected


def test_a_flow_that_starts_later_begins_with_its_initial_window() -> None:
    path = {**PATH, "flow": [{**PATH["flow"][0], "start": "1 s"}]}
    envs, env = VectorEnv(path, 2, interval=0.1), Env(path, interval=0.1)
    envs.reset(seed=1)
    env.reset(seed=1)
    for number in range(15):
        # Before the flow starts an action has nothing to multiply.
        action = 1.0 if number < 5 else 0.0
        several, one = envs.step(numpy.full((2, 1), action))[4], env.step([action])[4]
    assert (several["window"] == 10).all() and one["window"] == 10 and one["acked"] > 0


@pytest.mark.parametrize("action", ["0.5", None, [], {}, [0, 1], object(), numpy.zeros(2), "", b"0", [[]], numpy.array("a")])
def test_an_action_is_one_number(action: Any) -> None:
    env, envs = Env(PATH), VectorEnv(PATH, 1)
    env.reset(seed=1)
    envs.reset(seed=1)
    for step in (env.step, envs.step):
        with pytest.raises(thalweg.ScenarioError, match="a number from -1 to 1"):
            step(action)
    for nan in (numpy.nan, [numpy.nan], numpy.array([[numpy.nan]])):
        for step in (env.step, envs.step):
            with pytest.raises(thalweg.ScenarioError, match="not NaN"):
                step(nan)
    for valid in (1, 0.5, True, numpy.float32(0.1), numpy.array(0.1), numpy.array([[0.1]]), [0.1], (1,), [[0.2]]):
        env.step(valid)
        envs.step(valid)


def test_losses_are_those_of_classic_schemes() -> None:
    """Packets lost by their place in the stream of those that enter the wire: the same for all under one seed."""
    flow = {**PATH["flow"][0]}
    path = {**PATH, "flow": [flow], "link": [{**PATH["link"][0], "queue": "1000 pkt", "loss": 0.01}]}
    envs = VectorEnv(path, 1, set={"link.core.rate": "2 Mbit/s"})
    with pytest.warns(thalweg.ScenarioWarning, match="no agent sets the window of `flow`"):
        compared = envs.baselines(["cubic", "newreno", "agent"], seed=7)
    assert len(compared) == 1
    assert compared.flows["compared"] == ["cubic", "newreno", "agent"]
    envs.reset(seed=7)
    lost = 0.0
    over = False
    while not over:
        *_, truncations, infos = envs.step([[STAY]])
        lost, over = lost + infos["lost"][0], bool(truncations[0])
    left = compared.flows["lost_packets"][2]
    assert left > 3 and abs(lost - left) <= 2


def test_baselines_of_flows_that_end_print_their_time() -> None:
    flow = {**PATH["flow"][0], "workload": {"kind": "transfer", "size": "300 kB"}}
    envs = VectorEnv({**PATH, "flow": [flow]}, 1)
    for reps in (2, 3):
        compared = envs.baselines(["cubic"], seed=1, reps=reps)
        mean = sum(compared.flows["completion_s"]) / reps
        assert f"{mean:9.3f} s  " in str(compared) and "Mbit/s" not in str(compared)


def test_runs_without_an_agent_say_so(tmp_path: Path) -> None:
    words = "no agent sets the window of `flow` outside of an environment"
    short = {"duration": "2 s", "warmup": "500 ms"}
    calls: list[Callable[[], Any]] = [
        lambda: thalweg.run(PATH, set=short),
        lambda: thalweg.compare(PATH, ["agent", "cubic"], set=short),
        lambda: thalweg.sweep({"scenario": PATH, "set": short}, tmp_path / "plain"),
        lambda: thalweg.sweep({"scenario": PATH, "set": short, "schemes": ["cubic", "agent"]}, tmp_path / "schemes"),
        lambda: thalweg.sweep({"scenario": PATH, "set": short, "grid": {"flow.flow.scheme": ["cubic", "agent"]}}, tmp_path / "grid"),
    ]
    for call in calls:
        with pytest.warns(thalweg.ScenarioWarning, match=words):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Agents do not run here, or are not asked for.
        thalweg.compare(PATH, ["cubic"], set=short)
        thalweg.sweep({"scenario": PATH, "set": short, "schemes": ["cubic"]}, tmp_path / "none")
        VectorEnv(PATH, 1).baselines(["cubic"], seed=1)
    for scheme in ("agent", "agent:ecn=true"):
        with pytest.raises(thalweg.UnknownNameError, match="no scheme `agent` outside of environments"):
            thalweg.assess(scheme, tmp_path / "assessment")
        with pytest.raises(thalweg.UnknownNameError, match="no scheme `agent` outside of environments"):
            thalweg.hunt(scheme, "queue", tmp_path / "hunt")


def test_baselines_meet_the_episodes_of_the_environment() -> None:
    vary: thalweg.envs.Vary = {"link.core.rate": ["1 Mbit/s", "3 Mbit/s"], "link.core.delay": lambda rng: f"{rng.uniform(5, 50):.3f} ms"}
    envs = VectorEnv(PATH, 4, vary=vary, steps=100)
    infos = envs.reset(seed=3)[1]
    compared = envs.baselines(["cubic", "vegas"], seed=3, reps=4)
    flows = compared.flows
    assert flows["compared"] == ["cubic", "vegas"] * 4 and flows["episode"] == [0, 0, 1, 1, 2, 2, 3, 3]
    for row in flows:
        assert row["goodput_bps"] <= infos["path_rate"][row["episode"]] and row["seed"] == infos["seed"][row["episode"]]
    for number, result in enumerate(compared):
        (reported,) = re.findall(r'(?m)^duration = "([0-9.]+) ([a-z]*s)"', result.scenario)
        seconds = float(reported[0]) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}[reported[1]]
        assert seconds == pytest.approx(min(5, 101 * infos["path_rtt"][number]), rel=1e-3), reported
    assert "cubic" in str(compared) and "Means of 4 episodes" in str(compared)
    by_interval = VectorEnv(PATH, 1, steps=9, interval=0.05, set={"duration": "60 s", "warmup": "20 s"}).baselines(["cubic"], seed=1)
    assert 'duration = "500 ms"' in by_interval.results[0].scenario and by_interval.totals["goodput_bps"][0] > 0
    # Schemes replace the agent, and not its competitors.
    both = [*PATH["flow"], {"name": "other", "from": "a", "to": "b", "scheme": "newreno"}]
    beside = VectorEnv({**PATH, "flow": both}, 1).baselines(["cubic", "vegas"], seed=1)
    assert beside.flows["scheme"] == ["cubic", "newreno", "vegas", "newreno"]


QUEUES: dict[str, Any] = {
    "step": {"discipline": "step", "capacity": "200 pkt", "threshold": "10 pkt"},
    "red": {"discipline": "red", "capacity": "200 pkt", "min-threshold": "10 pkt", "max-threshold": "60 pkt", "ecn": True},
    "codel": {"discipline": "codel", "capacity": "200 pkt", "ecn": True},
    "pie": {"discipline": "pie", "capacity": "200 pkt"},
    "dualpi2": {"discipline": "dualpi2", "capacity": "200 pkt"},
}


class Marked(thalweg.Controller):
    """A window that grows until it is marked or loses."""

    seen: list[tuple[str, int]] = []

    def on_ack(self, sample: thalweg.Sample) -> None:
        self.seen.append((sample.kind, sample.marks))
        self.window = max(2.0, self.window / 2) if sample.marks and self.ecn == "l4s" else self.window + 1

    def on_loss(self, sample: thalweg.Sample) -> None:
        self.seen.append((sample.kind, 0))
        self.window = max(2.0, self.window / 2)


@pytest.mark.parametrize("queue", QUEUES)
def test_marks_reach_controllers_and_agents(queue: str) -> None:
    link = {**PATH["link"][0], "loss": 0, "queue": QUEUES[queue]}
    path = {**PATH, "link": [link], "flow": [{**PATH["flow"][0], "scheme": "mine"}]}
    assert thalweg.compare(path, ["dctcp"], controllers={"mine": Marked}).flows["marked_packets"][0] > 0
    for ecn in ("classic", "l4s", None):
        Marked.ecn = ecn
        Marked.seen.clear()
        result = thalweg.run(path, controllers={"mine": Marked})
        marks, kinds = sum(marks for _, marks in Marked.seen), {kind for kind, _ in Marked.seen}
        reported = result.flows["marked_packets"][0] or 0
        assert (marks > 0) == (reported > 0) == (ecn is not None), (ecn, marks, reported)
        assert ("mark" in kinds) == (ecn == "classic"), kinds
        agents = {**path, "flow": PATH["flow"]}
        agents["duration"] = "100 s"
        envs, one = VectorEnv(agents, 2, ecn=ecn), Env(agents, ecn=ecn)
        envs.reset(seed=1)
        one.reset(seed=1)
        total, highest = 0.0, 0.0
        for _ in range(60):
            observations, *_, infos = envs.step(numpy.full((2, 1), 0.1))
            total += infos["marks"].sum() + one.step(0.1)[4]["marks"]
            highest = max(highest, float(observations[:, 3].max()))
        assert (total > 0) == (highest > 0) == (ecn is not None), (ecn, total)
    Marked.ecn = None


def test_a_policy_is_marked_as_its_environment_is() -> None:
    path = {**PATH, "link": [{**PATH["link"][0], "loss": 0, "queue": QUEUES["step"]}]}
    custom = thalweg.envs.controller(lambda observation: 0.3 if observation[3] == 0 else -0.5, ecn="l4s")
    result = thalweg.compare(path, ["policy"], controllers={"policy": custom})
    assert result.flows["marked_packets"][0] > 0 and result.flows["lost_packets"][0] == 0
    for wrong in ("ect1", 1, True):
        with pytest.raises(thalweg.ScenarioError, match="it is one of None, 'classic'"):
            VectorEnv(PATH, 1, ecn=wrong)  # type: ignore[arg-type]
        with pytest.raises(thalweg.ScenarioError, match="it is one of None, 'classic'"):
            thalweg.envs.controller(lambda observation: 0.0, ecn=wrong)  # type: ignore[arg-type]

        def refused(value: Any = wrong) -> thalweg.Controller:
            made = custom()
            made.ecn = value
            return made

        with pytest.raises(thalweg.RunError) as caught:
            thalweg.compare(path, ["policy"], controllers={"policy": refused})
        assert 'ecn is None, "classic"' in str(caught.value.__cause__)


def test_environments_are_registered_and_documented() -> None:
    env = gymnasium.make("thalweg/Scenario-v0", scenario=PATH, steps=5, render_mode="ansi")
    env.reset(seed=1)
    env.step(numpy.zeros(1))
    assert "window     10.0" in str(env.render()) and "ms" in str(env.render())
    envs: Any = gymnasium.make_vec("thalweg/Scenario-v0", num_envs=3, scenario=PATH, render_mode="ansi")
    envs.reset(seed=1)
    assert envs.num_envs == 3 and len(envs.render()) == 3
    assert Env(PATH).render() is None
    with pytest.raises(thalweg.ScenarioError, match='render_mode is None, "ansi" or "rgb_array"'):
        Env(PATH, render_mode="human")


def test_pictures_show_the_last_steps() -> None:
    env = Env(PATH, steps=20, render_mode="rgb_array")
    assert env.render() is None
    env.reset(seed=1)
    for _ in range(5):
        env.step(numpy.ones(1))
    frame: Any = env.render()
    assert frame.shape == (574, 860, 3) and frame.dtype == numpy.uint8
    blue = (frame == (0x00, 0x72, 0xB2)).all(axis=2)
    env.step(numpy.ones(1))
    later: Any = env.render()
    assert blue.sum() > 100 and (later != frame).any()
    check_env(Env(PATH, steps=20, render_mode="rgb_array"))
    envs = VectorEnv(PATH, 2, render_mode="rgb_array")
    envs.reset(seed=1)
    envs.step(numpy.ones((2, 1)))
    frames: Any = envs.render()
    assert len(frames) == 2 and all(of.shape == (574, 860, 3) for of in frames)


def test_the_path_may_differ_in_each_episode() -> None:
    rates = ["5 Mbit/s", "40 Mbit/s"]
    vary: thalweg.envs.Vary = {"link.core.rate": rates, "link.core.delay": lambda rng: f"{rng.uniform(5, 50):.3f} ms"}

    def observed() -> list[tuple[float, float]]:
        envs = VectorEnv(PATH, 4, steps=2, vary=vary)
        envs.reset(seed=3)
        found = []
        for _ in range(9):
            infos = envs.step(numpy.zeros((4, 1)))[4]
            found += list(zip(infos["path_rate"].tolist(), infos["path_rtt"].tolist()))
        return found

    first = observed()
    assert {rate for rate, _ in first} == {5e6, 40e6} and len({rtt for _, rtt in first}) == 16
    assert all(0.01 < rtt < 0.11 for _, rtt in first)
    assert observed() == first


def test_the_reward_is_power_or_a_custom_function() -> None:
    envs = VectorEnv(PATH, 2, set={"link.core.loss": 0.0})
    envs.reset(seed=1)
    for _ in range(10):
        # Ten packets on a path of 52 packets (76,000 bytes) per round trip.
        rewards = envs.step(numpy.zeros((2, 1)))[1]
    assert rewards == pytest.approx(numpy.full(2, 10 * 1448 * 8 / 0.0306 / 20e6), rel=0.02)
    custom = VectorEnv(PATH, 2, reward=lambda seen: -seen["window"])
    custom.reset(seed=1)
    assert list(custom.step(numpy.zeros((2, 1)))[1]) == [-10, -10]


def test_many_resets_hang_never() -> None:
    envs = VectorEnv(PATH, 8, steps=1)
    envs.reset(seed=1)
    for number in range(200):
        envs.step(numpy.ones((8, 1)))
        if number % 7 == 0:
            envs.reset()
    assert numpy.isfinite(envs.reset(seed=2)[0]).all()


def test_a_policy_runs_as_a_controller() -> None:
    def policy(observation: numpy.ndarray[Any, Any]) -> float:
        """Aims at a queue of a quarter of a round trip."""
        return float(0.3 * (0.25 - observation[0]))

    custom = thalweg.envs.controller(policy)
    compared = thalweg.compare(PATH, ["policy", "cubic"], controllers={"policy": custom}, seed=1)
    goodput, delay = compared.flows["goodput_bps"], compared.flows["delay_mean_s"]
    assert goodput[0] > 0.9 * goodput[1] and delay[0] < 0.030
    # The same steps as in the environment.
    env = Env(PATH)
    observation, _ = env.reset(seed=1)
    delivered, over = 0.0, False
    while not over:
        observation, _, _, over, infos = env.step([policy(observation)])
        delivered += infos["acked_bytes"]
    assert delivered * 8 / 5 == pytest.approx(goodput[0], rel=0.03)


def test_errors_are_reported() -> None:
    with pytest.raises(thalweg.ScenarioError, match="no flow has the scheme `agent`"):
        VectorEnv("two-flows", 2)
    with pytest.raises(thalweg.ScenarioError, match="several flows"):
        VectorEnv({**PATH, "flow": [{**PATH["flow"][0], "count": 2}]})
    with pytest.raises(thalweg.ScenarioError, match="did you mean `duration`"):
        VectorEnv(PATH, set={"duraton": "1 s"})
    with pytest.raises(thalweg.ScenarioError, match="one flow has the scheme `agent`"):
        VectorEnv({**PATH, "flow": PATH["flow"] + [{**PATH["flow"][0], "name": "other"}]})
    for wrong in ({"interval": 0.0}, {"delay": -1.0}, {"longest": float("nan")}, {"num_envs": 0}, {"steps": 0}):
        with pytest.raises(ValueError):
            VectorEnv(PATH, **wrong)
    with pytest.raises(thalweg.ScenarioError, match="did you mean `delay`"):
        VectorEnv(PATH, 2, vary={"link.core.dely": ["1 ms"]})
    with pytest.raises(thalweg.ScenarioError, match="`seed` has no effect"):
        VectorEnv(PATH, set={"seed": 5})
    envs = VectorEnv(PATH, 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(numpy.zeros((2, 1)))
    envs.reset(seed=1)
    with pytest.raises(thalweg.ScenarioError, match="not NaN|window of NaN"):
        envs.step(numpy.full((2, 1), numpy.nan))
    with pytest.raises(ValueError, match="3 seeds"):
        envs.reset(seed=[1, 2, 3])
    assert "rtt" in COLUMNS and thalweg.envs.FEATURES[0] == "queueing"


def length(envs: VectorEnv, seed: int) -> float:
    """The end of the first episode, if its agent keeps the window."""
    envs.reset(seed=seed)
    over = False
    while not over:
        *_, terminations, truncations, infos = envs.step(numpy.zeros((envs.num_envs, 1)))
        over = bool(terminations[0] or truncations[0])
    return float(infos["now"][0])


@pytest.mark.parametrize(
    ("link", "flow", "options"),
    [
        ({}, {}, {}),
        ({"delay": "150 ms"}, {}, {"longest": 0.1}),
        ({"delay": "150 ms"}, {}, {"longest": 0.25}),
        ({}, {"start": "2 s"}, {}),
        ({}, {"start": "2.5 s"}, {"longest": 0.4}),
        ({}, {"start": "1 s", "spread": "3 s"}, {}),
        ({}, {"start": "2 s"}, {"interval": 0.07}),
        ({}, {"start": "30 s"}, {"longest": 0.1}),
        ({}, {}, {"longest": float("inf")}),
        ({}, {"start": "3 s"}, {"longest": 5.0, "set": {"duration": "4 s", "warmup": "0 s"}}),
    ],
)
def test_baselines_have_the_length_of_the_episode(link: dict[str, Any], flow: dict[str, Any], options: dict[str, Any]) -> None:
    path = {"duration": "60 s", "link": [{**PATH["link"][0], "loss": 0.0, **link}], "flow": [{**PATH["flow"][0], **flow}]}
    for steps in (1, 2, 5, 40):
        envs = VectorEnv(path, 1, steps=steps, **options)
        (result,) = envs.baselines(["cubic"], seed=3)
        assert result.document["duration_s"] == pytest.approx(length(envs, 3), rel=0.005), steps


def test_baselines_show_the_flow_that_is_replaced() -> None:
    others = {"name": "others", "from": "a", "to": "b", "scheme": "cubic", "count": 3}
    envs = VectorEnv({**PATH, "flow": [*PATH["flow"], others]}, 1)
    one, several = envs.baselines(["cubic", "vegas"], seed=1), envs.baselines(["cubic", "vegas"], seed=1, reps=2)
    assert "Compared: `flow`; `others` keeps its scheme" in str(one) and "Means of 2 episodes, `flow`" in str(several)
    for scheme in ("cubic", "vegas"):
        shown = float(re.findall(rf"(?m)^{scheme} +([0-9.]+) Mbit/s", str(several))[0])
        mean = numpy.mean([row["goodput_bps"] / 1e6 for row in several.flows if row["compared"] == scheme and row["flow"] == "flow"])
        assert shown == pytest.approx(mean, abs=1e-3) and shown < 12


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_what_is_returned_may_be_changed(mode: AutoresetMode) -> None:
    """A caller that converts units in place."""

    def played(spoils: bool) -> list[Any]:
        def reward(seen: thalweg.envs.Samples) -> numpy.ndarray[Any, Any]:
            found = -seen["window"].copy()
            if spoils:
                for of in seen.values():
                    of *= 1e3
            return found

        envs = VectorEnv(PATH, 2, reward=reward, steps=7, autoreset_mode=mode)
        found: list[Any] = []
        returned: Any = envs.reset(seed=1)
        for number in range(20):
            observations, *rest, infos = returned
            found += [observations.copy(), *(of.copy() for of in rest), *(infos[name].copy() for name in (*COLUMNS, "seed"))]
            if spoils:
                observations -= 100
                for of in rest:
                    of[:] = 0
                for name in (*COLUMNS, "seed"):
                    infos[name][:] = 1
            ends = number % 8 == 7 and mode is AutoresetMode.DISABLED
            mask = {"reset_mask": numpy.array([True, True])}
            returned = envs.reset(options=mask) if ends else envs.step(numpy.full((2, 1), 0.05))
        return found

    assert all(numpy.array_equal(one, other, equal_nan=True) for one, other in zip(played(False), played(True), strict=True))


def test_a_partial_reset_keeps_the_other_observations() -> None:
    envs = VectorEnv(PATH, 2, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=1)
    observations = envs.step(numpy.zeros((2, 1)))[0]
    kept = observations[1].copy()
    observations -= 100
    assert (envs.reset(options={"reset_mask": numpy.array([True, False])})[0][1] == kept).all()


@pytest.mark.parametrize(
    "reward",
    [lambda seen: seen["acked"][:, None], lambda seen: None, lambda seen: 1.0, lambda seen: "1", lambda seen: seen["acked"] * numpy.nan],
)
def test_rewards_are_a_finite_number_for_each_agent(reward: Any) -> None:
    envs, env = VectorEnv(PATH, 3, reward=reward), Env(PATH, reward=reward)
    envs.reset(seed=1)
    env.reset(seed=1)
    with pytest.raises(thalweg.ScenarioError, match=r"an array of shape \(3,\), a finite number for each"):
        envs.step(numpy.zeros((3, 1)))
    with pytest.raises(thalweg.ScenarioError, match=r"an array of shape \(1,\), a finite number for each"):
        env.step(0.0)


def test_rewards_of_resets_are_not_used() -> None:
    """The first sample of an episode may have no round trip."""
    envs = VectorEnv(PATH, 1, steps=3, interval=0.02, reward=lambda seen: numpy.where(seen["now"] < 0.03, numpy.nan, 1.0))
    envs.reset(seed=1)
    assert [envs.step([[0.0]])[1][0] for _ in range(8)] == [1, 1, 1, 0, 1, 1, 1, 0]


def test_the_scenario_is_the_one_at_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = _toml.toml_document({**PATH, "duration": "2 s"})
    monkeypatch.chdir(tmp_path)
    Path("path.toml").write_text(text)
    Path("fast.txt").write_text("".join(f"{number}\n" for number in range(1, 51)))
    Path("slow.txt").write_text("".join(f"{2 * number}\n" for number in range(1, 51)))
    scenario: dict[str, Any] = {"duration": "2 s", "link": [{**PATH["link"][0], "trace": "fast.txt"}], "flow": [dict(PATH["flow"][0])]}
    del scenario["link"][0]["rate"]
    delays = {"link.core.delay": ["15 ms", "16 ms"]}
    sets = {"link.core.loss": 0.0}
    envs = [VectorEnv("path.toml", 1, set=sets, vary=delays), VectorEnv("path.toml", 1), VectorEnv(scenario, 1, vary=delays)]
    envs.append(VectorEnv(scenario, 1, set={"link.core.trace": "slow.txt"}, vary={"link.core.trace": lambda rng: "fast.txt"}))
    found = [of.reset(seed=1)[1]["path_rate"][0] for of in envs]
    assert found == [20e6, 20e6, 12e6, 12e6]
    Path("path.toml").write_text(text.replace("20 Mbit/s", "5 Mbit/s"))
    scenario["duration"] = "1 s"
    sets["link.core.rate"] = 1e6
    os.mkdir("below")
    os.chdir("below")
    assert [of.reset(seed=1)[1]["path_rate"][0] for of in envs] == found
    for of, rate in zip(envs, found):
        (result,) = of.baselines(["cubic"], seed=1)
        assert result.links["rate_bps"][0] in (rate, None) and result.document["duration_s"] == 2
    # Names in a file are relative to it, in changes too.
    os.chdir("..")
    Path("below/slow.txt").write_text(Path("slow.txt").read_text())
    Path("below/traced.toml").write_text(_toml.toml_document({**scenario, "link": [{**scenario["link"][0], "trace": "slow.txt"}]}))
    below = VectorEnv("below/traced.toml", 1, vary=delays)
    Path("below/path.toml").write_text(_toml.toml_document(PATH).replace('rate = "20 Mbit/s"', 'trace = "missing.txt"'))
    changed = VectorEnv("below/path.toml", 1, set={"link.core.trace": "slow.txt"})
    os.chdir("/")
    assert [of.reset(seed=1)[1]["path_rate"][0] for of in (below, changed)] == [6e6, 6e6]
    assert changed.baselines(["cubic"], seed=1, set={"link.core.trace": "slow.txt"}).flows["goodput_bps"][0] < 6e6


def test_values_are_chosen_from_lists_and_arrays() -> None:
    for values in (pandas.Series([0.01, 0.02], index=[7, 9]), numpy.array([0.01, 0.02]), (0.01, 0.02)):
        vary: Any = {"link.core.delay": values}
        rtts = VectorEnv(PATH, 16, vary=vary).reset(seed=1)[1]["path_rtt"]
        assert set(rtts.round(2)) == {0.02, 0.04}
    wrong: list[Any] = [{"a": 1}, {0.01}, "5 ms", [], numpy.array(1.0), 0.01]
    for values in wrong:
        with pytest.raises(thalweg.ScenarioError, match="has a list of values or a function"):
            VectorEnv(PATH, 1, vary={"link.core.delay": values})
    env = Env(PATH)
    env.reset(seed=1)
    env.step(10**400)


@pytest.mark.parametrize("call", ["reset", "step"])
@pytest.mark.parametrize(
    ("made", "action"),
    [
        ("Env(path, interval=5000)", "0.0"),
        ("VectorEnv(path, 2, interval=5000, jobs=2)", "[[0.0], [0.0]]"),
        ("ParallelEnv(path, interval=5000)", "{'flow': 0.0}"),
    ],
)
def test_ctrl_c_ends_a_long_step_and_the_episode(made: str, action: str, call: str) -> None:
    # Of two intervals the second one takes minutes, or the first one.
    start = "0 s" if call == "reset" else "5000.1 s"
    flows = [{**PATH["flow"][0], "start": start}, {**PATH["flow"][0], "name": "other", "scheme": "cubic", "start": start}]
    path = {"duration": "10000 s", "link": [{**PATH["link"][0], "rate": "1 Gbit/s", "loss": 0}], "flow": flows}
    program = (
        # Background jobs start with the signal ignored.
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import gymnasium\n"
        "from thalweg.envs import Env, VectorEnv\n"
        "from thalweg.marl import ParallelEnv\n"
        f"path = {path!r}\n"
        f"env = {made}\n"
        f"{'' if call == 'reset' else 'env.reset(seed=1)'}\n"
        "print('begun', flush=True)\n"
        "try:\n"
        f"    {'env.reset(seed=1)' if call == 'reset' else f'env.step({action})'}\n"
        "except KeyboardInterrupt:\n"
        "    try:\n"
        f"        env.step({action})\n"
        "    except gymnasium.error.ResetNeeded:\n"
        "        print('interrupted', flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "begun\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        begun = time.monotonic()
        try:
            output, _ = child.communicate(timeout=30)
        finally:
            child.kill()
    assert output == "interrupted\n" and child.returncode == 0 and time.monotonic() - begun < 10
