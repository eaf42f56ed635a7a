#!/usr/bin/env python3
"""Measures the laboratory page beside the command, and prints a table: packet hops a second, seconds to start, bytes.

    page.py                    a minute; needs scripts/page, a release build, node and Chromium
    page.py --repeat 9         more repetitions
    page.py --thalweg PATH     another executable than target/release/thalweg
    page.py --page FILE        another page than target/page/index.html

The page runs in a headless Chromium, from its file, with plots. Times are by the clock, the least of the repetitions; the command has
one thread and records the same series. Only the standard library is used.
"""

import argparse
import json
import subprocess
import time
from pathlib import Path

from stopped import until_stopped

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ["dumbbell", "parking-lot", "two-flows", "l4s"]
# Goals of the page: packet hops a second in a browser, and bytes.
MIN_HOPS, MAX_BYTES = 3e6, 4e6


def native(thalweg, scenario, repeat):
    """The packet hops of a run of the command, and its least seconds; the fingerprint."""
    seconds, run = [], None
    for _ in range(repeat):
        before = time.monotonic()
        done = subprocess.run([thalweg, "run", scenario, "--quiet", "--json", "--threads", "1"], check=True, stdout=subprocess.PIPE)
        seconds.append(time.monotonic() - before)
        run = json.loads(done.stdout)["runs"][0]
    return run["hops"], min(seconds), run["fingerprint"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--thalweg", type=Path, default=ROOT / "target/release/thalweg")
    parser.add_argument("--page", type=Path, default=ROOT / "target/page/index.html")
    options = parser.parse_args()
    script = ROOT / "crates/thalweg-page/tests/browser/speed.mjs"
    done = subprocess.run(["node", script, options.page, str(options.repeat), *SCENARIOS], check=True, stdout=subprocess.PIPE)
    measured = json.loads(done.stdout)
    print(f"{'':14}{'hops':>12}{'page, M hops/s':>16}{'command':>10}{'ratio':>8}")
    speeds = []
    for scenario in SCENARIOS:
        runs = measured["runs"][scenario]
        hops, seconds, fingerprint = native(options.thalweg, scenario, options.repeat)
        if any(run["fingerprint"] != fingerprint for run in runs):
            raise SystemExit(f"{scenario}: the page's fingerprint {runs[0]['fingerprint']} is not the command's, {fingerprint}")
        page, command = hops / min(run["seconds"] for run in runs), hops / seconds
        speeds.append(page)
        print(f"{scenario:14}{hops:12,}{page / 1e6:16.2f}{command / 1e6:10.2f}{page / command:8.2f}")
    size = options.page.stat().st_size
    print(f"\n{min(speeds) / 1e6:.2f} to {max(speeds) / 1e6:.2f} million hops a second in the page (at least {MIN_HOPS / 1e6:.0f} million are asked for)")
    print(f"ready {min(measured['ready_s']):.2f} s after it is opened; {size / 1e6:.2f} MB (at most {MAX_BYTES / 1e6:.0f} MB are asked for)")


if __name__ == "__main__":
    until_stopped(main)
