//! What a packet is called in a diagram.

use thalweg_proto::payload::Payload as _;
use thalweg_proto::{aack, window};
use thalweg_sim::Pdu;

/// A PDU in a few words, with the numbers of its protocol.
pub fn label(pdu: &Pdu) -> String {
    match pdu {
        Pdu::Window(window::Pdu::Segment(segment)) => {
            format!("segment {}..{}", segment.sequence, segment.end())
        }
        Pdu::Window(window::Pdu::Ack(ack)) => {
            let blocks = ack.sack.iter().filter(|block| !block.is_empty());
            let at = |offset: u32| ack.cumulative.saturating_add(u64::from(offset));
            let held: Vec<String> =
                blocks.map(|block| format!("{}..{}", at(block.start), at(block.end))).collect();
            let held = if held.is_empty() { held.join("") } else { format!(" sack {}", held.join(" ")) };
            format!("ack {}{held}", ack.cumulative)
        }
        Pdu::Datagram(payload) => format!("datagram {} B", payload.len()),
        Pdu::AdaptiveAck(aack::Pdu::Data(data)) => format!("DATA {}", data.sequence),
        Pdu::AdaptiveAck(aack::Pdu::Ack(report)) => {
            format!("ACK (({}, {}), {})", report.gap_in, report.gap_out, report.cumulative)
        }
        Pdu::Feedback(feedback) => match (feedback.dropped, feedback.rate) {
            (Some(dropped), _) => format!("feedback: {dropped} dropped"),
            (None, Some(rate)) => format!("feedback: {rate}"),
            (None, None) => "feedback".to_owned(),
        },
    }
}
