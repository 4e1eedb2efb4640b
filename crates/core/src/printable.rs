//! Text of servers, files and users on its way to a terminal or a log. It must not steer a terminal, nor look like other text.

use std::borrow::Cow;

/// Whether a character moves a cursor, changes colours, turns the direction of writing, ends a line unseen, or is invisible.
pub fn steers(c: char) -> bool {
    let misleads = matches!(c, '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    c.is_control() || misleads
}

/// A text of one or more lines for a terminal or a log: what would steer it becomes �, but for ends of lines and tabs.
pub fn printable(text: &str) -> Cow<'_, str> {
    let bad = |c: char| steers(c) && !matches!(c, '\n' | '\t');
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if bad(c) { '\u{fffd}' } else { c }).collect())
}

/// The same for a text that holds styles of our own: sequences `ESC [ … m` of digits and semicolons stay. What others said must have
/// been made printable before it was put between them.
pub fn printable_styled(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return printable(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        let codes = &rest[at + 2..];
        let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';').filter(|end| codes[*end..].starts_with('m'));
        // A sequence that is no style loses its first character.
        let kept = end.map_or("", |end| &rest[at..at + 2 + end + 1]);
        out.push_str(&printable(&rest[..at]));
        out.push_str(if kept.is_empty() { "\u{fffd}" } else { kept });
        rest = &rest[at + kept.len().max(1)..];
    }
    out.push_str(&printable(rest));
    Cow::Owned(out)
}

/// The same for JSON, where such a character stands in a string alone: escaped, it stays what it is to a program.
pub fn printable_json(text: &str) -> Cow<'_, str> {
    let bad = |c: char| steers(c) && !matches!(c, '\n' | '\t');
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if bad(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    Cow::Owned(text.chars().map(escaped).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_stay_and_what_steers_goes() {
        assert_eq!(printable("a\tb\nüß 日本 עברית 👍🏽"), "a\tb\nüß 日本 עברית 👍🏽");
        assert_eq!(printable("\u{1b}[31mred\u{9b}0m\r\u{7}\u{202e}x\u{2069}\u{2028}"), "�[31mred�0m���x��");
    }

    #[test]
    fn only_styles_pass() {
        let text = "\u{1b}[1;31mred\u{1b}[0m\u{1b}[2J\u{1b}]0;x\u{7}\u{1b}[3\u{1b}[\u{1b}";
        assert_eq!(printable_styled(text), "\u{1b}[1;31mred\u{1b}[0m�[2J�]0;x��[3�[�");
        assert_eq!(printable_styled("a\rb"), "a�b");
    }

    proptest! {
        #[test]
        fn nothing_steers_and_json_means_the_same(text in any::<String>()) {
            prop_assert!(!printable(&text).contains(|c| steers(c) && c != '\n' && c != '\t'));
            let written = serde_json::to_string_pretty(&[&text]).unwrap();
            let safe = printable_json(&written);
            prop_assert!(!safe.contains(|c| steers(c) && c != '\n'));
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), vec![text]);
        }
    }
}
