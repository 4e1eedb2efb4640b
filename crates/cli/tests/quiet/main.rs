//! Tests of what perbuck measures, which another test's load would change: no two modules run at once.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by the one; bench/traffic shows the other")]

#[path = "../common/mod.rs"]
mod common;

mod capacity;
mod ch;
mod ch_command;
mod clock;
mod cold;
mod machine;
mod mariadb_counts;
mod noise;
mod open_loop;
mod other_load;
mod planted;
mod profile;
mod prometheus;
mod server_metrics;
mod sysbench_storm;
mod sysbench_workloads;
mod traffic;
mod void;
mod watched;
mod windows;
