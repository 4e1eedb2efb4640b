//! The script of a page: one, embedded, and allowed by its checksum alone. It fetches nothing, and without it the page is whole.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

/// What the program's arithmetic is in the page.
pub const ARITHMETIC: &str = include_str!("whatif.js");

/// The content of the page's script element.
pub const SCRIPT: &str = concat!("\n", include_str!("whatif.js"), include_str!("panel.js"), include_str!("marks.js"));

/// What a Content-Security-Policy names the script by.
static SOURCE: LazyLock<String> = LazyLock::new(|| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(SCRIPT))));

/// The `script-src` of a page: a browser runs this script, and no other, changed or added.
pub fn source() -> &'static str {
    &SOURCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_ends_where_its_element_does_and_reaches_for_nothing() {
        for forbidden in [
            "</script",
            "<!--",
            "fetch(",
            "XMLHttpRequest",
            "import(",
            "innerHTML",
            "eval(",
            "document.write",
            "http://",
            "https://",
        ] {
            let said = SCRIPT.replace("http://www.w3.org/2000/svg", "");
            assert!(!said.contains(forbidden), "{forbidden}");
        }
    }
}
