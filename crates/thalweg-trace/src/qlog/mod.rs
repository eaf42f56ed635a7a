//! Reader of qlog, the event logs of QUIC endpoints.
//!
//! All published versions are read: drafts 00 to 02 (events as arrays with columns), 0.3 and 0.4 (events as objects), each as one
//! JSON document, and sequences of JSON texts (RFC 7464, or one on each line). A file may have several traces, and a trace several
//! connections, distinguished by `group_id`. Events before the fields that describe their times are kept and converted at the end.
//!
//! | quantity | from |
//! | --- | --- |
//! | packets | `packet_sent`, `packet_received`: number, size and frames |
//! | acknowledgements | `ack` frames of the packets that the other end sends, and `packets_acked` |
//! | losses | `packet_lost`, `packets_lost` (its largest number); `spurious_loss_detected` |
//! | retransmissions | STREAM and CRYPTO frames with bytes that were sent before |
//! | timeouts | `loss_timer_updated` with `expired` and `pto` |
//! | estimates | `metrics_updated` in all its spellings, mvfst's `congestion_metric_update` |
//! | limits | DATA_BLOCKED and STREAM_DATA_BLOCKED frames; MAX_DATA for the edge of the receive window |
//!
//! Positions of packets are numbers of bytes sent before: streams have no common offset. Other events are skipped.

mod connection_builder;
mod event_times;
mod json_scanner;
mod logs_without_frames;
mod qlog_events;

use crate::buffered_input::Input;
use crate::format_and_limits::{Format, Limits, ReadError};
use crate::trace_model::Trace;
pub(crate) use connection_builder::Builder;
use json_scanner::{Damage, Scanner};
use qlog_events::Columns;
pub(crate) use qlog_events::{CRYPTO, Data, Event, Frames};
use serde::Deserialize;
use serde_json::Value;

/// Returns true if a file with this beginning may be qlog.
pub(crate) fn is_qlog(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"\x1e").unwrap_or(text).trim_ascii_start();
    let begins = text.starts_with(b"{") || text.starts_with(b"var ");
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    let words: [&[u8]; 6] = [
        b"\"qlog_version\"",
        b"\"qlog_format\"",
        b"\"file_schema\"",
        b"\"traces\"",
        b"\"events\"",
        b"\"trace\"",
    ];
    begins && words.iter().any(|word| has(word))
}

/// Description of a trace, beside its events.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Head {
    title: Value,
    description: Value,
    code_version: Value,
    vantage_point: Value,
    common_fields: Value,
    configuration: Value,
    event_fields: Value,
}

/// Reads a log.
pub(crate) fn read(input: &mut Input<'_>, limits: &Limits) -> Result<Trace, ReadError> {
    let mut reader = Reader { builder: Builder::new(limits), format: Format::Qlog, first_bad: None, bad: 0 };
    let damage = reader.file(&mut Scanner::new(input)).err();
    let unusable = |problem| ReadError::Unusable { format: reader.format, problem };
    let mut notes = Vec::new();
    if let Some(place) = reader.first_bad.as_ref() {
        notes.push(format!("{} events were skipped as invalid; the first is {place}.", reader.bad));
    }
    let is_empty = reader.builder.is_empty();
    if let Some(damage) = &damage {
        if is_empty {
            return Err(unusable(format!("{damage}, before the first event")));
        }
        notes.push(format!("{damage}; what comes before is shown."));
    }
    if is_empty {
        let reason = notes.pop().unwrap_or_else(|| "it has no events of a connection".to_owned());
        return Err(unusable(reason));
    }
    let mut trace = reader.builder.finish(reader.format);
    trace.is_cut = damage.is_some();
    trace.notes.splice(0..0, notes);
    Ok(trace)
}

struct Reader {
    builder: Builder,
    format: Format,
    /// Place and error of the first event that could not be read, and the number of such events.
    first_bad: Option<String>,
    bad: u64,
}

impl Reader {
    fn file(&mut self, scanner: &mut Scanner<'_, '_>) -> Result<(), Damage> {
        scanner.skip_prefix();
        self.document(scanner)?;
        // What follows the first text are events.
        let columns = Columns::default();
        while scanner.skip_separators() {
            self.format = Format::QlogSequence;
            match self.event(scanner, &columns) {
                // A text that was cut by the next one is skipped (RFC 7464, section 2.3).
                Err(damage @ Damage::Cut(_)) if scanner.resume() => {
                    self.bad += 1;
                    self.first_bad.get_or_insert_with(|| damage.to_string());
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Reads the first text: a document with traces, or the head of a sequence.
    fn document(&mut self, scanner: &mut Scanner<'_, '_>) -> Result<(), Damage> {
        let mut head = Head::default();
        let mut has_traces = false;
        scanner.begin(b'{')?;
        let mut is_first = true;
        while let Some(key) = scanner.key(is_first)? {
            is_first = false;
            match key.as_str() {
                "traces" => {
                    has_traces = true;
                    self.builder.file(&head.description);
                    self.traces(scanner)?;
                }
                "trace" => self.trace(scanner)?,
                "events" => {
                    self.builder.begin_trace();
                    self.events(scanner, &head)?;
                    has_traces = true;
                }
                key => head.set(key, scanner.value()?),
            }
        }
        if !has_traces || head.vantage_point.is_object() {
            self.builder.describe(&head);
        }
        Ok(())
    }

    fn traces(&mut self, scanner: &mut Scanner<'_, '_>) -> Result<(), Damage> {
        scanner.begin(b'[')?;
        let mut is_first = true;
        while scanner.element(is_first)? {
            is_first = false;
            match scanner.peek() {
                Some(b'{') => self.trace(scanner)?,
                // A trace may be a text or an error.
                _ => drop(scanner.value()?),
            }
        }
        Ok(())
    }

    fn trace(&mut self, scanner: &mut Scanner<'_, '_>) -> Result<(), Damage> {
        self.builder.begin_trace();
        let mut head = Head::default();
        let result = self.members(scanner, &mut head);
        self.builder.describe(&head);
        result
    }

    fn members(&mut self, scanner: &mut Scanner<'_, '_>, head: &mut Head) -> Result<(), Damage> {
        scanner.begin(b'{')?;
        let mut is_first = true;
        while let Some(key) = scanner.key(is_first)? {
            is_first = false;
            match key.as_str() {
                "events" => self.events(scanner, head)?,
                key => head.set(key, scanner.value()?),
            }
        }
        Ok(())
    }

    fn events(&mut self, scanner: &mut Scanner<'_, '_>, head: &Head) -> Result<(), Damage> {
        let columns = Columns::from_json(&head.event_fields);
        scanner.begin(b'[')?;
        let mut is_first = true;
        while scanner.element(is_first)? {
            is_first = false;
            self.event(scanner, &columns)?;
        }
        Ok(())
    }

    fn event(&mut self, scanner: &mut Scanner<'_, '_>, columns: &Columns) -> Result<(), Damage> {
        let place = scanner.position();
        let length = scanner.measure(MAX_EVENT)?;
        let text = scanner.bytes(length);
        let outcome = match Event::read(text, columns) {
            Ok(Some(event)) => self.builder.event(&event),
            // An array without elements ends some lists.
            Ok(None) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(problem) = outcome {
            self.bad += 1;
            self.first_bad.get_or_insert_with(|| format!("at byte {place}: {problem}"));
        }
        scanner.consume(length);
        Ok(())
    }
}

impl Head {
    /// Creates the description of a trace from this vantage point.
    pub(crate) fn at(vantage_point: Value) -> Self {
        Self { vantage_point, ..Self::default() }
    }

    /// Takes what is missing from another description.
    fn complete(&mut self, other: &Self) {
        let fields = [
            (&mut self.title, &other.title),
            (&mut self.description, &other.description),
            (&mut self.code_version, &other.code_version),
            (&mut self.vantage_point, &other.vantage_point),
            (&mut self.common_fields, &other.common_fields),
            (&mut self.configuration, &other.configuration),
            (&mut self.event_fields, &other.event_fields),
        ];
        for (own, other) in fields {
            if own.is_null() {
                own.clone_from(other);
            }
        }
    }

    fn set(&mut self, key: &str, value: Option<Value>) {
        let Some(value) = value else { return };
        match key {
            "title" => self.title = value,
            "description" => self.description = value,
            "code_version" => self.code_version = value,
            "vantage_point" => self.vantage_point = value,
            "common_fields" => self.common_fields = value,
            "configuration" => self.configuration = value,
            "event_fields" => self.event_fields = value,
            _ => {}
        }
    }
}

/// Maximum length of an event, in bytes.
const MAX_EVENT: usize = 4 << 20;
