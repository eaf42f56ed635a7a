"""Results, as Python objects."""

import html
import json
import math
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from . import _thalweg
from . import _arguments as arguments
from ._errors import RunError, ScenarioError, UnknownNameError, in_pythons_words, unknown_name_error


class Table:
    """Table that pandas, polars, pyarrow and DuckDB read without a copy (`pandas.DataFrame.from_arrow(table)`, `polars.DataFrame(table)`,
    `pyarrow.table(table)`)."""

    def __init__(self, native: _thalweg.Table) -> None:
        # Columns without values are not listed, but can be read by name.
        self._native, self._missing = native.without_missing()

    def __reduce__(self) -> tuple[Any, ...]:
        return _table, (self._native.parts(), self._missing)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._native.column_names

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, name: str) -> list[Any]:
        """Returns the values of a column; None for missing ones."""
        if not isinstance(name, str):
            raise ScenarioError(f"a column is chosen by its name, and not by {name!r}")
        if name in self._missing:
            return [None] * len(self)
        try:
            return self._native.column(name)
        except KeyError:
            raise unknown_name_error(f"there is no column `{name}`", name, self.columns) from None

    def __contains__(self, name: object) -> bool:
        """Returns true for the names of columns, also of those without values."""
        return name in self._missing or name in self.columns

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterates over the rows, as dictionaries."""
        columns = {name: self[name] for name in self.columns}
        return (dict(zip(columns, row)) for row in zip(*columns.values()))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """Returns the table as a pyarrow table."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """Returns the table as a pandas data frame."""
        import pandas

        if hasattr(pandas.DataFrame, "from_arrow"):
            return pandas.DataFrame.from_arrow(self)
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Returns the table as a polars data frame."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"<thalweg.Table: {len(self)} rows of {', '.join(self.columns[:6])}, ...>"


def _table(parts: Sequence[tuple[str, str, Sequence[Any]]], missing: list[str]) -> Table:
    """Recreates a pickled table."""
    table = Table(_thalweg.Table.of(parts))
    table._missing = missing
    return table


def _of_rows(rows: Sequence[Mapping[str, Any]], is_empty: bool = False) -> Table:
    """Creates a table of dictionaries: counts are integers, everything else is a number, a text or a boolean. An empty one has the columns
    of these rows."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _typed(name, [row.get(name) for row in rows]) for name in names}
    return Table(_thalweg.Table.of([(name, kind, [] if is_empty else cells) for name, (kind, cells) in columns.items()]))


def join_tables(name: str, tables: Sequence[Table]) -> Table:
    """Joins the rows of tables, with the number of their table, from 0, in a first column of this name."""
    return _of_rows([{name: number, **row} for number, table in enumerate(tables) for row in table])


def _typed(name: str, cells: Sequence[Any]) -> tuple[str, list[Any]]:
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(cell, str) for cell in known):
        return "text", list(cells)
    if known and all(isinstance(cell, bool) for cell in known):
        return "switch", list(cells)
    if known and not name.endswith("_bps") and all(isinstance(cell, int) for cell in known):
        return "count", list(cells)
    return "number", [None if cell is None else float(cell) for cell in cells]


def _notes(of: "_thalweg.RunMeasurements | _Copy") -> str:
    """Returns the warnings and notes of a run, one after the other."""
    return of.notes() if isinstance(of, _Copy) else "".join(f"{in_pythons_words(message)}\n" for message in of.messages())


class _Copy:
    """Content of a result without its simulations, for pickling."""

    def __init__(self, of: "_thalweg.RunMeasurements | _Copy") -> None:
        self._texts = (of.document(), of.summary(), of.figure(), of.scenario(), _notes(of))
        self._quantities = of.quantities()
        self._tables = tuple(table.parts() for table in (of.flows(), of.links(), of.series()))

    def document(self) -> str:
        return self._texts[0]

    def summary(self) -> str:
        return self._texts[1]

    def figure(self, plots: Sequence[str] | None = None, time: tuple[float, float] | None = None) -> str:
        if plots is not None or time is not None:
            raise ScenarioError("a result that was pickled or deeply copied has only its first picture: choose plots and a time before")
        return self._texts[2]

    def scenario(self) -> str:
        return self._texts[3]

    def notes(self) -> str:
        return self._texts[4]

    def quantities(self) -> list[str]:
        return self._quantities

    def flows(self) -> _thalweg.Table:
        return _thalweg.Table.of(self._tables[0])

    def links(self) -> _thalweg.Table:
        return _thalweg.Table.of(self._tables[1])

    def series(self, quantity: str | None = None) -> _thalweg.Table:
        parts = self._tables[2]
        if quantity is not None:
            of = next(cells for name, _, cells in parts if name == "quantity")
            rows = [row for row, name in enumerate(of) if name == quantity]
            parts = [(name, kind, [cells[row] for row in rows]) for name, kind, cells in parts]
        return _thalweg.Table.of(parts)


class Figure:
    """Picture, displayed by notebooks."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture, as SVG or, where the file's name ends in `.png`, as PNG."""
        kind = Path(arguments.path("path", path)).suffix.lower()
        if kind not in (".png", ".svg"):
            raise ScenarioError(f"`{os.fspath(path)}`: pictures are .svg or .png")
        content = _thalweg.png(self.svg) if kind == ".png" else self.svg.encode()
        try:
            Path(path).write_bytes(content)
        except OSError as why:
            raise RunError(f"cannot write `{os.fspath(path)}`: {why.strerror or why}") from why


class Result:
    """Results of a run, of several runs, or of a comparison."""

    def __init__(self, measured: _thalweg.RunMeasurements | _Copy) -> None:
        self._measured = measured

    def __reduce__(self) -> tuple[Any, ...]:
        return Result, (self._measured if isinstance(self._measured, _Copy) else _Copy(self._measured),)

    def __copy__(self) -> "Result":
        # Nothing changes the simulations, which pickling leaves out.
        return Result(self._measured)

    @cached_property
    def document(self) -> dict[str, Any]:
        """Document, as printed by `--json`."""
        document: dict[str, Any] = json.loads(self._measured.document())
        return document

    @cached_property
    def _own_document(self) -> dict[str, Any]:
        """The same, for the tables here: callers may change theirs."""
        document: dict[str, Any] = json.loads(self._measured.document())
        return document

    @cached_property
    def flows(self) -> Table:
        """A row for each flow of each run; `compared` is the scheme in comparisons."""
        return Table(self._measured.flows())

    @cached_property
    def links(self) -> Table:
        """A row for each direction of a link of each run."""
        return Table(self._measured.links())

    def _runs(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Returns the runs, each with the columns that identify it."""
        is_comparison = self._own_document["kind"] == "comparison"
        for of in self._own_document["schemes"] if is_comparison else [self._own_document]:
            for run in of["runs"]:
                yield {**({"compared": of["scheme"]} if is_comparison else {}), "seed": run["seed"]}, run

    @cached_property
    def groups(self) -> Table:
        """A row for each group of flows of each run."""
        rows = [{**known, **_plain(group, "name", "group")} for known, run in self._runs() for group in run["groups"]]
        return _of_rows(rows or [self._no_row("group", "scheme", "flows", of="group")], is_empty=not rows)

    @cached_property
    def totals(self) -> Table:
        """A row for each run, with the values of the network."""
        return _of_rows([{**known, **_plain(run["totals"])} for known, run in self._runs()])

    @cached_property
    def transfers(self) -> Table:
        """A row for each group with transfers of each run, by size class: number of completed transfers and completion times."""
        rows = [
            {**known, "group": group["name"], **_plain(size)}
            for known, run in self._runs()
            for group in run["groups"]
            for size in group.get("sizes") or []
        ]
        return _of_rows(rows or [self._no_row("group", "from_bytes", "below_bytes", of="size class")], is_empty=not rows)

    def _no_row(self, *names: str, of: str) -> dict[str, Any]:
        """Returns the columns of an empty table, with values of their types."""
        compared = ["compared"] if self._own_document["kind"] == "comparison" else []
        metrics = [name for name, _, _, subject in _thalweg.listed()[2] if subject == of]
        texts = {"compared", "group", "scheme"}
        return {name: "" if name in texts else 0 if name in ("seed", "flows") else 0.0 for name in (*compared, "seed", *names, *metrics)}

    @property
    def quantities(self) -> list[str]:
        """Names of the recorded series."""
        return self._measured.quantities()

    def series(self, quantity: str | None = None) -> Table:
        """Returns the points of the series of a quantity, or of all."""
        if quantity is not None and quantity not in self.quantities:
            raise unknown_name_error(f"there is no series `{quantity}`", quantity, self.quantities)
        return Table(self._measured.series(quantity))

    @property
    def fingerprints(self) -> list[str]:
        """Hash of all events, for each run."""
        document = self._own_document
        parts = document["schemes"] if document["kind"] == "comparison" else [document]
        return [run["fingerprint"] for part in parts for run in part["runs"]]

    @property
    def fingerprint(self) -> str:
        """Hash of the first run."""
        return self.fingerprints[0]

    @property
    def scenario(self) -> str:
        """Scenario with all defaults written out."""
        return self._measured.scenario()

    @property
    def notes(self) -> str:
        """Warnings and notes of the command."""
        return _notes(self._measured)

    def plot(self, *plots: str, time: tuple[float, float] | None = None) -> Figure:
        """Returns the picture of `--svg`: goodput, queues, round trips and windows, with the mean over several seeds, or bars of schemes.
        `plots` selects plots by name, as in `thalweg report --plots`: `plot("rtt-cdf")`. `time` is the interval shown, in seconds."""
        span = None if time is None else _span(time)
        names = arguments.texts("plots", plots, "rtt-cdf")
        try:
            return Figure(self._measured.figure(names or None, span))
        except ScenarioError:
            raise
        except ValueError as error:
            # All that can be wrong is a name.
            raise UnknownNameError(str(error)) from None

    def __str__(self) -> str:
        return self._measured.summary()

    def __repr__(self) -> str:
        return f"<thalweg.Result: {self.document['scenario']['file']}, {len(self.fingerprints)} runs>"

    def _repr_html_(self) -> str:
        return f"{self._measured.figure()}\n<pre>{html.escape(str(self))}</pre>"


def _span(of: Any) -> tuple[float, float]:
    """Checks the interval of a picture."""
    times = list(of) if isinstance(of, Iterable) and not isinstance(of, (str, bytes)) else []
    try:
        seconds = [float(time) if arguments.is_number(time) else math.nan for time in times]
    except OverflowError:
        seconds = []
    if len(seconds) != 2 or not 0 <= seconds[0] < seconds[1] < math.inf:
        raise ScenarioError(f"a time is a pair of seconds, finite, the second later than the first: {of!r}")
    return seconds[0], seconds[1]


def _plain(of: Mapping[str, Any], name: str = "", called: str = "") -> dict[str, Any]:
    """Returns the numbers, texts and booleans of an object; nested ones have both names."""
    row: dict[str, Any] = {}
    for key, value in of.items():
        if isinstance(value, Mapping):
            row |= {f"{key}.{inner}": cell for inner, cell in _plain(value).items()}
        elif value is None or isinstance(value, (bool, int, float, str)):
            row[called if key == name else key] = value
    return row


_READERS: Mapping[str | None, Callable[[str], Any]] = {"integer": int, "number": float, None: str}
"""Functions that read the values of a factor, by its `numbers`."""

_NUMBER = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def scheme_list(text: str) -> list[str]:
    """Splits the schemes of a command at commas. Options of a scheme are separated by commas too, and begin with a name and `=`."""
    schemes: list[str] = []
    for part in text.split(",") if text else []:
        if schemes and "=" in part.partition(":")[0]:
            schemes[-1] += f",{part}"
        else:
            schemes.append(part)
    return schemes


def python_call(command: str, controllers: Collection[str], is_file: bool = True) -> str | None:
    """Returns the Python call in place of a command that reruns a point, if the command is not enough: if it names one of these
    controllers or a number without a unit, or if its scenario is not a file."""
    words = shlex.split(command)
    schemes = scheme_list(words[words.index("--schemes") + 1] if "--schemes" in words else "")
    named = [name for name in controllers if name in schemes or any(word.endswith((f'"{name}"', f"={name}")) for word in words)]
    sets = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    has_numbers = any(_NUMBER.fullmatch(of.partition("=")[2].strip()) for of in sets)
    if words[1] not in ("run", "compare") or not (named or has_numbers or not is_file):
        return None
    given = [repr(words[2]) if is_file else "scenario"]
    if schemes:
        given.append(repr(schemes))
    if "--seed" in words:
        given.append(f"seed={words[words.index('--seed') + 1]}")
    if sets:
        given.append(f"set={sets!r}")
    if named:
        given.append(f"controllers={{{', '.join(f'{name!r}: ...' for name in named)}}}")
    return f"thalweg.{words[1]}({', '.join(given)})"


class StoredTable(os.PathLike[str]):
    """Table in a Parquet file, usable as its path (`pandas.read_parquet(table)`). The file has a column for every metric; the methods
    here leave out columns without values, as do the tables of `Result`."""

    def __init__(self, path: Path, check: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self._check = check

    def __fspath__(self) -> str:
        self._check()
        return str(self.path)

    def _file(self) -> Path:
        """Returns the file; there is none if all points failed."""
        self._check()
        if not self.path.exists():
            raise RunError(f"`{self.path}` is not there: no run of the sweep has a row for it, or the folder was moved")
        return self.path

    def to_arrow(self) -> Any:
        """Returns the table as a pyarrow table."""
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(self._file())
        return table.select([name for name in table.column_names if not table.num_rows or table[name].null_count < table.num_rows])

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """Returns the table as a pandas data frame."""
        import pandas

        frame = pandas.read_parquet(self._file())
        return frame if frame.empty else frame.dropna(axis="columns", how="all")

    def to_polars(self) -> Any:
        """Returns the table as a polars data frame."""
        import polars

        frame = polars.read_parquet(self._file())
        return frame.select([column for column in frame.get_columns() if not len(column) or column.null_count() < len(column)])

    def __repr__(self) -> str:
        return f"<thalweg.StoredTable: {self.path}>"


class ReportPage:
    """Report page for the browser, displayed by notebooks in a frame."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _repr_html_(self) -> str:
        text = html.escape(self.path.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{text}" width="100%" height="640" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<thalweg.ReportPage: {self.path}>"


_SIZE = re.compile(r'<svg[^>]* width="(\d+)" height="(\d+)"')
_WIDTH = 1000
_MOST_CELLS = 40
_MAX_FAILURES_SHOWN = 3


def _side_by_side(pictures: Sequence[str]) -> str:
    """Places pictures side by side in rows."""
    x = y = high = wide = 0
    placed = []
    for picture in pictures:
        found = _SIZE.search(picture)
        width, height = (int(found[1]), int(found[2])) if found else (0, 0)
        if x > 0 and x + width > _WIDTH:
            x, y, high = 0, y + high + 12, 0
        placed.append(picture.replace("<svg", f'<svg x="{x}" y="{y}"', 1))
        x, high = x + width + 16, max(high, height)
        wide = max(wide, x)
    attributes = f'width="{wide}" height="{y + high}" viewBox="0 0 {wide} {y + high}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes} font-family="sans-serif">{"".join(placed)}</svg>'


JOIN = "if its shards are complete, the same call of `thalweg.sweep` without `shard` joins them"
"""Advice for the folder of a shard."""


class SweepResult:
    """Results of a sweep, stored in a folder."""

    def __init__(self, folder: Path, document: dict[str, Any], summary: str, cause: BaseException | None = None) -> None:
        self.folder = folder
        self.document = document
        self.cause = cause
        """Exception of a controller that made a point fail, if one was raised in this call."""
        self._summary = summary
        self._written = self._file_state()

    def _of_whole(self, name: str) -> Any:
        """Returns a part of the document; a single shard of several has none."""
        self._check_whole(name)
        return self.document[name]

    def _check_whole(self, name: str) -> None:
        if not self.document:
            raise RunError(f"a shard has no `{name}`: {JOIN}")

    def _file_state(self) -> tuple[int, ...] | None:
        """Returns what tells whether the document of the folder was written again; None without one."""
        try:
            state = os.stat(self.folder / "results.json")
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino

    def _check_folder(self) -> None:
        """Checks that the files of the folder are of these results, and not of a later sweep."""
        now = self._file_state()
        if now is None or now == self._written:
            return
        if json.loads((self.folder / "results.json").read_text(encoding="utf-8")) != self.document:
            raise RunError(f"`{self.folder}` has the results of a later call: use a folder for each sweep, or sweep again")
        self._written = now

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points, with their values, seeds and the means of metrics."""
        points: list[dict[str, Any]] = self._of_whole("points")
        return points

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Failed points, with the reason and the `command` that reruns each, or a `call` where a command is not enough: for a Python
        controller, a dictionary or numbers without a unit."""
        failed: list[dict[str, Any]] = self._of_whole("failed")
        return failed

    @property
    def importance(self) -> dict[str, dict[str, Any]]:
        """By metric, the share of its variance that each factor explains."""
        importance: dict[str, dict[str, Any]] = self._of_whole("importance")
        return importance

    @property
    def flows(self) -> StoredTable:
        """A row for each flow of each run, with the values of its point (`sweep.flows.to_pandas()`)."""
        self._check_whole("flows")
        return StoredTable(self.folder / "flows.parquet", self._check_folder)

    @property
    def links(self) -> StoredTable:
        """A row for each direction of a link of each run."""
        self._check_whole("links")
        return StoredTable(self.folder / "links.parquet", self._check_folder)

    @property
    def means(self) -> dict[str, list[Any]]:
        """A row for each point, as columns: its values, and the means of metrics with half of their 95 % intervals (`..._ci95`). Values
        without a unit are numbers, as in `flows`."""
        names = list(dict.fromkeys(name for point in self.points for name in point["metrics"]))
        columns: dict[str, list[Any]] = {"point": [point["point"] for point in self.points]}
        for factor in self._of_whole("factors"):
            read = _READERS[factor.get("numbers")]
            columns[factor["name"]] = [read(point["values"][factor["name"]]) for point in self.points]
        for name in names:
            known = [point["metrics"].get(name, {}) for point in self.points]
            columns[name] = [of.get("mean") for of in known]
            columns[f"{name}_ci95"] = [of.get("ci95") for of in known]
        return columns

    def plot(self, metric: str = "goodput_bps", across: str | None = None, down: str | None = None) -> Figure:
        """Returns maps of a metric over two factors, by default the two that explain most of it. There is a map for each scheme, or else
        for each value of the factor that explains most of the remainder; points that differ only in other factors are averaged."""
        if across is not None and across == down:
            raise ScenarioError(f"across and down are two factors, and not both `{across}`")
        factors = {of["name"]: of["values"] for of in self._of_whole("factors")}
        # Plain numbers have their unit at the axis.
        titles = {of["name"]: f"{of['name']} ({of['unit']})" if "unit" in of else of["name"] for of in self.document["factors"]}
        for name in (across, down):
            if name is not None and name not in factors:
                raise unknown_name_error(f"there is no factor `{name}`", name, factors)
        shares = self.importance.get(metric, {}).get("factors", {})
        free = sorted((name for name in factors if name not in (across, down)), key=lambda name: -shares.get(name, 0.0))
        plain = [name for name in free if name != "scheme" and 1 < len(factors[name]) <= _MOST_CELLS]
        axes = [of or (plain.pop(0) if plain else None) for of in (across, down)]
        left = [name for name in free if name not in axes and 1 < len(factors[name]) <= _MOST_CELLS]
        if axes[1] is None and left:
            axes[1] = left.pop(0)
        if axes[0] is None:
            axes.reverse()
        beside = "scheme" if "scheme" in left else next(iter(left), None)
        sums: dict[tuple[str, ...], list[float]] = {}
        for point in self.points:
            value = point["metrics"].get(metric, {}).get("mean")
            if value is not None:
                place = tuple("" if name is None else point["values"][name] for name in (*axes, beside))
                sums.setdefault(place, []).append(value)
        means = {place: sum(values) / len(values) for place, values in sums.items()}
        if not means:
            names_of = sorted({name for point in self.points for name in point["metrics"]})
            raise unknown_name_error(f"no point has the metric `{metric}`", metric, names_of)

        def names(of: str | None) -> tuple[str, list[str]]:
            return ("", [""]) if of is None else (titles[of], factors[of])

        columns, rows = names(axes[0]), names(axes[1])
        scale = (min(means.values()), max(means.values()))
        pictures = []
        for value in names(beside)[1]:
            title = f"{metric}, {titles[beside]} {value}" if beside else metric
            cells = [[means.get((column, row, value)) for column in columns[1]] for row in rows[1]]
            try:
                pictures.append(_thalweg.heat_map(metric, title, columns, rows, cells, scale))
            except KeyError as error:
                raise UnknownNameError(error.args[0]) from None
        return Figure(_side_by_side(pictures))

    @property
    def report(self) -> ReportPage:
        """Page written by `report=True`."""
        self._check_whole("report")
        self._check_folder()
        path = self.folder / "report.html"
        if not path.exists():
            raise RunError(f"`{path}` is not there: the same call with report=True writes it, and runs nothing again")
        return ReportPage(path)

    def __str__(self) -> str:
        # A single shard of several has no document.
        failed = self.document.get("failed", [])
        failures = "".join(f"\nPoint {of['point']} failed: {of['why']}\n  {of.get('call') or of['command']}\n" for of in failed[:_MAX_FAILURES_SHOWN])
        more = f"\n{len(failed) - _MAX_FAILURES_SHOWN} more failed\n" if len(failed) > _MAX_FAILURES_SHOWN else ""
        return f"{self._summary}{failures}{more}"

    def __repr__(self) -> str:
        what = f"{len(self.points)} points" if self.document else "a shard"
        return f"<thalweg.SweepResult: {what} in {self.folder}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
