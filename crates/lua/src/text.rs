//! What the text of a script tells of it before it runs.

/// Whether a text changes nothing beyond its global variables: it names neither what reaches into the interpreter, nor a function of strings that
/// it adds, which all strings would have.
pub(crate) fn can_share(text: &[u8]) -> bool {
    const REACHES: [&str; 14] = [
        "ffi",
        "jit",
        "debug",
        "setfenv",
        "getfenv",
        "module",
        "package",
        "collectgarbage",
        "coroutine",
        "getmetatable",
        "newproxy",
        "string[",
        "dofile",
        "loadfile",
    ];
    let text = String::from_utf8_lossy(text);
    let adds = text.split("string.").skip(1).any(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').trim_start();
        rest.starts_with('=') && !rest.starts_with("==")
    });
    !adds
        && !text.contains("function string.")
        && !text.contains("function string:")
        && !REACHES.iter().any(|word| text.contains(word))
}

/// Whether a text only reads `sysbench.opt` and `sysbench.rand`, entry by entry, and hands neither on: then terminals may have one of each.
pub(crate) fn only_reads(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let code = text.lines().map(str::trim).filter(|line| !line.starts_with("--"));
    code.flat_map(|line| line.match_indices("sysbench").map(move |(at, word)| (line, &line[at + word.len()..]))).all(
        |(line, rest)| {
            let part = |text: &'_ str| text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
            let Some(rest) = rest.strip_prefix('.') else { return false };
            let (table, entry) = rest.split_at(part(rest));
            if !matches!(table, "opt" | "rand") {
                return true;
            }
            let is_entry = entry.strip_prefix('.').is_some_and(|name| part(name) > 0) || entry.starts_with('[');
            let assigns = |rest: &str| {
                let plain = ["==", "~=", "<=", ">="].iter().fold(rest.to_owned(), |text, compares| text.replace(compares, ""));
                plain.contains('=')
            };
            let defines = line.contains("function sysbench.opt") || line.contains("function sysbench.rand");
            let goes_on = line.starts_with("sysbench") && line.ends_with(',');
            is_entry && !defines && !goes_on && !assigns(entry)
        },
    )
}

/// Whether a text names what reads the rows of a result.
pub(crate) fn reads_rows(text: &[u8]) -> bool {
    [b"fetch_row".as_slice(), b"nfields", b"loadstring", b"dofile", b"loadfile"]
        .iter()
        .any(|name| text.windows(name.len()).any(|part| part == *name))
}

/// Whether a text names what leads to a connection: `sysbench.sql`, the functions of sysbench 0.5, or another file. One that hides the
/// name fails at its connection, see `LuaScript::serverless`.
pub(crate) fn may_ask(source: &[u8]) -> bool {
    let text = String::from_utf8_lossy(source);
    let files =
        |word: &str| text.split(word).skip(1).any(|rest| !rest.trim_start_matches([' ', '(', '"', '\'']).starts_with("ffi"));
    text.contains("sql") || text.contains("db_") || ["require", "dofile", "loadfile"].into_iter().any(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_may_write_options_is_known() {
        for text in [
            "-- sysbench\nlocal x = sysbench.opt.rows if sysbench.opt.fast == true then event() end",
            "id:set(sysbench.rand.default(1, sysbench.opt[key]))",
            "sysbench.cmdline.options = {} sysbench.hooks.x = 1",
        ] {
            assert!(only_reads(text.as_bytes()), "{text}");
        }
        for text in [
            "sysbench.opt.rows = 1",
            "sysbench.opt[key], x = 1, 2",
            "local opt = sysbench.opt",
            "for k in pairs(sysbench.rand) do end",
            "local sb = sysbench",
            "function sysbench.rand.mine() return 1 end x = 1 _G['sysbench'] = 1",
            "sysbench.opt.a,\n x = 1, 2",
        ] {
            assert!(!only_reads(text.as_bytes()), "{text}");
        }
    }
}
