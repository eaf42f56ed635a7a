//! Workloads of applications, as TOML.

use super::super::writer::{Entries, text};
use thalweg_proto::units::{Rate, Time};
use thalweg_sim::spec::{ReadingSpec, SizeSpec, WorkloadSpec};

/// A workload as TOML.
pub fn value(workload: &WorkloadSpec) -> String {
    let mut entries = Entries::default();
    let mut kind = |kind: &str| entries.put("kind", text(kind));
    match workload {
        WorkloadSpec::Bulk => return text("bulk"),
        WorkloadSpec::Transfer(size) => return format!("\"{size}\""),
        WorkloadSpec::Deliver(size) => {
            kind("deliver");
            entries.quantity("size", size);
        }
        WorkloadSpec::Telnet { packet, gap } => {
            kind("telnet");
            entries.quantity("packet", packet);
            entries.quantity("gap", gap);
        }
        WorkloadSpec::OnOff { on, off, rate, packet, random } => {
            kind("on-off");
            entries.quantity("on", on);
            entries.quantity("off", off);
            if let Some(rate) = rate {
                entries.quantity("rate", rate);
            }
            entries.quantity("packet", packet);
            entries.put("random", random.to_string());
        }
        WorkloadSpec::ConstantRate { rate, packet } => {
            kind("cbr");
            entries.quantity("rate", rate);
            entries.quantity("packet", packet);
        }
        WorkloadSpec::Poisson { gap, size } => {
            kind("poisson");
            entries.quantity("gap", gap);
            entries.put("size", size_value(size));
        }
        WorkloadSpec::RequestResponse { request, response, think } => {
            kind("request-response");
            entries.quantity("request", request);
            entries.put("response", size_value(response));
            entries.quantity("think", think);
        }
        WorkloadSpec::Trace(writes) => {
            kind("trace");
            let pairs: Vec<String> =
                writes.iter().map(|(at, size)| format!("[\"{at}\", \"{size}\"]")).collect();
            entries.put("writes", format!("[{}]", pairs.join(", ")));
        }
    }
    entries.inline()
}

fn size_value(size: &SizeSpec) -> String {
    let mut entries = Entries::default();
    match size {
        SizeSpec::Fixed(size) => return format!("\"{size}\""),
        SizeSpec::Exponential { mean } => {
            entries.put("distribution", text("exponential"));
            entries.quantity("mean", mean);
        }
        SizeSpec::Pareto { min, shape, max } => {
            entries.put("distribution", text("pareto"));
            entries.quantity("min", min);
            entries.number("shape", *shape);
            entries.quantity("max", max);
        }
        SizeSpec::LogNormal { median, sigma } => {
            entries.put("distribution", text("log-normal"));
            entries.quantity("median", median);
            entries.number("sigma", *sigma);
        }
        SizeSpec::Uniform { min, max } => {
            entries.put("distribution", text("uniform"));
            entries.quantity("min", min);
            entries.quantity("max", max);
        }
    }
    entries.inline()
}

/// The pace at which an application reads, as TOML.
pub fn reading(reading: Option<&ReadingSpec>) -> String {
    let rate = |rate: Rate| if rate == Rate::MAX { text("unlimited") } else { format!("\"{rate}\"") };
    let Some(spec) = reading else { return text("unlimited") };
    let mut entries = Entries::default();
    entries.put("rate", rate(spec.rate));
    let changes = spec.changes.iter().map(|change| {
        let mut entry = Entries::default();
        entry.quantity("at", change.at.since(Time::ZERO));
        entry.put("rate", rate(change.rate));
        entry.put("announced", change.announced.to_string());
        entry.inline()
    });
    entries.put("schedule", format!("[{}]", changes.collect::<Vec<_>>().join(", ")));
    entries.inline()
}
