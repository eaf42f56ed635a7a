//! Lists in Parquet files. `tests/data/parquet/fixtures.py` writes the files, with pyarrow, pandas and polars.

use super::transfer_lists::{FABRIC, transfers};
use std::path::{Path, PathBuf};
use thalweg_scenario::{Diagnostic, LoadedScenario, load_text};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/parquet")
}

fn listed(name: &str) -> Result<LoadedScenario, Vec<Diagnostic>> {
    let flow = format!("workload = {{ kind = \"list\", file = \"{name}.parquet\" }}\n");
    load_text("list.toml", &format!("{FABRIC}{flow}"), &data(), &[])
}

fn rendered(found: Result<LoadedScenario, Vec<Diagnostic>>) -> String {
    found.unwrap_err().iter().map(Diagnostic::render).collect()
}

/// Snappy and zstd, dictionaries and plain values, pages of both versions, several row groups, numbers of all widths and text.
#[test]
fn what_data_frame_libraries_write_gives_the_transfers_of_the_same_csv() {
    let of = |from: &str, at: f64, size: u64| (from.to_owned(), "n3".to_owned(), at, size);
    let expected = [of("n1", 100.0, 10_000), of("n1", 500_000.0, 20_000), of("n2", 2.0, 7)];
    for name in ["pandas", "polars", "pages-v2", "plain"] {
        let loaded = listed(name).unwrap_or_else(|found| panic!("{name}: {}", rendered(Err(found))));
        assert_eq!(transfers(&loaded), expected, "{name}");
    }
}

/// Each error names the file, the column and what is expected; those of a row, the row.
#[test]
fn other_parquet_files_are_refused() {
    let types = "expected numbers (start in s, size in B) or text";
    for (name, expected) in [
        ("missing-value", "the column `size` has no value in row 2: expected one in each row"),
        ("gzip", "the column `start` is compressed with gzip: expected snappy, zstd or none"),
        ("delta", "the column `size` has the encoding DELTA_BINARY_PACKED: expected PLAIN or a dictionary"),
        ("booleans", "the column `size` has booleans: expected numbers"),
        ("timestamps", "the column `start` has timestamps: expected numbers"),
        ("time-spans", "the column `start` has time spans: expected numbers"),
        ("polars-time-spans", "the column `start` has time spans: expected numbers"),
        ("decimals", types),
        ("nested", "the column `from` has nested values: expected numbers"),
        ("no-size", "names no column `size`"),
        ("other-columns", "its columns are `a`, `b`: expected `start`, `from`, `to` and `size`"),
        ("comma", "the column `from` has \"n,1\" in row 2: expected no separator"),
        ("no-node", "there is no node `n9`"),
        ("negative", "-1"),
        ("empty", "no transfers"),
        ("bomb", "the column `from` has more data than a list of a million rows"),
    ] {
        let rendered = rendered(listed(name));
        assert!(rendered.contains(expected), "{name}: {rendered}");
        assert!(rendered.contains(&format!("{name}.parquet")), "{name}: {rendered}");
    }
    assert!(rendered(listed("no-node")).contains("no-node.parquet:3:"), "the line after the names is row 1");
}

/// Demands are lists too.
#[test]
fn demands_are_read_from_parquet() {
    let flow = "matrix = \"demands.parquet\"\nworkload = { kind = \"poisson\", size = \"10 kB\" }\n";
    let loaded = load_text("list.toml", &format!("{FABRIC}{flow}"), &data(), &[]).unwrap();
    let names: Vec<&str> = loaded.spec().groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["list n1-n3", "list n2-n3"]);
}
