//! Alone in its process, so that only its own memory is counted.

mod mysql_support;

use mysql_support::Mysql;

perbuck_driver_suite::tests!(Mysql: statements::{more_statements_need_no_more_allocations});
