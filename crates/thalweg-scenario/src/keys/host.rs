//! Keys of the hosts that flows have.

use super::super::bound::FieldOf;
use super::super::diagnostic::Report;
use super::super::schema::Definitions;
use super::super::table::{Decode, table, wrong_type};
use super::super::tree::{Kind, Value};
use super::super::writer::{Entries, text};
use super::scheme::words;
use serde_json::json;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_sim::spec::HostSpec;

words! {
    /// A host that was measured, by its name.
    HostName: HostSpec {
        "linux-server" => HostSpec::LINUX_SERVER,
        "linux-loaded" => HostSpec::LINUX_LOADED,
        "linux-shared" => HostSpec::LINUX_SHARED,
    }
}

table! {
    /// A host as a transport in user space meets it: a thread that is woken late, takes what has come, sends what is due, and
    /// sleeps. `thalweg doctor` measures these of the host that it runs on.
    HostTable "host" for HostSpec {
        /// Half of all wake-ups come later than this after the packet or the deadline that they are for.
        late: Duration = "late" or r#""0 s""# => late;
        /// One wake-up in a hundred comes later than this; the logarithm of lateness is normal.
        late_p99: Duration = "late-p99" or r#""0 s""# => late_p99;
        /// The mean time for which the thread works between two spans in which the system runs something else; "0 s" for never. Sleep
        /// does not count.
        away_every: Duration = "away-every" or r#""0 s""# => away_every;
        /// The mean length of such a span. Both are exponentially distributed.
        away: Duration = "away" or r#""0 s""# => away;
        /// Deadlines are no finer than this: a thread that goes to sleep sleeps so long unless something comes.
        granularity: Duration = "granularity" or r#""0 s""# => granularity;
        /// A thread that has just had 16 packets or more sleeps so long, whatever comes.
        coalescing: Duration = "coalescing" or r#""0 s""# => coalescing;
        /// The cost of each round of system calls.
        call: Duration = "call" or r#""0 s""# => call;
        /// The cost of each packet that is sent or received.
        packet: Duration = "packet" or r#""0 s""# => packet_cost;
        /// The cost of each byte of it.
        byte: Duration = "byte" or r#""0 s""# => byte_cost;
        /// The room of the socket: packets that come while it is full are dropped.
        buffer: Bytes = "buffer" or r#""4 MiB""# => buffer;
    }
}

/// A host: one that was measured, or a table.
#[derive(Clone, Debug)]
pub enum HostKey {
    /// By its name.
    Named(HostName),
    /// By its numbers.
    Table(Box<HostTable>),
}

impl HostKey {
    /// The host that is meant.
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
    fn of(given: Option<&HostKey>) -> Option<Self> {
        given.map(HostKey::spec)
    }
    fn toml(&self) -> Option<String> {
        let name = HostName(*self).word();
        Some(if name.is_empty() { host_table(self) } else { text(name) })
    }
}

/// The hosts that were measured, by their names, with what they are.
pub fn hosts() -> [(&'static str, String); 3] {
    let hosts = [
        (HostSpec::LINUX_SERVER, "A server under Linux with nothing else to do"),
        (HostSpec::LINUX_LOADED, "The same while sixteen other threads are always busy"),
        (HostSpec::LINUX_SHARED, "One processor of it, shared with one thread that is always busy"),
    ];
    hosts.map(|(spec, about)| {
        let HostSpec { late, late_p99, away, away_every, .. } = spec;
        let numbers = format!(
            "wakes {late} late, {late_p99} at p99, and is away for {away} after each {away_every} of work"
        );
        (HostName(spec).word(), format!("{about}: {numbers}"))
    })
}

/// A host as the table that describes it in a scenario.
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
            Kind::Table(_) => HostTable::decode(value, report).map(|table| Self::Table(Box::new(table))),
            Kind::String(_) => HostName::decode(value, report).map(Self::Named),
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
