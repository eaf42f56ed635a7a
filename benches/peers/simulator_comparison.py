#!/usr/bin/env python3
"""Runs the same scenarios on ns-2, ns-3, htsim and Thalweg and prints a table.

    simulator_comparison.py                          all scenarios, all installed peers
    simulator_comparison.py A10 A100 --repeat 3      some scenarios, least CPU time of 3 runs
    simulator_comparison.py A10 --cc vegas           another congestion control
    simulator_comparison.py --quick                  shorter durations
    simulator_comparison.py --thalweg PATH           Thalweg too, PATH being its executable
    simulator_comparison.py --htsim PATH             htsim too, PATH being what install-htsim.sh built

Only the standard library is used. One simulation runs at a time.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from keyboard_interrupt import run_script  # noqa: E402

HERE = Path(__file__).resolve().parent
NS3_LIBS = ["applications", "point-to-point", "internet", "network", "core"]

# Rates in bit/s, times in s, buffers in packets. `quick` is the duration with
# --quick; `only` names the peers that can do the scenario in sensible time.
SCENARIOS = {
    "A10": dict(topology="dumbbell", flows=10, rate=100e6, buffer=625, duration=60, quick=10),
    "A10-staggered": dict(topology="dumbbell", flows=10, rate=100e6, buffer=625, duration=60,
                          quick=20, stagger=0.1, warmup=10, iw=2),
    "A100": dict(topology="dumbbell", flows=100, rate=100e6, buffer=625, duration=60, quick=10),
    "C1000": dict(topology="dumbbell", flows=1000, rate=1e9, buffer=6250, duration=10, quick=1,
                  only=["ns-2", "htsim", "thalweg"]),
    "C10000": dict(topology="dumbbell", flows=10000, rate=10e9, buffer=62500, duration=10, quick=1,
                   only=["ns-2", "htsim", "thalweg"]),
    "P3": dict(topology="parking-lot", duration=3, quick=3, only=["ns-2", "thalweg"]),
    "P30": dict(topology="parking-lot", duration=30, quick=10, only=["ns-2", "thalweg"]),
    # SW4-SW5 at half its rate from 1 s to 2 s.
    "P3-dip": dict(topology="parking-lot", duration=3, quick=3, dip=1, only=["ns-2", "thalweg"]),
}
DUMBBELL = dict(delay=0.010, access=1e9, adelay=0.001, stagger=0, warmup=0, iw=10)


# ---------------------------------------------------------------- Thalweg --
# The only part that knows how Thalweg is called and what it answers.

def run_thalweg(path, scenario):
    """Runs one scenario; returns the same fields as the other peers print."""
    command = [path, "run", scenario["topology"], "--json", "--quiet", "--threads", "1"]
    for key, value in thalweg_overrides(scenario).items():
        command += ["--set", f"{key}={value}"]
    text, usage = run_process(command)
    return usage | parse_thalweg(text)


def thalweg_overrides(scenario):
    """What to change in the built-in scenario: keys and values for --set."""
    changes = {"duration": parse_seconds(scenario["duration"]),
               "warmup": parse_seconds(scenario.get("warmup", 0))}
    if scenario["topology"] == "parking-lot":
        if not scenario.get("dip"):
            changes["link.sw4-sw5.schedule"] = "[]"
        return changes
    base, recovery = {"sack": ("newreno", "sack"), "newreno": ("newreno", "newreno"),
                      "vegas": ("vegas", "newreno"), "cubic": ("cubic", "sack")}[scenario["cc"]]
    return changes | {
        "link.bottleneck.rate": f"{scenario['rate']:.0f} bit/s",
        "link.bottleneck.delay": parse_seconds(scenario["delay"]),
        "link.bottleneck.queue": f"{scenario['buffer']} pkt",
        "flow.flows.count": scenario["flows"],
        "flow.flows.spread": "0 s",
        "flow.flows.stagger": parse_seconds(scenario["stagger"]),
        "flow.flows.access.rate": f"{scenario['access']:.0f} bit/s",
        "flow.flows.access.delay": parse_seconds(scenario["adelay"]),
        "flow.flows.scheme": f'{{ base = "{base}", recovery = "{recovery}", '
                             f'initial-window = "{scenario["iw"]} pkt", '
                             f'segment = "{scenario["payload"]} B", header = "40 B", ack = "40 B" }}',
    }


def parse_seconds(value):
    return f"{value:g} s"


def parse_thalweg(text):
    """The results document to the fields that the peers print."""
    run = json.loads(text)["runs"][0]
    return {
        "goodput_mbps": run["totals"]["goodput_bps"] / 1e6,
        "jain": run["totals"]["jain"],
        "drops": run["conservation"]["dropped"],  # of the whole run, as the peers count them
        "packet_hops": run["hops"],
        "flow_wire_mbps": [round(flow["throughput_bps"] / 1e6, 3) for flow in run["flows"]]
        if len(run["flows"]) == 5 else [],
    }


# ------------------------------------------------------------------ peers --

def run_ns2(_path, scenario):
    command = ["ns", str(HERE / f"{scenario['topology']}.tcl")]
    for key, value in peer_options(scenario).items():
        command += [f"-{key}", str(value)]
    return last_json(*run_process(command))


def run_ns3(path, scenario):
    # A send buffer is filled with packets: keep it small for many flows.
    window = 4_000_000 if scenario["flows"] <= 100 else 1_000_000
    command = [path, f"--window={window}"]
    for key, value in peer_options(scenario).items():
        command.append(f"--{key}={value}")
    return last_json(*run_process(command))


def run_htsim(path, scenario):
    # It has NewReno without SACK alone.
    command = [path, "dumbbell"]
    for key, value in peer_options(scenario).items():
        command += [f"-{key}", str(value)]
    return last_json(*run_process(command))


def peer_options(scenario):
    options = {k: v for k, v in scenario.items() if k not in ("name", "topology", "quick", "only")}
    if scenario["topology"] == "parking-lot":
        options.pop("cc", None)
    return options | {"scenario": scenario["name"]}


def last_json(text, usage):
    """The last line that holds JSON. ns-2 prints other lines with TCP/Linux."""
    line = [line for line in text.splitlines() if line.startswith("{")][-1]
    return usage | json.loads(line)


def run_process(command, cwd=None):
    """Runs a command; returns its output, and its CPU seconds and memory."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, cwd=cwd)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}")
        out.seek(0)
        text = out.read()
    # ru_maxrss is never below the size of this script itself, so a peer that
    # reports its own max_rss_kb is believed instead.
    return text, {"cpu_seconds": usage.ru_utime + usage.ru_stime, "max_rss_kb": usage.ru_maxrss}


def build_ns3(folder):
    """Compiles dumbbell.cc; returns None when ns-3 is not installed."""
    target = str(Path(folder) / "dumbbell")
    command = ["g++", "-O2", "-std=c++17", str(HERE / "dumbbell.cc"), "-o", target]
    command += [f"-lns3-{lib}" for lib in NS3_LIBS]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print("ns-3 left out: dumbbell.cc does not compile", file=sys.stderr)
        return None
    return target


def find_peers(args, folder):
    """Peers in the order of the table: name -> (function, executable)."""
    peers = {}
    if "ns-2" in args.peers and shutil.which("ns"):
        peers["ns-2"] = (run_ns2, "ns")
    if "ns-3" in args.peers and shutil.which("g++"):
        path = build_ns3(folder)
        if path:
            peers["ns-3"] = (run_ns3, path)
    if args.htsim:
        peers["htsim"] = (run_htsim, str(Path(args.htsim).resolve()))
    if args.thalweg:
        peers["thalweg"] = (run_thalweg, str(Path(args.thalweg).resolve()))
    return peers


# ------------------------------------------------------------------ table --

def scenario_of(name, args):
    scenario = {"name": name} | SCENARIOS[name]
    if scenario["topology"] == "dumbbell":
        scenario = DUMBBELL | scenario | {"cc": args.cc, "payload": args.payload}
    if args.quick:
        scenario["duration"] = scenario["quick"]
        scenario["warmup"] = min(scenario.get("warmup", 0), scenario["duration"] / 2)
    return scenario


def event_speed(result):
    """Million hops a CPU second, without the time to set the network up."""
    seconds = result["cpu_seconds"] - result.get("setup_cpu_s", 0)
    return result["packet_hops"] / max(seconds, 0.01) / 1e6


def print_table(names, results):
    print(f"{'scenario':14} {'peer':8} {'goodput':>9} {'jain':>7} {'drops':>7} {'CPU s':>8} "
          f"{'set-up':>7} {'M hops/s':>9} {'MB':>8} {'ratio':>7}")
    for name in names:
        base = None
        for peer, result in results.get(name, {}).items():
            base = base or event_speed(result)
            print(f"{name:14} {peer:8} {result['goodput_mbps']:9.2f} {result['jain']:7.4f} "
                  f"{result['drops']:7d} {result['cpu_seconds']:8.2f} "
                  f"{result.get('setup_cpu_s', 0):7.2f} {event_speed(result):9.2f} "
                  f"{result['max_rss_kb'] / 1024:8.1f} {event_speed(result) / base:7.2f}")
            if result.get("flow_wire_mbps"):
                print(f"{'':23} per flow: {result['flow_wire_mbps']} Mbit/s on the wire")
    print("\ngoodput: Mbit/s of payload; M hops/s: hops a CPU second after the set-up;\n"
          "ratio: M hops/s over that of the first peer listed for the scenario")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--cc", default="sack", choices=["sack", "newreno", "vegas", "cubic"],
                        help="congestion control of the dumbbells")
    parser.add_argument("--payload", type=int, default=1000, help="payload bytes of a segment")
    parser.add_argument("--peers", default="ns-2,ns-3", help="comma-separated: ns-2,ns-3; or none")
    parser.add_argument("--thalweg", metavar="PATH", help="executable of Thalweg")
    parser.add_argument("--htsim", metavar="PATH", help="what install-htsim.sh built")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the least CPU time counts")
    parser.add_argument("--quick", action="store_true", help="shorter durations")
    parser.add_argument("--slow", action="store_true", help="also pairs left out as too slow")
    parser.add_argument("--json", action="store_true", help="print each result as a line of JSON too")
    args = parser.parse_args()
    args.peers = [] if args.peers == "none" else args.peers.split(",")
    for name in args.peers:
        if name not in ("ns-2", "ns-3"):
            parser.error(f"unknown peer {name}; there are: ns-2, ns-3, or none")
    names = args.scenarios or list(SCENARIOS)
    for name in names:
        if name not in SCENARIOS:
            parser.error(f"unknown scenario {name}; there are: {', '.join(SCENARIOS)}")

    results = {}
    with tempfile.TemporaryDirectory() as folder:
        peers = find_peers(args, folder)
        if not peers:
            parser.error("no peer is installed (see install.sh)")
        # The repetitions are the outer loop: a slow minute of the
        # machine affects every peer alike.
        for _ in range(args.repeat):
            for name in names:
                scenario = scenario_of(name, args)
                for peer, (run, path) in peers.items():
                    if not runs_here(scenario, peer, args.slow):
                        continue
                    print(f"{name} on {peer} ...", file=sys.stderr)
                    try:
                        keep_fastest(results.setdefault(name, {}), peer, run(path, scenario))
                    except RuntimeError as error:
                        print(f"left out: {error}", file=sys.stderr)
    if args.json:
        for name, by_peer in results.items():
            for peer, result in by_peer.items():
                print(json.dumps(result | {"scenario": name, "peer": peer}))
    print_table(names, results)


def runs_here(scenario, peer, slow):
    if peer in ("ns-3", "htsim") and scenario["topology"] != "dumbbell":
        return False
    return slow or peer in scenario.get("only", [peer])


def keep_fastest(results, peer, result):
    if peer not in results or result["cpu_seconds"] < results[peer]["cpu_seconds"]:
        results[peer] = result


if __name__ == "__main__":
    run_script(main)
