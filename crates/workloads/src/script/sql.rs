//! A statement of a script: its text with variables, and what it does to a transaction.

use perbuck_load::statement::Verb;

use super::variables::{Given, Names, Slot, Variables};

/// Whether a part of a statement is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Plain,
    /// A string, or a quoted name.
    Quoted,
    Comment,
}

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String, Quoting),
    /// The name of a variable.
    Variable(String, Quoting),
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    /// A variable, and whether it stands within quotes.
    Variable(Slot, bool),
}

/// What a statement does to the transaction of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    /// Nothing.
    None,
    /// It is BEGIN, and says nothing else.
    Begin,
    /// It is COMMIT.
    Commit,
    /// It is ROLLBACK.
    Rollback,
    /// It begins a transaction of its own kind.
    Opens,
    /// It ends one, and says more.
    Ends,
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sql {
    parts: Vec<Part>,
    /// As a server counts it.
    pub(super) verb: Verb,
    pub(super) control: Control,
    /// Whether it makes, changes or drops something that later statements may need.
    pub(super) makes: bool,
}

/// The most parameters of a statement, as pgbench has it.
const MOST_PARAMETERS: usize = 255;

impl Sql {
    /// A statement of these pieces; variables that they name are added.
    pub(super) fn new(pieces: &[Piece], names: &mut Names) -> Self {
        let parts: Vec<Part> = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text, _) => Part::Text(text.clone()),
                Piece::Variable(name, quoting) => Part::Variable(names.slot(name), *quoting != Quoting::Plain),
            })
            .collect();
        let code = |piece: &Piece| match piece {
            Piece::Text(text, Quoting::Plain) => Some(text.clone()),
            _ => None,
        };
        let words = pieces.iter().filter_map(code).collect::<String>().to_ascii_lowercase();
        let words: Vec<&str> = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
        let makes = matches!(words.first(), Some(&("create" | "drop" | "alter" | "set" | "declare" | "prepare")));
        Self { parts, verb: verb(&words), control: control(&words), makes }
    }

    /// Whether a `?` stands in its code, which a parameter would be taken for.
    pub(super) fn has_question_mark(pieces: &[Piece]) -> bool {
        pieces.iter().any(|piece| matches!(piece, Piece::Text(text, Quoting::Plain) if text.contains('?')))
    }

    /// The name of the first variable within quotes of those that `known` says exist.
    pub(super) fn quoted_variable(&self, known: impl Fn(Slot) -> bool) -> Option<Slot> {
        self.parts.iter().find_map(|part| match part {
            Part::Variable(slot, true) if known(*slot) => Some(*slot),
            _ => None,
        })
    }

    /// How many parameters it has, if it is prepared, and whether that is within the limit.
    pub(super) fn too_many_parameters(&self) -> Option<String> {
        let count = self.parameters().count();
        let first = self.parts.iter().find_map(|part| if let Part::Text(text) = part { Some(text.trim()) } else { None });
        (count > MOST_PARAMETERS)
            .then(|| format!("statement has too many arguments (maximum is {MOST_PARAMETERS}): {}", first.unwrap_or_default()))
    }

    /// The variables that a prepared statement has as parameters, in their order.
    pub(super) fn parameters(&self) -> impl Iterator<Item = Slot> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(slot, false) => Some(*slot),
            _ => None,
        })
    }

    /// Its text with `?` for each parameter.
    pub(super) fn prepared(&self, names: &Names) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable(_, false) => "?".to_owned(),
            Part::Variable(slot, true) => format!(":{}", names.name(*slot)),
        };
        self.parts.iter().map(part).collect()
    }

    /// Its text as it stands in the script.
    pub(super) fn written(&self, names: &Names) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable(slot, _) => format!(":{}", names.name(*slot)),
        };
        self.parts.iter().map(part).collect()
    }

    /// Appends its text with the values of variables; a variable without one stays as it is.
    pub(super) fn write(&self, out: &mut String, variables: &Variables, names: &Names) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Variable(slot, _) => match variables.given(*slot) {
                    Given::Value(value) => value.write(out),
                    Given::Text(text) => out.push_str(text),
                    Given::Unset => {
                        out.push(':');
                        out.push_str(names.name(*slot));
                    }
                },
            }
        }
    }
}

pub(crate) fn verb(words: &[&str]) -> Verb {
    let writes = || {
        words.iter().find_map(|word| match *word {
            "insert" => Some(Verb::Insert),
            "update" => Some(Verb::Update),
            "delete" => Some(Verb::Delete),
            _ => None,
        })
    };
    match words.first().copied().unwrap_or_default() {
        "select" | "values" | "table" => Verb::Select,
        "insert" | "replace" => Verb::Insert,
        "update" => Verb::Update,
        "delete" => Verb::Delete,
        "with" => writes().unwrap_or(Verb::Select),
        _ => Verb::Other,
    }
}

pub(crate) fn control(words: &[&str]) -> Control {
    match words {
        ["begin"] | ["begin" | "start", "transaction"] | ["begin", "work"] => Control::Begin,
        ["commit" | "end"] | ["commit" | "end", "transaction" | "work"] => Control::Commit,
        ["rollback" | "abort"] | ["rollback" | "abort", "transaction" | "work"] => Control::Rollback,
        ["begin", ..] | ["start", "transaction", ..] => Control::Opens,
        ["rollback", "to", ..] | ["rollback", "work" | "transaction", "to", ..] | ["rollback" | "commit", "prepared", ..] => {
            Control::None
        }
        [.., "and", "chain"] => Control::None,
        ["commit" | "end" | "rollback" | "abort", ..] | ["prepare", "transaction", ..] => Control::Ends,
        _ => Control::None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::{Item, items};
    use super::*;

    fn sql(text: &str, names: &mut Names) -> Sql {
        let items = items(text);
        let Item::Sql(statements) = &items[0].is else { panic!("{text}") };
        Sql::new(&statements[0], names)
    }

    #[test]
    fn statements_are_known_by_their_words() {
        let of = |text: &str| {
            let sql = sql(text, &mut Names::default());
            (sql.verb, sql.control)
        };
        for (text, expected) in [
            ("BEGIN", (Verb::Other, Control::Begin)),
            ("start transaction", (Verb::Other, Control::Begin)),
            ("BEGIN ISOLATION LEVEL SERIALIZABLE", (Verb::Other, Control::Opens)),
            ("End", (Verb::Other, Control::Commit)),
            ("ROLLBACK", (Verb::Other, Control::Rollback)),
            ("ROLLBACK TO a", (Verb::Other, Control::None)),
            ("COMMIT AND CHAIN", (Verb::Other, Control::None)),
            ("COMMIT AND NO CHAIN", (Verb::Other, Control::Ends)),
            ("SELECT 1", (Verb::Select, Control::None)),
            ("/* hint */ insert into t values (1)", (Verb::Insert, Control::None)),
            ("WITH a AS (SELECT 1) DELETE FROM t", (Verb::Delete, Control::None)),
            ("with a as (select 'update') select 1", (Verb::Select, Control::None)),
            ("CREATE TABLE t (a int)", (Verb::Other, Control::None)),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn a_statement_is_written_both_ways() {
        let mut names = Names::default();
        let sql = sql("SELECT :a, ':b', :none, :a::int", &mut names);
        let mut variables = Variables::new(names.len());
        variables.set(names.find("a").unwrap(), super::super::value::Value::Double(1.5));
        variables.set_text(names.find("b").unwrap(), |out| out.push_str("it's"));
        let mut text = String::new();
        sql.write(&mut text, &variables, &names);
        assert_eq!(text, "SELECT 1.5, 'it's', :none, 1.5::int");
        assert_eq!(sql.prepared(&names), "SELECT ?, ':b', ?, ?::int");
        assert_eq!(sql.written(&names), "SELECT :a, ':b', :none, :a::int");
        assert_eq!(sql.parameters().collect::<Vec<_>>(), [0, 2, 0]);
        assert_eq!(sql.quoted_variable(|_| true), names.find("b"));
    }
}
