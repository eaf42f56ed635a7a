//! Conversion of text in pictures to outlines: the renderer needs no fonts.
//!
//! The text engine of the renderer would shape any script, with a dozen more crates (a font database, a shaper, Unicode
//! tables) in the first build. Pictures have one embedded font and labels from left to right.
//!
//! Glyphs are placed one after the other with the font's pair kerning. Glyphs missing from the one font are drawn as a
//! box. A combining accent is drawn over the preceding letter.

use core::fmt::Write;
use resvg::usvg::roxmltree::{Document, Error, Node};
use ttf_parser::gpos::{PairAdjustment, PositioningSubtable};
use ttf_parser::opentype_layout::LayoutTable;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Replaces every text of the picture by a path. `font` is the content of the font file.
///
/// # Errors
///
/// When `svg` is not XML. A font that cannot be read leaves texts out.
pub(super) fn text_to_paths(svg: &str, font: &[u8]) -> Result<String, Error> {
    let document = Document::parse(svg)?;
    let sheet: String = document
        .descendants()
        .filter(|node| node.has_tag_name(STYLE))
        .filter_map(|node| node.text())
        .collect();
    let face = Face::parse(font, 0).ok();
    let (mut drawn, mut done) = (String::with_capacity(2 * svg.len()), 0);
    for node in document.descendants() {
        let range = node.range();
        if node.has_tag_name(STYLE) {
            drawn.push_str(&svg[done..range.start]);
            // Style rules for texts apply to the groups that replace them.
            drawn.push_str(&svg[range.clone()].replace("\ntext {", "\n.text {"));
            done = range.end;
        } else if node.has_tag_name(TEXT) {
            drawn.push_str(&svg[done..range.start]);
            if let Some(face) = &face {
                write_text_paths(&mut drawn, node, face, font_size(node, &sheet));
            }
            done = range.end;
        }
    }
    drawn.push_str(&svg[done..]);
    Ok(drawn)
}

const SVG: &str = "http://www.w3.org/2000/svg";
const STYLE: (&str, &str) = (SVG, "style");
const TEXT: (&str, &str) = (SVG, "text");
/// Default text size in CSS.
const DEFAULT_FONT_SIZE: f32 = 16.0;

/// Returns the font size of a text in picture units: from the rule of its class, else from the rule for all texts, else
/// from the nearest `font-size` attribute, else the default.
fn font_size(node: Node<'_, '_>, sheet: &str) -> f32 {
    let rule = |selector: &str, key: &str| {
        let (_, rule) = sheet.split_once(&format!("{selector} {{"))?;
        let (_, value) = rule.split_once('}')?.0.split_once(key)?;
        value.split_once("px")?.0.trim().parse().ok()
    };
    let classes = node.attribute("class").unwrap_or_default().split_whitespace();
    let by_class = || classes.filter_map(|class| rule(&format!(".{class}"), "font-size:")).next_back();
    let by_attribute = || node.ancestors().find_map(|node| node.attribute("font-size")?.parse().ok());
    let of_all = || rule("\ntext", "font:");
    by_class().or_else(of_all).or_else(by_attribute).unwrap_or(DEFAULT_FONT_SIZE)
}

/// Writes a text as a group with its attributes, and its glyphs as one path.
fn write_text_paths(drawn: &mut String, node: Node<'_, '_>, face: &Face<'_>, size: f32) {
    let number = |name| node.attribute(name).and_then(|text| text.parse().ok()).unwrap_or(0.0_f32);
    let words: String = node.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect();
    let spaces = |letter: char| matches!(letter, ' ' | '\t' | '\n' | '\r');
    let words: Vec<&str> = words.split(spaces).filter(|word| !word.is_empty()).collect();
    let mut line = GlyphRun { path: String::new(), next_position: 0.0 };
    line.draw(&words.join(" "), face);
    let scale = size / f32::from(face.units_per_em());
    let anchor_offset = match node.attribute("text-anchor") {
        Some("middle") => line.next_position / 2.0,
        Some("end") => line.next_position,
        _ => 0.0,
    };
    drawn.push_str("<g");
    for attribute in node.attributes().filter(|of| !POSITION_ATTRIBUTES.contains(&of.name())) {
        let class = if attribute.name() == "class" { "text " } else { "" };
        let value = attribute.value().replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let _ = write!(drawn, " {}=\"{class}{value}\"", attribute.name());
    }
    let (x, y) = (number("x") - anchor_offset * scale, number("y"));
    let _ =
        write!(drawn, "><path transform=\"matrix({scale} 0 0 -{scale} {x} {y})\" d=\"{}\"/></g>", line.path);
}

/// Attributes that position texts.
const POSITION_ATTRIBUTES: [&str; 4] = ["x", "y", "text-anchor", "font-size"];

/// Line of glyphs as a path, in font units.
struct GlyphRun {
    path: String,
    /// Position of the next glyph.
    next_position: f32,
}

impl GlyphRun {
    fn draw(&mut self, text: &str, face: &Face<'_>) {
        let mut last = None;
        for letter in text.chars().filter(|&letter| !is_ignorable(letter)) {
            let glyph = face.glyph_index(letter).unwrap_or(GlyphId(0));
            if let Some(last) = last.replace(glyph) {
                self.next_position += f32::from(kerning_of_pair(face, last, glyph));
            }
            // A glyph without an outline is a space.
            let _ = face.outline_glyph(glyph, self);
            self.next_position += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0));
        }
    }
}

impl OutlineBuilder for GlyphRun {
    fn move_to(&mut self, x: f32, y: f32) {
        let _ = write!(self.path, "M{} {y}", self.next_position + x);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let _ = write!(self.path, "L{} {y}", self.next_position + x);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let _ = write!(self.path, "Q{} {y1} {} {y}", self.next_position + x1, self.next_position + x);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let at = self.next_position;
        let _ = write!(self.path, "C{} {y1} {} {y2} {} {y}", at + x1, at + x2, at + x);
    }
    fn close(&mut self) {
        self.path.push('Z');
    }
}

/// Returns the kerning of two glyphs, in font units.
fn kerning_of_pair(face: &Face<'_>, left: GlyphId, right: GlyphId) -> i16 {
    let Some(positions) = face.tables().gpos else { return 0 };
    pair_kerning(&positions, left, right).unwrap_or(0)
}

/// Returns the kerning of the first rule that matches the pair.
fn pair_kerning(positions: &LayoutTable<'_>, left: GlyphId, right: GlyphId) -> Option<i16> {
    positions.lookups.into_iter().find_map(|lookup| {
        lookup.subtables.into_iter::<PositioningSubtable<'_>>().find_map(|table| {
            let PositioningSubtable::Pair(pair) = table else { return None };
            let (first, _) = match pair {
                PairAdjustment::Format1 { coverage, sets } => sets.get(coverage.get(left)?)?.get(right)?,
                PairAdjustment::Format2 { coverage, classes, matrix } => {
                    coverage.get(left)?;
                    matrix.get((classes.0.get(left), classes.1.get(right)))?
                }
            };
            Some(first.x_advance)
        })
    })
}

/// Returns true for characters that only affect others and are invisible.
fn is_ignorable(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const FONT: &[u8] = include_bytes!("../../assets/font/DejaVuSansCondensed.ttf");

    fn width(text: &str) -> f32 {
        let mut line = GlyphRun { path: String::new(), next_position: 0.0 };
        line.draw(text, &Face::parse(FONT, 0).unwrap());
        line.next_position
    }

    #[test]
    fn glyphs_follow_the_advance_widths_of_the_font() {
        assert!(width("AV") < width("A") + width("V"), "a pair of which the font says how near it stands");
        assert_eq!(width("nn"), 2.0 * width("n"));
        assert_eq!(width("n\u{ad}n"), width("nn"), "a soft hyphen is not seen");
        assert_eq!(width("日"), width("月"), "both are the box");
    }

    #[test]
    fn a_text_becomes_a_group_with_its_attributes_and_one_path() {
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' font-size='10'><text x='7' y='8' class='big'>n  n </text>\
                   <text fill='red' text-anchor='end'>n</text><style>\ntext { font: 12px x } .big { font-size: 20px }</style></svg>";
        let drawn = text_to_paths(svg, FONT).unwrap();
        let units = 2048.0_f32;
        assert!(drawn.contains(&format!(
            "<g class=\"text big\"><path transform=\"matrix({0} 0 0 -{0} 7 8)\"",
            20.0 / units
        )));
        let small = 12.0 / units;
        let x = -width("n") * small;
        assert!(
            drawn
                .contains(&format!("<g fill=\"red\"><path transform=\"matrix({small} 0 0 -{small} {x} 0)\"")),
            "{drawn}"
        );
        assert!(drawn.contains("\n.text { font: 12px x }") && !drawn.contains("<text"), "{drawn}");
        assert!(text_to_paths("<svg", FONT).is_err());
    }
}
