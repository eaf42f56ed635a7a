#!/usr/bin/env python3
"""Measures how fast Thalweg is and how much memory it takes, and prints a table.

    simulator_speed.py                    everything, five times (a minute or two)
    simulator_speed.py A10 A100           some rows
    simulator_speed.py --repeat 9         more repetitions
    simulator_speed.py --thalweg PATH     another executable than target/release/thalweg

CPU seconds are user and system time of the whole process, from its start to its end, with measurement on as
`thalweg run` has it by default. Repetitions of different rows take turns, so that a slow minute of the machine falls on
all alike. Only the standard library is used.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scenario_file_generator import scenario_with_lines
from keyboard_interrupt import run_script

ROOT = Path(__file__).resolve().parent.parent

# A dumbbell: flows, rate, queue, duration; then the least M hops a CPU second that is asked for.
RUNS = {
    "A10": (10, "100 Mbit/s", "625 pkt", "60 s", 20),
    "A100": (100, "100 Mbit/s", "625 pkt", "60 s", 20),
    "C1000": (1000, "1 Gbit/s", "6250 pkt", "10 s", 15),
    "C10000": (10000, "10 Gbit/s", "62500 pkt", "10 s", 10),
}
# The most seconds that are asked for: of wall time, as a person waits for them.
WAITS = {"start": 0.020, "read": 0.050, "build": 1.0, "begin": None}
WAIT_NAMES = {"start": "start-up: `run` of one flow for 1 ms", "read": "`validate` of a file of 1000 lines",
              "build": "build 100000 flows that start later",
              "begin": "the same, but all start at 0"}
BYTES_A_FLOW = 2048
# Ten flows as in C10000, each with its share of the link: the size of the program itself.
FEW = (10, "10 Mbit/s", "62 pkt", "10 s")


def dumbbell_scenario(flows, rate, queue, duration):
    changes = {"flow.flows.count": flows, "link.bottleneck.rate": rate, "link.bottleneck.queue": queue,
               "flow.flows.spread": "0 s", "flow.flows.overhead": "0 s", "duration": duration}
    return ["run", "dumbbell", "--quiet", "--threads", "1"] + [part for key, value in changes.items()
                                             for part in ("--set", f"{key}={value}")]


def measured_commands(folder):
    """What to run for each row."""
    long = Path(folder) / "long.toml"
    long.write_text(scenario_with_lines())
    rows = {name: dumbbell_scenario(*row[:4]) + ["--json"] for name, row in RUNS.items()}
    rows["start"] = dumbbell_scenario(1, "100 Mbit/s", "625 pkt", "1 ms")
    rows["read"] = ["validate", str(long)]
    rows["begin"] = dumbbell_scenario(100_000, "100 Gbit/s", "1 bdp", "1 us")
    rows["build"] = rows["begin"] + ["--set", "flow.flows.start=1 s"]
    return rows


def measure_command(command):
    """Runs a command: hops, where it tells them, CPU seconds and wall seconds."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {process.returncode}\n{err.read()}")
        hops = re.search(r'"hops": (\d+)', out.read())
        return {"hops": int(hops[1]) if hops else None, "cpu": usage.ru_utime + usage.ru_stime, "wall": wall}


def peak_memory(command):
    """The greatest resident size of a command in bytes. What the kernel reports at the end of a process cannot be less
    than the size of the process that started it; so it is read from /proc while the command runs."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        size = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        most = max(most, int(size[1]) * 1024 if size else 0)
        time.sleep(0.002)
    return most


def print_runs(results):
    print(f"| {'run':7} | {'M hops':>7} | {'CPU s, least':>12} | {'median':>7} | {'M hops/s, most':>14} | {'median':>7} "
          f"| {'asked for':>9} |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, row in RUNS.items():
        if name not in results:
            continue
        hops = results[name][0]["hops"] / 1e6
        cpu = [result["cpu"] for result in results[name]]
        least, median = min(cpu), statistics.median(cpu)
        print(f"| {name:7} | {hops:7.2f} | {least:12.3f} | {median:7.3f} | {hops / least:14.1f} | {hops / median:7.1f} "
              f"| {row[4]:9} |")


def print_memory(most, few):
    flows = RUNS["C10000"][0]
    print(f"\nMemory a flow: {most / flows:.0f} B (the whole process at its largest, {most / 1e6:.1f} MB, over {flows} "
          f"flows; asked for: {BYTES_A_FLOW} B).\nOf that the program itself takes {few / 1e6:.1f} MB, as with "
          f"{FEW[0]} such flows; each flow more takes {(most - few) / (flows - FEW[0]):.0f} B.")


def print_waits(results):
    print(f"\n| {'wait':36} | {'least ms':>8} | {'median':>8} | {'asked for':>9} |")
    print("| --- | ---: | ---: | ---: |")
    for name, limit in WAITS.items():
        if name not in results:
            continue
        wall = [result["wall"] * 1e3 for result in results[name]]
        limit_text = f"{limit * 1e3:.0f}" if limit else ""
        print(f"| {WAIT_NAMES[name]:36} | {min(wall):8.1f} | {statistics.median(wall):8.1f} | {limit_text:>9} |")


def main():
    names = list(RUNS) + list(WAITS)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(names))
    parser.add_argument("--repeat", type=int, default=5, help="how often; the least and the median count")
    parser.add_argument("--thalweg", default=str(ROOT / "target/release/thalweg"), help="the executable")
    args = parser.parse_args()
    rows = args.rows or names
    for name in rows:
        if name not in names:
            parser.error(f"unknown row {name}; there are: {', '.join(names)}")
    if not Path(args.thalweg).exists():
        parser.error(f"{args.thalweg} is missing: cargo build --release --locked")

    results = {name: [] for name in rows}
    with tempfile.TemporaryDirectory() as folder:
        calls = measured_commands(folder)
        for turn in range(args.repeat):
            for name in rows:
                print(f"{turn + 1} of {args.repeat}: {name}", file=sys.stderr)
                results[name].append(measure_command([args.thalweg, *calls[name]]))
        if "C10000" in rows:
            print("memory: C10000", file=sys.stderr)
            sizes = [peak_memory([args.thalweg, *dumbbell_scenario(*row[:4])]) for row in (RUNS["C10000"], FEW)]
    if any(name in RUNS for name in rows):
        print_runs(results)
    if "C10000" in rows:
        print_memory(*sizes)
    if any(name in WAITS for name in rows):
        print_waits(results)


if __name__ == "__main__":
    run_script(main)
