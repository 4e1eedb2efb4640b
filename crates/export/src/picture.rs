//! A drawing as a picture.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{ImageHrefResolver, Options, Tree};

/// Latin, Greek and Cyrillic letters and the signs of figures, from Arimo (`fonts/README.md`).
static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    for font in [&include_bytes!("../fonts/Arimo-Regular.ttf")[..], include_bytes!("../fonts/Arimo-Bold.ttf")] {
        fonts.load_font_data(font.to_vec());
    }
    Arc::new(fonts)
});

/// A drawing in SVG as a picture in PNG, as many pixels wide and high as the drawing says. It reads no other file.
///
/// # Errors
/// A text that is no drawing, or one without a size that a picture can have.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let nothing = ImageHrefResolver { resolve_data: Box::new(|_, _, _| None), resolve_string: Box::new(|_, _| None) };
    let options = Options {
        fontdb: Arc::clone(&FONTS),
        font_family: "Arimo".to_owned(),
        image_href_resolver: nothing,
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(|e| e.to_string())?;
    let size = tree.size().to_int_size();
    let mut picture = Pixmap::new(size.width(), size.height()).ok_or("the drawing is too large")?;
    resvg::render(&tree, Transform::identity(), &mut picture.as_mut());
    picture.encode_png().map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(inner: &str) -> Vec<u8> {
        png(&format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\">{inner}</svg>")).unwrap()
    }

    fn text(words: &str, weight: u32) -> Vec<u8> {
        drawn(&format!(
            "<text x=\"4\" y=\"30\" font-family=\"Arimo, sans-serif\" font-weight=\"{weight}\" font-size=\"20\">{words}</text>"
        ))
    }

    #[test]
    fn words_are_drawn_by_the_own_font_in_two_weights() {
        let (empty, plain, bold) = (drawn(""), text("TPS", 400), text("TPS", 600));
        assert!(plain != empty && bold != empty && plain != bold, "each is another picture");
        assert_eq!(&plain[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(&plain[16..24], [0, 0, 0, 200, 0, 0, 0, 40]);
        assert_eq!(plain, text("TPS", 400), "the same drawing is the same picture");
    }

    #[test]
    fn the_font_has_the_signs_of_charts() {
        let absent = text("\u{4e2d}", 400);
        for sign in "−×±≥≤≈–—…µ·▲▼○→²³ΛσκéžЖ".chars() {
            assert_ne!(text(&sign.to_string(), 400), absent, "{sign}");
        }
    }

    #[test]
    fn no_file_is_read_and_no_nonsense_is_drawn() {
        let file = std::env::temp_dir().join(format!("perbuck-mark-{}.svg", std::process::id()));
        let mark = "<rect width=\"40\" height=\"40\"/>";
        std::fs::write(&file, format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"40\">{mark}</svg>"))
            .unwrap();
        let shown = drawn(&format!("<image href=\"{}\" width=\"40\" height=\"40\"/>", file.display()));
        std::fs::remove_file(&file).unwrap();
        assert!(shown == drawn("") && shown != drawn(mark));
        assert!(png("no drawing").is_err());
    }
}
