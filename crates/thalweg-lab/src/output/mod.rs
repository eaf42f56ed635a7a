//! Results for people and for other programs: tables, folders, series, packet captures and sequence
//! diagrams.

mod comparison;
mod folder;
mod parquet;
pub mod pcap;
pub mod sequence;
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
