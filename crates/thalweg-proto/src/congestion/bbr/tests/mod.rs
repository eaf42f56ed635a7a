//! Tests of BBR: the 22 cases of the draft's appendix ("BBR Example Test Cases") over a range of paths, each named
//! after the title of its section.

mod draft_rules;
mod open_questions;
mod path_changes;
mod probe_bw;
mod probe_rtt;
mod spurious_losses;
mod startup;
mod test_path;

use super::BbrState;
use crate::units::{Duration, Rate, Time};
use test_path::{Path, Setup};

/// Paths of the cases, in Mbit/s and ms: the appendix asks for a variety.
const PATHS: [(u64, u64); 12] = [
    (1, 1),
    (1, 20),
    (1, 100),
    (1, 600),
    (100, 1),
    (100, 20),
    (100, 100),
    (100, 600),
    (10_000, 1),
    (10_000, 20),
    (10_000, 100),
    (10_000, 600),
];

/// Returns all paths.
fn paths() -> impl Iterator<Item = Setup> {
    PATHS.iter().map(|&(mbits, millis)| Setup::new(mbits, millis))
}

/// Returns the paths with a bandwidth-delay product of at least `segments`: smaller ones are too coarse for rules about
/// shares.
fn paths_of(segments: f64) -> impl Iterator<Item = Setup> {
    paths().filter(move |setup| setup.bdp() >= segments * f64::from(setup.segment))
}

/// Returns the estimated bandwidth as a share of the path's (BBR.max_bw).
fn bandwidth_share(path: &Path) -> f64 {
    path.see(|bbr| bbr.max_bw.get()) * 8.0 / path.setup.rate.as_f64()
}

/// Describes the path and BBR's state, for failure messages.
fn name(path: &Path) -> String {
    let bbr = path.bbr();
    format!(
        "{} with {}, at {:.4} s: {:?} after {} rounds, in flight {}, window {}, bandwidth {} of {}, bounds {} {} {}, {:?}, {:?}, {:?}",
        path.setup.rate,
        path.setup.rtt,
        path.now.as_secs_f64(),
        bbr.state,
        bbr.sampler.rounds(),
        path.in_flight(),
        bbr.cwnd,
        bbr.bw,
        bbr.max_bw.get(),
        bbr.bw_shortterm,
        bbr.inflight_shortterm,
        bbr.inflight_longterm,
        bbr.full_bw,
        bbr.cycle,
        bbr.loss,
    )
}

/// Limits the application to this share of the path's rate, in writes of whole segments at least a quarter round trip
/// apart.
fn offer_load(path: &mut Path, part: f64) {
    let bytes = part * path.setup.rate.as_f64() / 8.0;
    let segment = f64::from(path.setup.segment);
    let each = (bytes * path.setup.rtt.as_secs_f64() / 4.0 / segment).ceil().max(1.0) * segment;
    path.limit_application(Duration::from_secs_f64(each / bytes), each as u32);
}
