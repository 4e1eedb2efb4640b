//! sysbench's Lua scripts as a benchmark of perbuck. Each terminal has global variables of its own in a state of LuaJIT with sysbench's API;
//! its script runs in a coroutine, which yields to the event loop at each query. The API is written from its documentation: [`state`] makes
//! a state, `lua/` holds what is Lua of it, [`raw`] the calls that a statement passes through, [`limit`] ends scripts that run for ever.
//! [`study`] reads a script in a study.

#[cfg(test)]
mod allocation_tests;
mod connections;
mod data;
mod describe;
mod draws;
mod limit;
mod main_state;
mod raw;
mod script;
mod state;
mod study;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod values;
mod workload;

pub use data::LuaData;
pub use describe::{Described, ScriptOption, ScriptValue, describe};
pub use main_state::{MainState, Report};
pub use script::{Console, Init, LuaScript, Setting};
pub use study::{KIND, random_options};
pub use terminal::LuaTerminal;
pub use workload::LuaWorkload;
