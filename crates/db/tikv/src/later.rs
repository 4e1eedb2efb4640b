//! The second step of a transaction that counts as committed after the first one (async commit). Its session does not wait for it.
//! Where the step was lost, the session sends it again before its next transaction: its locks would keep others waiting until their
//! time to live is over, 20 s in pessimistic transactions. client-go sends it again in the background.

use std::rc::Rc;

use perbuck_grpc::Parsed;
use perbuck_grpc::kvproto::kvrpcpb::commit_request;
use perbuck_grpc::proto::{put_element, put_uint};

use crate::pairs::Pairs;
use crate::request::{Requests, region_error};
use crate::wire::answers;
use crate::wire::call::{Call, Command, Stage};

/// The second step that was sent last.
#[derive(Default)]
pub(crate) struct Later {
    call: Rc<Call>,
    /// Start and commit of its transaction, until the step is known to be done.
    open: Option<(u64, u64)>,
    /// The keys, without values.
    keys: Pairs,
}

impl Later {
    /// Sends the second step of a transaction with these times, and does not wait for its answer.
    pub(crate) async fn send<'a>(
        &mut self,
        requests: &mut Requests,
        times: (u64, u64),
        keys: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) {
        // As a rule the one before was answered long ago.
        if self.open.is_some() {
            Box::pin(self.finish(requests, true)).await;
        }
        self.keys.clear();
        keys.for_each(|(key, _)| self.keys.add(key, b""));
        self.open = Some(times);
        let keys = &self.keys;
        let write = |out: &mut Vec<u8>| put_commit(out, times, keys.from(0));
        if !requests.send_unanswered(Command::COMMIT, keys.key(0), &self.call, write) {
            self.call.fail(Stage::Lost, "");
        }
    }

    /// Makes sure that the last second step is done, as far as its answer tells; `waits` for that answer. An error does not
    /// concern the next transaction: readers do what the step would have done.
    pub(crate) async fn finish(&mut self, requests: &mut Requests, waits: bool) {
        let Some(times) = self.open else { return };
        let stage = match self.call.stage() {
            Stage::Waiting if !waits => return,
            Stage::Waiting => requests.ended_of(&self.call).await,
            stage => Some(stage),
        };
        let refused =
            |answer: &[u8]| -> Parsed<bool> { Ok(region_error(answer)?.is_some() || answers::key_error(answer)?.is_some()) };
        if stage != Some(Stage::Answered) || self.call.with(refused) != Ok(false) {
            // Its answer may come yet.
            self.call = Rc::default();
            let (keys, mut from) = (&self.keys, 0);
            while from < keys.len() {
                let mut count = 1;
                let sent = requests.send(Command::COMMIT, keys.key(from), |out, region| {
                    count = keys.from(from).take_while(|(key, _)| region.has(key)).count().max(1);
                    put_commit(out, times, keys.from(from).take(count));
                });
                if sent.await.is_err() {
                    break;
                }
                from += count;
            }
        }
        self.open = None;
    }

    /// As [`Self::finish`], before the next transaction.
    #[inline]
    pub(crate) async fn finish_before_next(&mut self, requests: &mut Requests) {
        if self.open.is_some() {
            Box::pin(self.finish(requests, false)).await;
        }
    }
}

/// Appends the second step of a transaction that started and is committed at these times.
pub(crate) fn put_commit<'a>(
    out: &mut Vec<u8>,
    (start_ts, commit_ts): (u64, u64),
    pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) {
    put_uint(out, commit_request::START_VERSION, start_ts);
    pairs.for_each(|(key, _)| put_element(out, commit_request::KEYS, key));
    put_uint(out, commit_request::COMMIT_VERSION, commit_ts);
}
