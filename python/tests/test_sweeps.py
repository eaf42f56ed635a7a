"""Sweeps of dictionaries: the files that they name, their axes, their shards."""

import json
import os
import re
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import thalweg
from thalweg import _toml

LINK: dict[str, Any] = {"name": "core", "between": ["a", "b"], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "50 pkt"}
PATH: dict[str, Any] = {"duration": 2, "warmup": 0.5, "link": [LINK], "flow": [{"name": "web", "from": "a", "to": "b", "scheme": "cubic"}]}
TRACED: dict[str, Any] = {**PATH, "link": [{**{name: of for name, of in LINK.items() if name != "rate"}, "trace": "fast.txt"}]}


@pytest.fixture(autouse=True)
def a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "place"
    (place / "traces").mkdir(parents=True)
    monkeypatch.chdir(place)
    for name, each in (("fast.txt", 1), ("traces/slow.txt", 2), ("../slower.txt", 4)):
        Path(name).write_text("".join(f"{each * number}\n" for number in range(1, 51)))
    return place


def test_names_are_not_files() -> None:
    sweep = {"scenario": PATH, "grid": {"link.core.rate": [5e6, 1e7]}}
    before = thalweg.sweep(sweep, "before").document["points"]
    for name in ("a", "b", "web", "core", "cubic", "link", "50 pkt", "sweep.toml", "scenario.toml"):
        Path(name).write_text("content")
    done = thalweg.sweep(sweep, "after")
    assert done.document["points"] == before and done.failed == []
    assert set(done.flows.to_pandas()["flow"]) == {"web"} and set(done.links.to_pandas()["from"]) == {"a", "b"}
    assert Path("sweep.toml").read_text() == Path("scenario.toml").read_text() == "content"


def test_files_of_a_sweep_are_those_of_a_run() -> None:
    traces = ["fast.txt", "traces/slow.txt", "../slower.txt", os.path.abspath("fast.txt")]
    single = [thalweg.run(TRACED, set={"link.core.trace": trace}).flows["goodput_bps"][0] for trace in traces]
    assert single[0] == single[3] > single[1] > single[2]
    done = thalweg.sweep({"scenario": TRACED, "grid": {"link.core.trace": traces}}, "grid")
    # The names of points and columns are those that were given.
    assert done.means["link.core.trace"] == traces and done.means["goodput_bps"] == single
    listed = thalweg.sweep({"scenario": TRACED, "list": [{"link.core.trace": Path(trace)} for trace in traces]}, "list")
    assert listed.means["goodput_bps"] == single
    for change in ({"link.core.trace": "traces/slow.txt"}, ["link.core.trace=traces/slow.txt"], ['link.core.trace = "traces/slow.txt"']):
        assert thalweg.sweep({"scenario": TRACED, "set": change}, "set").means["goodput_bps"] == [single[1]]
    with pytest.raises(thalweg.ScenarioError, match="cannot read `gone.txt`"):
        thalweg.sweep({"scenario": TRACED, "set": {"link.core.trace": "gone.txt"}}, "set")
    Path("base.toml").write_text('duration = "2 s"\nwarmup = "500 ms"\n')
    included = {name: of for name, of in TRACED.items() if name not in ("duration", "warmup")} | {"include": ["base.toml"]}
    assert thalweg.sweep({"scenario": included}, "included").means["goodput_bps"] == [single[0]]


def test_keys_of_files_are_those_of_the_schema() -> None:
    schema = json.loads(thalweg._call(["schema"]))
    found: set[str] = set()

    def visit(of: Any) -> None:
        if isinstance(of, dict):
            properties = of.get("properties", {})
            for name, item in (properties if isinstance(properties, dict) else {}).items():
                about = item.get("description", "") if isinstance(item, dict) else ""
                if any(words in about for words in ("beside the scenario file", "topology file,", "Files that this one builds on")):
                    found.add(name)
            for item in of.values():
                visit(item)
        elif isinstance(of, list):
            for item in of:
                visit(item)

    visit(schema)
    assert found == _toml.FILE_KEYS


def test_quantities_and_units_are_those_of_the_schema() -> None:
    schema = json.loads(thalweg._call(["schema"]))
    kinds: dict[str, set[str]] = {}

    def visit(of: Any) -> None:
        if isinstance(of, dict):
            properties = of.get("properties", {})
            for name, item in (properties if isinstance(properties, dict) else {}).items():
                kinds.setdefault(name, set()).update(re.findall(r'"#/\$defs/([a-z-]+)"', json.dumps(item)))
            for item in of.values():
                visit(item)
        elif isinstance(of, list):
            for item in of:
                visit(item)

    visit(schema)
    assert {name for name in _toml._QUANTITIES if not kinds[name] & {"time", "rate"}} == set()
    definitions = schema["$defs"]
    patterns = {"s": "time", "B": "size", "bit/s": "rate"}
    every = {unit for units in _toml._UNITS.values() for unit in units}
    for plain, kind in patterns.items():
        texts = [item["pattern"] for item in definitions[kind]["anyOf"] if "pattern" in item]
        accepted = {unit for unit in every if any(re.search(pattern, f"5 {unit}") for pattern in texts)}
        assert accepted == set(_toml._UNITS[plain]), kind


def test_a_number_beside_texts_has_their_kind_of_unit() -> None:
    grid = {"link.core.delay": ["5 ms", 0.02, numpy.float64(0.1) + 0.2], "link.core.rate": [1e6, "2 Mbit/s"]}
    done = thalweg.sweep({"scenario": PATH, "grid": grid}, "mixed")
    factors = {factor["name"]: factor["values"] for factor in done.document["factors"]}
    assert factors == {"link.core.delay": ["5 ms", "0.02 s", "0.3 s"], "link.core.rate": ["1000000.0 bit/s", "2 Mbit/s"]}
    assert set(done.flows.to_pandas()["link.core.delay_s"]) == {0.005, 0.02, 0.3}
    assert _toml.with_units_of_texts("link.core.queue", ["5 ms", 100]) == ["5 ms", 100]
    assert _toml.with_units_of_texts("link.core.delay", ["5 ms", "2 pkt", 100]) == ["5 ms", "2 pkt", 100]
    assert _toml.with_units_of_texts("link.core.delay", [1, 2]) == [1, 2]


def test_a_shard_names_the_call_that_joins() -> None:
    sweep = {"scenario": PATH, "grid": {"link.core.rate": [5e6, 1e7]}}
    shard = thalweg.sweep(sweep, "out", shard=(1, 2))
    assert "PARTIAL" not in str(shard) and "Shard 1 of 2 is complete; the same call without a shard joins all" in " ".join(str(shard).split())
    parts = (lambda: shard.points, lambda: shard.failed, lambda: shard.importance, lambda: shard.means, lambda: shard.plot())
    # Those of the folder are of all shards or of none.
    stored = (lambda: shard.flows, lambda: shard.links, lambda: shard.report)
    assert not Path("out/flows.parquet").exists() and not Path("out/links.parquet").exists()
    for part in (*parts, *stored, lambda: thalweg.open_sweep("out")):
        with pytest.raises(thalweg.Error, match="the same call of `thalweg.sweep` without `shard` joins them"):
            part()
    thalweg.sweep(sweep, "out", shard=(2, 2))
    with pytest.raises(thalweg.ScenarioError, match="report: the page in the folder is of all shards"):
        thalweg.sweep(sweep, "out", shard=(2, 2), report=True)
    whole = thalweg.sweep(sweep, "out")
    assert len(whole.points) == len(thalweg.open_sweep("out").points) == whole.flows.to_arrow().num_rows == 2
    # The only shard is the whole.
    only = thalweg.sweep(sweep, "only", shard=(1, 1), report=True)
    assert only.points == whole.points and only.report.path.exists() and only.flows.to_arrow().equals(whole.flows.to_arrow())


def test_tables_are_of_their_results() -> None:
    rates = {"scenario": PATH, "grid": {"link.core.rate": [5e6, 1e7]}}
    delays = {"scenario": PATH, "grid": {"link.core.delay": ["5 ms", "9 ms"]}}
    first = thalweg.sweep(rates, "out", report=True)
    reopened = thalweg.open_sweep("out")
    rows, kept = first.flows.to_arrow(), first.links
    # The same results again.
    thalweg.sweep(rates, "out")
    assert first.flows.to_arrow().equals(rows) and reopened.flows.to_arrow().equals(rows)
    second = thalweg.sweep(delays, "out")
    parts: list[Callable[[], Any]] = [
        lambda: first.flows.to_pandas(), kept.to_arrow, lambda: os.fspath(first.flows), lambda: first.report, lambda: reopened.links.to_arrow(),
    ]
    for part in parts:
        with pytest.raises(thalweg.RunError, match="has the results of a later call"):
            part()
    assert first.means["link.core.rate"] == [5e6, 1e7] and set(second.flows.to_pandas()["link.core.delay_s"]) == {0.005, 0.009}
    # A shard leaves the tables as they are.
    thalweg.sweep(rates, "out", shard=(1, 2))
    assert second.flows.to_arrow().num_rows == 2


def test_two_sweeps_do_not_share_a_folder_at_a_time() -> None:
    sweeps = [{"scenario": PATH, "grid": {"link.core.rate": [rate * 1e6, (rate + 1) * 1e6]}} for rate in (4, 8)]
    found: list[tuple[dict[str, Any], thalweg.SweepResult]] = []
    refused: list[str] = []

    def sweep(of: dict[str, Any]) -> None:
        for _ in range(8):
            try:
                found.append((of, thalweg.sweep(of, "out")))
            except thalweg.RunError as why:
                refused.append(str(why))

    threads = [threading.Thread(target=sweep, args=(of,)) for of in sweeps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) + len(refused) == 16 and found
    for of, done in found:
        assert done.means["link.core.rate"] == of["grid"]["link.core.rate"]
    assert all("another call is writing into `out`" in why for why in refused)


def test_a_factor_without_effect_is_named() -> None:
    with pytest.raises(thalweg.ScenarioError, match="`schemes` replaces `flow.web.scheme`"):
        thalweg.sweep({"scenario": PATH, "schemes": ["cubic", "vegas"], "grid": {"flow.web.scheme": ["newreno", "bbr"]}}, "replaced")
    with pytest.warns(thalweg.ScenarioWarning, match="`defaults.link.delay` changes nothing"):
        thalweg.sweep({"scenario": PATH, "grid": {"defaults.link.delay": ["1 ms", "9 ms"], "link.core.rate": [5e6, 1e7]}}, "default")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Points of one value, and of values that change together, are not evidence.
        thalweg.sweep({"scenario": PATH, "schemes": ["cubic"], "grid": {"link.core.rate": [5e6, 1e7]}}, "rates")
        together = [{"link.core.rate": 5e6, "link.core.delay": "5 ms"}, {"link.core.rate": 1e7, "link.core.delay": "6 ms"}]
        thalweg.sweep({"scenario": PATH, "list": together}, "list")


def test_equal_runs_of_a_sweep_are_named() -> None:
    with pytest.warns(thalweg.ScenarioWarning, match="^nothing in this scenario is random: 2 runs give the same result"):
        thalweg.sweep({"scenario": PATH, "reps": 2, "grid": {"link.core.rate": [5e6, 1e7]}}, "equal")
    with pytest.warns(thalweg.ScenarioWarning, match="^at some points nothing in this scenario is random"):
        thalweg.sweep({"scenario": PATH, "reps": 2, "grid": {"link.core.loss": [0.0, 0.01]}}, "some")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thalweg.sweep({"scenario": PATH, "reps": 2, "grid": {"link.core.loss": [0.005, 0.01]}}, "random")


def test_a_plot_has_two_factors_and_its_files_any_working_directory() -> None:
    done = thalweg.sweep({"scenario": PATH, "schemes": ["cubic", "vegas"], "grid": {"link.core.rate": [5e6, 1e7]}}, "out")
    with pytest.raises(thalweg.ScenarioError, match="two factors, and not both `scheme`"):
        done.plot("goodput_bps", "scheme", "scheme")
    reopened = thalweg.open_sweep("out")
    os.chdir("traces")
    assert done.flows.to_arrow().num_rows == reopened.links.to_arrow().num_rows // 2 == 4
