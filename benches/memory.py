#!/usr/bin/env python3
"""Compares the memory that `thalweg validate` announces with the memory that runs take.

    memory.py THALWEG              every built-in scenario
    memory.py THALWEG NAME...      some of them, or files

Prints the estimate, the largest resident size and their ratio; ends with 1 where the estimate is not within a factor of 2. Runs are
as long as the scenario says. Only the standard library is used.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
FACTOR = 2.0


def names(thalweg):
    listed = subprocess.run([thalweg, "list", "scenarios"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line and not line.startswith(" ")][2:]


def estimate(thalweg, scenario):
    """Bytes, as `validate` says."""
    said = subprocess.run([thalweg, "validate", scenario], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    number, unit = re.search(r"Memory: about ([\d.]+) (\w+)", said).groups()
    return float(number) * UNITS[unit]


def measured(thalweg, scenario):
    """The largest resident size of a run, in bytes. It only grows, so that what was read last is missing little; what the kernel
    tells of a child that has ended includes the size of this program before it became another."""
    child = subprocess.Popen([thalweg, "run", scenario, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while child.poll() is None:
        found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{child.pid}/status").read_text())
        most = max(most, int(found.group(1)) * 1024 if found else 0)
        time.sleep(0.002)
    if child.returncode != 0:
        sys.exit(f"{scenario}: the run failed")
    return most


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    thalweg = str(Path(sys.argv[1]).resolve())
    bad = 0
    print(f"{'scenario':24} {'estimate':>10} {'measured':>10} {'ratio':>6}")
    for scenario in sys.argv[2:] or names(thalweg):
        said, took = estimate(thalweg, scenario), measured(thalweg, scenario)
        within = 1 / FACTOR <= said / took <= FACTOR
        bad += not within
        print(f"{scenario:24} {said / 1e6:7.1f} MB {took / 1e6:7.1f} MB {said / took:6.2f}{'' if within else '  not within a factor of 2'}", flush=True)
    sys.exit(1 if bad else 0)


main()
