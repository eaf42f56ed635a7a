//! Lists and traffic matrices: maximum length, and names of the columns with their synonyms.

/// Maximum number of elements of a list.
pub const MAX_LIST_LENGTH: usize = 1 << 20;

/// Start of a transfer.
pub const START: &[&str] = &["start", "time", "at", "start_time"];
/// Source node.
pub const FROM: &[&str] = &["from", "src", "source", "origin"];
/// Sink node.
pub const TO: &[&str] = &["to", "dst", "sink", "target", "destination"];
/// Size of a transfer.
pub const SIZE: &[&str] = &["size", "bytes", "length"];
/// Rate of a demand.
pub const RATE: &[&str] = &["rate", "demand", "value", "traffic"];

/// Returns true for a column of a list or a matrix, in upper or lower case.
pub fn is_known(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    [START, FROM, TO, SIZE, RATE].iter().any(|names| names.contains(&name.as_str()))
}
