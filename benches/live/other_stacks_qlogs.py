#!/usr/bin/env python3
"""Fresh qlogs of other stacks, read by `thalweg view` and compared with what the run knows.

    benches/live/other_stacks_qlogs.py [--thalweg PROGRAM] [--stacks PROGRAM] [--seconds S]

quic-go sends over the loopback interface and logs both ends; its receiver counts the bytes. quinn and noq run in the simulator of
`thalweg-stacks` (adapters/), whose results count theirs; without `--stacks` they are left out. Exits with 1 where figures of a log differ
from those of its run by more than 1 %, or by 3 % where a log has packets' sizes alone (quinn). Needs Go, and the network at the first build.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Largest relative difference between a log and its run.
MAX_ERROR, MAX_ERROR_OF_SIZES = 0.01, 0.03


def view_log(thalweg, log):
    """The direction of a log's largest connection with more data."""
    done = subprocess.run([thalweg, "view", log, "--json", "--quiet"], check=True, stdout=subprocess.PIPE)
    connections = [one for file in json.loads(done.stdout)["files"] for one in file["connections"]]
    directions = [direction for one in connections for direction in one["directions"]]
    return max(directions, key=lambda direction: direction["delivered_bytes"])


def quic_go(folder, seconds):
    """Bytes that quic-go's receiver counted, and the logs of both ends."""
    program = folder / "quic-go"
    subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "quic-go", check=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    logs = folder / "logs"
    logs.mkdir()
    environment = {**os.environ, "QLOGDIR": str(logs)}
    receiver = subprocess.Popen([program, "receive", address, folder], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    receiver.stderr.readline()
    subprocess.run([program, "send", address, folder, f"seconds={seconds}"], env=environment, check=True, timeout=seconds + 60)
    counted = json.loads(receiver.communicate(timeout=60)[0])
    return counted["bytes"], sorted(logs.iterdir())


def simulate_stack(stacks, scheme, folder):
    """Bytes that the simulator delivered for a stack, and the logs of both ends."""
    logs = folder / scheme
    command = [stacks, "run", "dumbbell", "--set", "flow.flows.count=1", "--set", f'flow.flows.scheme="{scheme}"', "--set", "duration=5 s",
               "--set", "warmup=0 s", "--json", "--quiet"]
    done = subprocess.run(command, env={**os.environ, "QLOGDIR": str(logs)}, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["runs"][0]["flows"][0]["delivered_bytes"], sorted(logs.iterdir())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thalweg", default=str(ROOT / "target/release/thalweg"))
    parser.add_argument("--stacks")
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    is_wrong = False
    print(f"{'stack':<14}{'log of':<10}{'run, bytes':>14}{'view, bytes':>14}{'error':>10}{'RTT min, ms':>14}{'retransmitted':>16}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs = [("quic-go", *quic_go(folder, options.seconds))]
        if options.stacks:
            runs += [(scheme, *simulate_stack(options.stacks, scheme, folder)) for scheme in ["quinn-cubic", "noq-bbr3"]]
        for stack, counted, logs in runs:
            for log in logs:
                found = view_log(options.thalweg, log)
                error = found["delivered_bytes"] / counted - 1
                has_sizes_alone = stack.startswith("quinn")
                # Of received packets, quinn logs not even these.
                is_unknown = has_sizes_alone and "server" in log.name
                is_wrong |= abs(error) > (MAX_ERROR_OF_SIZES if has_sizes_alone else MAX_ERROR) and not is_unknown
                end = next((end for end in ["client", "server"] if end in log.name), "-")
                trip = found["rtt"] and found["rtt"]["min_s"] * 1e3
                print(f"{stack:<14}{end:<10}{counted:>14}{found['delivered_bytes']:>14}{error:>10.2%}{trip or 0:>14.2f}{found['retransmitted_share']:>16.2%}")
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
