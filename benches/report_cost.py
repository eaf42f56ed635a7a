#!/usr/bin/env python3
"""Measures what series and reports cost, and prints a table.

    report_cost.py                    a minute or two
    report_cost.py --repeat 9         more repetitions
    report_cost.py --thalweg PATH     another executable than target/release/thalweg

Seconds are of CPU time (user and system), the least of the repetitions, which take turns so that a slow minute of the
machine falls on all alike. Only the standard library is used.
"""

import argparse
import resource
import subprocess
import tempfile
from pathlib import Path

from keyboard_interrupt import run_script

ROOT = Path(__file__).resolve().parent.parent

# Ten flows on 100 Mbit/s for a minute: with series as they are by default, and with about a million samples.
PLAIN = ["run", "dumbbell", "--quiet", "--set", "measure.interval=off"]
SERIES = ["run", "dumbbell", "--quiet"]
MILLION = [*SERIES, "--set", "measure.interval=3 ms", "--set", "measure.points=100000"]
# Goals: seconds for a report of a million samples; maximum share of a run's time for writing series.
MAX_SECONDS, MAX_SHARE = 2.0, 0.10


def cpu_seconds(thalweg, arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([thalweg, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--thalweg", type=Path, default=ROOT / "target/release/thalweg")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        page, folder, million = f"{scratch}/page.html", f"{scratch}/folder", f"{scratch}/million"
        rows = {
            "run without series": PLAIN,
            "run with series, not written": SERIES,
            "run with series, --out": [*SERIES, "--out", folder],
            "run with series, --report": [*SERIES, f"--report={page}"],
            "run with a million samples": MILLION,
            "the same, --report": [*MILLION, f"--report={page}"],
            "the same, --out": [*MILLION, "--out", million],
            "report of that folder": ["report", million, page, "--quiet"],
        }
        times = {name: [] for name in rows}
        for _ in range(options.repeat):
            for name, arguments in rows.items():
                times[name].append(cpu_seconds(options.thalweg, arguments))
        size = Path(page).stat().st_size
        with open(f"{million}/series.csv", encoding="utf-8") as file:
            samples = sum(1 for _ in file) - 1
    least = {name: min(of) for name, of in times.items()}
    print(f"{'':36}{'CPU s':>8}")
    for name, seconds in least.items():
        print(f"{name:36}{seconds:8.3f}")
    written = least["run with series, --out"] / least["run without series"] - 1
    paged = least["run with series, --report"] / least["run without series"] - 1
    both = least["the same, --report"] - least["run with a million samples"]
    print(f"\nseries recorded and written to a folder: {written:+.1%} of a run (at most {MAX_SHARE:.0%} is asked for)")
    print(f"series recorded and a report:            {paged:+.1%} of a run")
    print(f"report of {samples:,} samples: {both:.3f} s within a run, {least['report of that folder']:.3f} s from a folder "
          f"(at most {MAX_SECONDS} s is asked for); {size / 1e6:.1f} MB")


if __name__ == "__main__":
    run_script(main)
