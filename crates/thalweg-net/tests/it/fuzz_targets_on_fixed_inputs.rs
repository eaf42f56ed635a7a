//! The fuzz targets of the network protocol, run on fixed inputs.

use thalweg_proto::random::RandomStream;

fn random_octets(rng: &mut RandomStream, max: u64) -> Vec<u8> {
    let length = rng.below(max);
    (0..length).map(|_| rng.next_u64() as u8).collect()
}

#[test]
fn any_datagrams_change_nothing() {
    let mut rng = RandomStream::new(1, "datagrams", 0);
    for _ in 0..300 {
        crate::fuzz_targets::datagrams::run(&random_octets(&mut rng, 600));
    }
}

#[test]
fn any_frames_of_a_peer_do_no_harm() {
    let mut rng = RandomStream::new(2, "frames", 0);
    for _ in 0..2000 {
        // Scheme; side and knowledge of the peer, in bits 0 and 1; steps.
        let mut script = vec![rng.next_u64() as u8, rng.next_u64() as u8];
        append_steps(&mut rng, &mut script);
        crate::fuzz_targets::session::run(&script);
    }
}

/// Appends steps to the script of a session, mostly PDUs of either flow. A step is an opcode byte, whose bits 0 to 2 are the
/// action. Actions 0 to 4 deliver a packet: bit 3 of the opcode is the source address, bits 4 and 5 are the ECN codepoint, and bits
/// 6 and 7 the number of pieces of its payload less one. A piece is a length byte and that many bytes, here one frame: its type,
/// its flow number (0 or 1, two bytes) and random bytes.
fn append_steps(rng: &mut RandomStream, script: &mut Vec<u8>) {
    for _ in 0..rng.below(60) {
        let opcode = rng.next_u64() as u8;
        script.push(opcode);
        let kind = [8, 9, rng.below(12)][rng.below(3) as usize] as u8;
        let body = random_octets(rng, 60);
        script.push(body.len() as u8 + 3);
        script.extend([kind, 0, rng.below(2) as u8]);
        script.extend(body);
    }
}

#[test]
fn any_options_of_a_peer_do_no_harm() {
    let mut rng = RandomStream::new(4, "options", 0);
    for _ in 0..2000 {
        // Scheme; number of options; key and value of each; side and knowledge of the peer, in bits 0 and 1; steps.
        let mut script = vec![rng.next_u64() as u8, rng.below(8) as u8];
        script.extend((0..2 * script[1]).map(|_| rng.next_u64() as u8));
        script.push(rng.next_u64() as u8);
        append_steps(&mut rng, &mut script);
        crate::fuzz_targets::scheme_negotiation::run(&script);
    }
}

#[test]
fn random_bytes_never_pair() {
    let mut rng = RandomStream::new(5, "pairing", 0);
    for _ in 0..3000 {
        crate::fuzz_targets::pairing::run(&random_octets(&mut rng, 200));
    }
}

#[test]
fn random_bytes_do_not_break_a_transfer() {
    let mut rng = RandomStream::new(3, "transfer", 0);
    for _ in 0..2000 {
        crate::fuzz_targets::file_transfer_peer::run(&random_octets(&mut rng, 200));
    }
}
