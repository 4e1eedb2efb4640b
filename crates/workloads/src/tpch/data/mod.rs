//! The rows of the eight tables, equal to those of dbgen, and the two refresh functions.
#![cfg_attr(not(test), expect(dead_code, reason = "nothing calls it yet"))]

mod rows;
mod stream;
mod text;
