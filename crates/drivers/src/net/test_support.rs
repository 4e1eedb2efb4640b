//! What the tests of the protocols share.

use proptest::prelude::ProptestConfig;

/// So many cases, unless `bench/fuzz-protocol` wants more.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(usual), ..ProptestConfig::default() }
}
