//! Mutations of inputs, as made by fuzzers.

use thalweg_proto::random::Stream;

/// Boundary values.
const TELLING: [u8; 10] = [0, 1, 2, 0x0f, 0x10, 0x7f, 0x80, 0xf0, 0xfe, 0xff];

/// Maximum length of inputs, unless a stored one is longer.
const MAX_INPUT_BYTES: usize = 700;

/// Returns one of the inputs with one to eight changes, or the beginning of one joined to the end of another.
pub fn mutate_input(draw: &mut Stream, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut input = one_of(draw, corpus).clone();
    let longest = MAX_INPUT_BYTES.max(input.len());
    if draw.chance(0.1) {
        let other = one_of(draw, corpus);
        input.truncate(draw_below(draw, input.len() + 1));
        input.extend_from_slice(&other[draw_below(draw, other.len() + 1)..]);
    }
    for _ in 0..1 + draw.below(8) {
        change_bytes(draw, &mut input);
    }
    input.truncate(longest);
    input
}

fn change_bytes(draw: &mut Stream, input: &mut Vec<u8>) {
    if input.is_empty() {
        return input.push(draw.bits() as u8);
    }
    let at = draw_below(draw, input.len());
    match draw.below(8) {
        0 => input[at] ^= 1 << draw.below(8),
        1 => input[at] = draw.bits() as u8,
        2 => input[at] = TELLING[draw_below(draw, TELLING.len())],
        3 => input[at] = input[at].wrapping_add(draw.below(9) as u8).wrapping_sub(4),
        4 => input.insert(at, draw.bits() as u8),
        5 => {
            let end = at + 1 + draw_below(draw, (input.len() - at).min(16));
            input.drain(at..end);
        }
        6 => {
            let end = at + 1 + draw_below(draw, (input.len() - at).min(32));
            let piece = input[at..end].to_vec();
            let to = draw_below(draw, input.len() + 1);
            input.splice(to..to, piece);
        }
        _ => {
            let value = TELLING[draw_below(draw, TELLING.len())];
            let end = (at + 1 + draw_below(draw, 8)).min(input.len());
            input[at..end].fill(value);
        }
    }
}

fn one_of<'a>(draw: &mut Stream, corpus: &'a [Vec<u8>]) -> &'a Vec<u8> {
    &corpus[draw_below(draw, corpus.len())]
}

fn draw_below(draw: &mut Stream, max: usize) -> usize {
    draw.below(max as u64) as usize
}
