//! Making foreign text harmless. Names, versions and error messages come from studies and servers: none may break out
//! of its place in a page, a table or a terminal.

use perbuck_core::printable::steers;
use unicode_width::UnicodeWidthChar;

/// Characters of one text at most; what is longer is cut and says so.
pub(crate) const LONGEST: usize = 300;

/// White space becomes a blank, control characters and misleading marks become �, long text is cut.
pub(crate) fn clean(text: &str) -> String {
    clean_to(text, LONGEST)
}

/// The same with another limit.
pub(crate) fn clean_to(text: &str, longest: usize) -> String {
    // Almost all names are so, and a report of thousands of trials has a million.
    if text.len() <= longest && text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i >= longest {
            out.push_str(&format!("… ({} characters)", text.chars().count()));
            break;
        }
        out.push(match c {
            '\t' | '\n' | '\r' => ' ',
            c if steers(c) => '\u{fffd}',
            c => c,
        });
    }
    out
}

/// For text and quoted attributes of HTML and SVG.
pub(crate) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if steers(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// For the inside of a Markdown paragraph or table cell (CommonMark with GitHub's tables).
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            // Inside a word an underscore is only an underscore; before a digit a dollar is only a dollar.
            '_' if !(before.is_alphanumeric() && after.is_alphanumeric()) => out.push_str("\\_"),
            '$' if !after.is_ascii_digit() => out.push_str("\\$"),
            c if steers(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// For the start of a Markdown line, where more characters have a meaning.
pub(crate) fn markdown_line(text: &str) -> String {
    let escaped = markdown(text);
    let digits = escaped.bytes().take_while(u8::is_ascii_digit).count();
    match escaped[digits..].chars().next() {
        Some(c @ ('-' | '+' | '=')) if digits == 0 => format!("\\{c}{}", &escaped[c.len_utf8()..]),
        Some(c @ ('.' | ')')) if digits > 0 => format!("{}\\{c}{}", &escaped[..digits], &escaped[digits + 1..]),
        _ => escaped,
    }
}

/// For a terminal: nothing that moves the cursor, changes colours or turns the direction of writing.
pub(crate) fn terminal(text: &str) -> String {
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// JSON for a `<script>` element: no character that could end the element or hide in an editor. Most of it is copied in one piece:
/// data of thousands of trials pass here.
pub(crate) fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let suspect = |b: u8| matches!(b, b'<' | b'>' | b'&' | 0x7f..) || b.is_ascii_control();
    let mut rest = text;
    while let Some(at) = rest.bytes().position(suspect) {
        out.push_str(&rest[..at]);
        // Every byte before is ASCII, so a character begins here.
        let c = rest[at..].chars().next().unwrap_or_default();
        if matches!(c, '<' | '>' | '&') || steers(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
        rest = &rest[at + c.len_utf8()..];
    }
    out + rest
}

/// How many columns of a terminal a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The start of a text that fits so many columns, with an ellipsis where something was cut.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(clean("a\nb\u{1b}[31m\u{202e}"), "a b\u{fffd}[31m\u{fffd}");
        assert!(clean(&"x".repeat(10_000)).ends_with("… (10000 characters)"));
        assert_eq!(html("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
        assert_eq!(markdown("a|b`c` _d_ e_f $1 $x$"), "a\\|b\\`c\\` \\_d\\_ e_f $1 \\$x\\$");
        assert_eq!(markdown_line("1. x"), "1\\. x");
        assert_eq!(markdown_line("- x"), "\\- x");
        assert_eq!(json("\"</script>\""), "\"\\u003c/script\\u003e\"");
        assert_eq!(shorten("abcdef", 4), "abc…");
    }

    proptest! {
        #[test]
        fn nothing_escapes(text in any::<String>()) {
            let safe = html(&text);
            prop_assert!(!safe.contains(['<', '>', '"', '\'']));
            prop_assert!(clean(&text).chars().all(|c| !steers(c)));
            prop_assert!(terminal(&text).chars().all(|c| !c.is_control()));
            prop_assert!(!markdown(&text).contains('\n'));
            prop_assert!(!json(&text).contains(['<', '>', '&']));
        }

        #[test]
        fn escaped_json_is_the_same_json(text in any::<String>()) {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(&json(&written)).unwrap(), text);
        }

        #[test]
        fn shortened_text_fits(text in "\\PC{0,40}", columns in 1usize..20) {
            prop_assert!(width(&shorten(&text, columns)) <= columns);
        }
    }
}
