//! A scheme with all its parameters.

use super::super::keys::{
    CountingName, FollowName, GrowthName, GrowthWord, RecoveryName, SstpAcknowledgement, SstpEvicted,
    SstpResume,
};
use super::super::quantity::Packets;
use super::writer::{Entries, text};
use thalweg_proto::congestion::{ControllerSpec, Growth};
use thalweg_proto::sstp;
use thalweg_proto::units::Bytes;
use thalweg_proto::window::{ReceiverConfig, SenderConfig};
use thalweg_sim::spec::TransportSpec;

/// The scheme's name.
pub fn name(transport: &TransportSpec) -> &str {
    match transport {
        TransportSpec::Window { scheme, .. }
        | TransportSpec::Datagram { scheme, .. }
        | TransportSpec::AdaptiveAck { scheme, .. }
        | TransportSpec::Sstp { scheme, .. } => scheme,
    }
}

/// All keys of the scheme.
pub fn entries(transport: &TransportSpec) -> Entries {
    let mut entries = Entries::default();
    match transport {
        TransportSpec::Window { sender, receiver, controller, header, ack, .. } => {
            controller_entries(controller, &mut entries);
            size("segment", sender.segment, &mut entries);
            size("header", *header, &mut entries);
            size("ack", *ack, &mut entries);
            sender_entries(sender, &mut entries);
            receiver_entries(receiver, &mut entries);
        }
        TransportSpec::Datagram { segment, header, rate, .. } => {
            entries.put("base", text("udp"));
            size("segment", *segment, &mut entries);
            size("header", *header, &mut entries);
            if let Some(rate) = rate {
                entries.quantity("rate", rate);
            }
        }
        TransportSpec::AdaptiveAck { config, header, ack, .. } => {
            entries.put("base", text("adaptive-ack"));
            entries.put("window", format!("\"{} pkt\"", config.window));
            entries.quantity("t-normal", config.normal);
            entries.quantity("t-error", config.error);
            size("segment", config.segment, &mut entries);
            size("header", *header, &mut entries);
            size("ack", *ack, &mut entries);
        }
        TransportSpec::Sstp { sender, receiver, header, control, .. } => {
            entries.put("base", text("sstp"));
            sstp_entries(sender, receiver, &mut entries);
            size("segment", sender.packet, &mut entries);
            size("header", *header, &mut entries);
            size("ack", *control, &mut entries);
        }
    }
    entries
}

fn sstp_entries(sender: &sstp::SenderConfig, receiver: &sstp::ReceiverConfig, entries: &mut Entries) {
    entries.put("segment-packets", format!("\"{} pkt\"", sender.segment));
    entries.quantity("rate", sender.rate.peak());
    entries.quantity("average-rate", sender.rate.average());
    entries.put("burst", format!("\"{} pkt\"", sender.rate.burst()));
    entries.put("resume", text(SstpResume(sender.resume).word()));
    entries.put("window", format!("\"{} seg\"", receiver.window));
    entries.put("buffer", format!("\"{} seg\"", receiver.buffer));
    let (acknowledgement, evicted) = match receiver.acknowledgement {
        sstp::Acknowledgement::Soft(evicted) => {
            (sstp::Acknowledgement::Soft(sstp::Evicted::All), Some(evicted))
        }
        other => (other, None),
    };
    entries.put("acknowledgement", text(SstpAcknowledgement(acknowledgement).word()));
    if let Some(evicted) = evicted {
        entries.put("evicted", text(SstpEvicted(evicted).word()));
    }
    if let sstp::Tolerance::Fraction(share) = receiver.tolerance {
        entries.number("loss-tolerance", share);
    }
    entries.put("reordering", receiver.reordering.to_string());
}

fn size(key: &'static str, bytes: u32, entries: &mut Entries) {
    entries.quantity(key, Bytes::new(u64::from(bytes)));
}

fn controller_entries(controller: &ControllerSpec, entries: &mut Entries) {
    let mut begin = |base: &str, window: f64, threshold: f64| {
        entries.put("base", text(base));
        entries.quantity("initial-window", Packets(window));
        entries.quantity("initial-threshold", Packets(threshold));
    };
    match *controller {
        ControllerSpec::Fixed { window } => {
            entries.put("base", text("fixed"));
            entries.quantity("window", Packets(window));
        }
        ControllerSpec::SlowStart { initial_window, initial_threshold, growth } => {
            begin("slow-start", initial_window, initial_threshold);
            let word = match growth {
                Growth::Fractional => GrowthWord::Fractional,
                Growth::Counted { .. } => GrowthWord::Counted,
            };
            entries.put("growth", text(GrowthName(word).word()));
        }
        ControllerSpec::NewReno { initial_window, initial_threshold } => {
            begin("newreno", initial_window, initial_threshold);
        }
        ControllerSpec::Vegas { initial_window, initial_threshold, alpha, beta, gamma } => {
            begin("vegas", initial_window, initial_threshold);
            entries.quantity("alpha", Packets(alpha));
            entries.quantity("beta", Packets(beta));
            entries.quantity("gamma", Packets(gamma));
        }
        ControllerSpec::Cubic { initial_window, initial_threshold, c, beta, fast_convergence } => {
            begin("cubic", initial_window, initial_threshold);
            entries.number("c", c);
            entries.number("beta", beta);
            entries.put("fast-convergence", fast_convergence.to_string());
        }
        ControllerSpec::Seif(seif) => {
            begin("seif", seif.initial_window, seif.initial_threshold);
            entries.number("cut-back", seif.cut_back);
            entries.put("growth-windows", seif.growth_windows.to_string());
            entries.put("follow", text(FollowName(seif.follow).word()));
        }
        ControllerSpec::DecBit(dec_bit) => {
            entries.put("base", text("dec-bit"));
            entries.quantity("initial-window", Packets(dec_bit.initial_window));
            entries.quantity("increase", Packets(dec_bit.increase));
            entries.number("decrease", dec_bit.decrease);
            entries.number("share", dec_bit.share);
        }
        ControllerSpec::TriS(tri_s) => {
            entries.put("base", text("tri-s"));
            entries.number("ntg-d", tri_s.decrease_below);
            entries.number("ntg-i", tri_s.increase_above);
        }
        ControllerSpec::SourceQuench { window, acks } => {
            entries.put("base", text("source-quench"));
            entries.quantity("window", Packets(window));
            entries.put("resume-after", acks.to_string());
        }
        ControllerSpec::Bbn(bbn) => {
            entries.put("base", text("bbn"));
            entries.quantity("window", Packets(bbn.window));
            entries.quantity("lifetime", bbn.lifetime);
        }
    }
}

fn sender_entries(sender: &SenderConfig, entries: &mut Entries) {
    entries.put("max-window", format!("\"{} pkt\"", sender.max_window));
    entries.put("counting", text(CountingName(sender.counting).word()));
    entries.put("recovery", text(RecoveryName(sender.recovery).word()));
    entries.put("duplicate-threshold", sender.duplicate_threshold.to_string());
    let mut rto = Entries::default();
    rto.quantity("initial", sender.rtt.initial);
    rto.quantity("floor", sender.rtt.floor);
    rto.quantity("ceiling", sender.rtt.ceiling);
    rto.quantity("granularity", sender.rtt.granularity);
    rto.quantity("margin", sender.rtt.margin);
    rto.put("deviations", sender.rtt.deviations.to_string());
    entries.put("rto", rto.inline());
    entries.put("idle-restart", sender.idle_restart.to_string());
    entries.put("nagle", sender.nagle.to_string());
    if let Some(most) = sender.max_retransmissions {
        entries.put("max-retransmissions", most.to_string());
    }
}

fn receiver_entries(receiver: &ReceiverConfig, entries: &mut Entries) {
    entries.quantity("receive-window", Bytes::new(receiver.window));
    match receiver.delayed_ack {
        Some(delayed) => {
            let mut table = Entries::default();
            table.quantity("delay", delayed.delay);
            table.put("every", delayed.every.to_string());
            entries.put("delayed-ack", table.inline());
        }
        None => entries.put("delayed-ack", "false"),
    }
    entries.put("keep-out-of-order", receiver.keep_out_of_order.to_string());
}
