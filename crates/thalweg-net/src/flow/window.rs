//! The window transport, from the options of its schemes.

use super::{PathHints, Scheme};
use std::sync::Arc;
use thalweg_proto::congestion::{
    Any, BbnConfig, ControllerConfig, CubicConfig, DecBitConfig, FixedConfig, Follow, Growth, MadeSender,
    NewRenoConfig, SeifConfig, SlowStartConfig, SourceQuenchConfig, TriSConfig, VegasConfig,
};
use thalweg_proto::payload::Slice;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_proto::window::wire::SEGMENT_HEADER;
use thalweg_proto::window::{
    Counting, DelayedAck, PauseConfig, RackConfig, Receiver, ReceiverConfig, Recovery, RttConfig,
    SenderConfig,
};

pub(super) fn sender(scheme: &Scheme, path: &PathHints) -> MadeSender<Slice> {
    controller(scheme).sender(Arc::new(sender_config(scheme, path)))
}

pub(super) fn receiver(scheme: &Scheme, path: &PathHints) -> Receiver<Slice> {
    Receiver::new(Arc::new(receiver_config(scheme, path)))
}

fn sender_config(scheme: &Scheme, path: &PathHints) -> SenderConfig {
    let time = |name| scheme.time(name).unwrap_or(Duration::ZERO);
    SenderConfig {
        segment: path.segment(SEGMENT_HEADER as u32),
        max_window: packets(scheme, "max-window") as u32,
        counting: if scheme.word("counting") == "bytes" { Counting::Bytes } else { Counting::Packets },
        recovery: recovery(scheme),
        byte_counting: packets(scheme, "byte-counting") as u32,
        rack: rack(scheme),
        duplicate_threshold: count(scheme, "duplicate-threshold"),
        rtt: RttConfig {
            initial: time("rto.initial"),
            floor: time("rto.floor"),
            ceiling: time("rto.ceiling"),
            granularity: Duration::ZERO,
            margin: if scheme.says("rto.margin") {
                time("rto.margin")
            } else {
                time("rto.margin").min(time("rto.floor"))
            },
            deviations: count(scheme, "rto.deviations"),
        },
        idle_restart: switch(scheme, "idle-restart"),
        // Quenches and the rule against small packets are one memorandum's (RFC 896).
        nagle: scheme.switch("nagle").unwrap_or(scheme.name() == "source-quench"),
        fine_timer: switch(scheme, "fine-timer"),
        ecn: switch(scheme, "ecn"),
        // Whether the peer is gone is for the connection to say.
        max_retransmissions: None,
        pause: PauseConfig::default(),
    }
}

fn receiver_config(scheme: &Scheme, path: &PathHints) -> ReceiverConfig {
    let window = scheme.size("receive-window").map_or(path.memory, Bytes::get);
    let delayed_ack = DelayedAck {
        delay: scheme.time("delayed-ack.delay").unwrap_or(Duration::ZERO),
        every: count(scheme, "delayed-ack.every"),
    };
    ReceiverConfig {
        window: window.min(path.memory),
        delayed_ack: switch(scheme, "delayed-ack").then_some(delayed_ack),
        sack: recovery(scheme) == Recovery::Sack,
        keep_out_of_order: switch(scheme, "keep-out-of-order"),
        report_arrivals: rack(scheme).is_some(),
        wait_for_consumption: true,
    }
}

/// Losses are found by time where selective acknowledgements tell enough for that, unless somebody says otherwise: real paths
/// reorder.
pub(super) fn rack(scheme: &Scheme) -> Option<RackConfig> {
    let has_sack = recovery(scheme) == Recovery::Sack;
    let delay = scheme.time("delayed-ack.delay").unwrap_or(Duration::ZERO);
    let config = RackConfig {
        undo: switch(scheme, "undo"),
        tail_probe: switch(scheme, "tail-probe"),
        max_ack_delay: if switch(scheme, "delayed-ack") { delay } else { Duration::ZERO },
    };
    (has_sack && scheme.switch("rack").unwrap_or(true)).then_some(config)
}

/// What was said, or else what goes with the controller.
fn recovery(scheme: &Scheme) -> Recovery {
    match (scheme.word("recovery"), scheme.name()) {
        ("sack", _) | ("", "newreno" | "vegas" | "cubic") => Recovery::Sack,
        ("newreno", _) => Recovery::NewReno,
        ("fast-retransmit", _) | ("", "seif") => Recovery::FastRetransmit,
        _ => Recovery::GoBackN,
    }
}

/// A controller that has seen nothing, where it is one of the list.
pub(super) fn fresh(scheme: &Scheme) -> Option<Any> {
    Any::new(&controller(scheme)).ok()
}

fn controller(scheme: &Scheme) -> ControllerConfig {
    let max_window = packets(scheme, "max-window");
    let window = packets(scheme, "window");
    let initial_window = packets(scheme, "initial-window");
    let initial_threshold = packets(scheme, "initial-threshold");
    let number = |name| scheme.number(name).unwrap_or(0.0);
    match scheme.name() {
        "slow-start" => {
            let counted = scheme.word("growth") == "counted";
            let growth = if counted { Growth::Counted { max_window } } else { Growth::Fractional };
            ControllerConfig::SlowStart(SlowStartConfig { initial_window, initial_threshold, growth })
        }
        "newreno" => ControllerConfig::NewReno(NewRenoConfig { initial_window, initial_threshold }),
        "vegas" => ControllerConfig::Vegas(VegasConfig {
            initial_window,
            initial_threshold,
            alpha: packets(scheme, "alpha"),
            beta: packets(scheme, "beta"),
            gamma: packets(scheme, "gamma"),
        }),
        "cubic" => ControllerConfig::Cubic(CubicConfig {
            initial_window,
            initial_threshold,
            c: number("c"),
            beta: number("beta"),
            fast_convergence: switch(scheme, "fast-convergence"),
        }),
        "seif" => ControllerConfig::Seif(SeifConfig {
            initial_window,
            initial_threshold: scheme.packets("initial-threshold").unwrap_or(max_window / 2.0),
            max_window,
            cut_back: number("cut-back"),
            growth_windows: count(scheme, "growth-windows"),
            follow: if scheme.word("follow") == "loudest" { Follow::Loudest } else { Follow::All },
        }),
        "dec-bit" => ControllerConfig::DecBit(DecBitConfig {
            initial_window,
            max_window,
            increase: packets(scheme, "increase"),
            decrease: number("decrease"),
            share: number("share"),
        }),
        "tri-s" => ControllerConfig::TriS(TriSConfig {
            max_window,
            decrease_below: number("ntg-d"),
            increase_above: number("ntg-i"),
        }),
        "source-quench" => {
            ControllerConfig::SourceQuench(SourceQuenchConfig { window, acks: count(scheme, "resume-after") })
        }
        "bbn" => ControllerConfig::Bbn(BbnConfig {
            window,
            lifetime: scheme.time("lifetime").unwrap_or(Duration::MAX),
            header: SEGMENT_HEADER as u32,
        }),
        _ => ControllerConfig::Fixed(FixedConfig { window }),
    }
}

// An option that a scheme does not have is not looked at by its engine: any value will do.

fn packets(scheme: &Scheme, name: &str) -> f64 {
    scheme.packets(name).unwrap_or(1.0)
}

fn count(scheme: &Scheme, name: &str) -> u32 {
    scheme.count(name).unwrap_or(1)
}

fn switch(scheme: &Scheme, name: &str) -> bool {
    scheme.switch(name).unwrap_or(false)
}
