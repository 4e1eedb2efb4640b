use super::*;

#[test]
fn a_tree_is_written_with_its_comments() {
    let object = Object::new(
        "An example.",
        [
            entry("kind", "Thing"),
            entry("metadata", map([entry("name", "a").of("contender `a`"), entry("labels", texts([("x/y", "1")]))])),
            entry("empty", map([])),
            entry("list", Value::List(vec![map([entry("a", 1_i64).of("first"), entry("b", "two words")]), Value::from("x")])),
            entry("short", vec!["a", "8.5"]),
            entry("config", "[a]\nb = 1\n\nc = 2\n"),
            entry("long", "value")
                .of("a comment that is too long to stand beside its key, so that it stands above it, where there is room for it"),
        ],
    );
    let expected = "# An example.\nkind: Thing\nmetadata:\n  name: a  # contender `a`\n  labels:\n    x/y: \"1\"\nempty: {}\nlist:\n\
        \x20 - a: 1  # first\n    b: \"two words\"\n  - x\nshort: [a, \"8.5\"]\nconfig: |\n  [a]\n  b = 1\n\n  c = 2\n\
        # a comment that is too long to stand beside its key, so that it stands above it, where there is room for it\nlong: value\n";
    assert_eq!(object.yaml(), expected);
    assert_eq!((object.kind(), object.name(), object.namespace()), ("Thing", "a", None));
}

#[test]
fn a_text_that_yaml_would_read_as_something_else_is_quoted() {
    for plain in ["gp3", "us-east-1a", "pingcap/tikv", "/dev/xvda", "v8.5.3"] {
        assert_eq!(scalar(plain), plain);
    }
    for quoted in [
        "",
        "1.33",
        "8000m",
        "yes",
        "No",
        "null",
        "~",
        "a: b",
        "a #b",
        "1e3",
        "0x1",
        "12:30:45",
        "-",
        "é",
        "a\tb",
        "*x",
        "/",
        "pingcap/tikv:v8.5.3",
    ] {
        assert!(scalar(quoted).starts_with('"'), "{quoted}");
    }
}

/// A tree at random: texts that YAML could take for something else, among them.
fn tree(next: &mut impl FnMut(usize) -> usize, depth: usize) -> Value {
    let kinds = if depth == 0 { 3 } else { 5 };
    match next(kinds) {
        0 => Value::Text(text(next)),
        1 => Value::Int(next(2000) as i64 - 1000),
        2 => Value::Bool(next(2) == 0),
        3 => Value::List((0..next(4)).map(|_| tree(next, depth - 1)).collect()),
        _ => {
            let entries = (0..next(4)).map(|n| {
                let put = entry(format!("{n}{}", text(next)), tree(next, depth - 1));
                if next(3) == 0 { put.of("why: # it is") } else { put }
            });
            map(entries)
        }
    }
}

fn text(next: &mut impl FnMut(usize) -> usize) -> String {
    const PARTS: [&str; 30] = [
        "a",
        "no",
        "~",
        "null",
        "1",
        "0x1",
        "-",
        ": ",
        " #",
        "\n",
        "\"",
        "'",
        "\\",
        "é",
        "\t",
        "{",
        "]",
        "&a",
        "*",
        "!",
        "%",
        "@",
        "`",
        "|",
        ">",
        " ",
        "1e3",
        "2026-11-26",
        "---\n",
        ",",
    ];
    (0..next(5)).map(|_| PARTS[next(PARTS.len())]).collect()
}

#[test]
fn another_reader_of_yaml_finds_the_same_tree_as_in_json() {
    let mut state = 42_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..5000 {
        // A document is a map, as every object is.
        let value = map((0..4).map(|n| entry(format!("k{n}"), tree(&mut next, 4))));
        let read: Json = serde_saphyr::from_str(&value.yaml()).unwrap_or_else(|why| panic!("{why}\n{}", value.yaml()));
        assert_eq!(read, value.json(), "{}", value.yaml());
    }
}
