"""Wrong arguments of every function: the package's own errors, in Python's words."""

import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import thalweg
import thalweg.envs
from thalweg import Controller

LINK: dict[str, Any] = {"name": "core", "between": ["a", "b"], "rate": "10 Mbit/s", "delay": "20 ms", "queue": "1 bdp"}
FLOW: dict[str, Any] = {"from": "a", "to": "b", "scheme": "cubic"}
PATH: dict[str, Any] = {"duration": "2 s", "warmup": "500 ms", "link": [LINK], "flow": [FLOW]}
AGENT: dict[str, Any] = {**PATH, "flow": [{**FLOW, "scheme": "agent"}]}
SHORT = {"duration": "2 s", "warmup": "500 ms"}
SWEEP = {"scenario": "two-flows", "set": SHORT, "schemes": ["cubic", "vegas"]}
ANY: Any = thalweg
ENVS: Any = thalweg.envs


class Mine(Controller):
    def on_ack(self, sample: thalweg.Sample) -> None:
        pass

    def on_loss(self, sample: thalweg.Sample) -> None:
        pass


class Marked(Mine):
    ecn = "ect1"


class Packets(Mine):
    per_packet: ClassVar[Any] = "no"


class Later(Mine):
    async def on_ack(self, sample: thalweg.Sample) -> None:  # type: ignore[override]
        self.window = 100


class Lazy(Mine):
    def on_loss(self, sample: thalweg.Sample) -> Iterator[None]:  # type: ignore[override]
        yield


async def made() -> Mine:
    return Mine()


@pytest.fixture(autouse=True)
def a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("data").write_text("content")
    yield
    # An assessment makes its folder before it reads the scheme.
    assert {path.name for path in tmp_path.iterdir()} <= {"data", "assessment"}


Call = Callable[[], Any]

NAMES: dict[str, tuple[Call, str]] = {
    "scenario": (lambda: ANY.run("dumbell"), "did you mean `dumbbell`?"),
    "scenario unlike any": (lambda: ANY.run("zzzzqq"), "`thalweg.scenarios()` shows them"),
    "scenario to validate": (lambda: ANY.validate("dumbell"), "did you mean `dumbbell`?"),
    "scenario to sweep": (lambda: ANY.sweep({"scenario": "dumbell"}, "out"), "did you mean `dumbbell`?"),
    "scenario of an environment": (lambda: ENVS.Env("dumbell"), "did you mean `dumbbell`?"),
    "scenario of a battery": (lambda: ANY.score(Mine, {"a": "dumbell"}), "did you mean `dumbbell`?"),
    "scenario of the catalog": (lambda: ANY.scenarios()["dumbell"], "did you mean `dumbbell`?"),
    "scheme": (lambda: ANY.compare("dumbbell", ["cubicc"]), "schemes: there is no scheme `cubicc`; did you mean `cubic`?"),
    "scheme of a scenario": (lambda: ANY.run({**PATH, "flow": [{**FLOW, "scheme": "cubicc"}]}), "did you mean `cubic`?"),
    "scheme of a sweep": (lambda: ANY.sweep({**SWEEP, "schemes": ["cubicc"]}, "out"), "did you mean `cubic`?"),
    "scheme to assess": (lambda: ANY.assess("cubicc"), "did you mean `cubic`?"),
    "scheme to hunt": (lambda: ANY.hunt("cubicc", "queue"), "did you mean `cubic`?"),
    "scheme to hunt against": (lambda: ANY.hunt("cubic", "queue", against="cubicc"), "did you mean `cubic`?"),
    "scheme to bench": (lambda: ANY.bench("cubicc"), "did you mean `cubic`?"),
    "scheme to send with": (lambda: ANY.send(["data"], "127.0.0.1", "cubicc"), "scheme='cubicc': there is no scheme `cubicc`"),
    "reference of a score": (lambda: ANY.score(Mine, reference="cubicc"), "did you mean `cubic`?"),
    "scheme of the catalog": (lambda: ANY.schemes()["cubicc"], "did you mean `cubic`?"),
    "option of a scheme": (lambda: ANY.compare("dumbbell", ["cubic:bta=0.5"]), "did you mean `beta`?"),
    "key": (lambda: ANY.run("dumbbell", set={"duraton": "5 s"}), "did you mean `duration`?"),
    "key of a scheme": (lambda: ANY.run({**PATH, "flow": [{**FLOW, "scheme": {"base": "cubic", "segmnt": 1}}]}), "did you mean `segment`?"),
    "key of a sweep": (lambda: ANY.sweep({**SWEEP, "schms": []}, "out"), "did you mean `schemes`?"),
    "link": (lambda: ANY.run("dumbbell", set={"link.botleneck.rate": 1e6}), "did you mean `bottleneck`?"),
    "node": (lambda: ANY.run({**PATH, "flow": [{**FLOW, "to": "c"}]}), "there is no node `c`"),
    "discipline": (lambda: ANY.run({**PATH, "link": [{**LINK, "queue": {"discipline": "codle"}}]}), "did you mean `codel`?"),
    "flows": (lambda: ANY.compare("two-flows", ["cubic"], flows=["shyy"]), "did you mean `shy`?"),
    "paper": (lambda: ANY.paper("gong9"), "did you mean `gong92`?"),
    "experiment": (lambda: ANY.paper("gong92", experiments=["x"]), "experiments: there is no experiment `x`"),
    "protocol": (lambda: ANY.explore("sscp"), "did you mean `sscop`?"),
    "formula": (lambda: ANY.models("mathys"), "did you mean `mathis`?"),
    "plan": (lambda: ANY.assess("cubic", pack="c5"), "did you mean `c4`?"),
    "scheme of a recording": (lambda: ANY.infer("data", scheme="cubicc"), "did you mean `cubic`?"),
}


@pytest.mark.parametrize("case", NAMES)
def test_an_unknown_name_is_an_error_of_names(case: str) -> None:
    call, words = NAMES[case]
    with pytest.raises(thalweg.UnknownNameError, match=re.escape(words)) as caught:
        call()
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, thalweg.ScenarioError)


def test_other_errors_are_not_of_unknown_names() -> None:
    calls: list[Call] = [
        lambda: ANY.run("dumbbell", set={"duration": "5 sec"}),
        lambda: ANY.explore("sscop", windw=3),
        lambda: ANY.compare("dumbbell", []),
    ]
    for call in calls:
        with pytest.raises(thalweg.ScenarioError) as caught:
            call()
        assert not isinstance(caught.value, thalweg.UnknownNameError), caught.value


WRONG: dict[str, tuple[Call, str]] = {
    "number as scenario": (lambda: ANY.run(3), "a scenario is a file, the name of a built-in one, or a dictionary, and not of type int"),
    "nothing as scenario": (lambda: ANY.run(None), "a scenario is a file, the name of a built-in one"),
    "list as scenario": (lambda: ANY.run([]), "a scenario is a file, the name of a built-in one"),
    "bytes as scenario": (lambda: ANY.validate(b"dumbbell"), "a scenario is a file, the name of a built-in one"),
    "number in place of changes": (lambda: ANY.run("dumbbell", set=3), "set is a dictionary"),
    "list of numbers as changes": (lambda: ANY.run("dumbbell", set=[3]), "set is a dictionary"),
    "number in place of controllers": (lambda: ANY.run("dumbbell", controllers=3), "controllers is a dictionary of names and classes, and not 3"),
    "list of controllers": (lambda: ANY.run("dumbbell", controllers=[Mine]), "controllers is a dictionary"),
    "ecn of a controller": (lambda: ANY.run("dumbbell", controllers={"mine": Marked}), "Marked.ecn='ect1': it is one of None, 'classic' (ECT(0), RFC 3168)"),
    "ecn of a compared controller": (lambda: ANY.compare("dumbbell", [Marked]), "it is one of None, 'classic'"),
    "name that begins with a hyphen": (lambda: ANY.run("dumbbell", controllers={"-mine": Mine}), "after the first, `-`, and '-mine' has not"),
    "class without a name": (lambda: ANY.compare("dumbbell", [type("__", (Mine,), {})]), "and '' has not"),
    "per_packet of a controller": (lambda: ANY.run("dumbbell", controllers={"mine": Packets}), "Packets.per_packet='no': it is True or False"),
    "coroutine of a controller": (lambda: ANY.compare("dumbbell", [Later]), "Later.on_ack is a coroutine or a generator"),
    "generator of a controller": (lambda: ANY.bench(Lazy), "Lazy.on_loss is a coroutine or a generator"),
    "coroutine as factory": (lambda: ANY.run("dumbbell", controllers={"mine": made}), "the factory of the controller `mine` is a coroutine"),
    "huge interval": (lambda: ENVS.Env(AGENT, interval=10**400), "it is a number of seconds greater than 0"),
    "ecn of a policy": (lambda: ENVS.controller(len, ecn="ect1"), "ecn='ect1': it is one of None"),
    "ecn of an environment": (lambda: ENVS.Env(AGENT, ecn="ect1"), "ecn='ect1': it is one of None"),
    "number as flows": (lambda: ANY.compare("dumbbell", ["cubic"], flows=[3]), "flows is a list of texts"),
    "dictionary as out": (lambda: ANY.sweep("dumbbell", {}), "out={}: it is a path"),
    "number as out": (lambda: ANY.sweep(SWEEP, 3), "out=3: it is a path"),
    "number as sweep": (lambda: ANY.sweep(3, "out"), "a sweep is a file or a dictionary, and not of type int"),
    "nothing as sweep": (lambda: ANY.sweep(None), "a sweep is a file or a dictionary"),
    "number as shard": (lambda: ANY.sweep(SWEEP, "out", shard=3), "shard is a list"),
    "shard of one": (lambda: ANY.sweep(SWEEP, "out", shard=(1,)), "shard=(1,): it is a pair"),
    "jobs of a sweep": (lambda: ANY.sweep(SWEEP, "out", jobs="x"), "jobs='x': it is a whole number from 1"),
    "number as cluster": (lambda: ANY.sweep(SWEEP, "out", cluster=3), "cluster=3: it is the address of a scheduler"),
    "empty cluster": (lambda: ANY.sweep(SWEEP, "out", cluster=""), "cluster='': it is a path"),
    "number as folder of a sweep": (lambda: ANY.open_sweep(3), "folder=3: it is a path"),
    "number as section": (lambda: ANY.assess("cubic", only=[7.2]), "only is a list of texts"),
    "number as assessment": (lambda: ANY.assess("cubic", 3), "out=3: it is a path"),
    "number as kind": (lambda: ANY.hunt("cubic", "queue", kinds=[3]), "kinds is a list of texts"),
    "number as hunt": (lambda: ANY.hunt("cubic", "queue", 3), "out=3: it is a path"),
    "unknown section": (lambda: ANY.assess("cubic", only=["99"]), "no section `99`; there are 5.1.1"),
    "unknown goal": (lambda: ANY.hunt("cubic", "queu"), "goal='queu': it is one of starvation"),
    "number as server": (lambda: ANY.bench("cubic", 3), "server=3: it is a text"),
    "empty server": (lambda: ANY.bench("cubic", ""), "server='': it is a text"),
    "no file": (lambda: ANY.send([], "host"), 'paths is empty: it is a list, such as ["data"]'),
    "number as file": (lambda: ANY.send([3], "host"), "paths=3: it is a path"),
    "number as receiver": (lambda: ANY.send(["data"], 3), "receiver=3: it is a text"),
    "empty receiver": (lambda: ANY.send(["data"], ""), "receiver='': it is a text"),
    "receiver with a path": (lambda: ANY.send(["data"], "host:data"), "`host:data` is not HOST:PORT"),
    "code as receiver": (lambda: ANY.send(["data"], "4821-0937"), "is a code for pairing, where the receiver was expected"),
    "list as option": (lambda: ANY.send(["data"], "host", rate=[1]), "rate=[1]: it is a text, a number"),
    "nothing as option": (lambda: ANY.send(["data"], "host", trust=None), "trust=None: it is a text, a number"),
    "number as inbox": (lambda: ANY.recv(3), "folder=3: it is a path"),
    "empty inbox": (lambda: ANY.recv(""), "folder='': it is a path"),
    "inbox of another host": (lambda: ANY.recv("nas:inbox"), "where one of this host was expected. A folder of that name is ./nas:inbox"),
    "code as inbox": (lambda: ANY.recv("4821-0937"), "is a code for pairing, where a folder was expected."),
    "number as paper": (lambda: ANY.paper(3), "name=3: it is a text"),
    "text in place of experiments": (lambda: ANY.paper("gong92", experiments="x"), "experiments is a list"),
    "number as experiment": (lambda: ANY.paper("gong92", experiments=[3]), "experiments is a list of texts"),
    "number as protocol": (lambda: ANY.explore(3), "name=3: it is a text"),
    "window of another type": (lambda: ANY.explore("sscop", window="x"), "window='x': expected a whole number from 1 to 64"),
    "window beyond": (lambda: ANY.explore("sscop", window=65), "window=65: expected a whole number from 1 to 64"),
    "losses of another type": (lambda: ANY.explore("sscop", losses="x"), "losses='x': expected a whole number from 0 to 255"),
    "number as recording": (lambda: ANY.infer(3), "recording=3: it is a path"),
    "empty recording": (lambda: ANY.infer(""), "recording='': it is a path"),
    "number as formula": (lambda: ANY.models(3), "name=3: it is a text"),
    "number as battery": (lambda: ANY.score(Mine, 3), "battery is a dictionary"),
    "limit": (lambda: ANY.score(Mine, limit="x"), "limit='x': it is a number of seconds greater than 0"),
    "number as progress": (lambda: ANY.show_progress(3), "how is a function, and not 3"),
    "number as interval": (lambda: ENVS.Env(AGENT, interval="x"), "interval='x': it is a number of seconds greater than 0"),
    "longest step": (lambda: ENVS.Env(AGENT, longest="x"), "longest='x': it is a number of seconds"),
    "delay": (lambda: ENVS.Env(AGENT, delay=-1), "delay=-1: it is a number of seconds, 0 or more"),
    "varied number": (lambda: ENVS.Env(AGENT, vary=3), "vary is a dictionary"),
    "number as reward": (lambda: ENVS.Env(AGENT, reward=3), "reward is a function, and not 3"),
    "text as pace": (lambda: ENVS.VectorEnv(AGENT, 2, pace="x"), "pace='x': it is True or False"),
    "mode of resets": (lambda: ENVS.VectorEnv(AGENT, 2, autoreset_mode="x"), "autoreset_mode='x': it is one of"),
    "number as policy": (lambda: ENVS.controller(3), "policy is a function, and not 3"),
}


@pytest.mark.parametrize("make", [lambda: Later(), functools.partial(Packets)])
def test_instances_of_factories_are_checked_too(make: Any) -> None:
    with pytest.raises(thalweg.RunError) as caught:
        thalweg.compare("dumbbell", ["mine"], set=SHORT, controllers={"mine": make})
    assert isinstance(caught.value.__cause__, thalweg.ScenarioError), caught.value.__cause__


def call_with(function: str, name: str, value: Any) -> Any:
    arguments: dict[str, tuple[Any, ...]] = {"send": (["data"], "host"), "recv": ("inbox",), "bench": ("cubic",)}
    return getattr(thalweg, function)(*arguments[function], **{name: value})


HINTS: dict[str, tuple[Call, str]] = {
    f"{name}={value!r} of {function}": (functools.partial(call_with, function, name, value), words)
    for function, name, value, words in [
        ("send", "bwlimit", 5, "; the limit is rate, such as \"10 Mbit/s\""),
        ("send", "port", 5, "; the port follows the receiver: \"HOST:PORT\""),
        ("send", "recursive", True, "; folders are sent whole"),
        ("send", "archive", True, "always sent; owners and attributes never are (see strict)"),
        ("send", "compress", True, "; nothing is compressed in transit: compress it first"),
        ("send", "update", True, "; the receiver decides what it replaces"),
        ("send", "dry_run", True, "; there is no dry run; strict sends nothing"),
        ("send", "verbose", True, "; the value that is returned has the details"),
        ("send", "rsh", "ssh", "; no ssh is used"),
        ("send", "partial", True, "interrupted transfers resume by themselves"),
        ("send", "ecn", "ect1", "there is no argument or name `ecn`"),
        ("recv", "port", 5, "; the port is that of listen, such as \"4747\""),
        ("recv", "yes", True, "; trust=\"new\" admits any sender without a prompt"),
        ("recv", "out", "x", "; the folder is the first argument"),
        ("bench", "client", True, "; the server's address follows the scheme"),
        ("bench", "bandwidth", 5, "\"sstp:rate=10Mbit/s\" sends at a fixed one"),
        ("bench", "bytes", 5, "; a measurement ends after a time: time"),
    ]
}


TRUTH_VALUES: dict[str, tuple[Call, str]] = {
    "truth value as probability": (lambda: ANY.models("mathis", p=True, rtt=0.05), "p=True: it is a value, and not True or False"),
    "truth value as losses": (lambda: ANY.explore("adaptive-ack", losses=False), "losses=False: it is a value"),
    "truth value as candidates": (lambda: ANY.hunt("cubic", "queue", candidates=True), "candidates=True: it is a value"),
    "truth value as plan": (lambda: ANY.assess("cubic", pack=False), "pack=False: it is a value"),
    "truth value as peer": (lambda: ANY.recv("inbox", trust=True), "trust=True: it is a value"),
    "unknown option that is off": (lambda: ANY.explore("adaptive-ack", slow_readr=False), "`slow_readr`; did you mean `slow_reader`?"),
}

WRONG |= HINTS | TRUTH_VALUES


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_argument_is_an_error_in_pythons_words(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(thalweg.ScenarioError, match=re.escape(words)) as caught:
        call()
    assert not re.search(r"--[a-z]|`thalweg [a-z]|FILES|DIR\b|\bRATE\b", str(caught.value)), caught.value


def test_wrong_arguments_of_results_are_errors_of_the_package(tmp_path_factory: pytest.TempPathFactory) -> None:
    result: Any = thalweg.run("two-flows", set=SHORT)
    sweep: Any = thalweg.sweep(SWEEP, tmp_path_factory.mktemp("sweep"))
    cases: list[tuple[Call, type[Exception], str]] = [
        (lambda: result.flows[3], thalweg.ScenarioError, "a column is chosen by its name, and not by 3"),
        (lambda: result.flows["goodput"], thalweg.UnknownNameError, "there is no column `goodput`; there are seed"),
        (lambda: result.series("windw"), thalweg.UnknownNameError, "did you mean `window`?"),
        (lambda: result.series(3), thalweg.UnknownNameError, "there is no series `3`"),
        (lambda: result.plot("rtt-cfd"), thalweg.UnknownNameError, "did you mean `rtt-cdf`?"),
        (lambda: result.plot(3), thalweg.ScenarioError, "plots is a list of texts"),
        (lambda: result.plot(time=3), thalweg.ScenarioError, "a time is a pair of seconds"),
        (lambda: result.plot(time=("a", "b")), thalweg.ScenarioError, "a time is a pair of seconds"),
        (lambda: result.plot().save(3), thalweg.ScenarioError, "path=3: it is a path"),
        (lambda: sweep.plot("goodput_bp"), thalweg.UnknownNameError, "did you mean `goodput_bps`?"),
        (lambda: sweep.plot(3), thalweg.UnknownNameError, "no point has the metric `3`"),
        (lambda: sweep.plot(across="sceme"), thalweg.UnknownNameError, "did you mean `scheme`?"),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind, match=re.escape(words)):
            call()
