//! A state of LuaJIT with sysbench's API and a script in it.
#![allow(unsafe_code)]

use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};

use mlua::{Function, Lua, LuaOptions, LuaString, StdLib, Table, Value};

use crate::draws::Draws;
use crate::limit;
use crate::raw::Drawn;
use crate::script::{LuaScript, Setting};

/// What a state can allocate, in bytes. A script is ended before, with its traceback: this holds what comes between two looks.
const MEMORY: usize = 4 * limit::MEMORY_KIB * 1024;

/// What a coroutine yields first: what it asks for, or how a job ended.
pub(crate) mod asks {
    pub(crate) const EXECUTE: i64 = 1;
    pub(crate) const QUERY: i64 = 2;
    pub(crate) const PREPARE: i64 = 3;
    pub(crate) const FETCH: i64 = 4;
    pub(crate) const SLEEP: i64 = 5;
    pub(crate) const CONNECT: i64 = 6;
    pub(crate) const RECONNECT: i64 = 7;
    pub(crate) const CLOSE: i64 = 8;
    pub(crate) const READY: i64 = 9;
    pub(crate) const DONE: i64 = 10;
    pub(crate) const RESTART: i64 = 11;
    pub(crate) const FAILED: i64 = 12;
}

/// What a coroutine is resumed with, once it is ready.
pub(crate) mod jobs {
    pub(crate) const THREAD_INIT: i64 = 1;
    pub(crate) const EVENT: i64 = 2;
    pub(crate) const THREAD_DONE: i64 = 3;
    pub(crate) const COMMAND: i64 = 4;
}

/// What a request is answered with, below 0, where the server refused it.
pub(crate) mod refused {
    /// The event may start again.
    pub(crate) const IGNORABLE: i64 = -1;
    pub(crate) const FATAL: i64 = -2;
}

const CODES: [(&str, i64); 18] = [
    ("EXECUTE", asks::EXECUTE),
    ("QUERY", asks::QUERY),
    ("PREPARE", asks::PREPARE),
    ("FETCH", asks::FETCH),
    ("SLEEP", asks::SLEEP),
    ("CONNECT", asks::CONNECT),
    ("RECONNECT", asks::RECONNECT),
    ("CLOSE", asks::CLOSE),
    ("READY", asks::READY),
    ("DONE", asks::DONE),
    ("RESTART", asks::RESTART),
    ("FAILED", asks::FAILED),
    ("THREAD_INIT", jobs::THREAD_INIT),
    ("EVENT", jobs::EVENT),
    ("THREAD_DONE", jobs::THREAD_DONE),
    ("COMMAND", jobs::COMMAND),
    ("IGNORABLE", refused::IGNORABLE),
    ("FATAL", refused::FATAL),
];

/// A state. Its fields are dropped in their order: the interpreter before what its functions draw from.
pub(crate) struct State {
    pub(crate) lua: Lua,
    /// What the Lua side of the API shares with this one.
    pub(crate) host: Table,
    /// What the server said of the last failure.
    pub(crate) failure: Table,
    /// The cells of the row that was fetched last.
    pub(crate) row: Table,
    pub(crate) draws: Drawn,
}

impl State {
    /// A state in which the script has been run; `thread` is its terminal, if it has one.
    ///
    /// # Errors
    /// What Lua says of the script, with its file and line.
    pub(crate) fn new(script: &LuaScript, driver: &str, thread: Option<u32>, draws: Draws) -> Result<Self, String> {
        let state = Self::bare(script, driver, thread, draws).map_err(|e| words(&e))?;
        let chunk = state.lua.load(&*script.source).set_name(format!("@{}", script.path.display()));
        chunk.exec().map_err(|e| words(&e))?;
        Ok(state)
    }

    /// The API alone.
    fn bare(script: &LuaScript, driver: &str, thread: Option<u32>, draws: Draws) -> mlua::Result<Self> {
        // SAFETY: scripts may use `ffi` and `debug`, as under sysbench: what they do with them is theirs.
        let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::new()) };
        lua.set_memory_limit(MEMORY)?;
        let (host, failure, row) = (lua.create_table()?, lua.create_table()?, lua.create_table()?);
        for (name, code) in CODES {
            host.set(name, code)?;
        }
        let drawn = Drawn::new(draws);
        for (name, function) in drawn.functions(&lua)? {
            host.set(name, function)?;
        }
        host.set("failure", &failure)?;
        host.set("row", &row)?;
        host.set("driver", driver)?;
        host.set("reads_rows", reads_rows(&script.source))?;
        let shared = host.clone();
        // Modules are read by Lua itself; this only looks at their text.
        host.set(
            "look_at",
            lua.create_function(
                move |_, text: LuaString| {
                    if reads_rows(&text.as_bytes()) { shared.set("reads_rows", true) } else { Ok(()) }
                },
            )?,
        )?;
        let console = script.console.clone();
        host.set(
            "print",
            lua.create_function(move |_, text: LuaString| {
                console.print(&text.as_bytes());
                Ok(())
            })?,
        )?;
        let console = script.console.clone();
        host.set(
            "log",
            lua.create_function(move |_, text: LuaString| {
                console.log(&text.as_bytes());
                Ok(())
            })?,
        )?;
        let globals = lua.globals();
        globals.set("ffi", globals.get::<Function>("require")?.call::<Value>("ffi")?)?;
        globals.set("thread_id", thread.unwrap_or(0))?;
        globals.set("sysbench", table_of(&lua, script, thread)?)?;
        set_paths(&lua, script)?;
        // Compiled traces look for no hook, so a loop without an end could not be ended; and each of thousands of states would compile its own.
        if !script.compiled {
            lua.load("require('jit').off()").exec()?;
        }
        for (name, text) in [("sql", include_str!("lua/sql.lua")), ("base", include_str!("lua/base.lua"))] {
            lua.load(text).set_name(format!("=perbuck:{name}")).call::<()>(&host)?;
        }
        if script.legacy {
            globals.set("test", script.path.to_string_lossy().as_ref())?;
            for (name, setting) in &script.settings {
                // An option has the name of a library: --debug.
                if !globals.contains_key(name.as_str())? {
                    globals.set(name.as_str(), setting.text())?;
                }
            }
        }
        Ok(Self { lua, host, failure, row, draws: drawn })
    }
}

/// The table `sysbench` as far as it is data.
fn table_of(lua: &Lua, script: &LuaScript, thread: Option<u32>) -> mlua::Result<Table> {
    let (table, cmdline, opt) = (lua.create_table()?, lua.create_table()?, lua.create_table()?);
    cmdline.set("script_path", script.path.to_string_lossy().as_ref())?;
    cmdline.set("command", script.command.as_deref())?;
    for (name, setting) in &script.settings {
        opt.set(name.as_str(), value(lua, setting)?)?;
    }
    table.set("cmdline", cmdline)?;
    table.set("opt", opt)?;
    table.set("tid", thread.unwrap_or(0))?;
    Ok(table)
}

fn value(lua: &Lua, setting: &Setting) -> mlua::Result<Value> {
    Ok(match setting {
        Setting::Switch(on) => Value::Boolean(*on),
        Setting::Number(number) => Value::Number(*number),
        Setting::Text(text) => Value::String(lua.create_string(text)?),
        Setting::List(list) => Value::Table(lua.create_sequence_from(list.iter().map(String::as_str))?),
    })
}

/// Where `require` looks: the folder of the script, then LUA_PATH and LuaJIT's own places, then sysbench's package.
fn set_paths(lua: &Lua, script: &LuaScript) -> mlua::Result<()> {
    let package: Table = lua.globals().get("package")?;
    let known: String = package.get("path")?;
    let folder = script.path.parent().filter(|p| !p.as_os_str().is_empty()).map_or(".".into(), |p| p.to_string_lossy());
    package.set(
        "path",
        format!("{folder}/?.lua;{folder}/?/init.lua;{known};/usr/share/sysbench/?.lua;/usr/local/share/sysbench/?.lua"),
    )
}

/// What an error of Lua says.
pub(crate) fn words(error: &mlua::Error) -> String {
    match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::RuntimeError(message) | mlua::Error::MemoryError(message) => message.clone(),
        other => other.to_string(),
    }
}

impl State {
    /// Whether the script may read the rows of a result: one whose text never says so cannot.
    pub(crate) fn reads_rows(&self) -> bool {
        self.host.get::<bool>("reads_rows").unwrap_or(true)
    }

    /// Puts a cell, or NULL, at its column of the row that the script reads.
    pub(crate) fn put_cell(&self, column: usize, cell: Option<&[u8]>) -> mlua::Result<()> {
        let text = cell.map(|text| self.lua.create_string(text)).transpose()?;
        self.row.raw_set(column + 1, text)
    }

    /// Notes a failure of the database where the script finds it.
    pub(crate) fn tell(&self, error: &DriverError) -> mlua::Result<()> {
        let (number, state) = match error.code {
            ErrorCode::Number(_, number) => (number, String::new()),
            ErrorCode::State(_, state) => (0, String::from_utf8_lossy(&state).into_owned()),
            // The number of MySQL's client library for a lost connection.
            ErrorCode::Word(..) => (if error.class == ErrorClass::Lost { 2013 } else { 0 }, String::new()),
        };
        let message = error.message.as_str();
        self.failure.set("errno", number)?;
        self.failure.set("state", state)?;
        self.failure.set("message", message)?;
        let (words, prepare) = match error.code {
            ErrorCode::Number(..) => (
                format!("mysql_drv_query() returned error {number} ({message})"),
                format!("mysql_stmt_prepare() failed\nFATAL: MySQL error: {number} \"{message}\""),
            ),
            _ => (format!("{error}"), format!("{error}")),
        };
        self.failure.set("words", words)?;
        self.failure.set("prepare", prepare)
    }
}

/// Whether a text names what reads the rows of a result.
fn reads_rows(text: &[u8]) -> bool {
    [b"fetch_row".as_slice(), b"nfields", b"loadstring", b"dofile", b"loadfile"]
        .iter()
        .any(|name| text.windows(name.len()).any(|part| part == *name))
}
