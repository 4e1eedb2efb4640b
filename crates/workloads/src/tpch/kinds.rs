//! The kinds of transaction of a trial: the power test, then the throughput test (5.3.3, 5.3.4).

use std::borrow::Cow;

use super::QUERIES;

/// Positions of the kinds: those of the power test, in the order of its tables.
pub(super) const POWER_RF1: u8 = 0;
/// That of Q1 in the power test; the others follow.
pub(super) const POWER_Q1: u8 = 1;
pub(super) const POWER_RF2: u8 = POWER_Q1 + QUERIES as u8;
/// That of Q1 in the streams of the throughput test; the others follow.
pub(super) const Q1: u8 = POWER_RF2 + 1;
pub(super) const RF1: u8 = Q1 + QUERIES as u8;
pub(super) const RF2: u8 = RF1 + 1;
/// Lasts from the start of the first stream to the end of the last (5.3.6).
pub(super) const THROUGHPUT: u8 = RF2 + 1;

/// All kinds by position.
#[rustfmt::skip]
pub const KINDS: [&str; 49] = [
    "power RF1",
    "power Q1", "power Q2", "power Q3", "power Q4", "power Q5", "power Q6", "power Q7", "power Q8", "power Q9", "power Q10", "power Q11",
    "power Q12", "power Q13", "power Q14", "power Q15", "power Q16", "power Q17", "power Q18", "power Q19", "power Q20", "power Q21", "power Q22",
    "power RF2",
    "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "Q10", "Q11",
    "Q12", "Q13", "Q14", "Q15", "Q16", "Q17", "Q18", "Q19", "Q20", "Q21", "Q22",
    "RF1", "RF2",
    "throughput test",
];

/// What is counted of each query: answers that were compared with the right one, and the digest of the answer in three parts, so that sums over
/// streams can be compared between contenders.
const OF_QUERY: &[&str] = &["answers_checked", "digest_1", "digest_2", "digest_3"];
/// What is counted of each refresh function: its transactions.
const OF_REFRESH: &[&str] = &["commits"];

/// Names of the facts by kind.
pub(super) static FACTS: [&[&str]; 49] = {
    let mut all = [OF_QUERY; 49];
    all[POWER_RF1 as usize] = OF_REFRESH;
    all[POWER_RF2 as usize] = OF_REFRESH;
    all[RF1 as usize] = OF_REFRESH;
    all[RF2 as usize] = OF_REFRESH;
    all[THROUGHPUT as usize] = &[];
    all
};

/// Some kinds for the declaration of a metric, counted from one of them.
macro_rules! names {
    ($from:expr; $($after:literal)*) => { &[$(Cow::Borrowed(KINDS[$from as usize + $after])),*] };
}

/// What the power test is made of (5.4.1.1), and without the refresh functions.
pub(super) static ALONE: &[Cow<'static, str>] = names!(POWER_RF1; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23);
pub(super) static ALONE_READ: &[Cow<'static, str>] = names!(POWER_Q1; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21);
/// The queries of both tests.
pub(super) static QUERIES_OF_BOTH: &[Cow<'static, str>] = names!(POWER_Q1; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44);
/// What the throughput test counts (5.4.2.1): queries alone.
pub(super) static TOGETHER: &[Cow<'static, str>] = names!(Q1; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21);
