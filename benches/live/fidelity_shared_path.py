#!/usr/bin/env python3
"""Measures the difference between the simulator and real hosts where several flows share a path: the rows of
`difficult_paths.py beside` and `difficult_paths.py four`, live and simulated, seed by seed.

    fidelity_shared_path.py run --schemes thalweg,cubic,bbr,tcp-cubic --parallel 2       five seeds of each row, live and simulated (half an hour)
    fidelity_shared_path.py run --rows four,beside-1 --schemes thalweg --seeds 3
    fidelity_shared_path.py again                          simulates what was measured live once more, by the simulator as it is now
    fidelity_shared_path.py twin --rows beside-1 --schemes thalweg --seed 2 > twin.toml       the scenario that simulates a row
    fidelity_shared_path.py table                          their difference

When flows begin is drawn by the seed, within a second, and is the same live and simulated. Simulated hosts are those that `thalweg doctor`
measures right before, or `--host`; the relay's lateness is jitter of the line. `tcp-cubic` is simulated as CUBIC with the defaults of
Linux. Results are added to `--results FILE`, one JSON record a line; what is there already is not measured again. Needs root.

    cargo build --release -p thalweg && cargo build --release -p thalweg-net --example tun_path

Only the standard library is used.
"""

import argparse
import subprocess
import tomllib

import fidelity
import difficult_paths
import namespace_testbed as testbed

# Beside this folder, where `rig` lets modules be found.
from judging import path_goals, scenario_runs

KERNEL = "tcp-cubic"
ROWS = {"four": None, **{f"beside-{buffer:g}": buffer for buffer in difficult_paths.BUFFERS}}
# Seconds after the last start for data in flight to arrive.
REST = 3


def all_transports(row, transport):
    return 4 * [transport] if row == "four" else [transport, KERNEL]


def run_live(row, transport, seed, options):
    found = {"host": fidelity.describe_host(options)}
    if row == "four":
        found |= difficult_paths.measure_four_flows(transport, seed, options)
    else:
        found |= difficult_paths.measure_pair(difficult_paths.PATHS["clean"]._replace(buffer=ROWS[row]), transport, KERNEL, "beside", seed, options)
        found["rates"] = [found["share"], found["others"]]
    return found | {"row": row, "kind": "live", "value": share_value(row, found["rates"])}


def share_value(row, rates):
    """Jain's index of four flows, the share of a flow beside another."""
    return difficult_paths.jain_index(rates) if row == "four" else rates[0] / (sum(rates) or 1)


def scenario_of_record(record):
    """The scenario that simulates a live record."""
    row, transport, seconds = record["row"], record["transport"], record["seconds"]
    path = path_goals.PATHS["P1"][0]
    host = tomllib.loads(f"host = {record['host']}")["host"] if "{" in record["host"] else record["host"]
    flows = []
    for number, (each, start) in enumerate(zip(all_transports(row, transport), record["starts"]), 1):
        scheme = scenario_runs.competing_scheme("cubic") if each == KERNEL else scenario_runs.live_scheme(each, *path[:2])
        flows.append({"name": f"flow {number}", "scheme": scheme, "host": host, "start": f"{start} s", "stop": f"{start + seconds:.3f} s"})
    link = {"queue": f"{round((ROWS[row] or 1) * scenario_runs.difficult_paths.bdp_bytes(*path[:2]))} B"}
    if jitter := fidelity.relay_jitter(record):
        link["jitter"] = jitter
    return path_goals.scenario_text(f"{row}, {transport}", seconds + difficult_paths.SPREAD + REST, path, link, flows)


def run_simulated(record, options):
    row = record["row"]
    run, = scenario_runs.run_scenario(scenario_of_record(record), record["seed"], 1, options.thalweg)
    of = path_goals.by_name(run["flows"])
    rates = [8 * of[f"flow {number}"]["delivered_total_bytes"] / record["seconds"] / 1e8 for number in range(1, len(record["rates"]) + 1)]
    return {"row": row, "transport": record["transport"], "seed": record["seed"], "kind": "simulated", "rates": rates, "value": share_value(row, rates),
            "queue_p50_ms": path_goals.extra_delay(of["probe"])}


def run_live_and_simulated(row, transport, seed, options):
    try:
        record = run_live(row, transport, seed, options)
        return [record, run_simulated(record, options)]
    except (ValueError, KeyError, RuntimeError, subprocess.SubprocessError, OSError) as error:
        return [{"row": row, "transport": transport, "seed": seed, "kind": "live", "failed": f"{type(error).__name__}: {error}"}]


def repeat_simulation(record, options):
    return [run_simulated(record, options)]


def run_all(options):
    there = {(record["row"], record["transport"], record["seed"]) for record in testbed.read_records(options.results) if "failed" not in record}
    seeds = range(options.seed, options.seed + options.seeds)
    fidelity.measure_several(options, [(row, transport, seed) for seed in seeds for row in options.rows for transport in options.schemes
                               if (row, transport, seed) not in there], run_live_and_simulated, summary_line)


def summary_line(record):
    rates = " ".join(f"{100 * rate:5.1f}" for rate in record.get("rates", []))
    return f"{record['row']:12}{record['transport']:20}{record['seed']:3} {record['kind']:10}" + (
        record.get("failed") or f"{record['value']:6.3f}   {rates} Mbit/s")


def simulate_again(options):
    """The newest simulated record counts."""
    fidelity.measure_several(options, [(record,) for kinds in measured_records(options).values() for record in kinds["live"]], repeat_simulation, summary_line)


def measured_records(options):
    """(row, transport) -> kind -> records, by seed, that both kinds have."""
    def is_wanted(record):
        return record["row"] in options.rows and record["transport"] in (options.schemes or [record["transport"]])

    return testbed.paired_records(testbed.read_records(options.results), "row", ROWS, is_wanted)


def print_twin(options):
    for kinds in measured_records(options).values():
        for record in kinds["live"]:
            if record["seed"] == options.seed:
                print(scenario_runs.scenario_toml(scenario_of_record(record)))


def print_table(options):
    print("| row | flows | seeds | live | simulated | difference | rates, live | simulated |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | --- |")
    for (row, transport), kinds in measured_records(options).items():
        digits, factor = (2, 1) if row == "four" else (0, 100)
        values = {kind: [factor * record["value"] for record in records] for kind, records in kinds.items()}
        differences = [b - a for a, b in zip(values["live"], values["simulated"])]
        means = [" ".join(f"{100 * sum(each) / len(each):.0f}" for each in zip(*(record["rates"] for record in kinds[kind])))
                 for kind in ("live", "simulated")]
        print(f"| {row} | {transport} | {len(differences)} | {testbed.with_interval(values['live'], digits)} | "
              f"{testbed.with_interval(values['simulated'], digits)} | {testbed.with_interval(differences, digits)} | {' | '.join(means)} |")
    print("\nJain's index of four flows, and the share beside one flow of kernel CUBIC in %; half of the 95 % interval of the mean; the mean "
          "of each flow's rates in Mbit/s.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    do = {"run": run_all, "again": simulate_again, "twin": print_twin, "table": print_table}
    parser.add_argument("what", choices=do)
    parser.add_argument("--rows", type=testbed.parse_list, default=list(ROWS), help=", ".join(ROWS))
    parser.add_argument("--schemes", type=testbed.schemes_listed, help="whatever bench takes, or tcp-cubic")
    parser.add_argument("--host", help="of simulated flows: a name or a table; without, it is measured before each row")
    parser.add_argument("--time", type=int, help="seconds of a transfer, 30 at least")
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=1, help="concurrent rows, each over a path of its own")
    parser.add_argument("--results", default="together.jsonl")
    parser.add_argument("--thalweg", default=testbed.THALWEG)
    options = parser.parse_args()
    if unknown := [row for row in options.rows if row not in ROWS]:
        parser.error(f"no row is called {unknown[0]}; there are {', '.join(ROWS)}")
    if options.what == "run":
        options.schemes = options.schemes or ["thalweg", "cubic", "bbr", KERNEL]
    testbed.exit_on_sigterm()
    do[options.what](options)
    if options.what in ("run", "again"):
        print_table(options)


if __name__ == "__main__":
    testbed.run_script(main)
