//! One ratio with its interval against the margin around 1, on a logarithmic scale.

use std::fmt::Write as _;

use super::{line, span, text};
use crate::document::Strip;

const WIDTH: f64 = 280.0;

/// Draws the strip of a card; its numbers stand beside it in words.
pub(crate) fn strip(strip: &Strip) -> String {
    let margin = (1.0 + strip.margin).ln();
    let log = |v: f64| v.max(f64::MIN_POSITIVE).ln();
    let reach = [log(strip.low).abs(), log(strip.high).abs(), margin * 1.5, 0.02].into_iter().fold(0.0, f64::max) * 1.12;
    let x = |log: f64| WIDTH / 2.0 + log / reach * (WIDTH / 2.0 - 6.0);
    let mut out = format!("<svg class=\"strip\" viewBox=\"0 0 {WIDTH:.0} 40\" aria-hidden=\"true\">\n");
    let (from, to) = (x(-margin), x(margin));
    let _ = writeln!(out, "<rect class=\"margin\" x=\"{from:.1}\" y=\"2\" width=\"{:.1}\" height=\"22\"/>", to - from);
    line(&mut out, "grid", (6.0, 13.0), (WIDTH - 6.0, 13.0));
    line(&mut out, "axis", (WIDTH / 2.0, 2.0), (WIDTH / 2.0, 24.0));
    let _ = writeln!(out, "<g class=\"judged\">");
    span(&mut out, ["range", "end"], (x(log(strip.low)), x(log(strip.high))), 13.0);
    let _ = writeln!(out, "<circle cx=\"{:.1}\" cy=\"13\" r=\"5\"/></g>", x(log(strip.value)));
    text(&mut out, 6.0, 37.0, "start", "tick", "worse");
    text(&mut out, WIDTH / 2.0, 37.0, "middle", "tick", "1×");
    text(&mut out, WIDTH - 6.0, 37.0, "end", "tick", "better");
    out + "</svg>"
}
