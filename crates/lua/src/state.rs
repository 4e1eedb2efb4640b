//! A state of LuaJIT with sysbench's API and a script in it.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ptr;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use mlua::{Function, Lua, LuaOptions, LuaString, StdLib, Table, Value, ffi};
use perbuck_core::units::Seed;
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};

use crate::draws::Draws;
use crate::limit::{self, Most, limited};
use crate::raw::{Coroutine, Drawing, Drawn};
use crate::script::{LuaScript, Setting};
use crate::text::{can_share, only_reads, reads_rows};

/// What a state can allocate for each terminal, in bytes. A script is ended before, with its traceback: this holds what comes between two looks.
const MEMORY: usize = 4 * limit::MEMORY_KIB * 1024;

/// How long the text of a script may run before its functions are called, in nanoseconds.
const AT_LOADING_NS: i64 = 10_000_000_000;

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

/// A state of LuaJIT with sysbench's API, which the terminals of a thread share where the script allows it. Its fields are dropped in their
/// order: the interpreter before the cell that its functions read.
pub(crate) struct Shared {
    lua: Lua,
    state: *mut ffi::lua_State,
    /// What the Lua side of the API shares with this one.
    host: Table,
    /// What the server said of the last failure.
    failure: Table,
    /// The cells of the row that was fetched last.
    row: Table,
    /// What runs in the environment of each terminal: its part of the API, and the script.
    base: Function,
    script: Function,
    /// Whose it is, where terminals share it.
    of: Option<Arc<LuaScript>>,
    /// The options, where no terminal writes to them: then they share this table.
    opt: Option<Table>,
    /// Terminals that it has.
    terminals: Cell<usize>,
    drawing: Drawing,
}

thread_local! {
    /// The state that terminals of this thread share, for so long as one of them lives.
    static OF_THREAD: RefCell<Weak<Shared>> = const { RefCell::new(Weak::new()) };
}

impl Shared {
    /// A state with the script, which did not run yet.
    fn new(script: &LuaScript, driver: &str) -> mlua::Result<Self> {
        // SAFETY: scripts may use `ffi` and `debug`, as under sysbench: what they do with them is theirs.
        let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::new()) };
        let (host, failure, row) = (lua.create_table()?, lua.create_table()?, lua.create_table()?);
        for (name, code) in CODES {
            host.set(name, code)?;
        }
        let mut state = ptr::null_mut();
        // SAFETY: it only tells the address of the state, which lives as long as `lua`.
        unsafe { lua.exec_raw::<()>((), |of| state = of)? };
        let drawing = Drawing::new();
        for (name, function) in drawing.functions(&lua)? {
            host.set(name, function)?;
        }
        host.set("failure", &failure)?;
        host.set("row", &row)?;
        host.set("driver", driver)?;
        set_callbacks(&lua, &host, script)?;
        let globals = lua.globals();
        globals.set("ffi", globals.get::<Function>("require")?.call::<Value>("ffi")?)?;
        set_paths(&lua, script)?;
        // Compiled traces look for no hook, so a loop without an end could not be ended.
        if !script.compiled {
            lua.load("require('jit').off()").exec()?;
        }
        for (name, text) in [("sql", include_str!("lua/sql.lua")), ("environment", include_str!("lua/environment.lua"))] {
            lua.load(text).set_name(format!("=perbuck:{name}")).call::<()>(&host)?;
        }
        let mut texts = script.modules.values().map(String::as_bytes).chain([&**script.source]);
        let opt = (script.shares && texts.all(only_reads)).then(|| lua.create_table()).transpose()?;
        host.set("shares_tables", opt.is_some())?;
        let base = lua.load(include_str!("lua/base.lua")).set_name("=perbuck:base").into_function()?;
        let chunk = lua.load(&*script.source).set_name(format!("@{}", script.path.display())).into_function()?;
        Ok(Self { lua, state, host, failure, row, base, script: chunk, of: None, opt, terminals: Cell::new(0), drawing })
    }

    /// That of this thread for a script that can share one, else a new one.
    fn of_thread(script: &Arc<LuaScript>, driver: &str) -> mlua::Result<Rc<Self>> {
        if !script.shares {
            return Self::new(script, driver).map(Rc::new);
        }
        OF_THREAD.with_borrow_mut(|of_thread| {
            let is_of = |shared: &Rc<Self>| shared.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, script));
            if let Some(shared) = of_thread.upgrade().filter(is_of) {
                return Ok(shared);
            }
            let shared = Rc::new(Self { of: Some(Arc::clone(script)), ..Self::new(script, driver)? });
            *of_thread = Rc::downgrade(&shared);
            Ok(shared)
        })
    }

    /// What it may hold with all of its terminals, in KiB.
    #[inline]
    pub(crate) fn most_kib(&self) -> usize {
        self.terminals.get() * limit::MEMORY_KIB
    }
}

/// Which thread a script takes a terminal for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thread {
    /// Its number, if it has one.
    pub(crate) number: Option<u32>,
    /// How many there are.
    pub(crate) of: u32,
}

/// The script of one terminal, or of none, with its global variables.
pub(crate) struct State {
    /// Its part of the API.
    pub(crate) own: Table,
    /// Its global variables.
    pub(crate) globals: Table,
    pub(crate) draws: Drawn,
    pub(crate) shared: Rc<Shared>,
}

impl State {
    /// A state of its own in which the script has been run, without a terminal.
    ///
    /// # Errors
    /// What Lua says of the script, with its file and line.
    pub(crate) fn alone(script: &LuaScript, driver: &str) -> Result<Self, String> {
        let draws = Draws::new(script.random.clone(), Seed(0), (0, 1));
        let shared = Shared::new(script, driver).map(Rc::new);
        shared.and_then(|shared| Self::within(shared, script, Thread { number: None, of: 1 }, draws)).map_err(|e| words(&e))
    }

    /// The same for a terminal.
    ///
    /// # Errors
    /// What Lua says of the script, with its file and line.
    pub(crate) fn new(script: &Arc<LuaScript>, driver: &str, thread: Thread, draws: Draws) -> Result<Self, String> {
        let shared = Shared::of_thread(script, driver);
        let state = shared.and_then(|shared| Self::within(shared, script, thread, draws)).map_err(|e| words(&e))?;
        state.shared.host.set("threaded", true).map_err(|e| words(&e))?;
        Ok(state)
    }

    fn within(shared: Rc<Shared>, script: &LuaScript, thread: Thread, draws: Draws) -> mlua::Result<Self> {
        shared.terminals.set(shared.terminals.get() + 1);
        let lua = &shared.lua;
        lua.set_memory_limit(MEMORY * shared.terminals.get())?;
        let globals = match script.shares {
            true => shared.host.get::<Function>("environment")?.call::<Table>(())?,
            false => lua.globals(),
        };
        let (own, draws) = (lua.create_table()?, Drawn::new(draws));
        shared.drawing.from(&draws);
        shared.host.set("threaded", false)?;
        globals.set("thread_id", thread.number.unwrap_or(0))?;
        globals.set("sysbench", table_of(&shared, script, thread)?)?;
        shared.base.set_environment(globals.clone())?;
        shared.base.call::<()>((&shared.host, &own))?;
        globals.set("test", script.path.to_string_lossy().as_ref())?;
        if script.legacy {
            for (name, setting) in &script.settings {
                // An option has the name of a library: --debug.
                if !globals.contains_key(name.as_str())? {
                    globals.set(name.as_str(), setting.text())?;
                }
            }
        }
        shared.script.set_environment(globals.clone())?;
        let most = Most { until_ns: limit::now_ns() + AT_LOADING_NS, held_kib: shared.most_kib() };
        limited(shared.state, most, || shared.script.call::<()>(()))?;
        Ok(Self { own, globals, draws, shared })
    }

    /// A new table.
    pub(crate) fn table(&self) -> mlua::Result<Table> {
        self.shared.lua.create_table()
    }

    /// The coroutine in which its jobs run.
    pub(crate) fn coroutine(&self) -> mlua::Result<Coroutine> {
        let make = self.shared.host.get::<Function>("thread")?;
        Ok(Coroutine::new(make.call((self.own.get::<Function>("main")?, &self.globals))?))
    }

    /// From now on its functions draw from what is its own.
    #[inline]
    pub(crate) fn enter(&self) {
        self.shared.drawing.from(&self.draws);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.shared.terminals.set(self.shared.terminals.get() - 1);
    }
}

/// What Lua calls of this side beside random numbers.
fn set_callbacks(lua: &Lua, host: &Table, script: &LuaScript) -> mlua::Result<()> {
    host.set("reads_rows", reads_rows(&script.source))?;
    host.set("can_share", can_share(&script.source))?;
    host.set("read", lua.create_table()?)?;
    if script.is_held {
        host.set("modules", lua.create_table_from(script.modules.iter().map(|(name, text)| (name.as_str(), text.as_str())))?)?;
    }
    let shared = host.clone();
    // Modules are read by Lua itself; this only looks at their text.
    let look_at = lua.create_function(move |_, (name, module): (LuaString, LuaString)| {
        let text = module.as_bytes();
        shared.get::<Table>("read")?.set(name, &module)?;
        if reads_rows(&text) {
            shared.set("reads_rows", true)?;
        }
        if can_share(&text) { Ok(()) } else { shared.set("can_share", false) }
    })?;
    host.set("look_at", look_at)?;
    for (name, is_log) in [("print", false), ("log", true)] {
        let console = script.console.clone();
        let write = lua.create_function(move |_, text: LuaString| {
            if is_log {
                console.log(&text.as_bytes());
            } else {
                console.print(&text.as_bytes());
            }
            Ok(())
        })?;
        host.set(name, write)?;
    }
    Ok(())
}

/// The table `sysbench` as far as it is data.
fn table_of(shared: &Shared, script: &LuaScript, thread: Thread) -> mlua::Result<Table> {
    let lua = &shared.lua;
    let (table, cmdline) = (lua.create_table()?, lua.create_table()?);
    let opt = shared.opt.clone().map_or_else(|| lua.create_table(), Ok)?;
    cmdline.set("script_path", script.path.to_string_lossy().as_ref())?;
    cmdline.set("command", script.command.as_deref())?;
    opt.set("threads", thread.of)?;
    for (name, setting) in &script.settings {
        opt.set(name.as_str(), value(lua, setting)?)?;
    }
    table.set("cmdline", cmdline)?;
    table.set("opt", opt)?;
    table.set("tid", thread.number.unwrap_or(0))?;
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
        self.shared.host.get::<bool>("reads_rows").unwrap_or(true)
    }

    /// The texts of the modules that it has loaded, by the names of their files.
    pub(crate) fn modules(&self) -> mlua::Result<BTreeMap<String, String>> {
        let read = self.shared.host.get::<Table>("read")?;
        read.pairs::<String, LuaString>().map(|pair| pair.map(|(name, text)| (name, text.to_string_lossy()))).collect()
    }

    /// Whether terminals of the script can share a state, after all that it loaded: see [`LuaScript::shares`].
    pub(crate) fn can_share(&self) -> bool {
        self.shared.host.get::<bool>("can_share").unwrap_or(false)
    }

    /// Puts a cell, or NULL, at its column of the row that the script reads.
    pub(crate) fn put_cell(&self, column: usize, cell: Option<&[u8]>) -> mlua::Result<()> {
        let text = cell.map(|text| self.shared.lua.create_string(text)).transpose()?;
        self.shared.row.raw_set(column + 1, text)
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
        self.shared.failure.set("errno", number)?;
        self.shared.failure.set("state", state)?;
        self.shared.failure.set("message", message)?;
        let (words, prepare) = match error.code {
            ErrorCode::Number(..) => (
                format!("mysql_drv_query() returned error {number} ({message})"),
                format!("mysql_stmt_prepare() failed\nFATAL: MySQL error: {number} \"{message}\""),
            ),
            _ => (format!("{error}"), format!("{error}")),
        };
        self.shared.failure.set("words", words)?;
        self.shared.failure.set("prepare", prepare)
    }
}
