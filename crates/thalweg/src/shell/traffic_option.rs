//! `--traffic`: the flows of a scenario, carried over a live network; their results as a document and a table.

use crate::console_output::Error;
use crate::kernel_schemes::control_of;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use thalweg_catalog::Registry;
use thalweg_live::host::Host;
use thalweg_live::network_plan::Plan;
use thalweg_live::scenario_traffic::{
    CarriedFlow, Carrier, GroupCarrier, MAX_FLOWS, Sample, Traffic, TrafficError,
};
use thalweg_net::flow::Scheme;
use thalweg_report::output::{Align, Table, format_rate, format_seconds};
use thalweg_scenario::LoadedScenario;
use thalweg_sim::simulation_spec::Spec;

/// The flows of a scenario, and the option's text.
#[derive(Clone, Debug)]
pub struct TrafficOption {
    text: String,
    traffic: Traffic,
}

/// Outcome of all flows.
#[derive(Debug)]
pub struct TrafficOutcome {
    /// JSON document.
    pub document: Value,
    /// Descriptions of failed flows.
    pub failures: Vec<String>,
}

impl TrafficOption {
    /// Returns the traffic of a scenario, over this scheme or `kernel:` and a congestion control; of `groups` alone
    /// where some are named, and of the others over their own schemes. Adds the flows' ports to the plan.
    pub fn new(
        (text, groups): (&str, &[String]),
        plan: &mut Plan,
        loaded: &LoadedScenario,
        spec: &Spec,
        length: thalweg_proto::units::Duration,
        registry: &Registry,
    ) -> Result<Self, Error> {
        let chosen = Arc::new(find_carrier(text, registry)?);
        let named = match groups {
            [] => (1..=spec.groups.len()).collect(),
            names => loaded.groups_named(names).map_err(|why| Error::argument("traffic-flows", why))?,
        };
        let of_group = |position: usize| -> Result<Arc<GroupCarrier>, Error> {
            if named.contains(&(position + 1)) {
                return Ok(Arc::clone(&chosen));
            }
            Ok(Arc::new(find_carrier(&own_scheme(loaded, spec, position), registry)?))
        };
        let carriers = (0..spec.groups.len()).map(of_group).collect::<Result<Vec<_>, _>>()?;
        let traffic = Traffic::new(|position| Arc::clone(&carriers[position]), plan, spec, length)
            .map_err(traffic_usage_error)?;
        Ok(Self { text: text.to_owned(), traffic })
    }

    /// Carries all flows until the last has ended or the run is over.
    pub fn run(&self, hosts: &[Host], is_over: impl Fn() -> bool) -> Result<TrafficOutcome, Error> {
        let flows = self.traffic.run(hosts, is_over).map_err(traffic_usage_error)?;
        let failures = flows
            .iter()
            .filter_map(|flow| Some(format!("{}: {}", flow.name, flow.failure.as_ref()?)))
            .collect();
        let documents: Vec<Value> = flows.iter().map(flow_document).collect();
        Ok(TrafficOutcome { document: json!({ "traffic": self.text, "flows": documents }), failures })
    }
}

/// Returns the transport with this name.
fn find_carrier(text: &str, registry: &Registry) -> Result<GroupCarrier, Error> {
    let carrier = match control_of(text)? {
        Some(control) => Carrier::Kernel(control.to_owned()),
        None => {
            let scheme = Scheme::read(text, registry).and_then(|scheme| scheme.at_rate(None));
            let scheme = scheme
                .map_err(|error| Error::argument("traffic", error.offering_reliable(registry).to_string()))?;
            if !scheme.is_reliable() {
                return Err(Error::argument(
                    "traffic",
                    format!("flows of {text} are not reliable, and have no goodput of a stream"),
                ));
            }
            Carrier::Ours(Box::new(scheme))
        }
    };
    Ok(GroupCarrier { label: text.to_owned(), carrier })
}

/// Returns the scheme of a group with its explicit options on real paths, as text.
fn own_scheme(loaded: &LoadedScenario, spec: &Spec, position: usize) -> String {
    let Some(in_use) = loaded.schemes.get(&position) else {
        return spec.groups[position].transport.scheme.to_string();
    };
    let explicit = in_use.values.explicit_values().iter().filter(|(key, _)| key.is_live());
    let options = explicit.map(|(key, value)| format!("{}={}", key.name, value.to_string().replace(' ', "")));
    let options: Vec<String> = options.collect();
    let colon = if options.is_empty() { "" } else { ":" };
    format!("{}{colon}{}", in_use.description.name, options.join(","))
}

/// Converts an error, with the option that remedies it.
fn traffic_usage_error(error: TrafficError) -> Error {
    match error {
        TrafficError::TooManyFlows => Error::Usage(format!(
            "--traffic carries at most {MAX_FLOWS} flows: make it fewer (`--set flow.1.count=...`)"
        )),
        TrafficError::NotBulk(name) => Error::Usage(format!(
            "--traffic carries bulk flows alone, and `{name}` is none: `--set flow.N.workload=bulk`, or a command of your own"
        )),
        error @ TrafficError::StartsLate { .. } => Error::Usage(error.to_string()),
        error => Error::Failed(error.to_string()),
    }
}

impl TrafficOutcome {
    /// Returns the outcome as a table.
    pub fn table(&self) -> Table {
        let heads = ["Goodput", "Retransmitted", "Window", "RTT"].map(|head| (head, Align::Right));
        let [goodput, resent, window, rtt] = heads;
        let mut table =
            Table::new([("Carried", Align::Left), ("By", Align::Left), goodput, resent, window, rtt]);
        for flow in self.document["flows"].as_array().into_iter().flatten() {
            let number = |name: &str| flow[name].as_f64();
            table.row([
                flow["name"].as_str().unwrap_or_default().to_owned(),
                flow["by"].as_str().unwrap_or_default().to_owned(),
                format_rate(number("goodput_bps").unwrap_or(0.0)),
                number("retransmissions").map_or("-".to_owned(), |count| format!("{count:.0}")),
                number("mean_window_packets").map_or("-".to_owned(), |packets| format!("{packets:.1}")),
                number("mean_smoothed_rtt_s").map_or("-".to_owned(), format_seconds),
            ]);
        }
        table
    }
}

fn flow_document(flow: &CarriedFlow) -> Value {
    let series =
        |of: &dyn Fn(&(Duration, Sample)) -> Value| -> Vec<Value> { flow.samples.iter().map(of).collect() };
    json!({
        "name": flow.name,
        "by": flow.transport,
        "goodput_bps": flow.goodput_bps(),
        "retransmissions": flow.retransmissions(),
        "mean_window_packets": flow.mean(|sample| sample.window),
        "mean_smoothed_rtt_s": flow.mean(|sample| sample.rtt),
        "series": {
            "time_s": series(&|(at, _)| json!(at.as_secs_f64())),
            "delivered_bytes": series(&|(_, sample)| json!(sample.delivered)),
            "window_packets": series(&|(_, sample)| json!(sample.window)),
            "smoothed_rtt_s": series(&|(_, sample)| json!(sample.rtt)),
            "retransmissions": series(&|(_, sample)| json!(sample.retransmissions)),
        },
    })
}
