#!/usr/bin/env python3
"""Measures environments and the scoring of candidates: steps and resets a second, candidate-runs an hour.

    scripts/python -k nothing; target/python/bin/python benches/environment_speed.py [--jobs N]

Steps are round trips of a flow of 20 Mbit/s; rates are of the best of several tries.
"""

import argparse
import time

import numpy

import thalweg
import thalweg.envs
from keyboard_interrupt import run_script


def random_path(rate, delay):
    return {
        "duration": "1000 s",
        "link": [{"name": "core", "between": ["a", "b"], "rate": rate, "delay": delay, "queue": "1 bdp"}],
        "flow": [{"from": "a", "to": "b", "scheme": "agent"}],
    }


class Aimd(thalweg.Controller):
    def on_ack(self, sample):
        if not sample.recovering:
            self.window += 1

    def on_loss(self, sample):
        self.window = max(2, self.window / 2)


class Eager(Aimd):
    per_packet = True

    def on_ack(self, sample):
        if not sample.recovering:
            self.window += 1 / self.window


def best_of_tries(tries, work):
    """The largest of several rates."""
    return max(work() for _ in range(tries))


def time_steps(count, rtt, jobs):
    """Steps a second with windows that fill the path."""
    envs = thalweg.envs.VectorEnv(random_path("20 Mbit/s", f"{rtt / 2} ms"), count, jobs=jobs)
    envs.reset(seed=1)
    window = 20e6 * rtt / 1e3 / 12000
    rise = numpy.log2(window / 10) / 10
    for _ in range(10):
        envs.step(numpy.full((count, 1), rise))
    actions = numpy.zeros((count, 1))

    def work():
        begun, number = time.perf_counter(), max(10, 4000 // count)
        packets = 0.0
        for _ in range(number):
            packets += envs.step(actions)[4]["acked"].sum()
        spent = time.perf_counter() - begun
        work.packets = packets / number / count
        return number * count / spent

    rate = best_of_tries(5, work)
    return rate, work.packets


def time_resets(count, jobs, **options):
    """Resets a second."""
    envs = thalweg.envs.VectorEnv(random_path("20 Mbit/s", "10 ms"), count, jobs=jobs, **options)

    def work():
        begun = time.perf_counter()
        for _ in range(20):
            envs.reset()
        return 20 * count / (time.perf_counter() - begun)

    return best_of_tries(5, work)


def time_candidates(kind, jobs):
    """Runs of a candidate in an hour, of 10 s at 10 Mbit/s, beside those of the reference."""
    battery = {"broadband": thalweg.BATTERY["broadband"]}

    def work():
        begun = time.perf_counter()
        runs = thalweg.score(kind, battery, reps=40, jobs=jobs).runs
        return runs / (time.perf_counter() - begun) * 3600

    return best_of_tries(3, work)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for count in (1, 16, 64):
        for rtt in (10, 20, 40):
            rate, packets = time_steps(count, rtt, options.jobs)
            print(f"{count:3} environments, {rtt} ms, {packets:3.0f} packets a step  {rate:10,.0f} steps/s")
    print(f"resets of 64                                  {time_resets(64, options.jobs):10,.0f} /s")
    vary = {"link.core.rate": ["5 Mbit/s", "20 Mbit/s"]}
    print(f"resets of 64 with a path that varies          {time_resets(64, options.jobs, vary=vary):10,.0f} /s")
    for kind in (Aimd, Eager):
        print(f"candidate-runs, {kind.__name__:5}                         {time_candidates(kind, options.jobs):10,.0f} /h")


run_script(main)
