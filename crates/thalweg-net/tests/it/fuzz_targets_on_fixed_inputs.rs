//! The fuzz targets of the network protocol, run on fixed inputs.

use thalweg_proto::random::Stream;

fn random_octets(draw: &mut Stream, max: u64) -> Vec<u8> {
    let length = draw.below(max);
    (0..length).map(|_| draw.bits() as u8).collect()
}

#[test]
fn any_datagrams_change_nothing() {
    let mut draw = Stream::new(1, "datagrams", 0);
    for _ in 0..300 {
        crate::fuzz_targets::datagrams::run(&random_octets(&mut draw, 600));
    }
}

#[test]
fn any_frames_of_a_peer_do_no_harm() {
    let mut draw = Stream::new(2, "frames", 0);
    for _ in 0..2000 {
        let mut script = vec![draw.bits() as u8, draw.bits() as u8];
        frames(&mut draw, &mut script);
        crate::fuzz_targets::session::run(&script);
    }
}

/// Scripts of a session: mostly PDUs, of either flow.
fn frames(draw: &mut Stream, script: &mut Vec<u8>) {
    for _ in 0..draw.below(60) {
        script.push(draw.bits() as u8);
        let kind = [8, 9, draw.below(12)][draw.below(3) as usize] as u8;
        let body = random_octets(draw, 60);
        script.push(body.len() as u8 + 2);
        script.extend([kind, draw.below(2) as u8]);
        script.extend(body);
    }
}

#[test]
fn any_options_of_a_peer_do_no_harm() {
    let mut draw = Stream::new(4, "options", 0);
    for _ in 0..2000 {
        let mut script = vec![draw.bits() as u8, draw.below(8) as u8];
        script.extend((0..2 * script[1]).map(|_| draw.bits() as u8));
        script.push(draw.bits() as u8);
        frames(&mut draw, &mut script);
        crate::fuzz_targets::scheme_negotiation::run(&script);
    }
}

#[test]
fn random_bytes_never_pair() {
    let mut draw = Stream::new(5, "pairing", 0);
    for _ in 0..3000 {
        crate::fuzz_targets::pairing::run(&random_octets(&mut draw, 200));
    }
}

#[test]
fn random_bytes_do_not_break_a_transfer() {
    let mut draw = Stream::new(3, "transfer", 0);
    for _ in 0..2000 {
        crate::fuzz_targets::file_transfer_peer::run(&random_octets(&mut draw, 200));
    }
}
