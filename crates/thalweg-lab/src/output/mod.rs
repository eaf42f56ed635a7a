//! Results for people and for other programs: tables, folders, series and packet captures.

mod comparison;
mod folder;
mod parquet;
pub mod pcap;
mod series;
mod summary;
mod table;
mod text;

pub use folder::{Folder, FolderError, Stored};
pub use parquet::ParquetSeries;
pub use series::{CsvSeries, RunKey};
pub use summary::summary;
pub use table::{Align, Table};
pub use text::{Style, rate, seconds};
