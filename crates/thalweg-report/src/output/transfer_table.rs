//! Transfers as a table of one row each: as comma-separated values (RFC 4180) and in the Parquet format.

use super::csv_series::{RunKey, append_seconds, quote_field};
use super::parquet_series::{Sink, to_io_error, unexpected_type, write_column};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use std::io::{self, Write};
use std::sync::Arc;
use thalweg_proto::units::{Duration, Time};
use thalweg_sim::{RunResult, Transfer};

/// Columns. The end is empty for unfinished transfers, and the ideal time where it is not known.
const SCHEMA: &str = "message transfers {
    REQUIRED BYTE_ARRAY scheme (UTF8);
    REQUIRED INT64 seed (INTEGER(64, false));
    REQUIRED BYTE_ARRAY flow (UTF8);
    REQUIRED INT64 size_bytes (INTEGER(64, false));
    REQUIRED DOUBLE start_s;
    OPTIONAL DOUBLE end_s;
    OPTIONAL DOUBLE ideal_s;
}";

/// Writer of transfers as comma-separated values; missing values are empty fields.
#[derive(Debug)]
pub struct CsvTransfers<W: Write> {
    to: W,
}

impl<W: Write> CsvTransfers<W> {
    /// Creates a table with its heading.
    ///
    /// # Errors
    ///
    /// The I/O errors of `to`.
    pub fn new(mut to: W) -> io::Result<Self> {
        to.write_all(b"scheme,seed,flow,size_bytes,start_s,end_s,ideal_s\n")?;
        Ok(Self { to })
    }

    /// Adds the transfers of a run.
    ///
    /// # Errors
    ///
    /// The I/O errors of the writer.
    pub fn add(&mut self, key: RunKey<'_>, result: &RunResult) -> io::Result<()> {
        add_lines(&mut self.to, key, result)
    }

    /// Finishes the table.
    ///
    /// # Errors
    ///
    /// The I/O errors of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

fn add_lines(to: &mut dyn Write, key: RunKey<'_>, result: &RunResult) -> io::Result<()> {
    let prefix = format!("{},{},", quote_field(key.scheme), key.seed);
    let mut line = Vec::new();
    for transfer in &result.transfer_list {
        line.clear();
        line.extend_from_slice(prefix.as_bytes());
        line.extend_from_slice(quote_field(flow_name(result, transfer)).as_bytes());
        write!(line, ",{},", transfer.size.get())?;
        append_seconds(&mut line, transfer.start);
        line.push(b',');
        if let Some(end) = transfer.end {
            append_seconds(&mut line, end);
        }
        line.push(b',');
        if let Some(ideal) = transfer.ideal {
            append_seconds(&mut line, Time::ZERO + ideal);
        }
        line.push(b'\n');
        to.write_all(&line)?;
    }
    Ok(())
}

fn flow_name<'a>(result: &'a RunResult, transfer: &Transfer) -> &'a str {
    result.flows.get(transfer.flow as usize).map_or("", |flow| &flow.name)
}

/// Writer of transfers as a Parquet file with a row group for each run.
pub struct ParquetTransfers {
    writer: SerializedFileWriter<Sink>,
}

impl ParquetTransfers {
    /// Creates a file.
    ///
    /// # Errors
    ///
    /// The I/O errors of `to`.
    pub fn new(to: impl Write + Send + 'static) -> io::Result<Self> {
        Self::begin(Box::new(to))
    }

    fn begin(to: Sink) -> io::Result<Self> {
        let properties = WriterProperties::builder().set_created_by("thalweg".to_owned()).build();
        let schema = parse_message_type(SCHEMA).map_err(to_io_error)?;
        let writer = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties));
        Ok(Self { writer: writer.map_err(to_io_error)? })
    }

    /// Adds the transfers of a run.
    ///
    /// # Errors
    ///
    /// The I/O errors of the writer.
    pub fn add(&mut self, key: RunKey<'_>, result: &RunResult) -> io::Result<()> {
        if result.transfer_list.is_empty() {
            return Ok(());
        }
        self.add_group(key, result).map_err(to_io_error)
    }

    fn add_group(&mut self, key: RunKey<'_>, result: &RunResult) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        let all = &result.transfer_list;
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        write_texts(&mut group, &vec![text(key.scheme); all.len()])?;
        // An unsigned integer is stored as the signed one with the same bits.
        write_integers(&mut group, &vec![key.seed.cast_signed(); all.len()])?;
        write_texts(&mut group, &all.iter().map(|of| text(flow_name(result, of))).collect::<Vec<_>>())?;
        write_integers(&mut group, &all.iter().map(|of| of.size.get().cast_signed()).collect::<Vec<_>>())?;
        write_doubles(&mut group, all.iter().map(|of| Some(of.start.as_secs_f64())), false)?;
        write_doubles(&mut group, all.iter().map(|of| of.end.map(Time::as_secs_f64)), true)?;
        write_doubles(&mut group, all.iter().map(|of| of.ideal.map(Duration::as_secs_f64)), true)?;
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

fn write_texts(group: &mut SerializedRowGroupWriter<'_, Sink>, values: &[ByteArray]) -> Result<()> {
    write_column(group, |writer| {
        let ColumnWriter::ByteArrayColumnWriter(writer) = writer else { return Err(unexpected_type()) };
        writer.write_batch(values, None, None).map(|_| ())
    })
}

fn write_integers(group: &mut SerializedRowGroupWriter<'_, Sink>, values: &[i64]) -> Result<()> {
    write_column(group, |writer| {
        let ColumnWriter::Int64ColumnWriter(writer) = writer else { return Err(unexpected_type()) };
        writer.write_batch(values, None, None).map(|_| ())
    })
}

/// Writes numbers, possibly missing in an `optional` column.
fn write_doubles(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    values: impl Iterator<Item = Option<f64>>,
    optional: bool,
) -> Result<()> {
    let values: Vec<Option<f64>> = values.collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let known: Vec<f64> = values.into_iter().flatten().collect();
    write_column(group, |writer| {
        let ColumnWriter::DoubleColumnWriter(writer) = writer else { return Err(unexpected_type()) };
        writer.write_batch(&known, optional.then_some(&levels), None).map(|_| ())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::run_result;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    use std::fs::{self, File};
    use thalweg_proto::units::Bytes;

    /// Returns a result with a finished and an unfinished transfer.
    fn with_transfers() -> RunResult {
        let mut result = run_result(7, 75);
        let first = Transfer {
            flow: 2,
            size: Bytes::new(14_480),
            start: Time::ZERO + Duration::from_millis(1500),
            end: Some(Time::ZERO + Duration::from_millis(1750)),
            ideal: Some(Duration::from_millis(125)),
        };
        let second = Transfer { flow: 0, end: None, ideal: None, ..first };
        result.transfer_list = vec![first, second];
        result
    }

    #[test]
    fn a_transfer_is_a_line() {
        let mut csv = CsvTransfers::new(Vec::new()).unwrap();
        csv.add(RunKey { scheme: "a,b", seed: 7 }, &with_transfers()).unwrap();
        let expected = "scheme,seed,flow,size_bytes,start_s,end_s,ideal_s\n\
                        \"a,b\",7,bold,14480,1.5,1.75,0.125\n\
                        \"a,b\",7,shy.1,14480,1.5,,\n";
        assert_eq!(String::from_utf8(csv.finish().unwrap()).unwrap(), expected);
    }

    #[test]
    fn transfers_read_back() {
        let path = std::env::temp_dir().join(format!("thalweg-transfers-{}.parquet", std::process::id()));
        let mut file = ParquetTransfers::new(File::create(&path).unwrap()).unwrap();
        for scheme in ["cubic", "vegas"] {
            file.add(RunKey { scheme, seed: u64::MAX }, &with_transfers()).unwrap();
        }
        file.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let rows: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().into_columns().into_iter().map(|(_, field)| field).collect())
            .collect();
        let text = |text: &str| Field::Str(text.to_owned());
        let first = [
            text("cubic"),
            Field::ULong(u64::MAX),
            text("bold"),
            Field::ULong(14_480),
            Field::Double(1.5),
            Field::Double(1.75),
            Field::Double(0.125),
        ];
        assert_eq!(rows[0], first);
        assert_eq!(rows[3][5..], [Field::Null, Field::Null]);
        assert_eq!((&rows[3][0], &rows[3][2]), (&text("vegas"), &text("shy.1")));
        fs::remove_file(&path).unwrap();
    }
}
