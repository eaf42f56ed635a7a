//! A scheme with all its parameters.

use super::super::keys::{
    BaseName, CountingName, FollowName, GrowthName, GrowthWord, ProbingName, RecoveryName,
    SstpAcknowledgement, SstpEvicted, SstpResume, UnitName,
};
use super::super::quantity::Packets;
use super::writer::{Entries, text};
use thalweg_proto::congestion::{
    ControllerConfig, CubicConfig, FixedConfig, Growth, NewRenoConfig, SlowStartConfig, SourceQuenchConfig,
    VegasConfig,
};
use thalweg_proto::sscop::rate::RateConfig;
use thalweg_proto::sscop::{Config, TimerConfig};
use thalweg_proto::sstp;
use thalweg_proto::units::{Bytes, Rate};
use thalweg_proto::window::{ReceiverConfig, SenderConfig};
use thalweg_sim::spec::TransportSpec;

/// All keys of the scheme.
pub fn entries(transport: &TransportSpec) -> Entries {
    let mut entries = Entries::default();
    match transport {
        TransportSpec::Window { sender, receiver, controller, header, ack, .. } => {
            controller_entries(controller, &mut entries);
            if matches!(controller, ControllerConfig::Vegas(_)) {
                entries.put("fine-timer", sender.fine_timer.to_string());
            }
            if controller.answers_marks() {
                entries.put("ecn", sender.ecn.to_string());
            }
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
        TransportSpec::Sscop { config, header, .. } => {
            sscop_entries(&config.sscop, &mut entries);
            size("segment", config.segment, &mut entries);
            size("header", *header, &mut entries);
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

fn controller_entries(controller: &ControllerConfig, entries: &mut Entries) {
    let mut begin = |base: &str, window: f64, threshold: f64| {
        entries.put("base", text(base));
        entries.quantity("initial-window", Packets(window));
        entries.quantity("initial-threshold", Packets(threshold));
    };
    match *controller {
        ControllerConfig::Fixed(FixedConfig { window }) => {
            entries.put("base", text("fixed"));
            entries.quantity("window", Packets(window));
        }
        ControllerConfig::SlowStart(SlowStartConfig { initial_window, initial_threshold, growth }) => {
            begin("slow-start", initial_window, initial_threshold);
            let word = match growth {
                Growth::Fractional => GrowthWord::Fractional,
                Growth::Counted { .. } => GrowthWord::Counted,
            };
            entries.put("growth", text(GrowthName(word).word()));
        }
        ControllerConfig::NewReno(NewRenoConfig { initial_window, initial_threshold }) => {
            begin("newreno", initial_window, initial_threshold);
        }
        ControllerConfig::Vegas(VegasConfig { initial_window, initial_threshold, alpha, beta, gamma }) => {
            begin("vegas", initial_window, initial_threshold);
            entries.quantity("alpha", Packets(alpha));
            entries.quantity("beta", Packets(beta));
            entries.quantity("gamma", Packets(gamma));
        }
        ControllerConfig::Cubic(CubicConfig {
            initial_window,
            initial_threshold,
            c,
            beta,
            fast_convergence,
        }) => {
            begin("cubic", initial_window, initial_threshold);
            entries.number("c", c);
            entries.number("beta", beta);
            entries.put("fast-convergence", fast_convergence.to_string());
        }
        ControllerConfig::Seif(seif) => {
            begin("seif", seif.initial_window, seif.initial_threshold);
            entries.number("cut-back", seif.cut_back);
            entries.put("growth-windows", seif.growth_windows.to_string());
            entries.put("follow", text(FollowName(seif.follow).word()));
        }
        ControllerConfig::DecBit(dec_bit) => {
            entries.put("base", text("dec-bit"));
            entries.quantity("initial-window", Packets(dec_bit.initial_window));
            entries.quantity("increase", Packets(dec_bit.increase));
            entries.number("decrease", dec_bit.decrease);
            entries.number("share", dec_bit.share);
        }
        ControllerConfig::TriS(tri_s) => {
            entries.put("base", text("tri-s"));
            entries.number("ntg-d", tri_s.decrease_below);
            entries.number("ntg-i", tri_s.increase_above);
        }
        ControllerConfig::SourceQuench(SourceQuenchConfig { window, acks }) => {
            entries.put("base", text("source-quench"));
            entries.quantity("window", Packets(window));
            entries.put("resume-after", acks.to_string());
        }
        ControllerConfig::Bbn(bbn) => {
            entries.put("base", text("bbn"));
            entries.quantity("window", Packets(bbn.window));
            entries.quantity("lifetime", bbn.lifetime);
        }
        ControllerConfig::Custom(ref custom) => entries.put("base", text(custom.name())),
    }
}

fn sender_entries(sender: &SenderConfig, entries: &mut Entries) {
    entries.put("max-window", format!("\"{} pkt\"", sender.max_window));
    entries.put("counting", text(CountingName(sender.counting).word()));
    entries.put("recovery", text(RecoveryName(sender.recovery).word()));
    if sender.byte_counting != 1 {
        entries.quantity("byte-counting", Packets(f64::from(sender.byte_counting)));
    }
    entries.put("duplicate-threshold", sender.duplicate_threshold.to_string());
    if let Some(rack) = &sender.rack {
        entries.put("rack", "true");
        entries.put("undo", rack.undo.to_string());
        entries.put("tail-probe", rack.tail_probe.to_string());
    }
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

fn sscop_entries(config: &Config, entries: &mut Entries) {
    match &config.rate {
        None => entries.put("base", text("sscop")),
        // Without a bound on growth the printed rules are the base, as only they have none.
        Some(rate) => {
            let amended = rate.growth.is_some();
            entries.put("base", text(if amended { "sscop-rate" } else { "sscop-rate-literal" }));
            rate_entries(rate, entries);
        }
    }
    entries.quantity("window", Packets(f64::from(config.window)));
    entries.quantity("buffer", Packets(f64::from(config.buffer)));
    size("k", config.k, entries);
    size("j", config.j, entries);
    entries.put("max-cc", config.max_cc.to_string());
    entries.put("max-pd", config.max_pd.to_string());
    entries.put("max-stat", config.max_stat.to_string());
    let TimerConfig { cc, poll, keep_alive, no_response, idle } = config.timers;
    entries.quantity("timer-cc", cc);
    entries.quantity("timer-poll", poll);
    entries.quantity("timer-keep-alive", keep_alive);
    entries.quantity("timer-no-response", no_response);
    entries.quantity("timer-idle", idle);
    entries.put("poll-after-retransmission", config.poll_after_retransmission.to_string());
    entries.put("ignore-old-data", config.ignore_old_data.to_string());
}

fn rate_entries(rate: &RateConfig, entries: &mut Entries) {
    entries.quantity("start-rate", rate.start);
    if rate.most != Rate::MAX {
        entries.quantity("max-rate", rate.most);
    }
    entries.quantity("alpha", Packets(rate.alpha));
    entries.put("unit", text(UnitName(rate.unit).word()));
    entries.put("probing", text(ProbingName(rate.probing).word()));
    entries.put("base-rate", text(BaseName(rate.base).word()));
    entries.number("gain", rate.gain);
    if let Some(growth) = rate.growth {
        entries.number("growth", growth);
    }
    entries.put("poll-behind-data", rate.poll_behind_data.to_string());
    entries.put("keep-records", rate.keep_records.to_string());
    entries.quantity("poll-floor", rate.poll_floor);
    entries.quantity("poll-ceiling", rate.poll_ceiling);
    if let Some(drain) = rate.drain {
        entries.quantity("drain", drain);
    }
    entries.quantity("jitter", rate.jitter);
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
