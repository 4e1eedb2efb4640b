use proptest::prelude::*;

use super::*;

/// The items as text: `line: statement | statement`, or `line: \word rest`; variables in angle brackets, those within quotes in braces.
fn shown(text: &str) -> Vec<String> {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text, _) => text.clone(),
        Piece::Variable(name, Quoting::Plain) => format!("<{name}>"),
        Piece::Variable(name, _) => format!("{{{name}}}"),
    };
    let sql = |pieces: &Vec<Piece>| pieces.iter().map(piece).collect::<String>();
    let item = |item: Located<Item<'_>>| match item.is {
        Item::Sql(all) => format!("{}: {}", item.line, all.iter().map(sql).collect::<Vec<_>>().join(" | ")),
        Item::Meta(word, rest) => format!("{}: \\{word} {rest}", item.line),
    };
    items(text).into_iter().map(item).collect()
}

#[test]
fn scripts_are_cut_where_psql_cuts_them() {
    let script = "-- a comment; with a semicolon\n\\set aid random(1, 100000 * :scale)\nBEGIN;\nUPDATE t\n  SET a = a + :delta -- :no\n  \
                  WHERE id = :aid;\nSELECT ';', \"a;b\", $x$ ; $x$, (1;2), E'\\';' /* ; */;END;";
    assert_eq!(
        shown(script),
        [
            "2: \\set aid random(1, 100000 * :scale)",
            "3: BEGIN",
            "4: UPDATE t\n  SET a = a + <delta> \n  WHERE id = <aid>",
            "7: SELECT ';', \"a;b\", $x$ ; $x$, (1;2), E'\\';' /* ; */",
            "7: END",
        ]
    );
}

#[test]
fn statements_are_joined_and_end_before_a_meta_command() {
    assert_eq!(
        shown("\\; \\; SELECT 0 AS i5 \\; SELECT 5 AS i5 \\; \\; \\gset\n\\set i \\\n  1 + \\\n 2\nSELECT 1 \\gset x_\nSELECT 2"),
        [
            "1: SELECT 0 AS i5 | SELECT 5 AS i5",
            "1: \\gset ",
            "2: \\set i    1 +   2",
            "5: SELECT 1",
            "5: \\gset x_",
            "6: SELECT 2"
        ]
    );
    assert_eq!(shown(" ; ;-- nothing\n /* */ ;"), Vec::<String>::new());
}

/// As `pgbench -r` of version 15 shows them.
#[test]
fn commands_are_shown_as_by_pgbench() {
    let shown = |text: &str| items(text).into_iter().map(|item| item.shown).collect::<Vec<_>>();
    let script = "-- a comment\n\\set a 1 +  \\\n   2  \n\\if :a > 0\nSELECT 1,\n  2;\n\\endif\n  /* hi */ SELECT :a AS x \\gset p_\n\
                  SELECT 5 \\; SELECT 6;\nselect 7 /* c */ , 8 -- trailing\n;\nSELECT 9 ; SELECT 10";
    assert_eq!(
        shown(script),
        [
            "\\set a 1 +  \\\n   2",
            "\\if :a > 0",
            "SELECT 1,",
            "\\endif",
            "/* hi */ SELECT :a AS x ",
            "\\gset p_",
            "SELECT 5 ; SELECT 6;",
            "select 7 /* c */ , 8 -- trailing",
            "SELECT 9 ;",
            "SELECT 10",
        ]
    );
    // 127 bytes at most, and no half of a character.
    for (letters, bytes) in [(117, 127), (118, 126)] {
        assert_eq!(shown(&format!("SELECT '{}é';", "a".repeat(letters)))[0].len(), bytes);
    }
}

#[test]
fn variables_are_told_from_casts_and_times() {
    assert_eq!(
        shown("SELECT :a::int, '12:30:b', x::text, a[1:2], :b:c, '::d' \\: e := :f;"),
        ["1: SELECT <a>::int, '12:30{b}', x::text, a[1:2], <b><c>, '::d' : e := <f>"]
    );
}

proptest! {
    #[test]
    fn any_text_is_cut(text in "[a-c:;'\"$\\\\\\-/*(){}\n é]{0,80}") {
        let _ = items(&text);
    }

    /// Statements without quotes, comments and variables come back as they are.
    #[test]
    fn plain_statements_come_back(words in prop::collection::vec("[a-z][a-z0-9 =<>,.+]{0,20}[a-z0-9]", 1..8)) {
        let text = words.join(" ;\n ");
        let found: Vec<String> = shown(&text).iter().map(|s| s.split_once(": ").unwrap().1.to_owned()).collect();
        prop_assert_eq!(found, words);
    }
}
