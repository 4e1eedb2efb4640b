//! Logs of all commands of clients: a line for each, with the number of its connection; a text may go on over several lines.

use std::collections::HashMap;
use std::io::BufRead;

use super::Fault;
use super::builder::{At, Builder};
use super::executed::{Template, values_of};
use super::lines::Lines;
use super::spread::{Kept, Spread};
use super::time;

/// Commands that a line may name.
const COMMANDS: [&str; 29] = [
    "Query",
    "Execute",
    "Prepare",
    "Connect",
    "Quit",
    "Init DB",
    "Close stmt",
    "Reset stmt",
    "Long Data",
    "Ping",
    "Statistics",
    "Field List",
    "Change user",
    "Binlog Dump",
    "Daemon",
    "Sleep",
    "Error",
    "Shutdown",
    "Refresh",
    "Processlist",
    "Kill",
    "Debug",
    "Fetch",
    "Set option",
    "Table Dump",
    "Connect Out",
    "Time",
    "Create DB",
    "Drop DB",
];

/// Prepared statements of a connection that executions are compared with.
const REMEMBERED: usize = 256;

/// A connection.
#[derive(Debug, Default)]
struct Client {
    database: String,
    /// What it prepared, the last one at the end.
    prepared: Vec<Template>,
    /// Whether its last command was EXECUTE as a text, which the log repeats with its values.
    executes: bool,
}

/// A line that begins a command.
struct Command<'a> {
    time: Option<&'a str>,
    session: u64,
    name: &'a str,
    argument: &'a str,
}

impl<'a> Command<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (time, rest) = match line.strip_prefix("\t\t") {
            Some(rest) => (None, rest),
            None => {
                line.split_once('\t').filter(|(time, _)| time::read_us(time).is_some()).map(|(time, rest)| (Some(time), rest))?
            }
        };
        let rest = rest.trim_start();
        let (session, rest) = rest.split_once(' ')?;
        let (name, argument) = rest.split_once('\t').unwrap_or((rest, ""));
        COMMANDS.contains(&name).then_some(())?;
        Some(Self { time, session: session.parse().ok()?, name, argument })
    }
}

/// Whether a line begins a command.
pub(super) fn begins(line: &str) -> bool {
    Command::of(line).is_some()
}

/// Reads a log; returns its length in bytes.
pub(super) fn read(reader: impl BufRead, file: &str, builder: &mut Builder) -> Result<u64, Fault> {
    let mut lines = Lines::new(reader, file);
    let (mut spread, mut clients) = (Spread::default(), HashMap::new());
    let mut command: Option<(String, u64)> = None;
    while let Some((line, number)) = lines.next()? {
        if Command::of(line).is_some() {
            if let Some((text, first)) = command.replace((line.to_owned(), number)) {
                take(&text, first, &mut spread, &mut clients, (builder, file));
            }
        } else if is_heading(line) {
            if let Some((text, first)) = command.take() {
                take(&text, first, &mut spread, &mut clients, (builder, file));
            }
        } else {
            match &mut command {
                Some((text, _)) => {
                    text.push('\n');
                    text.push_str(line);
                }
                None => builder.note("lines that are no entry of such a log", At { file, line: number }),
            }
        }
    }
    if let Some((text, first)) = command {
        take(&text, first, &mut spread, &mut clients, (builder, file));
    }
    spread.pass_on(builder, file);
    Ok(lines.bytes())
}

/// Whether the server wrote this line when it opened the file.
pub(super) fn is_heading(line: &str) -> bool {
    line.ends_with("started with:") || line.starts_with("Tcp port: ") || line.starts_with("Time  ") || line.starts_with("Time\t")
}

fn take(text: &str, line: u64, spread: &mut Spread, clients: &mut HashMap<u64, Client>, (builder, file): (&mut Builder, &str)) {
    let Some(Command { time, session, name, argument }) = Command::of(text) else { return };
    if let Some(time_us) = time.and_then(time::read_us) {
        spread.time((time_us, time.is_some_and(|time| time.contains('.'))), builder, file);
    }
    if !spread.has_time() {
        return builder.note("commands before the first time left out", At { file, line });
    }
    let client = clients.entry(session).or_default();
    let executes = std::mem::take(&mut client.executes);
    match name {
        "Connect" => {
            let on = argument.split_once(" on ").map_or("", |(_, on)| on);
            let database = on.split_once(" using ").map_or(on, |(database, _)| database);
            *client = Client { database: database.to_owned(), ..Client::default() };
            spread.begin(session);
        }
        "Quit" => {
            clients.remove(&session);
            spread.end(session);
        }
        "Init DB" => argument.clone_into(&mut client.database),
        "Prepare" => {
            client.prepared.extend(Template::of(argument));
            if client.prepared.len() > REMEMBERED {
                client.prepared.remove(0);
            }
        }
        "Query" | "Execute" => {
            // The text with its values follows EXECUTE.
            let starts = |word: &str| argument.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
            if name == "Execute" && executes {
                return;
            }
            if name == "Query" && starts("execute ") {
                client.executes = true;
            }
            if name == "Query" && starts("use ") {
                argument[4..].trim_matches([' ', ';', '`']).clone_into(&mut client.database);
                return;
            }
            let templates = client.prepared.iter().rev().filter(|_| name == "Execute");
            let prepared = templates.filter_map(|t| Some((t.sql.clone(), values_of(t, argument)?))).next();
            let database = client.database.clone();
            spread.statement(Kept { session, database, sql: argument.to_owned(), prepared, rows: None, took_us: None }, line);
        }
        _ => {}
    }
}
