//! Makes a recording of what the lines of a log say, statement by statement.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use perbuck_load::statement::Verb;

use super::lex::{Quotes, question_marks, with_values, words};
use super::plan::Logged;
use super::recording::{Act, Interner, NONE, Recording, Session, Step, Values};
use super::session::{Ended, Open};
use super::statement::{Class, classify, is_of_catalogue};
use super::summary::{Noted, Summary, databases};
use crate::script::Control;

/// Statements that a catalogue has room for; later ones go as text.
const MOST_PREPARED: usize = 60_000;

/// Where something stands in a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) file: &'a str,
    pub(super) line: u64,
}

/// A statement as a log has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    /// Of its session.
    pub(super) session: u64,
    pub(super) database: &'a str,
    /// The time of the log there, in microseconds of any clock: when it was sent, or when it ended.
    pub(super) logged_us: i64,
    /// How long it took, where the log has it when it ended.
    pub(super) took_us: Option<i64>,
    pub(super) sql: &'a str,
    /// The text that was prepared, with `?` for each parameter, where `sql` is that of an execution.
    pub(super) template: Option<&'a str>,
    /// The values of its parameters, where it was prepared.
    ///
    /// Without a template `sql` has numbered ones.
    pub(super) values: Option<&'a [Option<String>]>,
    pub(super) rows: Option<u64>,
}

impl Said<'_> {
    /// When it was sent, as the log says.
    fn sent_us(&self) -> i64 {
        self.logged_us - self.took_us.unwrap_or(0)
    }
}

/// A log's clock that goes further back than this was set back.
const SET_BACK_US: i64 = 1_000_000;

/// How long the end of a transaction takes where the log does not say it.
const END_US: u32 = 5_000;

/// A recording that is being made.
#[derive(Debug)]
pub(super) struct Builder {
    quotes: Quotes,
    interner: Interner,
    prepared: Vec<(String, Verb)>,
    counts: Vec<u16>,
    /// How a text is prepared: its number, and which value each parameter is.
    known: HashMap<u32, Option<(u32, Vec<u16>)>>,
    values: Values,
    classes: HashMap<u32, Class>,
    databases: BTreeSet<String>,
    names: Vec<String>,
    open: HashMap<u64, Open>,
    done: Vec<Session>,
    noted: BTreeMap<String, Noted>,
    hasher: (DefaultHasher, DefaultHasher),
    /// The time of the last line, which is another one for each.
    clock_us: i64,
}

impl Builder {
    pub(super) fn new(quotes: Quotes) -> Self {
        let mut second = DefaultHasher::new();
        second.write_u8(1);
        Self {
            quotes,
            interner: Interner::default(),
            prepared: Vec::new(),
            counts: Vec::new(),
            known: HashMap::new(),
            values: Values::default(),
            classes: HashMap::new(),
            databases: BTreeSet::new(),
            names: Vec::new(),
            open: HashMap::new(),
            done: Vec::new(),
            noted: BTreeMap::new(),
            hasher: (DefaultHasher::new(), second),
            clock_us: i64::MIN,
        }
    }

    /// The time of a line: lines of the same time, or of clocks that differ a little, are as many microseconds apart.
    fn tick(&mut self, logged_us: i64) -> i64 {
        let next = self.clock_us.saturating_add(1);
        self.clock_us = if logged_us.saturating_add(SET_BACK_US) < next { logged_us } else { logged_us.max(next) };
        self.clock_us
    }

    /// A session has said something else, so its last statement has been answered.
    pub(super) fn answered(&mut self, session: u64, logged_us: i64) {
        let at_us = self.tick(logged_us);
        if let Some(open) = self.open.get_mut(&session) {
            open.answered(at_us);
        }
    }

    /// Counts something that was found in a log.
    pub(super) fn note(&mut self, what: &str, at: At<'_>) {
        if let Some(noted) = self.noted.get_mut(what) {
            noted.count += 1;
            return;
        }
        let first = format!("{}:{}", at.file, at.line);
        self.noted.insert(what.to_owned(), Noted { count: 1, first });
    }

    fn leave_out(&mut self, what: &str, at: At<'_>) {
        self.note(&format!("{what} left out"), at);
    }

    /// A session starts.
    pub(super) fn begin(&mut self, session: u64) {
        self.end(session);
        self.open.insert(session, Open::default());
    }

    /// A session has ended; one that is not known is none.
    pub(super) fn end(&mut self, session: u64) {
        if let Some(mut open) = self.open.remove(&session) {
            open.close_unended();
            self.take(open.session);
        }
    }

    fn take(&mut self, mut session: Session) {
        if !session.transactions.is_empty() {
            session.transactions.shrink_to_fit();
            session.steps.shrink_to_fit();
            self.done.push(session);
        }
    }

    /// A statement.
    pub(super) fn statement(&mut self, said: &Said<'_>, at: At<'_>) {
        let sql = said.sql.trim().trim_end_matches(';').trim_end();
        self.hash(said, sql);
        let began_us = self.tick(said.logged_us) - said.took_us.unwrap_or(0);
        // Of a statement that was prepared its text with values is not kept.
        let text = self.interner.number(said.template.unwrap_or(sql));
        let quotes = self.quotes;
        // The text of a prepared statement comes again and again, others once each.
        let class = match said.values {
            Some(_) => self.classes.entry(text).or_insert_with(|| classify(sql, quotes)).clone(),
            None => classify(sql, quotes),
        };
        let database = self.database(said.database);
        // A session that goes to another database is another one there.
        if self.open.get(&said.session).is_some_and(|open| !open.session.steps.is_empty() && open.session.database != database) {
            self.end(said.session);
        }
        let open = self.open.entry(said.session).or_default();
        open.answered(began_us);
        open.session.database = database;
        let sent = match class {
            Class::Sent(sent) => sent,
            Class::LeftOut(why) => return self.leave_out(why, at),
            Class::Temporary(name) => {
                open.temporary.push(name);
                return self.leave_out("temporary tables", at);
            }
        };
        if !open.temporary.is_empty() && words(sql, quotes, usize::MAX).iter().any(|word| open.temporary.contains(word)) {
            return self.leave_out("statements on temporary tables", at);
        }
        if open.transaction.is_none() && matches!(sent.control, Control::Commit | Control::Rollback) {
            return self.leave_out("COMMIT or ROLLBACK outside of a transaction", at);
        }
        let act = match sent.control {
            Control::Begin => Act::Begin,
            Control::Commit => Act::Commit,
            Control::Rollback => Act::Rollback,
            Control::None | Control::Opens | Control::Ends => match self.act(text, sql, said, sent.verb) {
                Some(act) => act,
                None => return self.leave_out("prepared statements without their values", at),
            },
        };
        let planned = self.open.get_mut(&said.session).and_then(|open| open.planned.take()).filter(|plan| plan.sql == sql);
        let counted = said.rows.or(planned.map(|plan| plan.rows)).filter(|_| !is_of_catalogue(sql));
        let rows = counted.map_or(NONE, |rows| u32::try_from(rows).unwrap_or(NONE));
        let took_us = match said.took_us {
            Some(took_us) => u32::try_from(took_us).unwrap_or(NONE - 1),
            // The end of a transaction waits for no other one, but for its disk.
            None if sent.ends() => END_US,
            None => NONE,
        };
        let step = Step { act, verb: sent.verb, rows, began_us, took_us, acts: sent.acts(), at_end: said.took_us.is_some() };
        let ended = self.open.get_mut(&said.session).and_then(|open| {
            open.last = Some(text);
            open.add(step, sent)
        });
        if ended == Some(Ended::Failed) {
            self.leave_out("transactions that failed in the log", at);
        }
    }

    /// A session has logged a plan with its row count: of its last statement, or of the one that comes next.
    pub(super) fn planned(&mut self, session: u64, plan: Logged) {
        if is_of_catalogue(&plan.sql) {
            return;
        }
        let number = self.interner.find(&plan.sql);
        let Some(open) = self.open.get_mut(&session) else { return };
        let last = open.session.steps.last_mut().filter(|step| number.is_some() && open.last == number && step.rows == NONE);
        match last {
            Some(step) if step.verb != Verb::Other => step.rows = u32::try_from(plan.rows).unwrap_or(NONE),
            Some(_) => {}
            None => open.planned = Some(plan),
        }
    }

    /// The last statement of a session has failed with that code; `sql` is what the log names.
    pub(super) fn failed(&mut self, session: u64, sql: Option<&str>, code: &str, at: At<'_>) {
        let number = sql.map(|sql| self.interner.number(sql.trim().trim_end_matches(';').trim_end()));
        let Some(open) = self.open.get_mut(&session) else { return };
        if number.is_none() || open.last != number {
            // It never ran, so nothing of it is in the recording but the transaction around it.
            if let Some(doing) = open.transaction.as_mut().filter(|doing| !doing.savepoint) {
                doing.failed = true;
            }
            return self.note(&format!("statements that failed with {code}"), at);
        }
        open.last = None;
        match &mut open.transaction {
            Some(doing) if !doing.savepoint => doing.failed = true,
            Some(_) => _ = open.session.steps.pop(),
            None => open.take_back(),
        }
        self.note(&format!("statements that failed with {code}"), at);
    }

    fn hash(&mut self, said: &Said<'_>, sql: &str) {
        for hasher in [&mut self.hasher.0, &mut self.hasher.1] {
            (said.session, said.database, said.sent_us(), sql, said.values, said.rows).hash(hasher);
        }
    }

    fn database(&mut self, name: &str) -> u16 {
        if !self.databases.contains(name) {
            self.databases.insert(name.to_owned());
            self.names.push(name.to_owned());
        }
        self.names.iter().position(|known| known == name).unwrap_or(0) as u16
    }

    /// How a statement is sent; `None` where values are missing.
    fn act(&mut self, text: u32, sql: &str, said: &Said<'_>, verb: Verb) -> Option<Act> {
        let Some(values) = said.values else { return Some(Act::Text(text)) };
        if let Some(template) = said.template {
            return Some(self.executed(template, values, verb).unwrap_or_else(|| Act::Text(self.interner.number(sql))));
        }
        if !self.known.contains_key(&text) {
            let marked = question_marks(sql).filter(|_| self.prepared.len() < MOST_PREPARED);
            let known = marked.map(|(marked, order)| {
                self.prepared.push((marked, verb));
                self.counts.push(order.len() as u16);
                (self.prepared.len() as u32 - 1, order)
            });
            self.known.insert(text, known);
        }
        if let Some(Some((number, order))) = self.known.get(&text) {
            let value = |position: &u16| values.get(usize::from(*position)).map(Option::as_deref);
            let ordered: Option<Vec<Option<&str>>> = order.iter().map(value).collect();
            if let Some(start) = self.values.add(ordered?.into_iter()) {
                return Some(Act::Prepared(*number, start));
            }
        }
        let value = |position: u16| {
            let value = values.get(usize::from(position))?;
            Some(value.as_ref().map_or_else(|| "NULL".to_owned(), |text| format!("'{}'", text.replace('\'', "''"))))
        };
        with_values(sql, value).map(|sql| Act::Text(self.interner.number(&sql)))
    }

    /// An execution of a statement that has its values in its order; `None` where there is no room for it.
    fn executed(&mut self, template: &str, values: &[Option<String>], verb: Verb) -> Option<Act> {
        let text = self.interner.number(template);
        let number = match self.known.get(&text) {
            Some(known) => known.as_ref()?.0,
            None => {
                let number = self.prepared.len() as u32;
                let has_room = self.prepared.len() < MOST_PREPARED;
                self.known.insert(text, has_room.then(|| (number, Vec::new())));
                has_room.then_some(())?;
                self.prepared.push((template.to_owned(), verb));
                self.counts.push(values.len() as u16);
                number
            }
        };
        Some(Act::Prepared(number, self.values.add(values.iter().map(Option::as_deref))?))
    }

    /// The recording; `read_bytes` is the length of the log.
    pub(super) fn finish(mut self, format: &str, read_bytes: u64) -> Recording {
        let mut left: Vec<(u64, Open)> = self.open.drain().collect();
        left.sort_by_key(|(session, _)| *session);
        for (_, mut open) in left {
            if open.transaction.is_some() {
                self.noted.entry("transactions without an end, which are rolled back".to_owned()).or_default().count += 1;
            }
            open.close_unended();
            self.take(open.session);
        }
        let start = self.done.iter().filter_map(|s| s.transactions.first()).map(|t| t.due_us).min().unwrap_or(0);
        for session in &mut self.done {
            session.ended_us -= start;
            session.transactions.iter_mut().for_each(|t| t.due_us -= start);
            session.steps.iter_mut().for_each(|s| s.began_us -= start);
        }
        self.done.sort_by_key(|s| s.transactions.first().map(|t| t.due_us));
        let Self { interner, prepared, counts, values, done, names, noted, hasher, .. } = self;
        let (order, databases) = databases(&names, &done);
        let mut sessions = done;
        sessions.iter_mut().for_each(|s| s.database = order[usize::from(s.database)]);
        let fingerprint = format!("{:016x}{:016x}", hasher.0.finish(), hasher.1.finish());
        let summary = Summary { format: format.to_owned(), fingerprint, databases, noted, read_bytes, memory_bytes: 0 };
        let mut recording = Recording { texts: interner.texts, prepared, counts, values, sessions, summary };
        recording.summary.memory_bytes = recording.bytes();
        recording
    }
}
