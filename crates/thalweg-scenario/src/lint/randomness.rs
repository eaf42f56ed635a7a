//! Randomness of scenarios: with any, another seed gives another run.

use thalweg_queue::random_delay::{DrawScope, VariationSpec};
use thalweg_queue::{ImpairmentSpec, LossSpec};
use thalweg_sim::simulation_spec::{DirectionSpec, HostSpec, Multipath, SizeSpec, Spec, WorkloadSpec};

/// Returns true if the scenario has any random element: only then do replications differ.
pub fn is_random(spec: &Spec) -> bool {
    let links = spec.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let access = spec.groups.iter().filter_map(|group| group.access.as_ref()).flat_map(|access| {
        [&access.source_forward, &access.source_backward, &access.sink_forward, &access.sink_backward]
    });
    links.chain(access).any(random_line)
        || spec.routing.paths != Multipath::One
        || spec.groups.iter().any(|group| {
            group.transport.properties().needs().random
                || !group.spread.is_zero()
                || !group.overhead.is_zero()
                || group.host.as_ref().is_some_and(random_host)
                || random_workload(&group.workload)
        })
}

/// Returns true if a host's latency or preemptions are random.
fn random_host(host: &HostSpec) -> bool {
    host.wake_up_latency_p99 > host.wake_up_latency
        || !(host.preemption.is_zero() || host.preemption_every.is_zero())
}

pub(super) fn random_line(line: &DirectionSpec) -> bool {
    random_packets(line) || line.periodic_variation.is_some() || !line.longest_variation().is_zero()
}

/// Returns true if the impairments or the delay of each packet are random.
pub(super) fn random_packets(line: &DirectionSpec) -> bool {
    let of_each_packet = |variation: &VariationSpec| variation.each == DrawScope::Packet;
    line.queue.is_random()
        || !line.jitter.is_zero()
        || line.variation.as_deref().is_some_and(of_each_packet)
        || line
            .schedule
            .iter()
            .filter_map(|change| change.jitter.as_ref())
            .any(|jitter| !jitter.span.is_zero() || jitter.variation.as_deref().is_some_and(of_each_packet))
        || random_impairment(&line.impairment)
        || line.schedule.iter().filter_map(|change| change.impairment.as_ref()).any(random_impairment)
}

fn random_impairment(impairment: &ImpairmentSpec) -> bool {
    let chance = |p: f64| p > 0.0 && p < 1.0;
    let loss = match impairment.loss {
        LossSpec::None | LossSpec::List(_) | LossSpec::Periodic { .. } => false,
        LossSpec::Uniform { probability } | LossSpec::BitErrors { rate: probability } => chance(probability),
        LossSpec::GilbertElliott { .. } | LossSpec::Correlated { .. } => true,
    };
    loss || chance(impairment.duplicate) || chance(impairment.corrupt) || impairment.reorder.is_some()
}

pub(super) fn random_workload(workload: &WorkloadSpec) -> bool {
    match workload {
        WorkloadSpec::Telnet { .. } | WorkloadSpec::Poisson { .. } => true,
        WorkloadSpec::OnOff { random, shape, .. } => *random || shape.is_some(),
        WorkloadSpec::RequestResponse { response, think, .. } => {
            !think.is_zero() || !matches!(response, SizeSpec::Fixed(_))
        }
        WorkloadSpec::Bulk
        | WorkloadSpec::Transfer(_)
        | WorkloadSpec::Deliver(_)
        | WorkloadSpec::ConstantRate { .. }
        | WorkloadSpec::Rounds { .. }
        | WorkloadSpec::List(_)
        | WorkloadSpec::Trace(_) => false,
    }
}
