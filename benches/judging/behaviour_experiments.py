"""Experiments on behaviour without a numeric goal: competition, small and large buffers, changes of the path."""

import itertools
import statistics
from pathlib import Path

from . import behaviour_plots, path_goals, scenario_runs

# Rate of the path in Mbit/s, and its round-trip time in ms.
RATE, RTT = 100, 100
# When flows start, in seconds: the second and the fifth have the next half minute to get their share.
STARTS, END = (0, 10, 40, 45, 60), 90
SERIES_INTERVAL = 0.25  # s
# Times of an outage, and of a fall of the rate and its end, in seconds.
OUTAGE_AT, RATE_DROP_AT, RATE_RESTORED_AT = 10, 10, 25
# Lossy long fat networks, measured from LONG_WARMUP to LONG_END: Mbit/s, ms, loss rate, queue in BDP.
LONG_FAT_NETWORKS = ((5, 50, 200), (300, 600, 1000), (0.001, 0.02, 0.1), (0.25, 2))
LONG_WARMUP, LONG_END = 10, 60
# A new or recovering flow counts as converged at this fraction of its target, held for this time in seconds.
CONVERGED_SHARE, HOLD_SECONDS = 0.8, 2


class Run:
    """One run: its document, and series by quantity and subject, lists of (time, value)."""

    def __init__(self, title, seconds, link, flows, options, seed, warmup=0):
        flows = [{"from": "here", "to": "there", **path_goals.flow_with_host(flow, options.host)} for flow in flows]
        link = {"name": "path", "between": ["here", "there"], "rate": f"{RATE} Mbit/s", "delay": f"{RTT / 2} ms",
                "queue": buffer_size(1), **link}
        scenario = {"title": title, "duration": f"{seconds} s", "warmup": f"{warmup} s",
                "measure": {"interval": f"{SERIES_INTERVAL} s", "flows": 8}, "link": [link], "flow": flows}
        self.series = {}
        self.run, _ = scenario_runs.run_scenario(scenario, seed, 1, options.thalweg, None, self.read_series)
        self.flows = path_goals.by_name(self.run["flows"])
        self.groups = path_goals.by_name(self.run["groups"])
        self.link = next(link for link in self.run["links"] if link["from"] == "here")

    def read_series(self, lines):
        for line in lines:
            cells = line.rstrip("\n").split(",")
            if cells[2] in ("goodput", "queue-bytes"):
                self.series.setdefault((cells[2], cells[4]), []).append((float(cells[5]), float(cells[6])))

    def goodput(self, name):
        """Mbit/s over time."""
        return [(at, value / 1e6) for at, value in self.series.get(("goodput", name), [])]

    def queue(self, rate):
        """The queue of the path in ms; `rate` is the rate in Mbit/s at a time."""
        return [(at, 8e3 * value / (rate(at) * 1e6)) for at, value in self.series.get(("queue-bytes", "path here->there"), [])]


def buffer_size(bdps, rate=RATE, rtt=RTT):
    return f"{round(bdps * scenario_runs.difficult_paths.bdp_bytes(rate, rtt))} B"


def max_goodput(rate):
    """Goodput where all packets are full and none is lost."""
    # Of packets of 1500 bytes 70 are headers.
    return rate * 1430 / 1500


def tested_flow(spec, rtt=RTT, rate=RATE, **keys):
    return {"name": "own", "scheme": scenario_runs.live_scheme(spec, rate, rtt), **keys}


def time_to_reach(series, since, level):
    """How long after `since` a series is above a level, and stays there for `HOLD_SECONDS`; infinite where it never does."""
    begun = None
    for at, value in series:
        if at <= since:
            continue
        if value < level:
            begun = None
        elif begun is None:
            begun = at
        if begun is not None and at - begun >= HOLD_SECONDS - SERIES_INTERVAL / 2:
            return begun - since
    return float("inf")


def moving_average(series, points=8):
    """The moving average over the last `points` points."""
    return [(at, sum(value for _, value in series[max(0, place - points + 1):place + 1]) / min(place + 1, points))
            for place, (at, _) in enumerate(series)]


# Experiments: each returns values by name, and the series to plot.

def five_flows_converge(spec, options, seed):
    flows = [tested_flow(spec, start=f"{start} s") | {"name": f"flow {number}"} for number, start in enumerate(STARTS, 1)]
    run = Run(f"convergence, {spec}", END, {}, flows, options, seed)
    lines = [moving_average(run.goodput(flow["name"])) for flow in flows]
    most = max_goodput(RATE)
    second = [point for point in lines[1] if point[0] <= STARTS[2]]
    return {"second flow reaches 80 % of its share after, s": time_to_reach(second, STARTS[1], CONVERGED_SHARE * most / 2),
            "second flow: share after half a minute, %": 100 * second[-1][1] / (most / 2),
            "fifth flow, s": time_to_reach(lines[4], STARTS[4], CONVERGED_SHARE * most / 5),
            "fifth flow: final share, %": 100 * lines[4][-1][1] / (most / 5)}, lines


def short_and_long_round_trips(spec, options, seed):
    """Round trips of 10 and 100 ms."""
    access = {"rate": "10 Gbit/s", "delay": "0 s", "source": {"delay": "45 ms"}}
    flows = [tested_flow(spec) | {"name": "near"}, tested_flow(spec) | {"name": "far", "access": access}]
    run = Run(f"round trips, {spec}", 60, {"delay": "5 ms"}, flows, options, seed, 20)
    near, far = (run.flows[name]["goodput_bps"] for name in ("near", "far"))
    return {"RTTs of 10 and 100 ms: Jain's index": (near + far) ** 2 / (2 * (near * near + far * far) or 1),
            "share of the short RTT, %": 100 * near / ((near + far) or 1)}, None


def beside_cubic(spec, options, seed):
    found = {}
    for others in (1, 4, 16):
        common = {"spread": "1 s"}
        flows = [tested_flow(spec, **common), {"name": "others", "count": others, "scheme": scenario_runs.competing_scheme("cubic"), **common}]
        run = Run(f"beside {others} CUBIC, {spec}", 60, {}, flows, options, seed)
        mine, all_others = run.groups["own"]["goodput_bps"], run.groups["others"]["goodput_bps"]
        found[f"beside {others} CUBIC: times the fair share"] = mine / ((mine + all_others) or 1) * (1 + others)
    return found, list(found.values())


def small_and_large_buffers(spec, options, seed):
    found = {}
    for bdps in (0.1, 10):
        run = Run(f"a buffer of {bdps} BDP, {spec}", 30, {"queue": buffer_size(bdps)}, [tested_flow(spec)], options, seed)
        flow = run.flows["own"]
        found[f"buffer of {bdps} BDP: Mbit/s"] = flow["goodput_bps"] / 1e6
        found[f"{bdps} BDP: queue, 95th percentile, ms"] = 1e3 * (flow["delay_p95_s"] - flow["delay_min_s"])
        found[f"{bdps} BDP: retransmitted, %"] = 100 * flow["retransmissions"] / max(flow["sent_packets"], 1)
    return found, None


def recovery_after_outage(spec, options, seed):
    """Recovery after an outage of two seconds."""
    link = {"schedule": [{"at": f"{OUTAGE_AT} s", "outage": "2 s"}]}
    run = Run(f"an outage of 2 s, {spec}", 30, link, [tested_flow(spec)], options, seed)
    line = moving_average(run.goodput("own"), 2)
    before = statistics.mean(value for at, value in line if OUTAGE_AT - 5 < at <= OUTAGE_AT)
    return {"outage of 2 s: 80 % reached after, s": time_to_reach(line, OUTAGE_AT + 2, CONVERGED_SHARE * before),
            "outage: retransmitted, %": 100 * run.flows["own"]["retransmissions"] / max(run.flows["own"]["sent_packets"], 1)}, line


def capacity_drop_to_a_tenth(spec, options, seed):
    """The capacity falls to a tenth, and comes back."""
    link = {"schedule": [{"at": f"{RATE_DROP_AT} s", "rate": f"{RATE / 10} Mbit/s"}, {"at": f"{RATE_RESTORED_AT} s", "rate": f"{RATE} Mbit/s"}]}
    run = Run(f"capacity to a tenth, {spec}", 40, link, [tested_flow(spec)], options, seed)
    line = moving_average(run.goodput("own"), 2)
    queue = run.queue(lambda at: RATE / 10 if RATE_DROP_AT < at <= RATE_RESTORED_AT else RATE)
    during = [value for at, value in queue if RATE_DROP_AT < at <= RATE_RESTORED_AT]
    before = statistics.mean(value for at, value in line if RATE_DROP_AT - 5 < at <= RATE_DROP_AT)
    return {"capacity reduced to a tenth: mean queue, ms": statistics.mean(during),
            "capacity restored: 80 % reached after, s": time_to_reach(line, RATE_RESTORED_AT, CONVERGED_SHARE * before)}, (line, queue)


def goodput_behind_policer(spec, options, seed):
    """Goodput and losses behind a policer."""
    queue = {"discipline": "policer", "capacity": buffer_size(1), "rate": "20 Mbit/s", "burst": "250 kB"}
    run = Run(f"a policer, {spec}", 30, {"queue": queue}, [tested_flow(spec)], options, seed)
    flow = run.flows["own"]
    return {"policer of 20 Mbit/s: Mbit/s": flow["goodput_bps"] / 1e6,
            "policer: retransmitted, %": 100 * flow["retransmissions"] / max(flow["sent_packets"], 1)}, None


def thousand_flows(spec, options, seed):
    link = {"rate": "1 Gbit/s", "delay": "25 ms", "queue": f"{scenario_runs.difficult_paths.bdp_bytes(1000, 50)} B"}
    flows = [{**tested_flow(spec, 50), "count": 1000, "spread": "5 s"}]
    run = Run(f"1000 flows, {spec}", 20, link, flows, options, seed, 10)
    group = run.groups["own"]
    return {"1000 flows on 1 Gbit/s, 50 ms: Mbit/s": group["goodput_bps"] / 1e6, "1000 flows: Jain's index": group["jain"],
            "1000 flows: queue, median, ms": 1e3 * (group["delay_p50_s"] - 0.025),
            "1000 flows: retransmitted, %": 100 * group["retransmissions"] / max(group["sent_packets"], 1)}, None


def beside_short_flows(spec, options, seed):
    files = {"name": "short", "scheme": scenario_runs.competing_scheme("cubic"), "start": "3 s", "workload": {
        "kind": "poisson", "load": "20 %", "size": {"distribution": "exponential", "mean": "100 kB"}}}
    run = Run(f"short flows, {spec}", 60, {}, [tested_flow(spec), files], options, seed)
    group = run.groups["short"]
    return {"competing short flows: mean completion, ms": 1e3 * group["completion_mean_s"],
            "short flows: 95th percentile, ms": 1e3 * group["completion_p95_s"],
            "beside short flows with a load of 20 %: Mbit/s": run.flows["own"]["goodput_bps"] / 1e6}, None


def lossy_long_fat_networks(spec, options, seed):
    """Goodput on each long fat network, relative to the maximum."""
    shares = []
    for rate, rtt, loss, bdps in itertools.product(*LONG_FAT_NETWORKS):
        link = {"rate": f"{rate} Mbit/s", "delay": f"{rtt / 2} ms", "loss": loss,
                "queue": buffer_size(bdps, rate, rtt)}
        run = Run(f"a lossy long fat network, {spec}", LONG_END, link, [tested_flow(spec, rtt, rate)], options, seed, LONG_WARMUP)
        share = run.flows["own"]["goodput_bps"] / 1e6 / (max_goodput(rate) * (1 - loss))
        shares.append(max(share, 1e-3))
    return {"lossy long fat networks: goodput / possible, geometric mean, %": 100 * statistics.geometric_mean(shares),
            "the worst of these, %": 100 * min(shares)}, None


EXPERIMENTS = [five_flows_converge, short_and_long_round_trips, beside_cubic, small_and_large_buffers, recovery_after_outage,
               capacity_drop_to_a_tenth, goodput_behind_policer,
               thousand_flows, beside_short_flows, lossy_long_fat_networks]


def mean_text(values):
    """The mean of the finite values, and their number if some are infinite."""
    finite = [value for value in values if value != float("inf")]
    if not finite:
        return "never"
    mean = statistics.mean(finite)
    digits = 2 if abs(mean) < 10 else 1 if abs(mean) < 100 else 0
    return f"{mean:.{digits}f}" + (f" ({len(finite)} of {len(values)})" if len(finite) < len(values) else "")


def print_table(options):
    tasks = [(experiment, spec, options.seed + repeat) for experiment in EXPERIMENTS for spec in options.schemes
             for repeat in range(options.seeds)]
    found, drawn = {}, {}
    done = scenario_runs.run_parallel(lambda task: task[0](task[1], options, task[2]), tasks, options.jobs)
    for (experiment, spec, seed), (values, picture) in zip(tasks, done):
        for name, value in values.items():
            found.setdefault(name, {}).setdefault(spec, []).append(value)
        if seed == options.seed:
            drawn[experiment.__name__, spec] = picture
    print(f"| 100 Mbit/s, 100 ms, 1 BDP unless stated | {' | '.join(options.schemes)} |")
    print("| --- |" + " ---: |" * len(options.schemes))
    for name, of in found.items():
        print(f"| {name} | {' | '.join(mean_text(of[spec]) for spec in options.schemes)} |")
    if options.picture:
        Path(options.picture).write_text(behaviour_plots.svg_page(drawn, options.schemes), encoding="utf-8")
        print(f"\nWritten: {options.picture}")
