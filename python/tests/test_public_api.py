"""The package as people use it."""

import ast
import copy
import inspect
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tomllib
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pandas
import pyarrow
import pytest

import thalweg
from thalweg import _progress, _thalweg, _toml
from thalweg._thalweg import MessageKind

SHORT = {"duration": "2 s", "warmup": "500 ms"}
COMMAND = str(Path(sys.executable).with_name("thalweg"))


def run_command(*words: str) -> str:
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=True)
    return done.stdout


def test_python_and_the_command_give_the_same() -> None:
    sets = [word for name, value in SHORT.items() for word in ("--set", f"{name}={value}")]
    result = thalweg.run("dumbbell", seed=7, set=SHORT)
    printed = json.loads(run_command("run", "dumbbell", "--seed", "7", "--json", "--quiet", *sets))
    assert result.document == printed
    assert result.fingerprint == printed["runs"][0]["fingerprint"]
    compared = thalweg.compare("two-flows", ["cubic", "vegas"], reps=2, seed=3, set=SHORT, jobs=1)
    words = ["--schemes", "cubic,vegas", "--reps", "2", "--seed", "3"]
    assert compared.document == json.loads(run_command("compare", "two-flows", *words, "--json", "--quiet", *sets))
    assert len(compared.fingerprints) == 4
    assert run_command("--version").splitlines()[0] == f"thalweg {thalweg.__version__}"
    module = subprocess.run([sys.executable, "-m", "thalweg", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout.splitlines()[0] == f"thalweg {thalweg.__version__}"


def test_one_group_is_compared_beside_the_others() -> None:
    compared = thalweg.compare("two-flows", ["cubic", "vegas"], flows=["shy"], seed=3, set=SHORT)
    part = compared.document["compared"]
    assert part["groups"] == ["shy"] and len(part["schemes"]) == 2
    assert all(run["groups"][1]["scheme"] == "cubic" for of in compared.document["schemes"] for run in of["runs"])
    assert "Compared: `shy`" in str(compared)
    with pytest.raises(thalweg.ScenarioError, match="no flows `shie`"):
        thalweg.compare("two-flows", ["cubic"], flows=["shie"])
    with pytest.raises(thalweg.ScenarioError, match=r"`thalweg\.scenarios\(\)` shows them"):
        thalweg.compare("nothing-of-that-name-at-all", ["cubic"])
    with pytest.raises(thalweg.ScenarioError, match="flows is a list"):
        thalweg.compare("two-flows", ["cubic"], flows="shy")


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


def test_empty_tables_have_their_columns() -> None:
    with pytest.warns(thalweg.ScenarioWarning, match="no flows"):
        empty = thalweg.compare({"duration": 2}, ["cubic", "vegas"])
    some = thalweg.compare("dumbbell", ["cubic"], set=SHORT)
    for name in ("groups", "transfers"):
        nothing, full = getattr(empty, name), getattr(some, name)
        assert len(nothing) == 0 and list(nothing) == [] and nothing["seed"] == nothing["group"] == nothing["completions"] == []
        assert set(full.columns) <= set(nothing.columns) and nothing.to_pandas().shape == (0, len(nothing.columns))
        types = {field.name: field.type for field in pyarrow.table(nothing).schema}
        assert all(types[field.name] == field.type for field in pyarrow.table(full).schema if field.name in ("compared", "seed", "group", "scheme"))


def test_numpy_numbers_and_arrays_are_arguments_by_their_types() -> None:
    # Checked by mypy as well.
    seed, one = numpy.int64(3), numpy.int64(1)
    plain = thalweg.run("two-flows", seed=3, set=SHORT)
    assert thalweg.run("two-flows", seed=seed, reps=one, jobs=one, set=SHORT).fingerprint == plain.fingerprint
    compared = thalweg.compare("two-flows", numpy.array(["cubic", "vegas"]), seed=seed, reps=one, set=SHORT)
    assert [of["scheme"] for of in compared.document["schemes"]] == ["cubic", "vegas"]


def test_notes_tell_of_flows_without_series() -> None:
    link = {"name": "core", "between": ["a", "b"], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "1 bdp"}
    flows = {"from": "a", "to": "b", "count": 40, "spread": "100 ms"}
    many = thalweg.run({"duration": 2, "warmup": 0.5, "link": [link], "flow": [flows]})
    assert len(set(many.series("window")["subject"])) == 32 and "series are of 32 of 40 flows; `measure.flows`" in many.notes
    assert "series" not in thalweg.run({"duration": 2, "warmup": 0.5, "link": [link], "flow": [{**flows, "count": 32}]}).notes


def test_documents_belong_to_the_caller() -> None:
    result = thalweg.run("two-flows", set=SHORT)
    result.document["runs"].clear()
    assert len(result.totals) == len(result.fingerprints) == 1 and len(result.groups) == 2


def test_pictures_that_cannot_be_written_are_errors_of_the_package(tmp_path: Path) -> None:
    figure = thalweg.run("two-flows", set=SHORT).plot()
    for name in ("none/plot.svg", "none/plot.png"):
        with pytest.raises(thalweg.RunError, match="cannot write .*No such file"):
            figure.save(tmp_path / name)


def test_results_are_pickled_and_copied_completely() -> None:
    for result in (thalweg.compare("two-flows", ["cubic", "vegas"], set=SHORT), thalweg.run("dumbbell", set=SHORT)):
        for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), pickle.loads(pickle.dumps(copy.copy(result)))):
            assert again.document == result.document and str(again) == str(result) and again.scenario == result.scenario
            assert again.plot().svg == result.plot().svg and again.quantities == result.quantities and again.notes == result.notes
            for name in ("flows", "links", "groups", "totals", "transfers"):
                assert pyarrow.table(getattr(again, name)).equals(pyarrow.table(getattr(result, name))), name
            for quantity in (None, "window"):
                one, other = (pyarrow.table(of.series(quantity)) for of in (again, result))
                assert one.to_pylist() == other.to_pylist() and one.schema.equals(other.schema)
        cdf = result.plot("rtt-cdf").svg
        assert copy.copy(result).plot("rtt-cdf").svg == cdf and copy.copy(copy.copy(result)).plot("rtt-cdf").svg == cdf
        # The picture exists, and its name is known.
        with pytest.raises(thalweg.ScenarioError, match="has only its first picture") as caught:
            copy.deepcopy(result).plot("rtt-cdf")
        assert not isinstance(caught.value, thalweg.UnknownNameError)
    table = pickle.loads(pickle.dumps(result.flows))
    assert list(table) == list(result.flows) and table["jitter_s"] == [None] * len(table)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (far,) = pool.map(run_short, [7])
    assert far.fingerprint == run_short(7).fingerprint


def run_short(seed: int) -> thalweg.Result:
    return thalweg.run("two-flows", seed=seed, set=SHORT)


def test_tables_have_integer_counts_and_no_empty_columns() -> None:
    result = thalweg.compare("two-flows", ["cubic", "vegas"], reps=2, set=SHORT)
    flows, links = pyarrow.table(result.flows), pyarrow.table(result.links)
    for table in (flows, links, pyarrow.table(result.groups), pyarrow.table(result.totals)):
        assert all(table[name].null_count < table.num_rows for name in table.column_names), table.column_names
    assert "jitter_s" not in flows.column_names and result.flows["jitter_s"] == [None] * 8
    with pytest.raises(KeyError, match="no column `jiter_s`"):
        result.flows["jiter_s"]
    kinds = {str(flows.schema.field(name).type) for name in ("sent_packets", "timeouts", "delivered_bytes", "seed")}
    assert kinds == {"uint64"} and str(flows.schema.field("goodput_bps").type) == "double"
    assert str(links.schema.field("drops").type) == "uint64" and str(links.schema.field("queue_mean_packets").type) == "double"
    assert all(isinstance(cell, int) for cell in result.flows["sent_packets"])
    assert result.groups["compared"] == ["cubic"] * 4 + ["vegas"] * 4 or len(result.groups) == 4
    assert sum(result.totals["goodput_bps"]) == pytest.approx(sum(result.flows["goodput_bps"]))
    assert sum(result.groups["sent_packets"]) == sum(result.flows["sent_packets"]) and len(result.totals) == 4
    path = {
        "duration": "5 s",
        "link": [{"name": "core", "between": ["a", "b"], "rate": 1e7, "delay": 0.01, "queue": "1 bdp"}],
        "flow": [{"name": "web", "from": "a", "to": "b", "workload": {"kind": "poisson", "load": 4e6, "size": 20_000}}],
    }
    transfers = thalweg.run(path, seed=1).transfers
    assert sum(transfers["completions"]) > 20 and set(transfers["group"]) == {"web"} and "completion_p50_s" in transfers.columns


def test_numbers_without_a_unit_are_bits_a_second_seconds_and_bytes() -> None:
    path: dict[str, Any] = {
        "duration": 2,
        "link": [{"name": "core", "between": ["a", "b"], "rate": 1e7 / 3, "delay": 0.1 + 0.2, "queue": "50 pkt"}],
        "flow": [{"from": "a", "to": "b", "scheme": {"base": "cubic", "segment": 1000}}],
    }
    reported = thalweg.run(path, set={"link.core.rate": numpy.float32(2e6), "link.core.delay": numpy.float64(0.025)}).scenario
    assert 'rate = "2 Mbit/s"' in reported and 'delay = "25 ms"' in reported and 'duration = "2 s"' in reported and 'segment = "1 kB"' in reported
    rounded = {"link.core.rate": "3333333 bit/s", "link.core.delay": "300 ms"}
    assert thalweg.run(path).fingerprint == thalweg.run(path, set=rounded).fingerprint
    with pytest.raises(thalweg.ScenarioError, match="queue"):
        thalweg.run(path, set={"link.core.queue": 50})
    done = subprocess.run([COMMAND, "run", "dumbbell", "--set", "link.bottleneck.rate=10e6"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and 'did you mean "10e6 bit/s"?' in done.stderr


def test_catalogs_are_listed(tmp_path: Path) -> None:
    assert "RFC 9438" in thalweg.schemes()["cubic"] and "dumbbell" in thalweg.scenarios()
    for names in (thalweg.schemes(), thalweg.scenarios()):
        assert list(names)[:2] == names[:2] == [names[0], names[1]] and names[-1] in names and len(names[1:]) == len(names) - 1
        assert names == list(names) == [*names] and names != [] and names.index(names[2]) == 2 and repr(names) == repr(list(names))
        assert dict(names) == dict(names.items()) and names == dict(names) and pickle.loads(pickle.dumps(names)) == names
        with pytest.raises(IndexError):
            names[len(names)]
        with pytest.raises(KeyError):
            names["cubik"]
    assert thalweg.compare("dumbbell", thalweg.schemes()[2:4], set=SHORT).document["schemes"]
    named = {(of["of"], of["name"]): of for of in thalweg.metrics()}
    flows = thalweg.run("two-flows", set=SHORT).flows
    assert named["flow", "goodput_bps"]["unit"] == "bit/s" and "Payload delivered" in named["flow", "goodput_bps"]["about"]
    assert {name for name in flows.columns if name.endswith(("_bps", "_packets")) or "." in name} <= {name for of, name in named if of == "flow"}
    assert flows[named["flow", "limits.congestion_window"]["name"]] == flows["limits.congestion_window"]
    for scenario in ("two-flows", "video-call", "soft-acknowledgement", "slow-reader"):
        result = thalweg.run(scenario, set={"duration": "6 s", "warmup": "1 s"})
        tables = {"flow": result.flows, "group": result.groups, "network": result.totals, "link": result.links, "size class": result.transfers}
        for subject, table in tables.items():
            others = {"seed", "fingerprint", "flow", "flows", "group", "scheme", "link", "from", "to", "bottleneck", "wanted_more"}
            others |= {"from_bytes", "below_bytes"}
            assert set(table.columns) - others <= {name for of, name in named if of == subject}, (scenario, subject)
    assert "left-right" in thalweg.validate("two-flows")
    with pytest.raises(thalweg.ScenarioError, match="did you mean `duration`"):
        thalweg.validate({"duraton": 1})
    assert thalweg.validate("two-flows", set={"flow.1.scheme": "mine"}, controllers={"mine": Plain})


class Plain(thalweg.Controller):
    def on_ack(self, sample: thalweg.Sample) -> None:
        self.window = 20

    def on_loss(self, sample: thalweg.Sample) -> None:
        pass


UNMARKED: dict[str, Any] = {
    "duration": "2 s",
    "link": [{"name": "core", "between": ["a", "b"], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "50 pkt"}],
    "flow": [{"from": "a", "to": "b", "scheme": "dctcp"}],
}


def test_what_is_doubtful_is_a_warning() -> None:
    for call in (lambda: thalweg.run(UNMARKED), lambda: thalweg.validate(UNMARKED), lambda: thalweg.compare(UNMARKED, ["dctcp"])):
        with pytest.warns(thalweg.ScenarioWarning, match="no queue on their way marks") as caught:
            call()
        assert {warned.filename for warned in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thalweg.run("two-flows", set={"duration": "8 s", "warmup": "1 s"})
        with pytest.raises(thalweg.ScenarioWarning):
            thalweg.run(UNMARKED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notes = thalweg.run(UNMARKED).notes
    assert notes.startswith("warning[") and "no queue on their way marks" in notes and notes.endswith("\n")


class Failing(Plain):
    def on_ack(self, sample: thalweg.Sample) -> None:
        raise ArithmeticError("too much")


def test_warnings_of_what_fails_are_warnings_and_no_part_of_the_error() -> None:
    flow = {"name": "other", "from": "a", "to": "b", "scheme": "mine"}
    doubtful = {**UNMARKED, "flow": [*UNMARKED["flow"], flow]}
    with pytest.warns(thalweg.ScenarioWarning, match="no queue on their way marks") as caught, pytest.raises(thalweg.RunError) as raised:
        thalweg.run(doubtful, controllers={"mine": Failing})
    assert {warned.filename for warned in caught} == {__file__}
    assert "warning" not in str(raised.value) and "the controller `mine`" in str(raised.value)
    assert isinstance(raised.value.__cause__, ArithmeticError)


def test_mistakes_in_calls_are_of_one_class_and_in_the_words_of_python(tmp_path: Path) -> None:
    def wrong(call: Any, match: str) -> None:
        with pytest.raises(thalweg.ScenarioError, match=match) as caught:
            call()
        assert isinstance(caught.value, (ValueError, TypeError)) and "--" not in str(caught.value).replace("-->", ""), caught.value

    anything: Any = object()
    wrong(lambda: thalweg.run(anything), "a scenario is a file")
    wrong(lambda: thalweg.run("two-flows", seed=1.5), "seed=1.5")  # type: ignore[arg-type]
    wrong(lambda: thalweg.run("two-flows", reps=True), "reps=True")
    wrong(lambda: thalweg.run("two-flows", jobs=0), "jobs=0")
    wrong(lambda: thalweg.run("two-flows", set={"duration": anything}), "not a value of a scenario")
    wrong(lambda: thalweg.run("two-flows", set="duration=1"), "set is a dictionary")
    wrong(lambda: thalweg.run("two-flows", set={"duration": "-1 s"}), "set 1")
    wrong(lambda: thalweg.run("two-flows", controllers={"cubic": Plain}), "a scheme `cubic` already")
    wrong(lambda: thalweg.run("two-flows", controllers={"My Own": Plain}), "small letters")
    wrong(lambda: thalweg.run("two-flows", controllers={"mine": 3}), "not of type int")  # type: ignore[dict-item]
    wrong(lambda: thalweg.compare("two-flows", "cubic"), "schemes is a list")
    wrong(lambda: thalweg.compare("two-flows", [anything]), "a scheme is a name or a class")
    wrong(lambda: thalweg.compare("two-flows", ["cubic", "cubik"]), "cubik")
    wrong(lambda: thalweg.compare("two-flows", ["cubic", "cubic"]), "twice")
    wrong(lambda: thalweg.assess("cubic", tmp_path / "a", quik=True), "quik")
    wrong(lambda: thalweg.hunt("cubic", "queue", tmp_path / "h", candidates=-1), "candidates")
    wrong(lambda: thalweg.sweep({"scenario": "two-flows", "grid": {"link.left-right.rate": []}}, tmp_path / "s"), "grid|values")
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    wrong(lambda: thalweg.sweep({"scenario": "two-flows"}, tmp_path), "choose a new folder with out")
    wrong(lambda: thalweg.open_sweep(tmp_path), "holds no sweep")
    wrong(lambda: thalweg.run("two-flows", set=SHORT).plot().save(tmp_path / "plot.pdf"), "pictures are")
    out = tmp_path / "o"
    wrong(lambda: thalweg.hunt("cubic", "queue", out, kinds=["flows"]), "^kinds: flows do not apply to queue: name some of rates, delays, jitter, starts$")
    wrong(lambda: thalweg.hunt("cubic", "queue", out, kinds=["flos"]), "^kinds='flos': it is one of rates, .*; did you mean `flows`")
    wrong(lambda: thalweg.hunt("cubic", "queue", out, kinds="rates"), "kinds is a list")
    wrong(lambda: thalweg.hunt("cubic", "starve", out), "^goal='starve': it is one of starvation, .*; did you mean `starvation`")
    wrong(lambda: thalweg.hunt("cubic", "queue", out, candidates=-1), "^candidates=-1: expected a whole number from 1 on, in digits$")
    wrong(lambda: thalweg.hunt("cubic", "queue", out, candidate=3), "^there is no argument or name `candidate`; did you mean `candidates`")
    wrong(lambda: thalweg.hunt("cubic", "queue", out, json=True), "`json` is set by this function")
    wrong(lambda: thalweg.assess("cubic", out, only="7.2"), "only is a list")
    wrong(lambda: thalweg.bench(time="1 m"), "^time='1 m': unknown unit")
    wrong(lambda: thalweg.bench(time=-1), "^time='-1 s': the value must not be negative")
    wrong(lambda: thalweg.send("data", "localhost"), "paths is a list")
    wrong(lambda: thalweg.models("mathys"), "there is no argument or name `mathys`; did you mean `mathis`")
    wrong(lambda: thalweg.paper("gong92", experiments="figure-14"), "experiments is a list")
    wrong(lambda: thalweg.score(Plain, limit=0), "limit=0: it is a number of seconds")


def test_values_are_never_taken_for_words_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def message(call: Any) -> str:
        with pytest.raises(thalweg.ScenarioError) as caught:
            call()
        return str(caught.value)

    out = tmp_path / "o"
    # Values that look like options.
    no_name = "a name does not begin with a space or `-`"
    assert message(lambda: thalweg.hunt("--reps", "queue", out)).startswith(no_name)
    assert message(lambda: thalweg.hunt("cubic", "--reps", out)).startswith("goal='--reps': it is one of ")
    assert message(lambda: thalweg.compare("two-flows", ["cubic", "--reps"])).startswith(f"schemes: --reps: {no_name}")
    assert no_name in message(lambda: thalweg.run("two-flows", set={"flow.shy.scheme": "--reps"}))
    assert message(lambda: thalweg.send([__file__], "localhost", "--reps")).startswith("scheme='--reps': there is no scheme `--reps`; ")
    assert message(lambda: thalweg.bench("--reps", time=0.1)).startswith("there is no scheme `--reps`; ")
    assert message(lambda: thalweg.run("--reps")).startswith("there is no file `--reps`, ")
    assert message(lambda: thalweg.paper("gong92", experiments=["--experiment"])) == "experiments: there is no experiment `--experiment`"
    assert message(lambda: thalweg.models("--reps")) == "there is no argument or name `--reps`"
    assert message(lambda: thalweg.compare("two-flows", ["cubic"], flows=["--flows"])).startswith("flows: the scenario has no flows `--flows`; ")
    # A folder named as the option that chooses it.
    (tmp_path / "--out").mkdir()
    (tmp_path / "--out" / "thesis.txt").write_text("years of work", encoding="utf-8")
    wrong = message(lambda: thalweg.sweep({"scenario": "two-flows"}, "--out"))
    assert wrong == "`--out` holds something else; choose a new folder with out"
    assert os.listdir("--out") == ["thesis.txt"]
    # Quotation marks, and the command's own words.
    quoted = "it's 'so' \"or\" `not` [possible values: none]"
    assert message(lambda: thalweg.hunt("cubic", quoted, out)).startswith(f"goal={quoted!r}: it is one of ")
    assert message(lambda: thalweg.bench(time=quoted)).startswith(f"time={quoted!r}: ")
    unknown: dict[str, Any] = {"it's": 1}
    assert message(lambda: thalweg.hunt("cubic", "queue", out, **unknown)) == "there is no argument or name `it's`"
    assert f"there is no file `{quoted}`" in message(lambda: thalweg.run(quoted))
    named = "a` --reps `b"
    assert f"`{named}`" in message(lambda: thalweg.compare("two-flows", ["cubic"], flows=[named]))
    assert message(lambda: thalweg.hunt("cubic", "queue", out, help=True)) == "there is no argument or name `help`"


def test_messages_of_commands_are_records() -> None:
    code, printed, messages, cause = _thalweg.call(["hunt", "--goal=starve", "--", "cubic"], [], "")
    (message,) = messages
    assert (code, printed, cause) == (2, "", None)
    assert (message.severity, message.kind, message.argument, message.value) == ("error", MessageKind.VALUE, "goal", "starve")
    assert message.suggestions == ["starvation"] and "starvation" in message.allowed and message.parts == []
    code, _, messages, _ = _thalweg.call(["run", "dumbbell", "--set", "duraton=5 s"], [], "")
    assert code == 2 and messages[0].kind == MessageKind.SCENARIO and ("option", "set") in messages[0].parts


def test_numbers_of_options_are_seconds_bytes_and_bits_a_second() -> None:
    whole: Any = numpy.int64(1000)
    one = thalweg.models("mathis", p=1e-3, rtt=0.05, segment=1000)
    assert one == thalweg.models("mathis", p="1e-3", rtt="50 ms", segment="1000 B")
    assert one == thalweg.models("mathis", p=numpy.float64(1e-3), rtt=numpy.float64(5e-2), segment=whole)
    assert thalweg.models("mathis", p=1e-3, rtt=5e-5)["rtt_s"] == 5e-5
    assert thalweg.bench("cubic", time=0.1 + 0.1 + 0.1)["received_bits_per_second"] > 1e4
    # Digits beyond the resolution come from computation, as in scenarios.
    real: dict[float, Any] = {0.3: 0.1 + 0.2, 0.333333333333: 1 / 3, 0.1: numpy.float32(0.1), 0.25: Fraction(1, 4), 0.666666666667: Fraction(2, 3)}
    for seconds, given in real.items():
        assert thalweg.models("mathis", p=1e-3, rtt=given)["rtt_s"] == seconds
    half: Any = numpy.float32(999.6)
    assert thalweg.models("mathis", p=1e-3, rtt=0.05, segment=half) == one
    thousandth: Any = Fraction(1, 1000)
    assert thalweg.models("mathis", p=thousandth, rtt=0.05, segment=1000) == one


@pytest.mark.parametrize("time", [numpy.timedelta64(100, "ns"), numpy.timedelta64(1, "s"), numpy.datetime64(5, "ns"), numpy.array([1, 2], "m8[s]")])
def test_times_of_numpy_are_refused(time: Any) -> None:
    """Their unit is not seconds, or is lost."""
    with pytest.raises(thalweg.ScenarioError, match="is not a value of a scenario"):
        thalweg.run("two-flows", set={"duration": time})
    with pytest.raises(thalweg.ScenarioError, match="^rtt="):
        thalweg.models("mathis", p=1e-3, rtt=time)
    with pytest.raises(thalweg.ScenarioError, match="^limit="):
        thalweg.score(Plain, limit=time)


def test_unknown_names_are_errors_of_the_package_and_of_keys(tmp_path: Path) -> None:
    result = thalweg.run("two-flows", set=SHORT)
    sweep = thalweg.sweep({"scenario": "two-flows", "set": SHORT, "grid": {"link.left-right.rate": [1e7, 2e7]}}, tmp_path / "sweep")
    calls: dict[str, Any] = {
        "there is no column `nope`; there are seed": lambda: result.flows["nope"],
        "there is no series `nope`; there are": lambda: result.series("nope"),
        "there is no factor `nope`; there are": lambda: sweep.plot(across="nope"),
        "no point has the metric `nope`; there are": lambda: sweep.plot("nope"),
        "there is no `nope`; there are fixed": lambda: thalweg.schemes()["nope"],
    }
    for words, call in calls.items():
        with pytest.raises(thalweg.ScenarioError, match=f"^{words}") as caught:
            call()
        assert isinstance(caught.value, KeyError)
    with pytest.raises(thalweg.RunError, match="report=True writes it"):
        _ = sweep.report
    with pytest.raises(thalweg.ScenarioError, match="no plot `nope`"):
        result.plot("nope")


def test_modules_of_the_package_need_no_import_of_their_own() -> None:
    program = "import thalweg; print(thalweg.aio.run.__module__, thalweg.envs.Env.__module__, hasattr(thalweg, 'nothing'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["thalweg.aio", "thalweg.envs", "False"]


def test_a_sweep_takes_what_runs_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = {**UNMARKED, "flow": [{"from": "a", "to": "b", "scheme": "cubic"}]}
    sweep: dict[str, Any] = {
        "scenario": scenario,
        "schemes": [Plain, "cubic"],
        "set": {"warmup": 0.5, "link.core.delay": numpy.float64(0.01)},
        "grid": {"link.core.rate": numpy.linspace(2e6, 8e6, 3), "duration": pandas.Series([2, 3])},
    }
    done = thalweg.sweep(sweep, "out")
    assert len(done.points) == 12 and done.failed == [] and set(done.means["scheme"]) == {"plain", "cubic"}
    single = thalweg.run(scenario, set={"warmup": 0.5, "link.core.delay": 0.01, "link.core.rate": 5e6, "duration": 3})
    rows = [row for row in done.flows.to_pandas().to_dict("records") if row["scheme"] == "cubic" and row["point"] == 8]
    assert rows[0]["fingerprint"] == single.fingerprint and str(rows[0]["sent_packets"]).isdigit()
    again = thalweg.open_sweep("out")
    assert again.document == done.document and again.means == done.means and "12 points" in str(again)
    assert thalweg.sweep(sweep, "out").document == done.document
    # Plain numbers have their unit at the axes, and in the report.
    maps = done.plot(across="link.core.rate", down="duration").svg
    assert ">link.core.rate (bit/s)</text>" in maps and ">duration (s)</text>" in maps
    assert "link.core.rate (bit/s)" in thalweg.sweep(sweep, "out", report=True).report.path.read_text(encoding="utf-8")
    assert [factor.get("unit") for factor in done.document["factors"]] == ["bit/s", "s", None]
    failing = thalweg.sweep({**sweep, "grid": {"duration": [2.0, 0.25]}, "schemes": ["cubic"]}, "failing")
    (failed,) = failing.failed
    with pytest.raises(thalweg.ScenarioError, match="warm-up"):
        eval(failed["call"], {"thalweg": thalweg, "scenario": scenario})


def test_help_matches_the_stubs() -> None:
    stub = ast.parse((Path(thalweg.__file__).parent / "_thalweg.pyi").read_text(encoding="utf-8"))
    reported = 0
    for of in (node for node in stub.body if isinstance(node, ast.ClassDef)):
        owner = getattr(_thalweg, of.name)
        if ast.get_docstring(of):
            assert inspect.getdoc(owner) == ast.get_docstring(of), of.name
        above: ast.stmt | None = None
        for node in of.body:
            if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
                assert inspect.getdoc(getattr(owner, node.name)) == text, f"{of.name}.{node.name}"
                reported += 1
            if isinstance(node, ast.Expr) and isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name):
                found = inspect.getattr_static(owner, above.target.id)
                if inspect.isdatadescriptor(found):
                    assert isinstance(node.value, ast.Constant) and inspect.getdoc(found) == inspect.cleandoc(str(node.value.value)), above.target.id
                    reported += 1
            above = node
    assert reported > 20


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
    assert tomllib.loads(_toml.toml_document(value)) == value
    for wrong in (float("nan"), None, {1: 2}, b"x"):
        with pytest.raises(TypeError):
            _toml.toml_document({"key": wrong})


def test_mistakes_are_exceptions_with_the_text_of_the_command() -> None:
    with pytest.raises(thalweg.ScenarioError, match="did you mean `dumbbell`"):
        thalweg.run("dumbell")
    with pytest.raises(thalweg.ScenarioError, match="did you mean `duration`"):
        thalweg.run("dumbbell", set={"duraton": "5 s"})
    with pytest.raises(thalweg.ScenarioError, match="schemes"):
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
    svg = result.plot("rtt-cdf", "ssthresh", time=(0.5, 1.5)).svg
    assert "Round-trip times: share of samples" in svg and "Slow-start threshold, segments" in svg and "Goodput" not in svg
    for wrong, words in (("rtt-cfd", "there is no plot `rtt-cfd`: did you mean `rtt-cdf`"), ("zzzzzz", "one of goodput, queue")):
        with pytest.raises(thalweg.ScenarioError, match=words):
            result.plot(wrong)
    with pytest.raises(thalweg.ScenarioError, match="a pair of seconds"):
        result.plot(time=(2.0, 1.0))
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
        # Background jobs start with the signal ignored.
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
    output, _ = child.communicate(timeout=60)
    assert output.startswith("interrupted ") and child.returncode == 0


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
    known = done.flows.to_pandas()
    assert flows[list(known.columns)].equals(known) and pyarrow.table(done.flows).num_rows == len(flows)
    # As in the tables of runs, columns without values are left out; otherwise they have the same metrics.
    run = pyarrow.table(thalweg.compare("two-flows", ["cubic", "vegas"], set=SHORT).flows).column_names
    assert not known.isna().all().any() and "jitter_s" in flows.columns and "jitter_s" not in known.columns
    assert set(run) == set(known.columns) - {"point", "link.left-right.rate", "link.left-right.rate_bps"}
    assert pyarrow.table(done.flows).column_names == list(known.columns)
    means = pandas.DataFrame(done.means)
    assert list(means["scheme"]) == ["cubic", "vegas"] * 2 and means["goodput_bps"].min() > 1e6
    maps = done.plot("goodput_bps").svg
    # A single map, over rates and schemes.
    assert maps.count('class="heat"') == 1 and maps.count("<rect") == 4 and "20 Mbit/s" in maps
    assert done.plot(across="scheme").svg.count("<rect") == 4
    for wrong in ({"metric": "godput"}, {"across": "link.core.rate"}):
        with pytest.raises(KeyError, match="godput|link.core.rate"):
            done.plot(**wrong)
    assert set(flows["scheme"]) == {"cubic", "vegas"} and set(flows["link.left-right.rate_bps"]) == {1e7, 2e7}
    written = Path(done.flows).read_bytes()
    Path("s.toml").write_text(_toml.toml_document(sweep), encoding="utf-8")
    run_command("sweep", "s.toml", "--quiet")
    assert Path("s/flows.parquet").read_bytes() == written
    failing = thalweg.sweep({"scenario": "two-flows", "grid": {"duration": ["6 s", "4 s"]}}, "failing")
    assert [point["point"] for point in failing.failed] == [2] and "thalweg run" in failing.failed[0]["command"]
    assert "call" not in failing.failed[0] and failing.failed[0]["command"] in str(failing)
    with pytest.raises(thalweg.ScenarioError, match="needs a folder"):
        thalweg.sweep(sweep)
    with pytest.raises(thalweg.ScenarioError, match="no link `core`"):
        thalweg.sweep({"scenario": "two-flows", "grid": {"link.core.rate": ["1 Mbit/s"]}}, "wrong")


def test_analyses_are_dictionaries() -> None:
    mathis = thalweg.models("mathis", p="1e-3", rtt="50 ms")
    assert mathis["results"][0]["goodput_bps"] > 1e6
    study = thalweg.paper("gong92", experiments=["figure-14"], quick=True)
    assert study["paper"] == "gong92" and any(claim["verdict"] == "holds" for claim in study["claims"])
    found = thalweg.explore("adaptive-ack", window=2, losses=1)
    assert found["complete"] and found["counterexample"] is None
    assert thalweg.explore("adaptive-ack", window=2, losses=1, slow_reader=False) == found
    violated = thalweg.explore("sscop", window=2, losses=0, delays=1, expiries=0)
    assert "Desynchronised" in violated["counterexample"]["what"] and len(violated["counterexample"]["trace"]) > 1
    with pytest.raises(thalweg.RunError, match="not all states were visited"):
        thalweg.explore("adaptive-ack", memory=1)


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(thalweg.ScenarioError, match="holds something else"):
        thalweg.sweep({"scenario": "two-flows"}, tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_progress_is_reported_and_its_exceptions_end_the_call() -> None:
    reported: list[tuple[float | None, str]] = []

    def show(share: float | None, words: str) -> None:
        reported.append((share, words))
        if share:
            raise InterruptedError("enough")

    thalweg.show_progress(show)
    try:
        with pytest.raises(InterruptedError, match="enough"):
            thalweg.run("dumbbell", set={"duration": "100000 s"})
        assert 0 < (reported[-1][0] or 0) < 1 and "of 100000.0 s" in reported[-1][1]
        reported.clear()
        thalweg.show_progress(False)
        thalweg.run("dumbbell", set=SHORT)
        assert reported == []
    finally:
        thalweg.show_progress()


def test_notebooks_and_terminals_show_what_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    put: list[tuple[str, str]] = []
    import IPython

    monkeypatch.setattr(IPython, "get_ipython", lambda: type("Shell", (), {"kernel": 1}))
    monkeypatch.setattr("IPython.display.display", lambda data, **_: put.append(("first", data["text/html"])))
    monkeypatch.setattr("IPython.display.update_display", lambda data, **_: put.append(("then", data["text/html"])))
    monkeypatch.setattr(_progress, "FIRST_DELAY", 0.0)
    monkeypatch.setattr(_progress, "INTERVAL", 0.0)
    times = iter([0.0, 1.0, 3.0, 90.0, 4000.0])
    monkeypatch.setattr("thalweg._progress.time.monotonic", lambda: next(times))
    with _progress.progress_shown() as show:
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
    with _progress.progress_shown() as show:
        assert show is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    with _progress.progress_shown() as show:
        assert show is not None
        show(0.5, "a line that is longer than that")
    shown = capsys.readouterr().err
    assert shown.startswith("\r 50%  a line that i\x1b[K") and shown.endswith("\r\x1b[K")
