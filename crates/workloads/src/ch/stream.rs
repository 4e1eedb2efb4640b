//! A query stream: it walks its queries in an order of its own, again and again.

use std::sync::Arc;
use std::time::Duration;

use perbuck_load::connection::Connection;
use perbuck_load::driver::Session;
use perbuck_load::statement::Verb;

use super::kinds::{Q1, QUERIES};
use crate::Result;
use crate::tpch;

/// The texts by number of the query, from 0.
pub(super) type Texts = Arc<[String; QUERIES]>;

/// One stream.
#[derive(Debug)]
pub(super) struct Stream {
    order: Vec<u8>,
    texts: Texts,
    limit: Duration,
}

impl Stream {
    /// The stream with that number, from 0. Each starts with another one of the chosen queries; without them it has all in an order of Appendix A,
    /// whose set 0 is that of TPC-H's power test.
    pub(super) fn new(number: u32, chosen: &[usize], texts: Texts, limit: Duration) -> Self {
        let number = number as usize;
        let order = match chosen.len() {
            0 => tpch::order(number + 1).to_vec(),
            round => (0..round).map(|at| chosen[(number + at) % round] as u8).collect(),
        };
        Self { order, texts, limit }
    }

    fn query(&self, sequence: u64) -> u8 {
        self.order[(sequence % self.order.len() as u64) as usize] - 1
    }

    /// The kind of the transaction with this number.
    pub(super) fn kind(&self, sequence: u64) -> u8 {
        Q1 + self.query(sequence)
    }

    pub(super) async fn run<S: Session>(&self, connection: &mut Connection<S>, sequence: u64) -> Result<()> {
        connection.run(Verb::Select, &self.texts[usize::from(self.query(sequence))], self.limit).await?;
        Ok(())
    }
}
