//! Recorded series in the Parquet format, with the columns of [`CsvSeries`](super::CsvSeries).

use super::csv_series::{RunKey, subject_name};
use ::parquet::basic::Encoding;
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::ColumnPath;
use std::io::{self, Write};
use std::sync::Arc;
use thalweg_sim::{RunResult, Series};

/// Columns. Texts and seeds repeat for each point of a series; dictionary encoding makes the repeats nearly free.
const SCHEMA: &str = "message series {
    REQUIRED BYTE_ARRAY scheme (UTF8);
    REQUIRED INT64 seed (INTEGER(64, false));
    REQUIRED BYTE_ARRAY quantity (UTF8);
    REQUIRED BYTE_ARRAY unit (UTF8);
    REQUIRED BYTE_ARRAY subject (UTF8);
    REQUIRED DOUBLE time_s;
    REQUIRED DOUBLE value;
}";

/// The library's writers are generic over the sink: a single type compiles them here, and once.
pub(super) type Sink = Box<dyn Write + Send>;

/// Writer of series as a Parquet file with a row group for each run.
pub struct ParquetSeries {
    writer: SerializedFileWriter<Sink>,
}

impl ParquetSeries {
    /// Creates a file.
    pub fn new(to: impl Write + Send + 'static) -> io::Result<Self> {
        Self::begin(Box::new(to))
    }

    fn begin(to: Sink) -> io::Result<Self> {
        let numbers = ["time_s", "value"].map(ColumnPath::from);
        let properties = numbers.into_iter().fold(WriterProperties::builder(), |properties, column| {
            // Distinct numbers gain nothing from a dictionary.
            properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::PLAIN)
        });
        // Text minima and maxima are of no use to readers, and computing them took a third of the time.
        let texts = ["scheme", "quantity", "unit", "subject"].map(ColumnPath::from);
        let properties = texts.into_iter().fold(properties, |properties, column| {
            properties.set_column_statistics_enabled(column, EnabledStatistics::None)
        });
        let properties = properties.set_created_by("thalweg".to_owned()).build();
        let schema = parse_message_type(SCHEMA).map_err(to_io_error)?;
        let writer = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties));
        Ok(Self { writer: writer.map_err(to_io_error)? })
    }

    /// Adds the series of a run.
    pub fn add(&mut self, key: RunKey<'_>, result: &RunResult) -> io::Result<()> {
        if result.series.iter().all(|series| series.points.is_empty()) {
            return Ok(());
        }
        self.add_group(key, result).map_err(to_io_error)
    }

    fn add_group(&mut self, key: RunKey<'_>, result: &RunResult) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        let all = &result.series;
        write_texts(&mut group, all, |_| key.scheme.to_owned())?;
        // An unsigned integer is stored as the signed one with the same bits.
        write_integers(&mut group, all, key.seed.cast_signed())?;
        write_texts(&mut group, all, |series| series.quantity.name().to_owned())?;
        write_texts(&mut group, all, |series| series.quantity.unit().to_owned())?;
        write_texts(&mut group, all, |series| subject_name(result, series))?;
        write_doubles(&mut group, all, |series| {
            series.points.iter().map(|(time, _)| time.as_secs_f64()).collect()
        })?;
        write_doubles(&mut group, all, |series| series.points.iter().map(|(_, value)| *value).collect())?;
        group.close()?;
        Ok(())
    }

    /// Finishes the file.
    pub fn finish(self) -> io::Result<()> {
        self.writer.into_inner().map_err(to_io_error)?.flush()
    }
}

fn write_texts(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    all: &[Series],
    text: impl Fn(&Series) -> String,
) -> Result<()> {
    write_column(group, |writer| {
        let ColumnWriter::ByteArrayColumnWriter(writer) = writer else { return Err(unexpected_type()) };
        all.iter().try_for_each(|series| {
            let value = ByteArray::from(text(series).into_bytes());
            writer.write_batch(&vec![value; series.points.len()], None, None).map(|_| ())
        })
    })
}

fn write_integers(group: &mut SerializedRowGroupWriter<'_, Sink>, all: &[Series], value: i64) -> Result<()> {
    write_column(group, |writer| {
        let ColumnWriter::Int64ColumnWriter(writer) = writer else { return Err(unexpected_type()) };
        all.iter().try_for_each(|series| {
            writer.write_batch(&vec![value; series.points.len()], None, None).map(|_| ())
        })
    })
}

fn write_doubles(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    all: &[Series],
    values: impl Fn(&Series) -> Vec<f64>,
) -> Result<()> {
    write_column(group, |writer| {
        let ColumnWriter::DoubleColumnWriter(writer) = writer else { return Err(unexpected_type()) };
        all.iter().try_for_each(|series| writer.write_batch(&values(series), None, None).map(|_| ()))
    })
}

/// Writes the group's next column.
pub(super) fn write_column(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    write: impl FnOnce(&mut ColumnWriter<'_>) -> Result<()>,
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(unexpected_type)?;
    write(column.untyped())?;
    column.close()
}

pub(super) fn unexpected_type() -> ParquetError {
    ParquetError::General("the columns do not agree with the schema".to_owned())
}

pub(super) fn to_io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
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
    fn points_read_back() {
        let path = std::env::temp_dir().join(format!("thalweg-series-{}.parquet", std::process::id()));
        let mut file = ParquetSeries::new(File::create(&path).unwrap()).unwrap();
        for seed in [7, u64::MAX] {
            file.add(RunKey { scheme: "cubic", seed }, &run_result(seed, 75)).unwrap();
        }
        file.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let rows: Vec<_> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect();
        let values: Vec<Field> = rows[1].iter().map(|(_, field)| field.clone()).collect();
        let text = |text: &str| Field::Str(text.to_owned());
        let expected = [
            text("cubic"),
            Field::ULong(7),
            text("window"),
            text("segment"),
            text("bold"),
            Field::Double(0.1),
            Field::Double(12.5),
        ];
        assert_eq!(values, expected);
        assert_eq!(rows[3][1].1, Field::ULong(u64::MAX));
        fs::remove_file(&path).unwrap();
    }
}
