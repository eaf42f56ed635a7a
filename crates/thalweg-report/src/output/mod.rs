//! Results for people and for other programs: tables, folders, series, pictures, traces of capacity and
//! sequence diagrams.

mod columns;
mod comparison;
mod contest;
mod failures;
mod folder;
mod history;
mod losses;
pub mod mahimahi;
mod outlines;
mod parquet;
mod png;
mod remarks;
mod rows;
pub mod sequence;
mod series;
mod settling;
mod summary;
pub(crate) mod svg;
mod table;
mod text;
mod transfers;
mod unlike;
mod verdict;

pub(crate) use columns::{Datum, words};
pub use columns::{MeansRow, heads_of, mean_in_words, means, share_in_words, value};
pub use folder::{FIGURE, Folder, FolderError, IMAGE, MAX_RESULTS, REPORT, Stored};
pub use history::{Past, history};
pub use parquet::ParquetSeries;
pub use png::{Pixels, PngError, pixels, png};
pub(crate) use remarks::remarks;
pub use rows::{Cells, Column, ParquetRows, Rows};
pub use series::subject as series_subject;
pub use series::{CsvSeries, RunKey};
pub use summary::summary;
pub(crate) use summary::{direction, title_lines};
pub use table::{Align, Table};
pub(crate) use text::Scale;
pub use text::{COLUMNS, Style, counted, listed, quoted, rate, seconds};
pub use transfers::{CsvTransfers, ParquetTransfers};
pub use unlike::{Remedy, unlike_warning};
pub use verdict::{Certainty, Verdict, verdicts};
