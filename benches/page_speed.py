#!/usr/bin/env python3
"""Measures the laboratory page beside the command, and prints packet hops a second, seconds to start, bytes; and for a
trace of 100 MB of qlog the seconds until it is shown, the milliseconds of a frame while its plots move, and the engine's memory.

    page_speed.py                    a minute; needs scripts/page, a release build, node and Chromium
    page_speed.py --repeat 9         more repetitions
    page_speed.py --thalweg PATH     another executable than target/release/thalweg
    page_speed.py --page FILE        another page than target/page/index.html

The page runs in a headless Chromium, from its file, with plots. Times are by the clock, the least of the repetitions; the command has
one thread and records the same series. Only the standard library is used.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

from keyboard_interrupt import run_script
from view_speed import measure_command as measured_command
from view_speed import write_qlog

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ["dumbbell", "parking-lot", "two-flows", "l4s"]
# Goals of the page: packet hops a second in a browser, and bytes.
MIN_HOPS, MAX_BYTES = 3e6, 4e6
TRACE_BYTES, MAX_SECONDS, MAX_FRAME = 1e8, 3, 1000 / 60


def time_native_run(thalweg, scenario, repeat):
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
    with tempfile.TemporaryDirectory() as folder:
        trace, report = Path(folder) / "large.sqlog", Path(folder) / "report.html"
        write_qlog(trace, TRACE_BYTES)
        done = subprocess.run(["node", script, options.page, str(options.repeat), trace, *SCENARIOS], check=True, stdout=subprocess.PIPE)
        command_seconds, _, command_memory = measured_command([options.thalweg, "view", trace, f"--report={report}", "--quiet"])
    measured = json.loads(done.stdout)
    print(f"{'':14}{'hops':>12}{'page, M hops/s':>16}{'command':>10}{'ratio':>8}")
    speeds = []
    for scenario in SCENARIOS:
        runs = measured["runs"][scenario]
        hops, seconds, fingerprint = time_native_run(options.thalweg, scenario, options.repeat)
        if any(run["fingerprint"] != fingerprint for run in runs):
            raise SystemExit(f"{scenario}: the page's fingerprint {runs[0]['fingerprint']} is not the command's, {fingerprint}")
        page, command = hops / min(run["seconds"] for run in runs), hops / seconds
        speeds.append(page)
        print(f"{scenario:14}{hops:12,}{page / 1e6:16.2f}{command / 1e6:10.2f}{page / command:8.2f}")
    size = options.page.stat().st_size
    print(f"\n{min(speeds) / 1e6:.2f} to {max(speeds) / 1e6:.2f} million hops a second in the page (at least {MIN_HOPS / 1e6:.0f} million are asked for)")
    print(f"ready {min(measured['ready_s']):.2f} s after it is opened; {size / 1e6:.2f} MB (at most {MAX_BYTES / 1e6:.0f} MB are asked for)")
    shown = measured["trace"]
    print(
        f"{TRACE_BYTES / 1e6:.0f} MB of qlog: shown in {min(shown['seconds']):.2f} s (at most {MAX_SECONDS} s are asked for; the command writes its page in "
        f"{command_seconds:.2f} s), {min(shown['frame_ms']):.1f} ms a frame (at most {MAX_FRAME:.1f} ms), memory of the engine "
        f"{shown['memory_bytes'] / 1e6:.0f} MB (command {command_memory:.0f} MB)"
    )


if __name__ == "__main__":
    run_script(main)
