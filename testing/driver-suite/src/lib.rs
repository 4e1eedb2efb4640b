//! One suite of tests for the drivers of all databases. A database supplies what differs, its connection, words and codes, and
//! names the tests that hold for it:
//!
//! - `hostile`: servers that are broken or mean, at every turn of a conversation;
//! - `answers`: answers from memory, right and broken;
//! - `statements` and `login`: real databases;
//! - `embedded`: what tests of a database within this process ask it.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by it")]
#![allow(clippy::needless_pass_by_value, reason = "closures are written where they are used")]

pub mod answers;
pub mod embedded;
pub mod hostile;
pub mod login;
pub mod servers;
pub mod statements;

use proptest::prelude::ProptestConfig;

/// Makes a test of each of these functions, which are generic over what a database supplies.
#[macro_export]
macro_rules! tests {
    ($supplied:ty: $($suite:ident::{$($test:ident),+ $(,)?}),+ $(,)?) => {
        $($(
            #[test]
            fn $test() {
                $crate::$suite::$test::<$supplied>();
            }
        )+)+
    };
}

/// So many cases, unless `bench/fuzz-protocol` wants more.
pub(crate) fn cases(usual: u32, source_file: &'static str) -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    // What fails is kept beside this file.
    ProptestConfig { cases: wanted.unwrap_or(usual), source_file: Some(source_file), ..ProptestConfig::default() }
}
