//! Results for people and for other programs: tables, folders, series, pictures, capacity traces and sequence diagrams.

mod aborted_flows_remark;
mod comparison_criterion;
mod comparison_text;
mod csv_series;
mod differing_defaults;
mod environment_rendering;
mod group_label;
mod identical_runs;
pub mod mahimahi_trace;
mod metric_columns;
mod number_format;
mod parquet_series;
mod png;
mod queue_losses_remark;
mod remarks_below_tables;
mod result_rows;
mod results_folder;
pub mod sequence_diagram;
mod starvation_remark;
pub(crate) mod svg_diagrams;
mod table_elements;
mod temporary_name;
mod text_summary;
mod text_table;
mod text_to_paths;
mod transfer_table;
mod unsettled_goodput_remark;
mod verdict;
mod warmup_data_remark;

pub(crate) use comparison_criterion::aborted_schemes;
pub use csv_series::subject_name as series_subject;
pub use csv_series::{CsvSeries, RunKey};
pub use differing_defaults::{Remedy, differing_defaults_warning};
pub use environment_rendering::{QuantityHistory, history_svg};
pub(crate) use identical_runs::{DETERMINISTIC, are_all_identical, identical_runs_sentences};
pub(crate) use metric_columns::{Datum, cell_text};
pub use metric_columns::{
    MeansRow, format_means_table, format_value, has_transfers, heads_of, mean_in_words, share_in_words,
};
pub(crate) use number_format::Scale;
pub use number_format::{
    COLUMNS, Style, format_count, format_factor, format_rate, format_seconds, join_listed, join_quoted,
};
pub use parquet_series::ParquetSeries;
pub use png::{Pixels, PngError, render_pixels, render_png};
pub(crate) use remarks_below_tables::all_remarks;
pub use result_rows::{Cells, Column, ParquetRows, Rows};
pub use results_folder::{FIGURE, Folder, FolderError, IMAGE, MAX_RESULTS, REPORT, Stored, is_trace};
pub(crate) use table_elements::format_direction;
pub use temporary_name::temporary_name;
pub use text_summary::format_summary;
pub(crate) use text_summary::title_lines;
pub use text_table::{Align, Table};
pub use transfer_table::{CsvTransfers, ParquetTransfers};
pub use verdict::{Certainty, Verdict, decide_verdicts};
pub use warmup_data_remark::goodput_from_warmup;
