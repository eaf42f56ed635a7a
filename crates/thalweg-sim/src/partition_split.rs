//! Splitting of a built run into partitions, and merging of the partitions at the end.
//!
//! Identifiers never change. Tables of a partition are as long as those of the whole run, with placeholders for the
//! entries of other partitions: events have the same keys and ties the same order everywhere.

use crate::components::completion_times::TransferList;
use crate::components::connection_endpoint::Endpoint;
use crate::components::connection_ids::opens_connections;
use crate::components::connections::Connections;
use crate::components::event_prefetch::Lookahead;
use crate::components::flow_pausing_gates::{FlowGates, NO_GATE, NodeGate};
use crate::components::flow_state::{Flow, Group, NO_CONNECTION};
use crate::components::flows_and_groups::Traffic;
use crate::components::forwarding_state::Network;
use crate::components::host_processor::Host;
use crate::components::packet_pool::{NONE, PacketPool};
use crate::components::partition_boundary::{Boundary, EndedFlow, MergeKey, Owners, RemoteTransfers};
use crate::components::reading_application::READ_FLAG;
use crate::components::run_end::RunEnd;
use crate::components::transmitter::{PortState, Transmitter};
use crate::event_kinds::{EventKind, MAX_ENTITIES};
use crate::event_loop::EventLoop;
use crate::event_queue::Wheel;
use crate::packet_tracing::Tracing;
use crate::partition::Partitioning;
use crate::run_result::Transfer;
use crate::simulation_spec::{DirectionSpec, Spec};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::ScopedJoinHandle;
use thalweg_proto::units::Time;

/// Unpartitioned state: the whole run without the state of its partitions.
#[derive(Debug)]
pub(crate) struct UnpartitionedState<T: Tracing> {
    event_loop: Box<EventLoop<T>>,
    owners: Arc<Owners>,
    /// Partitions of queues, hosts and gates.
    port_states: Vec<u16>,
    hosts: Vec<u16>,
    gates: Vec<u16>,
}

/// Splits a built run of `spec` that has not started.
pub(crate) fn split_run<T: Tracing + Clone>(
    mut whole: Box<EventLoop<T>>,
    spec: &Spec,
    partitioning: &Partitioning,
) -> (UnpartitionedState<T>, Vec<EventLoop<T>>) {
    let owners = Arc::new(assign_owners(&whole, spec, partitioning));
    let part_of = |link: usize| owners.links[link];
    let mut of_port_states = vec![0; whole.network.port_states.len()];
    for (link, transmitter) in whole.network.transmitters.iter().enumerate() {
        if let Some(port_state) = transmitter.port_state() {
            of_port_states[port_state] = part_of(link);
        }
    }
    let mut of_hosts = vec![0; whole.hosts.len()];
    for ((flow, &source), &sink) in whole.traffic.flows.iter().zip(&owners.sources).zip(&owners.sinks) {
        for (host, part) in flow.hosts.into_iter().zip([source, sink]).filter(|(host, _)| *host != NONE) {
            of_hosts[host as usize] = part;
        }
    }
    let mut of_gates = vec![0; whole.gates.nodes_mut().len()];
    for (&gate, &part) in
        whole.gates.gate_by_link().iter().zip(&owners.links).filter(|(gate, _)| **gate != NO_GATE)
    {
        of_gates[usize::from(gate)] = part;
    }
    let mut has_flows = vec![false; partitioning.parts];
    // Queues with feedback need the flows of their sources.
    let sends_feedback = |line: &DirectionSpec| line.feedback.is_some();
    let lines = spec.links.iter().flat_map(|link| [&link.forward, &link.backward]).zip(&owners.links);
    let feedback_senders = lines.filter(|(line, _)| sends_feedback(line)).map(|(_, part)| part);
    let having = owners.sources.iter().chain(&owners.sinks).chain(feedback_senders);
    having.for_each(|&part| has_flows[usize::from(part)] = true);
    let network = &mut whole.network;
    let port_states = core::mem::take(&mut network.port_states);
    // Third-party queues are not `Sync`, hence not shared among threads.
    let count = port_states.len();
    let stand_ins = at_once(partitioning.parts, |_| (0..count).map(|_| PortState::default()).collect());
    let port_states = place_entries(port_states, &of_port_states, stand_ins);
    let transmitters = core::mem::take(&mut network.transmitters);
    let transmitters =
        distribute_table(transmitters, partitioning.parts, &owners.links, Transmitter::placeholder);
    let mut flows = distribute_table(
        core::mem::take(&mut whole.traffic.flows),
        partitioning.parts,
        &owners.sources,
        Flow::placeholder,
    );
    for flow in owners.split_flows() {
        // Delays are measured at the receiver.
        let [source, sink] = [&owners.sources, &owners.sinks].map(|of| usize::from(of[flow]));
        flows[sink][flow].delay = flows[source][flow].delay.take();
    }
    let hosts =
        distribute_table(core::mem::take(&mut whole.hosts), partitioning.parts, &of_hosts, Host::placeholder);
    let gates = distribute_table(
        core::mem::take(whole.gates.nodes_mut()),
        partitioning.parts,
        &of_gates,
        NodeGate::clone,
    );
    let connections = at_once(partitioning.parts, |part| {
        let count = if has_flows[part] { owners.ends.len() / 2 } else { 0 };
        Connections::new(whole.connections.ids.fresh(), count, count)
    });
    let mut parts: Vec<EventLoop<T>> = Vec::with_capacity(partitioning.parts);
    let tables = port_states.into_iter().zip(transmitters).zip(flows).zip(hosts).zip(gates).zip(connections);
    for (number, (((((port_states, transmitters), flows), hosts), gates), connections)) in (0..).zip(tables) {
        let has_flows = has_flows[usize::from(number)];
        let network = &whole.network;
        parts.push(EventLoop {
            now: Time::ZERO,
            ending: RunEnd::default(),
            seed: whole.seed,
            wheel: Wheel::new(spec.ties),
            network: Network {
                packets: PacketPool::new(),
                transmitters,
                port_states,
                directions: network.directions.clone(),
                speeds: network.speeds.clone(),
                routes: network.routes.clone(),
                ecmp_groups: network.ecmp_groups.clone(),
                names: network.names.clone(),
                changes: network.changes.clone(),
                in_service: BTreeMap::new(),
                out_of_order: BTreeMap::new(),
                out_of_order_count: 0,
                hops: 0,
                dropped: Vec::new(),
                messages: network.messages.clone(),
            },
            connections,
            traffic: Traffic {
                flows: if has_flows { flows } else { Vec::new() },
                groups: whole.traffic.groups.iter().map(Group::fresh).collect(),
                transports: whole.traffic.transports.clone(),
                finished_flows: 0,
            },
            hosts,
            gates: FlowGates::new(gates, whole.gates.gate_by_link().to_vec()),
            measurements: whole.measurements.for_partition(has_flows),
            lookahead: Lookahead::default(),
            boundary: Some(Box::new(Boundary::new(
                number,
                partitioning.parts,
                Arc::clone(&owners),
                T::BUFFERS,
            ))),
            outside: None,
            tracing: whole.tracing.clone(),
        });
    }
    distribute_events(&mut whole, &owners, &mut parts);
    (
        UnpartitionedState {
            event_loop: whole,
            owners,
            port_states: of_port_states,
            hosts: of_hosts,
            gates: of_gates,
        },
        parts,
    )
}

/// Builds an item for each partition, in parallel: tables of many flows otherwise take a second, mostly for memory
/// allocation.
fn at_once<X: Send>(parts: usize, make: impl Fn(usize) -> X + Sync) -> Vec<X> {
    std::thread::scope(|scope| {
        let make = &make;
        let threads: Vec<_> = (0..parts).map(|part| scope.spawn(move || make(part))).collect();
        let made =
            |thread: ScopedJoinHandle<'_, X>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        threads.into_iter().map(made).collect()
    })
}

/// Distributes a table: each partition gets its own entries in place, and placeholders elsewhere.
fn distribute_table<X: Send + Sync>(
    table: Vec<X>,
    parts: usize,
    owners: &[u16],
    placeholder: impl Fn(&X) -> X + Sync,
) -> Vec<Vec<X>> {
    let stand_ins = at_once(parts, |_| table.iter().map(&placeholder).collect());
    place_entries(table, owners, stand_ins)
}

/// Moves each entry of a table into the placeholder at its owner.
fn place_entries<X>(table: Vec<X>, owners: &[u16], mut tables: Vec<Vec<X>>) -> Vec<Vec<X>> {
    for (place, (entry, &owner)) in table.into_iter().zip(owners).enumerate() {
        tables[usize::from(owner)][place] = entry;
    }
    tables
}

/// Reassembles a table; empty tables may be missing.
fn merge_tables<X: Send>(mut tables: Vec<Vec<X>>, owners: &[u16]) -> Vec<X> {
    let base = (0..tables.len()).max_by_key(|&part| tables[part].len()).unwrap_or(0);
    let Some(mut whole) = tables.get_mut(base).map(core::mem::take) else { return Vec::new() };
    for (place, (entry, &owner)) in whole.iter_mut().zip(owners).enumerate() {
        if let Some(own) = tables[usize::from(owner)].get_mut(place) {
            core::mem::swap(entry, own);
        }
    }
    std::thread::scope(|scope| tables.into_iter().for_each(|table| drop(scope.spawn(|| drop(table)))));
    whole
}

/// Returns the owners of all items, and the connection ids, which are those of the whole run.
fn assign_owners<T: Tracing>(whole: &EventLoop<T>, spec: &Spec, partitioning: &Partitioning) -> Owners {
    let mut links = partitioning.links.clone();
    for ((flow, &source), &sink) in
        whole.traffic.flows.iter().zip(&partitioning.sources).zip(&partitioning.sinks)
    {
        // A flow's own links follow those of the previous flow. If its endpoints are in different partitions, it has at
        // most one for control PDUs, owned by the sink, followed by one for the host overhead of the source.
        let group = &spec.groups[flow.group as usize];
        let of_sink = u32::from(group.control_channel.is_some());
        links
            .extend((0..group.private_links_per_flow()).map(|own| if own < of_sink { sink } else { source }));
    }
    let group = |flow: u32| &spec.groups[whole.traffic.flows[flow as usize].group as usize];
    let mut starts: Vec<u32> =
        (0..whole.traffic.flows.len() as u32).filter(|&flow| !opens_connections(group(flow))).collect();
    // Events at time zero are handled in the order of their insertion.
    starts.sort_by_key(|&flow| {
        let start = whole.traffic.flows[flow as usize].start;
        let place = whole.wheel.place_at(start, EventKind::Start.key(flow));
        (start, (start > Time::ZERO).then_some(place), flow)
    });
    let mut numbers = vec![NO_CONNECTION; whole.traffic.flows.len()];
    let (mut of_ends, mut flows) = (Vec::new(), Vec::new());
    for flow in starts {
        numbers[flow as usize] = flows.len() as u32;
        for _ in 0..group(flow).sending_endpoints_per_flow() {
            of_ends.extend([partitioning.sources[flow as usize], partitioning.sinks[flow as usize]]);
            flows.push(flow);
        }
    }
    Owners {
        links,
        sources: partitioning.sources.clone(),
        sinks: partitioning.sinks.clone(),
        ends: of_ends,
        numbers,
        flows,
        opening: whole.connections.ids.fresh(),
    }
}

/// Distributes the initial events.
fn distribute_events<T: Tracing>(whole: &mut EventLoop<T>, owners: &Owners, parts: &mut [EventLoop<T>]) {
    let mut place = 0;
    while let Some((time, key, _)) = whole.wheel.pop() {
        // Events at time zero are in the order of their insertion, across partitions.
        place += 1;
        parts.iter_mut().for_each(|part| part.wheel.set_tie(place));
        let entity = key & (MAX_ENTITIES - 1);
        let part = match EventKind::from_key(key) {
            EventKind::Change => owners.links[whole.network.changes[entity as usize].0 as usize],
            EventKind::Start => {
                let [source, sink] = [&owners.sources, &owners.sinks].map(|of| of[entity as usize]);
                if sink != source {
                    parts[usize::from(sink)].wheel.push(time, key);
                }
                source
            }
            EventKind::Router => owners.links[entity as usize],
            EventKind::Stop => owners.sources[entity as usize],
            EventKind::Application => owners.sources[(entity & !READ_FLAG) as usize],
            _ => {
                // Samples, the end of the warm-up and the end of the run exist in every partition; nothing else is due
                // before the start.
                parts.iter_mut().for_each(|part| part.wheel.push(time, key));
                continue;
            }
        };
        parts[usize::from(part)].wheel.push(time, key);
    }
}

/// Takes a table out of each partition.
fn take_from_each<T: Tracing, X: Default>(
    parts: &mut [EventLoop<T>],
    table: impl Fn(&mut EventLoop<T>) -> &mut X,
) -> Vec<X> {
    parts.iter_mut().map(|part| core::mem::take(table(part))).collect()
}

/// Merges the partitions of a run, all of which must have reached the same time.
pub(crate) fn merge_partitions<T: Tracing>(
    rest: UnpartitionedState<T>,
    mut parts: Vec<EventLoop<T>>,
) -> EventLoop<T> {
    let UnpartitionedState { event_loop: mut whole, owners, port_states, hosts, gates } = rest;
    let network = &mut whole.network;
    network.port_states =
        merge_tables(take_from_each(&mut parts, |part| &mut part.network.port_states), &port_states);
    network.transmitters =
        merge_tables(take_from_each(&mut parts, |part| &mut part.network.transmitters), &owners.links);
    whole.hosts = merge_tables(take_from_each(&mut parts, |part| &mut part.hosts), &hosts);
    *whole.gates.nodes_mut() =
        merge_tables(take_from_each(&mut parts, |part| part.gates.nodes_mut()), &gates);
    let mut sinks = Vec::new();
    for flow in owners.split_flows() {
        let sink = &mut parts[usize::from(owners.sinks[flow])].traffic.flows[flow];
        let placeholder = sink.placeholder();
        sinks.push((flow, core::mem::replace(sink, placeholder)));
    }
    whole.traffic.flows =
        merge_tables(take_from_each(&mut parts, |part| &mut part.traffic.flows), &owners.sources);
    sinks.into_iter().for_each(|(flow, sink)| whole.traffic.flows[flow].add_sink(sink));
    merge_connections(&mut whole, &owners, &mut parts);
    let of_recorders = whole.measurements.series.owners(&owners.sources, &owners.sinks, &owners.links);
    *whole.measurements.series.recorders_mut() = merge_tables(
        take_from_each(&mut parts, |part| part.measurements.series.recorders_mut()),
        &of_recorders,
    );
    whole
        .measurements
        .series
        .merge_visits(&owners.sources, parts.iter_mut().map(|part| &mut part.measurements.series).collect());
    let mut left_out = 0;
    let mut ended_transfers: Vec<(MergeKey, Transfer)> = Vec::new();
    for part in &mut parts {
        let Some(boundary) = &mut part.boundary else { continue };
        let (kept, more) = core::mem::take(&mut part.measurements.transfers).finish();
        left_out += more;
        ended_transfers.extend(core::mem::take(&mut boundary.transfers).into_iter().zip(kept));
        for RemoteTransfers { transfers: kept, left_out: more } in core::mem::take(&mut boundary.far) {
            left_out += more;
            ended_transfers.extend(kept);
        }
        for EndedFlow { connection, moment, is_listed } in core::mem::take(&mut boundary.ended_flows) {
            let transfer = whole.end_near(connection, is_listed);
            ended_transfers.extend(transfer.map(|transfer| (moment, transfer)));
        }
    }
    whole.measurements.transfers = in_order(&whole, ended_transfers, left_out);
    for mut part in parts {
        whole.now = whole.now.max(part.now);
        whole.ending.merge(part.ending);
        whole
            .measurements
            .tally
            .add(&part.measurements.tally, part.boundary.as_ref().map_or(0, |boundary| boundary.doubled));
        whole.network.hops += part.network.hops;
        whole.network.packets.absorb(&part.network.packets);
        whole.network.in_service.append(&mut part.network.in_service);
        whole.measurements.segments.append(&mut part.measurements.segments);
        whole
            .traffic
            .groups
            .iter_mut()
            .zip(&part.traffic.groups)
            .for_each(|(group, of_part)| group.add(of_part));
        let Some(boundary) = part.boundary else { continue };
        for (connection, flow_counts) in boundary.into_flow_counts() {
            let flow = whole.flow_of(connection);
            whole.traffic.flows[flow as usize].counts.add(&flow_counts);
        }
    }
    *whole
}

/// Merges the connections of all partitions and their endpoints: those open from the start, then those opened by each
/// flow.
fn merge_connections<T: Tracing>(whole: &mut EventLoop<T>, owners: &Owners, parts: &mut [EventLoop<T>]) {
    let fixed = owners.ends.len() / 2;
    let mut opened: Vec<_> = parts.iter_mut().map(|part| part.connections.split_off(fixed)).collect();
    let sinks: Vec<u16> = owners.ends.iter().skip(1).step_by(2).copied().collect();
    let (list, endpoints) = whole.connections.tables_mut();
    *list = merge_tables(take_from_each(parts, |part| part.connections.tables_mut().0), &sinks);
    *endpoints = merge_tables(take_from_each(parts, |part| part.connections.tables_mut().1), &owners.ends);
    whole.connections.ids = whole.connections.ids.fresh();
    for (opening_flow_index, &flow) in owners.opening.flows().iter().enumerate() {
        let [source, sink] = [&owners.sources, &owners.sinks].map(|of| usize::from(of[flow as usize]));
        let places =
            [source, sink].map(|part| parts[part].connections.ids.indices(opening_flow_index).to_vec());
        // The source has opened every connection.
        for (turn, &place) in places[0].iter().enumerate() {
            let [sender, receiver] =
                [(source, Some(&place), 0), (sink, places[1].get(turn), 1)].map(|(part, place, end)| {
                    let slot =
                        place.and_then(|&place| opened[part].1.get_mut(2 * (place as usize - fixed) + end));
                    slot.map_or(Endpoint::VACANT, |slot| core::mem::replace(slot, Endpoint::VACANT))
                });
            let mut connection = opened[source].0[place as usize - fixed];
            // The sink knows what has arrived of it, unless its entry is still that of an earlier transfer.
            if let Some(&at) = places[1].get(turn).filter(|_| sender.incarnation == receiver.incarnation) {
                let received = opened[sink].0[at as usize - fixed];
                (connection.delivered, connection.delivered_at) = (received.delivered, received.delivered_at);
            }
            let place = whole.connections.push(connection, [sender, receiver]);
            whole.connections.ids.add(opening_flow_index, place);
        }
    }
}

/// Merges the transfers of all partitions, listed and only counted, in the order of their end.
fn in_order<T: Tracing>(
    whole: &EventLoop<T>,
    mut ended: Vec<(MergeKey, Transfer)>,
    left_out: u64,
) -> TransferList {
    // Items of one event keep their order.
    ended.sort_by_cached_key(|(MergeKey { time, origin, place }, _)| {
        (*time, origin.steps, whole.wheel.place_at(*time, origin.key), *place)
    });
    let mut list = TransferList::default();
    for (_, transfer) in ended {
        list.push(transfer);
    }
    list.count_unlisted(left_out);
    list
}
