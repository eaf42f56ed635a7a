//! Gates and the kernel's TCP: two programs on one node.

use super::test_scenarios::node_with_gate;
use super::{Shell, play_part, supports_live_networks};
use serde_json::Value;

/// Returns the goodput in Mbit/s of the flow with this name, and the number of TCP retransmissions.
fn goodput_and_retransmissions(results: &Value, name: &str) -> (f64, f64) {
    let flows = results["runs"][0]["flows"].as_array().unwrap();
    let flow = flows.iter().find(|flow| flow["name"] == name);
    let flow = flow.unwrap_or_else(|| panic!("no `{name}` in {flows:?}"));
    (flow["goodput_bps"].as_f64().unwrap() / 1e6, flow["retransmissions"].as_f64().unwrap_or(0.0))
}

fn two_programs(gate: &str, queue: &str, span: u32) -> Value {
    let shell = Shell::new(&node_with_gate(gate, queue))
        .args(&["--json"])
        .meanwhile("server", "receive 5001")
        .args(&["--run", &format!("server={}", play_part("receive 5003"))]);
    let text = shell.run(&format!("send-two server {span}"));
    // The output of test programs precedes the document.
    let document = text.find("\n{").map(|at| &text[at..]).unwrap();
    serde_json::Deserializer::from_str(document).into_iter().next().unwrap().unwrap()
}

/// With turns of 400 ms and 100 ms, the first program gets at least four times the goodput of the other, because TCP
/// restarts in each turn.
#[test]
fn turns_share_the_line_between_programs() {
    if !supports_live_networks() {
        return;
    }
    let gate = "{ kind = \"slots\", slot = \"10 ms\", slots = [40, 30, 20, 10, 10, 10] }";
    let results = two_programs(gate, "100 pkt", 6000);
    let [(call, _), (copy, _)] = ["call", "copy"].map(|name| goodput_and_retransmissions(&results, name));
    // A busy host shortens the first one's turns.
    assert!(call + copy > 6.0 && call > 2.0 * copy && copy > 0.05, "{call} and {copy} Mbit/s");
}

/// With a short queue, which overflows repeatedly, the lower priority is paused for much of the time, and the higher
/// one never.
#[test]
fn congestion_stops_the_program_that_matters_less() {
    if !supports_live_networks() {
        return;
    }
    let results = two_programs("{ kind = \"congestion\", check = \"500 ms\" }", "15 pkt", 6000);
    let [(call, _), (copy, _)] = ["call", "copy"].map(|name| goodput_and_retransmissions(&results, name));
    assert!(call > 6.0 && call > 1.4 * copy, "{call} and {copy} Mbit/s");
}
