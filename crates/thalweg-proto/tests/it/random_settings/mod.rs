//! Random settings shared by several tests.

use core::ops::Range;
use proptest::prelude::*;
use thalweg_proto::congestion::{
    BbnConfig, BbrConfig, CopaConfig, CubicConfig, DctcpConfig, DecBitConfig, FilterAdvance,
    FixedWindowConfig, Growth, LedbatPlusPlusConfig, NewRenoConfig, PragueConfig, ProbeRttBasis,
    RouterSelection, SeifConfig, Signals, SlowStartConfig, SourceQuenchConfig, ThalwegConfig, TriSConfig,
    TriSIncrease, VegasConfig,
};
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::ControllerConfig;

/// Returns any controller, in some cases with a pacing rate in this range of Mbit/s, and a burst in segments.
pub fn controller(mbits: Range<u64>) -> impl Strategy<Value = (ControllerConfig, Option<(Rate, u32)>)> {
    let (initial_window, initial_ssthresh) = (2.0, 1e9);
    let vegas = ControllerConfig::Vegas(VegasConfig {
        initial_window,
        initial_ssthresh,
        alpha: 1.0,
        beta: 3.0,
        gamma: 1.0,
        slow_start: Default::default(),
    });
    let cubic = move |fast_convergence| {
        ControllerConfig::Cubic(CubicConfig {
            initial_window,
            initial_ssthresh,
            c: 0.4,
            beta: 0.7,
            fast_convergence,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        })
    };
    let seif =
        (0.0..=1.0f64, 1u32..4, any::<bool>()).prop_map(|(cut_back, growth_windows, most_messages)| {
            ControllerConfig::Seif(SeifConfig {
                initial_window: 1.0,
                initial_ssthresh: 15.0,
                max_window: 30.0,
                cut_back,
                growth_windows,
                follow: if most_messages { RouterSelection::MostMessages } else { RouterSelection::All },
                signals: Signals::Both,
            })
        });
    let slow_start = move |counted| {
        ControllerConfig::SlowStart(SlowStartConfig {
            initial_window,
            initial_ssthresh,
            growth: if counted { Growth::Counted { max_window: 30.0 } } else { Growth::Fractional },
        })
    };
    let dctcp = ControllerConfig::Dctcp(DctcpConfig { initial_window, initial_ssthresh, gain: 1.0 / 16.0 });
    let prague = (0u64..50, 0u32..20).prop_map(move |(virtual_rtt, transition)| {
        ControllerConfig::from(PragueConfig {
            initial_window,
            initial_ssthresh,
            gain: 1.0 / 16.0,
            virtual_rtt: Duration::from_millis(virtual_rtt),
            transition,
            burst_delay: Duration::from_micros(250),
        })
    });
    let copa = (0.01..2.0f64, any::<bool>(), 1u64..20).prop_map(move |(delta, compete, seconds)| {
        ControllerConfig::from(CopaConfig {
            initial_window,
            delta,
            competitive_mode: compete,
            min_rtt_lifetime: Duration::from_secs(seconds),
        })
    });
    let thalweg = (1u64..5000, any::<bool>(), 1u64..20, 0.0..0.25f64).prop_map(
        move |(micros, compete, seconds, tolerated_loss)| {
            ControllerConfig::from(ThalwegConfig {
                initial_window,
                queueing: Duration::from_micros(micros),
                compete,
                tolerated_loss,
                aggressive: false,
                base_window: Duration::from_secs(seconds),
            })
        },
    );
    let ledbat = (1u64..200, 0.0..3.0f64, any::<bool>()).prop_map(move |(target, constant, slowdowns)| {
        ControllerConfig::from(LedbatPlusPlusConfig {
            initial_window,
            initial_ssthresh,
            target: Duration::from_millis(target),
            constant,
            slowdowns,
        })
    });
    let bbr = any::<(bool, bool, bool, bool)>().prop_map(move |(precautionary, ecn, drafted, before)| {
        ControllerConfig::from(BbrConfig {
            initial_window,
            loss_threshold: 0.02,
            beta: 0.7,
            headroom: 0.15,
            precautionary,
            offload_quanta: 1,
            drain_gain: if drafted { 0.5 } else { 0.35 },
            probe_rtt_interval: Duration::from_secs(if before { 10 } else { 5 }),
            probe_rtt_basis: if before { ProbeRttBasis::BeforeExpiry } else { ProbeRttBasis::Current },
            filter_advance: if drafted { FilterAdvance::AfterFeedback } else { FilterAdvance::AtDown },
            ecn,
        })
    });
    let share = || prop_oneof![Just(0.5), 0.0..=1.0f64];
    let dec_bit = (share(), share()).prop_map(|(decrease, share)| {
        ControllerConfig::DecBit(DecBitConfig {
            initial_window: 1.0,
            max_window: 30.0,
            increase: 1.0,
            decrease,
            share,
        })
    });
    let tri_s = (share(), share()).prop_map(|(decrease_below, increase_above)| {
        ControllerConfig::TriS(TriSConfig {
            max_window: 30.0,
            decrease_below,
            increase_above,
            increase: if decrease_below < increase_above {
                TriSIncrease::PerAck
            } else {
                TriSIncrease::PerRound
            },
        })
    });
    let quench = (1.0..40.0f64, 0u32..20).prop_map(|(window, acks)| {
        ControllerConfig::SourceQuench(SourceQuenchConfig { window, acks_per_quench: acks })
    });
    let bbn = (1.0..40.0f64, 1u64..20_000).prop_map(|(window, lifetime)| {
        ControllerConfig::Bbn(BbnConfig { window, lifetime: Duration::from_millis(lifetime), header: 40 })
    });
    let spec = prop_oneof![
        (1.0..40.0f64).prop_map(|window| ControllerConfig::FixedWindow(FixedWindowConfig { window })),
        any::<bool>().prop_map(slow_start),
        Just(ControllerConfig::NewReno(NewRenoConfig {
            initial_window,
            initial_ssthresh,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        })),
        Just(vegas),
        any::<bool>().prop_map(cubic),
        Just(dctcp),
        prague,
        copa,
        ledbat,
        bbr,
        thalweg,
        seif,
        dec_bit,
        tri_s,
        quench,
        bbn,
    ];
    let pacing = (mbits, 0u32..5).prop_map(|(rate, burst)| (Rate::from_mbits_per_sec(rate), burst));
    (spec, prop::option::weighted(0.2, pacing))
}
