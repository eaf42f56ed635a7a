#!/usr/bin/env python3
"""Compares the memory that `thalweg validate` announces with the memory that runs take.

    memory.py THALWEG              every built-in scenario, and those two
    memory.py THALWEG NAME...      some of them, or files; "row" is a thousand links in a row, "mesh" a thousand nodes, 2500 links
                                   and 2000 flows

Prints the estimate, the largest resident size and their ratio; ends with 1 where the estimate is not within a factor of 2. Runs are
as long as the scenario says. Only the standard library is used.
"""

import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
FACTOR = 2.0


def names(thalweg):
    listed = subprocess.run([thalweg, "list", "scenarios"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line and not line.startswith(" ")][2:]


def row():
    """A thousand links in a row and one flow over all of them."""
    lines = ['duration = "5 s"', "[defaults.link]", 'rate = "100 Mbit/s"', 'delay = "1 ms"']
    lines += [f'[[link]]\nbetween = ["n{at}", "n{at + 1}"]' for at in range(1000)]
    return "\n".join(lines + ['[[flow]]\nfrom = "n0"\nto = "n1000"']) + "\n"


def mesh():
    """A thousand nodes, 2500 links between them at random, and 2000 flows, a table for each."""
    chance = random.Random(1)
    links = {(chance.randrange(node), node) for node in range(1, 1000)}
    while len(links) < 2500:
        links.add(tuple(sorted(chance.sample(range(1000), 2))))
    lines = ['duration = "2 s"', "[defaults.link]", 'rate = "100 Mbit/s"', 'delay = "2 ms"']
    lines += [f'[[link]]\nbetween = ["n{a}", "n{b}"]' for a, b in sorted(links)]
    ends = [chance.sample(range(1000), 2) for _ in range(2000)]
    lines += [f'[[flow]]\nfrom = "n{a}"\nto = "n{b}"\nspread = "1 s"' for a, b in ends]
    return "\n".join(lines) + "\n"


def estimate(thalweg, scenario):
    """Bytes, as `validate` says."""
    predicted = subprocess.run([thalweg, "validate", scenario], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    number, unit = re.search(r"Memory: about ([\d.]+) (\w+)", predicted).groups()
    return float(number) * UNITS[unit]


def measured(thalweg, scenario):
    """The largest resident size of a run, in bytes. It only grows: the last reading is close to the maximum; what the kernel
    reports for an ended child includes the size of this program before it became another."""
    child = subprocess.Popen([thalweg, "run", scenario, "--quiet", "--threads", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    print(f"{'scenario':24} {'estimate':>10} {'measured':>10} {'ratio':>6}")
    made = {"row": row, "mesh": mesh}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in made.items():
            Path(folder, f"{name}.toml").write_text(make())
        bad = compare(thalweg, [str(Path(folder, f"{name}.toml")) if name in made else name
                                for name in sys.argv[2:] or [*names(thalweg), *made]])
    sys.exit(1 if bad else 0)


def compare(thalweg, scenarios):
    """Prints a line for each scenario; gives the number of those whose estimate is not within the factor."""
    bad = 0
    for scenario in scenarios:
        predicted, took = estimate(thalweg, scenario), measured(thalweg, scenario)
        within = 1 / FACTOR <= predicted / took <= FACTOR
        bad += not within
        print(f"{Path(scenario).stem:24} {predicted / 1e6:7.1f} MB {took / 1e6:7.1f} MB {predicted / took:6.2f}{'' if within else '  not within a factor of 2'}", flush=True)
    return bad


main()
