#!/usr/bin/env python3
"""Measures the difference between the simulator and real hosts: the same scheme on the same path, live and simulated, seed by seed.

    fidelity.py run                     seven paths, every scheme of `difficult_paths.py` and BBR, five seeds, live and simulated (two hours)
    fidelity.py run --paths clean,long-1 --schemes cubic,bbr:headroom=10% --seeds 3 --parallel 2
    fidelity.py again                   simulates what was measured live once more, by the simulator as it is now
    fidelity.py twin --paths long-1 --schemes cubic --seed 2       the command that simulates a row (| sh runs it)
    fidelity.py table                   their difference
    fidelity.py plot --paths long-1 --schemes cubic,bbr            windows over each other, as SVG

The path is that of `namespace_testbed.py`; the n-th data packet meets the same fate live and simulated. Simulated hosts are those that
`thalweg doctor` measures right before each transfer, at the same priority, or `--host`. The scheme's options are those of the live
transfer, as `thalweg infer` reads them from its recording. Results are added to `--results FILE`, one JSON record a line; what is there
already is not measured again. `fidelity.md` has the results. Needs root.

    cargo build --release -p thalweg && cargo build --release -p thalweg-net --example tun_path

Only the standard library is used.
"""

import argparse
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import difficult_paths
import namespace_testbed as testbed

SCHEMES = [*difficult_paths.SCHEMES, "bbr"]
# These have no congestion window: pictures show the data in flight, which live and simulated runs count differently.
SCHEMES_WITHOUT_WINDOW = ("adaptive-ack", "sscop", "sscop-rate", "sstp", "udp")
GOALS = {"goodput": 0.05, "p95": 0.10}
# The standard normal distribution's quantile of 99 %.
NORMAL_P99 = 2.326
# Events of a simulated run's recording.
MAX_QLOG_EVENTS = 2_000_000


def describe_host(options):
    """The host as scenarios have it: `--host`, or what is measured now, at the priority of transfers."""
    if options.host:
        return options.host
    text = subprocess.run([*testbed.REALTIME_LOW, options.thalweg, "doctor", "--json"], capture_output=True, check=True).stdout
    return json.loads(text)["host"]


def observed_rate(recording, transport, seconds):
    over_time = recording.in_flight if transport.partition(":")[0] in SCHEMES_WITHOUT_WINDOW else recording.windows
    return {"rate": 8 * recording.acknowledged / seconds, "p50": recording.trip(0.5), "p95": recording.trip(0.95),
            "windows": over_time}


def run_live(name, transport, seed, options):
    path = difficult_paths.PATHS[name]
    seconds = options.time or path.seconds
    measured = describe_host(options)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        record = f"{scratch}/record.qlog"
        document, relay = send_over_path(path, transport, seed, seconds, record, options)
        testbed.run_simulation([options.thalweg, "infer", record, "--out", f"{scratch}/inferred", "--quiet", "--json"])
        scheme = tomllib.loads(Path(f"{scratch}/inferred/scenario.toml").read_text())["scheme"]
        found = observed_rate(testbed.Recording(record, seconds), transport, seconds)
    (base, keys), = scheme.items()
    here = document["client"]
    return {"path": name, "transport": transport, "seed": seed, "kind": "live", "host": measured, "relay_us": testbed.relay_lateness(relay), "load": load,
            "seconds": seconds, "base": base, "keys": flatten_table(keys), "sent": here["segments_sent"], "resent": here["retransmissions"],
            **found}


def send_over_path(path, transport, seed, seconds, record, options):
    """A transfer over the path: what its client says, and the relay, which has ended."""
    with testbed.set_up_network(path, seed, twin=True) as (names, relay):
        most = difficult_paths.buffer_memory(path) + (["--datagram", options.datagram] if options.datagram else [])
        server = testbed.run_in_namespace(names[1], [options.thalweg, "bench", "server", f"{testbed.FAR}:{testbed.PORT}", "--once", "--quiet", "--json", *most])
        time.sleep(0.3)
        scheme = difficult_paths.transport_name(transport, path)
        client = testbed.run_in_namespace(names[0], [options.thalweg, "bench", "client", f"{testbed.FAR}:{testbed.PORT}", "--scheme", scheme,
                                           "--time", f"{seconds}s", "--json", "--quiet", "--record", record, *most])
        document = json.loads(testbed.wait_for_output(client, 3 * seconds + 20))
        testbed.wait_for_output(server, 5)
    return document, relay


def flatten_table(table, prefix=""):
    """A table as keys for `--set`."""
    found = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= flatten_table(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = str(value).lower() if isinstance(value, bool) else value
    return found


def relay_jitter(row):
    """The relay is woken late for packets that come, as hosts are, and late again when they are due: as jitter of the line, or none."""
    median, most = row.get("relay_us", [0, 0])
    woken = re.search(r'late = "([0-9.]+) us"', row["host"])
    if not median:
        return None
    sigma = math.log(max(most / median, 1)) / NORMAL_P99
    median += float(woken[1]) if woken else 0
    # Without a bound, the tail of a busy host's distribution has delays of hours, which scenarios refuse.
    return {"distribution": "log-normal", "median": f"{median:.1f} us", "sigma": round(sigma, 3), "max": f"{10 * most:.1f} us"}


def relay_options(row):
    jitter = relay_jitter(row)
    if not jitter:
        return []
    return ['link.path.jitter={' + ", ".join(f"{key} = {json.dumps(value)}" for key, value in jitter.items()) + "}"]


def twin_scenario(row, seed, thalweg):
    """The words of the command that simulates a live row."""
    changes = [*relay_options(row), *difficult_paths.PATHS[row["path"]].link_settings(), f"flow.transfer.scheme={row['base']}", f"flow.transfer.host={row['host']}",
               f"duration={row['seconds']} s", f"measure.interval={round(1e3 * testbed.SAMPLE_INTERVAL_S)} ms"]
    changes += [f"scheme.{row['base']}.{key}={value}" for key, value in row["keys"].items()]
    return [thalweg, "run", os.path.relpath(testbed.SCENARIO), "--seed", str(seed), *testbed.set_options(changes)]


def run_simulated(row, seed, options):
    with tempfile.TemporaryDirectory() as scratch:
        testbed.run_simulation([*twin_scenario(row, seed, options.thalweg), "--quiet", "--out", f"{scratch}/out", "--qlog", "--qlog-packets", str(MAX_QLOG_EVENTS)])
        flow = json.loads(Path(f"{scratch}/out/results.json").read_text())["runs"][0]["flows"][0]
        recording = testbed.Recording(f"{scratch}/out/trace.qlog", row["seconds"], is_simulated=True)
        found = observed_rate(recording, row["transport"], row["seconds"])
        if row["base"] not in SCHEMES_WITHOUT_WINDOW:
            found["windows"] = testbed.read_series(f"{scratch}/out", "window")
    return {"path": row["path"], "transport": row["transport"], "seed": seed, "kind": "simulated", "sent": flow["sent_packets"],
            "resent": flow["retransmissions"], **found}


def run_live_and_simulated(name, transport, seed, options):
    """A live transfer and its twin, or what is missing of them."""
    done = {}
    for _ in range(2):
        try:
            row = run_live(name, transport, seed, options)
            return [row, run_simulated(row, seed, options)]
        except (ValueError, KeyError, RuntimeError, subprocess.SubprocessError, OSError) as error:
            done = {"path": name, "transport": transport, "seed": seed, "kind": "live", "failed": f"{type(error).__name__}: {error}"}
    return [done]


def repeat_simulation(row, options):
    return [run_simulated(row, row["seed"], options)]


def measure_several(options, todo, measure, summary_line):
    with open(options.results, "a", encoding="utf-8") as results:
        for found in testbed.measure_in_parallel(measure, [(*each, options) for each in todo], options.parallel):
            for record in found:
                results.write(json.dumps(record) + "\n")
                results.flush()
                print(summary_line(record), flush=True)


def summary_line(record):
    return f"{record['path']:11}{record['transport']:20}{record['seed']:3} {record['kind']:10}" + (
        record.get("failed") or f"{record['rate'] / 1e6:8.2f} Mbit/s{record['p50'] or 0:8.2f}{record['p95'] or 0:8.2f} ms  "
                                f"{record['resent']:6} of {record['sent']:7} again")


def run_all(options):
    there = {(record["path"], record["transport"], record["seed"]) for record in testbed.read_records(options.results) if "failed" not in record}
    seeds = range(options.seed, options.seed + options.seeds)
    measure_several(options, [(name, transport, seed) for name in options.paths for seed in seeds for transport in options.schemes
                      if (name, transport, seed) not in there], run_live_and_simulated, summary_line)


def simulate_again(options):
    """The newest simulated record counts."""
    chosen = [row for rows in measured_records(options).values() for row in rows["live"]]
    measure_several(options, [(row,) for row in chosen], repeat_simulation, summary_line)


def measured_records(options):
    """(path, transport) -> kind -> records, by seed, that both kinds have."""
    def is_wanted(record):
        return record["path"] in options.paths and (not options.given or record["transport"] in options.schemes)

    return testbed.paired_records(testbed.read_records(options.results), "path", difficult_paths.PATHS, is_wanted)


def print_twins(options):
    for rows in measured_records(options).values():
        for row in rows["live"]:
            if row["seed"] == options.seed:
                print(shlex.join(twin_scenario(row, row["seed"], "thalweg")))


# How far apart they are.

def sample_windows(windows, seconds, step=0.1):
    """The values that hold at multiples of `step`."""
    values, place, value = [], 0, windows[0][1] if windows else 0.0
    for number in range(int(seconds / step)):
        while place < len(windows) and windows[place][0] <= number * step:
            value = windows[place][1]
            place += 1
        values.append(value)
    return values


def window_distance(one, other):
    """The area between two windows over time, over the area under the first."""
    return sum(abs(a - b) for a, b in zip(one, other)) / max(sum(one), 1e-9)


def relative_differences(rows, value):
    """How much more the simulated mean is than the live one, as a share, and half of its 95 % interval over seeds: of the mean of
    differences of the same seed, which has met the same losses."""
    pairs = [(value(a), value(b)) for a, b in zip(rows["live"], rows["simulated"])]
    pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
    mean = statistics.mean(a for a, _ in pairs) if pairs else 0
    if not mean:
        return None, None
    half = testbed.confidence_interval([b - a for a, b in pairs])
    return statistics.mean(b - a for a, b in pairs) / mean, None if half is None else half / mean


VALUES = {
    "goodput": lambda record: record["rate"],
    "p50": lambda record: record["p50"],
    "p95": lambda record: record["p95"],
}


def format_cell(value, half, digits=1):
    if value is None:
        return ""
    return f"{100 * value:+.{digits}f}" + ("" if half is None else f" ± {100 * half:.{digits}f}")


def window_differences(rows):
    """The distances of windows of the same seed, and of live windows of neighbouring seeds."""
    seconds = rows["live"][0]["seconds"]
    ours, others = ([sample_windows(record["windows"], seconds) for record in rows[kind]] for kind in ("live", "simulated"))
    pairs = [window_distance(a, b) for a, b in zip(ours, others)]
    chance = [window_distance(a, b) for a, b in zip(ours, ours[1:])]
    return pairs, chance


def goal_verdict(value, half, goal):
    """Within the goal, beyond it by more than chance, or neither can be said."""
    if value is None:
        return ""
    if abs(value) <= goal:
        return "yes"
    return "no" if half is not None and abs(value) - half > goal else "open"


def print_table(options):
    print("| path | scheme | seeds | live, Mbit/s | goodput, % | p50, % | p95, % | sent again, points | windows, % | of live ones, % | "
          "goal |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    counts = {}
    for (name, transport), rows in measured_records(options).items():
        found = {key: relative_differences(rows, value) for key, value in VALUES.items()}
        shares = [[record["resent"] / max(record["sent"], 1) for record in rows[kind]] for kind in ("live", "simulated")]
        resent = [b - a for a, b in zip(*shares)]
        pairs, chance = window_differences(rows)
        if transport.partition(":")[0] in SCHEMES_WITHOUT_WINDOW:
            count, pairs, chance = len(pairs), "", ""
        else:
            count, pairs = len(pairs), testbed.with_interval([100 * each for each in pairs], 0)
            chance = f"{100 * statistics.mean(chance):.0f}" if chance else ""
        verdicts = [goal_verdict(*found[key], goal) for key, goal in GOALS.items()]
        says = "no" if "no" in verdicts else "open" if "open" in verdicts else "yes"
        counts[says] = counts.get(says, 0) + 1
        rate = testbed.with_interval([record["rate"] / 1e6 for record in rows["live"]], 2)
        print(f"| {name} | {transport} | {count} | {rate} | {' | '.join(format_cell(*found[key]) for key in VALUES)} | "
              f"{format_cell(statistics.mean(resent), testbed.confidence_interval(resent), 2)} | {pairs} | {chance} | {says} |")
    print(f"\nGoodput within {100 * GOALS['goodput']:.0f} % and p95 within {100 * GOALS['p95']:.0f} %: "
          + ", ".join(f"{word} {count}" for word, count in sorted(counts.items(), reverse=True)))


def plot_windows(options):
    panels = []
    for (name, transport), rows in measured_records(options).items():
        path = difficult_paths.PATHS[name]
        shown = ", ".join(str(row["seed"]) for row in rows["live"][:options.seeds])
        title = f"{transport} on {name}: {path.rate} Mbit/s, {path.rtt} ms. Window in packets, seed {shown}"
        lines = [(kind, colour, record["windows"]) for kind, colour in (("live", "#0072b2"), ("simulated", "#d55e00"))
                 for record in rows[kind][:options.seeds]]
        panels.append((title, path, lines))
    testbed.write_picture(options.picture, "Windows over time, live and simulated", panels, options.time or 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    do = {"run": run_all, "again": simulate_again, "twin": print_twins, "table": print_table, "plot": plot_windows}
    parser.add_argument("what", choices=do)
    parser.add_argument("--paths", type=testbed.parse_list, default=list(difficult_paths.SEVEN), help=", ".join(difficult_paths.PATHS))
    parser.add_argument("--schemes", type=testbed.schemes_listed, help="names of difficult_paths.py, or whatever bench takes")
    parser.add_argument("--host", help="of simulated flows: a name or a table; without, it is measured before each transfer")
    parser.add_argument("--time", type=int, help="seconds of a transfer, in place of the path's")
    parser.add_argument("--datagram", help="of live transfers, the largest: with 1200B there is no search for the path's MTU")
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=1, help="concurrent transfers, each over a path of its own")
    parser.add_argument("--results", default="fidelity.jsonl")
    parser.add_argument("--picture", default="fidelity.svg")
    parser.add_argument("--thalweg", default=testbed.THALWEG)
    options = parser.parse_args()
    options.given = options.schemes is not None
    options.schemes = options.schemes or SCHEMES
    unknown = [name for name in options.paths if name not in difficult_paths.PATHS or difficult_paths.PATHS[name].file]
    if unknown:
        parser.error(f"{unknown[0]} is not a path of transfers for a time; there are "
                     + ", ".join(name for name, path in difficult_paths.PATHS.items() if not path.file))
    testbed.exit_on_sigterm()
    do[options.what](options)
    if options.what in ("run", "again"):
        print_table(options)


if __name__ == "__main__":
    testbed.run_script(main)
