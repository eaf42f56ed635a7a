//! PNG pictures, for programs that do not take SVG.
//!
//! They are rendered with an embedded font (`assets/font`) and never with a system font: the same picture has the same
//! bytes on every machine. The background is white; dark-mode style sheets are ignored.

use super::text_to_paths::text_to_paths;
use core::fmt;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Reason why a picture cannot be rendered to pixels.
#[derive(Debug)]
pub enum PngError {
    /// The picture is too large: its width and height in SVG units.
    TooLarge(f32, f32),
    /// The picture is not a renderable SVG, or cannot be encoded.
    Picture(String),
}

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(width, height) => write!(
                f,
                "a picture of {width:.0} by {height:.0} pixels is too large for PNG, which takes {MAX_PIXELS} pixels; \
                 as SVG it may have any size"
            ),
            Self::Picture(why) => write!(f, "cannot draw the picture as PNG: {why}"),
        }
    }
}

impl core::error::Error for PngError {}

/// Renders an SVG as PNG at two pixels per SVG unit. Large pictures get fewer pixels, at least one per unit, to stay
/// below about 33 million pixels in all.
///
/// # Errors
/// [`PngError::TooLarge`] where one pixel per unit is too many, [`PngError::Picture`] where `svg` is not a picture.
pub fn render_png(svg: &str) -> Result<Vec<u8>, PngError> {
    render_pixmap(svg, SCALE)?.encode_png().map_err(|error| PngError::Picture(error.to_string()))
}

/// Picture in pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Width, in pixels.
    pub width: u32,
    /// Height, in pixels.
    pub height: u32,
    /// Red, green and blue of each pixel, row by row from the top.
    pub rgb: Vec<u8>,
}

/// Renders an SVG at one pixel per SVG unit.
///
/// # Errors
/// Same as [`render_png`].
pub fn render_pixels(svg: &str) -> Result<Pixels, PngError> {
    let pixmap = render_pixmap(svg, 1.0)?;
    // Nothing is transparent on a white background.
    let rgb = pixmap.data().chunks_exact(4).flat_map(|of| [of[0], of[1], of[2]]).collect();
    Ok(Pixels { width: pixmap.width(), height: pixmap.height(), rgb })
}

/// Renders an SVG with at most `largest` pixels per unit.
fn render_pixmap(svg: &str, largest: f32) -> Result<Pixmap, PngError> {
    let picture = |error: &dyn fmt::Display| PngError::Picture(error.to_string());
    let svg = text_to_paths(svg, FONT).map_err(|error| picture(&error))?;
    let tree = Tree::from_str(&svg, &Options::default()).map_err(|error| picture(&error))?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let too_large = PngError::TooLarge(width, height);
    // Rounded down; otherwise the last row and column would blend with the area beyond the edge.
    let Some(scale) = pixels_per_unit(width, height).map(|scale| scale.min(largest)) else {
        return Err(too_large);
    };
    let pixels = |length: f32| (length * scale) as u32;
    let Some(mut pixmap) = Pixmap::new(pixels(width).max(1), pixels(height).max(1)) else {
        return Err(too_large);
    };
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    Ok(pixmap)
}

/// Returns the pixels per unit.
fn pixels_per_unit(width: f32, height: f32) -> Option<f32> {
    let fits = (MAX_PIXELS as f32 / width / height).sqrt();
    (fits >= 1.0).then_some(fits.min(SCALE))
}

/// Font for all text, whatever the picture requests.
const FONT: &[u8] = include_bytes!("../../assets/font/DejaVuSansCondensed.ttf");
/// Default pixels per unit, for sharp text on paper and high-resolution screens.
const SCALE: f32 = 2.0;
/// Maximum number of pixels. A picture takes four bytes per pixel, and twice that during encoding.
pub(super) const MAX_PIXELS: u32 = 1 << 25;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::svg_diagrams::{Bar, BarPanel, Figure};

    fn figure(title: &str) -> String {
        let bar = |label: &str, mean| Bar {
            label: label.to_owned(),
            colour: 1,
            mean,
            half: Some(0.5),
            value_text: "1 ± 0.5 Mbit/s".to_owned(),
        };
        let bars = vec![bar("vegas", 1.0), bar("cubic", 3.0)];
        let bars = vec![BarPanel { title: "Goodput".to_owned(), bars, limit: f64::INFINITY }];
        Figure { title: title.to_owned(), bars, ..Figure::default() }.render()
    }

    fn decode_rendered(svg: &str) -> Pixmap {
        Pixmap::decode_png(&render_png(svg).unwrap()).unwrap()
    }

    /// Counts the pixels of a rectangle, given in SVG units, that are darker than half.
    fn dark(pixmap: &Pixmap, x: (u32, u32), y: (u32, u32)) -> usize {
        let rows = (2 * y.0)..(2 * y.1);
        let pixels = rows.flat_map(|y| ((2 * x.0)..(2 * x.1)).map(move |x| pixmap.pixel(x, y).unwrap()));
        pixels.filter(|of| of.red() < 128 && of.green() < 128 && of.blue() < 128).count()
    }

    #[test]
    fn a_picture_has_its_size_twice_and_a_white_ground() {
        let bytes = render_png(&figure("Title")).unwrap();
        assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        // 34 above the panel, 34 and twice 22 for it, 12 below.
        assert_eq!((word(16), word(20)), (2 * 860, 2 * 124));
        let pixmap = Pixmap::decode_png(&bytes).unwrap();
        let white = |x, y| {
            let of = pixmap.pixel(x, y).unwrap();
            [of.red(), of.green(), of.blue(), of.alpha()] == [255; 4]
        };
        assert!(white(0, 0) && white(1719, 0) && white(0, 247) && white(1719, 247));
        assert!(pixmap.pixels().iter().all(|of| of.alpha() == 255), "it reads on any ground");
        let coloured = pixmap.pixels().iter().filter(|of| of.red() > 180 && of.blue() < 80).count();
        assert!(coloured > 10_000, "bars of {coloured} pixels");
    }

    #[test]
    fn plain_pixels_are_one_a_unit() {
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='3' height='2'><rect x='1' width='1' height='1' fill='#0072b2'/></svg>";
        let Pixels { width, height, rgb } = render_pixels(svg).unwrap();
        assert_eq!((width, height, rgb.len()), (3, 2, 18));
        assert_eq!(
            (&rgb[0..3], &rgb[3..6], &rgb[12..15]),
            (&[255; 3][..], &[0, 0x72, 0xb2][..], &[255; 3][..])
        );
    }

    #[test]
    fn an_svg_without_a_ground_gets_one() {
        let pixmap = decode_rendered("<svg xmlns='http://www.w3.org/2000/svg' width='5' height='3'/>");
        assert_eq!((pixmap.width(), pixmap.height()), (10, 6));
        assert!(pixmap.data().iter().all(|byte| *byte == 255));
    }

    #[test]
    fn text_is_drawn_where_it_belongs() {
        let (with, without) = (decode_rendered(&figure("Two users meet")), decode_rendered(&figure("")));
        let place = ((16, 200), (10, 30));
        let pixels = dark(&with, place.0, place.1);
        assert!((200..4000).contains(&pixels), "{pixels}");
        assert_eq!(dark(&without, place.0, place.1), 0);
        // Twice the letters take about twice the width.
        assert_eq!(dark(&with, (200, 860), (0, 30)), 0);
        let longer = decode_rendered(&figure("Two users meet Two users meet"));
        assert!(dark(&longer, (120, 300), (10, 30)) > pixels / 3);
    }

    #[test]
    fn letters_differ_and_what_the_font_lacks_is_a_box() {
        let all = ["Greek: αβγ Ω", "Кириллица", "→ ± ≤ µs × –", "日", "A", "B"].map(|title| {
            let pixmap = decode_rendered(&figure(title));
            assert!(dark(&pixmap, (16, 200), (6, 34)) > 10, "{title}");
            pixmap.take()
        });
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other != one));
        }
        assert_eq!(decode_rendered(&figure("日")).take(), decode_rendered(&figure("月")).take());
    }

    /// The bytes depend only on the picture and the versions of the rendering and encoding crates; a new version may
    /// change this hash.
    #[test]
    fn the_same_picture_has_the_same_bytes() {
        let bytes = render_png(&figure("Same bytes")).unwrap();
        assert_eq!(bytes, render_png(&figure("Same bytes")).unwrap());
        let sum = decode_rendered(&figure("Same bytes"))
            .data()
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
                (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
            });
        assert_eq!(sum, 0x076a_4ced_d95f_f08b, "{sum:#x}");
    }

    #[test]
    fn pictures_that_cannot_be_rendered_are_reported() {
        assert!(render_png("no picture").unwrap_err().to_string().contains("cannot draw the picture"));
        let empty = "<svg xmlns='http://www.w3.org/2000/svg' width='800' height='1e9'/>";
        let error = render_png(empty).unwrap_err().to_string();
        assert!(error.contains("800 by 1000000000"), "{error}");
    }

    #[test]
    fn large_pictures_have_fewer_pixels_a_unit() {
        assert_eq!(pixels_per_unit(860.0, 1000.0), Some(2.0));
        assert_eq!(pixels_per_unit(8192.0, 4096.0), Some(1.0));
        let between = pixels_per_unit(1000.0, 20_000.0).unwrap();
        assert!((1.2..1.3).contains(&between), "{between}");
        assert_eq!(pixels_per_unit(8192.0, 4097.0), None);
    }

    #[test]
    fn names_with_what_xml_forbids_are_drawn() {
        decode_rendered(&figure("a\u{ffff}b\u{fffe}\u{0}\u{1b}[<&\"'>"));
    }
}
