"""Episodes that cannot begin, their warnings, lengths and arithmetic."""

import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gymnasium
import numpy
import pytest
from gymnasium.vector import AutoresetMode

import thalweg
import thalweg.envs
from thalweg.envs import Env, VectorEnv, _decide, _decide_for_one, _features, _features_of_one
from thalweg.marl import ParallelEnv

PATH: dict[str, Any] = {
    "duration": "5 s",
    "link": [{"name": "core", "between": ["a", "b"], "rate": "20 Mbit/s", "delay": "15 ms", "queue": "1 bdp"}],
    "flow": [{"name": "flow", "from": "a", "to": "b", "scheme": "agent"}],
}
ACTIONS: dict[type[Any], Any] = {Env: [0.1], VectorEnv: numpy.full((2, 1), 0.1), ParallelEnv: {"flow": [0.1]}}


def made(kind: type[Any], **options: Any) -> Any:
    return kind(PATH, **options) if kind is not VectorEnv else kind(PATH, 2, **options)


@pytest.mark.parametrize("kind", ACTIONS)
@pytest.mark.parametrize("fault", ["value", "exception"])
def test_after_a_failed_reset_there_is_no_episode(kind: type[Any], fault: str) -> None:
    is_valid = True

    def rate(generator: numpy.random.Generator) -> Any:
        if not is_valid and fault == "exception":
            raise LookupError("no rate")
        return 20e6 if is_valid else -1

    env = made(kind, vary={"link.core.rate": rate})
    env.reset(seed=1)
    env.step(ACTIONS[kind])
    is_valid = False
    with pytest.raises(LookupError if fault == "exception" else thalweg.ScenarioError):
        env.reset()
    for _ in range(2):
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(ACTIONS[kind])
    assert kind is ParallelEnv or env.render() is None
    is_valid = True
    env.reset()
    env.step(ACTIONS[kind])


@pytest.mark.parametrize("all_end", [False, True])
def test_a_step_that_begins_no_successor_may_be_repeated(all_end: bool) -> None:
    is_valid = True

    def begun() -> VectorEnv:
        sizes = iter(["20 kB", "20 kB" if all_end else "2 MB", *["20 kB"] * 9])
        flow = {**PATH["flow"][0], "workload": {"kind": "transfer", "size": "50 kB"}}
        vary = {"flow.1.workload.size": lambda rng: next(sizes), "link.core.rate": lambda rng: 20e6 if is_valid else -1}
        envs = VectorEnv({**PATH, "flow": [flow]}, 2, vary=vary, autoreset_mode=AutoresetMode.SAME_STEP)
        envs.reset(seed=1)
        return envs

    actions = numpy.zeros((2, 1))
    envs, plain = begun(), begun()
    expected, steps = plain.step(actions), 1
    while not expected[2].any():
        expected, steps = plain.step(actions), steps + 1
    assert expected[2].tolist() == [True, all_end]
    for _ in range(steps - 1):
        envs.step(actions)
    is_valid = False
    for _ in range(2):
        with pytest.raises(thalweg.ScenarioError, match="vary `link.core.rate`"):
            envs.step(actions)
    is_valid = True
    # What ended is there, of the same step; other draws have begun the next episodes.
    _, rewards, terminations, truncations, infos = envs.step(actions)
    assert (rewards == expected[1]).all() and (terminations == expected[2]).all() and not truncations.any()
    assert all((one is None) == (other is None) for one, other in zip(infos["final_obs"], expected[4]["final_obs"]))
    assert (infos["final_obs"][0] == expected[4]["final_obs"][0]).all()
    assert (infos["final_info"]["now"] == expected[4]["final_info"]["now"]).all() and infos["now"][0] < infos["final_info"]["now"][0]
    if not all_end:
        assert infos["now"][1] == expected[4]["now"][1]
        for _ in range(3):
            assert envs.step(actions)[4]["now"][1] == plain.step(actions)[4]["now"][1]


def test_a_failed_reset_of_some_leaves_the_others() -> None:
    is_valid = True
    envs, plain = (
        VectorEnv(PATH, 2, vary={"link.core.rate": lambda rng: 20e6 if is_valid else -1}, autoreset_mode=AutoresetMode.DISABLED) for _ in range(2)
    )
    actions = numpy.zeros((2, 1))
    for env in (envs, plain):
        env.reset(seed=1)
        env.step(actions)
    is_valid = False
    with pytest.raises(thalweg.ScenarioError, match="vary `link.core.rate`"):
        envs.reset(options={"reset_mask": numpy.array([True, False])})
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset_mask"):
        envs.step(actions)
    is_valid = True
    _, infos = envs.reset(options={"reset_mask": numpy.array([True, False])})
    assert infos["now"][0] < 0.05
    assert envs.step(actions)[4]["now"][1] == plain.step(actions)[4]["now"][1]


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
@pytest.mark.parametrize("kind", ACTIONS)
def test_seeds_are_checked_by_the_package(kind: type[Any], seed: Any) -> None:
    env = made(kind)
    with pytest.raises(thalweg.ScenarioError, match="seed="):
        env.reset(seed=seed)
    first = env.reset(seed=5)[1]
    assert str(env.reset(seed=numpy.int64(5))[1]) == str(first)


def test_a_step_whose_new_episode_cannot_begin_advances_no_other() -> None:
    is_valid = True

    def begun() -> VectorEnv:
        sizes = iter(["20 kB", "2 MB", *["20 kB"] * 9])
        flow = {**PATH["flow"][0], "workload": {"kind": "transfer", "size": "50 kB"}}
        vary = {"flow.1.workload.size": lambda rng: next(sizes), "link.core.rate": lambda rng: 20e6 if is_valid else -1}
        envs = VectorEnv({**PATH, "flow": [flow]}, 2, vary=vary, render_mode="rgb_array")
        envs.reset(seed=1)
        over = numpy.zeros(2, dtype=bool)
        while not over.any():
            _, _, ended, _, infos = envs.step(numpy.zeros((2, 1)))
            over = ended
        assert over.tolist() == [True, False]
        return envs

    envs, plain = begun(), begun()
    is_valid = False
    for _ in range(2):
        with pytest.raises(thalweg.ScenarioError, match="vary `link.core.rate`"):
            envs.step(numpy.zeros((2, 1)))
    assert len(envs.render() or ()) == 2
    is_valid = True
    found, expected = (each.step(numpy.zeros((2, 1)))[-1] for each in (envs, plain))
    for name in thalweg.envs.COLUMNS:
        assert numpy.array_equal(found[name][1], expected[name][1], equal_nan=True), name
    assert found["now"][0] < 0.05 < found["now"][1]


@pytest.mark.parametrize("kind", ACTIONS)
def test_probable_mistakes_are_warnings(kind: type[Any]) -> None:
    late = {"link.core.queue": "1 pkt", "duration": "3 s", "flow.1.start": "5 s"}
    with pytest.warns(thalweg.ScenarioWarning, match="never-starts") as caught:
        made(kind, set=late)
    assert {warned.filename for warned in caught} == {__file__}
    # Episodes have no warm-up.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = made(kind)
        env.reset(seed=1)
        env.step(ACTIONS[kind])


def test_baselines_of_shortened_episodes_have_no_warmup() -> None:
    path = {**PATH, "duration": "30 s", "warmup": "1 s", "link": [{**PATH["link"][0], "rate": "10 Mbit/s", "delay": "10 ms"}]}
    for steps in (44, 46, 47, 48, 60, 100):
        (result,) = VectorEnv(path, 1, steps=steps).baselines(["cubic"], seed=1)
        (counted,), (goodput,) = result.flows["counted_s"], result.flows["goodput_bps"]
        assert counted == pytest.approx(result.document["duration_s"]) and goodput < 10e6, steps
    (whole,) = VectorEnv(path, 1, steps=100_000).baselines(["cubic"], seed=1)
    assert whole.document["warmup_s"] == 1.0 and whole.flows["counted_s"] == [29.0]


def test_one_environment_computes_the_same_digits() -> None:
    generator = numpy.random.default_rng(3)
    count = 20_000
    seen = {name: generator.uniform(0.001, 2000.0, count) for name in thalweg.envs.COLUMNS}
    before, actions = generator.uniform(1.0, 2000.0, count), generator.uniform(-1.0, 1.0, count)
    windows, rates = _decide(before, seen, actions, True)
    observations, lasts = _features(seen, seen["rtt"][::-1])
    for number in range(count):
        one = {name: of[number].item() for name, of in seen.items()}
        assert _decide_for_one(before[number].item(), one, actions[number].item(), True) == (windows[number], rates[number])
        values, last = _features_of_one(one, seen["rtt"][count - 1 - number].item())
        assert numpy.array_equal(numpy.array(values, dtype=numpy.float32), observations[number]) and last == lasts[number]


def test_episodes_of_gymnasium_have_its_limit() -> None:
    for steps, limit in ((None, 3), (3, 5), (5, 3)):
        envs: Any = gymnasium.make_vec("thalweg.envs:thalweg/Scenario-v0", num_envs=2, scenario=PATH, max_episode_steps=limit, steps=steps)
        envs.reset(seed=1)
        cut = [bool(envs.step(numpy.zeros((2, 1)))[3].all()) for _ in range(3)]
        assert cut == [False, False, True]


def test_wrong_values_are_named_by_their_key() -> None:
    with pytest.raises(thalweg.UnknownNameError, match="(?s)vary `link.core.dely`.*did you mean `delay`"):
        VectorEnv(PATH, 2, set={"duration": "4 s"}, vary={"link.core.rate": lambda rng: 20e6, "link.core.dely": ["1 ms"]})
    env = Env(PATH, set={"duration": "4 s"}, vary={"duration": ["3 s", "2 s"], "link.core.rate": lambda rng: -1})
    with pytest.raises(thalweg.ScenarioError, match="vary `link.core.rate`"):
        env.reset(seed=1)
    with pytest.raises(thalweg.ScenarioError, match="--> set 1"):
        Env(PATH, set={"duration": -4})
    # The values of a list may need those of a function.
    Env(PATH, vary={"warmup": ["10 s"], "duration": lambda rng: "20 s"}).reset(seed=1)


def test_too_many_simulations_are_an_error_of_the_package() -> None:
    with pytest.raises(thalweg.ScenarioError, match="num_envs=16777216: at most"):
        VectorEnv(PATH, 2**24)


@pytest.mark.parametrize("number", [Decimal, Fraction])
def test_numbers_may_be_decimal(number: Callable[[str], Any]) -> None:
    env, plain = Env(PATH, interval=number("0.05"), steps=20), Env(PATH, interval=0.05, steps=20)
    assert env.reset(seed=1)[1] == plain.reset(seed=1)[1]
    envs = VectorEnv(PATH, 1, interval=number("0.05"), longest=number("0.5"), delay=number("0.001"), steps=20)
    same = VectorEnv(PATH, 1, interval=0.05, steps=20)
    counted, expected = (each.baselines(["cubic"], seed=1).flows["counted_s"] for each in (envs, same))
    assert counted == expected
    assert thalweg.models("mathis", p=number("0.001"), rtt=number("0.05"))["results"] == thalweg.models("mathis", p="1e-3", rtt="50 ms")["results"]
    if number is Decimal:
        exact = thalweg.run("dumbbell", set={"duration": Decimal("2.50"), "warmup": Decimal("5e-1")})
        assert exact.fingerprint == thalweg.run("dumbbell", set={"duration": 2.5, "warmup": 0.5}).fingerprint
