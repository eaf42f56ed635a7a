//! A scenario in words: its paths, links and what follows from them.

use super::lint::{about, bytes, memory};
use super::path::{GroupPath, Paths, direction, nominal_rate, packet_sizes};
use super::{Loaded, is_random};
use std::fmt::Write as _;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_queue::{DisciplineSpec, LossSpec};
use thalweg_sim::spec::{GroupSpec, LinkSpec, SizeSpec, Spec, TransportSpec, WorkloadSpec};

/// Explains a scenario.
pub fn explain(loaded: &Loaded) -> String {
    let (scenario, paths) = (&loaded.scenario, &loaded.paths);
    let spec = &scenario.spec;
    let mut out = String::new();
    if !scenario.title.is_empty() {
        let _ = writeln!(out, "{}", scenario.title);
    }
    let chance = if is_random(spec) { "" } else { " (nothing is random: every seed gives the same run)" };
    let warmup = if spec.warmup.is_zero() {
        String::new()
    } else {
        format!(", of which the first {} are not counted", spec.warmup)
    };
    let _ = writeln!(out, "Runs {}{warmup}; seed {}{chance}.", spec.duration, spec.seed);
    let _ = writeln!(out, "\nFlows");
    for (group, path) in spec.groups.iter().zip(&paths.groups) {
        flow(spec, group, path.as_ref(), &mut out);
    }
    let _ = writeln!(out, "\nLinks");
    for (number, link) in spec.links.iter().enumerate() {
        link_lines(spec, paths, number, link, &mut out);
    }
    let memory = memory(spec, paths);
    let _ = writeln!(out, "\nMemory: about {} for the run.", about(Bytes::new(memory.total())));
    out
}

fn flow(spec: &Spec, group: &GroupSpec, path: Option<&GroupPath>, out: &mut String) {
    let name = |node: thalweg_sim::spec::NodeId| spec.nodes[node.0 as usize].name.as_str();
    let count = if group.count == 1 { "1 flow".to_owned() } else { format!("{} flows", group.count) };
    let _ = writeln!(
        out,
        "  {}: {count}, {}, {}",
        group.name,
        scheme(&group.transport),
        workload(&group.workload)
    );
    let Some(path) = path else { return };
    let mut stops = vec![name(group.from)];
    for &hop in path.forward.iter() {
        let link = &spec.links[hop as usize / 2];
        stops.push(name(if hop.is_multiple_of(2) { link.b } else { link.a }));
    }
    let own = if group.access.is_some() { ", with hosts of their own at both ends" } else { "" };
    let hops = path.forward.len() + if group.access.is_some() { 2 } else { 0 };
    let links = if hops == 1 { "link" } else { "links" };
    let _ = writeln!(out, "    {}: {hops} {links}{own}", stops.join(" -> "));
    let (packet, _) = packet_sizes(&group.transport);
    let _ = writeln!(
        out,
        "    round trip {} unloaded; slowest {} at {}; bandwidth-delay product {} = {}",
        rounded(path.rtt),
        path.bottleneck,
        path.rate,
        about(path.bdp()),
        packets(path.bdp(), packet)
    );
    let mut when = format!("starts at {}", group.start);
    if !group.spread.is_zero() {
        let _ = write!(when, ", spread over {}", group.spread);
    }
    if !group.stagger.is_zero() {
        let _ = write!(when, ", each {} after the one before", group.stagger);
    }
    if let Some(stop) = group.stop {
        let _ = write!(when, ", stops at {stop}");
    }
    if let Some(delay) = group.control_channel {
        let _ = write!(when, "; acknowledgements come back out of band in {delay}");
    }
    let _ = writeln!(out, "    {when}");
}

fn scheme(transport: &TransportSpec) -> String {
    match transport {
        TransportSpec::Window { scheme, sender, .. } => format!("{scheme}, segments of {} B", sender.segment),
        TransportSpec::AdaptiveAck { scheme, config, .. } => format!(
            "{scheme}, {} packets of {} B, reports every {} and {} after losses",
            config.window, config.segment, config.normal, config.error
        ),
        TransportSpec::Sstp { scheme, sender, receiver, .. } => format!(
            "{scheme}, segments of {} packets of {} B at {}, a window of {} segments, room for {}",
            sender.segment,
            sender.packet,
            sender.rate.average(),
            receiver.window,
            receiver.buffer
        ),
        TransportSpec::Datagram { scheme, rate, .. } => {
            rate.map_or_else(|| scheme.clone(), |rate| format!("{scheme} at most at {rate}"))
        }
    }
}

fn workload(workload: &WorkloadSpec) -> String {
    match workload {
        WorkloadSpec::Bulk => "always more to send".to_owned(),
        WorkloadSpec::Transfer(size) => format!("{size} to send"),
        WorkloadSpec::Telnet { packet, gap } => format!("{packet} with gaps of {gap} on average"),
        WorkloadSpec::OnOff { on, off, rate, random, .. } => {
            let rate = rate.map_or_else(|| "all it can".to_owned(), |rate| rate.to_string());
            let mean = if *random { " on average" } else { "" };
            format!("{rate} for {on}, silent for {off}{mean}")
        }
        WorkloadSpec::ConstantRate { rate, packet } => format!("{rate} in writes of {packet}"),
        WorkloadSpec::Poisson { gap, size } => {
            format!("transfers of {}, {gap} apart on average", sizes(size))
        }
        WorkloadSpec::RequestResponse { request, response, think } => {
            format!("requests of {request}, answers of {}, {think} to think", sizes(response))
        }
        WorkloadSpec::Trace(writes) => format!("{} recorded writes", writes.len()),
    }
}

fn sizes(size: &SizeSpec) -> String {
    match size {
        SizeSpec::Fixed(size) => size.to_string(),
        SizeSpec::Exponential { mean } => format!("{mean} on average (exponential)"),
        SizeSpec::Pareto { min, shape, max } => format!("{min} to {max} (Pareto, shape {shape})"),
        SizeSpec::LogNormal { median, sigma } => {
            format!("{median} in the middle (log-normal, sigma {sigma})")
        }
        SizeSpec::Uniform { min, max } => format!("{min} to {max} (uniform)"),
    }
}

fn link_lines(spec: &Spec, paths: &Paths, number: usize, link: &LinkSpec, out: &mut String) {
    let ends = [link.a, link.b].map(|node| spec.nodes[node.0 as usize].name.as_str());
    let there = line(spec, paths, number, false);
    let _ = writeln!(out, "  {} ({} - {}): {there}", link.name, ends[0], ends[1]);
    // Plain data: what prints alike is alike.
    if format!("{:?}", link.forward) != format!("{:?}", link.backward) {
        let _ = writeln!(out, "    back: {}", line(spec, paths, number, true));
    }
}

fn line(spec: &Spec, paths: &Paths, number: usize, back: bool) -> String {
    let line = direction(spec, u32::try_from(number * 2 + usize::from(back)).unwrap_or(0));
    let mut text = match &line.capacity {
        Some(trace) => format!("a trace of {} with {} on average", trace.period, line.rate),
        None => line.rate.to_string(),
    };
    let _ = write!(text, ", {}", line.delay);
    let packet = paths.largest_packet(number, back);
    let kind = match line.queue {
        DisciplineSpec::Fcfs { .. } => "queue",
        DisciplineSpec::RandomDrop { .. } => "random-drop queue",
    };
    let bdp = paths.link_bdp(spec, number, back);
    match bytes(&line.queue, packet.max(1)) {
        None => text.push_str("; unlimited queue"),
        Some(size) if packet == 0 => {
            let _ = write!(text, "; {kind} of {size}, crossed by no flow");
        }
        Some(size) => {
            let _ = write!(
                text,
                "; {kind} of {} = {} = {:.2} bandwidth-delay products ({}), {} when full",
                about(size),
                packets(size, packet),
                size.get() as f64 / bdp.get().max(1) as f64,
                about(bdp),
                rounded(nominal_rate(line).transmission_time(size))
            );
        }
    }
    match &line.impairment.loss {
        LossSpec::None => {}
        LossSpec::Uniform { probability } => {
            let _ = write!(text, "; loses {} %", probability * 100.0);
        }
        LossSpec::GilbertElliott { .. } => text.push_str("; loses packets in bursts"),
        LossSpec::List(packets) => {
            let _ = write!(text, "; loses {} packets of a list", packets.len());
        }
    }
    if !line.schedule.is_empty() {
        let _ = write!(text, "; {} changes on the way", line.schedule.len());
    }
    text
}

/// An amount in packets.
fn packets(size: Bytes, packet: u32) -> String {
    let packets = size.get() as f64 / f64::from(packet);
    let digits = usize::from(packets < 100.0);
    format!("{packets:.digits$} packets of {packet} B")
}

/// A time to four digits.
fn rounded(time: Duration) -> Duration {
    let mut unit = 1;
    while time.as_picos() / unit >= 10_000 {
        unit *= 10;
    }
    Duration::from_picos(time.as_picos().saturating_add(unit / 2) / unit * unit)
}
