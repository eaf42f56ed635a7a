//! Tables that Python's data-frame libraries take without a copy, by Arrow's PyCapsule interface.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch,
    RecordBatchIterator, RecordBatchOptions, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_report::output::{Cells, Rows, series_subject};
use thalweg_sim::RunResult;

/// A table of results.
#[pyclass(frozen, module = "thalweg._thalweg")]
pub struct Table {
    batch: RecordBatch,
}

fn arrow_error(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

impl Table {
    fn new(columns: Vec<(String, ArrayRef)>) -> PyResult<Self> {
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, array)| Field::new(name, array.data_type().clone(), array.null_count() > 0))
            .collect();
        let arrays = columns.into_iter().map(|(_, array)| array);
        let arrays: Vec<ArrayRef> = arrays.collect();
        let rows = arrays.first().map_or(0, Array::len);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
        Ok(Self { batch: batch.map_err(|error| arrow_error(&error))? })
    }

    /// Creates a table of flows or links.
    pub fn of_rows(rows: Rows) -> PyResult<Self> {
        let array = |cells| -> ArrayRef {
            match cells {
                Cells::Text(cells) => Arc::new(StringArray::from(cells)),
                Cells::Integer(cells) => Arc::new(UInt64Array::from(cells)),
                Cells::Count(cells) => Arc::new(UInt64Array::from(cells)),
                Cells::Number(cells) => Arc::new(Float64Array::from(cells)),
                Cells::Switch(cells) => Arc::new(BooleanArray::from(cells)),
            }
        };
        Self::new(rows.columns.into_iter().map(|column| (column.name, array(column.cells))).collect())
    }

    /// Creates a table of the runs' series, ordered by seed, then by scheme. Text columns, whose values repeat, are
    /// dictionary-encoded.
    pub fn of_series(results: &[RunResult], schemes: &[&str], quantity: Option<&str>) -> PyResult<Self> {
        let wanted = |name: &str| quantity.is_none_or(|quantity| quantity == name);
        let all = || {
            results.iter().enumerate().flat_map(|(number, result)| {
                let series = result.series.iter().filter(|series| wanted(series.quantity.name()));
                series.map(move |series| (number, result, series))
            })
        };
        let rows = all().map(|(.., series)| series.points.len()).sum();
        let mut texts: [Texts; 4] = core::array::from_fn(|_| Texts::with_capacity(rows));
        let mut seeds = Vec::with_capacity(rows);
        let (mut times, mut values) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for (number, result, series) in all() {
            let scheme = if schemes.is_empty() { "" } else { schemes[number % schemes.len()] };
            let subject = series_subject(result, series);
            let words = [scheme, series.quantity.name(), series.quantity.unit(), &subject];
            for (texts, word) in texts.iter_mut().zip(words) {
                texts.push(word, series.points.len());
            }
            seeds.extend(std::iter::repeat_n(result.seed, series.points.len()));
            times.extend(series.points.iter().map(|(time, _)| time.as_secs_f64()));
            values.extend(series.points.iter().map(|(_, value)| *value));
        }
        let [scheme, quantity, unit, subject] = texts.map(Texts::finish);
        let columns: [(&str, ArrayRef); 7] = [
            ("scheme", scheme?),
            ("seed", Arc::new(UInt64Array::from(seeds))),
            ("quantity", quantity?),
            ("unit", unit?),
            ("subject", subject?),
            ("time_s", Arc::new(Float64Array::from(times))),
            ("value", Arc::new(Float64Array::from(values))),
        ];
        Self::new(columns.into_iter().map(|(name, array)| (name.to_owned(), array)).collect())
    }
}

/// A text column with few distinct values.
struct Texts {
    known_texts: Vec<String>,
    places: BTreeMap<String, i32>,
    rows: Vec<i32>,
}

impl Texts {
    fn with_capacity(rows: usize) -> Self {
        Self { known_texts: Vec::new(), places: BTreeMap::new(), rows: Vec::with_capacity(rows) }
    }

    fn push(&mut self, text: &str, count: usize) {
        let place = self.places.get(text).copied().unwrap_or_else(|| {
            let place = self.known_texts.len() as i32;
            self.known_texts.push(text.to_owned());
            self.places.insert(text.to_owned(), place);
            place
        });
        self.rows.extend(std::iter::repeat_n(place, count));
    }

    fn finish(self) -> PyResult<ArrayRef> {
        let values = Arc::new(StringArray::from(self.known_texts));
        let array = DictionaryArray::<Int32Type>::try_new(Int32Array::from(self.rows), values);
        Ok(Arc::new(array.map_err(|error| arrow_error(&error))?))
    }
}

/// The name of a column, its kind and its values.
type Part<'py> = (String, &'static str, Vec<Bound<'py, PyAny>>);

#[pymethods]
impl Table {
    /// Creates a table from columns as [`Self::parts`] returns them.
    #[staticmethod]
    fn of(parts: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let array = |kind: &str, cells: &Bound<'_, PyAny>| -> PyResult<ArrayRef> {
            Ok(match kind {
                "text" => Arc::new(StringArray::from(cells.extract::<Vec<Option<String>>>()?)),
                "count" => Arc::new(UInt64Array::from(cells.extract::<Vec<Option<u64>>>()?)),
                "number" => Arc::new(Float64Array::from(cells.extract::<Vec<Option<f64>>>()?)),
                "switch" => Arc::new(BooleanArray::from(cells.extract::<Vec<Option<bool>>>()?)),
                "word" => {
                    let words = cells.extract::<Vec<String>>()?;
                    let mut texts = Texts::with_capacity(words.len());
                    words.iter().for_each(|word| texts.push(word, 1));
                    texts.finish()?
                }
                _ => return Err(PyKeyError::new_err(format!("there is no kind `{kind}` of columns"))),
            })
        };
        let columns = parts.into_iter().map(|(name, kind, cells)| Ok((name, array(&kind, &cells)?)));
        Self::new(columns.collect::<PyResult<_>>()?)
    }

    /// Returns the columns with their kinds and values, sufficient to recreate the table.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Part<'py>>> {
        let kind = |array: &ArrayRef| match array.data_type() {
            DataType::Utf8 => "text",
            DataType::UInt64 => "count",
            DataType::Float64 => "number",
            DataType::Boolean => "switch",
            _ => "word",
        };
        let names = self.column_names().into_iter().zip(self.batch.columns());
        names.map(|(name, array)| Ok((name.clone(), kind(array), self.column(py, &name)?))).collect()
    }

    /// Returns the table without empty columns, and the names of those.
    fn without_missing(&self) -> PyResult<(Self, Vec<String>)> {
        let (mut kept, mut missing) = (Vec::new(), Vec::new());
        for (name, array) in self.column_names().into_iter().zip(self.batch.columns()) {
            if !array.is_empty() && array.null_count() == array.len() {
                missing.push(name);
            } else {
                kept.push((name, Arc::clone(array)));
            }
        }
        Ok((Self::new(kept)?, missing))
    }

    /// Exports the table without a copy.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A requested schema is a hint that a producer may ignore.
        let _ = requested_schema;
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the values of a column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Some(array) = self.batch.column_by_name(name) else {
            return Err(PyKeyError::new_err(format!("there is no column `{name}`")));
        };
        let cell = |row: usize| -> PyResult<Bound<'py, PyAny>> {
            let any = array.as_any();
            if array.is_null(row) {
                return Ok(py.None().into_bound(py));
            }
            if let Some(array) = any.downcast_ref::<Float64Array>() {
                return Ok(array.value(row).into_pyobject(py)?.into_any());
            }
            if let Some(array) = any.downcast_ref::<UInt64Array>() {
                return Ok(array.value(row).into_pyobject(py)?.into_any());
            }
            if let Some(array) = any.downcast_ref::<BooleanArray>() {
                return Ok(array.value(row).into_pyobject(py)?.to_owned().into_any());
            }
            if let Some(array) = any.downcast_ref::<StringArray>() {
                return Ok(array.value(row).into_pyobject(py)?.into_any());
            }
            let texts = any.downcast_ref::<DictionaryArray<Int32Type>>();
            let words = texts.and_then(DictionaryArray::downcast_dict::<StringArray>);
            let word = words.as_ref().map_or("", |words| arrow_array::ArrayAccessor::value(words, row));
            Ok(word.into_pyobject(py)?.into_any())
        };
        (0..array.len()).map(cell).collect()
    }
}
