#!/usr/bin/env python3
"""Measures how long the first command of the README takes after a clone: it builds everything and runs.

    first_build.py              on two cores, in an empty target folder that is deleted afterwards
    first_build.py --cores 4    on four
    first_build.py --crates 30  more of the slowest crates
    first_build.py --keep DIR   the target folder, kept

Sources of dependencies are fetched before the clock starts. CPU seconds are those of all processes, compilers and linkers
among them; on a machine that does other work they say more than the wall time. Only the standard library is used.
"""

import argparse
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from keyboard_interrupt import run_script

ROOT = Path(__file__).resolve().parent.parent
# The command of the README, as a reader types it.
COMMAND = re.compile(r"^\$ (cargo run --release --locked -- compare .*)$", re.MULTILINE)
# Where the compilers' times go, in the environment of the compilers that this file stands before.
LOG = "THALWEG_FIRST_BUILD_LOG"


def compile_one(log, command):
    """Runs one compiler as cargo asks for it and notes what it took."""
    begin = time.time()
    code = subprocess.run(command).returncode
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    name = command[command.index("--crate-name") + 1] if "--crate-name" in command else ""
    kind = command[command.index("--crate-type") + 1] if "--crate-type" in command else ""
    line = {"name": name, "kind": kind, "begin": begin, "end": time.time(), "cpu": usage.ru_utime + usage.ru_stime}
    with open(log, "a") as file:
        file.write(json.dumps(line) + "\n")
    return code


def time_build(target, cores):
    """Runs the README's command: wall seconds, CPU seconds, and a line for each compiler."""
    command = shlex.split(COMMAND.search((ROOT / "README.md").read_text())[1])
    log = target / "compilers.jsonl"
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("CARGO_BUILD_") and not name.startswith("CARGO_PROFILE_")}
    environment |= {"CARGO_TARGET_DIR": str(target), "RUSTC_WRAPPER": __file__, LOG: str(log)}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    wall = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, usage.ru_utime + usage.ru_stime, [json.loads(line) for line in log.read_text().splitlines()]


def main():
    if LOG in os.environ:
        sys.exit(compile_one(os.environ[LOG], sys.argv[1:]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=2, help="how many cores it may use (2)")
    parser.add_argument("--crates", type=int, default=15, help="how many of the slowest crates are shown (15)")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="an empty or missing folder to build in, kept")
    args = parser.parse_args()
    if len(os.sched_getaffinity(0)) < args.cores:
        parser.error(f"there are only {len(os.sched_getaffinity(0))} cores")
    if args.keep and args.keep.exists() and any(args.keep.iterdir()):
        parser.error(f"{args.keep} is not empty")
    subprocess.run(["cargo", "fetch", "--locked", "--quiet"], cwd=ROOT, check=True)

    target = args.keep or Path(tempfile.mkdtemp(prefix="first-build-"))
    target.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    try:
        wall, cpu, compilers = time_build(target.resolve(), args.cores)
    finally:
        if not args.keep:
            shutil.rmtree(target)
    print(f"{wall:.0f} s on {args.cores} cores, {cpu:.0f} CPU s; {len(compilers)} compilers; "
          f"load of the machine before: {load:.1f}\n")
    begin = min(one["begin"] for one in compilers)
    print(f"| {'crate':24} | {'CPU s':>6} | {'from':>6} | {'to':>6} |")
    print("| --- | ---: | ---: | ---: |")
    for one in sorted(compilers, key=lambda one: -one["cpu"])[:args.crates]:
        name = one["name"] + (f" ({one['kind']})" if one["kind"] in ("bin", "proc-macro") else "")
        print(f"| {name:24} | {one['cpu']:6.1f} | {one['begin'] - begin:6.1f} | {one['end'] - begin:6.1f} |")


if __name__ == "__main__":
    run_script(main)
