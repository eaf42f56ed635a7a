//! Client side of remote execution: runs executed by other programs, also on other machines.
//!
//! An engine is a pair of streams. Both carry lines of JSON, each with the number of `bytes` of payload that follow it,
//! if any:
//!
//! | line | from | meaning |
//! | --- | --- | --- |
//! | `{"hello":"thalweg-sweep","version":V,"build":B}` | us | first line: only a program of this build may execute the runs |
//! | `{"batch":N,"bytes":M}` | us | a batch of runs, which follows |
//! | `{"slots":S}` | the engine | number of concurrent batches it accepts from now on |
//! | `{"batch":N,"seconds":T,"bytes":M}` | the engine | results of a batch, which follow, and its execution time |
//! | `{"batch":N,"failed":WHY}` | the engine | the batch failed |
//! | `{"note":TEXT}` | the engine | message for the user |
//! | `{"lost":WHY}` | the engine | the engine cannot continue |
//!
//! Batches are sized to take half a second, to make the overhead of an engine negligible. End of stream to the engine
//! means that no more runs follow.

use crate::batch_codec::{self, Response, Task};
use crate::program_identity::Program;
use core::fmt;
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// Target duration of a batch, in seconds.
const TARGET_BATCH_SECONDS: f64 = 0.5;
/// Target duration of the last batches, in seconds. They are shorter to make all end at about the same time.
const LAST_BATCH_SECONDS: f64 = 0.05;
/// Maximum number of runs per batch.
const MAX_RUNS: usize = 512;
/// Maximum size of a batch's scenarios, in bytes, before another is added.
const MAX_SENT: usize = 1 << 20;
/// Maximum size of an answer, in bytes.
const MAX_TAKEN: u64 = 1 << 30;
/// Maximum length of a line, in bytes.
const MAX_LINE: u64 = 1 << 16;
/// Maximum number of queued tasks.
const MAX_WAITING: usize = 4096;
/// Weight of the newest sample in the smoothed run time.
const SAMPLE_WEIGHT: f64 = 0.3;

/// Error that ends an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError(pub String);

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for EngineError {}

/// Line received from an engine.
#[derive(Debug, Default, Deserialize)]
struct Head {
    slots: Option<usize>,
    batch: Option<u64>,
    seconds: Option<f64>,
    failed: Option<String>,
    note: Option<String>,
    lost: Option<String>,
    #[serde(default)]
    bytes: u64,
}

/// Line with its payload.
type Frame = (Head, Vec<u8>);

/// Remote executor of runs.
pub struct Engine<'a> {
    output: Box<dyn Write + Send>,
    frames: Receiver<Result<Frame, EngineError>>,
    on_note: Box<dyn Fn(&str) + 'a>,
    /// Number of concurrent batches.
    slots: usize,
    /// Estimated time per run, in seconds; none before the first.
    seconds: Option<f64>,
    waiting_tasks: VecDeque<Task>,
    /// Tasks of failed batches, each retried alone.
    alone: VecDeque<Task>,
    batches: BTreeMap<u64, Vec<Task>>,
    next: u64,
}

impl<'a> Engine<'a> {
    /// Connects to the engine behind two streams; its notes are passed to `on_note`.
    pub fn new(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
        program: &Program,
        on_note: impl Fn(&str) + 'a,
    ) -> Self {
        let (sender, frames) = mpsc::channel();
        std::thread::spawn(move || {
            let mut input = input;
            loop {
                let frame = read_frame(&mut input);
                let is_last = frame.is_err();
                if sender.send(frame).is_err() || is_last {
                    return;
                }
            }
        });
        let mut engine = Self {
            output: Box::new(output),
            frames,
            on_note: Box::new(on_note),
            slots: 0,
            seconds: None,
            waiting_tasks: VecDeque::new(),
            alone: VecDeque::new(),
            batches: BTreeMap::new(),
            next: 1,
        };
        let Program { version, build } = program;
        let hello = serde_json::json!({"hello": "thalweg-sweep", "version": version, "build": build});
        // If the engine has exited, its last line gives the reason.
        let _ = engine.write(&hello, &[]);
        engine
    }

    /// Connects to the engine behind a socket.
    ///
    /// # Errors
    ///
    /// The socket handle cannot be duplicated.
    pub fn at(stream: UnixStream, program: &Program, on_note: impl Fn(&str) + 'a) -> io::Result<Self> {
        let input = BufReader::new(stream.try_clone()?);
        Ok(Self::new(input, SendingHalf(stream), program, on_note))
    }

    /// Returns true if another task would soon be sent.
    pub fn can_enqueue(&self) -> bool {
        let soon = self.size(usize::MAX).saturating_mul(2 * self.slots.max(1));
        self.waiting_tasks.len() < soon.clamp(MAX_RUNS, MAX_WAITING)
    }

    /// Queues a task.
    pub fn enqueue(&mut self, task: Task) {
        self.waiting_tasks.push_back(task);
    }

    /// Returns true if every task is answered.
    pub fn is_idle(&self) -> bool {
        self.waiting_tasks.is_empty() && self.alone.is_empty() && self.batches.is_empty()
    }

    /// Fills free slots, and returns received answers, waiting up to `timeout`. `more` is the number of tasks still to
    /// come.
    ///
    /// # Errors
    ///
    /// The engine is lost.
    pub fn poll(&mut self, more: usize, timeout: Duration) -> Result<Vec<(usize, Response)>, EngineError> {
        let sent = self.send(more);
        match (self.frames.recv_timeout(timeout), sent) {
            // The engine's last line explains more than the write error.
            (Ok(frame), _) => self.take(frame?),
            (Err(RecvTimeoutError::Timeout), Ok(())) => Ok(Vec::new()),
            (Err(RecvTimeoutError::Timeout), Err(error)) => Err(connection_lost(&error)),
            (Err(RecvTimeoutError::Disconnected), _) => Err(EngineError(ENGINE_EXITED.to_owned())),
        }
    }

    /// Returns the number of runs of the next batch, with `left` tasks left.
    fn size(&self, left: usize) -> usize {
        let Some(seconds) = self.seconds else { return 1 };
        let in_time = |time: f64| ((time / seconds.max(1e-9)).ceil() as usize).clamp(1, MAX_RUNS);
        left.div_ceil(2 * self.slots.max(1)).clamp(in_time(LAST_BATCH_SECONDS), in_time(TARGET_BATCH_SECONDS))
    }

    fn send(&mut self, more: usize) -> io::Result<()> {
        // Queue a second batch per slot to keep every slot busy.
        while self.batches.len() < 2 * self.slots {
            let mut tasks = Vec::new();
            if let Some(task) = self.alone.pop_front() {
                tasks.push(task);
            } else {
                let size = self.size(self.waiting_tasks.len().saturating_add(more));
                if self.waiting_tasks.len() < size && more > 0 {
                    break;
                }
                let (mut bytes, mut last) = (0, None);
                while tasks.len() < size && bytes < MAX_SENT {
                    let Some(task) = self.waiting_tasks.pop_front() else { break };
                    if last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, &task.scenario)) {
                        bytes += task.scenario.len();
                        last = Some(Arc::clone(&task.scenario));
                    }
                    tasks.push(task);
                }
            }
            if tasks.is_empty() {
                break;
            }
            let (number, body) = (self.next, batch_codec::pack_tasks(&tasks));
            self.next += 1;
            self.batches.insert(number, tasks);
            let head = serde_json::json!({"batch": number, "bytes": body.len()});
            self.write(&head, &body)?;
        }
        Ok(())
    }

    fn write(&mut self, head: &serde_json::Value, body: &[u8]) -> io::Result<()> {
        writeln!(self.output, "{head}")?;
        self.output.write_all(body)?;
        self.output.flush()
    }

    fn take(&mut self, (head, body): Frame) -> Result<Vec<(usize, Response)>, EngineError> {
        if let Some(why) = head.lost {
            return Err(EngineError(why));
        }
        if let Some(note) = &head.note {
            (self.on_note)(note);
        }
        if let Some(slots) = head.slots {
            self.slots = slots;
        }
        let Some(batch) = head.batch else { return Ok(Vec::new()) };
        let strange =
            |why: &str| EngineError(format!("invalid answer from the engine: batch {batch}: {why}"));
        let tasks = self.batches.remove(&batch).ok_or_else(|| strange("not requested"))?;
        if let Some(why) = head.failed {
            // One task may have failed the whole batch: retry each alone.
            if let [task] = tasks.as_slice() {
                return Ok(vec![(task.number, Response::Failed(why))]);
            }
            self.alone.extend(tasks);
            return Ok(Vec::new());
        }
        let answers = batch_codec::decode_responses(&body, tasks.len()).map_err(|why| strange(&why))?;
        if let Some(seconds) = head.seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0) {
            let per_run = seconds / tasks.len() as f64;
            self.seconds =
                Some(self.seconds.map_or(per_run, |before| before + SAMPLE_WEIGHT * (per_run - before)));
        }
        Ok(tasks.iter().map(|task| task.number).zip(answers).collect())
    }
}

/// Sending half of a socket. On drop it signals end of stream; the receiving half stays readable.
struct SendingHalf(UnixStream);

impl Write for SendingHalf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for SendingHalf {
    fn drop(&mut self) {
        // The peer may have closed first.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// Error text for an engine that ends without giving a reason.
const ENGINE_EXITED: &str = "the engine has exited";

fn connection_lost(error: &io::Error) -> EngineError {
    EngineError(format!("{ENGINE_EXITED}: {error}"))
}

/// Reads the next line with its payload.
fn read_frame(input: &mut impl BufRead) -> Result<Frame, EngineError> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(|error| connection_lost(&error))?;
    if line.is_empty() {
        return Err(EngineError(ENGINE_EXITED.to_owned()));
    }
    let strange = |why: &str| EngineError(format!("invalid answer from the engine: {why}"));
    let head: Head = serde_json::from_slice(&line).map_err(|error| strange(&error.to_string()))?;
    if head.bytes > MAX_TAKEN {
        return Err(strange(&format!("{} bytes are more than {MAX_TAKEN}", head.bytes)));
    }
    let mut body = Vec::new();
    input.by_ref().take(head.bytes).read_to_end(&mut body).map_err(|error| connection_lost(&error))?;
    if (body.len() as u64) < head.bytes {
        return Err(strange("it ended in the middle of an answer"));
    }
    Ok((head, body))
}

impl fmt::Debug for Engine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("slots", &self.slots)
            .field("batches", &self.batches.len())
            .finish_non_exhaustive()
    }
}
