use super::*;
use std::path::Path;
use thalweg_scenario::load_text;
use thalweg_sim::{Simulation, Status};

/// Example of the paper on adaptive acknowledgement (Lee et al. 1997, section 3.1) as a run: packets 2 to 5 and 7 are
/// lost.
const RECOVERY: &str = include_str!("../../../../../scenarios/recovery.toml");

fn run(sets: &[&str], view: View) -> Sequence {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let loaded = load_text("recovery.toml", RECOVERY, Path::new("."), &sets).unwrap();
    let mut simulation = Simulation::new(loaded.spec(), Sequence::new(view)).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().1
}

fn labels(sequence: &Sequence) -> Vec<String> {
    let mark = |message: &Message| match message.outcome {
        PacketOutcome::Lost(_) => " lost",
        PacketOutcome::InTransit => " ...",
        PacketOutcome::Arrived(_) => "",
    };
    let again = |message: &Message| if message.is_retransmission { "again " } else { "" };
    let line = |message: &Message| format!("{}{}{}", again(message), message.label, mark(message));
    sequence.messages.iter().map(line).collect()
}

#[test]
fn a_run_shows_the_recovery_that_the_paper_works_through() {
    let sequence = run(&[], View { times: Time::ZERO..Time::from_picos(60_000_000_000), ..View::default() });
    let mut got = labels(&sequence);
    // Packets sent at either endpoint at about the same time may appear in any order.
    got.sort_by_key(|label| label.starts_with("ACK"));
    let expected = [
        "DATA 1",
        "DATA 2 lost",
        "DATA 3 lost",
        "DATA 4 lost",
        "DATA 5 lost",
        "DATA 6",
        "DATA 7 lost",
        "DATA 8",
        "again DATA 2",
        "again DATA 3",
        "again DATA 4",
        "again DATA 5",
        "again DATA 7",
        "ACK ((2, 2), 2)",
        "ACK ((2, 6), 2)",
        "ACK ((7, 8), 2)",
        "ACK ((9, 9), 9)",
    ];
    assert_eq!(got, expected);
}

#[test]
fn text_has_a_line_for_each_end_of_an_arrow() {
    let sequence = run(&[], View { max: 3, ..View::default() });
    let text = sequence.text();
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    assert!(lines[0].starts_with("ms  sender"), "{text}");
    assert!(lines[1].starts_with("0.") && lines[1].ends_with("DATA 1 ->"), "{text}");
    assert!(lines[2].ends_with("-> DATA 1"), "{text}");
    assert!(lines[3].ends_with("<- ACK ((2, 2), 2)"), "{text}");
    assert!(lines[4].contains("ACK ((2, 2), 2) <-"), "{text}");
    assert!(lines[5].ends_with("DATA 2 ->") && lines[6].ends_with("DATA 2 lost"), "{text}");
    assert!(text.ends_with(" further packets are not shown\n"), "{text}");
    assert_eq!(sequence.counts().0, 3);
}

#[test]
fn a_picture_has_an_arrow_for_each_packet() {
    let sequence = run(&[], View { max: 17, ..View::default() });
    let svg = sequence.svg("a < b & \"c\"");
    assert!(svg.contains("a &lt; b &amp; &quot;c&quot;"));
    assert!(
        svg.contains("matrix(") && !svg.contains("rotate("),
        "labels turn by numbers that are the same everywhere"
    );
    assert_eq!(svg.matches("stroke-width=\"1.4\"").count(), 17);
    // Five packets are lost, and marked with a cross.
    assert_eq!(svg.matches("m0 -8l-8 8").count(), 5);
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    // No event: still a picture.
    let empty = run(&[], View { flow: 7, ..View::default() });
    assert!(empty.svg("nothing").ends_with("</svg>\n") && empty.counts() == (0, 0));
}

#[test]
fn window_flows_are_drawn_with_positions() {
    let sequence = run(&["flow.1.scheme=newreno"], View { max: 2, ..View::default() });
    assert_eq!(labels(&sequence), ["segment 0..1008", "ack 1008"]);
}
