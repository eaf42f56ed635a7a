"""Thalweg: a transport-protocol laboratory.

>>> import thalweg
>>> result = thalweg.run("dumbbell", seed=7, set={"duration": "5 s"})
>>> result.flows["goodput_bps"]
>>> thalweg.compare("dumbbell", ["cubic", "vegas"], reps=5).plot()

Controllers of one's own derive from `thalweg.Controller`; environments for learning are in `thalweg.envs`.

Everything is the command `thalweg` of the same version, with the same fingerprints. What takes time runs on all cores without
Python's lock, and ends at Ctrl-C.
"""

import hashlib
import inspect
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NoReturn

from . import _thalweg
from ._progress import show_progress, shown
from ._results import Figure, Page, Result, StoredTable, SweepResult, Table, in_python
from ._score import BATTERY, Part, Score, judge
from ._thalweg import Controller, Sample
from ._toml import Scenario, changes, document

__version__ = _thalweg.version

__all__ = [
    "BATTERY",
    "Controller",
    "Error",
    "Figure",
    "Page",
    "Part",
    "Result",
    "RunError",
    "Sample",
    "ScenarioError",
    "Score",
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
    "models",
    "paper",
    "recv",
    "run",
    "score",
    "send",
    "show_progress",
    "sweep",
]


class Error(Exception):
    """What the command says when it fails."""


class ScenarioError(Error):
    """The call or the scenario is wrong."""


class RunError(Error):
    """A run, a check or a file failed."""


def _error(code: int, said: str) -> Error:
    text = said.strip().removeprefix("error: ")
    return ScenarioError(text) if code == 2 else RunError(text)


Controllers = Mapping[str, Callable[[], Controller]]


def _fail(code: int, said: str, cause: BaseException | None) -> NoReturn:
    if cause is not None:
        raise RunError(str(_error(code, said))) from cause
    raise _error(code, said)


_stop: ContextVar[_thalweg.Stop | None] = ContextVar("stop", default=None)
"""Ends the calls of this context, where somebody may want to."""


def _call(arguments: Sequence[str], controllers: Controllers | None = None) -> tuple[str, str]:
    own = list((controllers or {}).items())
    with shown() as show:
        code, printed, said, cause = _thalweg.call(list(arguments), own, "", _stop.get(), show)
    if code != 0:
        _fail(code, said, cause)
    return printed, said


def _json(arguments: Sequence[str], controllers: Controllers | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_call([*arguments, "--json", "--quiet"], controllers)[0])
    return answer


def _text(scenario: Scenario) -> tuple[str, str | None]:
    """The name of a scenario, and its text where it is no file."""
    if isinstance(scenario, Mapping):
        return "scenario", document(scenario)
    return os.fspath(scenario), None


def _measured(
    scenario: Scenario,
    schemes: Sequence[str],
    seed: int | None,
    set: Mapping[str, Any] | Sequence[str] | None,
    reps: int,
    jobs: int | None,
    controllers: Controllers | None,
    judged: bool = False,
    limit: float | None = None,
) -> Result:
    if seed is not None and not 0 <= seed < 2**64:
        raise ScenarioError(f"seed={seed}: a seed is a whole number from 0 to {2**64 - 1}")
    if not 1 <= reps < 2**32:
        raise ScenarioError(f"reps={reps}: a scenario runs at least once, under one seed")
    name, text = _text(scenario)
    own = list((controllers or {}).items())
    words = changes(set)
    with shown() as show:
        measured, code, said, cause = _thalweg.run(name, text, words, list(schemes), seed, reps, jobs, own, judged, limit, show)
    if measured is None:
        _fail(code, said, cause)
    return Result(measured)


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
    seed: int | None = None,
    set: Mapping[str, Any] | Sequence[str] | None = None,
    reps: int = 1,
    jobs: int | None = None,
    controllers: Controllers | None = None,
) -> Result:
    """Runs a scenario with each of several schemes, which meet the same traffic and losses. A class that derives from `Controller` may
    stand among them, under its name in small letters."""
    if isinstance(schemes, str):
        raise TypeError('schemes is a list, such as ["cubic", "vegas"]')
    if not schemes:
        raise ScenarioError("there is no scheme to compare")
    own = dict(controllers or {})
    return _measured(scenario, [_named(scheme, own) for scheme in schemes], seed, set, reps, jobs, own)


def _named(scheme: str | type[Controller], controllers: dict[str, Callable[[], Controller]]) -> str:
    """The name of a scheme; a class is put among the controllers."""
    if isinstance(scheme, str):
        return scheme
    name = scheme.__name__.lower()
    controllers[name] = scheme
    return name


def _sources(controllers: Controllers) -> str:
    """A text that differs where the source texts of controllers do."""
    words = []
    for name, make in sorted(controllers.items()):
        parts = [of for of in make.__mro__ if of not in (Controller, object)] if isinstance(make, type) else [make]
        try:
            text = "".join(inspect.getsource(of) for of in parts)
        except (OSError, TypeError) as error:
            raise ScenarioError(
                f"the source text of the controller `{name}` is not to be found, by which a sweep knows runs again: {error}"
            ) from error
        words.append(f"{name} {hashlib.sha256(text.encode()).hexdigest()[:12]}")
    return ", ".join(words)


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
    """Runs a sweep: a file, or a dictionary with the same keys, which needs a folder `out`. Each run is kept there at once: the same
    call goes on where it was interrupted. Points that fail are in `failed` of the result. Runs with `controllers` are those of their source
    text: another text of a class, or of one that it derives from, runs anew. With `cluster` the workers of a Dask scheduler make the
    runs: its address, its file, a client, or one of Dask's clusters. They need the same build of this package."""
    own = dict(controllers or {})
    stamp = _sources(own)
    with tempfile.TemporaryDirectory(prefix="thalweg-") as place:
        if isinstance(file, Mapping):
            if out is None:
                raise ScenarioError("a sweep that is a dictionary needs a folder for its results: out=...")
            # A scenario's file is found from where the program is, not from the file that is written here.
            keys = dict(file)
            scenario = keys.get("scenario")
            if isinstance(scenario, str) and Path(scenario).exists():
                keys["scenario"] = str(Path(scenario).absolute())
            path = Path(place) / "sweep.toml"
            path.write_text(document(keys), encoding="utf-8")
        else:
            path = Path(file)
        folder = Path(out) if out is not None else Path(path.stem)
        arguments = ["sweep", str(path), "--out", str(folder), "--quiet"]
        if jobs is not None:
            arguments += ["--jobs", str(jobs)]
        if shard is not None:
            arguments += ["--shard", f"{shard[0]}/{shard[1]}"]
        if report:
            arguments.append("--report")
        with _engine(cluster, own, Path(place)) as engine, shown() as show:
            code, printed, said, cause = _thalweg.call([*arguments, *engine], list(own.items()), stamp, None, show)
        results = folder / "results.json"
        if code == 2 or (code != 0 and not printed):
            # Nobody has seen the file of a dictionary.
            raise _error(code, said.replace(str(path), "sweep") if isinstance(file, Mapping) else said)
        answer = json.loads(results.read_text(encoding="utf-8")) if shard is None else {}
        for failed in answer.get("failed", []):
            failed["command"] = in_python(failed["command"], own)
        return SweepResult(folder, answer, printed, cause)


@contextmanager
def _engine(cluster: Any, controllers: Controllers, place: Path) -> Iterator[list[str]]:
    """What tells the command of a cluster, for as long as it is spoken to."""
    if cluster is None:
        yield []
        return
    from . import _cluster

    try:
        with _cluster.served(cluster, list(controllers.items()), place) as address:
            yield ["--cluster", address]
    except _cluster.GoneError as error:
        raise RunError(str(error)) from error


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
    Runs are kept by the source text of a class, as those of a sweep are."""
    own = dict(controllers or {})
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
    own = dict(controllers or {})
    words = ["hunt", _named(scheme, own), "--goal", goal, "--out", os.fspath(out), *_options(options), "--json", "--quiet"]
    if kinds:
        words += ["--with", ",".join(kinds)]
    return _judged(words, own)


def _judged(words: Sequence[str], controllers: Controllers) -> dict[str, Any]:
    """The document of a command that ends with 1 where what it says is no good news."""
    code, printed, said, cause = _thalweg.call(list(words), list(controllers.items()), _sources(controllers), _stop.get())
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
    own = dict(controllers or {})
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
    own = dict(controllers or {})
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
    """Options of the command: `most_reps=3` is `--most-reps 3`, True an option without a value, False none."""
    words = []
    for name, value in options.items():
        if value is not False:
            words.append(f"--{name.replace('_', '-')}")
            if value is not True:
                words.append(str(value))
    return words
