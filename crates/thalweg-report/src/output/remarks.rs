//! Sentences below the tables of a document, and on the first screen of its page.

use super::Style;
use super::failures::failures;
use super::losses::losses;
use super::settling::settling;
use crate::results::Document;

/// Returns the remarks on flows that gave up, groups that lost much, and goodput that had not settled.
pub(crate) fn remarks(document: &Document, style: Style) -> impl Iterator<Item = String> {
    failures(document, style).into_iter().chain(losses(document, style)).chain(settling(document, style))
}
