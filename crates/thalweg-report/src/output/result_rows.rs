//! Results of runs as tables with a row for each flow or link, for further computation: in memory as columns, and in
//! the Parquet format.

use super::parquet_series::{Sink, to_io_error, unexpected_type, write_column};
use crate::results::{Metric, Run, SubjectKind};
use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Strings.
    Text(Vec<String>),
    /// Integers.
    Integer(Vec<u64>),
    /// Counts, possibly missing.
    Count(Vec<Option<u64>>),
    /// Numbers, possibly missing.
    Number(Vec<Option<f64>>),
    /// Booleans.
    Switch(Vec<bool>),
}

/// Column with its name, which ends in its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Values.
    pub cells: Cells,
}

/// Table of columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Columns.
    pub columns: Vec<Column>,
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Integer(cells) => cells.len(),
            Self::Count(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
            Self::Switch(cells) => cells.len(),
        }
    }

    /// Appends the values of a column of the same type; ignores other types.
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Text(target), Self::Text(other)) => target.extend(other),
            (Self::Integer(target), Self::Integer(other)) => target.extend(other),
            (Self::Count(target), Self::Count(other)) => target.extend(other),
            (Self::Number(target), Self::Number(other)) => target.extend(other),
            (Self::Switch(target), Self::Switch(other)) => target.extend(other),
            _ => {}
        }
    }
}

impl Rows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Inserts a column before the others.
    pub fn push_front(&mut self, name: impl Into<String>, cells: Cells) {
        self.columns.insert(0, Column { name: name.into(), cells });
    }

    /// Appends the rows of a table with the same columns.
    pub fn append(&mut self, other: Self) {
        if self.columns.is_empty() {
            *self = other;
            return;
        }
        for (target, other) in self.columns.iter_mut().zip(other.columns) {
            target.cells.append(other.cells);
        }
    }

    fn text<'a>(&mut self, name: &str, cells: impl Iterator<Item = &'a str>) {
        let cells = Cells::Text(cells.map(str::to_owned).collect());
        self.columns.push(Column { name: name.to_owned(), cells });
    }

    fn switch(&mut self, name: &str, cells: impl Iterator<Item = bool>) {
        self.columns.push(Column { name: name.to_owned(), cells: Cells::Switch(cells.collect()) });
    }

    fn metrics(&mut self, of: SubjectKind, values: impl Fn(Metric) -> Vec<Option<f64>>) {
        for metric in Metric::all_of(of) {
            let name = metric.column_name(of);
            let values = values(metric);
            let cells = if metric.line().is_count() {
                Cells::Count(values.into_iter().map(|value| value.map(|value| value as u64)).collect())
            } else {
                Cells::Number(values)
            };
            self.columns.push(Column { name, cells });
        }
    }

    fn from_run(run: &Run, rows: usize) -> Self {
        let mut table = Self::default();
        table.columns.push(Column { name: "seed".to_owned(), cells: Cells::Integer(vec![run.seed; rows]) });
        table.text("fingerprint", core::iter::repeat_n(run.fingerprint.as_str(), rows));
        table
    }

    /// Returns a row for each flow of a run.
    pub fn flows(run: &Run) -> Self {
        let mut table = Self::from_run(run, run.flows.len());
        let scheme = |group: &str| run.groups.iter().find(|of| of.name == group).map_or("", |of| &of.scheme);
        table.text("flow", run.flows.iter().map(|flow| flow.name.as_str()));
        table.text("group", run.flows.iter().map(|flow| flow.group.as_str()));
        table.text("scheme", run.flows.iter().map(|flow| scheme(&flow.group)));
        table.metrics(SubjectKind::Flow, |metric| run.flows.iter().map(|flow| flow.get(metric)).collect());
        table.switch("wanted_more", run.flows.iter().map(|flow| flow.wanted_more));
        table
    }

    /// Returns a row for each link direction of a run.
    pub fn links(run: &Run) -> Self {
        let mut table = Self::from_run(run, run.links.len());
        table.text("link", run.links.iter().map(|link| link.name.as_str()));
        table.text("from", run.links.iter().map(|link| link.from.as_str()));
        table.text("to", run.links.iter().map(|link| link.to.as_str()));
        table.switch("bottleneck", run.links.iter().map(|link| link.bottleneck));
        table.metrics(SubjectKind::Link, |metric| run.links.iter().map(|link| link.get(metric)).collect());
        table
    }
}

/// Writer of tables with the same columns as a Parquet file, with a row group for each table.
pub struct ParquetRows {
    writer: SerializedFileWriter<Sink>,
}

impl ParquetRows {
    /// Creates a file for tables with the columns of `like`.
    ///
    /// # Errors
    ///
    /// The I/O errors of `to`.
    pub fn new(to: impl Write + Send + 'static, like: &Rows) -> io::Result<Self> {
        Self::begin(Box::new(to), like)
    }

    fn begin(to: Sink, like: &Rows) -> io::Result<Self> {
        let mut fields = Vec::new();
        for of in &like.columns {
            let required = |physical| {
                Type::primitive_type_builder(&of.name, physical).with_repetition(Repetition::REQUIRED)
            };
            let unsigned = LogicalType::integer(64, false);
            let field = match of.cells {
                Cells::Text(_) => required(Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String)),
                Cells::Integer(_) => required(Physical::INT64).with_logical_type(Some(unsigned)),
                Cells::Count(_) => required(Physical::INT64)
                    .with_logical_type(Some(unsigned))
                    .with_repetition(Repetition::OPTIONAL),
                Cells::Number(_) => required(Physical::DOUBLE).with_repetition(Repetition::OPTIONAL),
                Cells::Switch(_) => required(Physical::BOOLEAN),
            };
            fields.push(Arc::new(field.build().map_err(to_io_error)?));
        }
        let schema = Type::group_type_builder("rows").with_fields(fields).build();
        let properties = WriterProperties::builder().set_created_by("thalweg".to_owned()).build();
        let schema = Arc::new(schema.map_err(to_io_error)?);
        let writer = SerializedFileWriter::new(to, schema, Arc::new(properties));
        Ok(Self { writer: writer.map_err(to_io_error)? })
    }

    /// Adds the rows of a table; an empty table adds nothing.
    ///
    /// # Errors
    ///
    /// The I/O errors of the writer.
    pub fn add(&mut self, rows: &Rows) -> io::Result<()> {
        if rows.is_empty() { Ok(()) } else { self.add_group(rows).map_err(to_io_error) }
    }

    fn add_group(&mut self, rows: &Rows) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for of in &rows.columns {
            write_column(&mut group, |writer| match (&of.cells, writer) {
                (Cells::Text(cells), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                    let cells: Vec<ByteArray> = cells.iter().map(|cell| cell.as_str().into()).collect();
                    writer.write_batch(&cells, None, None).map(drop)
                }
                (Cells::Integer(cells), ColumnWriter::Int64ColumnWriter(writer)) => {
                    // An unsigned integer is stored as the signed one with the same bits.
                    let cells: Vec<i64> = cells.iter().map(|cell| cell.cast_signed()).collect();
                    writer.write_batch(&cells, None, None).map(drop)
                }
                (Cells::Count(cells), ColumnWriter::Int64ColumnWriter(writer)) => {
                    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
                    let known: Vec<i64> = cells.iter().flatten().map(|cell| cell.cast_signed()).collect();
                    writer.write_batch(&known, Some(&levels), None).map(drop)
                }
                (Cells::Number(cells), ColumnWriter::DoubleColumnWriter(writer)) => {
                    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
                    let known: Vec<f64> = cells.iter().flatten().copied().collect();
                    writer.write_batch(&known, Some(&levels), None).map(drop)
                }
                (Cells::Switch(cells), ColumnWriter::BoolColumnWriter(writer)) => {
                    writer.write_batch(cells, None, None).map(drop)
                }
                _ => Err(unexpected_type()),
            })?;
        }
        group.close()?;
        Ok(())
    }

    /// Finishes the file.
    ///
    /// # Errors
    ///
    /// The I/O errors of the writer.
    pub fn finish(self) -> io::Result<()> {
        self.writer.into_inner().map_err(to_io_error)?.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::run_result;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    use std::fs::{self, File};

    #[test]
    fn rows_read_back() {
        let run = Run::from_result(&run_result(7, 75));
        let mut flows = Rows::flows(&run);
        flows.push_front("link.core.rate", Cells::Text(vec!["1 Mbit/s".to_owned(); flows.len()]));
        assert_eq!(flows.len(), run.flows.len());
        let path = std::env::temp_dir().join(format!("thalweg-rows-{}.parquet", std::process::id()));
        let mut file = ParquetRows::new(File::create(&path).unwrap(), &flows).unwrap();
        file.add(&flows).unwrap();
        file.add(&flows).unwrap();
        file.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let rows: Vec<_> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect();
        assert_eq!(rows.len(), 2 * run.flows.len());
        let cell = |name: &str| {
            let found = rows[0].iter().find(|(column, _)| column == name);
            found.map(|(_, field)| field.clone()).unwrap()
        };
        let flow = &run.flows[0];
        assert_eq!(cell("link.core.rate"), Field::Str("1 Mbit/s".to_owned()));
        assert_eq!(cell("seed"), Field::ULong(7));
        assert_eq!(cell("flow"), Field::Str(flow.name.clone()));
        assert_eq!(cell("goodput_bps"), Field::Double(flow.or_zero(Metric::Goodput)));
        assert_eq!(cell("sent_packets"), Field::ULong(flow.or_zero(Metric::Sent) as u64));
        assert_eq!(cell("wanted_more"), Field::Bool(flow.wanted_more));
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn every_link_has_a_row_and_tables_grow() {
        let run = Run::from_result(&run_result(7, 75));
        let mut all = Rows::default();
        all.append(Rows::links(&run));
        all.append(Rows::links(&run));
        assert_eq!(all.len(), 2 * run.links.len());
        assert!(all.columns.iter().any(|column| column.name == "utilisation"));
    }
}
