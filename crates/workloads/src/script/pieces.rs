//! Cuts a script into statements and meta commands, as psql's scanner does.

use super::sql::{Piece, Quoting};
use super::variables::name_length;

/// A piece of a script with the line that it starts in, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located<T> {
    pub(super) line: usize,
    /// What pgbench shows of it: the first line of a statement, or all of a meta command.
    pub(super) shown: String,
    pub(super) is: T,
}

/// What a script consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item<'a> {
    /// Statements that `\;` joins: one for most.
    Sql(Vec<Vec<Piece>>),
    /// A backslash with the word that follows it, and the rest of its line; lines that it continues are joined.
    Meta(&'a str, String),
}

/// All of a script.
pub(super) fn items(text: &str) -> Vec<Located<Item<'_>>> {
    let mut cutter = Cutter { text, at: 0, items: Vec::new(), joined: Vec::new(), now: Vec::new(), started: None, depth: 0 };
    while cutter.at < text.len() {
        cutter.step();
    }
    cutter.end_statement();
    cutter.items
}

struct Cutter<'a> {
    text: &'a str,
    at: usize,
    items: Vec<Located<Item<'a>>>,
    /// Statements that `\;` has ended.
    joined: Vec<Vec<Piece>>,
    /// The statement that is read.
    now: Vec<Piece>,
    /// Where the first of them started.
    started: Option<usize>,
    /// Open parentheses: a semicolon within them ends nothing.
    depth: u32,
}

impl<'a> Cutter<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn step(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        match first {
            ';' if self.depth == 0 => {
                self.at += 1;
                self.end_statement();
            }
            '\\' => self.backslash(),
            '-' if rest.starts_with("--") => self.at += rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => self.take(comment_length(rest), Quoting::Comment),
            '\'' => self.take(quoted_length(rest, '\'', self.after_e()), Quoting::Quoted),
            '"' | '`' => self.take(quoted_length(rest, first, false), Quoting::Quoted),
            '$' => self.take(dollar_length(rest).unwrap_or(1), Quoting::Quoted),
            ':' => self.colon(),
            _ if first.is_whitespace() && self.now.is_empty() => self.at += first.len_utf8(),
            _ => {
                self.depth = match first {
                    '(' => self.depth + 1,
                    ')' => self.depth.saturating_sub(1),
                    _ => self.depth,
                };
                self.take(first.len_utf8(), Quoting::Plain);
            }
        }
    }

    /// Whether the quote that is next belongs to a string of the kind `E'…'`, in which a backslash escapes.
    fn after_e(&self) -> bool {
        let mut before = self.text[..self.at].chars().rev();
        matches!(before.next(), Some('e' | 'E')) && !before.next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Moves so many bytes into the statement.
    fn take(&mut self, length: usize, quoting: Quoting) {
        self.started.get_or_insert(self.at);
        let taken = &self.rest()[..length];
        self.at += length;
        if quoting == Quoting::Quoted && taken.len() > 1 {
            return self.quoted(taken);
        }
        self.text_piece(taken, quoting);
    }

    fn text_piece(&mut self, taken: &str, quoting: Quoting) {
        match self.now.last_mut() {
            Some(Piece::Text(text, same)) if *same == quoting => text.push_str(taken),
            _ => self.now.push(Piece::Text(taken.to_owned(), quoting)),
        }
    }

    /// Names of variables within quotes are found, too: as text they are replaced.
    fn quoted(&mut self, mut taken: &str) {
        while let Some(colon) = taken.find(':') {
            let (before, after) = taken.split_at(colon);
            self.text_piece(before, Quoting::Quoted);
            let length = name_length(&after[1..]);
            if length == 0 {
                let colons = after.len() - after.trim_start_matches(':').len();
                // The name after a second colon is a type.
                let skipped = colons + if colons > 1 { name_length(&after[colons..]) } else { 0 };
                self.text_piece(&after[..skipped], Quoting::Quoted);
                taken = &after[skipped..];
            } else {
                self.now.push(Piece::Variable(after[1..=length].to_owned(), Quoting::Quoted));
                taken = &after[1 + length..];
            }
        }
        self.text_piece(taken, Quoting::Quoted);
    }

    fn colon(&mut self) {
        let after = &self.rest()[1..];
        let length = name_length(after);
        if length > 0 {
            self.started.get_or_insert(self.at);
            self.now.push(Piece::Variable(after[..length].to_owned(), Quoting::Plain));
            self.at += 1 + length;
        } else {
            // `::type` is a cast, and `:=` an assignment.
            let colons = 1 + after.len() - after.trim_start_matches(':').len();
            let name = if colons > 1 { name_length(&after[colons - 1..]) } else { 0 };
            self.take(colons + name, Quoting::Plain);
        }
    }

    fn backslash(&mut self) {
        let after = &self.rest()[1..];
        if after.starts_with(';') {
            self.started.get_or_insert(self.at);
            self.at += 2;
            self.joined.push(std::mem::take(&mut self.now));
        } else if after.starts_with(':') {
            self.at += 1;
            self.take(1, Quoting::Plain);
        } else {
            self.end_statement();
            self.meta();
        }
    }

    fn meta(&mut self) {
        let (start, mut line) = (self.at, String::new());
        self.at += 1;
        let word = self.rest();
        let word = &word[..word.find(char::is_whitespace).unwrap_or(word.len())];
        self.at += word.len();
        loop {
            let rest = self.rest();
            let end = rest.find('\n').unwrap_or(rest.len());
            let read = rest[..end].trim_end_matches('\r');
            self.at += (end + 1).min(rest.len());
            match read.strip_suffix('\\') {
                Some(continued) if end < rest.len() => {
                    line.push_str(continued);
                    line.push(' ');
                }
                _ => {
                    line.push_str(read);
                    break;
                }
            }
        }
        let is = Item::Meta(word, line.trim().to_owned());
        let shown = self.text[start..self.at].trim_end().to_owned();
        self.items.push(Located { line: self.line(start), shown, is });
    }

    fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    fn end_statement(&mut self) {
        self.depth = 0;
        self.joined.push(std::mem::take(&mut self.now));
        let mut statements = std::mem::take(&mut self.joined);
        statements.iter_mut().for_each(trim_end);
        statements.retain(|pieces| pieces.iter().any(|piece| !matches!(piece, Piece::Text(_, Quoting::Comment))));
        if let (Some(start), false) = (self.started.take(), statements.is_empty()) {
            let shown = self.first_line(start);
            self.items.push(Located { line: self.line(start), shown, is: Item::Sql(statements) });
        }
    }

    /// The first line of the statement that starts there, 127 bytes at most. What a backslash had kept from psql stands without it.
    fn first_line(&self, start: usize) -> String {
        let text = &self.text[start..self.at];
        let line = text.split(['\n', '\r']).next().unwrap_or_default().replace("\\;", ";").replace("\\:", ":");
        line[..line.floor_char_boundary(127)].to_owned()
    }
}

fn trim_end(pieces: &mut Vec<Piece>) {
    while let Some(Piece::Text(text, Quoting::Plain)) = pieces.last_mut() {
        text.truncate(text.trim_end().len());
        if !text.is_empty() {
            return;
        }
        pieces.pop();
    }
}

/// The length of a quoted text at the start; to the end where the quote is never closed. Two quotes are one within it.
fn quoted_length(text: &str, quote: char, escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && escapes {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Comments of this kind nest.
fn comment_length(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0_u32);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        at += if rest.starts_with(b"/*") {
            depth += 1;
            2
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            2
        } else {
            1
        };
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// `$$…$$` or `$tag$…$tag$`; `None` where it is none.
fn dollar_length(text: &str) -> Option<usize> {
    let tag = 1 + name_length(&text[1..]);
    let mark = text.get(..=tag).filter(|mark| mark.ends_with('$'))?;
    Some(text[mark.len()..].find(mark).map_or(text.len(), |end| mark.len() * 2 + end))
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
