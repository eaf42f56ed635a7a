//! Validation of specifications.

use crate::simulation_spec::{GroupSpec, LOWEST_PRIORITY, NodeId, SizeSpec, Spec, WorkloadSpec};
use crate::spec_error::SpecError;
use thalweg_proto::units::{Bytes, Duration};

/// Maximum number of samples in a run; more are taken for a mistake, as they would dominate its time.
const MAX_SAMPLES: u64 = 100_000_000;

/// Checks the assumptions of building and running.
pub(crate) fn check_spec(spec: &Spec) -> Result<(), SpecError> {
    let exists = |node: NodeId| (node.0 as usize) < spec.nodes.len();
    for link in &spec.links {
        if !exists(link.a) || !exists(link.b) {
            return Err(SpecError::NoNode { of: link.name.clone() });
        }
        for direction in [&link.forward, &link.backward] {
            direction.check().map_err(|why| SpecError::Link { of: link.name.clone(), why })?;
            let interval = direction.feedback.and_then(|feedback| feedback.policy.interval());
            if interval.is_some_and(|interval| spec.duration.as_picos() / interval.as_picos() > MAX_SAMPLES) {
                return Err(SpecError::TooMany { what: "intervals of rations", max: MAX_SAMPLES });
            }
        }
    }
    for node in &spec.nodes {
        if let Some(gate) = &node.gate {
            gate.config.check().map_err(|what| SpecError::Zero { of: node.name.clone(), what })?;
        }
    }
    let max = u64::from(crate::components::flow_pausing_gates::NO_GATE);
    if spec.nodes.iter().filter(|node| node.gate.is_some()).count() as u64 >= max {
        return Err(SpecError::TooMany { what: "gates", max });
    }
    if spec.measure.interval.is_some_and(Duration::is_zero) {
        return Err(SpecError::Zero { of: "measure".to_owned(), what: "interval" });
    }
    if let Some(interval) = spec.measure.interval
        && spec.duration.as_picos() / interval.as_picos() > MAX_SAMPLES
    {
        return Err(SpecError::TooMany { what: "samples of each series", max: MAX_SAMPLES });
    }
    let flows: u64 = spec.groups.iter().map(|group| u64::from(group.count)).sum();
    // A flow has up to two connections with two endpoints each.
    let max = u64::from(crate::event_kinds::MAX_ENTITIES) / 4;
    if flows > max {
        return Err(SpecError::TooMany { what: "flows", max });
    }
    for group in &spec.groups {
        if !group.node_pairs().flatten().all(exists) {
            return Err(SpecError::NoNode { of: group.name.clone() });
        }
        if let Some(access) = &group.access {
            for direction in
                [&access.source_forward, &access.source_backward, &access.sink_forward, &access.sink_backward]
            {
                direction.check().map_err(|why| SpecError::Link { of: group.name.clone(), why })?;
                if direction.feedback.is_some() {
                    let why = "only queues of links give feedback, not those of access links".to_owned();
                    return Err(SpecError::Link { of: group.name.clone(), why });
                }
            }
        }
        if let Some(why) = group.host_fault(&spec.nodes) {
            return Err(SpecError::Host { of: group.name.clone(), why });
        }
        check_group(group)?;
    }
    spec.routing_fault().map_or(Ok(()), |(of, why)| Err(SpecError::Routing { of, why }))
}

/// Rejects workloads that write nothing or take no time: they would stall or never let time advance.
fn check_group(group: &GroupSpec) -> Result<(), SpecError> {
    let zero = |what| Err(SpecError::Zero { of: group.name.clone(), what });
    if group.priority == 0 || group.priority > LOWEST_PRIORITY {
        return Err(SpecError::Priority { of: group.name.clone(), found: group.priority });
    }
    if group.transport.properties().segment() == 0 {
        return zero("segment size");
    }
    if let Err(what) = group.transport.properties().check() {
        return zero(what);
    }
    if let Some(why) = group.reading_fault() {
        return Err(SpecError::Reading { of: group.name.clone(), why });
    }
    if let Some(why) = group.misbehaviour_fault() {
        return Err(SpecError::Misbehaviour { of: group.name.clone(), why });
    }
    match &group.workload {
        WorkloadSpec::Bulk => Ok(()),
        WorkloadSpec::Transfer(size) | WorkloadSpec::Deliver(size) if *size == Bytes::ZERO => zero("size"),
        WorkloadSpec::Telnet { packet, .. } | WorkloadSpec::OnOff { packet, .. }
            if *packet == Bytes::ZERO =>
        {
            zero("packet size")
        }
        WorkloadSpec::Telnet { gap, .. } | WorkloadSpec::Poisson { gap, .. } if gap.is_zero() => {
            zero("mean gap")
        }
        WorkloadSpec::OnOff { shape: Some(shape), .. } if !(*shape > 1.0 && shape.is_finite()) => {
            zero("shape less 1")
        }
        WorkloadSpec::Rounds { size, .. } if *size == Bytes::ZERO => zero("size"),
        WorkloadSpec::Rounds { rounds: Some(0), .. } => zero("number of rounds"),
        WorkloadSpec::OnOff { on, off, .. } if on.is_zero() && off.is_zero() => zero("time on"),
        WorkloadSpec::OnOff { rate: Some(rate), .. } | WorkloadSpec::ConstantRate { rate, .. }
            if rate.is_zero() =>
        {
            zero("rate")
        }
        WorkloadSpec::ConstantRate { packet, rate }
        | WorkloadSpec::OnOff { packet, rate: Some(rate), .. }
            if rate.transmission_time(*packet).is_zero() =>
        {
            zero("packet size")
        }
        WorkloadSpec::List(list) if list.all().iter().any(|(_, size)| *size == Bytes::ZERO) => zero("size"),
        WorkloadSpec::RequestResponse { request, .. } if *request == Bytes::ZERO => zero("request size"),
        WorkloadSpec::RequestResponse { response: size, .. } | WorkloadSpec::Poisson { size, .. } => {
            check_size(size).map_or(Ok(()), zero)
        }
        _ => Ok(()),
    }
}

fn check_size(size: &SizeSpec) -> Option<&'static str> {
    match size {
        SizeSpec::Table(points) => SizeSpec::table_fault(points).map(|_| "table of sizes"),
        SizeSpec::Pareto { shape, .. } if *shape <= 0.0 || shape.is_nan() => Some("shape"),
        _ => None,
    }
}
