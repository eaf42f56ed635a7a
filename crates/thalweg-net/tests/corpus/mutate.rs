//! Mutations of inputs, as made by fuzzers.

use thalweg_proto::random::RandomStream;

/// Boundary values.
const BOUNDARY_BYTES: [u8; 10] = [0, 1, 2, 0x0f, 0x10, 0x7f, 0x80, 0xf0, 0xfe, 0xff];

/// Maximum length of inputs, unless a stored one is longer.
const DEFAULT_MAX_INPUT_BYTES: usize = 700;

/// Returns one of the inputs with one to eight changes, or the beginning of one joined to the end of another.
pub fn mutate_input(rng: &mut RandomStream, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut input = random_entry(rng, corpus).clone();
    let max_bytes = DEFAULT_MAX_INPUT_BYTES.max(input.len());
    if rng.chance(0.1) {
        let second_entry = random_entry(rng, corpus);
        input.truncate(random_below(rng, input.len() + 1));
        input.extend_from_slice(&second_entry[random_below(rng, second_entry.len() + 1)..]);
    }
    for _ in 0..1 + rng.below(8) {
        apply_mutation(rng, &mut input);
    }
    input.truncate(max_bytes);
    input
}

fn apply_mutation(rng: &mut RandomStream, input: &mut Vec<u8>) {
    if input.is_empty() {
        return input.push(rng.next_u64() as u8);
    }
    let offset = random_below(rng, input.len());
    match rng.below(8) {
        0 => input[offset] ^= 1 << rng.below(8),
        1 => input[offset] = rng.next_u64() as u8,
        2 => input[offset] = BOUNDARY_BYTES[random_below(rng, BOUNDARY_BYTES.len())],
        3 => input[offset] = input[offset].wrapping_add(rng.below(9) as u8).wrapping_sub(4),
        4 => input.insert(offset, rng.next_u64() as u8),
        5 => {
            let end = offset + 1 + random_below(rng, (input.len() - offset).min(16));
            input.drain(offset..end);
        }
        6 => {
            let end = offset + 1 + random_below(rng, (input.len() - offset).min(32));
            let copied_bytes = input[offset..end].to_vec();
            let insert_at = random_below(rng, input.len() + 1);
            input.splice(insert_at..insert_at, copied_bytes);
        }
        _ => {
            let value = BOUNDARY_BYTES[random_below(rng, BOUNDARY_BYTES.len())];
            let end = (offset + 1 + random_below(rng, 8)).min(input.len());
            input[offset..end].fill(value);
        }
    }
}

fn random_entry<'a>(rng: &mut RandomStream, corpus: &'a [Vec<u8>]) -> &'a Vec<u8> {
    &corpus[random_below(rng, corpus.len())]
}

fn random_below(rng: &mut RandomStream, bound: usize) -> usize {
    rng.below(bound as u64) as usize
}
