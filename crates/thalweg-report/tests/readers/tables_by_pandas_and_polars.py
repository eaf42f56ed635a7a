"""Opens the series of a results folder with pandas and polars, from CSV and from Parquet, and checks that the four
tables are one and the same, that their columns have types one can compute with, and that numbers computed from them are
those of the results document. Prints what it found; raises where something differs."""

import json
import sys
from pathlib import Path

import pandas
import polars

COLUMNS = ["scheme", "seed", "quantity", "unit", "subject", "time_s", "value"]
TEXTS = ["scheme", "quantity", "unit", "subject"]


def read(folder):
    """The four tables, as pandas frames, as they come: no type is asked for, but that empty text is text."""
    csv, parquet = folder / "series.csv", folder / "series.parquet"
    by_polars = {
        "polars, CSV": polars.read_csv(csv).with_columns(polars.col(TEXTS).cast(polars.String).fill_null("")),
        "polars, Parquet": polars.read_parquet(parquet),
    }
    for name, frame in by_polars.items():
        assert frame.schema["time_s"] == frame.schema["value"] == polars.Float64, f"{name}: {frame.schema}"
        assert frame.schema["seed"].is_integer(), f"{name}: {frame.schema}"
    assert by_polars["polars, Parquet"].schema["seed"] == polars.UInt64
    tables = {name: pandas.DataFrame(frame.to_dict(as_series=False)) for name, frame in by_polars.items()}
    tables["pandas, CSV"] = pandas.read_csv(csv, keep_default_na=False)
    tables["pandas, Parquet"] = pandas.read_parquet(parquet)
    return tables


def check_tables(tables):
    """Every reader sees the same rows."""
    first = tables["pandas, Parquet"]
    assert len(first) > 0, "no rows"
    for name, frame in tables.items():
        assert list(frame.columns) == COLUMNS, f"{name}: {list(frame.columns)}"
        assert frame["time_s"].dtype == frame["value"].dtype == "float64", f"{name}: {frame.dtypes}"
        for column in COLUMNS:
            ours, theirs = first[column].tolist(), frame[column].tolist()
            assert ours == theirs, f"{name}: column {column} differs"
        assert all(isinstance(text, str) for column in TEXTS for text in frame[column]), f"{name}: not all text"


def runs(document):
    """(scheme, run) of each run of a results document; the scheme is empty where none are compared."""
    if "runs" in document:
        return [("", run) for run in document["runs"]]
    return [(scheme["scheme"], run) for scheme in document["schemes"] for run in scheme["runs"]]


def check_numbers(frame, document):
    """The integral of a flow's goodput over the run is what the document says that it delivered."""
    interval = frame["time_s"].drop_duplicates().sort_values().diff().min()
    for scheme, run in runs(document):
        mine = frame[(frame["scheme"] == scheme) & (frame["seed"] == run["seed"])]
        assert len(mine) > 0, f"no series of {scheme} {run['seed']}"
        for flow in run["flows"]:
            goodput = mine[(mine["quantity"] == "goodput") & (mine["subject"] == flow["name"])]
            delivered, stated = goodput["value"].sum() * interval / 8, flow["delivered_total_bytes"]
            assert abs(delivered - stated) < 1e-6 * stated, f"{scheme} {flow['name']}: {delivered} and {stated}"


def main():
    for folder in map(Path, sys.argv[1:]):
        tables = read(folder)
        check_tables(tables)
        frame = tables["pandas, Parquet"]
        check_numbers(frame, json.loads((folder / "results.json").read_text()))
        print(f"{folder}: {len(frame)} rows, {frame['quantity'].nunique()} quantities, {', '.join(tables)}")


main()
