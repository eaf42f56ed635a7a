//! Gates on the kernel's TCP: two programs beside each other at a node.

use super::scenarios::gated;
use super::{Shell, can, play_part};
use serde_json::Value;

/// The goodput in Mbit/s of the flow of that name, and the packets that TCP sent again.
fn of(results: &Value, name: &str) -> (f64, f64) {
    let flows = results["runs"][0]["flows"].as_array().unwrap();
    let flow = flows.iter().find(|flow| flow["name"] == name);
    let flow = flow.unwrap_or_else(|| panic!("no `{name}` in {flows:?}"));
    (flow["goodput_bps"].as_f64().unwrap() / 1e6, flow["retransmissions"].as_f64().unwrap_or(0.0))
}

fn two_programs(gate: &str, queue: &str, span: u32) -> Value {
    let shell = Shell::new(&gated(gate, queue))
        .args(&["--json"])
        .meanwhile("server", "receive 5001")
        .args(&["--run", &format!("server={}", play_part("receive 5003"))]);
    let text = shell.run(&format!("send-two server {span}"));
    // Parts say what they did before.
    let document = text.find("\n{").map(|at| &text[at..]).unwrap();
    serde_json::Deserializer::from_str(document).into_iter().next().unwrap().unwrap()
}

/// Turns of 400 ms and of 100 ms: the first program has four times as much as the other or more, as TCP begins anew in each turn.
#[test]
fn turns_share_the_line_between_programs() {
    if !can() {
        return;
    }
    let gate = "{ kind = \"slots\", slot = \"10 ms\", slots = [40, 30, 20, 10, 10, 10] }";
    let results = two_programs(gate, "100 pkt", 6000);
    let [(call, _), (copy, _)] = ["call", "copy"].map(|name| of(&results, name));
    // A busy host takes something off the first one's turns.
    assert!(call + copy > 6.0 && call > 2.0 * copy && copy > 0.05, "{call} and {copy} Mbit/s");
}

/// With a short queue, which overflows again and again, the lower priority is stopped for much of the time, and the higher never is.
#[test]
fn congestion_stops_the_program_that_matters_less() {
    if !can() {
        return;
    }
    let results = two_programs("{ kind = \"congestion\", check = \"500 ms\" }", "15 pkt", 6000);
    let [(call, _), (copy, _)] = ["call", "copy"].map(|name| of(&results, name));
    assert!(call > 6.0 && call > 1.4 * copy, "{call} and {copy} Mbit/s");
}
