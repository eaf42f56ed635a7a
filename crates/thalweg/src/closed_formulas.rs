//! `thalweg model` for closed formulas: TCP throughput under loss, queueing delay, bandwidth-delay product.

use crate::console_output::{CommandResult, Console, Error};
use crate::value_parsers::{
    above_zero, at_least_one, not_negative, parse_factor, parse_load, parse_nonzero, parse_open_probability,
};
use clap::Args;
use serde_json::{Map, Value, json};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_report::output::{Align, Table, format_rate, format_seconds};
use thalweg_sim::closed_formulas;

/// The arguments shared by the formulas of TCP's response to loss.
#[derive(Debug, Args)]
pub struct LossyPath {
    /// p: segment loss probabilities
    #[arg(long = "p", value_name = "P,..", value_delimiter = ',', default_value = "1e-4,1e-3,1e-2", value_parser = parse_open_probability, allow_hyphen_values = true)]
    pub loss: Vec<f64>,
    /// Round-trip time, including queueing delay
    #[arg(long, value_name = "TIME", default_value = "100 ms", value_parser = parse_nonzero::<Duration>)]
    pub rtt: Duration,
    /// Payload of a segment
    #[arg(long, value_name = "SIZE", default_value = "1448 B", value_parser = parse_nonzero::<Bytes>)]
    pub segment: Bytes,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `thalweg model mathis`.
#[derive(Debug, Args)]
pub struct MathisArguments {
    /// The path.
    #[command(flatten)]
    pub path: LossyPath,
    /// b: segments per acknowledgement (2 with delayed acknowledgements)
    #[arg(long = "b", value_name = "N", default_value = "1", value_parser = above_zero, allow_hyphen_values = true)]
    pub per_ack: f64,
}

/// `thalweg model padhye`.
#[derive(Debug, Args)]
pub struct PadhyeArguments {
    /// The path.
    #[command(flatten)]
    pub path: LossyPath,
    /// b: segments per acknowledgement (2 with delayed acknowledgements)
    #[arg(long = "b", value_name = "N", default_value = "1", value_parser = above_zero, allow_hyphen_values = true)]
    pub per_ack: f64,
    /// T0: initial retransmission timeout; default: the round-trip time plus 200 ms
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Duration>,
    /// Wm: maximum window in segments; default: unlimited
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_hyphen_values = true)]
    pub max_window: Option<f64>,
}

/// `thalweg model cubic`.
#[derive(Debug, Args)]
pub struct CubicArguments {
    /// The path.
    #[command(flatten)]
    pub path: LossyPath,
    /// C: window growth constant, in segments/s³
    #[arg(long = "c", value_name = "C", default_value = "0.4", value_parser = above_zero, allow_hyphen_values = true)]
    pub c: f64,
    /// beta: multiplicative decrease factor at a loss
    #[arg(long, value_name = "BETA", default_value = "0.7", value_parser = parse_factor, allow_hyphen_values = true)]
    pub beta: f64,
}

/// `thalweg model md1` and `thalweg model mg1`.
#[derive(Debug, Args)]
pub struct QueueArguments {
    /// rho: offered loads, as shares of the rate
    #[arg(long = "load", value_name = "RHO,..", value_delimiter = ',', default_value = "0.5,0.8,0.9", value_parser = parse_load, allow_hyphen_values = true)]
    pub loads: Vec<f64>,
    /// Link rate
    #[arg(long, value_name = "RATE", default_value = "10 Mbit/s", value_parser = parse_nonzero::<Rate>)]
    pub rate: Rate,
    /// Mean packet size on the wire
    #[arg(long, value_name = "SIZE", default_value = "1500 B", value_parser = parse_nonzero::<Bytes>)]
    pub packet: Bytes,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `thalweg model mg1`.
#[derive(Debug, Args)]
pub struct Mg1Arguments {
    /// The queue.
    #[command(flatten)]
    pub queue: QueueArguments,
    /// Squared coefficient of variation of packet sizes: 0 for equal sizes, 1/3 for sizes uniform from zero, 1 for
    /// exponential sizes
    #[arg(long = "variation", value_name = "V", default_value = "1", value_parser = not_negative, allow_hyphen_values = true)]
    pub variation: f64,
}

/// `thalweg model buffer`.
#[derive(Debug, Args)]
pub struct BufferArguments {
    /// Link rate
    #[arg(long, value_name = "RATE", default_value = "100 Mbit/s", value_parser = parse_nonzero::<Rate>)]
    pub rate: Rate,
    /// Round-trip time without queueing delay
    #[arg(long, value_name = "TIME", default_value = "50 ms", value_parser = parse_nonzero::<Duration>)]
    pub rtt: Duration,
    /// n: numbers of flows
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,10,100,1000", value_parser = at_least_one, allow_hyphen_values = true)]
    pub flows: Vec<f64>,
    /// Packet size on the wire
    #[arg(long, value_name = "SIZE", default_value = "1500 B", value_parser = parse_nonzero::<Bytes>)]
    pub packet: Bytes,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

pub fn mathis(of: &MathisArguments, console: &Console) -> CommandResult {
    response_table("mathis", &of.path, console, |p, _| closed_formulas::mathis_window(p, of.per_ack))
}

pub fn padhye(of: &PadhyeArguments, console: &Console) -> CommandResult {
    let timeout = of.timeout.unwrap_or(of.path.rtt + Duration::from_millis(200)).as_secs_f64();
    let max_window = of.max_window.unwrap_or(f64::INFINITY);
    response_table("padhye", &of.path, console, |p, rtt| {
        closed_formulas::padhye_rate(p, rtt, timeout, of.per_ack, max_window)
            .map(|sent| sent * rtt * (1.0 - p))
    })
}

pub fn cubic(of: &CubicArguments, console: &Console) -> CommandResult {
    let rtt = of.path.rtt.as_secs_f64();
    let mut rows = Rows::new(["p", "Window, segments", "Goodput", "Region"]);
    for &p in &of.path.loss {
        let window = in_domain(closed_formulas::cubic_window(p, rtt, of.c, of.beta))?;
        let [region, name] = match closed_formulas::is_reno_friendly(p, rtt, of.c, of.beta) {
            Some(true) => ["Reno-friendly", "reno-friendly"],
            _ => ["CUBIC", "cubic"],
        };
        let (cells, mut result) = response_row(&of.path, p, window);
        let [p, window, goodput] = cells;
        result["region"] = json!(name);
        rows.add([p, window, goodput, region.to_owned()], result);
    }
    rows.print("cubic", &response_inputs(&of.path), of.path.json, console)
}

/// Builds a table of windows and rates by loss; `window` is in segments.
fn response_table(
    name: &str,
    path: &LossyPath,
    console: &Console,
    window: impl Fn(f64, f64) -> Option<f64>,
) -> CommandResult {
    let mut rows = Rows::new(["p", "Window, segments", "Goodput"]);
    for &p in &path.loss {
        let (cells, result) = response_row(path, p, in_domain(window(p, path.rtt.as_secs_f64()))?);
        rows.add(cells, result);
    }
    rows.print(name, &response_inputs(path), path.json, console)
}

/// Returns the row of a window in segments, for people and for programs.
fn response_row(path: &LossyPath, p: f64, window: f64) -> ([String; 3], Value) {
    let bps = window * path.segment.get() as f64 * 8.0 / path.rtt.as_secs_f64();
    let shown = if p < 1e-3 { format!("{p:e}") } else { p.to_string() };
    let result = json!({ "p": p, "window_segments": window, "goodput_bps": bps });
    ([shown, format!("{window:.2}"), format_rate(bps)], result)
}

fn response_inputs(path: &LossyPath) -> Value {
    json!({ "rtt_s": path.rtt.as_secs_f64(), "segment_bytes": path.segment.get() })
}

pub fn md1(of: &QueueArguments, console: &Console) -> CommandResult {
    queue_table("md1", of, 0.0, console)
}

pub fn mg1(of: &Mg1Arguments, console: &Console) -> CommandResult {
    queue_table("mg1", &of.queue, of.variation, console)
}

fn queue_table(name: &str, of: &QueueArguments, variation: f64, console: &Console) -> CommandResult {
    let service = of.packet.get() as f64 * 8.0 / of.rate.as_f64();
    let mut rows = Rows::new(["Load", "Wait", "Wait and service", "Queue, packets"]);
    for &load in &of.loads {
        let wait = in_domain(closed_formulas::mg1_wait(load, variation))?;
        rows.add(
            [
                load.to_string(),
                format_seconds(wait * service),
                format_seconds((wait + 1.0) * service),
                format!("{:.3}", wait * load),
            ],
            json!({
                "load": load,
                "wait_s": wait * service,
                "sojourn_s": (wait + 1.0) * service,
                "queue_packets": wait * load,
            }),
        );
    }
    let inputs = json!({ "rate_bps": of.rate.as_bits_per_sec(), "packet_bytes": of.packet.get(), "variation": variation });
    rows.print(name, &inputs, of.json, console)
}

pub fn buffer_formula(of: &BufferArguments, console: &Console) -> CommandResult {
    let (rate, rtt, packet) = (of.rate.as_f64(), of.rtt.as_secs_f64(), of.packet.get() as f64);
    let mut rows = Rows::new(["Flows", "Bytes", "Packets", "Time"]);
    for &flows in &of.flows {
        let bytes = in_domain(closed_formulas::small_buffer_bytes(rate, rtt, flows))?;
        let time = bytes * 8.0 / rate;
        rows.add(
            [
                flows.to_string(),
                format!("{bytes:.0}"),
                format!("{:.1}", bytes / packet),
                format_seconds(time),
            ],
            json!({ "flows": flows, "bytes": bytes, "packets": bytes / packet, "time_s": time }),
        );
    }
    let bdp = in_domain(closed_formulas::bdp_bytes(rate, rtt))?;
    let inputs = json!({
        "rate_bps": of.rate.as_bits_per_sec(),
        "rtt_s": rtt,
        "packet_bytes": of.packet.get(),
        "bdp_bytes": bdp,
    });
    rows.print("buffer", &inputs, of.json, console)
}

fn in_domain(value: Option<f64>) -> Result<f64, Error> {
    value.filter(|value| value.is_finite()).ok_or_else(|| {
        Error::Usage(
            "the formula has no value there: its numbers are too large or too small to compute with"
                .to_owned(),
        )
    })
}

/// The results of a formula, for people and for programs.
struct Rows<const N: usize> {
    table: Table,
    results: Vec<Value>,
}

impl<const N: usize> Rows<N> {
    fn new(heads: [&str; N]) -> Self {
        Self { table: Table::with_columns(heads.map(|head| (head, Align::Right))), results: Vec::new() }
    }

    fn add(&mut self, cells: [String; N], result: Value) {
        self.table.row(cells);
        self.results.push(result);
    }

    fn print(self, name: &str, inputs: &Value, as_json: bool, console: &Console) -> CommandResult {
        if !as_json {
            return console.print(&self.table.render(console.style));
        }
        let mut document = Map::new();
        document.insert("model".to_owned(), json!(name));
        document.extend(inputs.as_object().cloned().unwrap_or_default());
        document.insert("results".to_owned(), Value::Array(self.results));
        let text =
            serde_json::to_string_pretty(&document).map_err(|error| Error::Failed(error.to_string()))?;
        console.print(&format!("{text}\n"))
    }
}
