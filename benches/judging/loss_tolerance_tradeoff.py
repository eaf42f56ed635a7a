"""Loss tolerated by `thalweg` against harm: goodput on a path with loss, and losses and shares where a queue overflows."""

import statistics
from pathlib import Path

from svg_text import GREY, STYLE, svg_text

from . import path_goals, scenario_runs

# Shares of packets, in percent; the option `aggressive` tolerates 15.
TOLERATED = (0, 1, 2, 5, 10, 15, 20, 25)
AGGRESSIVE = 15
# Alone on the local path of the goals, for these times from the start, in seconds: 300 Mbit/s, 2 ms, one packet in 1000 lost.
LOSSY, LOSSY_SECONDS, _ = path_goals.PATHS["P5"]
# With others: 100 Mbit/s, 50 ms, a queue of a tenth of their product.
RATE, RTT, QUEUE = 100, 50, 0.1
SECONDS, SETTLES, OWN = 30, 10, 10
# Name, colour, place of the label above the line.
LINES = (
    ("goodput", "#0072b2", f"goodput of the first {LOSSY_SECONDS} s alone on {LOSSY[0]} Mbit/s, {LOSSY[1]} ms with {100 * LOSSY[2]:g} % lost, of the possible"),
    ("kept", "#d55e00", "goodput of one CUBIC flow beside it, of that beside CUBIC"),
    ("lost", "#cc79a7", "packets lost by ten flows of its own"),
)
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 400, 56, 96, 24, 48


def tolerant_spec(tolerated):
    return f"thalweg:tolerated-loss={tolerated}%"


def measure_trade_off(task, options):
    """A figure in percent, the mean of the seeds."""
    kind, of = task
    path = LOSSY if kind == "goodput" else (RATE, RTT, 0, 1)
    changes = {} if kind == "goodput" else {"queue": f"{round(QUEUE * scenario_runs.difficult_paths.bdp_bytes(RATE, RTT))} B"}
    flow = path_goals.flow_with_host({"name": "it", "scheme": scenario_runs.live_scheme(of, *path[:2])}, options.host)
    flows = [{**flow, "count": OWN}] if kind == "lost" else [flow]
    if kind == "kept":
        flows.append(path_goals.flow_with_host({"name": "other", "scheme": scenario_runs.competing_scheme("cubic")}, options.host))
    seconds, settles = (LOSSY_SECONDS, 0) if kind == "goodput" else (SECONDS, SETTLES)
    made = path_goals.scenario_text(f"{kind}, {of}", seconds, path, changes, flows, settles)
    runs = scenario_runs.run_scenario(made, options.seed, options.seeds, options.thalweg)
    if kind == "lost":
        return 100 * statistics.mean(path_goals.by_name(run["groups"])["it"]["loss"] or 0 for run in runs)
    name = "it" if kind == "goodput" else "other"
    return statistics.mean(path_goals.by_name(run["flows"])[name]["goodput_bps"] / 1e6 for run in runs)


def draw_trade_off(rows):
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    x = lambda tolerated: LEFT + tolerated / TOLERATED[-1] * width
    y = lambda percent: TOP + height * (1 - min(percent, 100) / 100)
    parts = [f'<path d="M{LEFT} {TOP}V{TOP + height}H{LEFT + width}" fill="none" stroke="{GREY}"/>',
             f'<path d="M{x(AGGRESSIVE):.1f} {TOP}V{TOP + height}" stroke="{GREY}" stroke-dasharray="3 3"/>',
             svg_text(x(AGGRESSIVE), TOP - 6, "aggressive", 11, anchor="middle"),
             svg_text(LEFT + width / 2, HEIGHT - 10, "loss tolerated without proof, % of the packets", 12, anchor="middle")]
    for percent in (0, 25, 50, 75, 100):
        parts.append(svg_text(LEFT - 6, y(percent) + 4, f"{percent} %", 11, anchor="end"))
    for tolerated in TOLERATED:
        parts.append(svg_text(x(tolerated), TOP + height + 16, f"{tolerated}", 11, anchor="middle"))
    for number, (name, colour, title) in enumerate(LINES):
        points = " ".join(f"{'ML'[place > 0]}{x(row['tolerated']):.1f} {y(row[name]):.1f}" for place, row in enumerate(rows))
        parts.append(f'<path d="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts += [f'<circle cx="{x(row["tolerated"]):.1f}" cy="{y(row[name]):.1f}" r="3" fill="{colour}"/>' for row in rows]
        parts.append(svg_text(LEFT, 36 + 16 * number, title, 12, colour))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" style="{STYLE}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        svg_text(LEFT, 18, f"thalweg; with others on {RATE} Mbit/s, {RTT} ms, a queue of {QUEUE:g} BDP", 14, "#111111"),
        *parts, "</svg>"]) + "\n"


def run_trade_off(options):
    """Prints a table, and draws it with --picture."""
    tasks = [(name, tolerant_spec(tolerated)) for tolerated in TOLERATED for name, _, _ in LINES] + [("kept", "cubic")]
    found = dict(zip(tasks, scenario_runs.run_parallel(lambda task: measure_trade_off(task, options), tasks, options.jobs)))
    share = 1 - float(scenario_runs.OURS["header"].split()[0]) / 1500
    possible = {"goodput": LOSSY[0] * (1 - LOSSY[2]) * share / 100, "kept": found["kept", "cubic"] / 100, "lost": 1}
    rows = [{"tolerated": tolerated, **{name: found[name, tolerant_spec(tolerated)] / possible[name] for name, _, _ in LINES}}
            for tolerated in TOLERATED]
    print(f"| tolerated loss | {' | '.join(title for _, _, title in LINES)} |\n| ---: | ---: | ---: | ---: |")
    for row in rows:
        print(f"| {row['tolerated']} % | " + " | ".join(f"{row[name]:.1f} %" for name, _, _ in LINES) + " |")
    if options.picture:
        Path(options.picture).write_text(draw_trade_off(rows), encoding="utf-8")
