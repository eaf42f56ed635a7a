//! One direction of a line.

use super::super::keys::{EachName, Line, ScheduleEntry};
use super::super::table::Fields;
use super::super::writer::{Entries, text};
use super::feedback;
use super::queue::queue;
use thalweg_catalog::Registry;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::{CapacityTrace, ImpairmentSpec, LossSpec};
use thalweg_sim::delay::{TimeSpec, VariationSpec};
use thalweg_sim::spec::{Change, DirectionSpec};

/// All keys of a line.
pub fn entries(direction: &DirectionSpec, registry: &Registry) -> Entries {
    let mut entries = Entries::default();
    match &direction.capacity {
        Some(trace) => entries.put("trace", capacity(trace).inline()),
        None => entries.quantity("rate", direction.rate),
    }
    Line::write(direction, &mut entries);
    match direction.variation.as_deref() {
        None => entries.quantity("jitter", direction.jitter),
        Some(variation) => entries.put("jitter", jitter(variation)),
    }
    let mut queue = queue(&direction.queue, registry);
    queue.put("feedback", feedback::value(direction.feedback.as_ref()));
    entries.put("queue", queue.inline());
    impairment(&direction.impairment, &mut entries);
    let changes = schedule(&direction.schedule, direction.capacity.is_some());
    entries.put("schedule", format!("[{}]", changes.join(", ")));
    entries.in_order(Line::position)
}

fn jitter(variation: &VariationSpec) -> String {
    let mut table = Entries::default();
    let kind = |table: &mut Entries, kind: &str| table.put("distribution", text(kind));
    let most = |table: &mut Entries, max: &Option<Duration>| {
        if let Some(max) = max {
            table.quantity("max", max);
        }
    };
    match &variation.distribution {
        TimeSpec::Uniform { min, max } => {
            kind(&mut table, "uniform");
            table.quantity("min", min);
            table.quantity("max", max);
        }
        TimeSpec::Exponential { mean, max } => {
            kind(&mut table, "exponential");
            table.quantity("mean", mean);
            most(&mut table, max);
        }
        TimeSpec::Normal { mean, deviation, max } => {
            kind(&mut table, "normal");
            table.quantity("mean", mean);
            table.quantity("deviation", deviation);
            most(&mut table, max);
        }
        TimeSpec::LogNormal { median, sigma, max } => {
            kind(&mut table, "log-normal");
            table.quantity("median", median);
            table.number("sigma", *sigma);
            most(&mut table, max);
        }
        TimeSpec::Pareto { min, shape, max } => {
            kind(&mut table, "pareto");
            table.quantity("min", min);
            table.number("shape", *shape);
            most(&mut table, max);
        }
        TimeSpec::Quantiles(times) => {
            kind(&mut table, "measured");
            table.put("times", list(times.iter().map(|time| format!("\"{time}\""))));
        }
    }
    table.put("each", text(EachName(variation.each).word()));
    table.put("in-order", variation.keeps_order.to_string());
    table.inline()
}

fn impairment(impairment: &ImpairmentSpec, entries: &mut Entries) {
    match &impairment.loss {
        LossSpec::None => entries.number("loss", 0.0),
        LossSpec::Uniform { probability } => entries.number("loss", *probability),
        LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
            let mut table = Entries::default();
            table.put("model", text("gilbert-elliott"));
            table.number("good-to-bad", *good_to_bad);
            table.number("bad-to-good", *bad_to_good);
            table.number("loss-good", *loss_good);
            table.number("loss-bad", *loss_bad);
            entries.put("loss", table.inline());
        }
        LossSpec::List(packets) => {
            let mut table = Entries::default();
            table.put("model", text("list"));
            table.put("packets", list(packets.iter()));
            entries.put("loss", table.inline());
        }
    }
    let mut reorder = Entries::default();
    reorder.number("probability", impairment.reorder.map_or(0.0, |reorder| reorder.probability));
    reorder.quantity("delay", impairment.reorder.map_or(Duration::ZERO, |reorder| reorder.delay));
    entries.put("reorder", reorder.inline());
}

/// The changes, each an inline table. A traced line has no rate, so its stops and starts are outages again.
fn schedule(changes: &[Change], traced: bool) -> Vec<String> {
    let mut written = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        let mut entry = Entries::default();
        entry.quantity("at", change.at.since(Time::ZERO));
        match change.rate {
            Some(Rate::ZERO) if traced => {
                let start = changes[number + 1..].iter().find(|next| next.rate.is_some());
                entry.quantity("outage", start.map_or(Duration::ZERO, |start| start.at.since(change.at)));
            }
            Some(_) if traced => continue,
            Some(rate) => entry.quantity("rate", rate),
            None => {}
        }
        if let Some(delay) = change.delay {
            entry.quantity("delay", delay);
        }
        if let Some(new) = &change.impairment {
            impairment(new, &mut entry);
            ScheduleEntry::write(new, &mut entry);
        }
        written.push(entry.in_order(ScheduleEntry::position).inline());
    }
    written
}

/// A trace in the largest unit of time that divides all its times.
fn capacity(trace: &CapacityTrace) -> Entries {
    let times = trace.opportunities.iter().map(|at| at.as_picos());
    let tick = times.clone().fold(trace.period.as_picos(), gcd).max(1);
    let mut entries = Entries::default();
    entries.quantity("tick", Duration::from_picos(tick));
    entries.put("times", list(times.map(|at| at / tick)));
    entries.quantity("period", trace.period);
    entries.quantity("bytes", Bytes::new(u64::from(trace.bytes)));
    entries
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn list(numbers: impl Iterator<Item = impl ToString>) -> String {
    format!("[{}]", numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", "))
}
