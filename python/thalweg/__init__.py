"""Thalweg: a transport-protocol laboratory.

>>> import thalweg
>>> result = thalweg.run("dumbbell", seed=7, set={"duration": "5 s"})
>>> result.flows["goodput_bps"]
>>> thalweg.compare("dumbbell", ["cubic", "vegas"], reps=5).plot()

Python controllers derive from `thalweg.Controller`; environments for reinforcement learning are in `thalweg.envs`.

Results and fingerprints are the same as with the command `thalweg` of the same version. Long calls run on all cores without
Python's lock, and end at Ctrl-C.
"""

import functools
import importlib
import inspect
import json
import os
import re
import secrets
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from . import _arguments as arguments
from . import _thalweg
from ._catalog import Catalog
from ._controllers import Factory, check_class
from ._errors import Error, RunError, ScenarioError, ScenarioWarning, TimeLimitError, UnknownNameError, error_from_messages, issue_warnings, warn_of
from ._origins import code_of_package, modules_of_user
from ._progress import progress_shown, show_progress
from ._results import JOIN, Figure, ReportPage, Result, StoredTable, SweepResult, Table, python_call
from ._score import BATTERY, Score, ScorePart, evaluate_controller
from ._thalweg import Controller, Sample
from ._toml import Loaded, Scenario, absolute, named, number, texts, toml_changes, toml_document, with_unit, with_units_of_texts

__version__ = _thalweg.version

__all__ = [
    "BATTERY",
    "Catalog",
    "Controller",
    "Error",
    "Figure",
    "ReportPage",
    "Result",
    "RunError",
    "Sample",
    "ScenarioError",
    "ScenarioWarning",
    "Score",
    "ScorePart",
    "StoredTable",
    "SweepResult",
    "Table",
    "TimeLimitError",
    "UnknownNameError",
    "Verdict",
    "assess",
    "bench",
    "compare",
    "explore",
    "hunt",
    "infer",
    "key",
    "metrics",
    "models",
    "open_sweep",
    "paper",
    "recv",
    "run",
    "scenarios",
    "schemes",
    "score",
    "send",
    "show_progress",
    "sweep",
    "validate",
]


if TYPE_CHECKING:
    from . import aio, envs, marl, sb3  # noqa: F401

MAX_REPS = _thalweg.max_reps
"""Maximum number of replications, as in the command: each needs memory."""

Controllers = Mapping[str, Callable[[], Controller]]


def _fail(code: int, messages: Sequence[_thalweg.Message], cause: BaseException | None) -> NoReturn:
    raise error_from_messages(code, messages, cause) from cause


def _factories(controllers: Controllers | None) -> dict[str, Callable[[], Controller]]:
    """Returns a copy of the controllers by name; scenarios and schemes add to it."""
    if controllers is not None:
        arguments.mapping("controllers", controllers, "names and classes")
    factories = dict(controllers or {})
    for name, make in factories.items():
        if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
            raise ScenarioError(f"a controller's name has small letters, digits and, after the first, `-`, and {name!r} has not")
        if isinstance(make, type) and not issubclass(make, Controller):
            raise ScenarioError(f"the class `{make.__qualname__}` does not derive from `thalweg.Controller`")
        if not callable(make):
            kind = type(make).__name__
            raise ScenarioError(f"the controller `{name}` must be a class or a factory of instances, not of type {kind}")
        if isinstance(make, type):
            check_class(make)
        elif inspect.iscoroutinefunction(make) or inspect.isgeneratorfunction(make):
            raise ScenarioError(f"the factory of the controller `{name}` is a coroutine or a generator: a factory returns an instance")
        elif not isinstance(make, Factory):
            factories[name] = Factory(make)
        if name in _known_schemes():
            raise ScenarioError(f"there is a scheme `{name}` already; choose another name for the controller")
    return factories


@functools.cache
def _known_schemes() -> frozenset[str]:
    return frozenset({*schemes(), "agent"})


_stop: ContextVar[_thalweg.Stop | None] = ContextVar("stop", default=None)
"""Stop request for the calls of this context, set by `aio`."""


def _call_command(
    words: Sequence[str], controllers: Controllers, stamp: str = ""
) -> tuple[int, str, list[_thalweg.Message], BaseException | None]:
    """Runs a command; returns its exit code, output and messages, and the exception of a controller that made it fail."""
    checked = [arguments.unicode(word) for word in words]
    with progress_shown() as show:
        return _thalweg.call(checked, list(controllers.items()), stamp, _stop.get(), show)


def _call(words: Sequence[str], controllers: Controllers | None = None) -> str:
    code, printed, messages, cause = _call_command(words, _factories(controllers))
    if code != 0:
        _fail(code, messages, cause)
    issue_warnings(messages)
    return printed


def _json(words: Sequence[str], named: Sequence[str] = (), controllers: Controllers | None = None) -> dict[str, Any]:
    """Returns the document of a command with these options, and these arguments after them."""
    answer: dict[str, Any] = json.loads(_call([*words, "--json", "--quiet", *_after_options(named)], controllers))
    return answer


def _text(scenario: Scenario, factories: dict[str, Callable[[], Controller]] | None = None) -> tuple[str, str | None]:
    """Returns the name of a scenario, and its text if it is a dictionary. Adds controller classes in it to `factories`."""
    if isinstance(scenario, Loaded):
        return scenario.name, scenario.text
    if isinstance(scenario, Mapping):
        return "scenario", toml_document(_with_names(scenario, factories) if factories is not None else scenario)
    return named(scenario), None


def _with_names(of: Any, factories: dict[str, Callable[[], Controller]]) -> Any:
    """Returns a value with controller classes replaced by their names."""
    if isinstance(of, type):
        return _named(of, factories)
    if isinstance(of, Mapping):
        return {name: _with_names(item, factories) for name, item in of.items()}
    if isinstance(of, (list, tuple)):
        return [_with_names(item, factories) for item in of]
    return of


def _run_schemes(
    scenario: Scenario,
    schemes: Iterable[str | type[Controller]],
    seed: SupportsIndex | None,
    set: Mapping[str, Any] | Sequence[str] | None,
    reps: SupportsIndex,
    jobs: SupportsIndex | None,
    controllers: Controllers | None,
    is_candidate: bool = False,
    limit: float | None = None,
    flows: Iterable[str] = (),
) -> Result:
    factories = _factories(controllers)
    names = [_named(scheme, factories) for scheme in schemes]
    name, text = _text(scenario, factories)
    words = toml_changes(_with_names(set, factories))
    first = None if seed is None else arguments.integer("seed", seed, 0, 2**64 - 1)
    times, workers = arguments.integer("reps", reps, 1, MAX_REPS), None if jobs is None else arguments.integer("jobs", jobs, 1, 2**16)
    with progress_shown() as show:
        measured, code, messages, cause = _thalweg.run(
            name, text, words, names, list(flows), first, times, workers, list(factories.items()), is_candidate, limit, _stop.get(), show
        )
    if measured is None:
        _fail(code, messages, cause)
    issue_warnings(measured.messages())
    return Result(measured)


def run(
    scenario: Scenario,
    *,
    seed: SupportsIndex | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    reps: SupportsIndex = 1,
    jobs: SupportsIndex | None = None,
    controllers: Controllers | None = None,
) -> Result:
    """Runs a scenario: a file, the name of a built-in one, or a dictionary. `reps` is the number of replications, with consecutive seeds.
    `controllers` maps scheme names to classes that derive from `Controller`; each flow has its instance."""
    return _run_schemes(scenario, [], seed, set, reps, jobs, controllers)


def compare(
    scenario: Scenario,
    schemes: Iterable[str | type[Controller]],
    *,
    flows: Iterable[str] = (),
    seed: SupportsIndex | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    reps: SupportsIndex = 1,
    jobs: SupportsIndex | None = None,
    controllers: Controllers | None = None,
) -> Result:
    """Runs a scenario with each of several schemes, with the same traffic and losses. Schemes may be classes that derive from
    `Controller`, named in lower case. With `flows` only the groups of flows with these names use the schemes: texts and pictures cover
    these groups, and `document["compared"]` has their metrics, their share, and the other groups' results."""
    groups = arguments.texts("flows", flows, "web")
    every = arguments.items("schemes", schemes, "cubic")
    if not every:
        raise ScenarioError("there is no scheme to compare")
    return _run_schemes(scenario, every, seed, set, reps, jobs, controllers, flows=groups)


def _named(scheme: str | type[Controller], controllers: dict[str, Callable[[], Controller]]) -> str:
    """Returns the name of a scheme; adds a class to the controllers."""
    if isinstance(scheme, str):
        return arguments.unicode(scheme)
    if not isinstance(scheme, type):
        raise ScenarioError(f"a scheme is a name or a class, and not of type {type(scheme).__name__}: name others in controllers")
    name = scheme.__name__.lower().strip("_").replace("_", "-")
    if controllers.get(name, scheme) is not scheme:
        raise ScenarioError(f"there are two controllers of the name `{name}`: name them in controllers")
    controllers |= _factories({name: scheme})
    return name


def _named_alone(scheme: str | type[Controller], controllers: dict[str, Callable[[], Controller]]) -> str:
    """Returns the name of a scheme that runs without a scenario of the caller's, in which no agent can control it."""
    name = _named(scheme, controllers)
    if name.partition(":")[0] == "agent":
        raise UnknownNameError("there is no scheme `agent` outside of environments: `thalweg.envs.controller` makes a controller of a policy")
    return name


def _stamp(controllers: Controllers, key: str | None, is_shard: bool = False) -> str:
    """Returns the text by which later calls find the saved runs of this one; results show its first line. With controllers and without a
    key it is another one at each call: only the program knows all that they depend on, such as policies, files and clocks."""
    if key is not None and not arguments.text("key", key).isprintable():
        raise ScenarioError(f"key={key!r}: it is a text of one line")
    if not controllers and key is None:
        return ""
    if key is None and is_shard:
        raise ScenarioError('the shards of a sweep with controllers need the same key to be joined, such as key="1"')
    names = sorted(controllers)
    if key is None:
        listed = ", ".join(f"`{name}`" for name in names)
        warn_of([f'these runs of {listed} are not reused by later calls: give them a key, such as key="1", and change it with the controllers'])
    shown = ", ".join([*names, *([] if key is None else [f"key {key}"])])
    return f"{shown}\n{code_of_package()} {secrets.token_hex(16) if key is None else ''}"


def score(
    controller: Callable[[], Controller],
    battery: Mapping[str, Scenario] = BATTERY,
    *,
    reference: str = "cubic",
    seed: SupportsIndex | None = None,
    reps: SupportsIndex = 2,
    jobs: SupportsIndex | None = None,
    limit: float = 60.0,
) -> Score:
    """Scores a controller on each scenario of a battery, relative to a reference with the same traffic and losses. The controller may use
    its samples only: files, network, threads and simulations are refused. `reps` is the number of replications. Without `seed` the seeds are
    drawn at random; the score states them. An exception of the controller is raised here, as by `run`; a scenario that takes more than
    `limit` seconds is interrupted with a `TimeLimitError`."""
    arguments.seconds("limit", limit)
    if not arguments.mapping("battery", battery, "names and scenarios"):
        raise ScenarioError("a battery has at least one scenario")

    factories = {"candidate": controller}

    def compared(scenario: Scenario, first: int) -> dict[str, Any]:
        try:
            document = _run_schemes(scenario, ["candidate"], first, None, reps, jobs, factories, is_candidate=True, limit=limit).document
        except TimeoutError as late:
            raise TimeLimitError(f"the controller took longer than limit={limit} seconds") from late
        # Its time does not count.
        other = _run_schemes(scenario, [reference], first, None, reps, jobs, None).document
        return {**document, "schemes": [*document["schemes"], *other["schemes"]]}

    return evaluate_controller(compared, battery, None if seed is None else arguments.integer("seed", seed, 0, 2**64 - 1))


def sweep(
    file: Scenario,
    out: str | os.PathLike[str] | None = None,
    *,
    jobs: SupportsIndex | None = None,
    shard: tuple[SupportsIndex, SupportsIndex] | None = None,
    report: bool = False,
    controllers: Controllers | None = None,
    key: str | None = None,
    cluster: Any = None,
) -> SweepResult:
    """Runs a sweep: a file, or a dictionary with the same keys and a folder `out`. In a dictionary the scenario and `set` may be
    dictionaries, schemes may be classes, and values may be arrays. Runs are saved in the folder at once: the same call resumes an
    interrupted sweep. Failed points are in `failed` of the result. Saved runs with `controllers` are reused only by calls with the same `key`,
    a text that the program changes whenever it changes a controller, such as a version or a hash of a policy's weights. With `cluster` the
    workers of a Dask scheduler execute the runs: its address, its file, a client, or one of Dask's clusters. They need the same build of this
    package."""
    factories = _factories(controllers)
    if out is not None:
        arguments.path("out", out)
    if not isinstance(file, (str, os.PathLike, Mapping)):
        raise ScenarioError(f"a sweep is a file or a dictionary, and not of type {type(file).__name__}")
    part = None if shard is None else arguments.items("shard", shard, "1")
    if part is not None and len(part) != 2:
        raise ScenarioError(f"shard={shard!r}: it is a pair of a number and the number of all, such as (1, 4)")
    if part is not None:
        every = arguments.integer("shard[1]", part[1], 1, 2**32 - 1)
        part = [arguments.integer("shard[0]", part[0], 1, every), every]
        if every == 1:
            # The only shard is the whole sweep.
            shard = None
    with tempfile.TemporaryDirectory(prefix="thalweg-") as place:
        if isinstance(file, Mapping):
            if out is None:
                raise ScenarioError("a sweep that is a dictionary needs a folder for its results: out=...")
            keys = dict(_with_names(file, factories))
            if isinstance(keys.get("grid"), Mapping):
                keys["grid"] = {name: with_units_of_texts(name, axis) for name, axis in keys["grid"].items()}
            scenario = keys.pop("scenario", None)
            own = _folder_with_files(keys, Path(place)) if isinstance(scenario, Mapping) else Path(place)
            if isinstance(scenario, Mapping):
                (own / "scenario.toml").write_text(toml_document(absolute(scenario, Path.cwd())), encoding="utf-8")
                scenario = "scenario.toml"
            elif isinstance(scenario, (str, os.PathLike)) and Path(scenario).is_file():
                # Relative to the working directory, not to the file written here.
                scenario = str(Path(scenario).absolute())
            if scenario is not None:
                keys = {"scenario": scenario, **keys}
            if isinstance(keys.get("set"), Mapping):
                keys["set"] = toml_changes(keys["set"])
            path = own / "sweep.toml"
            path.write_text(toml_document(keys), encoding="utf-8")
        else:
            path = Path(file)
        stamp = _stamp(factories, key, shard is not None)
        folder = Path(out) if out is not None else Path(path.stem)
        words = ["sweep", f"--out={folder}", "--quiet"]
        if jobs is not None:
            words.append(f"--jobs={arguments.integer('jobs', jobs, 1, 2**16)}")
        if part is not None:
            words.append(f"--shard={part[0]}/{part[1]}")
        if arguments.truth("report", report):
            words.append("--report")
        with _engine(cluster, factories, Path(place)) as (engine, causes):
            code, printed, messages, cause = _call_command([*words, *engine, *_after_options([str(path)])], factories, stamp)
        if code == 2 or (code != 0 and not printed):

            def shown_names(text: str) -> str:
                # The user has not seen the files written for a dictionary.
                return text.replace(f"{path.parent}/", "").replace("sweep.toml", "sweep") if isinstance(file, Mapping) else text

            raise error_from_messages(code, messages, shown=shown_names)
        issue_warnings(messages)
        document = _sweep_document(folder, factories, isinstance(file, Mapping)) if shard is None else {}
        return SweepResult(folder.absolute(), document, printed, cause or next(iter(causes), None))


def open_sweep(folder: str | os.PathLike[str]) -> SweepResult:
    """Returns the results of a sweep in a folder, as of its last call; runs nothing."""
    path = Path(arguments.path("folder", folder))
    try:
        answer: dict[str, Any] = json.loads((path / "results.json").read_text(encoding="utf-8"))
        _put_calls(answer, {})
        points, failed = len(answer["points"]), len(answer["failed"])
    except (OSError, ValueError, KeyError, TypeError) as why:
        raise ScenarioError(f"`{path}` holds no sweep that came to its end: {why}; {JOIN}") from why
    return SweepResult(path.absolute(), answer, f"{points} points, {failed} of which failed\n" if failed else f"{points} points\n")


def _sweep_document(folder: Path, controllers: Controllers, is_dictionary: bool) -> dict[str, Any]:
    """Returns the document of a sweep that has ended, and puts the calls that rerun failed points into its file: the folder alone does not
    tell the controllers and the dictionary."""
    path = folder / "results.json"
    text = path.read_text(encoding="utf-8")
    answer: dict[str, Any] = json.loads(text)
    for command, call in _put_calls(answer, controllers, is_dictionary).items():
        # The rest stays as the command wrote it, with its spelling of numbers.
        text = text.replace(_member("command", command), _member("call", call))
    _replace(path, text)
    return answer


def _member(name: str, value: str) -> str:
    """Formats a member of an object as the command does."""
    return f'"{name}": {json.dumps(value, ensure_ascii=False)}'


def _put_calls(document: dict[str, Any], controllers: Controllers, is_dictionary: bool = False) -> dict[str, str]:
    """Replaces the `command` of each failed point that it is not enough for by a `call`; returns the calls by their commands. The command
    of a dictionary names a file that is gone."""
    calls: dict[str, str] = {}
    for failed in document.get("failed", []):
        command = failed.get("command")
        if command is None:
            continue
        is_file = not is_dictionary or not any(word.endswith("/scenario.toml") for word in shlex.split(command))
        call = python_call(command, controllers, is_file)
        if call is not None:
            del failed["command"]
            calls[command] = failed["call"] = call
    return calls


def _replace(path: Path, text: str) -> None:
    """Replaces the content of a file, unless it is the same."""
    if path.read_text(encoding="utf-8") == text:
        return
    handle, part = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(part, path.stat().st_mode)
    os.replace(part, path)


_OWN = ("scenario.toml", "sweep.toml")
"""Files written for a sweep that is a dictionary."""


def _folder_with_files(keys: Mapping[str, Any], place: Path) -> Path:
    """Creates a folder from which the files in the values of a sweep are found by the same names as from the working directory: the values
    stay as they are, for they name points and columns."""
    files = {name for name in texts(keys) if name and not os.path.isabs(name) and os.path.isfile(name)}
    above = max((Path(os.path.normpath(name)).parts.count("..") for name in files), default=0)
    folder = place.joinpath("sweep", *["below"] * above)
    folder.mkdir(parents=True)
    for name in files:
        link = folder / name
        os.makedirs(link.parent, exist_ok=True)
        # Two names may be of one place.
        if os.path.normpath(name) not in _OWN and not os.path.lexists(link):
            link.symlink_to(Path(name).absolute())
    return folder


@contextmanager
def _engine(cluster: Any, controllers: Controllers, place: Path) -> Iterator[tuple[list[str], list[BaseException]]]:
    """Connects to a cluster; yields the command's arguments for it and the list of exceptions of its controllers."""
    if cluster is None:
        yield [], []
        return
    from . import _cluster

    if isinstance(cluster, (str, os.PathLike)):
        arguments.path("cluster", cluster)
    elif not (hasattr(cluster, "scheduler_address") or hasattr(cluster, "scheduler")):
        raise ScenarioError(f"cluster={cluster!r}: it is the address of a scheduler, its file, a client or a cluster of Dask")
    try:
        with _cluster.serving_cluster(cluster, list(controllers.items()), modules_of_user(), place) as (address, causes):
            yield [f"--cluster={address}"], causes
    except _cluster.GoneError as gone:
        raise RunError(str(gone)) from gone


class Verdict(dict[str, Any]):
    """Document of an assessment, a hunt or an exploration."""

    cause: BaseException | None = None
    """Exception of a controller that made runs fail, if one was raised in this call."""


def assess(
    scheme: str | type[Controller],
    out: str | os.PathLike[str] = "assessment",
    *,
    only: Sequence[str] = (),
    controllers: Controllers | None = None,
    key: str | None = None,
    **options: int | float | str | bool,
) -> Verdict:
    """Assesses a scheme, or a class, by the criteria of RFC 9743 for new congestion control; returns the content of `SCHEME.json` in the
    folder `out`, beside the reports. Options are the command's: `quick=True`, `reps=30`, `pack="c4"`, `jobs=4`. Claims that do not hold,
    and points at which a controller raises an exception, are not errors here: they are in the returned value, the latter under `failed`, the exception in the attribute `cause`.
    Runs are saved and reused as in a sweep, those of controllers by `key`."""
    factories = _factories(controllers)
    words = ["assess", f"--out={arguments.path('out', out)}", *_options(["assess"], options), "--json", "--quiet"]
    sections = arguments.texts("only", only, "7.2")
    if sections:
        words.append(f"--only={','.join(sections)}")
    return _verdict_of([*words, *_after_options([_named_alone(scheme, factories)])], factories, key)


def hunt(
    scheme: str | type[Controller],
    goal: str,
    out: str | os.PathLike[str] = "hunt",
    *,
    kinds: Sequence[str] = (),
    controllers: Controllers | None = None,
    key: str | None = None,
    **options: int | float | str | bool,
) -> Verdict:
    """Searches for the scenario in which a scheme, or a class, is worst by a goal: "starvation", "stall", "queue", "unfairness" or
    "collapse". `kinds` are the disturbances to choose from, the command's `--with`; other options are the command's: `candidates=4096`,
    `against="cubic"`, `seed=2`. Runs are saved and reused as in a sweep, those of controllers by `key`."""
    factories = _factories(controllers)
    folder = arguments.path("out", out)
    words = ["hunt", f"--goal={goal}", f"--out={folder}", *_options(["hunt"], options), "--json", "--quiet"]
    named = arguments.texts("kinds", kinds, "rates")
    if named:
        words.append(f"--with={','.join(named)}")
    return _verdict_of([*words, *_after_options([_named_alone(scheme, factories)])], factories, key)


def _verdict_of(
    words: Sequence[str], controllers: Controllers, key: str | None, is_result: Callable[[dict[str, Any]], object] = bool
) -> Verdict:
    """Returns the document of a command whose exit code 1 is a result, such as a failed claim, if the document decides so."""
    stamp = _stamp(controllers, key)
    code, printed, messages, cause = _call_command(words, controllers, stamp)
    answer = Verdict(json.loads(printed) if printed else {})
    if code == 2 or not answer or code != 0 and not is_result(answer):
        _fail(code or 1, messages, cause)
    issue_warnings(messages)
    answer.cause = cause
    _put_calls(answer, controllers)
    return answer


def bench(
    scheme: str | type[Controller] | None = None,
    server: str | None = None,
    *,
    controllers: Controllers | None = None,
    **options: int | float | str | bool,
) -> dict[str, Any]:
    """Measures the speed of real sockets, as `thalweg bench` does: to a server, which must know the scheme, or over this host's loopback.
    A Python controller sends real data here. The default scheme is that of the command."""
    factories = _factories(controllers)
    words = ["bench"] if server is None else ["bench", "client"]
    of_scheme = [] if scheme is None else [f"--scheme={_named_alone(scheme, factories)}"]
    named = [] if server is None else [arguments.text("server", server, "text, such as \"HOST\" or \"HOST:PORT\"")]
    return _json([*words, *of_scheme, *_options(words, options)], named, factories)


def send(
    paths: Sequence[str | os.PathLike[str]],
    receiver: str,
    scheme: str | type[Controller] | None = None,
    *,
    controllers: Controllers | None = None,
    **options: int | float | str | bool,
) -> dict[str, Any]:
    """Sends files, as `thalweg send` does, to a receiver, which must know the scheme. The default scheme is that of the command."""
    factories = _factories(controllers)
    files = [arguments.path("paths", path) for path in arguments.items("paths", paths, "data", least=1)]
    host = arguments.text("receiver", receiver, "text, such as \"HOST\" or \"HOST:PORT\"")
    of_scheme = [] if scheme is None else [f"--scheme={_named_alone(scheme, factories)}"]
    return _json(["send", *of_scheme, *_options(["send"], options)], [*files, host], factories)


def recv(
    folder: str | os.PathLike[str],
    *,
    controllers: Controllers | None = None,
    **options: int | float | str | bool,
) -> dict[str, Any]:
    """Receives files into a folder from one sender, as `thalweg recv` does, and returns the received files: `recv("inbox",
    trust=key)`."""
    return _json(["recv", *_options(["recv"], options)], [arguments.path("folder", folder)], controllers)


def key() -> str:
    """Returns this user's public key, which peers trust as sender or receiver."""
    return _call(["key"]).strip()


def schemes() -> Catalog:
    """Returns the names of the schemes for scenarios; `schemes()["cubic"]` is a description."""
    return Catalog(_thalweg.listed()[0])


def scenarios() -> Catalog:
    """Returns the names of the built-in scenarios; `scenarios()["dumbbell"]` is a title."""
    return Catalog(_thalweg.listed()[1])


def metrics() -> list[dict[str, str]]:
    """Returns the metrics of results: name, unit, meaning, and kind of subject ("flow", "group", "network", "link" or "size class")."""
    names = ("name", "unit", "about", "of")
    return [dict(zip(names, metric)) for metric in _thalweg.listed()[2]]


def validate(
    scenario: Scenario,
    *,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    controllers: Controllers | None = None,
) -> str:
    """Checks a scenario and describes it: paths, round trips, queues, memory. Errors are a `ScenarioError`, probable mistakes a
    `ScenarioWarning`."""
    factories = _factories(controllers)
    name, text = _text(scenario, factories)
    words = toml_changes(_with_names(set, factories))
    code, explained, messages = _thalweg.validate(name, text, words, list(factories.items()))
    if code != 0:
        _fail(code, messages, None)
    issue_warnings(messages)
    return explained


def paper(
    name: str, *, experiments: Sequence[str] = (), quick: bool = False, full: bool = False
) -> dict[str, Any]:
    """Runs the experiments of a published study; returns its values beside ours, and its claims."""
    words = ["paper", *(f"--experiment={experiment}" for experiment in arguments.texts("experiments", experiments, "figure-14"))]
    words += [f"--{of}" for of, is_given in (("quick", quick), ("full", full)) if arguments.truth(of, is_given)]
    return _json(words, [arguments.text("name", name)])


def explore(protocol: str, **options: int | float | str | bool) -> dict[str, Any]:
    """Visits every state of a protocol over a channel with bounded faults: `explore("sscop", losses=1)`. A violation is not an error here: it
    is under `counterexample` of the returned value, with the events that lead to it; otherwise that is None."""
    words = ["explore", _command(protocol), *_options(["explore"], options), "--json", "--quiet"]
    return _verdict_of(words, {}, None, lambda document: document["counterexample"])


def infer(recording: str | os.PathLike[str], **options: int | float | str | bool) -> dict[str, Any]:
    """Infers the path from a recording of a real transfer, and simulates the same transfer on it."""
    return _json(["infer", *_options(["infer"], options)], [arguments.path("recording", recording)])


def models(name: str, **options: int | float | str | bool) -> dict[str, Any]:
    """Computes a published formula: `models("mathis", p="1e-3", rtt="50 ms")`."""
    answer: dict[str, Any] = json.loads(_call(["model", _command(name), *_options(["model", name], options), "--json"]))
    return answer


def _after_options(words: Sequence[str]) -> list[str]:
    """Formats arguments that are not options, which may begin with `-`, to follow the options."""
    return ["--", *words] if words else []


def _command(name: str) -> str:
    """Checks the name of a command's command."""
    if arguments.text("name", name).startswith("-"):
        raise UnknownNameError(f"there is no argument or name `{name}`")
    return name


def _options(command: Sequence[str], options: Mapping[str, int | float | str | bool]) -> list[str]:
    """Formats options of a command: `max_reps=3` is `--max-reps 3`, True an option without a value, False no option. Numbers are seconds,
    bytes or bit/s where the option has a unit."""
    words = []
    for name, value in options.items():
        option = name.replace("_", "-")
        arguments.option(name, value)
        if isinstance(value, bool):
            needs_value = _thalweg.option_needs_value(command, option)
            if needs_value:
                raise ScenarioError(f"{name}={value}: it is a value, and not True or False")
            # The command names options that it does not have.
            words += [f"--{option}"] if value or needs_value is None else []
            continue
        # A value may begin with `-`.
        words.append(f"--{option}={_number(command, option, value) if arguments.is_number(value) else value}")
    return words


def _number(command: Sequence[str], option: str, value: Any) -> str:
    """Formats a number as the value of an option, with its unit."""
    unit = _thalweg.option_unit(command, option)
    if unit:
        return with_unit(value, unit)
    return str(value) if isinstance(value, (int, float)) else str(number(value))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Imports the further modules of the package when they are used: `thalweg.aio.run`."""
        if name in ("aio", "envs", "marl", "sb3"):
            return importlib.import_module(f"thalweg.{name}")
        raise AttributeError(f"module `thalweg` has no attribute `{name}`")
