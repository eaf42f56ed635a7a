//! `thalweg assess --live`: runs a sample of the points in live networks, with a scheme or the kernel's TCP, and compares with
//! simulation.

use crate::console_output::{Console, Error};
use crate::scenario_sources::Source;
use crate::shell::compare_live::{SimulatedAndLive, run_simulated_and_live};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_assess::LivePoint;
use thalweg_report::output::{Align, Table, format_count, format_rate, format_seconds};
use thalweg_scenario::expand_scenario;

/// A point, simulated and live.
struct ComparedPoint<'a> {
    point: &'a LivePoint,
    both: SimulatedAndLive,
}

/// Runs each sampled point with `scheme` for all flows simulated, and with it or the kernel's `carrier` live, one after the other. Writes the scenarios
/// and the files of the live runs to `folder`. Returns a table for people and a document for programs.
pub fn compare_simulated_and_live(
    [scheme, carrier]: [&str; 2],
    sample: &[LivePoint],
    folder: &Path,
    stop: &AtomicBool,
    console: &Console,
) -> Result<(String, Value), Error> {
    let long: f64 = sample.iter().map(|point| point.scenario.spec.duration.as_secs_f64()).sum();
    console.inform(&format!("{carrier}: {} live, {long:.0} s", format_count(sample.len() as u64, "point")));
    let failed = |error: std::io::Error| Error::Failed(format!("`{}`: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut all = Vec::new();
    for (point, number) in sample.iter().zip(1..) {
        let file = folder.join(format!("point-{number}.toml"));
        std::fs::write(&file, expand_scenario(&point.scenario)).map_err(failed)?;
        let place = folder.join(format!("point-{number}"));
        let both = run_simulated_and_live(&Source::find(&file)?, scheme, carrier, &place, console);
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Failed("interrupted: nothing was compared with live runs".to_owned()));
        }
        all.push(ComparedPoint { point, both: both? });
    }
    Ok((format_comparison([scheme, carrier], &all, console), comparison_document([scheme, carrier], &all)))
}

/// Returns the difference of the live value from the simulated one, relative to the latter.
fn relative_difference([simulated, live]: [f64; 2]) -> Option<f64> {
    (simulated > 0.0).then(|| live / simulated - 1.0)
}

fn format_percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:+.1} %", share * 100.0))
}

fn mean_delays(both: &SimulatedAndLive) -> Option<[f64; 2]> {
    let [Some(simulated), Some(live)] = both.delay else { return None };
    Some([simulated, live])
}

fn format_comparison([scheme, carrier]: [&str; 2], all: &[ComparedPoint<'_>], console: &Console) -> String {
    let right = |head| (head, Align::Right);
    let left = |head| (head, Align::Left);
    let mut table = Table::new([
        left("Point"),
        right("Goodput"),
        right("live"),
        right("off by"),
        right("Delay"),
        right("live"),
        right("off by"),
        left("Fidelity"),
    ]);
    for ComparedPoint { point, both } in all {
        let delay = |place: usize| both.delay[place].map_or_else(|| "-".to_owned(), format_seconds);
        table.row([
            point.scenario.title.clone(),
            format_rate(both.goodput[0]),
            format_rate(both.goodput[1]),
            format_percent(relative_difference(both.goodput)),
            delay(0),
            delay(1),
            format_percent(mean_delays(both).and_then(relative_difference)),
            if both.not_valid.is_some() { "NOT VALID" } else { "valid" }.to_owned(),
        ]);
    }
    let valid: Vec<&SimulatedAndLive> =
        all.iter().map(|one| &one.both).filter(|both| both.not_valid.is_none()).collect();
    let max = |of: &dyn Fn(&SimulatedAndLive) -> Option<f64>| {
        valid.iter().filter_map(|both| of(both)).map(f64::abs).reduce(f64::max)
    };
    let share = |share: Option<f64>| {
        share.map_or_else(|| "unknown".to_owned(), |share| format!("{:.1} %", share * 100.0))
    };
    let title = match scheme == carrier {
        true => format!("{scheme} simulated and live"),
        false => format!("{scheme} simulated and {carrier} live"),
    };
    format!(
        "{title}, all flows of {}\n{}{} valid: goodput is off by {} at most, delay by {}\n",
        format_count(all.len() as u64, "point"),
        table.render(console.style),
        format_count(valid.len() as u64, "live run"),
        share(max(&|both| relative_difference(both.goodput))),
        share(max(&|both| mean_delays(both).and_then(relative_difference)))
    )
}

fn comparison_document([scheme, carrier]: [&str; 2], all: &[ComparedPoint<'_>]) -> Value {
    let of = |ComparedPoint { point, both }: &ComparedPoint<'_>| {
        json!({
            "sweep": point.sweep,
            "values": point.values,
            "goodput_bps": { "simulated": both.goodput[0], "live": both.goodput[1] },
            "goodput_distance": relative_difference(both.goodput),
            "delay_mean_s": { "simulated": both.delay[0], "live": both.delay[1] },
            "delay_distance": mean_delays(both).and_then(relative_difference),
            "valid": both.not_valid.is_none(),
            "why_not": both.not_valid,
        })
    };
    json!({ "format": "thalweg-assess-live", "version": 1, "scheme": carrier, "simulated": scheme, "points": all.iter().map(of).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_a_share_of_what_was_simulated() {
        let near = |share: Option<f64>, of: f64| share.is_some_and(|share| (share - of).abs() < 1e-12);
        assert!(near(relative_difference([8e6, 6e6]), -0.25) && near(relative_difference([0.01, 0.02]), 1.0));
        assert_eq!(relative_difference([0.0, 1.0]), None);
        assert_eq!(
            (format_percent(Some(-0.25)), format_percent(None)),
            ("-25.0 %".to_owned(), "-".to_owned())
        );
    }
}
