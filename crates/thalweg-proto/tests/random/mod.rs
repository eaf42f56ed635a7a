//! Random settings that several tests draw.

use core::ops::Range;
use proptest::prelude::*;
use thalweg_proto::congestion::ControllerSpec;
use thalweg_proto::units::Rate;

/// Any controller, now and then paced at a rate of so many Mbit/s with a burst of so many segments.
pub fn controller(mbits: Range<u64>) -> impl Strategy<Value = (ControllerSpec, Option<(Rate, u32)>)> {
    let (initial_window, initial_threshold) = (2.0, 1e9);
    let vegas =
        ControllerSpec::Vegas { initial_window, initial_threshold, alpha: 1.0, beta: 3.0, gamma: 1.0 };
    let cubic = move |fast_convergence| ControllerSpec::Cubic {
        initial_window,
        initial_threshold,
        c: 0.4,
        beta: 0.7,
        fast_convergence,
    };
    let spec = prop_oneof![
        (1.0..40.0f64).prop_map(|window| ControllerSpec::Fixed { window }),
        Just(ControllerSpec::SlowStart { initial_window, initial_threshold }),
        Just(ControllerSpec::NewReno { initial_window, initial_threshold }),
        Just(vegas),
        any::<bool>().prop_map(cubic),
    ];
    let pacing = (mbits, 0u32..5).prop_map(|(rate, burst)| (Rate::from_mbits_per_sec(rate), burst));
    (spec, prop::option::weighted(0.2, pacing))
}
