//! Arbitrary bytes from the peer of a pairing: they neither pair nor cause a panic.

use std::io::Cursor;
use thalweg_net::identity::Identity;
use thalweg_net::pairing::{PairingKeys, pair_as_client, pair_as_server};

/// Runs a script: a byte for the side, and its input.
pub fn run(script: &[u8]) {
    let Some((side, input)) = script.split_first() else { return };
    let key = |number| Identity::from_secret([number; 32]).public();
    let ends = PairingKeys { client: key(1), server: key(2), binding: [3; 32] };
    let code = "1234-5678".parse().expect("eight digits are a code");
    let mut output = Vec::new();
    let paired = match side % 2 {
        0 => pair_as_server(&code, &ends, &mut Cursor::new(input), &mut output),
        _ => pair_as_client(&code, &ends, &mut Cursor::new(input), &mut output),
    };
    assert!(paired.is_err(), "octets knew the code");
    assert!(output.len() < 1000, "{} bytes", output.len());
}
