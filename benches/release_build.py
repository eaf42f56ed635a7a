#!/usr/bin/env python3
"""Measures a released executable beside that of the quick build, and prints a table with the goals.

    release_build.py                          target/dist/thalweg beside target/release/thalweg, nine times (some minutes)
    release_build.py --repeat 15 A10 A100     more repetitions; these runs for the speed
    release_build.py --thalweg A --beside B   other executables

The rows are the size of the file, the resident size of a small run (at most, and at its end the anonymous memory and
the pages of files), `thalweg --version`, `--json` of 100,000 flows, and hops per CPU second. CPU time is user and
system time. The least of the repetitions counts, and of ratios the median, each of two successive runs, so that other work on
the machine matters little. Only the standard library is used.
"""

import argparse
import fcntl
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from simulator_speed import ROOT, RUNS, dumbbell_scenario, measure_command
from keyboard_interrupt import run_script

# Goals: bytes of the file, resident bytes of a small run, seconds for the JSON of many flows, hops beside the quick build.
MAX_FILE, MAX_RESIDENT, MAX_JSON, MIN_RATIO = 15e6, 12e6, 0.8, 1.1
SMALL = ["run", "dumbbell", "--quiet", "--json"]
MANY = [*dumbbell_scenario(100_000, "100 Gbit/s", "1 bdp", "1 us"), "--json"]
# The names of the fields in /proc/PID/status.
FIELDS = {"resident": "VmHWM", "anonymous": "RssAnon", "file": "RssFile"}


def peak_memory(command):
    """The resident bytes of a command at the moment when it writes its results: it waits there, as they are longer than
    the pipe that nobody reads. Afterwards the kernel could tell only the greatest size, of a process that may have
    inherited it from the one that started it."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen(command, stdout=writer, stderr=subprocess.DEVNULL)
    os.close(writer)
    status = Path(f"/proc/{process.pid}")
    while "pipe" not in (status / "wchan").read_text() and process.poll() is None:
        time.sleep(0.005)
    text = (status / "status").read_text()
    os.close(reader)
    process.wait()
    found = {name: re.search(rf"{field}:\s*(\d+) kB", text) for name, field in FIELDS.items()}
    if None in found.values():
        sys.exit(f"{' '.join(command)}: it ended before its results filled a pipe")
    return {name: int(match[1]) * 1024 for name, match in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", default=["A10", "A100"], metavar="RUN", help=", ".join(RUNS))
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--thalweg", type=Path, default=ROOT / "target/dist/thalweg")
    parser.add_argument("--beside", type=Path, default=ROOT / "target/release/thalweg")
    options = parser.parse_args()
    if unknown := set(options.runs) - set(RUNS):
        parser.error(f"unknown run {unknown.pop()}; there are: {', '.join(RUNS)}")
    both = [options.thalweg, options.beside]
    for file in both:
        if not file.exists():
            parser.error(f"{file} is missing: cargo build --locked --profile {file.parent.name}")
    calls = {"start": ["--version"], "json": MANY}
    calls |= {name: [*dumbbell_scenario(*RUNS[name][:4]), "--json"] for name in options.runs}
    results = {name: [[], []] for name in calls}
    for turn in range(options.repeat):
        for name, arguments in calls.items():
            print(f"{turn + 1} of {options.repeat}: {name}", file=sys.stderr)
            # The start is too short for one repetition of each: it ends in a few ticks of the clock.
            for _ in range(10 if name == "start" else 1):
                for executable, kept in zip(both, results[name], strict=True):
                    kept.append(measure_command([executable, *arguments]))
    print(f"| | {options.thalweg.parent.name} | {options.beside.parent.name} | goal |\n| --- | ---: | ---: | ---: |")

    def row(what, values, goal=""):
        print(f"| {what} | {values[0]} | {values[1]} | {goal} |")

    row("size of the file, MB", [f"{file.stat().st_size / 1e6:.1f}" for file in both], f"{MAX_FILE / 1e6:.0f}")
    sizes = [[peak_memory([str(file), *SMALL]) for _ in range(options.repeat)] for file in both]
    for name, goal in zip(FIELDS, [f"{MAX_RESIDENT / 1e6:.0f}", "", ""], strict=True):
        row(f"small run, {name}, MB", [f"{statistics.median(size[name] for size in of) / 1e6:.1f}" for of in sizes], goal)
    for clock in ["cpu", "wall"]:
        least = {name: [min(result[clock] for result in of) for of in results[name]] for name in ["start", "json"]}
        row(f"`--version`, {clock} ms", [f"{seconds * 1e3:.1f}" for seconds in least["start"]])
        row(f"`--json` of 100,000 flows, {clock} s", [f"{seconds:.2f}" for seconds in least["json"]], MAX_JSON)
    for name in options.runs:
        speeds = [[result["hops"] / result["cpu"] for result in of] for of in results[name]]
        row(f"{name}, M hops per CPU s", [f"{max(of) / 1e6:.2f}" for of in speeds])
        ratio = statistics.median(a / b for a, b in zip(*speeds, strict=True))
        row(f"{name}, ratio", [f"{ratio:.3f}", ""], MIN_RATIO)


if __name__ == "__main__":
    run_script(main)
