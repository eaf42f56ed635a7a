//! Explanation of a scenario as text: its paths, its links and their consequences.

mod routes_and_failures;

use super::keys::FramingName;
use super::lint::{
    estimate_memory, offered_rate_per_flow, queue_capacity_bytes, round_to_four_significant_digits,
    round_to_three_significant_digits,
};
use super::path_properties::{GroupPath, Paths, direction_of_hop, packet_sizes};
use super::speedup_estimate::describe_speedup;
use super::wire_load::{wire_bytes_per_byte, wire_bytes_per_byte_unloaded};
use super::{LoadedScenario, SchemeInUse, is_random};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use thalweg_proto::gate::GateConfig;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_proto::window::Misbehaviour;
use thalweg_queue::feedback::{FeedbackSpec, PolicySpec, Recipients, SeifPolicy};
use thalweg_queue::random_delay::{DrawScope, TimeSpec, VariationSpec};
use thalweg_queue::{AckFilter, EcnTreatment, Limit, LossSpec, TokenBucketSpec};
use thalweg_sim::simulation_spec::{
    DirectionSpec, Framing, GroupSpec, HostSpec, LOWEST_PRIORITY, LinkSpec, ReadingSpec, SizeSpec, Spec,
    WorkloadSpec,
};

/// Explains a scenario.
pub fn explain(loaded: &LoadedScenario) -> String {
    let (scenario, paths) = (&loaded.scenario, &loaded.paths);
    let spec = &scenario.spec;
    let mut out = String::new();
    if !scenario.title.is_empty() {
        let _ = writeln!(out, "{}", scenario.title);
    }
    let chance =
        if is_random(spec) { "" } else { " (nothing is random: every replication gives the same run)" };
    let warmup = if spec.warmup.is_zero() {
        String::new()
    } else {
        format!(", of which the first {} are not counted", spec.warmup)
    };
    let _ = writeln!(out, "Runs {}{warmup}; seed {}{chance}.", spec.duration, spec.seed);
    let _ = writeln!(out, "\nFlows");
    for (number, (group, path)) in spec.groups.iter().zip(&paths.groups).enumerate() {
        let scheme = loaded.schemes.get(&number).map(AsRef::as_ref);
        describe_flow(spec, group, scheme, path.as_ref(), &mut out);
    }
    describe_gates(spec, &mut out);
    let _ = writeln!(out, "\nLinks");
    if spec.links.len() > MAX_LINKS {
        describe_equal_links(spec, paths, &mut out);
    } else {
        for (number, link) in spec.links.iter().enumerate() {
            link_lines(spec, paths, number, link, &mut out);
        }
    }
    routes_and_failures::explain_routing(spec, &mut out);
    let memory = estimate_memory(spec, paths);
    let _ = writeln!(
        out,
        "\nMemory: about {} for the run.",
        round_to_three_significant_digits(Bytes::new(memory.total()))
    );
    let _ = writeln!(out, "Threads (`--threads`): {}.", describe_speedup(spec, [4, 16]));
    out
}

/// Describes the nodes with gates, and the rule of each.
fn describe_gates(spec: &Spec, out: &mut String) {
    if spec.nodes.iter().all(|node| node.gate.is_none()) {
        return;
    }
    let _ = writeln!(out, "\nGates");
    for node in &spec.nodes {
        let Some(gate) = &node.gate else { continue };
        let (what, ageing) = match &gate.config {
            GateConfig::Congestion(config) => {
                let what =
                    format!("under congestion pauses one more priority every {}, lowest first", config.check);
                (what, config.ageing)
            }
            GateConfig::Slots(config) => {
                let turns: Vec<String> =
                    config.slots.iter().map(|&slots| (config.slot * u64::from(slots)).to_string()).collect();
                (format!("one flow at a time, for {} by priority", turns.join(", ")), config.ageing)
            }
        };
        let ageing =
            ageing.after.map_or(String::new(), |after| format!("; a flow that waits for {after} moves up"));
        let timers = if gate.pause.freezes_timer { "are frozen" } else { "keep running" };
        let _ = writeln!(out, "  {}: {what}{ageing}; timers of paused flows {timers}", node.name);
    }
}

fn describe_flow(
    spec: &Spec,
    group: &GroupSpec,
    scheme: Option<&SchemeInUse>,
    path: Option<&GroupPath>,
    out: &mut String,
) {
    let name = |node: thalweg_sim::simulation_spec::NodeId| spec.nodes[node.0 as usize].name.as_str();
    let priority = match group.priority {
        LOWEST_PRIORITY => String::new(),
        priority => format!(", priority {priority}"),
    };
    let count = if group.count == 1 { "1 flow".to_owned() } else { format!("{} flows", group.count) };
    let _ = writeln!(
        out,
        "  {}: {count}, {}, {}{priority}",
        group.name,
        describe_transport(group),
        describe_workload(&group.workload)
    );
    let Some(path) = path else { return };
    if let Some(offered) = offered_rate_per_flow(group) {
        let all = offered.as_f64() * f64::from(group.count);
        let (flows, rate, framing) = path.busiest_direction(spec, group);
        let line = if path.is_single { "the slowest link" } else { "the most loaded link" };
        let payload = offered.as_f64() * flows;
        // Nagle's algorithm and a full link join writes.
        let has_no_nagle = scheme.is_some_and(|of| of.values.optional("nagle") == Some(false));
        let separate = wire_bytes_per_byte_unloaded(group, framing).filter(|_| has_no_nagle);
        let separate = separate.filter(|bytes_per_byte| payload * bytes_per_byte <= rate.as_f64());
        let on_wire = separate.unwrap_or_else(|| wire_bytes_per_byte(group, framing));
        let [share, wire_share] =
            [1.0, on_wire].map(|bytes_per_byte| percent_of(payload * bytes_per_byte, rate));
        let with_headers =
            if wire_share == share { String::new() } else { format!(", {wire_share} % with headers") };
        let _ = writeln!(
            out,
            "    offers {} on average, {share} % of {line}{with_headers}",
            Rate::from_bits_per_sec(all as u64),
        );
    }
    let pairs = group.node_pairs().len();
    if pairs > 1 {
        let note = if path.is_single { "" } else { "; the path with the longest round trip" };
        let _ = writeln!(out, "    between {pairs} pairs of nodes{note}");
    } else if !path.is_single {
        let _ = writeln!(out, "    over several paths, one of which is shown");
    }
    let first = path.forward.first().map_or(group.from, |&hop| {
        let link = &spec.links[hop as usize / 2];
        if hop.is_multiple_of(2) { link.a } else { link.b }
    });
    let mut stops = vec![name(first)];
    for &hop in path.forward.iter() {
        let link = &spec.links[hop as usize / 2];
        stops.push(name(if hop.is_multiple_of(2) { link.b } else { link.a }));
    }
    let own = if group.access.is_some() { ", including access links at both ends" } else { "" };
    let hops = path.forward.len() + if group.access.is_some() { 2 } else { 0 };
    let links = if hops == 1 { "link" } else { "links" };
    let _ = writeln!(out, "    {}: {hops} {links}{own}", list_path_nodes(&stops));
    let reversed = path.forward.iter().rev().map(|hop| hop ^ 1);
    if path.is_single && !path.backward.iter().copied().eq(reversed) {
        let mut stops = vec![name(group.nodes_of_flow(0)[1])];
        stops.extend(path.backward.iter().map(|&hop| {
            let link = &spec.links[hop as usize / 2];
            name(if hop.is_multiple_of(2) { link.b } else { link.a })
        }));
        let links = if path.backward.len() == 1 { "link" } else { "links" };
        let _ =
            writeln!(out, "    reverse path {}: {} {links}", list_path_nodes(&stops), path.backward.len());
    }
    let (packet, _) = packet_sizes(&group.transport);
    let _ = writeln!(
        out,
        "    round trip {} unloaded; slowest {} at {}; bandwidth-delay product {} = {}",
        round_to_four_significant_digits(path.rtt),
        path.bottleneck,
        path.rate,
        round_to_three_significant_digits(path.bdp()),
        format_in_packets(path.bdp(), packet)
    );
    let mut when = format!("starts at {}", group.start);
    if !group.spread.is_zero() {
        let _ = write!(when, ", spread over {}", group.spread);
    }
    if !group.stagger.is_zero() {
        let _ = write!(when, ", one every {}", group.stagger);
    }
    if let Some(stop) = group.stop {
        let _ = write!(when, ", stops at {stop}");
    }
    if !group.overhead.is_zero() {
        let _ = write!(when, "; host overhead up to {} per packet", group.overhead);
    }
    if let Some(delay) = group.control_channel {
        let _ = write!(when, "; acknowledgements return out of band after {delay}");
    }
    let _ = writeln!(out, "    {when}");
    if let Some(host) = &group.host {
        let _ = writeln!(out, "    {}", describe_hosts(host));
    }
    if let Some(spec) = &group.reading {
        let _ = writeln!(out, "    {}", describe_reading(spec));
    }
    if let Some(how) = group.misbehaviour {
        let _ = writeln!(out, "    misbehaving receivers: {}", describe_misbehaviour(how));
    }
}

fn describe_misbehaviour(how: Misbehaviour) -> &'static str {
    match how {
        Misbehaviour::DividesAcks => "they acknowledge each segment eight times, in parts",
        Misbehaviour::RepeatsAcks => "they acknowledge each segment four times",
        Misbehaviour::ConcealsLoss => "they acknowledge missing segments, and never deliver them",
        Misbehaviour::Optimistic => {
            "they acknowledge missing segments, and eight segments that have not arrived yet"
        }
        Misbehaviour::ConcealsMarks => "they do not echo congestion marks",
    }
}

/// Describes the transport. The segment of a window scheme is a maximum that smaller writes do not reach.
fn describe_transport(group: &GroupSpec) -> String {
    let (description, segment) = (group.transport.description(), group.transport.properties().segment());
    match write_size(&group.workload) {
        Some(size) if size.get() < u64::from(segment) => description
            .replace(&format!(", segments of {segment} B"), &format!(", segments of up to {segment} B")),
        _ => description,
    }
}

/// Returns the largest size of the writes of an application, if all have a fixed size.
fn write_size(workload: &WorkloadSpec) -> Option<Bytes> {
    match workload {
        WorkloadSpec::Transfer(size)
        | WorkloadSpec::Rounds { size, .. }
        | WorkloadSpec::Poisson { size: SizeSpec::Fixed(size), .. } => Some(*size),
        WorkloadSpec::Telnet { packet, .. }
        | WorkloadSpec::ConstantRate { packet, .. }
        | WorkloadSpec::OnOff { packet, rate: Some(_), .. } => Some(*packet),
        WorkloadSpec::RequestResponse { request, response: SizeSpec::Fixed(response), .. } => {
            Some(*request.max(response))
        }
        _ => None,
    }
}

fn describe_workload(workload: &WorkloadSpec) -> String {
    match workload {
        WorkloadSpec::Bulk => "always more to send".to_owned(),
        WorkloadSpec::Transfer(size) => format!("{size} to send"),
        WorkloadSpec::Deliver(size) => format!("sends until {size} have arrived"),
        WorkloadSpec::Telnet { packet, gap } => format!("{packet} with gaps of {gap} on average"),
        WorkloadSpec::Rounds { size, rounds, think } => {
            let rounds = rounds.map_or_else(String::new, |rounds| format!("{rounds} "));
            format!("{rounds}rounds of {size} from each flow, {think} apart")
        }
        WorkloadSpec::OnOff { on, off, rate, packet, random, shape } => {
            let rate =
                rate.map_or_else(|| "all it can".to_owned(), |rate| format!("{rate} in writes of {packet}"));
            let mean = match shape {
                Some(shape) => format!(" on average (Pareto of shape {shape})"),
                None if *random => " on average".to_owned(),
                None => String::new(),
            };
            format!("{rate} for {on}, silent for {off}{mean}")
        }
        WorkloadSpec::ConstantRate { rate, packet } => format!("{rate} in writes of {packet}"),
        WorkloadSpec::Poisson { gap, size } => {
            format!("transfers of {}, {gap} apart on average", describe_sizes(size))
        }
        WorkloadSpec::RequestResponse { request, response, think } => {
            format!("requests of {request}, responses of {}, think time {think}", describe_sizes(response))
        }
        WorkloadSpec::List(list) => {
            let bytes = list.all().iter().fold(0u64, |sum, (_, size)| sum.saturating_add(size.get()));
            let bytes = Bytes::new(bytes);
            let last = list.all().iter().map(|(at, _)| *at).max().unwrap_or_default();
            format!("{} transfers from a list, {bytes} in all, the last after {last}", list.all().len())
        }
        WorkloadSpec::Trace(writes) => format!("{} recorded writes", writes.len()),
    }
}

/// Describes the hosts of a group.
fn describe_hosts(host: &HostSpec) -> String {
    let mut text = format!(
        "hosts: wake-up latency {} (p99 {}), {} per system call, {} per packet and {} per byte",
        host.wake_up_latency, host.wake_up_latency_p99, host.call, host.packet_cost, host.byte_cost
    );
    if !host.preemption.is_zero() {
        let _ = write!(text, ", preempted for {} every {}", host.preemption, host.preemption_every);
    }
    text
}

fn describe_reading(spec: &ReadingSpec) -> String {
    let rate = |rate: Rate| match rate {
        Rate::MAX => "at once".to_owned(),
        Rate::ZERO => "nothing".to_owned(),
        rate => format!("at {rate}"),
    };
    let mut text = format!("the sink reads {}", rate(spec.rate));
    for change in &spec.changes {
        let described = if change.announced { " (announced)" } else { "" };
        let _ = write!(text, ", from {} {}{described}", change.at, rate(change.rate));
    }
    text
}

fn describe_sizes(size: &SizeSpec) -> String {
    match size {
        SizeSpec::Fixed(size) => size.to_string(),
        SizeSpec::Exponential { mean } => format!("{mean} on average (exponential)"),
        SizeSpec::Pareto { min, shape, max } => format!("{min} to {max} (Pareto, shape {shape})"),
        SizeSpec::LogNormal { median, sigma } => {
            format!("median {median} (log-normal, sigma {sigma})")
        }
        SizeSpec::Uniform { min, max } => format!("{min} to {max} (uniform)"),
        SizeSpec::Table(points) => {
            let mean = Bytes::new(size.mean() as u64);
            let [low, high] = [points.first(), points.last()].map(|at| at.map_or(Bytes::ZERO, |at| at.0));
            format!("{low} to {high}, {mean} on average (a table)")
        }
    }
}

/// Lists the nodes of a path; of a long one only the ends.
fn list_path_nodes(stops: &[&str]) -> String {
    const MAX_LISTED_NODES: usize = 12;
    match stops {
        [first @ .., _, _] if stops.len() > MAX_LISTED_NODES => {
            format!(
                "{} -> ... -> {}",
                first[..MAX_LISTED_NODES - 2].join(" -> "),
                stops[stops.len() - 2..].join(" -> ")
            )
        }
        _ => stops.join(" -> "),
    }
}

/// Describes a random delay.
fn describe_variation(variation: &VariationSpec) -> String {
    let max_text = |max: &Option<Duration>| max.map_or_else(String::new, |max| format!(", {max} at most"));
    let (time, kind) = match &variation.distribution {
        TimeSpec::Uniform { min, max } => (format!("{min} to {max}"), "uniform".to_owned()),
        TimeSpec::Exponential { mean, max } => {
            (format!("{mean} on average"), format!("exponential{}", max_text(max)))
        }
        TimeSpec::Normal { mean, deviation, max } => {
            (format!("{mean} on average"), format!("normal, deviation {deviation}{}", max_text(max)))
        }
        TimeSpec::LogNormal { median, sigma, max } => {
            (format!("median {median}"), format!("log-normal, sigma {sigma}{}", max_text(max)))
        }
        TimeSpec::Pareto { min, shape, max } => {
            (format!("{min} or more"), format!("Pareto, shape {shape}{}", max_text(max)))
        }
        TimeSpec::Wifi { average } => (format!("average {average}"), "Wi-Fi".to_owned()),
        TimeSpec::Quantiles(times) => {
            let end = |time: Option<&Duration>| time.copied().unwrap_or_default();
            (format!("{} to {}", end(times.first()), end(times.last())), "measured".to_owned())
        }
    };
    let each = match (variation.each, variation.keeps_order) {
        (DrawScope::Flow, _) => "for each flow",
        (DrawScope::Packet, true) => "for each packet, in order",
        (DrawScope::Packet, false) => "for each packet, in any order",
    };
    format!("{time} ({kind}, {each})")
}

fn link_lines(spec: &Spec, paths: &Paths, number: usize, link: &LinkSpec, out: &mut String) {
    let ends = [link.a, link.b].map(|node| spec.nodes[node.0 as usize].name.as_str());
    // Of equal directions that with data is described.
    let is_reversed = link.forward == link.backward
        && !paths.carries_data(number, false)
        && paths.carries_data(number, true);
    let there = describe_direction(spec, paths, number, is_reversed);
    let _ = writeln!(out, "  {} ({} - {}): {there}", link.name, ends[0], ends[1]);
    if link.forward != link.backward {
        let _ = writeln!(out, "    reverse: {}", describe_direction(spec, paths, number, true));
    }
}

/// Maximum number of links described individually; in larger networks links with equal descriptions are grouped.
const MAX_LINKS: usize = 64;

/// Describes the links of a large network, grouped by equal descriptions.
fn describe_equal_links(spec: &Spec, paths: &Paths, out: &mut String) {
    let mut described: Vec<(String, String, usize)> = Vec::new();
    let mut place: BTreeMap<String, usize> = BTreeMap::new();
    for (number, link) in spec.links.iter().enumerate() {
        let mut lines = describe_direction(spec, paths, number, false);
        let back = describe_direction(spec, paths, number, true);
        if back != lines {
            let _ = write!(lines, "\n    reverse: {back}");
        }
        let at = *place.entry(lines.clone()).or_insert(described.len());
        match described.get_mut(at) {
            Some((.., count)) => *count += 1,
            None => described.push((link.name.clone(), lines, 1)),
        }
    }
    let kinds = described.len();
    for (name, lines, count) in described.into_iter().take(MAX_LINKS) {
        let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        let _ = writeln!(out, "  {name}{more}: {lines}");
    }
    if kinds > MAX_LINKS {
        let _ = writeln!(out, "  ... and {} more kinds", kinds - MAX_LINKS);
    }
}

fn describe_direction(spec: &Spec, paths: &Paths, number: usize, back: bool) -> String {
    let line = direction_of_hop(spec, u32::try_from(number * 2 + usize::from(back)).unwrap_or(0));
    let mut text = match &line.capacity {
        Some(trace) => format!("a trace of {} with {} on average", trace.period, line.rate),
        None => line.rate.to_string(),
    };
    let _ = write!(text, ", {}", line.delay);
    if !line.jitter.is_zero() {
        let _ = write!(text, " and up to {} more", line.jitter);
    }
    if let Some(variation) = &line.variation {
        let _ = write!(text, " and at random {}", describe_variation(variation));
    }
    let _ = write!(text, "{}", describe_other_effects(line));
    if line.framing != Framing::None {
        let _ = write!(text, ", in frames \"{}\"", FramingName(line.framing).word());
    }
    let packet = paths.largest_packet(number, back);
    // Parameters end with commas of their own: "Blue queue, freeze time 50 ms of 102 kB" would misread.
    let kind = line.queue.description();
    let of = if kind.contains(',') { ", capacity" } else { " of" };
    let bdp = paths.link_bdp(spec, number, back);
    match queue_capacity_bytes(&line.queue, packet.max(1)) {
        None => {
            let _ = write!(text, "; unlimited {kind}");
        }
        // Without data there is no packet size to convert by.
        Some(_) if !paths.carries_data(number, back) => {
            let size = match line.queue.limit() {
                Limit::Packets(packets) => format!("{packets} packets"),
                Limit::Bytes(bytes) => round_to_three_significant_digits(Bytes::new(bytes)).to_string(),
                Limit::Unlimited => String::new(),
            };
            let by = if packet > 0 { "acknowledgements only" } else { "no flow" };
            let _ = write!(text, "; {kind}{of} {size}, used by {by}");
        }
        Some(size) => {
            let _ = write!(
                text,
                "; {kind}{of} {} = {} = {:.2} bandwidth-delay products ({}), {} when full",
                round_to_three_significant_digits(size),
                format_in_packets(size, packet),
                size.get() as f64 / bdp.get().max(1) as f64,
                round_to_three_significant_digits(bdp),
                round_to_four_significant_digits(line.nominal_rate().transmission_time(size))
            );
        }
    }
    if let Some(feedback) = &line.feedback {
        let _ = write!(text, "; {}", describe_feedback(feedback));
    }
    match &line.impairment.loss {
        LossSpec::None => {}
        LossSpec::Uniform { probability } => {
            // Rounding: 100 times 0.07 is not 7 in floating point.
            let _ = write!(text, "; loses {} %", (probability * 1e10).round() / 1e8);
        }
        LossSpec::GilbertElliott { .. } => text.push_str("; loses packets in bursts"),
        LossSpec::Correlated { probability, correlation } => {
            let percent = |share: &f64| (share * 1e10).round() / 1e8;
            let _ = write!(
                text,
                "; loses {} % of packets, with correlation {} %",
                percent(probability),
                percent(correlation)
            );
        }
        LossSpec::Periodic { every } => {
            let _ = write!(text, "; loses one packet in {every}");
        }
        LossSpec::BitErrors { rate } => {
            let _ = write!(text, "; bit error rate {rate:e}");
        }
        LossSpec::List(packets) => {
            let _ = write!(text, "; loses {} listed packets", packets.len());
        }
    }
    if !line.schedule.is_empty() {
        let _ = write!(text, "; {} scheduled changes", line.schedule.len());
    }
    text
}

/// Describes the shaper of a link direction, and other effects on its rate and delay.
fn describe_other_effects(line: &DirectionSpec) -> String {
    let mut text = String::new();
    if let Some(TokenBucketSpec { rate, burst }) = line.start_delay.shaper {
        let _ = write!(text, ", shaped to {rate} after bursts of {burst}");
    }
    for state in line.start_delay.sleep.iter() {
        let _ = write!(text, ", {} to wake up after {} of idleness", state.wake, state.idle_time);
    }
    if let Some(batch) = line.aggregation {
        let max = batch.packets.map_or_else(String::new, |packets| format!(" of up to {packets} packets"));
        let _ = write!(text, ", in batches{max} every {}", batch.every);
        if let Some(rate) = line.rate_of_full_batches().filter(|&rate| rate < line.rate) {
            let _ = write!(text, " ({rate} of full-sized packets)");
        }
    }
    if let Some(periodic_variation) = line.periodic_variation {
        let _ = write!(text, ", a new rate and delay every {}", periodic_variation.every);
    }
    if line.ecn != EcnTreatment::Kept {
        let _ = write!(text, ", ECN \"{}\"", line.ecn.name());
    }
    match line.ack_filter {
        AckFilter::None => {}
        AckFilter::Conservative => text += ", ACKs filtered",
        AckFilter::Newest => text += ", only the newest ACK of each flow",
    }
    text
}

/// Describes a router's feedback to sources.
fn describe_feedback(feedback: &FeedbackSpec) -> String {
    let whom = match feedback.recipients {
        Recipients::Capable => "",
        Recipients::All => " of all flows",
    };
    let percent =
        |share: f64| format!("{:.3}", share * 100.0).trim_end_matches('0').trim_end_matches('.').to_owned();
    let size = feedback.message_bytes;
    match &feedback.policy {
        PolicySpec::Seif(spec) => {
            let when = match spec.policy {
                SeifPolicy::Static => format!("above {} % occupancy", percent(spec.threshold_share)),
                SeifPolicy::Reacting => "at a drop".to_owned(),
                SeifPolicy::Dynamic { alpha, response_time: response, .. } => {
                    format!(
                        "when more than {alpha} of the free space arrives within {}",
                        round_to_four_significant_digits(response)
                    )
                }
            };
            let again = match (spec.filter, spec.policy) {
                (false, _) => ", each time".to_owned(),
                (true, SeifPolicy::Dynamic { .. }) => ", again after that has ended".to_owned(),
                (true, _) => format!(", again after it was below {} %", percent(spec.threshold_share)),
            };
            let reach = spec.max_links.map_or_else(String::new, |reach| format!(" within {reach} links"));
            let mark = if spec.mark { ", unless another router has done so" } else { "" };
            format!("seif: warns the sources{whom}{reach} {when}{again}{mark}; messages of {size} B")
        }
        PolicySpec::SourceQuench(spec) if spec.on_drop => {
            format!("source-quench: answers drops{whom}; messages of {size} B")
        }
        PolicySpec::SourceQuench(spec) => {
            format!(
                "source-quench: answers packets{whom} from {} % occupancy on; messages of {size} B",
                percent(spec.threshold_share)
            )
        }
        PolicySpec::DecBit(spec) => {
            format!(
                "dec-bit: marks queued packets{whom} while the average queue exceeds {}",
                spec.threshold_packets
            )
        }
        PolicySpec::Rations(spec) => {
            let target = percent(spec.target);
            format!(
                "bbn: grants the sources{whom} {target} % of the link rate every {}; messages of {size} B",
                spec.interval
            )
        }
    }
}

/// Formats a load in percent of a rate, to three digits.
fn percent_of(load: f64, rate: Rate) -> String {
    let percent = load / rate.as_f64().max(1.0) * 100.0;
    if percent < 10.0 { format!("{percent:.2}") } else { format!("{percent:.0}") }
}

/// Formats an amount in packets.
fn format_in_packets(size: Bytes, packet: u32) -> String {
    let packets = size.get() as f64 / f64::from(packet);
    let digits = usize::from(packets < 100.0);
    format!("{packets:.digits$} packets of {packet} B")
}

#[cfg(test)]
mod tests {
    use crate::load_text;
    use std::path::Path;

    /// The capacity is not read as a part of the last parameter.
    #[test]
    fn a_capacity_is_apart_from_the_parameters_of_a_queue() {
        for (queue, expected) in [
            ("\"50 pkt\"", "10 ms; queue of 75 kB = 50.0 packets"),
            (
                "{ discipline = \"codel\", capacity = \"50 pkt\", target = \"7 ms\" }",
                "10 ms; CoDel queue, target 7 ms, capacity 75 kB = 50.0 packets",
            ),
        ] {
            let text = format!(
                "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = {queue}\n\
                 [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubic\"\n"
            );
            let explanation = load_text("queue.toml", &text, Path::new(""), &[]).unwrap().explain();
            let unwrapped = explanation.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(unwrapped.contains(expected), "{explanation}");
        }
    }

    /// 40 bytes of payload are 68 on the wire.
    #[test]
    fn a_load_of_small_packets_has_its_share_with_headers() {
        let explanation = |packet: &str| {
            let text = format!(
                "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
                 [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"udp\"\ncount = 100\n\
                 workload = {{ kind = \"cbr\", rate = \"64 kbit/s\", packet = \"{packet}\" }}\n"
            );
            load_text("load.toml", &text, Path::new(""), &[]).unwrap().explain()
        };
        let small = explanation("40 B");
        let expected = "offers 6.4 Mbit/s on average, 64 % of the slowest link, 109 % with headers\n";
        assert!(small.contains(expected), "{small}");
        let large = explanation("60000 B");
        assert!(large.contains("64 % of the slowest link, 65 % with headers\n"), "{large}");
    }

    /// Writes below a segment leave in packets of their own: 64 bytes of payload are 116 on the wire.
    #[test]
    fn small_writes_are_not_called_full_segments() {
        let explanation = |workload: &str, nagle: bool| {
            let text = format!(
                "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
                 [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubic:nagle={nagle}\"\n\
                 workload = {{ {workload} }}\n"
            );
            let explanation = load_text("writes.toml", &text, Path::new(""), &[]).unwrap().explain();
            explanation.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let on_off = "kind = \"on-off\", on = \"1 s\", off = \"1 s\", rate = \"1 Mbit/s\", packet = \"64 B\"";
        let expected = "segments of up to 1448 B, 1 Mbit/s in writes of 64 B for 1 s, silent for 1 s offers 500 kbit/s on \
                        average, 5.00 % of the slowest link, 9.06 % with headers";
        assert!(explanation(on_off, false).contains(expected), "{}", explanation(on_off, false));
        // Writes that wait for acknowledgements are joined.
        assert!(explanation(on_off, true).contains(", 5.18 % with headers"), "{}", explanation(on_off, true));
        let overload = "kind = \"cbr\", rate = \"9 Mbit/s\", packet = \"64 B\"";
        assert!(
            explanation(overload, false).contains(", 93 % with headers"),
            "{}",
            explanation(overload, false)
        );
        for large in
            ["kind = \"transfer\", size = \"1 MB\"", "kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"2 kB\""]
        {
            assert!(
                explanation(large, false).contains(", segments of 1448 B,"),
                "{}",
                explanation(large, false)
            );
        }
    }

    /// Links without data have no packet size: capacities keep their unit. Of equal directions that with data is described.
    #[test]
    fn capacities_of_links_without_data_are_not_converted() {
        let red = "{ discipline = \"red\", capacity = \"100 pkt\", min-threshold = \"5 pkt\", max-threshold = \"15 pkt\" }";
        let link = |ends: &str, queue: &str| {
            format!("[[link]]\nbetween = [{ends}]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {queue}\n")
        };
        let text = [
            link("\"b\", \"a\"", "\"100 pkt\""),
            link("\"b\", \"c\"", "\"90 pkt\""),
            link("\"b\", \"d\"", red),
            "[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubic\"\n".to_owned(),
        ];
        let explanation = load_text("queue.toml", &text.concat(), Path::new(""), &[]).unwrap().explain();
        let unwrapped = explanation.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "queue of 150 kB = 100 packets of 1500 B",
            "queue of 90 packets, used by no flow",
            "capacity 100 packets, used by no flow",
        ] {
            assert!(unwrapped.contains(expected), "{expected}: {explanation}");
        }
        assert!(!unwrapped.contains("acknowledgements only"), "{explanation}");
    }
}
