"""Results as Python sees them."""

import html
import json
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from . import _thalweg


class Table:
    """A table that pandas, polars, pyarrow and DuckDB take without a copy (`pandas.DataFrame.from_arrow(table)`, `polars.DataFrame(table)`,
    `pyarrow.table(table)`)."""

    def __init__(self, native: _thalweg.Table) -> None:
        self._native = native

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.column_names

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column; None where there is none."""
        return self._native.column(name)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, as dictionaries."""
        columns = {name: self[name] for name in self.columns}
        return (dict(zip(columns, row)) for row in zip(*columns.values()))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """The table as one of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        import pandas

        if hasattr(pandas.DataFrame, "from_arrow"):
            return pandas.DataFrame.from_arrow(self)
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The table as a data frame of polars."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"<thalweg.Table: {len(self)} rows of {', '.join(self.columns[:6])}, ...>"


class Figure:
    """A picture, which notebooks show."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as SVG."""
        Path(path).write_text(self.svg, encoding="utf-8")


class Result:
    """The results of a run, of several runs, or of a comparison."""

    def __init__(self, measured: _thalweg.Measured) -> None:
        self._measured = measured

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document that `--json` prints."""
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

    @property
    def quantities(self) -> list[str]:
        """The names of the series that were recorded."""
        return self._measured.quantities()

    def series(self, quantity: str | None = None) -> Table:
        """The points of the series of a quantity, or of all."""
        if quantity is not None and quantity not in self.quantities:
            known = ", ".join(self.quantities)
            raise KeyError(f"there is no series `{quantity}`; there are {known}")
        return Table(self._measured.series(quantity))

    @property
    def fingerprints(self) -> list[str]:
        """A hash over all that happened, for each run."""
        document = self.document
        parts = document["schemes"] if document["kind"] == "comparison" else [document]
        return [run["fingerprint"] for part in parts for run in part["runs"]]

    @property
    def fingerprint(self) -> str:
        """The hash of the first run."""
        return self.fingerprints[0]

    @property
    def scenario(self) -> str:
        """The scenario with everything written out."""
        return self._measured.scenario()

    @property
    def notes(self) -> str:
        """The warnings and notes of the command."""
        return self._measured.said()

    def plot(self) -> Figure:
        """The picture that `--svg` writes: goodput, queues, round trips and windows, or bars of schemes."""
        return Figure(self._measured.figure())

    def __str__(self) -> str:
        return self._measured.summary()

    def __repr__(self) -> str:
        return f"<thalweg.Result: {self.document['scenario']['file']}, {len(self.fingerprints)} runs>"

    def _repr_html_(self) -> str:
        return f"{self._measured.figure()}\n<pre>{html.escape(str(self))}</pre>"


class SweepResult:
    """The results of a sweep, which are in a folder."""

    def __init__(self, folder: Path, document: dict[str, Any], summary: str) -> None:
        self.folder = folder
        self.document = document
        self._summary = summary

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points, with their values, seeds and the means of metrics."""
        points: list[dict[str, Any]] = self.document["points"]
        return points

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The points that failed, with the reason and the command that runs each again."""
        failed: list[dict[str, Any]] = self.document["failed"]
        return failed

    @property
    def importance(self) -> dict[str, dict[str, Any]]:
        """By metric, the share of its variance that each factor explains."""
        importance: dict[str, dict[str, Any]] = self.document["importance"]
        return importance

    @property
    def flows(self) -> Path:
        """The Parquet file with a row for each flow of each run (`pandas.read_parquet(sweep.flows)`)."""
        return self.folder / "flows.parquet"

    @property
    def links(self) -> Path:
        """The Parquet file with a row for each direction of a link of each run."""
        return self.folder / "links.parquet"

    def __str__(self) -> str:
        return self._summary

    def __repr__(self) -> str:
        return f"<thalweg.SweepResult: {len(self.points)} points in {self.folder}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
