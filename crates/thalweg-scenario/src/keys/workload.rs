//! Keys of workloads, of transfer sizes, and of traces of traffic and capacity.

use super::super::diagnostic::Report;
use super::super::key_bindings::FieldOf;
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, Spanned, choice, table, wrong_type};
use super::super::value_types::{MAX_LIST_LENGTH, Number, Share};
use serde_json::json;
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_sim::simulation_spec::{ArrivalList, SizeSpec, WorkloadSpec};

table! {
    /// Sends a fixed amount, then ends.
    Transfer "transfer workload" for WorkloadSpec::Transfer(size) {
        /// The amount to send.
        size: Bytes = "size" (required) => size;
    }
}

table! {
    /// Sends until a fixed amount has been delivered, then ends. Over datagrams it sends more than that if some are
    /// lost.
    Deliver "deliver workload" for WorkloadSpec::Deliver(size) {
        /// The amount to deliver.
        size: Bytes = "size" (required) => size;
    }
}

table! {
    /// Sends one packet, then waits for an exponentially distributed gap that begins when the packet has left: the
    /// source writes nothing while the window is closed or Nagle's algorithm holds a packet back (Liang 1991,
    /// section 5.1). "cbr" writes regardless of departures.
    Telnet "telnet workload" for WorkloadSpec::Telnet {
        /// The size of each write.
        packet: Bytes = "packet" (required) => packet;
        /// The mean gap.
        gap: Duration = "gap" (required) => gap;
    }
}

table! {
    /// Alternates between sending during `on` and silence during `off`.
    OnOff "on-off workload" for WorkloadSpec::OnOff {
        /// The length of a sending period.
        on: Duration = "on" (required) => on;
        /// The length of a silent period.
        off: Duration = "off" (required) => off;
        /// The rate during `on`; by default unlimited. The rest of a packet's time at the end of a period counts in
        /// the next one: the mean is rate * on / (on + off) for packets of any size.
        rate: Rate = "rate" => rate;
        /// The size of each write.
        packet: Bytes = "packet" or r#""1000 B""# => packet;
        /// Draws both times from exponential distributions with these means.
        random: bool = "random" or "false" => random;
        /// Draws both times from Pareto distributions of this shape, above 1, with these means. Below 2 the aggregate
        /// of many such sources is self-similar, with the Hurst parameter (3 - shape) / 2 (Willinger et al. 1997). Not
        /// with `random`.
        shape: Number = "shape" => shape;
    }
}

table! {
    /// Synchronised rounds, as in reads of striped storage or steps of a parallel computation: each flow of the group
    /// sends a block, on one connection for all rounds. When all blocks have arrived, all flows wait for `think`, and
    /// the next round begins.
    Rounds "rounds workload" for WorkloadSpec::Rounds {
        /// The size of each block.
        size: Bytes = "size" (required) => size;
        /// The number of rounds; by default until the end of the run.
        rounds: u32 = "rounds" => rounds;
        /// The time from the arrival of a round's last block to the start of the next round.
        think: Duration = "think" or r#""0 s""# => think;
    }
}

table! {
    /// Writes a fixed size at a fixed interval.
    ConstantRate "cbr workload" for WorkloadSpec::ConstantRate {
        /// The rate of written bytes.
        rate: Rate = "rate" (required) => rate;
        /// The size of each write.
        packet: Bytes = "packet" or r#""1000 B""# => packet;
    }
}

table! {
    /// Finite transfers with Poisson arrivals, each on its own connection. Give `gap` or `load`.
    Poisson "poisson workload" for WorkloadSpec::Poisson {
        /// The mean time between arrivals.
        gap: Duration = "gap" => gap;
        /// The offered load, in place of `gap`: a rate per flow, or a share of the path's lowest rate for all flows of
        /// the group together, `"60 %"`. Headers are not counted.
        load: Load = "load";
        /// The size of each transfer.
        size: SizeChoice = "size" (required) => size;
    }
}

table! {
    /// Transfers at explicit times, each on its own connection. Give `file` or `transfers`.
    ListWorkload "list workload" for WorkloadSpec::List(list) {
        /// A file beside the scenario file with one transfer per line, from a node of `from` to a node of `to`. CSV:
        /// start, from, to and size, in this order or as named in its first line, with a time from the flow's start (in
        /// seconds if it has no unit) and a size (in bytes if it has no unit). Further columns need a name in the first
        /// line, and are ignored. Also Parquet with these columns (`.parquet`), the connection matrices of htsim
        /// (`.cm`), and the flow files of ns-3 in the format of HPCC (`flow.txt`). Numbers are indices into `from` and
        /// `to`, from 0.
        file: String = "file";
        /// The same as one string, with transfers separated by `;`: the index of the flow's node pair, from 1, the time
        /// and the size, `"1 0.5s 10kB; 2 0.6s 1MB"`.
        transfers: ListedTransfers = "transfers" => list;
    }
}

/// The transfers of a group of flows.
#[derive(Clone, Debug)]
pub struct ListedTransfers(pub Arc<ArrivalList>);

impl FieldOf<ListedTransfers> for Arc<ArrivalList> {
    fn from_key(given: Option<&ListedTransfers>) -> Option<Self> {
        given.map(|ListedTransfers(list)| Self::clone(list))
    }
    fn toml(&self) -> Option<String> {
        let mut text = String::new();
        for flow in 0..self.flows() {
            for (at, size) in self.transfers_of(flow) {
                let end = if text.is_empty() { "" } else { "; " };
                let [at, size] = [at.to_string(), size.to_string()].map(|of| of.replace(' ', ""));
                text.push_str(&format!("{end}{} {at} {size}", flow + 1));
            }
        }
        Some(format!("\"{text}\""))
    }
}

impl Decode for ListedTransfers {
    fn expected() -> String {
        "a text of transfers, each a position, a time and a size, such as \"1 0.5s 10kB; 2 0.6s 1MB\""
            .to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let ValueKind::String(text) = &value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        let transfer = |entry: &str| {
            let mut words = entry.split_whitespace();
            let flow = words.next()?.parse::<u32>().ok()?.checked_sub(1)?;
            let (at, size) = (words.next()?.parse().ok()?, words.next()?.parse::<Bytes>().ok()?);
            (words.next().is_none() && flow < MAX_LISTED_FLOWS && size > Bytes::ZERO)
                .then_some((flow, at, size))
        };
        let mut transfers = Vec::new();
        for entry in text.split(';').filter(|entry| !entry.trim().is_empty()) {
            let Some(transfer) = transfer(entry).filter(|_| transfers.len() < MAX_LIST_LENGTH) else {
                let message = format!("transfer {} is `{}`", transfers.len() + 1, entry.trim());
                let help = format!("expected {}; at most {MAX_LIST_LENGTH} of them", Self::expected());
                report.error("scenario.value", value.span, message).help(help);
                return None;
            };
            transfers.push(transfer);
        }
        Some(Self(Arc::new(ArrivalList::new(transfers))))
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "string", "examples": ["1 0.5s 10kB; 2 0.6s 1MB"] })
    }
}

/// Maximum number of flows with transfers in a list.
const MAX_LISTED_FLOWS: u32 = 1 << 20;

table! {
    /// The source sends a request, the sink responds, the source waits for `think`, and repeats.
    RequestResponse "request-response workload" for WorkloadSpec::RequestResponse {
        /// The size of a request.
        request: Bytes = "request" (required) => request;
        /// The size of a response.
        response: SizeChoice = "response" (required) => response;
        /// The mean of the exponentially distributed pause before the next request.
        think: Duration = "think" or r#""0 s""# => think;
    }
}

table! {
    /// Replays a recorded trace of writes. Give `file` or `writes`.
    TraceWorkload "trace workload" for WorkloadSpec::Trace(writes) {
        /// A file beside the scenario file, each line with a time from the flow's start and a size, `0.5 s, 10 kB`.
        file: String = "file";
        /// The same as a list of pairs, `["0.5 s", "10 kB"]`.
        writes: Vec<Spanned<Write>> = "writes" => writes;
    }
}

choice! {
    /// The traffic of an application.
    WorkloadTable "workload" by "kind" for WorkloadSpec {
        "transfer" => Transfer(Transfer),
        "deliver" => Deliver(Deliver),
        "telnet" => Telnet(Telnet),
        "on-off" => OnOff(OnOff),
        "cbr" => ConstantRate(ConstantRate),
        "poisson" => Poisson(Poisson),
        "list" => List(ListWorkload),
        "request-response" => RequestResponse(RequestResponse),
        "rounds" => Rounds(Rounds),
        "trace" => Trace(TraceWorkload),
    }
}

/// An application's workload: `bulk`, an amount, or a table.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Unlimited data.
    Bulk,
    /// A transfer of this size.
    Transfer(Bytes),
    /// A table.
    Table(WorkloadTable),
}

impl Decode for Workload {
    fn expected() -> String {
        "\"bulk\", an amount such as \"10 MB\", or a table with `kind`".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::String(text) if text == "bulk" => Some(Self::Bulk),
            ValueKind::String(text) if text.starts_with(|c: char| c.is_alphabetic()) => {
                let message = format!("expected {}, found \"{text}\"", Self::expected());
                let found = report.error("scenario.type", value.span, message);
                if WorkloadTable::KINDS.contains(&text.as_str()) {
                    found.help(format!("this kind has parameters: {{ kind = \"{text}\", ... }}"));
                } else {
                    found.names(text, WorkloadTable::KINDS.iter().copied().chain(["bulk"]));
                }
                None
            }
            ValueKind::String(_) | ValueKind::Integer(_) | ValueKind::Float(_) => {
                Bytes::decode(value, report).map(Self::Transfer)
            }
            ValueKind::Table(_) => WorkloadTable::decode(value, report).map(Self::Table),
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (size, table) = (Bytes::schema(definitions), WorkloadTable::schema(definitions));
        json!({ "anyOf": [{ "const": "bulk" }, size, table] })
    }
}

table! {
    /// A fixed size.
    FixedSize "fixed size" for SizeSpec::Fixed(size) {
        /// The size.
        size: Bytes = "size" (required) => size;
    }
}

table! {
    /// Exponentially distributed sizes, at least 1 byte.
    ExponentialSize "exponential size" for SizeSpec::Exponential {
        /// The mean.
        mean: Bytes = "mean" (required) => mean;
    }
}

table! {
    /// Heavy-tailed sizes: a Pareto distribution.
    ParetoSize "pareto size" for SizeSpec::Pareto {
        /// The minimum size.
        min: Bytes = "min" (required) => min;
        /// The shape. Without the maximum, the variance would be infinite up to 2, and the mean up to 1.
        shape: Number = "shape" (required) => shape;
        /// The maximum size; larger draws are cut to it.
        max: Bytes = "max" (required) => max;
    }
}

table! {
    /// Log-normally distributed sizes.
    LogNormalSize "log-normal size" for SizeSpec::LogNormal {
        /// The median.
        median: Bytes = "median" (required) => median;
        /// The standard deviation of the natural logarithm.
        sigma: Number = "sigma" (required) => sigma;
    }
}

table! {
    /// Uniformly distributed sizes.
    UniformSize "uniform size" for SizeSpec::Uniform {
        /// The minimum size.
        min: Bytes = "min" (required) => min;
        /// The maximum size.
        max: Bytes = "max" (required) => max;
    }
}

table! {
    /// Sizes by their cumulative distribution, interpolated linearly. Give `file` or `sizes`.
    TableSize "table of sizes" for SizeSpec::Table(sizes) {
        /// A file beside the scenario file, each line with a size and the cumulative share of transfers up to it,
        /// `10 kB, 15 %`. Files of published distributions are accepted unchanged: sizes in bytes and cumulative shares
        /// up to 1 or 100, separated by spaces, or the three columns of ns-2, with sizes in packets of 1460 B and
        /// shares up to 1 in the last column.
        file: String = "file";
        /// The same as a list of pairs, `["10 kB", "15 %"]`.
        sizes: Vec<Spanned<SizePoint>> = "sizes" => sizes;
    }
}

/// A size, and the cumulative share of transfers up to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePoint(pub Bytes, pub f64);

impl FieldOf<SizePoint> for (Bytes, f64) {
    fn from_key(given: Option<&SizePoint>) -> Option<Self> {
        given.map(|SizePoint(size, share)| (*size, *share))
    }
    fn toml(&self) -> Option<String> {
        Some(format!("[\"{}\", {:?}]", self.0, self.1))
    }
}

impl Decode for SizePoint {
    fn expected() -> String {
        "a pair of a size and a share, such as [\"10 kB\", \"15 %\"]".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Array(pair) if pair.len() == 2 => {
                let (size, share) = (Bytes::decode(&pair[0], report), Share::decode(&pair[1], report));
                Some(Self(size?, share?.0))
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (size, share) = (Bytes::schema(definitions), Share::schema(definitions));
        json!({ "type": "array", "prefixItems": [size, share], "minItems": 2, "maxItems": 2 })
    }
}

/// The offered load of transfers: a rate, or a share of the path's lowest rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// A rate per flow.
    Rate(Rate),
    /// A share for all flows of the group together.
    Share(Share),
}

impl Decode for Load {
    fn expected() -> String {
        "a rate, such as \"30 Mbit/s\", or a share of the path's lowest, such as \"60 %\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::String(text) if text.trim().ends_with('%') => {
                Share::decode(value, report).map(Self::Share)
            }
            _ => Rate::decode(value, report).map(Self::Rate),
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (rate, share) = (Rate::schema(definitions), Share::schema(definitions));
        json!({ "anyOf": [rate, share] })
    }
}

choice! {
    /// A distribution of sizes.
    SizeTable "size distribution" by "distribution" for SizeSpec {
        "fixed" => Fixed(FixedSize),
        "exponential" => Exponential(ExponentialSize),
        "pareto" => Pareto(ParetoSize),
        "log-normal" => LogNormal(LogNormalSize),
        "uniform" => Uniform(UniformSize),
        "table" => Table(TableSize),
    }
}

/// A size: fixed, or a distribution.
#[derive(Clone, Debug)]
pub enum SizeChoice {
    /// A fixed size.
    Fixed(Bytes),
    /// A distribution.
    Table(SizeTable),
}

impl FieldOf<SizeChoice> for SizeSpec {
    fn from_key(given: Option<&SizeChoice>) -> Option<Self> {
        match given? {
            SizeChoice::Fixed(size) => Some(Self::Fixed(*size)),
            SizeChoice::Table(table) => table.spec(),
        }
    }
    fn toml(&self) -> Option<String> {
        match self {
            Self::Fixed(size) => size.toml(),
            _ => Some(SizeTable::write(self).inline()),
        }
    }
}

impl Decode for SizeChoice {
    fn expected() -> String {
        "a size, such as \"64 kB\", or a table with `distribution`".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(_) => SizeTable::decode(value, report).map(Self::Table),
            ValueKind::String(_) | ValueKind::Integer(_) | ValueKind::Float(_) => {
                Bytes::decode(value, report).map(Self::Fixed)
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (size, table) = (Bytes::schema(definitions), SizeTable::schema(definitions));
        json!({ "anyOf": [size, table] })
    }
}

/// One recorded write: its time from the flow's start, and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Write(pub Duration, pub Bytes);

impl FieldOf<Write> for (Duration, Bytes) {
    fn from_key(given: Option<&Write>) -> Option<Self> {
        given.map(|Write(at, size)| (*at, *size))
    }
    fn toml(&self) -> Option<String> {
        Some(format!("[\"{}\", \"{}\"]", self.0, self.1))
    }
}

impl Decode for Write {
    fn expected() -> String {
        "a pair of a time and a size, such as [\"0.5 s\", \"10 kB\"]".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Array(pair) if pair.len() == 2 => {
                let (at, size) = (Duration::decode(&pair[0], report), Bytes::decode(&pair[1], report));
                Some(Self(at?, size?))
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (time, size) = (Duration::schema(definitions), Bytes::schema(definitions));
        json!({ "type": "array", "prefixItems": [time, size], "minItems": 2, "maxItems": 2 })
    }
}

table! {
    /// A trace of a link's transmission opportunities, each for up to `bytes`. The trace repeats when it ends.
    TraceTable "capacity trace" {
        /// A mahimahi trace file beside the scenario file; excludes all other keys except `bytes`.
        file: String = "file";
        /// The unit of the times.
        tick: Duration = "tick";
        /// The times of the opportunities, ascending.
        times: Vec<Spanned<u64>> = "times";
        /// The length of the trace.
        period: Duration = "period";
        /// The maximum amount sent per opportunity.
        bytes: Bytes = "bytes" or r#""1500 B""#;
    }
}

/// A capacity trace: a file name, or a table.
#[derive(Clone, Debug)]
pub enum Trace {
    /// A mahimahi trace file.
    File(String),
    /// A table.
    Table(Box<TraceTable>),
}

impl Decode for Trace {
    fn expected() -> String {
        "the name of a trace file, or a table".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::String(file) => Some(Self::File(file.clone())),
            ValueKind::Table(_) => {
                TraceTable::decode(value, report).map(|table| Self::Table(Box::new(table)))
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let table = TraceTable::schema(definitions);
        json!({ "anyOf": [{ "type": "string" }, table] })
    }
}
