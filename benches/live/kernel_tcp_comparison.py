#!/usr/bin/env python3
"""Compares CUBIC and BBR with the kernel's on the same paths, live and in the simulator: goodput, retransmissions, windows.

    kernel_tcp_comparison.py run                      five seeds of every path (40 minutes), the table, and the picture
    kernel_tcp_comparison.py run --paths clean --seeds 2 --transports tcp-cubic,cubic
    kernel_tcp_comparison.py table                    the tables of what was measured so far
    kernel_tcp_comparison.py plot --seed 2            windows over time, as SVG

Paths are those of `difficult_paths.py` and two more clean ones. Results are added to `--results FILE`, one JSON record a line. Of each
transfer's receiver counts the bytes from the first to the last; a sender's buffer is kept short (TCP_NOTSENT_LOWAT), so that
all end soon after their time. Windows are sampled by TCP_INFO and taken from recordings. `kernel_tcp_comparison.md` has the results.
Needs root, as it makes two network namespaces and a TUN device in each for every transfer.

    cargo build --release -p thalweg && cargo build --release -p thalweg-net --example tun_path

Only the standard library is used.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import difficult_paths
import namespace_testbed as testbed

PATHS = {
    "clean": difficult_paths.PATHS["clean"],
    "clean-20": testbed.make_path(100, 20),
    "clean-slow": testbed.make_path(20, 50),
    **{name: path for name, path in difficult_paths.SEVEN.items() if name != "clean"},
}
CLEAN = [name for name, path in PATHS.items() if path.loss == 0]
# Kernel, live and simulated; the sender as a kernel has it is a preset of CUBIC alone.
FAMILIES = {
    "cubic": ["tcp-cubic", "cubic", "cubic:preset=linux", "simulated cubic"],
    "bbr": ["tcp-bbr", "bbr", "simulated bbr"],
}
TRANSPORTS = [transport for family in FAMILIES.values() for transport in family]
# What kernel TCP has on the wire: with it a simulated share is one of the kernel's.
KERNEL_SIZES = {"segment": "1448 B", "header": "52 B"}
SIMULATED = {"cubic": {"preset": "linux"}, "bbr": {"delayed-ack": "true"}}


# Kernel TCP.

def run_kernel_tcp(names, controller, options):
    server = testbed.run_in_namespace(names[1], testbed.program_command("tcp-server"))
    time.sleep(0.3)
    client = testbed.run_in_namespace(names[0], testbed.program_command("tcp-client", "--controller", controller, "--time", options.time))
    sent = json.loads(testbed.wait_for_output(client, 3 * options.time + 20))
    received = json.loads(testbed.wait_for_output(server, 5))
    return 8 * received["bytes"] / received["seconds"], sent["sent"], sent["resent"], sent["windows"]


# Ours.

def run_thalweg(names, scheme, options, recorded):
    with tempfile.TemporaryDirectory() as scratch:
        record = f"{scratch}/record.qlog"
        server = testbed.run_in_namespace(names[1], [options.thalweg, "bench", "server", f"{testbed.FAR}:{testbed.PORT}", "--once",
                                         "--quiet", "--json"])
        time.sleep(0.3)
        client = testbed.run_in_namespace(names[0], [options.thalweg, "bench", "client", f"{testbed.FAR}:{testbed.PORT}", "--scheme", scheme,
                                         "--time", f"{options.time}s", "--json", "--quiet",
                                         *(["--record", record] if recorded else [])])
        document = json.loads(testbed.wait_for_output(client, 3 * options.time + 20))
        testbed.wait_for_output(server, 5)
        windows = testbed.Recording(record, math.inf).windows if recorded else []
    here, there = document["client"], document["servers"][0]
    return there["bits_per_second"], here["segments_sent"], here["retransmissions"], windows


# The simulator.

def run_simulated(path, scheme, seed, options):
    with tempfile.TemporaryDirectory() as scratch:
        keys = {**KERNEL_SIZES, **SIMULATED[scheme]}
        changes = [*path.link_settings(), f"flow.transfer.scheme={scheme}", f"duration={options.time} s",
                   f"measure.interval={1e3 * testbed.SAMPLE_INTERVAL_S} ms", *(f"scheme.{scheme}.{key}={value}" for key, value in keys.items())]
        testbed.run_simulation([options.thalweg, "run", str(testbed.SCENARIO), "--quiet", "--seed", str(seed), "--out", f"{scratch}/out",
                      *testbed.set_options(changes)])
        flow = json.loads(Path(f"{scratch}/out/results.json").read_text())["runs"][0]["flows"][0]
        windows = testbed.read_series(f"{scratch}/out", "window")
    return flow["goodput_bps"], flow["sent_packets"], flow["retransmissions"], windows


# Actions.

def run_transfer(name, transport, seed, options):
    path = PATHS[name]
    if transport.startswith("simulated "):
        rate, sent, resent, windows = run_simulated(path, transport.split()[1], seed, options)
    else:
        with testbed.set_up_network(path, seed) as (names, _):
            if transport.startswith("tcp-"):
                rate, sent, resent, windows = run_kernel_tcp(names, transport[4:], options)
            else:
                rate, sent, resent, windows = run_thalweg(names, transport, options, seed == options.seed)
    return {"path": name, "transport": transport, "seed": seed, "share": rate / (path[0] * 1e6), "sent": sent, "resent": resent,
            "load": os.getloadavg()[0], "windows": windows if seed == options.seed else []}


def transfer_with_retry(name, transport, seed, options):
    for _ in range(2):
        try:
            return run_transfer(name, transport, seed, options)
        except (ValueError, KeyError, subprocess.SubprocessError, OSError) as error:
            failed = f"{type(error).__name__}: {error}"
    return {"path": name, "transport": transport, "seed": seed, "failed": failed}


def run_all(options):
    seeds = range(options.seed, options.seed + options.seeds)
    # Compared transfers are also adjacent in time: a slow minute of the machine affects all of them.
    todo = [(name, transport, seed, options) for name in options.paths for seed in seeds for transport in options.transports]
    with open(options.results, "a", encoding="utf-8") as results:
        for record in testbed.measure_in_parallel(transfer_with_retry, todo, options.parallel):
            results.write(json.dumps(record) + "\n")
            results.flush()
            print(f"{record['path']:11}{record['transport']:20}{record['seed']:3}  "
                  + (record.get("failed") or f"{100 * record['share']:6.1f} %  {record['resent']:6} of {record['sent']:7} again"),
                  flush=True)


def measured_records(options):
    """path -> transport -> records."""
    found = {}
    with open(options.results, encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if "failed" not in record:
                found.setdefault(record["path"], {}).setdefault(record["transport"], []).append(record)
    return {name: found[name] for name in PATHS if name in found}


def print_table(options):
    found = measured_records(options)
    print("| path | | goodput, % of the rate: mean | median | best | retransmitted, % of packets: mean | median |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name, of in found.items():
        for transport in [transport for transport in TRANSPORTS if transport in of] + [transport for transport in of if transport not in TRANSPORTS]:
            shares = [100 * record["share"] for record in of[transport]]
            again = [100 * record["resent"] / record["sent"] for record in of[transport] if record["sent"]]
            print(f"| {name} | {transport} | {testbed.with_interval(shares)} | {statistics.median(shares):.1f} | {max(shares):.1f} | "
                  f"{testbed.with_interval(again, 2)} | {statistics.median(again):.2f} |")
    print("\n| beside the kernel's | path | goodput, median | best | retransmitted, median |")
    print("| --- | --- | ---: | ---: | ---: |")
    for family in FAMILIES.values():
        for transport in family[1:]:
            for name, of in found.items():
                if transport in of and family[0] in of:
                    print(f"| {transport} | {name} | {rate_ratio(of, transport, family[0])} |")


def rate_ratio(of, transport, other):
    shares = lambda one: [record["share"] for record in of[one]]
    again = lambda one: statistics.median(record["resent"] / max(record["sent"], 1) for record in of[one])
    by = lambda how: f"{100 * (how(shares(transport)) / how(shares(other)) - 1):+.1f} %"
    resent = f"{100 * (again(transport) / again(other) - 1):+.0f} %" if again(other) else f"{100 * again(transport):.2f} % of none"
    return f"{by(statistics.median)} | {by(max)} | {resent}"


# The picture.

COLOURS = {"tcp-cubic": "#111111", "cubic": "#0072b2", "cubic:preset=linux": "#e69f00", "simulated cubic": "#d55e00",
           "tcp-bbr": "#111111", "bbr": "#0072b2", "simulated bbr": "#d55e00"}

def plot_rates(options):
    found = measured_records(options)
    first = {name: {transport: [record for record in records if record["seed"] == options.seed] or records
                    for transport, records in of.items()} for name, of in found.items()}
    panels = []
    for name in (name for name in options.paths if name in first):
        rate, rtt = PATHS[name][:2]
        for family in FAMILIES.values():
            drawn = [transport for transport in family if transport in first[name]]
            lines = [(each, COLOURS.get(each, testbed.GREY), first[name][each][0]["windows"]) for each in drawn]
            if lines:
                panels.append((f"{name}: {rate} Mbit/s, {rtt} ms, a queue of one BDP. Window in packets", PATHS[name], lines))
    testbed.write_picture(options.picture, "Congestion windows of kernel TCP, live and simulated, over one path", panels, options.time)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "plot"])
    parser.add_argument("--paths", type=testbed.parse_list, default=None, help=", ".join(PATHS))
    parser.add_argument("--transports", type=testbed.parse_list, default=TRANSPORTS, help="kernel TCP, schemes as bench takes them, \"simulated SCHEME\"")
    parser.add_argument("--time", type=int, default=20, help="seconds of a transfer")
    parser.add_argument("--seed", type=int, default=1, help="the first; its windows are kept")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=1, help="concurrent transfers, each over a path of its own")
    parser.add_argument("--results", default="kernels.jsonl")
    parser.add_argument("--picture", default="kernel_tcp_comparison.svg")
    parser.add_argument("--thalweg", default=testbed.THALWEG)
    options = parser.parse_args()
    unknown = [name for name in options.paths or [] if name not in PATHS]
    if unknown:
        sys.exit(f"no path is called {unknown[0]}; there are {', '.join(PATHS)}")
    options.paths = options.paths or (list(PATHS) if options.what != "plot" else CLEAN[:1])
    testbed.exit_on_sigterm()
    if options.what == "run":
        run_all(options)
    if options.what in ("run", "table"):
        print_table(options)
    if options.what == "plot":
        plot_rates(options)


if __name__ == "__main__":
    testbed.run_script(main)
