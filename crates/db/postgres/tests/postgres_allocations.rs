//! Alone in its process, so that only its own memory is counted.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use postgres_support::Postgres;

perbuck_driver_suite::tests!(Postgres: statements::{more_statements_need_no_more_allocations});
