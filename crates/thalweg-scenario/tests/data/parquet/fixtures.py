"""Writes the Parquet fixtures with pyarrow and polars."""
import datetime
import os
import pandas as pd, polars as pl, pyarrow as pa, pyarrow.parquet as pq
out = os.path.dirname(os.path.abspath(__file__))
rows = {"start": [0.5, 0.0001, 0.000002], "from": ["n1", "n1", "n2"], "to": ["n3", "n3", "n3"], "size": [20000, 10000, 7]}
table = pa.table(rows)
p = lambda name: f"{out}/{name}.parquet"
def strip(t): return t.replace_schema_metadata(None)
pd.DataFrame(rows).to_parquet(p("pandas"), index=False)
pl.DataFrame(rows).write_parquet(p("polars"))
# Other order and types, a nested column and others between, pages of version 2, several row groups, no dictionary.
mixed = pa.table({"tags": pa.array([{"a": [1], "b": "x"}, {"a": [], "b": "y"}, {"a": [2, 3], "b": None}]),
  "Size": pa.array([20000, 10000, 7], pa.uint32()), "dst": pa.array([2, 2, 2], pa.int32()), "when": pa.array([datetime.datetime(2026,1,1)]*3),
  "src": pa.array(["n1", "0", "n2"], pa.large_string()).dictionary_encode(), "start": pa.array(["0.5", "100 us", "2us"])})
pq.write_table(mixed, p("pages-v2"), data_page_version="2.0", compression="zstd", row_group_size=2)
single = pa.table({"start": pa.array(rows["start"], pa.float32()), "from": pa.array([0, 0, 1], pa.uint64()), "to": pa.array([2, 2, 2], pa.uint8()), "size": pa.array([20000.0, 10000.0, 7.0])},
  schema=pa.schema([pa.field("start", pa.float32(), nullable=False), pa.field("from", pa.uint64(), nullable=False), pa.field("to", pa.uint8(), nullable=False), pa.field("size", pa.float64(), nullable=False)]))
pq.write_table(single, p("plain"), use_dictionary=False, compression="none", store_schema=False)
def bad(name, **kw):
    options = {k[2:]: v for k, v in kw.items() if k.startswith("o_")}
    changed = dict(rows) | {k: v for k, v in kw.items() if not k.startswith("o_")}
    pq.write_table(pa.table({k: v for k, v in changed.items() if v is not None}), p(name), **options)
bad("missing-value", size=[20000, None, 7])
bad("gzip", o_compression="gzip")
bad("delta", o_use_dictionary=False, o_column_encoding={"size": "DELTA_BINARY_PACKED"})
bad("booleans", size=[True, False, True])
bad("timestamps", start=[datetime.datetime(2026,1,1)]*3)
bad("time-spans", start=[datetime.timedelta(milliseconds=5)]*3)
bad("decimals", size=pa.array([1,2,3]).cast(pa.decimal128(25,2)))
bad("nested", **{"from": [["n1"],["n1"],["n2"]]})
bad("no-size", size=None)
bad("comma", **{"from": ["n1","n,1","n2"]})
bad("no-node", **{"from": ["n1","n9","n2"]})
bad("negative", start=[0.1, -1.0, 0.2])
pq.write_table(pa.table({"a": [1], "b": [2]}), p("other-columns"))
pl.DataFrame({**rows, "start": [datetime.timedelta(seconds=1)]*3}).write_parquet(p("polars-time-spans"))
pq.write_table(pa.table({k: v[:0] for k, v in rows.items()}, schema=table.schema), p("empty"))

bomb = pa.table({"start": [0.0], "from": ["x" * (60 << 20)], "to": ["n1"], "size": [1]})
w = pq.ParquetWriter(p("bomb"), bomb.schema, compression="zstd", use_dictionary=False, write_statistics=False)
for _ in range(5): w.write_table(bomb)
w.close()
pq.write_table(pa.table({"from": ["n1", "n2"], "to": ["n3", "n3"], "rate": ["1 Mbit/s", "2 Mbit/s"]}), p("demands"))
