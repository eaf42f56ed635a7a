//! Cards of a report's first screen, as HTML.

use std::fmt::Write as _;

/// Card; all fields are HTML.
pub struct Card {
    /// Subject.
    pub subject: String,
    /// Main statement.
    pub main: String,
    /// Explanation of the main statement.
    pub text: String,
    /// Significance of the main statement: a style class (`yes`, `no`, `unknown`) and text.
    pub sure: Option<(&'static str, &'static str)>,
}

/// Appends the list of cards; those with `short` texts stay side by side on a phone.
pub fn write_cards(html: &mut String, cards: &[Card], short: bool) {
    html.push_str(if short { "<ul class=\"cards short\">\n" } else { "<ul class=\"cards\">\n" });
    for Card { subject, main, text, sure } in cards {
        let _ = write!(html, "<li><h2>{subject}</h2><p class=\"main\">{main}</p>");
        if let Some((class, text)) = sure {
            let _ = write!(html, "<p class=\"sure {class}\">{text}</p>");
        }
        let _ = writeln!(html, "<p>{text}</p></li>");
    }
    html.push_str("</ul>\n");
}
