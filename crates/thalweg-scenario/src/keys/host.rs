//! Keys of the hosts of flows.

use super::super::diagnostic::Report;
use super::super::key_bindings::FieldOf;
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, table, wrong_type};
use super::super::toml_writer::{Entries, toml_string};
use super::scheme::words;
use serde_json::json;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_sim::simulation_spec::HostSpec;

words! {
    /// A measured host, by name.
    HostName: HostSpec {
        "linux-server" => HostSpec::LINUX_SERVER,
        "linux-loaded" => HostSpec::LINUX_LOADED,
        "linux-shared" => HostSpec::LINUX_SHARED,
    }
}

table! {
    /// A host as seen by a user-space transport: a thread that wakes up late, receives queued packets, sends due
    /// packets and sleeps. `thalweg doctor` measures these values on the current host.
    HostTable "host" for HostSpec {
        /// The median wake-up latency after a packet arrival or a deadline.
        late: Duration = "late" or r#""0 s""# => wake_up_latency;
        /// The 99th percentile of the wake-up latency; the distribution is log-normal.
        late_p99: Duration = "late-p99" or r#""0 s""# => wake_up_latency_p99;
        /// The mean running time between two preemptions of the thread; "0 s" for never. Sleep does not count.
        preemption_every: Duration = "preemption-every" or r#""0 s""# => preemption_every;
        /// The mean length of a preemption. Both times are exponentially distributed.
        preemption: Duration = "preemption" or r#""0 s""# => preemption;
        /// The timer granularity: a sleeping thread sleeps at least this long unless a packet arrives.
        granularity: Duration = "granularity" or r#""0 s""# => granularity;
        /// Interrupt coalescing: after a batch of 16 packets or more the thread sleeps this long, regardless of
        /// arrivals.
        coalescing: Duration = "coalescing" or r#""0 s""# => coalescing;
        /// The cost of each round of system calls.
        call: Duration = "call" or r#""0 s""# => call;
        /// The cost of each packet sent or received.
        packet: Duration = "packet" or r#""0 s""# => packet_cost;
        /// The cost of each byte sent or received.
        byte: Duration = "byte" or r#""0 s""# => byte_cost;
        /// The size of the socket buffer: packets that arrive while it is full are dropped.
        buffer: Bytes = "buffer" or r#""4 MiB""# => buffer;
    }
}

/// A host: a measured one, or a table.
#[derive(Clone, Debug)]
pub enum HostKey {
    /// A measured host.
    Named(HostName),
    /// A host described by its values.
    Table(Box<HostTable>),
}

impl HostKey {
    /// Returns the host's specification.
    pub fn spec(&self) -> HostSpec {
        match self {
            Self::Named(HostName(spec)) => *spec,
            Self::Table(table) => {
                let mut spec = HostSpec::IDEAL;
                table.fill(&mut spec);
                spec
            }
        }
    }
}

impl FieldOf<HostKey> for HostSpec {
    fn from_key(given: Option<&HostKey>) -> Option<Self> {
        given.map(HostKey::spec)
    }
    fn toml(&self) -> Option<String> {
        let name = HostName(*self).word();
        Some(if name.is_empty() { host_table(self) } else { toml_string(name) })
    }
}

/// Returns the measured hosts: names and descriptions.
pub fn measured_hosts() -> [(&'static str, String); 3] {
    let hosts = [
        (HostSpec::LINUX_SERVER, "A server under Linux with nothing else to do"),
        (HostSpec::LINUX_LOADED, "The same server while sixteen other threads are always busy"),
        (
            HostSpec::LINUX_SHARED,
            "The same server with one processor, shared with a thread that is always busy",
        ),
    ];
    hosts.map(|(spec, about)| {
        let HostSpec { wake_up_latency: p50, wake_up_latency_p99: p99, preemption, preemption_every, .. } = spec;
        let numbers = format!(
            "wakes {p50} late, {p99} at p99, and is preempted for {preemption} after each {preemption_every} of work"
        );
        (HostName(spec).word(), format!("{about}: {numbers}"))
    })
}

/// Formats a host as a scenario table.
pub fn host_table(host: &HostSpec) -> String {
    let mut entries = Entries::default();
    HostTable::write(host, &mut entries);
    entries.inline()
}

impl Decode for HostKey {
    fn expected() -> String {
        format!("{}, or a table", HostName::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(_) => HostTable::decode(value, report).map(|table| Self::Table(Box::new(table))),
            ValueKind::String(_) => HostName::decode(value, report).map(Self::Named),
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (name, table) = (HostName::schema(definitions), HostTable::schema(definitions));
        json!({ "anyOf": [name, table] })
    }
}
