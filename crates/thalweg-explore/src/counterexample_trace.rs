//! A counter-example as a trace of packets.

use super::endpoint_pair::End;
use super::explored_state::{State, Step, TraceEvent};
use super::{Bounds, Scheme, Tag};
use thalweg_proto::pdu::DataUnit;

/// Maximum number of trace lines for a fault-free continuation.
const MAX_LINES: usize = 60;

/// Repeats the steps and returns their trace, followed by this many fault-free steps, if any.
pub fn replay_trace<S: Scheme>(
    scheme: &S,
    bounds: &Bounds,
    steps: &[Step],
    fault_free_steps: Option<usize>,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut events = Vec::new();
    let Ok(mut state) = State::first(scheme, bounds, &mut |what| events.push(what)) else { return lines };
    lines.push(format!("{} packets are written", bounds.messages));
    add_event_lines(&mut lines, &mut events);
    let mut wrong = false;
    for &step in steps {
        wrong |= !take_step(scheme, &mut state, step, &mut lines);
    }
    if let Some(count) = fault_free_steps.filter(|_| !wrong) {
        lines.push("from here on the channel is fault-free".to_owned());
        for _ in 0..count.min(MAX_LINES) {
            let Some(step) = state.next_fault_free_step() else { break };
            if !take_step(scheme, &mut state, step, &mut lines) {
                break;
            }
        }
        if count > MAX_LINES {
            lines.push(format!("and {} more steps", count - MAX_LINES));
        }
    }
    lines
}

/// Takes a step; returns false on a violation.
fn take_step<S: Scheme>(scheme: &S, state: &mut State<S>, step: Step, lines: &mut Vec<String>) -> bool {
    let subject = state.subject(step).map(DataUnit::description).unwrap_or_default();
    lines.push(match step {
        Step::Arrive(end) => format!("{subject} arrives at the {}", end.name()),
        Step::Lose(end) => format!("{subject} to the {} is lost", end.name()),
        Step::Copy(end) => format!("{subject} to the {} is duplicated", end.name()),
        Step::Hold(end) => format!("{subject} to the {} is delayed", end.name()),
        Step::Late(end, _) => format!("{subject} arrives at the {} late", end.name()),
        Step::Expire(end) => format!("the {}'s timer expires after {}", end.name(), state.wait(end)),
        Step::Go => "the sender's rate allows it to continue".to_owned(),
        Step::Read => "the application reads a byte".to_owned(),
        Step::ExpireEarly(end) => {
            format!("the {}'s timer expires early, after {}", end.name(), state.wait(end))
        }
    });
    let mut events = Vec::new();
    let went_well = state.take(scheme, step, &mut |what| events.push(what)).is_ok();
    add_event_lines(lines, &mut events);
    went_well
}

fn add_event_lines<U: DataUnit<Tag>>(lines: &mut Vec<String>, events: &mut Vec<TraceEvent<U>>) {
    lines.extend(events.drain(..).map(|events| match events {
        TraceEvent::Pdu(End::Sender, pdu) => format!("    sender -> {}", pdu.description()),
        TraceEvent::Pdu(End::Receiver, pdu) => format!("    receiver -> {}", pdu.description()),
        TraceEvent::Delivered(tag) if tag.length == 1 => format!("    delivered: packet {}", tag.start + 1),
        TraceEvent::Delivered(tag) => {
            format!("    delivered: packets {} to {}", tag.start + 1, tag.start + tag.length)
        }
        TraceEvent::LeftOut(packets) => format!("    skipped: {packets} packets"),
        TraceEvent::Finished => "    the sender has finished".to_owned(),
    }));
}
