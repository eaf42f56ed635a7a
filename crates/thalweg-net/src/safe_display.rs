//! Escapes control characters in peers' text for display on a terminal.

use core::fmt::Write as _;

/// Returns a peer's text with unsafe characters escaped: control characters, invalid UTF-8, and invisible format
/// characters (general categories Cf, Zl and Zp of Unicode 16). Bidirectional controls, for example, make `txt.exe`
/// look like `exe.txt`.
pub fn escape_unsafe(bytes: &[u8]) -> String {
    printable_within(bytes, usize::MAX)
}

/// Returns [`escape_unsafe`] text, truncated to at most `max` bytes. No escape is split.
pub fn printable_within(bytes: &[u8], max: usize) -> String {
    let mut shown = String::with_capacity(bytes.len().min(max));
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let start = shown.len();
            if is_unsafe(character) {
                shown.extend(character.escape_default());
            } else {
                shown.push(character);
            }
            if shown.len() > max {
                shown.truncate(start);
                return shown;
            }
        }
        for byte in chunk.invalid() {
            if shown.len() + 4 > max {
                return shown;
            }
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Characters of the categories Cf (format), Zl and Zp (line and paragraph separators), in ascending order.
const FORMATS: [(char, char); 20] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

/// Returns true for invisible characters that drive a terminal or change the display of others: controls and the
/// categories Cf, Zl and Zp.
pub fn is_unsafe(character: char) -> bool {
    character.is_control() || is_format(character)
}

/// Returns the position of the first unsafe character of a text, except line ends and tabs. All program output is
/// checked.
pub fn first_unsafe(text: &str) -> Option<usize> {
    // Most text is printable ASCII, which needs neither decoding nor the table. Without an early exit within a piece, the
    // compiler checks many bytes with one instruction.
    let shown = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let is_plain = |piece: &&[u8]| piece.iter().fold(true, |all, byte| all & shown(byte));
    let plain: usize = text.as_bytes().chunks(256).take_while(is_plain).map(<[u8]>::len).sum();
    let at = plain + text.as_bytes()[plain..].iter().position(|byte| !shown(byte))?;
    let rest = text[at..].find(|character| !matches!(character, '\n' | '\t') && is_unsafe(character))?;
    Some(at + rest)
}

fn is_format(character: char) -> bool {
    let place = FORMATS.partition_point(|(_, last)| *last < character);
    FORMATS.get(place).is_some_and(|(first, _)| *first <= character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_peers_text_cannot_drive_a_terminal() {
        assert_eq!(escape_unsafe(b"a\x1b[2Jb\n\xffc\x9b"), "a\\u{1b}[2Jb\\n\\xffc\\x9b");
        assert_eq!(escape_unsafe("\u{9b}2J".as_bytes()), "\\u{9b}2J");
        assert_eq!(escape_unsafe("Ängström, 東京, עברית".as_bytes()), "Ängström, 東京, עברית");
    }

    #[test]
    fn nothing_turns_the_direction_of_writing() {
        assert_eq!(escape_unsafe("\u{202e}txt.exe".as_bytes()), "\\u{202e}txt.exe");
        // All characters with the property Bidi_Control.
        let all =
            "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        assert!(escape_unsafe(all.as_bytes()).is_ascii());
        for invisible in ['\u{200b}', '\u{2028}', '\u{2029}', '\u{feff}', '\u{e0041}', '\u{ad}'] {
            assert!(escape_unsafe(invisible.to_string().as_bytes()).is_ascii(), "{invisible:?}");
        }
    }

    #[test]
    fn formats_are_in_order() {
        assert!(FORMATS.iter().all(|(first, last)| first <= last));
        assert!(FORMATS.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    proptest! {
        #[test]
        fn the_first_unsafe_character_is_found_at_any_position(before in "[ -~\n\t]{0,600}", after in "[\u{1b}\u{e9}\u{200b}a]{0,3}") {
            let text = before + &after;
            let is_shown = |character: char| matches!(character, '\n' | '\t') || !is_unsafe(character);
            prop_assert_eq!(first_unsafe(&text), text.find(|character| !is_shown(character)));
        }

        #[test]
        fn a_truncated_text_is_a_prefix(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'a'), Just(0x1b)], 0..60), max in 0usize..80) {
            let (whole, shortened) = (escape_unsafe(&bytes), printable_within(&bytes, max));
            prop_assert!(whole.starts_with(&shortened) && shortened.len() <= max);
            prop_assert!(shortened == whole || whole.len() > max);
            prop_assert!(!shortened.chars().any(char::is_control));
        }
    }
}
