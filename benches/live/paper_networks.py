#!/usr/bin/env python3
"""Two published networks as live ones, with the kernel's TCP in them, beside the simulated ones, in one table each.

    paper_networks.py yang01                 two sources of four priorities behind gates (Yang and Fu 2001), 30 s a run, 2 minutes
    paper_networks.py liang91                users on a chain of 64 kbit/s behind SEIF's routers (Liang 1991), 60 s a run, 3 minutes
    paper_networks.py yang01 --time 120 --count 20

Each row is what the flows of a class had together in kbit/s: simulated, live by the kernel's TCP, and for SEIF live by this project's
transport, as gates see no losses of datagrams.
`README.md` lists the differences from the papers. Needs what `thalweg shell` needs, and no root. Only the standard library is used.
"""

import argparse
import json
import subprocess
import tempfile
import tomllib
from pathlib import Path

import namespace_testbed as testbed

PAPERS = testbed.ROOT / "scenarios" / "papers"

# The smallest packets that carry this project's transport; SEIF's chain forwards one in 0.16 s.
OURS = ("--mtu", "1250B")

# Gates of both sources, as `scenarios/papers/yang01/experiments.toml` has them.
CC = "{ kind = 'congestion', check = '2 s', signals = 'losses', stops-highest = true }"
TS = "{ kind = 'slots', slot = '10 ms' }"
ENVIRONMENTS = {
    "no gates": [],
    "congestion gates": [f"node.{node}.gate={CC}" for node in ("s1", "s2")],
    "time slots": [f"node.{node}.gate={TS}" for node in ("s1", "s2")],
}


def format_value(value):
    """A value as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {format_value(part)}' for key, part in value.items()) + " }"
    return "[" + ", ".join(map(format_value, value)) + "]" if isinstance(value, list) else json.dumps(value)


def write_temporary_scenario(scenario):
    """A scenario as TOML: what the files of papers have."""
    lines = [f"{key} = {format_value(value)}" for key, value in scenario.items() if key not in ("link", "flow")]
    for kind in ("link", "flow"):
        for table in scenario[kind]:
            lines += [f"[[{kind}]]", *(f"{key} = {format_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def two_sources(options):
    """The network of yang01 with bulk transfers: `--traffic` carries no datagrams, so those are left out."""
    scenario = tomllib.loads((PAPERS / "yang01/two-sources.toml").read_text())
    del scenario["scheme"]["datagrams"]
    scenario["duration"] = f"{options.time} s"
    scenario["defaults"]["flow"]["workload"] = "bulk"
    scenario["flow"] = [{**flow, "count": options.count} for flow in scenario["flow"] if flow.get("scheme") != "datagrams"]
    return write_temporary_scenario(scenario)


def run_chain(options):
    """The chain of liang91 with users in both directions, whose routers have SEIF."""
    scenario = tomllib.loads((PAPERS / "liang91/chain.toml").read_text())
    scenario["duration"], scenario["warmup"] = f"{options.time} s", "0 s"
    # Headers are within the packets of 512 B; the kernel's have what paths of 576 B leave.
    scenario["flow"] = [{"name": "forward", "count": 2, "from": "r1", "to": "r6", "scheme": "seif"},
                        {"name": "reverse", "from": "r6", "to": "r1", "scheme": "seif"}]
    return write_temporary_scenario(scenario)


def run_command(options, *words):
    done = subprocess.run([options.thalweg, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def goodput_by_class(flows, goodput):
    """Goodput by class, in kbit/s: names without the number of a flow in it."""
    found = {}
    for flow in flows:
        name = flow["name"].partition(".")[0]
        found[name] = found.get(name, 0) + flow[goodput] / 1e3
    return found


def run_simulated(options, file, changes):
    document = json.loads(run_command(options, "run", file, "--json", "--quiet", *set_options(changes)))
    return goodput_by_class(document["runs"][0]["flows"], "goodput_bps")


def run_live(options, file, changes, carrier, *more):
    with tempfile.TemporaryDirectory() as scratch:
        words = ["shell", file, "--quiet", "--traffic", carrier, "--out", f"{scratch}/out", *more, *set_options(changes)]
        testbed.emulate_path([options.thalweg, *words], options.first)
        traffic = json.loads(Path(f"{scratch}/out/traffic.json").read_text())
        fidelity = json.loads(Path(f"{scratch}/out/fidelity.json").read_text())
    found = goodput_by_class(traffic["flows"], "goodput_bps")
    return {**found, "valid": fidelity["valid"]}


def set_options(changes):
    return [word for change in changes for word in ("--set", change)]


def print_table(heads, classes, columns):
    print(f"| | {' | '.join(heads)} |")
    print("| --- |" + " ---: |" * len(heads))
    for name in classes:
        print(f"| {name} | {' | '.join(f'{column[name]:.0f}' for column in columns)} |")
    print(f"| all | {' | '.join(f'{sum(column[name] for name in classes):.0f}' for column in columns)} |")
    words = {True: "valid", False: "not valid", None: ""}
    print(f"| fidelity | {' | '.join(words[column.get('valid')] for column in columns)} |\n")


def yang01(options, file):
    file.write_text(two_sources(options))
    classes = [f"{other}tcp{priority}" for other in ("", "other-") for priority in range(1, 5)]
    for name, changes in ENVIRONMENTS.items():
        print(f"\n{name}: {options.count} flows of each class, kbit/s\n", flush=True)
        # Packets of 1000 B and their headers.
        columns = [run_simulated(options, file, changes), run_live(options, file, changes, "kernel:reno", "--mtu", "1040B")]
        print_table(["simulated", "live, kernel:reno"], classes, columns)


def liang91(options, file):
    file.write_text(run_chain(options))
    small = ("--mtu", "576B")
    columns = [run_simulated(options, file, []),
               run_live(options, file, [], "seif", *OURS),
               run_live(options, file, [], "kernel:reno", *small, "--mark-feedback"),
               run_live(options, file, [], "kernel:reno", *small, "--hold-acks", "500ms"),
               run_live(options, file, [], "kernel:reno", *small)]
    print("\nSEIF's routers, kbit/s\n")
    print_table(["SEIF, simulated", "SEIF, live", "kernel:reno, feedback by marks", "feedback by delayed acknowledgements", "no feedback"], ["forward", "reverse"], columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    papers = {"yang01": (yang01, 30), "liang91": (liang91, 60)}
    parser.add_argument("paper", choices=papers)
    parser.add_argument("--time", type=int, help="seconds of a run")
    parser.add_argument("--count", type=int, default=5, help="flows of each class of yang01")
    parser.add_argument("--first", action="store_true", help="before all else that the machine does, where others work on it; needs root")
    parser.add_argument("--thalweg", default=testbed.THALWEG)
    options = parser.parse_args()
    study, default_time = papers[options.paper]
    options.time = options.time or default_time
    with tempfile.TemporaryDirectory() as scratch:
        study(options, Path(scratch) / f"{options.paper}.toml")


if __name__ == "__main__":
    testbed.run_script(main)
