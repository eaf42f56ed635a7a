//! The labels of packets in a diagram.

use thalweg_proto::payload::{Length, Payload as _};
use thalweg_proto::{aack, sscop, sstp, window};
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
        Pdu::Sscop(pdu) => sscop_label(pdu),
        Pdu::Sstp(pdu) => sstp_label(pdu),
        Pdu::Feedback(feedback) => match (feedback.dropped, feedback.rate) {
            (Some(dropped), _) => format!("feedback: {dropped} dropped"),
            (None, Some(rate)) => format!("feedback: {rate}"),
            (None, None) => "feedback".to_owned(),
        },
    }
}

fn sscop_label(pdu: &sscop::Pdu<Length>) -> String {
    match pdu {
        sscop::Pdu::Sd { s, .. } => format!("SD {}", s.get()),
        sscop::Pdu::Poll { ps, s } => format!("POLL {}, next {}", ps.get(), s.get()),
        sscop::Pdu::Stat(stat) => {
            // Runs begin in turn of missing and of received messages.
            let missing = stat.list.chunks_exact(2).map(|run| format!(" {}..{}", run[0].get(), run[1].get()));
            let missing: String = missing.collect();
            let missing = if missing.is_empty() { missing } else { format!(", missing{missing}") };
            format!("STAT {}, expects {}{missing}", stat.ps.get(), stat.r.get())
        }
        sscop::Pdu::Ustat(ustat) => format!("USTAT, missing {}..{}", ustat.first.get(), ustat.end.get()),
        other => format!("{:?}", other.kind()).to_uppercase(),
    }
}

/// Packets by segment and by place in it, which is what the bitmap of a SNAK counts.
fn sstp_label(pdu: &sstp::Pdu<Length>) -> String {
    match pdu {
        sstp::Pdu::Data(data) => format!("DATA {}.{}", data.segment, data.packet),
        sstp::Pdu::KeepAlive(position) => format!("KEEP-ALIVE {}.{}", position.segment, position.packet),
        sstp::Pdu::EndOfStream(position) => format!("END {}.{}", position.segment, position.packet),
        sstp::Pdu::Pack(report) => format!("PACK {}, expects {}", report.accepted, report.cumulative),
        sstp::Pdu::Snak(_, request) => {
            let first = request.bitmap.first_missing(0).map(|packet| format!(", first {packet}"));
            let missing = request.bitmap.count_missing();
            format!("SNAK {}, {missing} missing{}", request.segment, first.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_level_flow_control_is_named_by_segment_and_packet() {
        let data = sstp::Data {
            shipment: 9,
            segment: 2,
            packet: 5,
            last: false,
            full: true,
            resent: true,
            payload: Length(1),
        };
        let report = sstp::Report { control: 1, accepted: 3, cumulative: 2, limit: 7 };
        let bitmap = sstp::Bitmap::from_bytes(&[0b1101_0111]);
        let request = sstp::Request { segment: 2, bitmap };
        let missing = request.bitmap.first_missing(0).unwrap();
        let labels = [sstp::Pdu::Data(data), sstp::Pdu::Pack(report), sstp::Pdu::Snak(report, request)]
            .map(|pdu| label(&Pdu::Sstp(pdu)));
        let request = format!("SNAK 2, 2 missing, first {missing}");
        assert_eq!(labels, ["DATA 2.5".to_owned(), "PACK 3, expects 2".to_owned(), request]);
    }
}
