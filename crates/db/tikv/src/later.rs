//! The second step of a transaction that counts as committed after the first one (async commit). Its session does not wait for it.
//! Where the step was lost, the session sends it again before its next transaction: its locks would keep others waiting until their
//! time to live is over, 20 s in pessimistic transactions. client-go sends it again in the background.

use std::rc::Rc;

use perbuck_grpc::Parsed;
use perbuck_grpc::kvproto::kvrpcpb::commit_request;
use perbuck_grpc::proto::{put_element, put_uint};

use crate::pairs::Pairs;
use crate::request::{Requests, region_error};
use crate::txn::Txn;
use crate::wire::answers;
use crate::wire::call::Command;
use crate::wire::call::{Call, Stage};

/// The second step that was sent last.
pub(crate) struct Later {
    call: Rc<Call>,
    /// Start and commit of its transaction, until the step is known to be done.
    open: Option<(u64, u64)>,
    /// The keys, without values.
    keys: Pairs,
}

impl Later {
    pub(crate) fn new() -> Self {
        Self { call: Call::new(), open: None, keys: Pairs::default() }
    }

    /// Whether a step is not known to be done.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// Sends the second step of a transaction and does not wait for its answer.
pub(crate) async fn send<'a>(requests: &mut Requests, txn: Txn, commit_ts: u64, keys: impl Iterator<Item = &'a [u8]>) {
    // As a rule the one before was answered long ago.
    if requests.later.is_open() {
        Box::pin(finish(requests, true)).await;
    }
    let mut later = std::mem::take(&mut requests.later.keys);
    later.clear();
    keys.for_each(|key| later.add(key, b""));
    requests.later.open = Some((txn.start_ts, commit_ts));
    let call = Rc::clone(&requests.later.call);
    let all = later.len();
    if !requests.send_unanswered(Command::COMMIT, later.key(0), &call, |out| put(out, (txn.start_ts, commit_ts), &later, 0, all))
    {
        call.fail(Stage::Lost, "");
    }
    requests.later.keys = later;
}

/// Makes sure that the last second step is done, as far as its answer tells; `waits` for that answer. An error is none of the
/// next transaction: readers do what the step would have done.
pub(crate) async fn finish(requests: &mut Requests, waits: bool) {
    let Some(txn) = requests.later.open else { return };
    let call = Rc::clone(&requests.later.call);
    let stage = match call.stage() {
        Stage::Waiting if !waits => return,
        Stage::Waiting => requests.ended_of(&call).await,
        stage => Some(stage),
    };
    let refused =
        |answer: &[u8]| -> Parsed<bool> { Ok(region_error(answer)?.is_some() || answers::key_error(answer)?.is_some()) };
    if stage != Some(Stage::Answered) || call.with(refused) != Ok(false) {
        // Its answer may come yet.
        requests.later.call = Call::new();
        let keys = std::mem::take(&mut requests.later.keys);
        let mut from = 0;
        while from < keys.len() {
            let mut count = 1;
            let sent = requests.send(Command::COMMIT, keys.key(from), |out, region| {
                count = keys.from(from).take_while(|(key, _)| region.has(key)).count().max(1);
                put(out, txn, &keys, from, count);
            });
            if sent.await.is_err() {
                break;
            }
            from += count;
        }
        requests.later.keys = keys;
    }
    requests.later.open = None;
}

fn put(out: &mut Vec<u8>, (start_ts, commit_ts): (u64, u64), keys: &Pairs, from: usize, count: usize) {
    put_uint(out, commit_request::START_VERSION, start_ts);
    keys.from(from).take(count).for_each(|(key, _)| put_element(out, commit_request::KEYS, key));
    put_uint(out, commit_request::COMMIT_VERSION, commit_ts);
}
