//! Writes a scenario as one self-contained file: defaults filled in, includes merged, external files inlined.

mod gate;
mod link_direction;
mod queue;
mod router_feedback;
mod scheme;
mod workload;

use super::Scenario;
use super::keys::{Document, Flow, FlowDefaults, Link, Measure, ProcessingTable, Reverse, Routing};
use super::table_declarations::Fields;
use super::toml_writer::{Entries, key, text};
use std::collections::BTreeMap;
use thalweg_catalog::Registry;
use thalweg_proto::units::Time;
use thalweg_sim::simulation_spec::{AccessSpec, GroupSpec, NodeId, Processing, Spec, TransportSpec};

/// Formats the scenario as a self-contained file that parses to the same specification.
pub fn expand(scenario: &Scenario) -> String {
    let (spec, registry) = (&scenario.spec, &*scenario.registry);
    let mut top = Entries::default();
    top.put("title", text(&scenario.title));
    top.put("description", text(&scenario.description));
    Document::write(spec, &mut top);
    let mut out = top.lines();

    let mut measure = Entries::default();
    Measure::write(&spec.measure, &mut measure);
    section(&mut out, "[measure]", &measure);

    let mut routing = Entries::default();
    Routing::write(&spec.routing, &mut routing);
    section(&mut out, "[routing]", &routing);
    for failure in &spec.routing.failures {
        let mut entries = Entries::default();
        let name = spec.links.get(failure.link as usize).map_or("", |link| link.name.as_str());
        entries.put("link", text(name));
        entries.quantity("at", failure.at.since(Time::ZERO));
        if let Some(until) = failure.until {
            entries.quantity("for", until.since(failure.at));
        }
        section(&mut out, "[[failure]]", &entries);
    }
    for node in &spec.nodes {
        let mut entries = Entries::default();
        if node.processing != Processing::default() {
            entries.put("processing", processing(node.processing).inline());
        }
        if let Some(spec) = &node.gate {
            entries.put("gate", gate::gate(spec).inline());
        }
        if entries != Entries::default() {
            section(&mut out, &format!("[node.{}]", key(&node.name)), &entries);
        }
    }
    for link in &spec.links {
        let ends = [link.a, link.b].map(|node| text(&spec.nodes[node.0 as usize].name));
        let (forward, backward) = (
            link_direction::entries(&link.forward, registry),
            link_direction::entries(&link.backward, registry),
        );
        let mut entries = Entries::default();
        entries.put("name", text(&link.name));
        entries.put("between", format!("[{}, {}]", ends[0], ends[1]));
        Link::write(link, &mut entries);
        entries.append(&forward);
        section(&mut out, "[[link]]", &entries);
        if forward != backward || link.reverse_weight.is_some() {
            let mut reverse = Entries::default();
            Reverse::write(link, &mut reverse);
            reverse.append(&backward);
            section(&mut out, "[link.reverse]", &reverse);
        }
    }
    let schemes = schemes(&spec.groups, registry);
    for (name, (_, entries)) in &schemes {
        section(&mut out, &format!("[scheme.{}]", key(name)), entries);
    }
    for group in &spec.groups {
        section(&mut out, "[[flow]]", &flow(spec, group, &schemes, registry));
        if let Some(access) = &group.access {
            sides(&mut out, access, registry);
        }
    }
    out
}

fn section(out: &mut String, header: &str, entries: &Entries) {
    out.push('\n');
    out.push_str(header);
    out.push('\n');
    out.push_str(&entries.lines());
}

/// The scheme tables by name, each with its transport.
type Schemes<'g> = BTreeMap<&'g str, (&'g TransportSpec, Entries)>;

/// Returns one table per scheme name. Of several schemes under one name, the first has the table.
fn schemes<'g>(groups: &'g [GroupSpec], registry: &Registry) -> Schemes<'g> {
    let mut schemes = BTreeMap::new();
    for GroupSpec { transport, .. } in groups {
        schemes
            .entry(transport.scheme.as_str())
            .or_insert_with(|| (transport, scheme::entries(transport, registry)));
    }
    schemes
}

fn flow(spec: &Spec, group: &GroupSpec, schemes: &Schemes<'_>, registry: &Registry) -> Entries {
    let mut entries = Entries::default();
    entries.put("name", text(&group.name));
    let name = |node: NodeId| text(&spec.nodes[node.0 as usize].name);
    let ends = |end: usize| match &group.pairs[..] {
        [] => name([group.from, group.to][end]),
        pairs => {
            let names: Vec<String> = pairs.iter().map(|pair| name(pair[end])).collect();
            format!("[{}]", names.join(", "))
        }
    };
    entries.put("from", ends(0));
    entries.put("to", ends(1));
    let name = group.transport.scheme.as_str();
    let table = schemes.get(name);
    // Fast path: most flows use the scheme of the table unchanged.
    if table.is_some_and(|(of, _)| **of == group.transport) {
        entries.put("scheme", text(name));
    } else {
        let own = scheme::entries(&group.transport, registry);
        if table.is_some_and(|(_, entries)| *entries == own) {
            entries.put("scheme", text(name));
        } else {
            let mut table = Entries::default();
            table.put("name", text(name));
            table.append(&own);
            entries.put("scheme", table.inline());
        }
    }
    entries.put("workload", workload::value(&group.workload));
    entries.put("reading", workload::reading(group.reading.as_deref()));
    let of_pair = GroupSpec { count: group.flows_of_pair(0), ..group.clone() };
    Flow::write(&of_pair, &mut entries);
    FlowDefaults::write(group, &mut entries);
    entries.in_order(Flow::position)
}

fn sides(out: &mut String, access: &AccessSpec, registry: &Registry) {
    for (side, forward, backward, host) in [
        ("source", &access.source_forward, &access.source_backward, access.source_processing),
        ("sink", &access.sink_forward, &access.sink_backward, access.sink_processing),
    ] {
        let (forward, backward) =
            (link_direction::entries(forward, registry), link_direction::entries(backward, registry));
        let mut entries = forward.clone();
        entries.put("processing", processing(host).inline());
        section(out, &format!("[flow.access.{side}]"), &entries);
        if forward != backward {
            section(out, &format!("[flow.access.{side}.reverse]"), &backward);
        }
    }
}

fn processing(cost: Processing) -> Entries {
    let mut entries = Entries::default();
    ProcessingTable::write(&cost, &mut entries);
    entries
}
