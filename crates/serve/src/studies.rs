//! One study beside an older one, as `perbuck compare --baseline` does it.

use maud::{Markup, PreEscaped, html};
use perbuck_lab::results;
use perbuck_report::html;

use super::find::Found;
use super::pages::{choice, note, shell};

/// A page that compares two studies, or lets choose them.
pub(super) fn two(found: &[Found], old: &str, new: &str) -> String {
    let measured = || found.iter().filter(|f| f.page.is_none());
    let by_name = |name: &str| measured().find(|f| f.name == name);
    let compared = match (by_name(old), by_name(new)) {
        (Some(old), Some(new)) => side_by_side(old, new),
        _ if !old.is_empty() && !new.is_empty() => note("One of these studies is not there."),
        _ => Markup::default(),
    };
    let names: Vec<&str> = measured().map(|f| f.name.as_str()).collect();
    let both = [("old", "Older study", old), ("new", "Newer study", new)];
    let content = html! {
        (choice("/studies", both, &names))
        (compared)
    };
    shell("Compare two studies", &content)
}

fn side_by_side(old: &Found, new: &Found) -> Markup {
    match results::against(&old.folder, &new.folder, None, &[]) {
        Ok(found) => PreEscaped(html::regression(&found)),
        Err(error) => {
            let (what, way_out) = error.words();
            note(&format!("{what} {way_out}"))
        }
    }
}
