"""Scenarios as dictionaries, schemes as they are live, and runs of them: what the parts of `judge.py` share."""

import concurrent.futures
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benches/live"))

import difficult_paths  # noqa: E402

THALWEG = ROOT / "target/release/thalweg"
# A run's scenario file, in a folder of its own.
FILE = "scenario.toml"
# Packets as they are live, with UDP, encryption and acknowledgements of their own, and as kernel TCP has them.
OURS = {"segment": "1430 B", "header": "70 B"}
KERNEL = {"segment": "1448 B", "header": "52 B"}

# Defaults of live schemes (docs/reference/live.md); simulated ones need these options.
WINDOW = {"delayed-ack.delay": "25 ms", "delayed-ack.every": "2", "rack": "true", "f-rto": "true"}
COUNTED = {**WINDOW, "byte-counting": "unlimited", "prr": "true", "recovery": "sack"}
LIVE = {
    "cubic": {**COUNTED, "ecn": "true", "slow-start-exit": "hystart++"},
    "newreno": {**COUNTED, "ecn": "true", "slow-start-exit": "hystart++"},
    "vegas": {**COUNTED, "ecn": "true"},
    "prague": {**WINDOW, "prr": "true"},
    "dctcp": {**WINDOW, "prr": "true"},
    "sscop-rate": {"poll-after-retransmission": "true", "ignore-old-data": "true", "poll-ceiling": "2 s", "jitter": "2 ms",
                   "timer-poll": "{poll} ms", "window": "{window}pkt"},
    "udp": {},
}
# What others on the path run: CUBIC as Linux has it, BBR and Prague as their senders are live.
COMPETITOR = {"cubic": {"preset": "linux"}, "bbr": {"delayed-ack": "true"}, "prague": {**WINDOW, "prr": "true"}}


def live_scheme(spec, rate, rtt):
    """A scheme by its name and options, as it is live on a path of that rate in Mbit/s and round trip in ms."""
    name, _, given = spec.partition(":")
    keys = {**OURS, **LIVE.get(name, WINDOW)}
    keys.update(pair.split("=", 1) for pair in given.split(",") if pair)
    window = max(14000, round(4 * difficult_paths.bdp_bytes(rate, rtt) / 1500))
    text = ",".join(f"{key}={value}" for key, value in keys.items())
    return f"{name}:{text}".format(poll=f"{min(max(rtt / 2, 20), 750):g}", window=window)


def competing_scheme(name):
    return name + ":" + ",".join(f"{key}={value}" for key, value in {**KERNEL, **COMPETITOR[name]}.items())


def inline_toml(value):
    """A value as TOML has it within a line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(inline_toml, value)) + "]"
    return json.dumps(value)


def scenario_toml(scenario):
    """The text of a scenario file."""
    lines = [f"{key} = {inline_toml(value)}" for key, value in scenario.items() if key not in ("link", "flow")]
    for kind in ("link", "flow"):
        for table in scenario[kind]:
            lines += ["", f"[[{kind}]]", *(f"{key} = {inline_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def write_scenario(scenario, folder, name):
    """Writes a scenario file, to be run by hand."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    file = Path(folder) / f"{name}.toml"
    file.write_text(scenario_toml(scenario), encoding="utf-8")
    return file


def run_scenario(scenario, seed=1, seeds=1, thalweg=THALWEG, limit=None, series=None):
    """The runs of a scenario. With `series`, a function of its lines, a pair of the first run and what that returns."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / FILE
        file.write_text(scenario_toml(scenario), encoding="utf-8")
        words = [str(thalweg), "run", str(file), "--quiet", "--seed", str(seed), "--reps", str(seeds), "--jobs", "1"]
        words += ["--out", f"{scratch}/out"] if series else ["--json"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False)
        if done.returncode:
            # The folder no longer exists when this is read.
            raise RuntimeError(f"{scenario['title']}: {done.stderr.strip().replace(f'{scratch}/', '')}")
        if not series:
            return json.loads(done.stdout)["runs"]
        runs = json.loads(Path(f"{scratch}/out/results.json").read_text(encoding="utf-8"))["runs"]
        with open(f"{scratch}/out/series.csv", encoding="utf-8") as lines:
            return runs[0], series(lines)


def with_scenario_hint(error, folder):
    """An error, with how to get at the scenario file that it names; `folder` is that of --keep."""
    if FILE not in error:
        return error
    return f"{error}\n{f'scenario files are in {folder}' if folder else '--keep DIR writes the scenario file, to look into and to run'}"


def run_parallel(work, tasks, jobs):
    """What `work` makes of each task, in their order, some at a time. Each is a process of its own that threads wait for."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(work, tasks)


def late_packets_jitter(share, milliseconds):
    """Delays: this share has the given length, the others are zero, in random order. Between neighbours of the list there are straight
    lines: one of a thousand is in between."""
    whole = 1000
    count = round(share * whole)
    times = ["0 s"] * (whole + 1 - count) + [f"{milliseconds} ms"] * count
    return {"distribution": "measured", "times": times, "in-order": False}
