//! Shared code of the XML topology readers: elements by name, numbers, and limits on documents.

use roxmltree::{Document, Error, Node, ParsingOptions};
use std::ops::Range;
use thalweg_proto::units::Rate;

/// Maximum number of elements, attributes and texts of a file; the largest network with a dozen attributes each has
/// fewer.
pub(super) const MAX_PARTS: u32 = 1 << 22;
/// Maximum number of attributes of an element. The parser compares each with all before it.
const MAX_ATTRIBUTES: usize = 64;
/// Maximum number of namespaces of a file. The parser copies each to all descendants with a namespace of their own.
const MAX_NAMESPACES: usize = 64;
/// Maximum nesting depth of elements.
const MAX_DEPTH: usize = 64;

/// The reason for rejecting a text.
pub(super) enum XmlError {
    /// An exceeded limit, with its byte range.
    TooMuch(&'static str, usize, Range<usize>),
    /// Invalid XML.
    Parser(Error),
}

/// Parses a text in linear time: rejects input on which the parser is slow.
pub(super) fn parse(text: &str) -> Result<Document<'_>, XmlError> {
    check_complexity(text)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_PARTS, entity_resolver: None };
    Document::parse_with_options(text, options).map_err(XmlError::Parser)
}

/// Rejects input that the parser does not handle in linear time.
fn check_complexity(text: &str) -> Result<(), XmlError> {
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
        if let Some((what, _, max)) = bounds.into_iter().find(|(_, found, max)| found > max) {
            return Err(XmlError::TooMuch(what, max, start..end));
        }
        at = end;
    }
    Ok(())
}

/// Returns the child elements with a name.
pub(super) fn child_elements<'a, 'i>(
    of: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    of.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// Parses the coordinate `name`, in degrees.
pub(super) fn parse_degrees(name: &str, text: &str, max: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(degrees) if (-max..=max).contains(&degrees) => Ok(degrees),
        _ => Err(format!("`{name}` must be a number of degrees from -{max} to {max}, not `{text}`")),
    }
}

/// Converts the value of `name` to a rate.
pub(super) fn rate_from_bits(name: &str, bits: f64) -> Result<Rate, String> {
    match (1.0..=1e15).contains(&bits) {
        true => Ok(Rate::from_bits_per_sec(bits as u64)),
        false => Err(format!("`{name}` must be a rate from 1 bit/s to 1e15 bit/s, not {bits} bit/s")),
    }
}
