"""Scores of schemes on random networks: runs, stored results and summaries."""

import hashlib
import json
import math
import subprocess
import sys
import time
from pathlib import Path

from . import random_networks, scenario_runs

# Maximum time of a run, in seconds.
RUN_TIMEOUT = 300
# Name: meaning, and the worst value: the smallest, the largest, or the furthest from 1.
SCORES = {
    "goodput": ("share of the possible", min),
    "delay": ("median round trip / base round trip", max),
    "delay95": ("95th percentile / base round trip", max),
    "again": ("packets sent / packets necessary", max),
    "jain": ("Jain's index", min),
    "beside": ("share beside others / fair share", None),
}
# Minimum of a value in a geometric mean.
MIN_SCORE = 1e-3


def read_goodputs(lines):
    """The goodput of each flow since the middle of the run, from its series."""
    last = {}
    for line in lines:
        cells = line.rstrip("\n").split(",")
        if cells[2] == "goodput":
            # Rows of a subject ascend in time.
            last[cells[4]] = float(cells[6])
    return last


def measure_network(network, spec, options):
    """The scores of a run; only those that the network has."""
    several = sum(group["count"] for group in network.own) > 1
    made = scenario_runs.run_scenario(network.scenario(spec), options.seed, 1, options.thalweg, RUN_TIMEOUT, read_goodputs if several else None)
    run, late_goodputs = made if several else (made[0], {})
    own = [group for group in run["groups"] if group["name"].startswith("own-")]
    flows = [flow for flow in run["flows"] if flow["group"].startswith("own-")]
    goodput = sum(group["goodput_bps"] for group in own)
    forward = next(link for link in run["links"] if link["from"] == "here" and link["name"] == "path")
    found = {}
    possible = network.possible * 1e6 * random_networks.SHARE * (1 - network.loss)
    # Goodput of competing flows in the same direction.
    others = sum(group["goodput_bps"] for group in run["groups"] if group["name"] in network.competitors)
    if network.fair:
        both = max(goodput + others, 1)
        found["beside"] = goodput / both / network.fair
        # Unused capacity of the path is lost to both.
        found["goodput"] = both / possible
    else:
        found["goodput"] = goodput / max(possible - others, 1)
    found.update(network_delays(network, own))
    sent, again = (sum(group[name] for group in own) for name in ("sent_packets", "retransmissions"))
    # Losses of the link make retransmissions necessary; of those, the share of these flows in its packets counts.
    packet_share = sent / max(forward["packets"], sent, 1)
    lost = packet_share * (forward["losses"] + forward["corrupted"])
    found["again"] = 1 + max(again - lost, 0) / max(sent - again, 1)
    if several:
        shares = [late_goodputs.get(flow["name"], 0.0) for flow in flows]
        squares = sum(share * share for share in shares)
        if squares:
            found["jain"] = sum(shares) ** 2 / (len(shares) * squares)
    return found


def network_delays(network, own):
    """Percentiles of the round trip in base round trips, weighted by samples."""
    transmission = random_networks.PACKET / (network.rate * 1e6)
    total, weights = {"delay": 0.0, "delay95": 0.0}, 0
    for group, keys in zip(own, network.own):
        if not group["delay_samples"]:
            continue
        access = float(keys.get("access", {}).get("source", {}).get("delay", "0 ms").split()[0]) / 1e3
        one_way = (network.rtt / 2 + network.jitter_ms) / 1e3 + access + transmission
        trip = one_way + network.rtt / 2e3 + access
        for name, key in (("delay", "delay_p50_s"), ("delay95", "delay_p95_s")):
            total[name] += group["delay_samples"] * max(1.0, 1 + (group[key] - one_way) / trip)
        weights += group["delay_samples"]
    return {name: value / weights for name, value in total.items()} if weights else {}


# Stored results, one JSON record per line.

def program_version(thalweg):
    """A hash of the executable."""
    return hashlib.sha256(Path(thalweg).read_bytes()).hexdigest()[:12]


def run_digest(network, spec):
    return hashlib.sha256(scenario_runs.scenario_toml(network.scenario(spec)).encode()).hexdigest()[:12]


def read_known_runs(file):
    records = {}
    if Path(file).exists():
        with open(file, encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                records[record["network"], record["scheme"], record["version"], record["scenario"], record["seed"]] = record
    return records


def collect_runs(options):
    """The records of all networks with all schemes, by network and scheme. Missing runs are made and added to the file."""
    build = program_version(options.thalweg)
    before = read_known_runs(options.results)
    found, missing = {}, []
    for number in options.only or range(1, options.count + 1):
        network = random_networks.Network(options.what, number)
        for spec in options.schemes:
            made = run_digest(network, spec)
            key = (network.name, spec, build, made, options.seed)
            if key in before and "failed" not in before[key]:
                found[network.name, spec] = before[key]
            elif spec in options.reuse and (old := record_of_other_build(before, key)):
                found[network.name, spec] = old
            else:
                missing.append((network, spec, made))

    def run_one(task):
        network, spec, made = task
        record = {"network": network.name, "theme": network.theme, "scheme": spec, "version": build, "scenario": made,
                  "seed": options.seed}
        started = time.monotonic()
        try:
            record["scores"] = measure_network(network, spec, options)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            record["failed"] = str(error)[:500]
        record["seconds"] = round(time.monotonic() - started, 1)
        return record

    Path(options.results).parent.mkdir(parents=True, exist_ok=True)
    with open(options.results, "a", encoding="utf-8") as results:
        for done, record in enumerate(scenario_runs.run_parallel(run_one, missing, options.jobs), 1):
            results.write(json.dumps(record) + "\n")
            results.flush()
            found[record["network"], record["scheme"]] = record
            if sys.stderr.isatty() or done % 32 == 0 or done == len(missing):
                print(f"{done} of {len(missing)}: {record['network']}, {record['scheme']}", file=sys.stderr)
    return found


def record_of_other_build(records, key):
    """The last record of the same run with another executable."""
    same = [record for of, record in records.items() if (*of[:2], *of[3:]) == (*key[:2], *key[3:])]
    return same[-1] if same else None


# Summaries.

def geometric_mean(values):
    values = [math.log(max(value, MIN_SCORE)) for value in values]
    return math.exp(sum(values) / len(values)) if values else None


def worst_first_key(name):
    """A sort key that puts the worst value first."""
    worst = SCORES[name][1]
    if worst is None:
        return lambda value: -abs(math.log(max(value, MIN_SCORE)))
    return (lambda value: value) if worst is min else (lambda value: -value)


def scores_by_network(found, spec, name, theme=None):
    """The values of a score by network."""
    return {network: record["scores"][name] for (network, of), record in found.items()
            if of == spec and name in record.get("scores", {}) and theme in (None, record["theme"])}


def network_power(found, spec, theme=None):
    """Goodput over delay (Kleinrock 1979), as the geometric mean."""
    goodput, delay = (scores_by_network(found, spec, name, theme) for name in ("goodput", "delay"))
    return geometric_mean([max(goodput[name], MIN_SCORE) / delay[name] for name in goodput if name in delay])


def format_score(value, name=""):
    if value is None:
        return ""
    return f"{value:.3f}" if name in ("goodput", "again", "jain") else f"{value:.2f}"


def print_summary(found, options):
    print(f"\nGeometric means over {len({network for network, _ in found})} networks of \"{options.what}\" "
          f"(seed {random_networks.SEEDS[options.what]}):\n")
    heads = [f"{name}: {about}" for name, (about, _) in SCORES.items()]
    print(f"| scheme | {' | '.join(heads)} | unfair: the same, above 1 | power: goodput over delay | failed |")
    print("| --- |" + " ---: |" * (len(SCORES) + 3))
    for spec in options.schemes:
        cells = [format_score(geometric_mean(scores_by_network(found, spec, name).values()), name) for name in SCORES]
        beside = [max(value, 1 / max(value, MIN_SCORE)) for value in scores_by_network(found, spec, "beside").values()]
        failed = sum("failed" in record for (_, of), record in found.items() if of == spec)
        print(f"| {spec} | {' | '.join(cells)} | {format_score(geometric_mean(beside))} | {format_score(network_power(found, spec))} | {failed} |")


def print_themes(found, options):
    print("\nBy theme, goodput / delay / again:\n")
    print(f"| theme | {' | '.join(options.schemes)} |")
    print("| --- |" + " --- |" * len(options.schemes))
    for theme in random_networks.THEMES:
        cells = []
        for spec in options.schemes:
            names = ["goodput", "delay", "again"]
            means = {name: geometric_mean(scores_by_network(found, spec, name, theme).values()) for name in SCORES}
            names += [name for name in ("jain", "beside") if means[name] is not None]
            cells.append(" / ".join(format_score(means[name], name) if name != "again" or means[name] is None
                                    else f"{100 * (means[name] - 1):.1f} %" for name in names))
        print(f"| {theme} | {' | '.join(cells)} |")
    print("\nThen Jain's index, where there are several, or the share beside others.")


def print_worst(found, options):
    print("\nThe worst five of each score (`--only N` tells of one, `--keep DIR` writes its scenario):\n")
    for spec in options.schemes:
        for name in SCORES:
            values = scores_by_network(found, spec, name)
            first = sorted(values, key=lambda network: worst_first_key(name)(values[network]))[:5]
            print(f"{spec}, {name}: " + "; ".join(f"{network} {found[network, spec]['theme']} {format_score(values[network], name)}"
                                                  for network in first))


def one_by_one(found, options):
    for (name, spec), record in found.items():
        network = random_networks.Network(options.what, int(name.rsplit("-", 1)[1]))
        text = ", ".join(f"{score} {format_score(value, score)}" for score, value in record.get("scores", {}).items())
        print(f"{name} ({network.theme}): {network}\n  {spec}: {text or scenario_runs.with_scenario_hint(record['failed'], options.keep)}")


def keep_runs(options):
    for number in options.only or range(1, options.count + 1):
        network = random_networks.Network(options.what, number)
        for spec in options.schemes:
            name = f"{network.name}-{spec.partition(':')[0]}"
            print(f"Written: {scenario_runs.write_scenario(network.scenario(spec), options.keep, name)}")


def judge_random_networks(options):
    if options.keep:
        keep_runs(options)
    found = collect_runs(options)
    if options.only:
        return one_by_one(found, options)
    print_summary(found, options)
    print_themes(found, options)
    print_worst(found, options)
