"""Thalweg: a transport-protocol laboratory.

>>> import thalweg
>>> result = thalweg.run("dumbbell", seed=7, set={"duration": "5 s"})
>>> result.flows["goodput_bps"]
>>> thalweg.compare("dumbbell", ["cubic", "vegas"], reps=5).plot()

Controllers of one's own derive from `thalweg.Controller`; environments for learning are in `thalweg.envs`.

Everything is the command `thalweg` of the same version, with the same fingerprints. What takes time runs on all cores without
Python's lock, and ends at Ctrl-C.
"""

import functools
import json
import operator
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NoReturn

from . import _thalweg
from ._errors import Error, RunError, ScenarioError, ScenarioWarning, error, in_pythons_words, warn
from ._identity import Identity, UnknownError, identities
from ._progress import show_progress, shown
from ._results import Figure, ReportPage, Result, StoredTable, SweepResult, Table, in_python
from ._score import BATTERY, Score, ScorePart, judge
from ._thalweg import Controller, Sample
from ._toml import Scenario, changes, document

__version__ = _thalweg.version

__all__ = [
    "BATTERY",
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


Controllers = Mapping[str, Callable[[], Controller]]


def _fail(code: int, said: str, cause: BaseException | None) -> NoReturn:
    if cause is not None:
        raise RunError(in_pythons_words(said)) from cause
    raise error(code, said)


def _own(controllers: Controllers | None) -> dict[str, Callable[[], Controller]]:
    """A copy of controllers by name, which scenarios and schemes add to."""
    own = dict(controllers or {})
    for name, make in own.items():
        if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9-]+", name):
            raise ScenarioError(f"a controller's name has small letters, digits and `-`, and {name!r} has not")
        if isinstance(make, type) and not issubclass(make, Controller):
            raise ScenarioError(f"the class `{make.__qualname__}` does not derive from `thalweg.Controller`")
        if not callable(make):
            kind = type(make).__name__
            raise ScenarioError(f"the controller `{name}` is a class or what makes an instance for each flow, and not of type {kind}")
        if name in _known_schemes():
            raise ScenarioError(f"there is a scheme `{name}` already: name the controller otherwise")
    return own


@functools.cache
def _known_schemes() -> frozenset[str]:
    return frozenset({*schemes(), "agent"})


_stop: ContextVar[_thalweg.Stop | None] = ContextVar("stop", default=None)
"""Ends the calls of this context, where somebody may want to."""


def _call(arguments: Sequence[str], controllers: Controllers | None = None) -> tuple[str, str]:
    own = list(_own(controllers).items())
    with shown() as show:
        code, printed, said, cause = _thalweg.call(list(arguments), own, "", _stop.get(), show)
    if code != 0:
        _fail(code, said, cause)
    return printed, said


def _json(arguments: Sequence[str], controllers: Controllers | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_call([*arguments, "--json", "--quiet"], controllers)[0])
    return answer


def _text(scenario: Scenario, own: dict[str, Callable[[], Controller]] | None = None) -> tuple[str, str | None]:
    """The name of a scenario, and its text where it is no file. Classes of controllers in it are put among `own`."""
    if isinstance(scenario, Mapping):
        return "scenario", document(_with_names(scenario, own) if own is not None else scenario)
    if not isinstance(scenario, (str, os.PathLike)):
        raise ScenarioError(f"a scenario is a file, the name of a built-in one, or a dictionary, and not of type {type(scenario).__name__}")
    return os.fspath(scenario), None


def _with_names(of: Any, own: dict[str, Callable[[], Controller]]) -> Any:
    """A value in which the names of controllers stand for their classes."""
    if isinstance(of, type):
        return _named(of, own)
    if isinstance(of, Mapping):
        return {name: _with_names(item, own) for name, item in of.items()}
    if isinstance(of, (list, tuple)):
        return [_with_names(item, own) for item in of]
    return of


def _measured(
    scenario: Scenario,
    schemes: Sequence[str | type[Controller]],
    seed: int | None,
    set: Mapping[str, Any] | Sequence[str] | None,
    reps: int,
    jobs: int | None,
    controllers: Controllers | None,
    judged: bool = False,
    limit: float | None = None,
    flows: Sequence[str] = (),
) -> Result:
    own = _own(controllers)
    names = [_named(scheme, own) for scheme in schemes]
    name, text = _text(scenario, own)
    words = changes(_with_names(set, own))
    first = None if seed is None else _whole("seed", seed, 0, 2**64 - 1)
    times, workers = _whole("reps", reps, 1, 2**32 - 1), None if jobs is None else _whole("jobs", jobs, 1, 2**16)
    with shown() as show:
        measured, code, said, cause = _thalweg.run(
            name, text, words, names, list(flows), first, times, workers, list(own.items()), judged, limit, _stop.get(), show
        )
    if measured is None:
        _fail(code, said, cause)
    warn(measured.said(), 3)
    return Result(measured)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    """An argument that is a whole number; those of numpy are."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most or isinstance(value, bool):
        raise ScenarioError(f"{name}={value!r}: it is a whole number from {least} to {most}")
    return number


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    reps: int = 1,
    jobs: int | None = None,
    controllers: Controllers | None = None,
) -> Result:
    """Runs a scenario: a file, the name of a built-in one, or a dictionary. With `reps` it runs under so many seeds. `controllers` are
    classes that derive from `Controller`, by the names that they have as schemes; each flow has an instance of its own."""
    return _measured(scenario, [], seed, set, reps, jobs, controllers)


def compare(
    scenario: Scenario,
    schemes: Sequence[str | type[Controller]],
    *,
    flows: Sequence[str] = (),
    seed: int | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    reps: int = 1,
    jobs: int | None = None,
    controllers: Controllers | None = None,
) -> Result:
    """Runs a scenario with each of several schemes, which meet the same traffic and losses. A class that derives from `Controller` may
    stand among them, under its name in small letters. With `flows` the groups of flows of these names alone use the schemes: texts and
    pictures are of them, and `document["compared"]` has their metrics, their share, and what the others got beside them."""
    if isinstance(flows, str):
        raise ScenarioError('flows is a list of groups of flows, such as ["web"]')
    if isinstance(schemes, str) or not isinstance(schemes, Iterable):
        raise ScenarioError('schemes is a list, such as ["cubic", "vegas"]')
    every = list(schemes)
    if not every:
        raise ScenarioError("there is no scheme to compare")
    return _measured(scenario, every, seed, set, reps, jobs, controllers, flows=flows)


def _named(scheme: str | type[Controller], controllers: dict[str, Callable[[], Controller]]) -> str:
    """The name of a scheme; a class is put among the controllers."""
    if isinstance(scheme, str):
        return scheme
    if not isinstance(scheme, type):
        raise ScenarioError(f"a scheme is a name or a class, and not of type {type(scheme).__name__}: name others in controllers")
    name = scheme.__name__.lower().replace("_", "-")
    if controllers.get(name, scheme) is not scheme:
        raise ScenarioError(f"there are two controllers of the name `{name}`: name them in controllers")
    controllers |= _own({name: scheme})
    return name


def _identities(controllers: Controllers) -> dict[str, Identity]:
    """What controllers are, by which kept runs are known again."""
    try:
        return identities(controllers)
    except UnknownError as unknown:
        raise ScenarioError(
            f"kept runs of a controller are known again by all that it consists of, and {unknown}. Make that where it is used, in `__init__` "
            "say, or hand over what it is made of."
        ) from unknown


def _stamp(identified: Mapping[str, Identity]) -> str:
    """A text that differs where controllers do."""
    return ", ".join(f"{name} {of.digest[:16]}" for name, of in identified.items())


def score(
    controller: Callable[[], Controller],
    battery: Mapping[str, Scenario] = BATTERY,
    *,
    reference: str = "cubic",
    seed: int | None = None,
    reps: int = 2,
    jobs: int | None = None,
    limit: float = 60.0,
) -> Score:
    """Judges a controller that sees samples and nothing else, on each scenario of a battery beside a reference that meets the same traffic
    and losses, under so many seeds. Without `seed` they are drawn, so that nobody can know what comes; the score tells them. A
    candidate that raises an exception ends it, as it ends a run; one that takes more than `limit` seconds for a scenario is
    interrupted, with a `TimeoutError`."""
    if not battery:
        raise ScenarioError("a battery has at least one scenario")

    def compared(scenario: Scenario, first: int) -> dict[str, Any]:
        schemes, own = ["candidate", reference], {"candidate": controller}
        return _measured(scenario, schemes, first, None, reps, jobs, own, judged=True, limit=limit).document

    return judge(compared, battery, seed)


def sweep(
    file: Scenario,
    out: str | os.PathLike[str] | None = None,
    *,
    jobs: int | None = None,
    shard: tuple[int, int] | None = None,
    report: bool = False,
    controllers: Controllers | None = None,
    cluster: Any = None,
) -> SweepResult:
    """Runs a sweep: a file, or a dictionary with the same keys, which needs a folder `out`; its scenario may be a dictionary, its `set` too,
    its schemes may be classes, and its values arrays. Each run is kept there at once: the same call goes on where it was interrupted. Points that fail are in `failed` of the result. Runs with `controllers` are known again by all that
    these consist of: classes, base classes, closures, arguments, the globals that they use. Whatever differs runs anew. With `cluster` the workers of a Dask scheduler make the
    runs: its address, its file, a client, or one of Dask's clusters. They need the same build of this package."""
    own = _own(controllers)
    with tempfile.TemporaryDirectory(prefix="thalweg-") as place:
        if isinstance(file, Mapping):
            if out is None:
                raise ScenarioError("a sweep that is a dictionary needs a folder for its results: out=...")
            keys = dict(_with_names(file, own))
            scenario = keys.get("scenario")
            if isinstance(scenario, Mapping):
                keys["scenario"] = "scenario.toml"
                (Path(place) / "scenario.toml").write_text(document(_with_paths(scenario)), encoding="utf-8")
            elif isinstance(scenario, (str, os.PathLike)) and Path(scenario).exists():
                # It is found from where the program is, not from the file that is written here.
                keys["scenario"] = str(Path(scenario).absolute())
            if isinstance(keys.get("set"), Mapping):
                keys["set"] = changes(keys["set"])
            path = Path(place) / "sweep.toml"
            path.write_text(document(keys), encoding="utf-8")
        else:
            path = Path(file)
        identified = _identities(own)
        folder = Path(out) if out is not None else Path(path.stem)
        arguments = ["sweep", str(path), "--out", str(folder), "--quiet"]
        if jobs is not None:
            arguments += ["--jobs", str(jobs)]
        if shard is not None:
            arguments += ["--shard", f"{shard[0]}/{shard[1]}"]
        if report:
            arguments.append("--report")
        with _engine(cluster, own, identified, Path(place)) as (engine, causes), shown() as show:
            code, printed, said, cause = _thalweg.call(
                [*arguments, *engine], list(own.items()), _stamp(identified), _stop.get(), show
            )
        if code == 2 or (code != 0 and not printed):
            # Nobody has seen the files of a dictionary.
            raise error(code, said.replace(f"{place}/", "").replace("sweep.toml", "sweep") if isinstance(file, Mapping) else said)
        warn(said, 2)
        whole = shard is None
        return SweepResult(folder, _answer(folder, own, isinstance(file, Mapping)) if whole else {}, printed, cause or next(iter(causes), None))


def open_sweep(folder: str | os.PathLike[str]) -> SweepResult:
    """The results of a sweep that is in a folder, as its last call left them; nothing is run."""
    path = Path(folder)
    try:
        answer = _answer(path, {}, False)
        points, plan = len(answer["points"]), len(answer["failed"])
    except (OSError, ValueError, KeyError, TypeError) as why:
        raise ScenarioError(f"`{path}` holds no sweep that came to its end: {why}") from why
    return SweepResult(path, answer, f"{points} points, {plan} of which failed\n" if plan else f"{points} points\n")


def _answer(folder: Path, controllers: Controllers, is_dictionary: bool) -> dict[str, Any]:
    """The document of a sweep, with calls that run failed points again."""
    answer: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for failed in answer.get("failed", []):
        is_file = not is_dictionary or not any(word.endswith("/scenario.toml") for word in shlex.split(failed["command"]))
        failed["command"] = in_python(failed["command"], controllers, is_file)
    return answer


def _with_paths(of: Any) -> Any:
    """A scenario in which names of files that are there are found from anywhere."""
    if isinstance(of, Mapping):
        return {name: _with_paths(item) for name, item in of.items()}
    if isinstance(of, (list, tuple)):
        return [_with_paths(item) for item in of]
    if isinstance(of, (str, os.PathLike)) and os.path.isfile(of):
        return str(Path(of).absolute())
    return of


@contextmanager
def _engine(
    cluster: Any, controllers: Controllers, identified: Mapping[str, Identity], place: Path
) -> Iterator[tuple[list[str], list[BaseException]]]:
    """What tells the command of a cluster, for as long as it is spoken to, and what controllers raise there."""
    if cluster is None:
        yield [], []
        return
    from . import _cluster

    modules = {module for of in identified.values() for module in of.modules if module.__name__ != "__main__"}
    try:
        with _cluster.served(cluster, list(controllers.items()), modules, place) as (address, causes):
            yield ["--cluster", address], causes
    except _cluster.GoneError as gone:
        raise RunError(str(gone)) from gone


def assess(
    scheme: str | type[Controller],
    out: str | os.PathLike[str] = "assessment",
    *,
    only: Sequence[str] = (),
    controllers: Controllers | None = None,
    **options: int | str | bool,
) -> dict[str, Any]:
    """Asks of a scheme, or of a class, what RFC 9743 asks of a new congestion control; gives all of it as `SCHEME.json` in the folder `out`
    has it, where the reports are. Options are those of the command: `quick=True`, `reps=30`, `pack="c4"`, `jobs=4`. Claims that do not hold,
    and points at which a controller raises an exception, are no error here: they are in what is given back, the latter under `failed`.
    Runs are known again as those of a sweep are."""
    own = _own(controllers)
    words = ["assess", _named(scheme, own), "--out", os.fspath(out), *_options(options), "--json", "--quiet"]
    if only:
        words += ["--only", ",".join(only)]
    return _judged(words, own)


def hunt(
    scheme: str | type[Controller],
    goal: str,
    out: str | os.PathLike[str] = "hunt",
    *,
    kinds: Sequence[str] = (),
    controllers: Controllers | None = None,
    **options: int | str | bool,
) -> dict[str, Any]:
    """Looks for the scenario in which a scheme, or a class, is worst by a goal: "starvation", "stall", "queue", "unfairness" or
    "collapse". `kinds` are the disturbances to choose from, the command's `--with`; other options are its own: `candidates=4096`,
    `against="cubic"`, `seed=2`."""
    own = _own(controllers)
    words = ["hunt", _named(scheme, own), "--goal", goal, "--out", os.fspath(out), *_options(options), "--json", "--quiet"]
    if kinds:
        words += ["--with", ",".join(kinds)]
    return _judged(words, own)


def _judged(words: Sequence[str], controllers: Controllers) -> dict[str, Any]:
    """The document of a command that ends with 1 where what it says is no good news."""
    stamp = _stamp(_identities(controllers))
    code, printed, said, cause = _thalweg.call(list(words), list(controllers.items()), stamp, _stop.get())
    if code == 2 or not printed:
        _fail(code or 1, said, cause)
    answer: dict[str, Any] = json.loads(printed)
    return answer


def bench(
    scheme: str | type[Controller] = "cubic",
    server: str | None = None,
    *,
    controllers: Controllers | None = None,
    **options: int | str | bool,
) -> dict[str, Any]:
    """Measures how fast real sockets are, as `thalweg bench` does: to a server, which must know the scheme, or over the loopback of this
    host. A controller of one's own moves real bytes here."""
    own = _own(controllers)
    end = [] if server is None else ["client", server]
    return _json(["bench", *end, "--scheme", _named(scheme, own), *_options(options)], own)


def send(
    paths: Sequence[str | os.PathLike[str]],
    receiver: str,
    scheme: str | type[Controller] = "cubic",
    *,
    controllers: Controllers | None = None,
    **options: int | str | bool,
) -> dict[str, Any]:
    """Sends files, as `thalweg send` does, to a receiver, which must know the scheme."""
    own = _own(controllers)
    files = [os.fspath(path) for path in paths]
    return _json(["send", "--scheme", _named(scheme, own), *_options(options), *files, receiver], own)


def recv(
    folder: str | os.PathLike[str],
    *,
    controllers: Controllers | None = None,
    **options: int | str | bool,
) -> dict[str, Any]:
    """Receives files into a folder from one sender, as `thalweg recv` does, and tells what came: `recv("inbox", trust=key)`."""
    return _json(["recv", *_options(options), os.fspath(folder)], controllers)


def key() -> str:
    """The key by which peers know this user: what a receiver trusts, and a sender."""
    return _call(["key"])[0].strip()


def schemes() -> dict[str, str]:
    """The schemes that scenarios can use, each with what it is."""
    return dict(_thalweg.listed()[0])


def scenarios() -> dict[str, str]:
    """The scenarios that are built in, by name, with their titles."""
    return dict(_thalweg.listed()[1])


def metrics() -> list[dict[str, str]]:
    """The metrics of results: name, unit, meaning, and what they are of ("flow", "group", "network", "link" or "size class")."""
    names = ("name", "unit", "about", "of")
    return [dict(zip(names, metric)) for metric in _thalweg.listed()[2]]


def validate(
    scenario: Scenario,
    *,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    controllers: Controllers | None = None,
) -> str:
    """Checks a scenario and explains it in words: paths, round trips, queues, memory. What is wrong is a `ScenarioError`, what is
    probably not meant a `ScenarioWarning`."""
    own = _own(controllers)
    name, text = _text(scenario, own)
    words = changes(_with_names(set, own))
    code, explained, said = _thalweg.validate(name, text, words, list(own.items()))
    if code != 0:
        _fail(code, said, None)
    warn(said, 2)
    return explained


def paper(name: str, *, experiments: Sequence[str] = (), quick: bool = False) -> dict[str, Any]:
    """Runs the experiments of a published study; gives its values beside ours, and its claims."""
    named = [word for experiment in experiments for word in ("--experiment", experiment)]
    return _json(["paper", name, *named, *(["--quick"] if quick else [])])


def explore(protocol: str, **options: int | str | bool) -> dict[str, Any]:
    """Visits every state of a protocol over a channel that misbehaves within bounds: `explore("sscop", losses=1)`."""
    return _json(["explore", protocol, *_options(options)])


def infer(recording: str | os.PathLike[str], **options: int | str | bool) -> dict[str, Any]:
    """Tells the path from a recording of a real transfer, and simulates the same transfer on it."""
    return _json(["infer", os.fspath(recording), *_options(options)])


def models(name: str, **options: int | float | str | bool) -> dict[str, Any]:
    """Computes a published formula: `models("mathis", p="1e-3", rtt="50 ms")`."""
    answer: dict[str, Any] = json.loads(_call(["model", name, *_options(options), "--json"])[0])
    return answer


def _options(options: Mapping[str, int | float | str | bool]) -> list[str]:
    """Options of the command: `max_reps=3` is `--max-reps 3`, True an option without a value, False none."""
    words = []
    for name, value in options.items():
        if value is not False:
            # A value that begins with `-` is one all the same.
            words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}"))
    return words
