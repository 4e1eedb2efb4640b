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
