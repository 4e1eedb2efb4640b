//! What is the same in every dialect of SQL: names and the ends of quoted text.

/// Appends a name in quotes, which are doubled within it.
pub fn put_name(out: &mut Vec<u8>, name: &str, quote: u8) {
    out.push(quote);
    for byte in name.bytes() {
        if byte == quote {
            out.push(quote);
        }
        out.push(byte);
    }
    out.push(quote);
}

/// The length of the quoted text that `text` begins with, its quotes included; `backslash` says whether one escapes.
pub fn quoted_length(text: &[u8], quote: u8, backslash: bool) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        at += if *byte == b'\\' && backslash { 2 } else { 1 };
        // A doubled quote ends one string and begins the next, which comes to the same.
        if *byte == quote {
            break;
        }
    }
    at.min(text.len())
}

/// Where `end` ends in `text`, or the end of all.
pub fn until(text: &[u8], end: &[u8]) -> usize {
    text.windows(end.len()).position(|w| w == end).map_or(text.len(), |at| at + end.len())
}
