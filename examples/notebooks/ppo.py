"""Proximal policy optimisation (PPO, Schulman et al. 2017) in numpy, for the environments of `thalweg.envs`.

It is enough for policies with a few inputs. For larger ones use stable-baselines3 or CleanRL with the same environments.
"""

from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

Array = NDArray[numpy.float64]


class Network:
    """Network with one hidden layer (tanh) and one output, trained by Adam (Kingma and Ba 2015)."""

    def __init__(self, rng: numpy.random.Generator, inputs: int, hidden: int, output_scale: float) -> None:
        self.weights: list[Array] = [
            rng.normal(0, 1 / numpy.sqrt(inputs), (inputs, hidden)),
            numpy.zeros(hidden),
            rng.normal(0, output_scale / numpy.sqrt(hidden), (hidden, 1)),
            numpy.zeros(1),
        ]
        self.moments = [(numpy.zeros_like(weight), numpy.zeros_like(weight)) for weight in self.weights]
        self.steps = 0

    def __call__(self, observations: Array) -> tuple[Array, Array]:
        """Returns the activations of the hidden layer, and the outputs."""
        hidden = numpy.tanh(observations @ self.weights[0] + self.weights[1])
        return hidden, (hidden @ self.weights[2] + self.weights[3])[:, 0]

    def learn(self, observations: Array, hidden: Array, output_gradient: Array, rate: float) -> None:
        """Takes a step of Adam; `output_gradient` is the gradient of the loss with respect to the outputs."""
        output = output_gradient[:, None]
        before_tanh = (output @ self.weights[2].T) * (1 - hidden**2)
        gradients = [observations.T @ before_tanh, before_tanh.sum(0), hidden.T @ output, output.sum(0)]
        norm = numpy.sqrt(sum(float((gradient**2).sum()) for gradient in gradients))
        self.steps += 1
        for weight, (first, second), gradient in zip(self.weights, self.moments, gradients):
            gradient = gradient * min(1.0, 0.5 / (norm + 1e-9))
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            corrected_first, corrected_second = first / (1 - 0.9**self.steps), second / (1 - 0.999**self.steps)
            weight -= rate * corrected_first / (numpy.sqrt(corrected_second) + 1e-5)


def train(
    envs: Any,
    updates: int,
    *,
    seed: int = 1,
    length: int = 32,
    epochs: int = 4,
    minibatches: int = 4,
    rate: float = 3e-3,
    report: Callable[[int, float], None] | None = None,
) -> Callable[[Array], float]:
    """Trains a policy and returns it: a function from an observation to the logarithm of the factor of the window. `report` is called with
    the number and the mean reward of each update; `length` is the number of steps between updates."""
    rng = numpy.random.default_rng(seed)
    inputs = envs.single_observation_space.shape[0]
    actor, critic = Network(rng, inputs, 32, 0.01), Network(rng, inputs, 32, 1.0)
    deviation, discount, gae_lambda, clip = 0.5, 0.98, 0.95, 0.2
    observation, _ = envs.reset(seed=seed)
    is_first = numpy.ones(envs.num_envs, dtype=bool)
    for update in range(updates):
        deviation = 0.5 * 0.1 ** (update / updates)
        observations = numpy.zeros((length + 1, envs.num_envs, inputs))
        actions, log_probabilities, rewards = (numpy.zeros((length, envs.num_envs)) for _ in range(3))
        # The step after the end of an episode only resets the environment: it is not a sample, and advantages do not cross it.
        is_sample, continues = (numpy.zeros((length, envs.num_envs)) for _ in range(2))
        for step in range(length):
            observations[step] = observation
            mean = actor(observations[step])[1]
            actions[step] = rng.normal(mean, deviation)
            log_probabilities[step] = -((actions[step] - mean) ** 2) / (2 * deviation**2)
            observation, rewards[step], terminated, truncated, _ = envs.step(numpy.clip(actions[step], -1, 1)[:, None])
            is_sample[step] = ~is_first if update or step else 1
            is_first = terminated | truncated
            continues[step] = ~is_first
        observations[length] = observation
        values = critic(observations.reshape(-1, inputs))[1].reshape(length + 1, -1)
        # Generalised advantage estimation (Schulman et al. 2016).
        advantages, last = numpy.zeros_like(rewards), numpy.zeros(envs.num_envs)
        for step in reversed(range(length)):
            # Episodes end by time limit, not in a terminal state: the next value counts even there.
            td_error = rewards[step] + discount * values[step + 1] - values[step]
            last = td_error + discount * gae_lambda * continues[step] * last
            advantages[step] = last
        samples = numpy.flatnonzero(is_sample.reshape(-1))
        batch = [of.reshape(-1)[samples] for of in (actions, log_probabilities, advantages, advantages + values[:length])]
        observed = observations[:length].reshape(-1, inputs)[samples]
        for _ in range(epochs):
            for part in numpy.array_split(rng.permutation(len(samples)), minibatches):
                action, old_log_probability, advantage, target = (of[part] for of in batch)
                hidden, mean = actor(observed[part])
                ratio = numpy.exp(-((action - mean) ** 2) / (2 * deviation**2) - old_log_probability)
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                is_unclipped = numpy.where(advantage > 0, ratio < 1 + clip, ratio > 1 - clip)
                gradient = -advantage * ratio * is_unclipped * (action - mean) / deviation**2 / len(part)
                actor.learn(observed[part], hidden, gradient, rate)
                hidden, value = critic(observed[part])
                critic.learn(observed[part], hidden, (value - target) / len(part), rate)
        if report is not None:
            report(update, float(rewards[is_sample > 0].mean()))

    def policy(observation: Array) -> float:
        return float(numpy.clip(actor(numpy.asarray(observation, dtype=float)[None])[1][0], -1, 1))

    return policy
