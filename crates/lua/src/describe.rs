//! What a script declares: its options and commands, before anything runs.

use std::collections::BTreeMap;
use std::thread;

use mlua::{Function, Table, Value};

use crate::limit;
use crate::script::{Console, LuaScript};
use crate::state::{State, words};
use crate::text::may_ask;

/// The default of an option, whose type is that of its values.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptValue {
    /// On or off.
    Switch(bool),
    /// A number, as Lua writes it.
    Number(String),
    /// Text; `None` where there is no default.
    Text(Option<String>),
    /// Several texts, with commas between them.
    List(String),
}

/// An option that a script declares.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptOption {
    /// Its name, with underscores.
    pub name: String,
    /// What it does.
    pub help: String,
    /// Its default.
    pub default: ScriptValue,
}

/// What a script declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// Its options by name; `None` where it declares no table of them.
    pub options: Option<Vec<ScriptOption>>,
    /// Its own commands, and whether they run in every thread.
    pub commands: Vec<(String, bool)>,
    /// Whether it has the function that a load calls.
    pub has_event: bool,
    /// Whether its text may ask a database for anything; else it runs without a server.
    pub asks_database: bool,
    /// Whether its terminals can share a state: see [`LuaScript::shares`].
    pub shares: bool,
    /// Texts of the modules that it loads before its functions are called, by the names of their files.
    pub modules: BTreeMap<String, String>,
    /// Whether it has a function of the name of a command: prepare, cleanup, run, help, and those that run once: init, done.
    pub functions: Vec<String>,
}

/// What a script declares, found by running its text once, on no database; what it prints then is not shown.
///
/// # Errors
/// What Lua says of it, with its file and line.
pub fn describe(script: &LuaScript, driver: &str) -> Result<Described, String> {
    let silent = LuaScript { console: Console::default(), shares: false, ..script.clone() };
    let of_thread = || {
        limit::watch_this_thread()?;
        let state = State::alone(&silent, driver)?;
        let described = read(&state).map_err(|e| words(&e))?;
        Ok(Described { asks_database: may_ask(&script.source), shares: state.can_share(), ..described })
    };
    // A thread of its own, because the timer that ends a script interrupts its thread for as long as that lives.
    thread::scope(|scope| scope.spawn(of_thread).join().unwrap_or_else(|_| Err("the script ended its thread".to_owned())))
}

/// Whether a text is Lua: it is compiled, and does not run.
///
/// # Errors
/// What Lua says of it, with its line.
pub(crate) fn compiles(name: &str, text: &str) -> Result<(), String> {
    let lua = mlua::Lua::new_with(mlua::StdLib::NONE, mlua::LuaOptions::new()).map_err(|e| words(&e))?;
    let chunk = lua.load(text).set_name(format!("@{name}")).set_mode(mlua::chunk::ChunkMode::Text);
    chunk.into_function().map(drop).map_err(|e| words(&e))
}

fn read(state: &State) -> mlua::Result<Described> {
    let globals = &state.globals;
    let cmdline: Table = globals.get::<Table>("sysbench")?.get("cmdline")?;
    let options = match cmdline.get::<Option<Table>>("options")? {
        Some(table) => Some(options(&table)?),
        None => None,
    };
    let mut commands = Vec::new();
    if let Some(table) = cmdline.get::<Option<Table>>("commands")? {
        for pair in table.pairs::<String, Table>() {
            let (name, command) = pair?;
            commands.push((name, command.get::<Option<bool>>(2)?.unwrap_or(false)));
        }
    }
    commands.sort();
    let is_function = |name: &str| globals.get::<Option<Function>>(name).is_ok_and(|f| f.is_some());
    let functions = ["prepare", "cleanup", "run", "help", "init", "done"].iter().filter(|name| is_function(name));
    Ok(Described {
        options,
        commands,
        has_event: is_function("event"),
        asks_database: true,
        shares: false,
        modules: state.modules()?,
        functions: functions.map(|name| (*name).to_owned()).collect(),
    })
}

fn options(table: &Table) -> mlua::Result<Vec<ScriptOption>> {
    let mut all = Vec::new();
    for pair in table.pairs::<String, Table>() {
        let (name, declared) = pair?;
        let help = declared.get::<Option<String>>(1)?.unwrap_or_default();
        let kind = declared.get::<Option<i64>>(3)?;
        all.push(ScriptOption { default: default(&declared.get(2)?, kind), name, help });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The default with the type that stands beside it, as the number of `sysbench.cmdline.ARG_…`, or with that of the value.
fn default(value: &Value, kind: Option<i64>) -> ScriptValue {
    let text = || match value {
        Value::Boolean(on) => Some(if *on { "on" } else { "off" }.to_owned()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.to_string_lossy()),
        _ => None,
    };
    match (kind, value) {
        (Some(1), _) | (None, Value::Boolean(_)) => {
            ScriptValue::Switch(text().is_some_and(|t| matches!(&*t, "on" | "true" | "1")))
        }
        (Some(2..=4), _) | (None, Value::Integer(_) | Value::Number(_)) => ScriptValue::Number(text().unwrap_or_default()),
        (_, Value::Table(list)) => {
            let parts = list.sequence_values::<String>().filter_map(Result::ok);
            ScriptValue::List(parts.collect::<Vec<_>>().join(","))
        }
        _ => ScriptValue::Text(text()),
    }
}
