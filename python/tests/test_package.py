"""The package as people use it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pytest

import thalweg
from thalweg import _progress, _toml

SHORT = {"duration": "2 s", "warmup": "500 ms"}
COMMAND = str(Path(sys.executable).with_name("thalweg"))


def command(*words: str) -> str:
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=True)
    return done.stdout


def test_python_and_the_command_give_the_same() -> None:
    sets = [word for name, value in SHORT.items() for word in ("--set", f"{name}={value}")]
    result = thalweg.run("dumbbell", seed=7, set=SHORT)
    printed = json.loads(command("run", "dumbbell", "--seed", "7", "--json", "--quiet", *sets))
    assert result.document == printed
    assert result.fingerprint == printed["runs"][0]["fingerprint"]
    compared = thalweg.compare("two-flows", ["cubic", "vegas"], reps=2, seed=3, set=SHORT, jobs=1)
    words = ["--schemes", "cubic,vegas", "--reps", "2", "--seed", "3"]
    assert compared.document == json.loads(command("compare", "two-flows", *words, "--json", "--quiet", *sets))
    assert len(compared.fingerprints) == 4
    assert command("--version").strip() == f"thalweg {thalweg.__version__}"
    module = subprocess.run([sys.executable, "-m", "thalweg", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout.strip() == f"thalweg {thalweg.__version__}"


def test_tables_are_taken_by_other_programs_without_a_copy() -> None:
    result = thalweg.compare("two-flows", ["cubic", "vegas"], set=SHORT)
    flows = result.flows
    assert flows["compared"] == ["cubic", "cubic", "vegas", "vegas"] and len(flows) == 4
    goodput: dict[Any, Any] = flows.to_pandas().groupby("compared")["goodput_bps"].sum().to_dict()
    totals = {of["scheme"]: of["runs"][0]["totals"]["goodput_bps"] for of in result.document["schemes"]}
    assert goodput == pytest.approx(totals)
    assert next(iter(flows))["flow"] == flows["flow"][0]
    assert "utilisation" in result.links.columns and len(result.links) > 0
    series = result.series("window")
    one, two = pyarrow.table(series), pyarrow.table(series)
    address = [table["value"].chunk(0).buffers()[1].address for table in (one, two)]
    assert address[0] == address[1]
    assert set(one["quantity"].to_pylist()) == {"window"} and one.num_rows == len(series) > 10
    assert isinstance(series.to_pandas(), pandas.DataFrame)
    with pytest.raises(KeyError, match="no series `windw`"):
        result.series("windw")
    with pytest.raises(KeyError, match="no column"):
        flows["x"]


def test_a_scenario_may_be_a_dictionary() -> None:
    scenario = {
        "title": 'Two "quoted" flows',
        "duration": "3 s",
        "link": [{"name": "core", "between": ["a", "b"], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "50 pkt"}],
        "flow": [{"from": "a", "to": "b", "count": 2, "scheme": "cubic"}],
    }
    result = thalweg.run(scenario, set={"link.core.rate": "20 Mbit/s"})
    assert result.document["scenario"]["title"] == scenario["title"]
    assert sum(result.flows["goodput_bps"]) > 12e6
    assert 'rate = "20 Mbit/s"' in result.scenario
    again = thalweg.run(tomllib.loads(result.scenario))
    assert again.fingerprint == result.fingerprint
    with pytest.raises(thalweg.ScenarioError, match="cubik"):
        thalweg.run({**scenario, "flow": [{"from": "a", "to": "b", "scheme": "cubik"}]})


def test_toml_reads_back() -> None:
    value = {"a b": "\"\\\n\x7f é", "n": [1, -2.5, 1e300, True], "t": {"x.y": {"z": "1 ms"}}, "empty": []}
    assert tomllib.loads(_toml.document(value)) == value
    for wrong in (float("nan"), None, {1: 2}, b"x"):
        with pytest.raises(TypeError):
            _toml.document({"key": wrong})


def test_mistakes_are_exceptions_with_the_text_of_the_command() -> None:
    with pytest.raises(thalweg.ScenarioError, match="did you mean `dumbbell`"):
        thalweg.run("dumbell")
    with pytest.raises(thalweg.ScenarioError, match="did you mean `duration`"):
        thalweg.run("dumbbell", set={"duraton": "5 s"})
    with pytest.raises(thalweg.ScenarioError, match="--schemes"):
        thalweg.compare("dumbbell", ["cubic", "cubik"])
    with pytest.raises(TypeError, match="list"):
        thalweg.compare("dumbbell", "cubic")
    with pytest.raises(thalweg.ScenarioError, match="no scheme"):
        thalweg.compare("dumbbell", [])
    with pytest.raises(thalweg.ScenarioError, match="paper"):
        thalweg.paper("nobody99")


def test_notebooks_see_a_picture_and_a_summary(tmp_path: Path) -> None:
    result = thalweg.run("two-flows", set=SHORT)
    shown = result._repr_html_()
    assert shown.startswith("<svg") and "<pre>" in shown and "Fingerprint" in shown
    result.plot().save(tmp_path / "plot.svg")
    result.plot().save(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"pictures are \.svg or \.png"):
        result.plot().save(tmp_path / "plot.pdf")
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8") == result.plot()._repr_svg_()


def test_other_threads_go_on_while_it_runs() -> None:
    count, stop = 0, threading.Event()

    def work() -> None:
        nonlocal count
        while not stop.is_set():
            count += 1
            time.sleep(0.001)

    thread = threading.Thread(target=work)
    thread.start()
    before = count
    thalweg.run("dumbbell", set={"duration": "20 s"}, jobs=1)
    during = count - before
    stop.set()
    thread.join()
    assert during >= 3


def test_ctrl_c_ends_a_run() -> None:
    program = (
        # Programs of background jobs begin with the signal ignored.
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import thalweg\n"
        "print('begun', flush=True)\n"
        "try:\n"
        "    thalweg.run('dumbbell', set={'duration': '100000 s'})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', thalweg.run('two-flows', set={'duration': '6 s'}).fingerprint)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert said.startswith("interrupted ") and child.returncode == 0


def test_a_sweep_is_kept_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = {
        "scenario": "two-flows",
        "set": [f"{name}={value}" for name, value in SHORT.items()],
        "schemes": ["cubic", "vegas"],
        "grid": {"link.left-right.rate": ["10 Mbit/s", "20 Mbit/s"]},
    }
    done = thalweg.sweep(sweep, "out", report=True)
    assert len(done.points) == 4 and done.failed == [] and done.report.path.exists()
    share = done.importance["goodput_bps"]["factors"]["link.left-right.rate"]
    assert share > 0.5 and "link.left-right.rate" in str(done)
    assert "srcdoc" in done.report._repr_html_()
    flows = pandas.read_parquet(done.flows)
    assert flows.equals(done.flows.to_pandas()) and pyarrow.table(done.flows).num_rows == len(flows)
    means = pandas.DataFrame(done.means)
    assert list(means["scheme"]) == ["cubic", "vegas"] * 2 and means["goodput_bps"].min() > 1e6
    maps = done.plot("goodput_bps").svg
    # One map, of rates and schemes.
    assert maps.count('class="heat"') == 1 and maps.count("<rect") == 4 and "20 Mbit/s" in maps
    assert done.plot(across="scheme").svg.count("<rect") == 4
    for wrong in ({"metric": "godput"}, {"across": "link.core.rate"}):
        with pytest.raises(KeyError, match="godput|link.core.rate"):
            done.plot(**wrong)
    assert set(flows["scheme"]) == {"cubic", "vegas"} and set(flows["link.left-right.rate_bps"]) == {1e7, 2e7}
    written = Path(done.flows).read_bytes()
    Path("s.toml").write_text(_toml.document(sweep), encoding="utf-8")
    command("sweep", "s.toml", "--quiet")
    assert Path("s/flows.parquet").read_bytes() == written
    failing = thalweg.sweep({"scenario": "two-flows", "grid": {"duration": ["6 s", "4 s"]}}, "failing")
    assert [point["point"] for point in failing.failed] == [2] and "thalweg run" in failing.failed[0]["command"]
    with pytest.raises(thalweg.ScenarioError, match="needs a folder"):
        thalweg.sweep(sweep)
    with pytest.raises(thalweg.ScenarioError, match="no link `core`"):
        thalweg.sweep({"scenario": "two-flows", "grid": {"link.core.rate": ["1 Mbit/s"]}}, "wrong")


def test_analyses_are_dictionaries() -> None:
    mathis = thalweg.models("mathis", p="1e-3", rtt="50 ms")
    assert mathis["results"][0]["goodput_bps"] > 1e6
    study = thalweg.paper("gong92", experiments=["figure-14"], quick=True)
    assert study["paper"] == "gong92" and any(claim["holds"] for claim in study["claims"])
    found = thalweg.explore("adaptive-ack", window=2, losses=1)
    assert found


def test_a_closed_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(thalweg.ScenarioError, match="holds something else"):
        thalweg.sweep({"scenario": "two-flows"}, tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_call_tells_how_far_it_is_and_ends_when_that_raises() -> None:
    told: list[tuple[float | None, str]] = []

    def show(share: float | None, words: str) -> None:
        told.append((share, words))
        if share:
            raise InterruptedError("enough")

    thalweg.show_progress(show)
    try:
        with pytest.raises(InterruptedError, match="enough"):
            thalweg.run("dumbbell", set={"duration": "100000 s"})
        assert 0 < (told[-1][0] or 0) < 1 and "of 100000.0 s" in told[-1][1]
        told.clear()
        thalweg.show_progress(False)
        thalweg.run("dumbbell", set=SHORT)
        assert told == []
    finally:
        thalweg.show_progress()


def test_notebooks_and_terminals_show_what_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    put: list[tuple[str, str]] = []
    import IPython

    monkeypatch.setattr(IPython, "get_ipython", lambda: type("Shell", (), {"kernel": 1}))
    monkeypatch.setattr("IPython.display.display", lambda data, **_: put.append(("first", data["text/html"])))
    monkeypatch.setattr("IPython.display.update_display", lambda data, **_: put.append(("then", data["text/html"])))
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setattr(_progress, "INTERVAL", 0.0)
    times = iter([0.0, 1.0, 3.0, 90.0, 4000.0])
    monkeypatch.setattr("thalweg._progress.time.monotonic", lambda: next(times))
    with _progress.shown() as show:
        assert show is not None
        show(0.0, "0 < 8 runs")
        show(0.5, "4 runs")
        show(0.75, "6 runs")
        show(None, "on")
    assert [when for when, _ in put] == ["first", "then", "then", "then", "then"]
    assert 'value="0.0000"' in put[0][1] and "0 &lt; 8 runs<" in put[0][1]
    assert 'value="0.5000"' in put[1][1] and "4 runs, 2 s left" in put[1][1] and "6 runs, 30 s left" in put[2][1]
    assert "value" not in put[3][1] and put[4][1] == ""
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    times = iter([0.0, 1.0, 2.0])
    with _progress.shown() as show:
        assert show is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    with _progress.shown() as show:
        assert show is not None
        show(0.5, "a line that is longer than that")
    shown = capsys.readouterr().err
    assert shown.startswith("\r 50%  a line that i\x1b[K") and shown.endswith("\r\x1b[K")
