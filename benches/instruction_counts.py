#!/usr/bin/env python3
"""Counts the instructions of a few fixed runs and compares them with benches/instruction_counts.json.

    instruction_counts.py             shows the counts
    instruction_counts.py --check     fails when one is more than 3 % above the stored one, or 1 % for bytes between two endpoints
    instruction_counts.py --bless     stores what was counted

Instruction counts do not depend on how busy the machine is, as times do; they depend on the compiler and a little on the
processor's kind. They are counted by valgrind; without it nothing is checked. Only the standard library is used.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scenario_file_generator import scenario_with_lines
from simulator_speed import dumbbell_scenario
from keyboard_interrupt import run_script

HERE = Path(__file__).resolve().parent
STORED = HERE / "instruction_counts.json"
MORE_THAN = 0.03
# Three quarters of it is the cipher, which the rest must not hide behind.
ENDPOINTS = "20 MiB in memory"
MORE_THAN_OF_ENDPOINTS = 0.01
ROOT = HERE.parent
EXAMPLE = ["--workspace", "--example", "in_memory"]


def commands_by_name(thalweg, folder):
    """Name -> command."""
    long = Path(folder) / "long.toml"
    long.write_text(scenario_with_lines())
    arguments = {
        "A10, 2 s": dumbbell_scenario(10, "100 Mbit/s", "625 pkt", "2 s"),
        "A100, 2 s": dumbbell_scenario(100, "100 Mbit/s", "625 pkt", "2 s"),
        "C1000, 0.3 s": dumbbell_scenario(1000, "1 Gbit/s", "6250 pkt", "300 ms"),
        "B10, 1 s": dumbbell_scenario(10, "100 Mbit/s", "625 pkt", "1 s") + ["--set", "flow.flows.scheme=bbr"],
        "P10, 1 s": dumbbell_scenario(10, "100 Mbit/s", "625 pkt", "1 s") + ["--set", "flow.flows.scheme=prague"],
        "K10, 1 s": dumbbell_scenario(10, "100 Mbit/s", "625 pkt", "1 s") + ["--set", "flow.flows.scheme=copa"],
        "L10, 1 s": dumbbell_scenario(10, "100 Mbit/s", "625 pkt", "1 s") + ["--set", "flow.flows.scheme=ledbat-plus-plus"],
        "T10, 1 s": dumbbell_scenario(10, "100 Mbit/s", "625 pkt", "1 s") + ["--set", "flow.flows.scheme=thalweg"],
        "validate 1000 lines": ["validate", str(long)],
    }
    commands = {name: [thalweg, *given] for name, given in arguments.items()}
    # Two endpoints without sockets, one sends to the other: the cost of sending over a network.
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", *EXAMPLE], cwd=ROOT, check=True)
    return commands | {ENDPOINTS: [str(ROOT / "target/release/examples/in_memory")]}


def count_instructions(command, folder):
    """Instructions that a command executes."""
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out"]
    done = subprocess.run(tool + command, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(tool + command)}: exit code {done.returncode}\n{done.stderr}")
    return int(found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thalweg", default=str(ROOT / "target/release/thalweg"), help="the executable")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="fail when a count has grown by more than 3 %% (endpoints: 1 %%)")
    what.add_argument("--bless", action="store_true", help="store the counts")
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        print("valgrind is not installed: instructions are not counted")
        return
    if not Path(args.thalweg).exists():
        parser.error(f"{args.thalweg} is missing: cargo build --release --locked")

    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    counts, grown = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands_by_name(args.thalweg, folder).items():
            counts[name] = count_instructions(command, folder)
            before = stored.get(name)
            change = counts[name] / before - 1 if before else None
            shown = f"{change:+7.2%}" if change is not None else "    new"
            print(f"{name:20} {counts[name]:>14,} instructions {shown}", flush=True)
            if change is None or change > (MORE_THAN_OF_ENDPOINTS if name == ENDPOINTS else MORE_THAN):
                grown.append(name)
    if args.bless:
        STORED.write_text(json.dumps(counts, indent=2) + "\n")
    elif args.check and grown:
        sys.exit(f"more than {MORE_THAN:.0%} ({ENDPOINTS}: {MORE_THAN_OF_ENDPOINTS:.0%}) above what is stored, or not stored: "
                 f"{', '.join(grown)}\n"
                 f"If that is meant, run {Path(__file__).name} --bless and say why in the commit.")


if __name__ == "__main__":
    run_script(main)
