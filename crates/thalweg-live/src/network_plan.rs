//! Mapping from a scenario to a live network of hosts and routers, and the errors where none exists.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::PauseConfig;
use thalweg_queue::feedback::{OverheadControl, PolicySpec};
use thalweg_sim::simulation_spec::{
    AccessSpec, DirectionSpec, GroupSpec, LinkSpec, Match, Multipath, NodeId, NodeSpec, Spec,
};

/// Host or router of a live network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name usable by programs.
    pub name: String,
    /// IPv4 and IPv6 addresses.
    pub addresses: [IpAddr; 2],
    /// True for a host that runs programs; other nodes only forward.
    pub is_host: bool,
    /// Largest packet that its links accept, in bytes.
    pub mtu: u32,
}

/// Plan of a live network.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nodes and links, access links included, without traffic.
    pub spec: Spec,
    /// Nodes, in the order of `spec`.
    pub nodes: Vec<Node>,
    /// MTU of each link, in bytes.
    pub mtus: Vec<u32>,
    /// Classification rules that map packets to flows of the scenario; the first match applies.
    pub rules: Vec<Rule>,
    /// Signal congestion by CE marks to sources that do not support router feedback.
    pub signals_feedback_by_ce: bool,
    /// Delay of acknowledgements as a congestion signal to TCP sources without ECN.
    pub ack_delay: Option<Duration>,
    /// Node that represents this host and all addresses outside the plan.
    pub outside: Option<usize>,
    /// Notes on scenario features that do not apply live.
    pub notes: Vec<String>,
}

/// Classification rule: packets of real programs that belong to a flow of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Name of the flow.
    pub name: String,
    /// Source and sink nodes.
    pub ends: [usize; 2],
    /// Matching packets; replies get the same priority.
    pub packets: Match,
    /// Priority of the flow.
    pub priority: u8,
}

/// Options of a live network.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// Nodes that run programs.
    pub hosts: Vec<String>,
    /// Gateway node to the real network.
    pub outside: Option<String>,
    /// MTU of the named link, or of all links, in bytes.
    pub mtus: Vec<(Option<String>, u32)>,
    /// Set CE in the next packet of sources that do not support router feedback.
    pub signals_feedback_by_ce: bool,
    /// Delay of acknowledgements for TCP sources without ECN.
    pub ack_delay: Option<Duration>,
    /// Duration of the run; default one day.
    pub duration: Option<Duration>,
}

/// Error for a scenario that cannot run live, with a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(String);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}

/// Maximum number of hosts; each needs a namespace and a device.
const MAX_HOSTS: usize = 250;
/// Maximum number of nodes with addresses.
const MAX_NODES: usize = 50_000;
/// Maximum link rate; a faster link exceeds one processor.
const MAX_LINK_RATE: Rate = Rate::from_bits_per_sec(25_000_000_000);
/// Minimum IPv4 MTU that every host accepts (RFC 791), and minimum link MTU for IPv6 (RFC 8200).
const MIN_MTU: u32 = 576;
const MIN_MTU_V6: u32 = 1280;
const DEFAULT_MTU: u32 = 1500;
const MAX_MTU: u32 = 65_535;
/// Default duration of a run.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum delay of acknowledgements.
const MAX_ACK_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of precomputed changes of a periodic link.
const MAX_PERIODS: u64 = 1_000_000;

/// Maps a scenario to a live network. A flow with its own access links becomes two hosts on such links, with its name.
///
/// # Errors
///
/// The scenario cannot run live.
pub fn plan_network(scenario: &Spec, plan_options: &PlanOptions) -> Result<Plan, PlanError> {
    if scenario.routing.paths != Multipath::One || !scenario.routing.failures.is_empty() {
        let why = "a live network has one path between two nodes, and no link failures: leave `paths` and [[failure]] out";
        return Err(PlanError(why.to_owned()));
    }
    if let Some(group) = scenario.groups.iter().find(|group| !group.pairs.is_empty()) {
        let name = &group.name;
        return Err(PlanError(format!(
            "`{name}` is between many nodes: in a live network each pair of nodes is a flow of its own"
        )));
    }
    let mut spec = Spec { groups: Vec::new(), warmup: Duration::ZERO, ..scenario.clone() };
    let mut is_host = vec![false; spec.nodes.len()];
    let mut rules = Vec::new();
    for group in &scenario.groups {
        let hosts = spec.nodes.len();
        match &group.access {
            Some(access) => {
                add_hosts(&mut spec, group, access)?;
                // One source and one sink per flow.
                let flows = (1..=group.count as usize).zip((hosts..).step_by(2));
                rules.extend(flows.filter_map(|(flow, host)| {
                    let name =
                        if group.count == 1 { group.name.clone() } else { format!("{}.{flow}", group.name) };
                    classification_rule(group, name, [host, host + 1])
                }));
            }
            None => {
                rules.extend(classification_rule(
                    group,
                    group.name.clone(),
                    [group.from, group.to].map(|node| node.0 as usize),
                ));
                for end in [group.from, group.to] {
                    *is_host.get_mut(end.0 as usize).ok_or_else(|| no_node(&group.name))? = true;
                }
            }
        }
    }
    is_host.resize(spec.nodes.len(), true);
    let mut degree = vec![0; spec.nodes.len()];
    for link in &spec.links {
        for end in [link.a, link.b] {
            *degree.get_mut(end.0 as usize).ok_or_else(|| no_node(&link.name))? += 1;
        }
    }
    // A node with a single link cannot be a router.
    is_host.iter_mut().zip(&degree).for_each(|(is_host, degree)| *is_host |= *degree == 1);
    let names = host_names(&spec)?;
    let find = |wanted: &String| {
        let number = names.iter().position(|name| name == wanted);
        let number = number.or_else(|| spec.nodes.iter().position(|node| node.name == *wanted));
        number.ok_or_else(|| {
            PlanError(format!("there is no node `{wanted}`; there are {}", list_some_names(&names)))
        })
    };
    let outside = plan_options.outside.as_ref().map(find).transpose()?;
    is_host.iter_mut().enumerate().for_each(|(number, is_host)| *is_host |= outside == Some(number));
    for wanted in &plan_options.hosts {
        let number = find(wanted)?;
        if outside == Some(number) {
            return Err(PlanError(format!(
                "behind `{wanted}` is the real network: no command can run there"
            )));
        }
        is_host[number] = true;
    }
    let hosts = is_host.iter().filter(|is_host| **is_host).count();
    if hosts == 0 {
        return Err(PlanError(
            "the scenario has no host: a live network needs links between nodes".to_owned(),
        ));
    }
    if hosts > MAX_HOSTS {
        return Err(too_many("hosts", hosts, MAX_HOSTS));
    }
    check_links(&spec.links)?;
    let mtus = link_mtus(&spec.links, &plan_options.mtus)?;
    let duration = plan_options.duration.unwrap_or_else(|| precomputation_span(&spec.links));
    spec.duration = duration;
    let mut node_mtus = vec![u32::MAX; spec.nodes.len()];
    for (link, mtu) in spec.links.iter().zip(&mtus) {
        for end in [link.a, link.b] {
            let min = &mut node_mtus[end.0 as usize];
            *min = (*min).min(*mtu);
        }
    }
    let nodes = names.into_iter().enumerate().map(|(number, name)| {
        let mtu = if node_mtus[number] == u32::MAX { DEFAULT_MTU } else { node_mtus[number] };
        Node { name, addresses: node_addresses(number), is_host: is_host[number], mtu }
    });
    let nodes = nodes.collect();
    if let Some(span) = plan_options.ack_delay.filter(|span| span.is_zero() || *span > MAX_ACK_DELAY) {
        return Err(PlanError(format!(
            "acknowledgements delayed by {span}: the delay must be above 0 and at most {MAX_ACK_DELAY}, as TCP treats longer ones as losses"
        )));
    }
    let (signals_feedback_by_ce, ack_delay) = (plan_options.signals_feedback_by_ce, plan_options.ack_delay);
    let notes = simulation_only_notes(scenario, signals_feedback_by_ce || ack_delay.is_some());
    Ok(Plan { nodes, mtus, rules, signals_feedback_by_ce, ack_delay, outside, notes, spec })
}

impl Plan {
    /// Returns the number of the node named `name`.
    pub fn node(&self, name: &str) -> Option<usize> {
        let in_scenario = || self.spec.nodes.iter().position(|node| node.name == name);
        self.nodes.iter().position(|node| node.name == name).or_else(in_scenario)
    }

    /// Returns the hosts with their numbers.
    pub fn hosts(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.is_host)
    }

    /// Returns true if all links have the MTU that IPv6 needs.
    pub fn has_v6(&self) -> bool {
        self.mtus.iter().all(|mtu| *mtu >= MIN_MTU_V6)
    }

    /// Returns the names and addresses of all nodes in the format of `/etc/hosts`.
    pub fn hosts_file(&self) -> String {
        let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
        for node in &self.nodes {
            let count = if self.has_v6() { 2 } else { 1 };
            for address in &node.addresses[..count] {
                text.push_str(&format!("{address} {}\n", node.name));
            }
        }
        text
    }
}

fn classification_rule(group: &GroupSpec, name: String, ends: [usize; 2]) -> Option<Rule> {
    group.live_match.map(|packets| Rule { name, ends, packets, priority: group.priority })
}

fn no_node(of: &str) -> PlanError {
    PlanError(format!("`{of}` ends at a node that does not exist"))
}

fn too_many(what: &str, found: usize, max: usize) -> PlanError {
    PlanError(format!(
        "a live network has at most {max} {what}, and this scenario has {found}: make it smaller (`--set`), or simulate it"
    ))
}

/// Adds hosts for each flow of a group with its own access links.
fn add_hosts(spec: &mut Spec, group: &GroupSpec, access: &AccessSpec) -> Result<(), PlanError> {
    if group.count as usize > MAX_HOSTS {
        return Err(too_many("hosts", 2 * group.count as usize, MAX_HOSTS));
    }
    for flow in 1..=group.count {
        let name = if group.count == 1 { group.name.clone() } else { format!("{}.{flow}", group.name) };
        let ends = [
            ("source", group.from, &access.source_forward, &access.source_backward),
            ("sink", group.to, &access.sink_backward, &access.sink_forward),
        ];
        for (end, router, forward, backward) in ends {
            let host = NodeId(spec.nodes.len() as u32);
            let name = format!("{name}.{end}");
            spec.links.push(LinkSpec::new(
                format!("{name} access"),
                [host, router],
                forward.clone(),
                backward.clone(),
            ));
            spec.nodes.push(NodeSpec::new(name));
        }
    }
    Ok(())
}

/// Returns names usable by programs: letters, digits, dots and hyphens.
fn host_names(spec: &Spec) -> Result<Vec<String>, PlanError> {
    if spec.nodes.len() > MAX_NODES {
        return Err(too_many("nodes", spec.nodes.len(), MAX_NODES));
    }
    let mut names: Vec<String> = Vec::with_capacity(spec.nodes.len());
    let mut seen = std::collections::HashMap::new();
    for node in &spec.nodes {
        let letter =
            |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
        let name: String = node.name.chars().map(letter).collect();
        if let Some(other) = seen.insert(name.clone(), &node.name) {
            return Err(PlanError(format!(
                "the nodes `{other}` and `{}` have the same name as hosts, `{name}`: rename one",
                node.name
            )));
        }
        names.push(name);
    }
    Ok(names)
}

/// Returns some of the names, for an error message.
fn list_some_names(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("`{name}`")).collect();
    let rest = names.len() - shown.len();
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

fn check_links(links: &[LinkSpec]) -> Result<(), PlanError> {
    for link in links {
        for direction in [&link.forward, &link.backward] {
            if direction.rate > MAX_LINK_RATE && direction.rate < Rate::MAX {
                return Err(PlanError(format!(
                    "link `{}` has {}: no host carries more than {MAX_LINK_RATE} packet by packet; make it slower (`--set`), or simulate it",
                    link.name, direction.rate
                )));
            }
        }
    }
    Ok(())
}

/// Returns the MTU of each link.
fn link_mtus(links: &[LinkSpec], plan_options: &[(Option<String>, u32)]) -> Result<Vec<u32>, PlanError> {
    let mut mtus = vec![DEFAULT_MTU; links.len()];
    for (link, mtu) in plan_options {
        if !(MIN_MTU..=MAX_MTU).contains(mtu) {
            return Err(PlanError(format!(
                "an MTU of {mtu} B: expected {MIN_MTU} B to {MAX_MTU} B, such as `--mtu 1400B` for all links or `--mtu LINK=1400B` for one"
            )));
        }
        let Some(link) = link else {
            mtus.fill(*mtu);
            continue;
        };
        let number = links.iter().position(|other| other.name == *link);
        let Some(number) = number else {
            let names: Vec<String> = links.iter().map(|link| link.name.clone()).collect();
            return Err(PlanError(format!(
                "there is no link `{link}`; there are {}",
                list_some_names(&names)
            )));
        };
        mtus[number] = *mtu;
    }
    Ok(mtus)
}

/// Returns the time span for which periodic changes can be precomputed, at most a day.
fn precomputation_span(links: &[LinkSpec]) -> Duration {
    let directions = links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let variations = directions.filter_map(|direction: &DirectionSpec| direction.periodic_variation.as_ref());
    let longest = variations.map(|periodic_variation| {
        Duration::from_picos(periodic_variation.every.as_picos().saturating_mul(MAX_PERIODS))
    });
    longest.chain([DAY]).min().unwrap_or(DAY)
}

/// Returns the IPv4 and IPv6 addresses of a node.
fn node_addresses(number: usize) -> [IpAddr; 2] {
    let number = number as u16 + 1;
    let [high, low] = number.to_be_bytes();
    [
        Ipv4Addr::new(10, 71, high, low).into(),
        Ipv6Addr::new(0xfd74, 0x6861, 0x6c77, 0, 0, 0, 0, number).into(),
    ]
}

/// Returns the prefix of all node addresses and its length in bits.
pub(crate) fn network_prefix(address: IpAddr) -> (IpAddr, u8) {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            (Ipv4Addr::new(first, second, 0, 0).into(), 16)
        }
        IpAddr::V6(address) => (Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(), 64),
    }
}

/// Returns notes on scenario features that affect simulated flows only.
fn simulation_only_notes(scenario: &Spec, notifies_tcp: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |holds: bool, text: &str| {
        if holds {
            notes.push(text.to_owned());
        }
    };
    let has_feedback = |direction: &DirectionSpec| {
        direction.feedback.is_some_and(|feedback| feedback.policy.kind() != FeedbackKind::DecBit)
    };
    note(
        !notifies_tcp
            && scenario.links.iter().any(|link| has_feedback(&link.forward) || has_feedback(&link.backward)),
        "routers notify senders of this project alone; --mark-feedback notifies TCP by CE marks, and --hold-acks by delayed acknowledgements",
    );
    let slows_growth = |direction: &DirectionSpec| {
        let policy = direction.feedback.map(|feedback| feedback.policy);
        let overhead = match policy {
            Some(PolicySpec::Seif(seif)) => seif.overhead,
            _ => None,
        };
        overhead.is_some_and(|overhead| overhead.control == OverheadControl::Growth)
    };
    note(
        scenario.links.iter().any(|link| slows_growth(&link.forward) || slows_growth(&link.backward)),
        "messages of routers have no field for the growth of windows: `overhead-by = \"growth\"` has no effect",
    );
    let gates = || scenario.nodes.iter().filter_map(|node| node.gate.as_ref());
    note(
        gates().any(|gate| gate.pause != PauseConfig::default()),
        "real senders run on while gates pause them: `timers`, `resume` and `acks` of gates have no effect",
    );
    let works = |group: &GroupSpec| group.host.is_some() || !group.overhead.is_zero();
    let has_hosts =
        scenario.groups.iter().any(works) || scenario.nodes.iter().any(|node| !node.processing.is_free());
    note(has_hosts, "hosts are this one: `host`, `overhead` and `processing` of the scenario have no effect");
    note(
        scenario.groups.iter().any(|group| group.control_channel.is_some()),
        "control packets of real flows cross the network too",
    );
    notes
}
