"""The paths that a scheme is to do well on, with what is asked of it on each, simulated."""

import statistics

from . import scenario_runs

# Name: rate in Mbit/s, round trip in ms, loss in each direction, mean number of losses in a row; seconds; keys of the link.
PATHS = {
    "P1": ((100, 100, 0, 1), 20, {}),
    "P2": ((100, 100, 0.01, 1), 20, {}),
    "P3": ((100, 100, 0.001, 1), 20, {}),
    "P4": ((20, 600, 0.01, 1), 30, {}),
    "P5": ((300, 2, 0.001, 1), 10, {}),
    "P6": ((100, 50, 0.01, 8), 20, {}),
    "P7": ((50, 50, 0.1, 1), 20, {}),
    # In each direction 25 to 75 ms, in order.
    "P8": ((10, 100, 0.1, 1), 20, {"delay": "25 ms", "jitter": "50 ms"}),
    "A1": ((1000, 1000, 0.05, 1), 20, {}),
    # The same, the last third of a minute.
    "A1-60": ((1000, 1000, 0.05, 1), 20, {}),
    # Files: packets that are late without keeping order; jitter that keeps it, and packets held back; a short queue.
    "R1-1": ((100, 100, 0, 1), None, {"jitter": scenario_runs.late_packets_jitter(0.01, 10)}),
    "R1-5": ((100, 100, 0, 1), None, {"jitter": scenario_runs.late_packets_jitter(0.05, 10)}),
    "R2": ((100, 100, 0, 1), None, {"jitter": "20 ms", "reorder": {"probability": "5 %", "delay": "10 ms"}}),
    "S1": ((100, 100, 0, 1), None, {"queue": "64 kB"}),
}
# Warm-up in seconds; elsewhere counting starts when the first byte could have arrived, as for live goodput.
SETTLED = {"A1-60": 40}
P1 = PATHS["P1"][0]
# The least goodput in Mbit/s; the most that the median round trip of a probe is longer in ms; the most that is sent again.
GOALS = {
    "P1": (92, 5, None), "P2": (90, 5, None), "P3": (91, None, None), "P4": (16, 30, None), "P5": (284, None, None),
    "P6": (92, None, None), "P7": (41, None, None), "P8": (8.3, None, None), "A1": (800, None, None), "A1-60": (800, None, None),
    "R1-1": (75, None, None), "R1-5": (72, None, None), "R2": (70, None, None), "S1": (70, None, 0.02),
}
FILE, FILE_SECONDS = 50e6, 60
# What `send` takes beside the bytes, from its start to its end, in round trips: a file of 1 kB takes six, half of one its bytes.
START_UP = 5.5
# Bytes on the wire, at most, relative to those that the losses make necessary.
NECESSARY = 1.03
# Beside one CUBIC: the queue in products of rate and round trip; seconds. Of the longer ones shares have settled.
BESIDE = {"C0.25": (0.25, 20), "C1": (1, 20), "C4": (4, 20), "L0.25": (0.25, 60), "L1": (1, 60), "L4": (4, 60)}
FOUR = "F4"
ROWS = [*PATHS, FOUR, *BESIDE]


def link_table(path, changes):
    rate, rtt, loss, burst = path
    table = {"name": "path", "between": ["here", "there"], "rate": f"{rate} Mbit/s", "delay": f"{rtt / 2} ms",
             "queue": f"{scenario_runs.difficult_paths.bdp_bytes(rate, rtt)} B"}
    if loss:
        table["loss"] = loss_table(loss, burst)
    return {**table, **changes}


def loss_table(loss, burst):
    if burst <= 1:
        return loss
    # As the relay of live paths does it (Gilbert 1960): all is lost in the bad state, nothing in the good one.
    return {"model": "gilbert-elliott", "good-to-bad": loss / (burst * (1 - loss)), "bad-to-good": 1 / burst}


def scenario_text(title, seconds, path, changes, flows, counted_from=0.0):
    """One path with flows and a probe, a small datagram every 50 ms whose hosts are ideal: what it waits for is on the path."""
    ends = {"from": "here", "to": "there"}
    probe = {"name": "probe", **ends, "scheme": "udp", "workload": {"kind": "cbr", "rate": "8 kbit/s", "packet": "50 B"}}
    return {"title": title, "duration": f"{seconds + counted_from} s", "warmup": f"{counted_from} s",
            "measure": {"interval": "off"}, "link": [link_table(path, changes)], "flow": [*({**ends, **flow} for flow in flows), probe]}


def flow_with_host(flow, host):
    return flow if host == "ideal" else {**flow, "host": host}


def measure_path(task, options):
    """The figures of a row with a scheme, a list with one of each seed."""
    row, spec = task

    def runs(made, which=""):
        if options.keep:
            scenario_runs.write_scenario(made, options.keep, f"{row}{which}-{spec.partition(':')[0]}")
        return scenario_runs.run_scenario(made, options.seed, options.seeds, options.thalweg)

    if row in BESIDE:
        return run_beside_cubic(row, spec, options.host, runs)
    if row == FOUR:
        return run_four_flows(spec, options.host, runs)
    path, seconds, changes = PATHS[row]
    flow = flow_with_host({"name": "transfer", "scheme": scenario_runs.live_scheme(spec, *path[:2])}, options.host)
    if seconds:
        made = scenario_text(f"{row}, {spec}", seconds, path, changes, [flow], SETTLED.get(row, path[1] / 2e3))
    else:
        made = scenario_text(f"{row}, {spec}", FILE_SECONDS, path, changes, [{**flow, "workload": f"{FILE / 1e6:g} MB"}])
    return [run_alone(run, path, not seconds) for run in runs(made)]


def by_name(items):
    return {item["name"]: item for item in items}


def run_alone(run, path, file):
    rate, rtt, loss, _ = path
    flows = by_name(run["flows"])
    flow = flows["transfer"]
    if file and flow["completion_s"]:
        goodput = 8 * FILE / (flow["completion_s"] + START_UP * rtt / 1e3) / 1e6
    elif file:
        goodput = 8 * flow["delivered_total_bytes"] / FILE_SECONDS / 1e6
    else:
        goodput = flow["goodput_bps"] / 1e6
    sent, again = max(flow["sent_packets"], 1), flow["retransmissions"]
    # Lost packets are sent again: 1 / (1 - loss) transmissions for each packet.
    wire = sent * (1 - loss) / max(sent - again, 1)
    return {"goodput": goodput, "extra": extra_delay(flows["probe"]), "again": again / sent, "wire": wire}


def extra_delay(probe):
    """How much longer the median round trip of the probe is than its shortest, in ms; ways back are empty."""
    return 1e3 * (probe["delay_p50_s"] - probe["delay_min_s"])


def run_beside_cubic(row, spec, host, runs):
    factor, seconds = BESIDE[row]
    queue = {"queue": f"{round(factor * scenario_runs.difficult_paths.bdp_bytes(*P1[:2]))} B"}
    flows = [flow_with_host({"name": "it", "scheme": scenario_runs.live_scheme(spec, *P1[:2])}, host),
             flow_with_host({"name": "other", "scheme": scenario_runs.competing_scheme("cubic")}, host)]
    found = []
    for run in runs(scenario_text(f"{row}, {spec}", seconds, P1, queue, flows)):
        of = by_name(run["flows"])
        both = of["it"]["goodput_bps"] + of["other"]["goodput_bps"]
        found.append({"share": of["it"]["goodput_bps"] / both, "goodput": both / 1e6})
    return found


def run_four_flows(spec, host, runs):
    flows = [flow_with_host({"name": "all", "count": 4, "scheme": scenario_runs.live_scheme(spec, *P1[:2])}, host)]
    full = runs(scenario_text(f"{FOUR}, {spec}", 20, P1, {}, flows, P1[1] / 2e3))
    # The same runs, measured over the last ten seconds.
    later = runs(scenario_text(f"{FOUR}, {spec}", 10, P1, {}, flows, 10), "-later")
    found = []
    for run, end in zip(full, later):
        of = next(each for each in run["links"] if each["from"] == "here")
        found.append({"goodput": by_name(run["groups"])["all"]["goodput_bps"] / 1e6,
                      "jain": by_name(end["groups"])["all"]["jain"],
                      "queue": 8e3 * of["queue_mean_bytes"] / (P1[0] * 1e6)})
    return found


# Output.

def path_goal(row):
    if row in BESIDE:
        return "35 to 65 % of both"
    if row == FOUR:
        return ">= 92, Jain >= 0.98, <= 10 ms"
    goodput, most, again = GOALS[row]
    parts = [f">= {goodput}", most and f"<= {most} ms", again and f"< {100 * again:g} % again"]
    return ", ".join(part for part in parts if part)


def format_spread(values, digits=1):
    """The mean, and the smallest and the largest where they differ."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if low == high else f"{mean} ({low}-{high})"


def format_cell(row, found):
    """A cell, and whether the means of what is asked for meet the goal. What else is known follows a semicolon."""
    of = lambda name: [each[name] for each in found]
    mean = lambda name: statistics.mean(of(name))
    if row in BESIDE:
        return f"{format_spread([100 * share for share in of('share')])} %; {mean('goodput'):.0f}", 0.35 <= mean("share") <= 0.65
    if row == FOUR:
        text = f"{format_spread(of('goodput'))}, Jain {format_spread(of('jain'), 2)}, {format_spread(of('queue'))} ms"
        return text, mean("goodput") >= 92 and mean("jain") >= 0.98 and mean("queue") <= 10
    goodput, most, again = GOALS[row]
    met = mean("goodput") >= goodput and (most is None or mean("extra") <= most) and (again is None or mean("again") < again)
    text = f"{format_spread(of('goodput'))}; {mean('extra'):.1f} ms, {100 * mean('again'):.1f} % again"
    if mean("wire") > NECESSARY:
        text += f", {mean('wire'):.2f} x"
    return text, met


def run_path_goals(options):
    tasks = [(row, spec) for row in options.rows for spec in options.schemes]
    measured = dict(zip(tasks, scenario_runs.run_parallel(lambda task: measure_path(task, options), tasks, options.jobs)))
    print(f"| row | goal | {' | '.join(options.schemes)} |")
    print("| --- | --- |" + " --- |" * len(options.schemes))
    met = dict.fromkeys(options.schemes, 0)
    for row in options.rows:
        cells = []
        for spec in options.schemes:
            text, good = format_cell(row, measured[row, spec])
            met[spec] += good
            cells.append(text + (" ✓" if good else ""))
        print(f"| {row} | {path_goal(row)} | {' | '.join(cells)} |")
    print(f"| met | of {len(options.rows)} | {' | '.join(map(str, met.values()))} |")
    print("\nMbit/s: the mean of the seeds (smallest-largest); the median extra round trip of a probe; what is sent again of all"
          f"\nthat is sent; above {NECESSARY}, times what losses make necessary on the wire. Beside CUBIC the share, and Mbit/s.")
