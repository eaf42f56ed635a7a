//! Sequence diagrams as text.

use super::{Message, PacketOutcome, format_millis};
use core::fmt::Write as _;
use thalweg_proto::units::Time;

/// Writes a line for each end of an arrow in time order: the sender's column, the receiver's column.
pub fn sequence_text(messages: &[Message], left_out: u64) -> String {
    let mut rows: Vec<(Time, usize, bool)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        rows.push((message.sent_at, index, true));
        match message.outcome {
            PacketOutcome::Arrived(at) | PacketOutcome::Lost(at) => rows.push((at, index, false)),
            PacketOutcome::InTransit => {}
        }
    }
    // At equal times, the packet sent first comes first.
    rows.sort_by_key(|&(at, index, departs)| (at, index, !departs));
    let width = messages.iter().map(|message| message.label.chars().count()).max().unwrap_or(0);
    let (column, time) = (width + 8, 12);
    let mut text = format!("{:>time$}  {:column$}receiver\n", "ms", "sender");
    for (at, index, departs) in rows {
        let Message { label, forward, is_retransmission: again, outcome, .. } = &messages[index];
        let mark = if *again { "*" } else { "" };
        let lost = matches!(outcome, PacketOutcome::Lost(_)) && !departs;
        let left = *forward == departs || lost && *forward;
        let cell = match (left, departs, lost) {
            (_, _, true) => format!("{label}{mark} lost"),
            (true, true, _) => format!("{label}{mark} ->"),
            (true, false, _) => format!("{label} <-"),
            (false, true, _) => format!("<- {label}"),
            (false, false, _) => format!("-> {label}{mark}"),
        };
        let (sender, receiver) = if left { (cell, String::new()) } else { (String::new(), cell) };
        let line = format!("{:>time$}  {sender:column$}{receiver}", format_millis(at));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if messages.iter().any(|message| message.is_retransmission) {
        text.push_str("\n* retransmitted\n");
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n{left_out} further packets are not shown");
    }
    text
}
