#!/usr/bin/env python3
"""Measures what the Python package costs beside the simulations: import, calls, tables.

    scripts/python; target/python/bin/python benches/python.py

Prints the best of several tries, in milliseconds.
"""

import subprocess
import sys
import time

import pyarrow

import thalweg


def best(tries, work):
    spent = []
    for _ in range(tries):
        begun = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begun)
    return min(spent) * 1e3


def child(program):
    return best(10, lambda: subprocess.run([sys.executable, "-c", program], check=True))


def main():
    print(f"import                       {child('import thalweg') - child('pass'):8.2f}")
    tiny = {
        "duration": "1 ms",
        "link": [{"between": ["a", "b"], "rate": "1 Mbit/s", "delay": "1 ms"}],
        "flow": [{"from": "a", "to": "b"}],
    }
    print(f"a run of a millisecond       {best(200, lambda: thalweg.run(tiny)):8.2f}")
    long = thalweg.run("ten-thousand-flows", set={"duration": "1 s", "measure.points": 1000, "measure.flows": 10000})
    rows = len(long.series())
    print(f"{rows} rows, gathered     {best(3, long.series):8.2f}")
    table = long.series()
    print(f"{rows} rows, handed over  {best(20, lambda: pyarrow.table(table)):8.2f}")


main()
