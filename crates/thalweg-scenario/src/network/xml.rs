//! Common parts of the readers of topologies in XML: elements by name, numbers, and bounds on documents.

use roxmltree::{Document, Error, Node, ParsingOptions};
use std::ops::Range;
use thalweg_proto::units::Rate;

/// The most elements, attributes and texts of a file; those of the largest network with a dozen attributes each are fewer.
pub(super) const MAX_PARTS: u32 = 1 << 22;
/// The most attributes of an element. The parser compares each with all before it.
const MAX_ATTRIBUTES: usize = 64;
/// The most namespaces of a file. The parser hands each down to all elements below that have one of their own.
const MAX_NAMESPACES: usize = 64;
/// The most elements within each other.
const MAX_DEPTH: usize = 64;

/// The reason for which a text is not parsed.
pub(super) enum Refused {
    /// It is too much in one place, with the bytes of that.
    TooMuch(&'static str, usize, Range<usize>),
    /// It is no XML.
    Parser(Error),
}

/// Parses a text. The time is linear in its length, as what the parser is slow at is refused first.
pub(super) fn parse(text: &str) -> Result<Document<'_>, Refused> {
    check(text)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_PARTS, entity_resolver: None };
    Document::parse_with_options(text, options).map_err(Refused::Parser)
}

/// Refuses what the parser takes more than linear time for.
fn check(text: &str) -> Result<(), Refused> {
    let (mut at, mut depth, mut namespaces) = (0, 0usize, 0);
    while let Some(start) = text[at..].find('<').map(|found| at + found) {
        let rest = &text[start..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((open, close)) = skipped.iter().find(|(open, _)| rest.starts_with(open)) {
            let Some(end) = rest[open.len()..].find(close) else { return Ok(()) };
            at = start + open.len() + end + close.len();
            continue;
        }
        let (mut quote, mut attributes, mut end) = (None, 0, text.len());
        for (offset, byte) in rest.bytes().enumerate() {
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => attributes += 1,
                (None, b'>') => {
                    end = start + offset + 1;
                    break;
                }
                _ => {}
            }
        }
        let tag = &text[start..end];
        namespaces += tag.matches("xmlns").count();
        if tag.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else if !tag.ends_with("/>") {
            depth += 1;
        }
        let bounds = [
            ("attributes of one element", attributes, MAX_ATTRIBUTES),
            ("namespaces", namespaces, MAX_NAMESPACES),
            ("elements within each other", depth, MAX_DEPTH),
        ];
        if let Some((what, _, most)) = bounds.into_iter().find(|(_, found, most)| found > most) {
            return Err(Refused::TooMuch(what, most, start..end));
        }
        at = end;
    }
    Ok(())
}

/// The child elements of a name.
pub(super) fn elements<'a, 'i>(of: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    of.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The degrees of the coordinate `name`.
pub(super) fn degrees(name: &str, text: &str, most: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(degrees) if (-most..=most).contains(&degrees) => Ok(degrees),
        _ => Err(format!("`{name}` must be a number of degrees from -{most} to {most}, not `{text}`")),
    }
}

/// A rate, which is given as `name`.
pub(super) fn rate(name: &str, bits: f64) -> Result<Rate, String> {
    match (1.0..=1e15).contains(&bits) {
        true => Ok(Rate::from_bits_per_sec(bits as u64)),
        false => Err(format!("`{name}` must be a rate from 1 bit/s to 1e15 bit/s, not {bits} bit/s")),
    }
}
