"""Failed points, stale files, progress and warnings of sweeps, assessments and hunts."""

import json
import pickle
import shlex
from pathlib import Path
from typing import Any

import pandas
import pytest

import thalweg
from thalweg import _thalweg
from thalweg._results import python_call

LINK: dict[str, Any] = {"name": "core", "between": ["a", "b"], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "50 pkt"}
PATH: dict[str, Any] = {"duration": 2, "warmup": 0.5, "link": [LINK], "flow": [{"name": "web", "from": "a", "to": "b", "scheme": "cubic"}]}


class Broken(thalweg.Controller):
    """Fails at its first sample."""

    def on_ack(self, sample: thalweg.Sample) -> None:
        raise ArithmeticError("too much")

    def on_loss(self, sample: thalweg.Sample) -> None:
        pass


class Late(Broken):
    """Fails at its first loss."""

    def on_ack(self, sample: thalweg.Sample) -> None:
        self.window += 1

    def on_loss(self, sample: thalweg.Sample) -> None:
        raise ArithmeticError("a loss")


def test_a_sweep_without_a_run_has_no_rows_of_another(tmp_path: Path) -> None:
    done = thalweg.sweep({"scenario": PATH, "schemes": ["cubic"]}, tmp_path / "out")
    assert set(done.flows.to_pandas()["scheme"]) == {"cubic"}
    failed = thalweg.sweep({"scenario": PATH, "schemes": [Broken]}, tmp_path / "out", key="1")
    fresh = thalweg.sweep({"scenario": PATH, "schemes": [Broken]}, tmp_path / "fresh", key="1")
    for sweep in (failed, fresh):
        assert sweep.points == [] and len(sweep.failed) == 1
        for table in (sweep.flows, sweep.links):
            reads: list[Any] = [table.to_arrow, table.to_pandas]
            for read in reads:
                with pytest.raises(thalweg.RunError, match="no run of the sweep has a row"):
                    read()


def test_the_page_is_the_one_of_the_results(tmp_path: Path) -> None:
    out = tmp_path / "out"
    page = thalweg.sweep({"scenario": PATH, "grid": {"link.core.rate": [5e6, 1e7]}}, out, report=True).report.path
    first = page.read_text()
    other = {"scenario": PATH, "grid": {"link.core.delay": ["3 ms", "9 ms"]}}
    second = thalweg.sweep(other, out).report.path.read_text()
    assert "link.core.rate" in first and "link.core.rate" not in second and "link.core.delay" in second
    assert thalweg.sweep(other, out, report=True).report.path.read_text() == second
    with pytest.raises(thalweg.RunError, match="report=True"):
        thalweg.sweep(other, tmp_path / "without").report.path.read_text()


@pytest.mark.parametrize("scenario", [PATH, "dumbbell"])
def test_commands_of_failed_points_are_calls_also_when_reopened(tmp_path: Path, scenario: Any) -> None:
    sweep = {"scenario": scenario, "set": {"duration": 2, "warmup": 0.5}, "schemes": [Broken, "cubic"]}
    done = thalweg.sweep(sweep, tmp_path / "out", key="1")
    call = done.failed[0]["call"]
    assert "controllers={'broken': ...}" in call and call in str(done) and "command" not in done.failed[0]
    with pytest.raises(thalweg.RunError) as raised:
        eval(call.replace("...", "Broken"), {"thalweg": thalweg, "scenario": scenario, "Broken": Broken})
    assert isinstance(raised.value.__cause__, ArithmeticError)
    assert thalweg.open_sweep(tmp_path / "out").failed == done.failed
    text = (tmp_path / "out/results.json").read_text()
    # The file is otherwise as the command wrote it.
    assert json.loads(text) == done.document and thalweg.sweep(sweep, tmp_path / "out", key="1").failed == done.failed
    assert (tmp_path / "out/results.json").read_text() == text and [file.name for file in (tmp_path / "out").glob("results*")] == ["results.json"]


def test_calls_keep_the_options_of_schemes_together() -> None:
    command = "thalweg compare x.toml --schemes 'cubic:beta=0.5,rto.floor=100 ms,c=0.3,broken' --seed 3 --set duration=2"
    schemes = "['cubic:beta=0.5,rto.floor=100 ms,c=0.3', 'broken']"
    expected = f"thalweg.compare('x.toml', {schemes}, seed=3, set=['duration=2'], controllers={{'broken': ...}})"
    assert python_call(command, ["broken"]) == expected


def test_an_assessment_names_calls_and_the_exception(tmp_path: Path) -> None:
    reported: list[str] = []
    thalweg.show_progress(lambda share, words: reported.append(words))
    try:
        found = thalweg.assess(Late, tmp_path / "out", only=["7.2"], quick=True, key="1", jobs=2)
        assert any("runs" in words for words in reported)
        reported.clear()
        thalweg.hunt("cubic", "queue", tmp_path / "hunt", candidates=64, jobs=2)
        assert any("runs" in words for words in reported)
    finally:
        thalweg.show_progress()
    assert isinstance(found.cause, ArithmeticError) and json.loads(json.dumps(found)) == found
    call = found["failed"][0]["call"]
    assert call.startswith("thalweg.run(") and "controllers={'late': ...}" in call


def test_values_of_points_are_numbers_where_those_of_flows_are(tmp_path: Path) -> None:
    grid = {"link.core.rate": [5e6, 1e7], "flow.web.count": [1, 2], "link.core.delay": ["2 ms", "5 ms"]}
    done = thalweg.sweep({"scenario": PATH, "schemes": ["cubic"], "grid": grid}, tmp_path / "out")
    means, flows = pandas.DataFrame(done.means), done.flows.to_pandas()
    for name, kind in (("link.core.rate", "f"), ("flow.web.count", "iu")):
        assert means[name].dtype.kind in kind and flows[name].dtype.kind in kind, name
    assert set(means["link.core.delay"]) == {"2 ms", "5 ms"} and set(flows["link.core.delay_s"]) == {0.002, 0.005}
    assert len(means.merge(flows, on=[*grid, "scheme"])) == len(flows) == 12


def test_values_of_points_are_read_as_in_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Numbers of Python have underscores too; those of the tables do not.
    text = 'scenario = "two-flows"\nset = ["duration=1 s", "warmup=0.1 s"]\n[grid]\nflow.1.count = [1, 2]\nflow.2.count = [1_0, 2]\n'
    Path("grid.toml").write_text(text, encoding="utf-8")
    done = thalweg.sweep("grid.toml")
    assert [factor.get("numbers") for factor in done.document["factors"]] == ["integer", None]
    means, flows = done.means, done.flows.to_pandas()
    assert means["flow.1.count"] == [1, 1, 2, 2] and means["flow.2.count"] == ["1_0", "2", "1_0", "2"]
    for name in ("flow.1.count", "flow.2.count"):
        assert set(flows[name]) == set(means[name])


def test_rows_of_other_groups_name_the_scheme_of_the_point(tmp_path: Path) -> None:
    other = {"name": "other", "from": "a", "to": "b", "scheme": "newreno"}
    path = {**PATH, "flow": [*PATH["flow"], other]}
    done = thalweg.sweep({"scenario": path, "schemes": ["cubic", "vegas"], "flows": ["web"]}, tmp_path / "out")
    flows = done.flows.to_pandas()
    assert sorted(zip(flows["group"], flows["compared"], flows["scheme"])) == [
        ("other", "cubic", "newreno"), ("other", "vegas", "newreno"), ("web", "cubic", "cubic"), ("web", "vegas", "vegas"),
    ]
    compared = thalweg.compare(path, ["cubic", "vegas"], flows=["web"]).flows
    rows = {(row["group"], row["compared"]): row["goodput_bps"] for row in compared}
    assert {(row.group, row.compared): row.goodput_bps for row in flows.itertuples()} == rows


def test_tables_contain_their_columns() -> None:
    flows = thalweg.run(PATH).flows
    assert "goodput_bps" in flows and "goodput" not in flows and 3 not in flows
    assert all(name in flows for name in flows.columns) and all(name in flows for name in flows._missing)


@pytest.mark.parametrize("time", [(0, float("inf")), (0, 10**400), (False, True), (1, 1), (0, float("nan")), (-1, 2)])
def test_a_picture_has_a_finite_time(time: Any) -> None:
    with pytest.raises(thalweg.ScenarioError, match="finite"):
        thalweg.run(PATH).plot(time=time)


def test_numbers_of_replications_are_bounded() -> None:
    calls: list[Any] = [lambda: thalweg.run(PATH, reps=4294967295), lambda: thalweg.compare(PATH, ["cubic"], reps=100_001)]
    for call in calls:
        with pytest.raises(thalweg.ScenarioError, match="from 1 to 100000"):
            call()
    measured, code, messages, _ = _thalweg.run("dumbbell", None, [], [], [], None, 4294967295, None, [], False, None)
    assert measured is None and code == 2 and "at most 100000 replications" in str([message.parts for message in messages])


@pytest.mark.parametrize(
    "call",
    [
        lambda: thalweg.run(PATH, set={"duration": "\ud800"}),
        lambda: thalweg.run(PATH, set={"\ud800": 1}),
        lambda: thalweg.run(PATH, set=["duration=\ud800"]),
        lambda: thalweg.run({**PATH, "title": "\ud800"}),
        lambda: thalweg.compare(PATH, ["\ud800"]),
        lambda: thalweg.compare(PATH, ["cubic"], flows=["\ud800"]),
        lambda: thalweg.models("\ud800"),
        lambda: thalweg.run("\ud800"),
        lambda: thalweg.sweep("\ud800", "out"),
        lambda: thalweg.models("mathis", p="\ud800"),
        lambda: thalweg.hunt("cubic", "\ud800"),
        lambda: thalweg.hunt("\ud800", "queue"),
    ],
)
def test_halves_of_characters_are_errors_of_the_package(call: Any) -> None:
    with pytest.raises(thalweg.ScenarioError):
        call()


@pytest.mark.parametrize(
    "kind", [_thalweg.Environments, _thalweg.Table, _thalweg.RunMeasurements, _thalweg.Message, _thalweg.MessageKind, _thalweg.Stop]
)
def test_classes_are_found_in_their_module(kind: type) -> None:
    assert kind.__module__ == "thalweg._thalweg" and pickle.loads(pickle.dumps(kind)) is kind
