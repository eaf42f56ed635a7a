//! The cards of the first screen.

use std::fmt::Write as _;

/// A card: all of it is HTML.
pub struct Card {
    /// The subject of the card.
    pub subject: String,
    /// The most important words.
    pub main: String,
    /// The explanation of the main words.
    pub text: String,
    /// The certainty of the main words: a class of style (`yes`, `no`, `unknown`) and words.
    pub sure: Option<(&'static str, &'static str)>,
}

/// Appends the list of cards; those of `short` texts stand side by side also on a phone.
pub fn cards(html: &mut String, cards: &[Card], short: bool) {
    html.push_str(if short { "<ul class=\"cards short\">\n" } else { "<ul class=\"cards\">\n" });
    for Card { subject, main, text, sure } in cards {
        let _ = write!(html, "<li><h2>{subject}</h2><p class=\"main\">{main}</p>");
        if let Some((class, words)) = sure {
            let _ = write!(html, "<p class=\"sure {class}\">{words}</p>");
        }
        let _ = writeln!(html, "<p>{text}</p></li>");
    }
    html.push_str("</ul>\n");
}
