//! One study beside an older one, as `perbuck compare --baseline` does it.

use std::fmt::Write as _;

use perbuck_report::html::{self, shown};

use super::find::Found;
use super::pages::shell;
use perbuck_lab::results;

/// A page that compares two studies, or lets choose them.
pub(super) fn two(found: &[Found], old: &str, new: &str) -> String {
    let mut out = "<form action=\"/studies\" method=\"get\">\n".to_owned();
    for (name, label, chosen) in [("old", "Older study", old), ("new", "Newer study", new)] {
        let _ = write!(out, "<p><label>{label} <select name=\"{name}\">");
        for f in found.iter().filter(|f| f.page.is_none()) {
            let selected = if f.name == chosen { " selected" } else { "" };
            let name = shown(&f.name);
            let _ = write!(out, "<option value=\"{name}\"{selected}>{name}</option>");
        }
        out.push_str("</select></label></p>\n");
    }
    out.push_str("<p><button>Compare</button></p>\n</form>\n");
    let by_name = |name: &str| found.iter().find(|f| f.page.is_none() && f.name == name);
    match (by_name(old), by_name(new)) {
        (Some(old), Some(new)) => out += &side_by_side(old, new),
        _ if !old.is_empty() && !new.is_empty() => out.push_str("<p class=\"note\">One of these studies is not there.</p>\n"),
        _ => {}
    }
    shell("Compare two studies", &out)
}

fn side_by_side(old: &Found, new: &Found) -> String {
    match results::against(&old.folder, &new.folder, None, &[]) {
        Ok(found) => html::regression(&found),
        Err(error) => {
            let (what, way_out) = error.words();
            format!("<p class=\"note\">{} {}</p>\n", shown(what), shown(way_out))
        }
    }
}
