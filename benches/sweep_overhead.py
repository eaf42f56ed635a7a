#!/usr/bin/env python3
"""Measures what a sweep costs beside its simulations, here and on a Dask scheduler with two workers on this host.

    scripts/python -k nothing; target/python/bin/python benches/sweep_overhead.py [--runs N] [--duration TIME]

Prints milliseconds a run: of the clock, and of the processor time of the program that asks, of the scheduler, of the workers and of all of
them; and how much more that is than without a cluster. On a host that does other work the last says more than the clock.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from distributed import Client

import thalweg
from keyboard_interrupt import run_script


def cpu_time_spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def of_processes(numbers):
    return sum(sum(psutil.Process(number).cpu_times()[:2]) for number in numbers)


def start_dask(kind, place, *words):
    call = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(place / "scheduler.json"), "--no-dashboard"]
    return subprocess.Popen([*call, *words], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--duration", default="20 ms")
    options = parser.parse_args()
    points = options.runs // 2
    sweep = {
        "scenario": "two-flows",
        "set": [f"duration={options.duration}", "warmup=0 s"],
        "reps": 2,
        "latin-hypercube": {"points": points, "link.left-right.delay": {"from": "1.000 ms", "to": "50.000 ms"}},
    }
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        started = [start_dask("scheduler", place, "--host", "127.0.0.1", "--port", "0")]
        started += [start_dask("worker", place, "--nthreads", "1", "--no-nanny") for _ in range(2)]
        try:
            while not (place / "scheduler.json").exists():
                time.sleep(0.01)
            address = json.loads((place / "scheduler.json").read_text())["address"]
            scheduler, workers = [started[0].pid], [of.pid for of in started[1:]]
            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(2)
                heads = "".join(f"{head:>10}" for head in ("clock", "asking", "scheduler", "workers", "all"))
                print(f"{2 * points} runs of {options.duration}, load {os.getloadavg()[0]:.1f}".ljust(38) + heads)
                here = 0.0

                def clocks():
                    return [time.perf_counter(), cpu_time_spent(), of_processes(scheduler), of_processes(workers)]

                for words, cluster in [("on two threads here", None), ("on two workers", client), ("again, all are there", client)]:
                    begun = clocks()
                    thalweg.sweep(sweep, place / ("here" if cluster is None else "away"), jobs=2, cluster=cluster)
                    costs = [(after - before) / points / 2 * 1e3 for before, after in zip(begun, clocks())]
                    costs.append(sum(costs[1:]))
                    here = here or costs[-1]
                    print(f"{words:38}" + "".join(f"{cost:10.3f}" for cost in costs) + f"  {costs[-1] / here - 1:+.1%}")
        finally:
            for process in started:
                process.kill()
                process.wait()


run_script(main)
