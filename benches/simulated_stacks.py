#!/usr/bin/env python3
"""Measures how fast transport stacks of others run in the simulator, beside schemes of Thalweg, and prints a table in Markdown.

    simulated_stacks.py                             10 and 100 connections on 100 Mbit/s for 20 s, three times
    simulated_stacks.py --schemes cubic,quinn-bbr   some schemes
    simulated_stacks.py --flows 10 --repeat 5       one number of connections, more repetitions
    simulated_stacks.py --thalweg PATH              another executable than adapters/target/release/thalweg-stacks

A packet-hop is a packet, data or acknowledgement, that leaves a transmitter. CPU seconds are user and system time of the whole
process; the least of the repetitions counts. The cost of a packet is that at both ends and on the path, with the
acknowledgements for it. Only the standard library is used.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from keyboard_interrupt import run_script

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "adapters/target/release/thalweg-stacks"
SCHEMES = "cubic,bbr,quinn-cubic,quinn-bbr,noq-cubic,noq-bbr3,smoltcp-cubic,sctp"
SECONDS = 20


def stack_command(program, scheme, flows):
    changes = {"flow.flows.count": flows, "flow.flows.scheme": f'"{scheme}"', "duration": f"{SECONDS} s"}
    sets = [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]
    return [str(program), "run", "dumbbell", "--json", "--quiet", "--threads", "1", *sets]


def measure_command(command):
    """Runs a command: its document, and its CPU seconds."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {process.returncode}\n{err.read()}")
        return json.load(out), usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schemes", default=SCHEMES)
    parser.add_argument("--flows", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--thalweg", type=Path, default=PROGRAM)
    args = parser.parse_args()
    if args.repeat < 1 or min(args.flows) < 1:
        parser.error("numbers are at least 1")
    if not args.thalweg.exists():
        parser.error(f"{args.thalweg} is missing: cargo build --release --manifest-path adapters/Cargo.toml")
    print("| connections | scheme | packets | M packet-hops a CPU second | us of CPU a packet | times real time |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for flows in args.flows:
        for scheme in args.schemes.split(","):
            done = [measure_command(stack_command(args.thalweg, scheme, flows)) for _ in range(args.repeat)]
            run, cpu = done[0][0]["runs"][0], min(cpu for _, cpu in done)
            packets = sum(flow["sent_packets"] for flow in run["flows"])
            print(f"| {flows} | `{scheme}` | {packets} | {run['hops'] / cpu / 1e6:.2f} | {cpu / packets * 1e6:.1f} "
                  f"| {SECONDS / cpu:.0f} |", flush=True)


if __name__ == "__main__":
    run_script(main)
