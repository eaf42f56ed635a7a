"""Proximal policy optimisation (Schulman et al. 2017) in numpy, for environments of `thalweg.envs`.

It is as small as a policy of seven numbers is: for larger ones take stable-baselines3 or CleanRL, which take the same environments.
"""

from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

Array = NDArray[numpy.float64]


class Network:
    """One hidden layer of tanh, learned by Adam (Kingma and Ba 2015)."""

    def __init__(self, rng: numpy.random.Generator, inputs: int, hidden: int, last: float) -> None:
        self.weights: list[Array] = [
            rng.normal(0, 1 / numpy.sqrt(inputs), (inputs, hidden)),
            numpy.zeros(hidden),
            rng.normal(0, last / numpy.sqrt(hidden), (hidden, 1)),
            numpy.zeros(1),
        ]
        self.moments = [(numpy.zeros_like(of), numpy.zeros_like(of)) for of in self.weights]
        self.steps = 0

    def __call__(self, seen: Array) -> tuple[Array, Array]:
        """What the hidden layer and the output have."""
        inner = numpy.tanh(seen @ self.weights[0] + self.weights[1])
        return inner, (inner @ self.weights[2] + self.weights[3])[:, 0]

    def learn(self, seen: Array, inner: Array, slope: Array, rate: float) -> None:
        """A step down, where `slope` is that of the loss over the outputs."""
        out = slope[:, None]
        below = (out @ self.weights[2].T) * (1 - inner**2)
        slopes = [seen.T @ below, below.sum(0), inner.T @ out, out.sum(0)]
        size = numpy.sqrt(sum(float((of**2).sum()) for of in slopes))
        self.steps += 1
        for weight, (mean, square), of in zip(self.weights, self.moments, slopes):
            of = of * min(1.0, 0.5 / (size + 1e-9))
            mean += 0.1 * (of - mean)
            square += 0.001 * (of**2 - square)
            fresh, spread = mean / (1 - 0.9**self.steps), square / (1 - 0.999**self.steps)
            weight -= rate * fresh / (numpy.sqrt(spread) + 1e-5)


def train(
    envs: Any,
    updates: int,
    *,
    seed: int = 1,
    length: int = 32,
    passes: int = 4,
    parts: int = 4,
    rate: float = 3e-3,
    report: Callable[[int, float], None] | None = None,
) -> Callable[[Array], float]:
    """Learns a policy: the logarithm of the factor of the window, from an observation. `report` is called with the mean reward of each update."""
    rng = numpy.random.default_rng(seed)
    inputs = envs.single_observation_space.shape[0]
    actor, critic = Network(rng, inputs, 32, 0.01), Network(rng, inputs, 32, 1.0)
    spread, discount, trace, clip = 0.5, 0.98, 0.95, 0.2
    observation, _ = envs.reset(seed=seed)
    fresh = numpy.ones(envs.num_envs, dtype=bool)
    for update in range(updates):
        spread = 0.5 * 0.1 ** (update / updates)
        seen = numpy.zeros((length + 1, envs.num_envs, inputs))
        acted, odds, gained = (numpy.zeros((length, envs.num_envs)) for _ in range(3))
        # A step that only resets is none to learn from, and what comes before it is not followed by it.
        counts, goes_on = (numpy.zeros((length, envs.num_envs)) for _ in range(2))
        for step in range(length):
            seen[step] = observation
            mean = actor(seen[step])[1]
            acted[step] = rng.normal(mean, spread)
            odds[step] = -((acted[step] - mean) ** 2) / (2 * spread**2)
            observation, gained[step], ended, cut, _ = envs.step(numpy.clip(acted[step], -1, 1)[:, None])
            counts[step] = ~fresh if update or step else 1
            fresh = ended | cut
            goes_on[step] = ~fresh
        seen[length] = observation
        values = critic(seen.reshape(-1, inputs))[1].reshape(length + 1, -1)
        gains, last = numpy.zeros_like(gained), numpy.zeros(envs.num_envs)
        for step in reversed(range(length)):
            # Episodes are cut by the clock: what would follow is worth what it is worth.
            surprise = gained[step] + discount * values[step + 1] - values[step]
            last = surprise + discount * trace * goes_on[step] * last
            gains[step] = last
        kept = numpy.flatnonzero(counts.reshape(-1))
        flat = [of.reshape(-1)[kept] for of in (acted, odds, gains, gains + values[:length])]
        observed = seen[:length].reshape(-1, inputs)[kept]
        for _ in range(passes):
            for part in numpy.array_split(rng.permutation(len(kept)), parts):
                act, before, gain, goal = (of[part] for of in flat)
                inner, mean = actor(observed[part])
                ratio = numpy.exp(-((act - mean) ** 2) / (2 * spread**2) - before)
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                is_free = numpy.where(gain > 0, ratio < 1 + clip, ratio > 1 - clip)
                slope = -gain * ratio * is_free * (act - mean) / spread**2 / len(part)
                actor.learn(observed[part], inner, slope, rate)
                inner, value = critic(observed[part])
                critic.learn(observed[part], inner, (value - goal) / len(part), rate)
        if report is not None:
            report(update, float(gained[counts > 0].mean()))

    def policy(observation: Array) -> float:
        return float(numpy.clip(actor(numpy.asarray(observation, dtype=float)[None])[1][0], -1, 1))

    return policy
