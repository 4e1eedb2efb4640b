//! The calls of LuaJIT's C interface that each statement of a script passes through: nothing here allocates outside of Lua.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use mlua::{Function, Lua, Thread, ffi};
use perbuck_workloads::sysbench::RandType;

use crate::draws::Draws;
use crate::limit::{Most, limited};

/// How a resumption ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// It yielded values.
    Yielded,
    /// It ended, or failed outside of what its own code protects.
    Over,
}

/// A value that was yielded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Asked<'a> {
    Nil,
    Number(f64),
    Text(&'a [u8]),
    /// A table, a function or the like.
    Other,
}

/// A coroutine with its stack.
pub(crate) struct Coroutine {
    thread: Thread,
    state: *mut ffi::lua_State,
}

impl Coroutine {
    /// A coroutine that was not resumed yet.
    pub(crate) fn new(thread: Thread) -> Self {
        let state = thread.state();
        Self { thread, state }
    }

    /// Resumes it with numbers; the function itself is at first on the stack, below them.
    #[inline]
    pub(crate) fn resume(&mut self, first: bool, values: &[i64], most: Most) -> Resumed {
        let state = self.state;
        // SAFETY: `thread` keeps the state alive, and only this method resumes it. A stack has always room for these few numbers, and
        // none of the calls raises: lua_resume catches what the script raises.
        unsafe {
            if !first {
                ffi::lua_settop(state, 0);
            }
            for value in values {
                ffi::lua_pushnumber(state, *value as f64);
            }
            let count = values.len() as c_int;
            let ended = limited(state, most, || ffi::lua_resume(state, ptr::null_mut(), count, ptr::null_mut()));
            if ended == ffi::LUA_YIELD { Resumed::Yielded } else { Resumed::Over }
        }
    }

    /// How many values it yielded.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        // SAFETY: as in `resume`.
        unsafe { ffi::lua_gettop(self.state) as usize }
    }

    /// The value at a position from 1. It lives until the next resumption, which needs `self` mutable.
    #[inline]
    pub(crate) fn value(&self, at: usize) -> Asked<'_> {
        let (state, at) = (self.state, at as c_int);
        // SAFETY: as in `resume`; the text of a string is not moved while the string is on the stack, and a string is not converted.
        unsafe {
            match ffi::lua_type(state, at) {
                ffi::LUA_TNUMBER => Asked::Number(ffi::lua_tonumber(state, at)),
                ffi::LUA_TSTRING => {
                    let mut length = 0;
                    let text = ffi::lua_tolstring(state, at, &raw mut length);
                    Asked::Text(std::slice::from_raw_parts(text.cast(), length))
                }
                ffi::LUA_TNIL | ffi::LUA_TNONE => Asked::Nil,
                _ => Asked::Other,
            }
        }
    }

    /// The number at a position; 0 where it is none.
    #[inline]
    pub(crate) fn number(&self, at: usize) -> i64 {
        if let Asked::Number(number) = self.value(at) { number as i64 } else { 0 }
    }

    /// The text at a position; empty where it is none.
    pub(crate) fn text(&self, at: usize) -> &[u8] {
        if let Asked::Text(text) = self.value(at) { text } else { b"" }
    }

    /// The error that it failed with, once it is over.
    pub(crate) fn failure(&self) -> String {
        match self.value(self.count().max(1)) {
            Asked::Text(text) => String::from_utf8_lossy(text).into_owned(),
            _ => format!("the script ended its thread ({:?})", self.thread.status()),
        }
    }
}

/// What a terminal draws from, at an address that does not change.
pub(crate) struct Drawn(*mut Draws);

impl Drawn {
    pub(crate) fn new(draws: Draws) -> Self {
        Self(Box::into_raw(Box::new(draws)))
    }

    /// The draws, while no script runs.
    pub(crate) fn get(&mut self) -> &mut Draws {
        // SAFETY: made by `new` and freed by `drop`; functions of the state use it only while the state runs, which needs its owner.
        unsafe { &mut *self.0 }
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and nothing of its terminal runs any more.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Whose draws the functions of a state use; the state must be gone before it.
pub(crate) struct Drawing(Box<Cell<*mut Draws>>);

impl Drawing {
    pub(crate) fn new() -> Self {
        Self(Box::new(Cell::new(ptr::null_mut())))
    }

    /// From now on the functions draw from these, which live for as long as their terminal runs.
    #[inline]
    pub(crate) fn from(&self, drawn: &Drawn) {
        self.0.set(drawn.0);
    }

    /// The functions that draw, by name.
    pub(crate) fn functions(&self, lua: &Lua) -> mlua::Result<Vec<(&'static str, Function)>> {
        let all: [(&'static str, ffi::lua_CFunction); 11] = [
            ("rand_default", by_default),
            ("rand_uniform", by_law::<0>),
            ("rand_gaussian", by_law::<1>),
            ("rand_special", by_law::<2>),
            ("rand_pareto", by_law::<3>),
            ("rand_zipfian", by_law::<4>),
            ("rand_unique", unique),
            ("rand_double", double),
            ("rand_high", high),
            ("random_string", string),
            ("random_letters", letters),
        ];
        let made = all.into_iter().map(|(name, function)| {
            // SAFETY: the closure has one upvalue, which is the pointer that `draws` reads.
            let made = unsafe {
                lua.exec_raw::<Function>((), |state| {
                    ffi::lua_pushlightuserdata(state, ptr::from_ref(&*self.0).cast_mut().cast());
                    ffi::lua_pushcclosure(state, function, 1);
                })
            };
            made.map(|made| (name, made))
        });
        made.collect()
    }
}

/// The draws of a function.
///
/// # Safety
/// Only within the functions of [`Drawing::functions`].
unsafe fn draws<'a>(state: *mut ffi::lua_State) -> &'a mut Draws {
    // SAFETY: their upvalue is the cell, whose owner outlives the state. It was set to the draws of the terminal that runs, and one function
    // runs at a time.
    unsafe { &mut *(*ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)).cast::<Cell<*mut Draws>>()).get() }
}

/// The ends of a range: the first two arguments.
///
/// # Safety
/// Only within a C function of Lua.
unsafe fn range(state: *mut ffi::lua_State) -> (i64, i64) {
    // SAFETY: what is no number reads as 0.
    unsafe { (ffi::lua_tonumber(state, 1) as i64, ffi::lua_tonumber(state, 2) as i64) }
}

const LAWS: [RandType; 5] = [RandType::Uniform, RandType::Gaussian, RandType::Special, RandType::Pareto, RandType::Zipfian];

unsafe extern "C-unwind" fn by_law<const LAW: usize>(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: a function of `Drawing::functions`; a number needs no memory.
    unsafe {
        let (first, last) = range(state);
        let number = draws(state).number(Some(LAWS[LAW]), first, last);
        ffi::lua_pushnumber(state, number as f64);
    }
    1
}

unsafe extern "C-unwind" fn by_default(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as in `by_law`.
    unsafe {
        let (first, last) = range(state);
        let number = draws(state).number(None, first, last);
        ffi::lua_pushnumber(state, number as f64);
    }
    1
}

unsafe extern "C-unwind" fn unique(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as in `by_law`.
    unsafe {
        let (first, last) = if ffi::lua_gettop(state) < 2 { (0, i64::from(u32::MAX)) } else { range(state) };
        let number = draws(state).unique(first, last);
        ffi::lua_pushnumber(state, number as f64);
    }
    1
}

unsafe extern "C-unwind" fn double(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as in `by_law`.
    unsafe { ffi::lua_pushnumber(state, draws(state).unit()) };
    1
}

unsafe extern "C-unwind" fn high(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as in `by_law`.
    unsafe { ffi::lua_pushnumber(state, f64::from(draws(state).bits())) };
    1
}

unsafe extern "C-unwind" fn string(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as in `by_law`. A format that is no string gives an empty one; the text lies in the draws, so nothing is to be dropped
    // where there is no memory for the string.
    unsafe {
        let mut length = 0;
        let format = if ffi::lua_type(state, 1) == ffi::LUA_TSTRING {
            let text = ffi::lua_tolstring(state, 1, &raw mut length);
            std::slice::from_raw_parts(text.cast(), length)
        } else {
            &[]
        };
        let text = draws(state).text(format);
        ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
    }
    1
}

unsafe extern "C-unwind" fn letters(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: as in `string`.
    unsafe {
        let length = ffi::lua_tonumber(state, 1).clamp(0.0, 1e6) as usize;
        let text = draws(state).letters(length);
        ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
    }
    1
}
