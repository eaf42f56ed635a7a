"""Proximal policy optimisation by stable-baselines3 on environments of `thalweg.envs`, and what it learned beside AIMD on the same path.

    pip install '.[envs]' stable-baselines3      # with torch, which takes gigabytes unless it is one for processors alone
    python examples/notebooks/stable_baselines3_ppo.py --minutes 10 --threads 2
"""

import argparse
import time
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import thalweg
import thalweg.envs
import thalweg.sb3

PATH = {
    "duration": "20 s",
    "warmup": "2 s",
    "link": [{"name": "core", "between": ["a", "b"], "rate": "20 Mbit/s", "delay": "15 ms", "queue": "2 bdp", "loss": 0.002}],
    "flow": [{"from": "a", "to": "b", "scheme": "agent"}],
}


class Clock(BaseCallback):
    """Ends learning after some time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.end = time.monotonic() + seconds

    def _on_step(self) -> bool:
        return time.monotonic() < self.end


class Aimd(thalweg.Controller):
    slow_start = True

    def on_ack(self, sample: thalweg.Sample) -> None:
        if not sample.recovering and not sample.app_limited:
            self.window += sample.acked if self.slow_start else 1

    def on_loss(self, sample: thalweg.Sample) -> None:
        self.slow_start = False
        self.window = 2 if sample.kind == "timeout" else max(2, self.window / 2)


def learned(minutes: float, threads: int) -> tuple[Any, int]:
    """A policy, and the steps that it was learned from."""
    # A policy as small as this is slower on several.
    torch.set_num_threads(1)
    envs = thalweg.sb3.VecEnv(PATH, 64, steps=150, jobs=threads)
    model = PPO(
        "MlpPolicy", envs, n_steps=64, batch_size=1024, n_epochs=4, gamma=0.98, learning_rate=1e-3,
        policy_kwargs={"net_arch": [32, 32], "log_std_init": -1.0}, seed=1, device="cpu",
    )  # fmt: skip
    model.learn(10**9, callback=Clock(60 * minutes))
    return lambda observation: model.predict(observation, deterministic=True)[0], model.num_timesteps


def power(run: dict[str, Any]) -> float:
    """Goodput over delay, as shares of what the path has: what the reward asks for."""
    return run["totals"]["goodput_bps"] / 20e6 * 0.03 / (0.015 + run["totals"]["delay_mean_s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    policy, steps = learned(options.minutes, options.threads)
    print(f"{steps} steps in {options.minutes} minutes on {options.threads} threads")
    controllers = {"learned": thalweg.envs.controller(policy), "aimd": Aimd}
    compared = thalweg.compare(PATH, ["learned", "aimd", "cubic"], seed=1000, reps=5, controllers=controllers)
    print(compared)
    for of in compared.document["schemes"]:
        all_powers = [power(run) for run in of["runs"]]
        print(f"{of['scheme']:8} {sum(all_powers) / len(all_powers):.3f} ({min(all_powers):.3f} to {max(all_powers):.3f})")


if __name__ == "__main__":
    main()
