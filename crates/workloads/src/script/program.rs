//! A script as steps: what it says, checked, with conditions as jumps.

use perbuck_core::problem::nearest;

use super::expression::{self, Expression};
use super::pieces::{Item, Located, items};
use super::sql::{Control, Piece, Sql};
use super::variables::{Names, Slot, is_name};

/// What is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

/// Where the values of a result go.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Store {
    /// Nowhere: rows are counted.
    Nowhere,
    /// Into variables whose names begin so; there must be one row (`\gset`).
    OneRow(String),
    /// The same of the last row, if there is any (`\aset`).
    LastRow(String),
}

/// How long `\sleep` waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Length {
    Known(i64),
    Of(Slot),
}

/// One step of a script.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// A statement, or several that are sent as one text.
    Sql(Vec<Sql>, Store),
    Set(Slot, Expression),
    /// Goes to another step where the condition does not hold.
    Unless(Expression, usize),
    Go(usize),
    /// Waits for so many units of so many nanoseconds.
    Sleep(Length, u64),
    Pipeline(Pipeline),
}

/// What a command does to the pipeline of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pipeline {
    Start,
    /// An error before it keeps nothing after it from being executed.
    Sync,
    End,
}

impl Step {
    /// Its statements, if it has any.
    pub(super) fn statements(&self) -> &[Sql] {
        match self {
            Self::Sql(statements, _) => statements,
            _ => &[],
        }
    }
}

/// A step with its line, and the number of its command from 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed {
    pub(super) line: usize,
    pub(super) command: usize,
    pub(super) step: Step,
}

/// A script, read.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) steps: Vec<Placed>,
    /// Its commands, as pgbench shows them.
    pub(super) commands: Vec<String>,
}

const META: [&str; 13] = [
    "set",
    "setshell",
    "shell",
    "sleep",
    "if",
    "elif",
    "else",
    "endif",
    "gset",
    "aset",
    "startpipeline",
    "endpipeline",
    "syncpipeline",
];

impl Program {
    /// Reads a script, or finds everything that is wrong with it.
    pub(super) fn read(text: &str, names: &mut Names, binds: bool) -> Result<Self, Vec<Fault>> {
        let mut reader = Reader {
            names,
            binds,
            steps: Vec::new(),
            open: Vec::new(),
            faults: Vec::new(),
            commands: Vec::new(),
            line: 1,
            last_sql: None,
        };
        items(text).into_iter().for_each(|item| reader.item(item));
        if let Some(open) = reader.open.last() {
            let line = open.line;
            reader.fault_at(line, "\\if without matching \\endif", "add \\endif");
        }
        if reader.commands.is_empty() && reader.faults.is_empty() {
            reader.fault_at(1, "empty command list for script", "write a statement, which ends with `;`");
        }
        let Reader { steps, commands, faults, .. } = reader;
        if faults.is_empty() { Ok(Self { steps, commands }) } else { Err(faults) }
    }

    /// All its statements.
    pub(super) fn statements(&self) -> impl Iterator<Item = &Sql> {
        self.steps.iter().flat_map(|located| located.step.statements())
    }

    /// The line of its first pipeline.
    pub(super) fn pipeline_line(&self) -> Option<usize> {
        self.steps.iter().find(|placed| placed.step == Step::Pipeline(Pipeline::Start)).map(|placed| placed.line)
    }

    /// Whether a variable gets another value within a transaction or a pipeline that the script begins.
    pub(super) fn sets_within_transactions(&self) -> bool {
        let begins = |step: &Step| match step {
            Step::Sql(all, _) => all.iter().any(|s| matches!(s.control, Control::Begin | Control::Opens)),
            step => *step == Step::Pipeline(Pipeline::Start),
        };
        let stores = |step: &Step| matches!(step, Step::Set(..) | Step::Sql(_, Store::OneRow(_) | Store::LastRow(_)));
        self.steps.iter().skip_while(|located| !begins(&located.step)).any(|located| stores(&located.step))
    }
}

/// A condition that is not closed.
struct Open {
    line: usize,
    /// The step that goes on where the last condition did not hold.
    pending: Option<usize>,
    /// The steps that leave it.
    ends: Vec<usize>,
    /// Whether `\else` was there.
    other: bool,
}

struct Reader<'n> {
    names: &'n mut Names,
    /// Whether variables are parameters.
    binds: bool,
    steps: Vec<Placed>,
    open: Vec<Open>,
    faults: Vec<Fault>,
    commands: Vec<String>,
    line: usize,
    /// The step of the statement before, which a result may be taken of.
    last_sql: Option<usize>,
}

impl Reader<'_> {
    fn fault_at(&mut self, line: usize, message: impl Into<String>, help: impl Into<String>) {
        self.faults.push(Fault { line, message: message.into(), help: help.into() });
    }

    fn fault(&mut self, message: impl Into<String>, help: impl Into<String>) {
        self.fault_at(self.line, message, help);
    }

    fn push(&mut self, step: Step) -> usize {
        self.steps.push(Placed { line: self.line, command: self.commands.len(), step });
        self.steps.len() - 1
    }

    fn item(&mut self, item: Located<Item<'_>>) {
        self.line = item.line;
        match item.is {
            Item::Sql(statements) => {
                self.commands.push(item.shown);
                let step = self.sql(&statements);
                self.last_sql = Some(self.push(step));
            }
            Item::Meta(word, rest) => {
                let stores = word.eq_ignore_ascii_case("gset") || word.eq_ignore_ascii_case("aset");
                if !stores {
                    self.commands.push(item.shown);
                }
                self.meta(word, &rest);
                self.last_sql = None;
            }
        }
    }

    fn sql(&mut self, statements: &[Vec<Piece>]) -> Step {
        if self.binds && statements.iter().any(|pieces| Sql::has_question_mark(pieces)) {
            let help = "call the operator's function, or use the protocol `simple`";
            self.fault("a `?` in a statement with parameters would be one", help);
        }
        if self.binds && statements.len() > 1 {
            self.fault("statements that `\\;` joins cannot have parameters", "end each with `;`, or use the protocol `simple`");
        }
        let all: Vec<Sql> = statements.iter().map(|pieces| Sql::new(pieces, self.names)).collect();
        if let Some(message) = all.iter().find_map(Sql::too_many_parameters) {
            self.fault(message, "use fewer variables");
        }
        let controls = all.iter().filter(|sql| sql.control != Control::None).count();
        if controls > 0 && all.len() > 1 {
            self.fault("BEGIN and COMMIT cannot be joined with other statements by `\\;`", "end them with `;`");
        }
        Step::Sql(all, Store::Nowhere)
    }

    fn meta(&mut self, word: &str, rest: &str) {
        let known = META.iter().find(|meta| meta.eq_ignore_ascii_case(word)).copied();
        match known {
            Some("set") => self.set(rest),
            Some("sleep") => self.sleep(rest),
            Some("if") => self.condition(rest),
            Some("elif") => self.other_condition(rest),
            Some("else" | "endif") => self.end_condition(known == Some("endif"), rest),
            Some("gset") => self.store(rest, Store::OneRow, "gset"),
            Some("aset") => self.store(rest, Store::LastRow, "aset"),
            Some(shell @ ("shell" | "setshell")) => {
                self.fault(format!("perbuck starts no program from a script, so there is no \\{shell}"), "remove the command");
            }
            Some("startpipeline") => self.pipeline(Pipeline::Start, "startpipeline", rest),
            Some("syncpipeline") => self.pipeline(Pipeline::Sync, "syncpipeline", rest),
            Some(_) => self.pipeline(Pipeline::End, "endpipeline", rest),
            None => {
                let near = nearest(&word.to_ascii_lowercase(), META).map_or_else(
                    || {
                        "the commands are \\set, \\if, \\elif, \\else, \\endif, \\gset, \\aset, \\sleep, \\startpipeline, \\syncpipeline and \\endpipeline"
                            .to_owned()
                    },
                    |near| format!("did you mean \\{near}?"),
                );
                self.fault(format!("invalid command in command \"{word}\""), near);
            }
        }
    }

    fn set(&mut self, rest: &str) {
        let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if name.is_empty() {
            return self.fault("missing argument in command \"set\"", "write `\\set NAME EXPRESSION`");
        }
        if !is_name(name) {
            return self.fault(format!("invalid variable name: \"{name}\""), "use letters, digits and `_`, a digit not first");
        }
        let slot = self.names.slot(name);
        if let Some(value) = self.expression("set", text) {
            self.push(Step::Set(slot, value));
        }
    }

    fn pipeline(&mut self, what: Pipeline, word: &str, rest: &str) {
        if rest.is_empty() {
            self.push(Step::Pipeline(what));
        } else {
            self.unexpected_argument(word);
        }
    }

    fn unexpected_argument(&mut self, word: &str) {
        self.fault(format!("unexpected argument in command \"{word}\""), "remove what follows it");
    }

    fn expression(&mut self, command: &str, text: &str) -> Option<Expression> {
        let read = expression::parse(text, self.names);
        read.map_err(|why| {
            self.fault(
                format!("syntax error in command \"{command}\": {why}"),
                "pgbench's manual has the operators and functions",
            );
        })
        .ok()
    }

    fn sleep(&mut self, rest: &str) {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (amount, unit) = match words[..] {
            [] => {
                return self
                    .fault("missing argument in command \"sleep\" (\\sleep NUMBER UNIT)", "write for instance `\\sleep 10 ms`");
            }
            [amount] => {
                let digits =
                    amount.find(|c: char| c.is_ascii_alphabetic()).filter(|_| !amount.starts_with(':')).unwrap_or(amount.len());
                amount.split_at(digits)
            }
            [amount, unit] => (amount, unit),
            _ => return self.fault("too many arguments in command \"sleep\"", "write for instance `\\sleep 10 ms`"),
        };
        let unit_ns = match unit.to_ascii_lowercase().as_str() {
            "" | "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" => 1_000,
            _ => {
                return self
                    .fault(format!("unrecognized time unit \"{unit}\" in command \"sleep\""), "the units are us, ms and s");
            }
        };
        let length = match amount.strip_prefix(':') {
            Some(name) if is_name(name) => Length::Of(self.names.slot(name)),
            _ => match amount.parse() {
                Ok(count) => Length::Known(count),
                Err(_) => {
                    return self
                        .fault(format!("\"{amount}\" is no whole number in command \"sleep\""), "give a number or a variable");
                }
            },
        };
        self.push(Step::Sleep(length, unit_ns));
    }

    fn condition(&mut self, rest: &str) {
        let pending = self.expression("if", rest).map(|condition| self.push(Step::Unless(condition, 0)));
        self.open.push(Open { line: self.line, pending, ends: Vec::new(), other: false });
    }

    fn other_condition(&mut self, rest: &str) {
        let condition = self.expression("elif", rest);
        let Some(mut open) = self.open.pop() else { return self.fault("\\elif without matching \\if", "add \\if before it") };
        if open.other {
            self.fault("\\elif after \\else", "put it before \\else");
        }
        self.next_branch(&mut open);
        open.pending = condition.map(|condition| self.push(Step::Unless(condition, 0)));
        self.open.push(open);
    }

    /// Ends a branch: it leaves the condition, and the next one starts here.
    fn next_branch(&mut self, open: &mut Open) {
        open.ends.push(self.push(Step::Go(0)));
        self.land(open.pending.take());
    }

    /// Lets a jump come here.
    fn land(&mut self, jump: Option<usize>) {
        let here = self.steps.len();
        let step = jump.and_then(|at| self.steps.get_mut(at)).map(|placed| &mut placed.step);
        if let Some(Step::Go(to) | Step::Unless(_, to)) = step {
            *to = here;
        }
    }

    fn end_condition(&mut self, ends: bool, rest: &str) {
        let word = if ends { "endif" } else { "else" };
        if !rest.is_empty() {
            self.unexpected_argument(word);
        }
        let Some(mut open) = self.open.pop() else {
            return self.fault(format!("\\{word} without matching \\if"), "add \\if before it");
        };
        if ends {
            self.land(open.pending.take());
            open.ends.into_iter().for_each(|end| self.land(Some(end)));
            return;
        }
        if std::mem::replace(&mut open.other, true) {
            self.fault("\\else after \\else", "keep one of them");
        }
        self.next_branch(&mut open);
        self.open.push(open);
    }

    /// Of joined statements `\gset` takes the last, `\aset` each.
    fn store(&mut self, rest: &str, store: fn(String) -> Store, word: &str) {
        if rest.split_whitespace().count() > 1 {
            return self
                .fault(format!("too many arguments in command \"{word}\""), format!("write `\\{word}` or `\\{word} PREFIX`"));
        }
        match self.last_sql.and_then(|at| self.steps.get_mut(at)).map(|placed| &mut placed.step) {
            Some(Step::Sql(_, to)) => *to = store(rest.to_owned()),
            _ => self.fault(format!("\\{word} must follow an SQL command"), "put it after a statement, in place of the `;`"),
        }
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
