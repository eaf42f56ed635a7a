//! `thalweg model`: published analytical models.

use crate::closed_formulas::{
    self, BufferArguments, CubicArguments, MathisArguments, Mg1Arguments, PadhyeArguments, QueueArguments,
};
use crate::console_output::{CommandResult, Console, Error};
use crate::value_parsers::{parse_nonzero, parse_positive, parse_probability};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::num::NonZeroU32;
use thalweg_proto::units::{Bytes, Duration, Rate, Segments, UnitError};
use thalweg_report::output::{Align, Table};
use thalweg_studies::model::gong92::{Analysis, Form, Path};

/// `thalweg model`.
#[derive(Debug, Args)]
pub struct ModelArguments {
    /// Model to compute; without one, all are listed with their sources
    #[command(subcommand)]
    pub model: Option<Model>,
}

/// The analytical models.
#[derive(Debug, Subcommand)]
pub enum Model {
    /// Two-level flow control (Gong and Parulkar 1992): delays and throughput efficiency
    Gong92(Gong92Arguments),
    /// Reno through random loss, without timeouts: too high for losses above 1 % (Mathis et al. 1997)
    Mathis(MathisArguments),
    /// Reno through random loss, including timeouts (Padhye et al. 1998)
    Padhye(PadhyeArguments),
    /// CUBIC through periodic loss, without timeouts: the larger window of its concave and its Reno-friendly region (RFC
    /// 9438, sections 5.1 and 4.3)
    Cubic(CubicArguments),
    /// Waiting time in a queue with Poisson arrivals and packets of one size (M/D/1)
    Md1(QueueArguments),
    /// Waiting time in a queue with Poisson arrivals and packets of random sizes (M/G/1)
    Mg1(Mg1Arguments),
    /// Bandwidth-delay product, and the buffer that suffices for n flows
    Buffer(BufferArguments),
}

/// Name, subject, limits and source of each model.
const MODELS: [[&str; 4]; 7] = [
    [
        "gong92",
        "delays and throughput efficiency of two-level flow control",
        "independent losses",
        "Gong and Parulkar 1992, section 4.2",
    ],
    [
        "mathis",
        "W = sqrt(3 / (2 b p))",
        "no timeouts: too high above p = 1 %; any window, any rate",
        "Mathis, Semke, Mahdavi and Ott 1997",
    ],
    [
        "padhye",
        "Reno's rate with timeouts and a maximum window",
        "a loss takes the rest of its round trip with it; any rate",
        "Padhye, Firoiu, Towsley and Kurose 1998, eq. 32",
    ],
    [
        "cubic",
        "W = (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4), or sqrt(3 / (2 p)) where larger",
        "one loss in 1/p segments, no timeouts; any window, any rate",
        "RFC 9438, sections 5.1 (eq. 5) and 4.3",
    ],
    ["md1", "wait = s rho / (2 (1 - rho))", "unlimited queue", "Pollaczek 1930, Khinchine 1932"],
    ["mg1", "wait = s rho (1 + v) / (2 (1 - rho))", "unlimited queue", "Pollaczek 1930, Khinchine 1932"],
    [
        "buffer",
        "rate RTT / sqrt(n)",
        "Reno; n > 1: flows that are not synchronised",
        "Villamizar and Song 1994; Appenzeller et al. 2004",
    ],
];

/// `thalweg model gong92`.
#[derive(Debug, Args)]
pub struct Gong92Arguments {
    /// p: packet loss probabilities
    #[arg(
        long = "p",
        value_name = "P,..",
        value_delimiter = ',',
        default_value = "0.001",
        value_parser = parse_probability,
        allow_hyphen_values = true
    )]
    pub loss: Vec<f64>,
    /// W: windows in segments, or as multiples of w_a ("2.5wa")
    #[arg(
        long = "window",
        value_name = "W,..",
        value_delimiter = ',',
        default_value = "2.5wa",
        value_parser = parse_window,
        allow_hyphen_values = true
    )]
    pub windows: Vec<Segments>,
    /// A: rate of the connection
    #[arg(long, value_name = "RATE", default_value = "100 Mbit/s", value_parser = parse_nonzero::<Rate>)]
    pub rate: Rate,
    /// RTD: round-trip delay
    #[arg(long, value_name = "TIME", default_value = "30 ms")]
    pub rtd: Duration,
    /// l: packet size
    #[arg(long, value_name = "SIZE", default_value = "1024 B", value_parser = parse_nonzero::<Bytes>)]
    pub packet: Bytes,
    /// s: packets per segment
    #[arg(long, value_name = "N", default_value = "16", value_parser = parse_positive::<NonZeroU32>)]
    pub segment: NonZeroU32,
    /// Use the formula for windows from w_a + 1 to 2 w_a + 1 as printed in the paper, instead of the corrected form
    #[arg(long)]
    pub printed: bool,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Parses a window above zero; the default unit is segments.
fn parse_window(text: &str) -> Result<Segments, String> {
    let window = match text.parse::<Segments>() {
        Err(UnitError::NoUnit { .. }) => format!("{text} seg").parse(),
        parsed => parsed,
    };
    match window {
        Ok(window) if window.at(1.0) > 0.0 => Ok(window),
        Ok(_) | Err(UnitError::Negative) => Err("a window must be above 0".to_owned()),
        Err(_) => Err("expected a number of segments, such as 58, or of w_a, such as 2.5wa".to_owned()),
    }
}

/// Computes a model and prints it.
pub fn model(of: Option<&Model>, console: &Console) -> CommandResult {
    match of {
        None => list_models(console),
        Some(Model::Gong92(arguments)) => gong92(arguments, console),
        Some(Model::Mathis(arguments)) => closed_formulas::mathis(arguments, console),
        Some(Model::Padhye(arguments)) => closed_formulas::padhye(arguments, console),
        Some(Model::Cubic(arguments)) => closed_formulas::cubic(arguments, console),
        Some(Model::Md1(arguments)) => closed_formulas::md1(arguments, console),
        Some(Model::Mg1(arguments)) => closed_formulas::mg1(arguments, console),
        Some(Model::Buffer(arguments)) => closed_formulas::buffer_formula(arguments, console),
    }
}

fn list_models(console: &Console) -> CommandResult {
    let heads = ["Model", "What it computes", "Limits", "Source"];
    let mut table = Table::new(heads.map(|head| (head, Align::Left)));
    MODELS.iter().for_each(|of| table.row(of.map(str::to_owned)));
    console.print(&table.render(console.style))
}

fn gong92(arguments: &Gong92Arguments, console: &Console) -> CommandResult {
    let path = Path {
        rate: arguments.rate,
        round_trip: arguments.rtd,
        packet: arguments.packet,
        segment: arguments.segment.get(),
    };
    path.check().map_err(|error| Error::Usage(error.to_string()))?;
    let form = if arguments.printed { Form::Printed } else { Form::Corrected };
    let w_a = path.round_trip_window();
    let mut rows: Vec<(f64, f64, Analysis)> = Vec::new();
    for &p in &arguments.loss {
        for &window in &arguments.windows {
            let window = window.at(w_a);
            let analysis = path.analyse(p, window, form).map_err(|error| Error::Usage(error.to_string()))?;
            rows.push((p, window, analysis));
        }
    }
    if arguments.json {
        let document = json!({
            "model": "gong92",
            "form": if arguments.printed { "printed" } else { "corrected" },
            "rate_bps": path.rate.as_bits_per_sec(),
            "rtd_s": path.round_trip.as_secs_f64(),
            "packet_bytes": path.packet.get(),
            "segment_packets": path.segment,
            "t_p_s": path.packet_time(),
            "t_s_s": path.segment_time(),
            "t_a_s": path.acknowledgement_time(),
            "w_a_segments": w_a,
            "results": rows.iter().map(json_row).collect::<Vec<Value>>(),
        });
        let text =
            serde_json::to_string_pretty(&document).map_err(|error| Error::Failed(error.to_string()))?;
        return console.print(&format!("{text}\n"));
    }
    let mut text = console.style.folded(&format!(
        "t_p {:.3} us, t_s {:.4} ms, t_a {:.4} ms, w_a {w_a:.3} segments\n",
        path.packet_time() * 1e6,
        path.segment_time() * 1e3,
        path.acknowledgement_time() * 1e3,
    ));
    let heads = ["p", "W", "W / w_a", "ThE", "D_s, ms", "D_r, ms"];
    let mut table = Table::with_columns(heads.map(|head| (head, Align::Right)));
    for (p, window, analysis) in &rows {
        table.row([
            // Print small probabilities in scientific notation.
            if *p > 0.0 && *p < 1e-3 { format!("{p:e}") } else { p.to_string() },
            // Windows are unbounded; the formulas converge to a limit.
            if *window < 1e9 { format!("{window:.2}") } else { format!("{window:e}") },
            if *window < 1e9 { format!("{:.3}", window / w_a) } else { format!("{:e}", window / w_a) },
            format!("{:.4}", analysis.efficiency),
            format!("{:.4}", analysis.sender_delay * 1e3),
            format!("{:.4}", analysis.receiver_delay * 1e3),
        ]);
    }
    text.push_str(&table.render(console.style));
    console.print(&text)
}

fn json_row((p, window, analysis): &(f64, f64, Analysis)) -> Value {
    // With a loss probability of 1 delays are infinite, which JSON cannot express.
    let finite = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
    json!({
        "p": p,
        "window_segments": window,
        "efficiency": analysis.efficiency,
        "d_s_s": finite(analysis.sender_delay),
        "d_r_s": finite(analysis.receiver_delay),
        "rounds": finite(analysis.rounds),
    })
}
