//! A query stream: it walks the 22 queries in an order of its own, again and again.

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
    order: &'static [u8; QUERIES],
    texts: Texts,
    limit: Duration,
}

impl Stream {
    /// The stream with that number, from 0. Set 0 of Appendix A is that of TPC-H's power test; streams have those after it.
    pub(super) fn new(number: u32, texts: Texts, limit: Duration) -> Self {
        Self { order: tpch::order(number as usize + 1), texts, limit }
    }

    fn query(&self, sequence: u64) -> u8 {
        self.order[(sequence % QUERIES as u64) as usize] - 1
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
