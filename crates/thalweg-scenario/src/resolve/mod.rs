//! Resolution of decoded tables into a specification: names become numbers, defaults are filled in, files are read.

mod external_files;
mod flow_groups;
mod gate;
mod impairment;
mod link_direction;
mod offered_load;
mod queue;
mod random_delay;
mod read_rate;
mod router_feedback;
mod routing;
mod scheme;
mod traffic_pattern;
mod transfer_list;
mod unresolved_link_direction;

use super::diagnostic::Report;
use super::keys::{
    Document, Link, NamedTables, Network, NetworkTable, ProcessingTable, Queue, SchemeTable, Schemes,
};
use super::network;
use super::path_properties::Paths;
use super::scheme_override::{ReplacedOption, ReplacedSchemes};
use super::source_text::{BuiltInFiles, Reader, Span};
use super::table_declarations::{Fields, Spanned};
use link_direction::PendingItems;
pub use scheme::SchemeInUse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use thalweg_proto::units::Bytes;
use thalweg_sim::simulation_spec::{LinkSpec, NodeId, NodeSpec, Processing, Spec, TransportSpec};

/// Maximum number of links of a scenario; routing covers all of them from every sending node.
const MAX_LINKS: usize = 1 << 12;

/// Source positions of a resolved scenario's elements, for diagnostics of later checks.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// The file as a whole.
    pub file_span: Span,
    /// The duration.
    pub duration: Option<Span>,
    /// The warm-up.
    pub warmup: Option<Span>,
    /// Each link.
    pub links: Vec<LinkOrigin>,
    /// Each group of flows.
    pub groups: Vec<GroupOrigin>,
    /// Each gate, with its node.
    pub gates: Vec<(NodeId, Span)>,
    /// The convergence time of routing, if set.
    pub reroute: Option<Span>,
    /// Unreferenced tables, with their description.
    pub unused: Vec<(String, Span)>,
}

/// Source positions of a link's elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkOrigin {
    /// The rates of both directions.
    pub rate: [Span; 2],
    /// The queues of both directions.
    pub queue: [Span; 2],
    /// The losses of both directions.
    pub loss: [Span; 2],
    /// The schedules of both directions, if any.
    pub schedule: [Option<Span>; 2],
    /// The routing costs of both directions, if set.
    pub weight: [Option<Span>; 2],
    /// The shapers of both directions, if set.
    pub shaper: [Option<Span>; 2],
    /// The black holes of both directions, if set.
    pub black_hole: [Option<Span>; 2],
    /// The treatments of ECN codepoints of both directions, if set.
    pub ecn: [Option<Span>; 2],
}

/// Source positions of a flow group's elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupOrigin {
    /// The table.
    pub table: Span,
    /// The number of flows.
    pub count: Span,
    /// The start.
    pub start: Span,
    /// The stop.
    pub stop: Span,
    /// The scheme.
    pub scheme: Span,
    /// The read rate of the application at the sink.
    pub reading: Span,
    /// The hosts.
    pub host: Span,
    /// The rates of the access links.
    pub access: Span,
    /// The interval between starts, if the group itself sets it.
    pub stagger: Option<Span>,
    /// The misbehaviour, if set.
    pub misbehaviour: Option<Span>,
    /// An explicit host overhead in the scenario, even if zero.
    pub has_explicit_overhead: bool,
}

/// The shared state of all resolution steps.
pub(super) struct Resolver<'a> {
    pub report: &'a mut Report,
    /// The base directory of relative file names in each source.
    pub directories: &'a [PathBuf],
    pub schemes: BTreeMap<String, Option<Spanned<SchemeTable>>>,
    pub used_schemes: BTreeSet<String>,
    /// Cached transports by scheme name, for schemes without options that do not depend on the path.
    transports: BTreeMap<String, (TransportSpec, Arc<SchemeInUse>)>,
    /// The scheme of the current group.
    in_use: Option<Arc<SchemeInUse>>,
    /// The options that schemes of groups have inherited from the defaults for all schemes.
    inherited: BTreeSet<&'static str>,
    /// The schemes of the groups so far, by position.
    schemes_in_use: BTreeMap<usize, Arc<SchemeInUse>>,
    /// The replaced schemes, and the outcome of their options.
    pub replaced: ReplacedSchemes,
    replaced_options: BTreeSet<ReplacedOption>,
    pub nodes: BTreeMap<String, NodeId>,
    /// The scheme of the current group, if it depends on the path.
    unsettled: Option<scheme::PendingScheme>,
    /// The load of the current group, if it depends on the path.
    pending_load: Option<offered_load::PendingLoad>,
    /// Reads files beside the scenario.
    reader: Reader,
    /// External files by path; `None` if unreadable.
    pub files: BTreeMap<PathBuf, Option<u32>>,
    /// The network's topology file, if it was read.
    topology: Option<TopologyText>,
    /// The position of the network, and its text if it is in one line.
    network_line: Option<(Span, Option<String>)>,
    /// Some link's ends are invalid, so an unknown node may be one of them.
    pub nodes_incomplete: bool,
}

/// A network's topology file.
struct TopologyText {
    source: u32,
    name: String,
    /// The reason for missing delays of its links.
    missing_delay_reason: &'static str,
}

/// The context of a document.
pub struct Scope<'a> {
    /// The number of links in the file, with the network as one; the document lacks invalid ones.
    pub links: usize,
    /// The span of the file.
    pub file_span: Span,
    /// The base directory of relative file names in each source.
    pub directories: &'a [PathBuf],
    /// Built-in files, which take precedence over those on disk.
    pub built_in: BuiltInFiles,
    /// The replaced schemes.
    pub replaced: ReplacedSchemes,
    /// True if each flow of the file has a scheme of its own in place of the default.
    pub is_default_scheme_unused: bool,
}

/// A resolved document.
pub struct ResolvedDocument {
    /// The simulation to run.
    pub spec: Spec,
    /// The source positions of its elements.
    pub origins: Origins,
    /// Routes, round-trip times and bandwidth-delay products.
    pub paths: Paths,
    /// Options of the replaced schemes.
    pub replaced_options: Vec<ReplacedOption>,
    /// The schemes of groups, by position.
    pub schemes: BTreeMap<usize, Arc<SchemeInUse>>,
}

/// Resolves a document; after a reported error the result is meaningless.
pub fn resolve(document: &Document, scope: Scope<'_>, report: &mut Report) -> ResolvedDocument {
    let Scope { links, file_span: whole, directories, built_in, replaced, is_default_scheme_unused } = scope;
    let mut document = document.clone();
    document.inherit(Document::defaults());
    let mut origins = Origins {
        file_span: whole,
        duration: document.duration.as_ref().map(|at| at.span).filter(|&span| !is_default(span)),
        warmup: document.warmup.as_ref().map(|at| at.span).filter(|&span| !is_default(span)),
        ..Origins::default()
    };
    let mut resolver = Resolver {
        report,
        directories,
        schemes: BTreeMap::new(),
        used_schemes: BTreeSet::new(),
        transports: BTreeMap::new(),
        in_use: None,
        inherited: BTreeSet::new(),
        schemes_in_use: BTreeMap::new(),
        replaced,
        replaced_options: BTreeSet::new(),
        nodes: BTreeMap::new(),
        unsettled: None,
        pending_load: None,
        reader: Reader::default().with_built_in(built_in),
        files: BTreeMap::new(),
        topology: None,
        network_line: None,
        nodes_incomplete: document.link.as_ref().map_or(0, |list| list.len())
            + usize::from(document.network.is_some())
            < links,
    };
    let schemes = document.scheme.as_ref().map(|at| at.value.clone()).unwrap_or_default();
    resolver.schemes =
        schemes.0.iter().map(|(name, scheme)| (name.value.0.clone(), scheme.clone())).collect();

    let mut spec = Spec::default();
    document.fill(&mut spec);
    if let Some(measure) = &document.measure {
        measure.fill(&mut spec.measure);
    }
    let mut pending = resolver.links(&document, &mut spec, &mut origins);
    resolver.nodes(&document, &mut spec, &mut origins);
    resolver.routing(&document, &mut spec, &mut origins);
    resolver.groups(&document, &mut spec, &mut origins, &mut pending);
    unused_schemes(&schemes, &resolver.used_schemes, &mut origins);
    resolver.warn_unused_scheme_defaults(&document);
    if is_default_scheme_unused {
        resolver.check_unused_scheme(&document);
    }
    if spec.duration.is_zero() {
        let span = origins.duration.unwrap_or(whole);
        resolver.report.error("scenario.range", span, "the run has no duration");
    }
    let paths = Paths::new(&spec);
    if resolver.report.errors() == 0 {
        let resized: Vec<_> =
            pending.queues.iter().filter_map(link_direction::PendingQueue::resized).collect();
        for queue in pending.queues {
            queue.set_capacity(&mut spec, &paths, resolver.report);
        }
        for scheme in pending.schemes {
            scheme.apply(&mut spec, &paths, resolver.report);
        }
        for load in pending.loads {
            load.apply(&mut spec, &paths, resolver.report);
        }
        for feedback in pending.feedback {
            feedback.apply(&mut spec, &paths, resolver.report);
        }
        for (place, span) in resized {
            if let Some(why) = place.direction(&mut spec).and_then(|line| line.queue_stays()) {
                let message = format!("this queue cannot change its capacity: {why}");
                let help = "leave `queue` out of the schedule";
                resolver.report.error("scenario.conflict", span, message).help(help);
            }
        }
        if let Some((of, why)) = spec.routing_fault() {
            resolver.routing_fault(&document, &spec, &origins, &of, why);
        }
    }
    let former = resolver.replaced_options.into_iter().collect();
    ResolvedDocument { spec, origins, paths, replaced_options: former, schemes: resolver.schemes_in_use }
}

/// Returns true for the span of a default, which appears in no file.
pub(super) fn is_default(span: Span) -> bool {
    span == Span::OF_DEFAULT_VALUE
}

fn unused_schemes(schemes: &Schemes, used: &BTreeSet<String>, origins: &mut Origins) {
    for (name, _) in &schemes.0 {
        if !used.contains(&name.value.0) {
            origins.unused.push((format!("no flow uses the scheme `{}`", name.value.0), name.span));
        }
    }
}

/// Returns the processing cost of a table.
fn processing_cost(table: Option<&Spanned<ProcessingTable>>) -> Processing {
    let mut cost = Processing::default();
    if let Some(table) = table {
        table.fill(&mut cost);
    }
    cost
}

impl Resolver<'_> {
    fn links(&mut self, document: &Document, spec: &mut Spec, origins: &mut Origins) -> PendingItems {
        let mut pending = PendingItems::default();
        let links: &[Spanned<Link>] = document.link.as_deref().map_or(&[], Vec::as_slice);
        if links.len() > MAX_LINKS {
            self.nodes_incomplete = true;
            let span = links[MAX_LINKS].span;
            self.report.error("scenario.range", span, format!("there are more than {MAX_LINKS} links"));
            return pending;
        }
        let made = self.network(document);
        let mut names = BTreeSet::new();
        let mut errors = self.report.errors();
        for (number, link) in links.iter().chain(&made).enumerate() {
            if number <= links.len() {
                errors = self.report.errors();
            } else if self.report.errors() > errors {
                // Report an error once: it usually affects many links of a network.
                self.nodes_incomplete = true;
                break;
            }
            let Some((a, b)) = self.end_nodes(link, spec) else {
                self.nodes_incomplete = true;
                continue;
            };
            let name = match &link.name {
                Some(name) => name.value.0.clone(),
                None => format!("{}-{}", spec.nodes[a.0 as usize].name, spec.nodes[b.0 as usize].name),
            };
            if !names.insert(name.clone()) {
                let help = if link.name.is_none() {
                    "give parallel links names of their own"
                } else {
                    "names are unique"
                };
                let span = link.name.as_ref().map_or(link.span, |name| name.span);
                self.report
                    .error("scenario.duplicate", span, format!("there is another link `{name}`"))
                    .help(help);
            }
            let number = spec.links.len();
            let (directions, origin) = self.link_lines(link, &name, document, number, &mut pending);
            let [forward, backward] = directions;
            origins.links.push(origin);
            if let (Some(at), None) = (&link.nat_rebind, &link.nat) {
                let message = "ports are those of an address translator, and there is none";
                self.report
                    .error("scenario.conflict", at.span, message)
                    .help("choose one: nat = \"symmetric\"");
            }
            let mut made = LinkSpec::new(name, [a, b], forward, backward);
            link.fill(&mut made);
            if let Some(reverse) = &link.reverse {
                reverse.fill(&mut made);
            }
            spec.links.push(made);
        }
        pending
    }

    /// Returns the links of the scenario's network, if it has a valid one.
    fn network(&mut self, document: &Document) -> Vec<Spanned<Link>> {
        let Some(Spanned { value: Network(network), span }) = &document.network else { return Vec::new() };
        let network = Spanned { value: network.clone(), span: *span };
        let text = self.report.source(span.source).text();
        let text = text.get(span.start as usize..span.end as usize).map(str::trim).unwrap_or_default();
        let line = (!text.starts_with('{') && !text.contains('\n'))
            .then(|| text.trim_matches(['"', '\'']).to_owned());
        self.network_line = Some((*span, line));
        if let NetworkTable::File(table) = &network.value {
            let text = |file: &Spanned<String>| {
                Some(TopologyText {
                    source: self.text(file)?,
                    name: file.value.clone(),
                    missing_delay_reason: "",
                })
            };
            self.topology = table.file.as_ref().and_then(text);
        }
        let context = network::NetworkContext {
            seed: document.seed.as_deref().copied().unwrap_or_default(),
            file: self.topology.as_ref().map(|topology| topology.source),
            defaults: document.defaults.as_ref().and_then(|at| at.link.as_deref()),
        };
        let made = network::expand_network(&network, context, self.report);
        self.nodes_incomplete |= made.is_none();
        let Some(made) = made else { return Vec::new() };
        if let (Some(topology), Some(why)) = (&mut self.topology, made.missing_delay_reason) {
            topology.missing_delay_reason = why;
        }
        made.links
    }

    /// Returns the nodes at a link's ends; creates missing ones.
    fn end_nodes(&mut self, link: &Spanned<Link>, spec: &mut Spec) -> Option<(NodeId, NodeId)> {
        let between = link.between.as_ref()?;
        let [a, b] = between.value.0.as_slice() else {
            if !link.broken {
                self.report
                    .error("scenario.range", between.span, "a link is between two nodes")
                    .help("write it as between = [\"left\", \"right\"]");
            }
            return None;
        };
        if a.value == b.value {
            self.report.error("scenario.range", b.span, format!("both ends of the link are `{}`", a.value.0));
            return None;
        }
        let mut node = |name: &str| {
            *self.nodes.entry(name.to_owned()).or_insert_with(|| {
                let id = NodeId(u32::try_from(spec.nodes.len()).unwrap_or(u32::MAX));
                spec.nodes.push(NodeSpec::new(name));
                id
            })
        };
        Some((node(&a.value.0), node(&b.value.0)))
    }

    fn nodes(&mut self, document: &Document, spec: &mut Spec, origins: &mut Origins) {
        let Some(Spanned { value: NamedTables(nodes), .. }) = &document.node else { return };
        for (name, node) in nodes {
            match self.nodes.get(&name.value.0) {
                Some(id) => {
                    let place = &mut spec.nodes[id.0 as usize];
                    place.processing = processing_cost(node.processing.as_ref());
                    if let Some(table) = &node.gate {
                        place.gate = gate::resolve_gate(table, self.report);
                        origins.gates.push((*id, table.span));
                    }
                }
                None => {
                    origins.unused.push((format!("no link leads to the node `{}`", name.value.0), name.span));
                }
            }
        }
    }

    /// Returns the default queue of a link direction.
    pub(super) fn default_queue(text: &str) -> Option<Spanned<Queue>> {
        super::table_declarations::decode_default(text)
    }
}

/// Returns a size in bytes that is valid for a packet header or a segment.
fn packet_sized(size: Bytes) -> Option<u32> {
    u32::try_from(size.get()).ok().filter(|&size| size <= 1 << 20)
}
