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
use super::toml_writer::{Entries, toml_key, toml_string};
use std::collections::BTreeMap;
use thalweg_catalog::Registry;
use thalweg_proto::units::Time;
use thalweg_sim::simulation_spec::{AccessSpec, GroupSpec, NodeId, Processing, Spec, TransportSpec};

/// Formats the scenario as a self-contained file that parses to the same specification.
pub fn expand_scenario(scenario: &Scenario) -> String {
    let (spec, registry) = (&scenario.spec, &*scenario.registry);
    let mut top = Entries::default();
    top.put("title", toml_string(&scenario.title));
    top.put("description", toml_string(&scenario.description));
    Document::write(spec, &mut top);
    let mut out = top.lines();

    let mut measure = Entries::default();
    Measure::write(&spec.measure, &mut measure);
    write_section(&mut out, "[measure]", &measure);

    let mut routing = Entries::default();
    Routing::write(&spec.routing, &mut routing);
    write_section(&mut out, "[routing]", &routing);
    for failure in &spec.routing.failures {
        let mut entries = Entries::default();
        let name = spec.links.get(failure.link as usize).map_or("", |link| link.name.as_str());
        entries.put("link", toml_string(name));
        entries.quantity("at", failure.at.since(Time::ZERO));
        if let Some(until) = failure.until {
            entries.quantity("for", until.since(failure.at));
        }
        write_section(&mut out, "[[failure]]", &entries);
    }
    for node in &spec.nodes {
        let mut entries = Entries::default();
        if node.processing != Processing::default() {
            entries.put("processing", processing_entries(node.processing).inline());
        }
        if let Some(spec) = &node.gate {
            entries.put("gate", gate::gate_entries(spec).inline());
        }
        if entries != Entries::default() {
            write_section(&mut out, &format!("[node.{}]", toml_key(&node.name)), &entries);
        }
    }
    for link in &spec.links {
        let ends = [link.a, link.b].map(|node| toml_string(&spec.nodes[node.0 as usize].name));
        let (forward, backward) = (
            link_direction::direction_entries(&link.forward, registry),
            link_direction::direction_entries(&link.backward, registry),
        );
        let mut entries = Entries::default();
        entries.put("name", toml_string(&link.name));
        entries.put("between", format!("[{}, {}]", ends[0], ends[1]));
        Link::write(link, &mut entries);
        entries.append(&forward);
        write_section(&mut out, "[[link]]", &entries);
        if forward != backward || link.reverse_weight.is_some() {
            let mut reverse = Entries::default();
            Reverse::write(link, &mut reverse);
            reverse.append(&backward);
            write_section(&mut out, "[link.reverse]", &reverse);
        }
    }
    let schemes = scheme_tables(&spec.groups, registry);
    for (name, (_, entries)) in &schemes {
        write_section(&mut out, &format!("[scheme.{}]", toml_key(name)), entries);
    }
    for group in &spec.groups {
        write_section(&mut out, "[[flow]]", &flow_entries(spec, group, &schemes, registry));
        if let Some(access) = &group.access {
            write_access_links(&mut out, access, registry);
        }
    }
    out
}

fn write_section(out: &mut String, header: &str, entries: &Entries) {
    out.push('\n');
    out.push_str(header);
    out.push('\n');
    out.push_str(&entries.lines());
}

/// The scheme tables by name, each with its transport.
type Schemes<'g> = BTreeMap<&'g str, (&'g TransportSpec, Entries)>;

/// Returns one table per scheme name. Of several schemes under one name, the first has the table.
fn scheme_tables<'g>(groups: &'g [GroupSpec], registry: &Registry) -> Schemes<'g> {
    let mut schemes = BTreeMap::new();
    for GroupSpec { transport, .. } in groups {
        schemes
            .entry(transport.scheme.as_str())
            .or_insert_with(|| (transport, scheme::scheme_entries(transport, registry)));
    }
    schemes
}

fn flow_entries(spec: &Spec, group: &GroupSpec, schemes: &Schemes<'_>, registry: &Registry) -> Entries {
    let mut entries = Entries::default();
    entries.put("name", toml_string(&group.name));
    let name = |node: NodeId| toml_string(&spec.nodes[node.0 as usize].name);
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
        entries.put("scheme", toml_string(name));
    } else {
        let own = scheme::scheme_entries(&group.transport, registry);
        if table.is_some_and(|(_, entries)| *entries == own) {
            entries.put("scheme", toml_string(name));
        } else {
            let mut table = Entries::default();
            table.put("name", toml_string(name));
            table.append(&own);
            entries.put("scheme", table.inline());
        }
    }
    entries.put("workload", workload::workload_value(&group.workload));
    entries.put("reading", workload::reading_value(group.reading.as_deref()));
    let of_pair = GroupSpec { count: group.flows_of_pair(0), ..group.clone() };
    Flow::write(&of_pair, &mut entries);
    FlowDefaults::write(group, &mut entries);
    entries.in_order(Flow::position)
}

fn write_access_links(out: &mut String, access: &AccessSpec, registry: &Registry) {
    for (side, forward, backward, host) in [
        ("source", &access.source_forward, &access.source_backward, access.source_processing),
        ("sink", &access.sink_forward, &access.sink_backward, access.sink_processing),
    ] {
        let (forward, backward) = (
            link_direction::direction_entries(forward, registry),
            link_direction::direction_entries(backward, registry),
        );
        let mut entries = forward.clone();
        entries.put("processing", processing_entries(host).inline());
        write_section(out, &format!("[flow.access.{side}]"), &entries);
        if forward != backward {
            write_section(out, &format!("[flow.access.{side}.reverse]"), &backward);
        }
    }
}

fn processing_entries(cost: Processing) -> Entries {
    let mut entries = Entries::default();
    ProcessingTable::write(&cost, &mut entries);
    entries
}
