#!/usr/bin/env python3
"""Measures what the Python package costs beside the simulations: import, calls, tables.

    scripts/python; target/python/bin/python benches/python_package_cost.py

Prints the best of several tries, in milliseconds; of calls of controllers, in microseconds of processor time.
"""

import subprocess
import sys
import time

import pyarrow

import thalweg
from keyboard_interrupt import run_script


def best_of_tries(tries, work):
    spent = []
    for _ in range(tries):
        begun = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begun)
    return min(spent) * 1e3


def time_child(program):
    return best_of_tries(10, lambda: subprocess.run([sys.executable, "-c", program], check=True))


class PerPacketController(thalweg.Controller):
    per_packet = True
    calls = 0

    def on_ack(self, sample):
        PerPacketController.calls += 1
        self.window = 60.0

    def on_loss(self, sample):
        self.window = 60.0


def time_call():
    """The processor time of a call for each packet, beside a window of the same size without any."""
    path = {
        "duration": "20 s",
        "link": [{"between": ["a", "b"], "rate": "20 Mbit/s", "delay": "10 ms", "queue": "4 bdp"}],
        "flow": [{"from": "a", "to": "b", "scheme": "cubic"}],
    }

    def spent(scheme):
        begun = time.process_time()
        thalweg.compare(path, [scheme])
        return time.process_time() - begun

    spent(PerPacketController)
    calls = PerPacketController.calls
    return (min(spent(PerPacketController) for _ in range(7)) - min(spent("fixed:window=60pkt") for _ in range(7))) / calls * 1e6


def main():
    print(f"import                       {time_child('import thalweg') - time_child('pass'):8.2f}")
    tiny = {
        "duration": "1 ms",
        "link": [{"between": ["a", "b"], "rate": "1 Mbit/s", "delay": "1 ms"}],
        "flow": [{"from": "a", "to": "b"}],
    }
    print(f"a run of a millisecond       {best_of_tries(200, lambda: thalweg.run(tiny)):8.2f}")
    print(f"a call for each packet (us)  {time_call():8.2f}")
    long = thalweg.run("ten-thousand-flows", set={"duration": "1 s", "measure.points": 1000, "measure.flows": 10000})
    rows = len(long.series())
    print(f"{rows} rows, gathered     {best_of_tries(3, long.series):8.2f}")
    table = long.series()
    print(f"{rows} rows, handed over  {best_of_tries(20, lambda: pyarrow.table(table)):8.2f}")


run_script(main)
