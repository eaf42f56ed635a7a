//! The summary of a transfer: a sentence for people, a document for programs, an exit code.

use crate::console_output::{CommandResult, Console, Error};
use serde::Serialize;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thalweg_net::identity::PublicKey;
use thalweg_net::session::{EcnState, SessionStats};
use thalweg_net::transfer::{self, Report, TransferOutcome};
use thalweg_proto::transport::SenderStats;
use thalweg_proto::units::{Bytes, Rate};
use thalweg_report::output::{self, format_count};

/// Maximum number of failures, and of unsent entries, that are listed individually.
pub const MAX_LISTED: usize = 20;

/// The summary of a transfer.
#[derive(Debug, Serialize)]
pub struct Summary {
    command: &'static str,
    /// `complete`, `failures`, `interrupted`, `refused` or `broken`.
    result: &'static str,
    /// Reason, if the transfer is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    exit_code: u8,
    peer: String,
    /// The peer's key, at a receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// End of the transfer (RFC 3339, UTC).
    ended: String,
    files: u64,
    /// Of these, files that replaced another, as reported by the receiver.
    replaced: u64,
    folders: u64,
    unchanged: u64,
    links: u64,
    omitted: u64,
    failed: u64,
    /// Properties of the sender's files that were not carried.
    lost: UnpreservedMetadata,
    /// Bytes moved over the connection.
    moved_bytes: u64,
    resumed_bytes: u64,
    skipped_bytes: u64,
    /// Zero bytes that are not stored (sparse files).
    hole_bytes: u64,
    seconds: f64,
    /// Part of these spent paused by the receiver in favour of transfers of higher priority.
    queued_seconds: f64,
    /// Of these, time waiting for the receiver's approval; excluded from the rate.
    approval_seconds: f64,
    rate_bps: u64,
    connections: u32,
    /// Change that would have made the transfer faster, if the sender is sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Path>,
    failures: Vec<Failure>,
    /// Links and other entries that are not sent by design.
    not_sent: Vec<Failure>,
    /// Path of the received part of a stream, which cannot be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<String>,
    /// True if a stream is incomplete.
    #[serde(skip)]
    is_cut: bool,
    /// True at a receiver that keeps a part of a file that did not fit on its disk.
    #[serde(skip)]
    keeps_part_on_full_disk: bool,
    /// Description of the lost properties, for display.
    #[serde(skip)]
    lost_words: Option<String>,
}

/// Connection statistics.
#[derive(Debug, Serialize)]
struct Path {
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<String>,
    rtt_ms: Option<f64>,
    min_rtt_ms: Option<f64>,
    packets_sent: u64,
    packets_sent_again: u64,
    timeouts: u64,
    datagram_bytes: u16,
    /// `capable`, `untested`, `failed` or `off`: ECN state of this endpoint's sending direction.
    ecn: &'static str,
    /// Packets received with a CE mark.
    packets_marked: u64,
    /// Number of rate reductions because of marks.
    mark_cuts: u64,
}

/// Number of files and folders per property that was not carried.
#[derive(Debug, Serialize)]
struct UnpreservedMetadata {
    owners: u64,
    attributes: u64,
    access_lists: u64,
    special_bits: u64,
    hard_links: u64,
}

#[derive(Debug, Serialize)]
struct Failure {
    name: String,
    kind: &'static str,
    message: String,
}

/// Input of a summary.
pub struct SummaryInputs {
    /// `send`, `recv` or `serve`.
    pub command: &'static str,
    /// The peer at the other end.
    pub peer: String,
    /// Its key, at a receiver.
    pub key: Option<PublicKey>,
    /// The outcome of the transfer.
    pub outcome: TransferOutcome,
    /// Duration of the transfer.
    pub span: Duration,
    /// Number of connections made.
    pub connections: u32,
    /// Statistics of the last connection.
    pub stats: Option<SessionStats>,
    /// Sending scheme, at a sender.
    pub scheme: Option<String>,
    /// Advice to the sender's user.
    pub advice: Option<String>,
}

/// Adds the report of an earlier connection to that of a later one. Files that the later one found unchanged were
/// stored by the earlier one.
pub fn add_earlier_report(report: &mut Report, earlier: &Report) {
    report.bytes_moved += earlier.bytes_moved;
    // Data from an earlier connection of this call does not count as resumed.
    report.resumed -= earlier.bytes_moved;
    report.held_time += earlier.held_time;
    report.approval_time += earlier.approval_time;
}

/// Corrects the outcome: a connection that ended because a user requested a `stop` was not lost.
pub fn mark_user_stop(outcome: &mut TransferOutcome, stop: &AtomicBool) {
    if stop.load(Ordering::Relaxed)
        && let Err(transfer::Error::ConnectionEnded(error)) = &mut outcome.result
    {
        *error = io::ErrorKind::Interrupted.into();
    }
}

/// Corrects the outcome: a connection that this end closed because the peer had ended was lost by the peer.
pub fn mark_ended_peer(outcome: &mut TransferOutcome, has_peer_ended: &AtomicBool) {
    if has_peer_ended.load(Ordering::Relaxed)
        && let Err(transfer::Error::ConnectionEnded(error)) = &mut outcome.result
    {
        let why = "the receiver has ended: its host reports that nothing listens at the port";
        *error = io::Error::new(io::ErrorKind::ConnectionRefused, why);
    }
}

impl Summary {
    /// Summarises a transfer. With `accepts_loss`, losing file attributes other than contents, names, times and
    /// permissions is not a failure.
    pub fn new(facts: SummaryInputs, accepts_loss: bool) -> Self {
        let SummaryInputs { command, peer, key, outcome, span, connections, stats, scheme, advice } = facts;
        let TransferOutcome { report, result } = outcome;
        let accepted = accepts_loss && report.failed + report.omitted == 0;
        let (result, reason) = match result {
            Ok(()) => (if report.is_complete() || accepted { COMPLETE } else { FAILURES }, None),
            Err(error) => (error_name(&error), Some(error.to_string())),
        };
        let named = |failures: Vec<transfer::Failure>| {
            let named = failures.into_iter().map(|failure| Failure {
                name: failure.name,
                kind: failure.fault.kind.name(),
                message: failure.fault.to_string(),
            });
            named.collect()
        };
        Self {
            command,
            result,
            reason,
            exit_code: match result {
                "complete" => 0,
                "interrupted" => 3,
                _ => 1,
            },
            peer,
            key: key.map(|key| key.to_string()),
            ended: crate::wall_clock::now_rfc3339(),
            files: report.files,
            replaced: report.replaced,
            folders: report.folders,
            unchanged: report.unchanged,
            links: report.links,
            omitted: report.omitted,
            lost: UnpreservedMetadata {
                owners: report.lost.owners,
                attributes: report.lost.attributes,
                access_lists: report.lost.access_control_lists,
                special_bits: report.lost.setuid_bits,
                hard_links: report.lost.hard_links,
            },
            hole_bytes: report.holes.get(),
            lost_words: lost_metadata_remark(&report.lost),
            failed: report.failed,
            moved_bytes: report.bytes_moved.get(),
            resumed_bytes: report.resumed.get(),
            skipped_bytes: report.skipped.get(),
            seconds: span.as_secs_f64(),
            queued_seconds: report.held_time.as_secs_f64(),
            approval_seconds: report.approval_time.as_secs_f64(),
            rate_bps: average_rate(report.bytes_moved.get(), span.saturating_sub(report.approval_time))
                .as_bits_per_sec(),
            connections,
            advice,
            path: stats.map(|stats| Path::new(&stats, scheme)),
            failures: named(report.failures),
            not_sent: named(report.omissions),
            is_cut: report.unresumable.is_some(),
            keeps_part_on_full_disk: report.keeps_part_on_full_disk,
            left: report
                .unresumable
                .and_then(|unresumable| unresumable.partial_file)
                .map(|path| path.display().to_string()),
        }
    }

    /// Returns one line of JSON.
    pub fn line(&self) -> String {
        // Numbers, strings and lists always serialize.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Returns the failures with reasons, for display; beyond a limit only their number.
    pub fn failure_lines(&self) -> Vec<String> {
        let failed = self.failures.iter().take(MAX_LISTED);
        let mut all: Vec<String> =
            failed.map(|failure| format!("{}: {}", failure.name, failure.message)).collect();
        let more = self.failed - self.failures.len().min(MAX_LISTED) as u64;
        let what = if more == 1 { "file or folder" } else { "files or folders" };
        all.extend((more > 0).then(|| format!("and {more} more {what} failed")));
        let passed = self.not_sent.iter().take(MAX_LISTED);
        all.extend(passed.map(|entry| format!("{} is not sent: {}", entry.name, entry.message)));
        let lost = self.lost_words.iter().filter(|_| self.result != COMPLETE);
        all.extend(lost.map(|lost| format!("{lost}; see --strict and --accept-loss")));
        all
    }

    /// Shows the summary, as JSON on standard output if requested, and returns the command's result.
    pub fn report(&self, console: &Console, json: bool) -> CommandResult {
        self.failure_lines().iter().for_each(|line| console.report_problem(line));
        // The user accepted the loss.
        self.lost_words.iter().filter(|_| self.result == COMPLETE).for_each(|lost| console.note(lost));
        if json {
            let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
            console.print(&text)?;
        }
        console.inform(&self.sentence());
        self.advice.iter().for_each(|advice| console.inform(&format!("note: {advice}")));
        let again = self.describe_retry();
        if self.result != "interrupted" {
            again.iter().for_each(|again| console.inform(&format!("note: {again}")));
        }
        match self.result {
            "complete" => Ok(()),
            "failures" => {
                let what = if self.failed == 1 { "file or folder" } else { "files or folders" };
                let failed = (self.failed > 0).then(|| format!("{} {what} failed", self.failed));
                let omitted =
                    (self.omitted > 0).then(|| format!("{} not sent", omitted_entries(self.omitted)));
                let why = failed.into_iter().chain(omitted).chain(self.lost_words.clone());
                Err(Error::Failed(why.collect::<Vec<_>>().join("; ")))
            }
            "interrupted" => {
                let again = again.as_deref().unwrap_or("repeat the command to resume");
                Err(Error::Lost(format!("{}; {again}", self.reason.as_deref().unwrap_or_default())))
            }
            _ => Err(Error::Failed(self.reason.clone().unwrap_or_default())),
        }
    }

    /// Describes what another attempt will find.
    fn describe_retry(&self) -> Option<String> {
        if self.is_cut {
            let left = self.left.iter().map(|left| format!("; the partial data is in {left}"));
            let left: String = left.collect();
            return Some(format!("a stream cannot be resumed, it has to be sent from its beginning{left}"));
        }
        let again = "sending it again resumes from the data at the receiver";
        let is_full = |failure: &Failure| failure.kind == transfer::FaultKind::DiskFull.name();
        if self.keeps_part_on_full_disk {
            return Some(again.to_owned());
        }
        // A sender does not know whether the receiver keeps a part: it keeps none of what goes to its standard output.
        let is_sender = self.command == "send";
        (is_sender && self.failures.iter().any(is_full)).then(|| format!("{again}, if it has kept any"))
    }

    /// Returns the summary as a sentence.
    pub fn sentence(&self) -> String {
        let verb = if self.command == "send" { "Sent" } else { "Received" };
        let bytes = |count: u64| indicatif::DecimalBytes(count);
        let took = if self.seconds < 1.0 {
            format!("{:.0} ms", (self.seconds * 1e3).max(1.0))
        } else {
            format!("{:.1} s", self.seconds)
        };
        let mut text =
            format!("{verb} {}, {} in {took}", format_count(self.files, "file"), bytes(self.moved_bytes));
        let is_broken_off = self.result != COMPLETE && self.result != FAILURES;
        if self.moved_bytes > 0 && self.command == "send" && is_broken_off {
            // The amount that arrived is unknown, and therefore the rate.
            text.push_str(", including data in flight");
        } else if self.moved_bytes > 0 {
            let rate = output::format_rate(self.rate_bps as f64);
            text.push_str(&format!(" ({rate})"));
        }
        if self.approval_seconds >= 0.5 {
            text.push_str(&format!(
                "; {:.1} s of that were spent waiting for approval",
                self.approval_seconds
            ));
        }
        if self.replaced > 0 {
            let (were, others) =
                if self.replaced == 1 { ("was", "an older one") } else { ("were", "older ones") };
            text.push_str(&format!("; {} {were} written over {others}", self.replaced));
        }
        if self.links > 0 {
            text.push_str(&format!("; {}", format_count(self.links, "link")));
        }
        if self.unchanged > 0 {
            let was = if self.unchanged == 1 { "was" } else { "were" };
            text.push_str(&format!(
                "; {} {was} there already ({})",
                self.unchanged,
                bytes(self.skipped_bytes)
            ));
        }
        if self.resumed_bytes > 0 {
            text.push_str(&format!("; {} were left from before", bytes(self.resumed_bytes)));
        }
        if self.queued_seconds >= 0.1 {
            text.push_str(&format!("; paused for {:.1} s for more urgent transfers", self.queued_seconds));
        }
        if let Some(path) = self.path.as_ref().filter(|path| path.mark_cuts + path.packets_marked > 0) {
            let times = path.mark_cuts + path.packets_marked;
            text.push_str(&format!("; the network marked congestion {times} times"));
        } else if let Some(path) = &self.path {
            if path.ecn == EcnState::Failed.name() {
                text.push_str("; the path drops ECN-capable packets, and ECN was disabled");
            } else if path.ecn == EcnState::Concealed.name() {
                text.push_str("; the path or the receiver conceals congestion marks, and ECN was disabled");
            }
        }
        if self.omitted > 0 {
            text.push_str(&format!("; {} not sent", omitted_entries(self.omitted)));
        }
        text
    }
}

impl Path {
    fn new(stats: &SessionStats, scheme: Option<String>) -> Self {
        let SenderStats { sent, retransmissions, timeouts, min_rtt, .. } = stats.sending.sender;
        let millis = |span: Option<thalweg_proto::units::Duration>| {
            span.map(thalweg_proto::units::Duration::as_millis_f64)
        };
        Self {
            scheme,
            rtt_ms: millis(stats.rtt()),
            min_rtt_ms: millis(min_rtt),
            packets_sent: sent,
            packets_sent_again: retransmissions,
            timeouts,
            datagram_bytes: stats.datagram,
            ecn: stats.ecn.name(),
            packets_marked: stats.marked,
            mark_cuts: stats.sending.mark_cuts,
        }
    }
}

/// Formats a number of entries that are not files.
pub fn omitted_entries(count: u64) -> String {
    if count == 1 {
        "1 thing that is not a whole file is".to_owned()
    } else {
        format!("{count} things that are not whole files are")
    }
}

/// Describes the metadata that was not carried, if any.
pub fn lost_metadata_remark(lost: &transfer::transfer_messages::UnpreservedMetadata) -> Option<String> {
    let counts = lost.counts().into_iter().filter(|(count, ..)| *count > 0);
    let named = counts.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }));
    let named: Vec<_> = named.collect();
    (!named.is_empty()).then(|| format!("{} not carried", named.join(", ")))
}

const COMPLETE: &str = "complete";
const FAILURES: &str = "failures";

/// All results of a transfer.
pub const RESULTS: [&str; 5] = [COMPLETE, FAILURES, "interrupted", "refused", "broken"];

/// Returns the result of a transfer without accepted losses.
pub fn result_name(outcome: &TransferOutcome) -> &'static str {
    match &outcome.result {
        Ok(()) if outcome.report.is_complete() => COMPLETE,
        Ok(()) => FAILURES,
        Err(error) => error_name(error),
    }
}

fn error_name(error: &transfer::Error) -> &'static str {
    match error {
        transfer::Error::ConnectionEnded(_) => "interrupted",
        transfer::Error::EndedByPeer(_) => "refused",
        transfer::Error::Protocol(_) | transfer::Error::Local(_) => "broken",
    }
}

/// Returns the average rate over a time span.
pub fn average_rate(bytes: u64, span: Duration) -> Rate {
    let span = thalweg_proto::units::Duration::from_secs_f64(span.as_secs_f64().max(1e-9));
    Rate::from_transfer(Bytes::new(bytes), span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(command: &'static str, result: Result<(), transfer::Error>, report: Report) -> SummaryInputs {
        SummaryInputs {
            command,
            peer: "192.0.2.1:9".to_owned(),
            key: None,
            outcome: TransferOutcome { result, report },
            span: Duration::from_secs(2),
            connections: 1,
            stats: None,
            scheme: None,
            advice: None,
        }
    }

    /// A receiver whose disk was full knows whether it keeps a part of the file; a sender does not.
    #[test]
    fn only_a_kept_part_is_said_to_be_resumed() {
        let note_of = |command, keeps_part_on_full_disk| {
            let failure =
                transfer::Failure { name: "big".to_owned(), fault: transfer::FaultKind::DiskFull.into() };
            let mut report = Report::default();
            (report.failed, report.failures) = (1, vec![failure]);
            report.keeps_part_on_full_disk = keeps_part_on_full_disk;
            Summary::new(inputs(command, Ok(()), report), false).describe_retry()
        };
        let again = "sending it again resumes from the data at the receiver";
        assert_eq!(note_of("recv", true).as_deref(), Some(again));
        assert_eq!(note_of("recv", false), None);
        assert_eq!(note_of("send", false), Some(format!("{again}, if it has kept any")));
    }

    /// Bytes in buffers and in flight must not raise the rate above the path's.
    #[test]
    fn an_interrupted_sender_reports_no_rate() {
        let sentence_of = |command, result| {
            let mut report = Report::default();
            report.bytes_moved = Bytes::new(8_000_000);
            Summary::new(inputs(command, result, report), false).sentence()
        };
        let interrupted =
            || Err(transfer::Error::ConnectionEnded(std::io::ErrorKind::ConnectionReset.into()));
        assert_eq!(
            sentence_of("send", interrupted()),
            "Sent 0 files, 8.00 MB in 2.0 s, including data in flight"
        );
        assert_eq!(sentence_of("recv", interrupted()), "Received 0 files, 8.00 MB in 2.0 s (32.00 Mbit/s)");
        assert_eq!(sentence_of("send", Ok(())), "Sent 0 files, 8.00 MB in 2.0 s (32.00 Mbit/s)");
    }
}
