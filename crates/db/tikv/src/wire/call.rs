//! One request in flight. A session has one and uses it again, so that a request allocates nothing.

use perbuck_grpc::kvproto::tikvpb::request as command;
use std::cell::{Cell, RefCell};
use std::task::{Poll, Waker};

/// A command: its field in a batch, and its method.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command(pub(crate) u32, pub(crate) &'static str);

impl Command {
    pub(crate) const GET: Self = Self(command::GET, "/tikvpb.Tikv/KvGet");
    pub(crate) const SCAN: Self = Self(command::SCAN, "/tikvpb.Tikv/KvScan");
    pub(crate) const PREWRITE: Self = Self(command::PREWRITE, "/tikvpb.Tikv/KvPrewrite");
    pub(crate) const COMMIT: Self = Self(command::COMMIT, "/tikvpb.Tikv/KvCommit");
    pub(crate) const BATCH_ROLLBACK: Self = Self(command::BATCH_ROLLBACK, "/tikvpb.Tikv/KvBatchRollback");
    pub(crate) const RESOLVE_LOCK: Self = Self(command::RESOLVE_LOCK, "/tikvpb.Tikv/KvResolveLock");
    pub(crate) const DELETE_RANGE: Self = Self(command::DELETE_RANGE, "/tikvpb.Tikv/KvDeleteRange");
    pub(crate) const RAW_GET: Self = Self(command::RAW_GET, "/tikvpb.Tikv/RawGet");
    pub(crate) const RAW_PUT: Self = Self(command::RAW_PUT, "/tikvpb.Tikv/RawPut");
    pub(crate) const RAW_BATCH_PUT: Self = Self(command::RAW_BATCH_PUT, "/tikvpb.Tikv/RawBatchPut");
    pub(crate) const RAW_SCAN: Self = Self(command::RAW_SCAN, "/tikvpb.Tikv/RawScan");
    pub(crate) const RAW_DELETE_RANGE: Self = Self(command::RAW_DELETE_RANGE, "/tikvpb.Tikv/RawDeleteRange");
    pub(crate) const PESSIMISTIC_LOCK: Self = Self(command::PESSIMISTIC_LOCK, "/tikvpb.Tikv/KvPessimisticLock");
    pub(crate) const PESSIMISTIC_ROLLBACK: Self = Self(command::PESSIMISTIC_ROLLBACK, "/tikvpb.Tikv/KVPessimisticRollback");
    pub(crate) const CHECK_TXN_STATUS: Self = Self(command::CHECK_TXN_STATUS, "/tikvpb.Tikv/KvCheckTxnStatus");
}

/// How far a request is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Idle,
    Waiting,
    Answered,
    /// There will be none: the connection failed, or could not carry it. The text is in the body.
    Lost,
    /// The server refused it with this status of gRPC. Its words are in the body.
    Status(u32),
}

#[derive(Debug, Default)]
pub(crate) struct Call {
    stage: Cell<Stage>,
    body: RefCell<Vec<u8>>,
    /// Where the message starts in the body.
    message_start: Cell<usize>,
    /// A timestamp that was asked for.
    pub(crate) number: Cell<u64>,
    waker: RefCell<Option<Waker>>,
}

impl Call {
    #[inline]
    pub(crate) fn stage(&self) -> Stage {
        self.stage.get()
    }

    #[inline]
    pub(crate) fn start(&self) {
        self.stage.set(Stage::Waiting);
        self.message_start.set(0);
        self.body.borrow_mut().clear();
    }

    #[inline]
    pub(crate) fn add(&self, bytes: &[u8]) {
        self.body.borrow_mut().extend_from_slice(bytes);
    }

    /// It has ended, and its message starts at `start` of the body.
    #[inline]
    pub(crate) fn end(&self, stage: Stage, start: usize) {
        self.stage.set(stage);
        self.message_start.set(start);
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    #[cold]
    pub(crate) fn fail(&self, stage: Stage, words: &str) {
        let mut body = self.body.borrow_mut();
        body.clear();
        body.extend_from_slice(words.as_bytes());
        drop(body);
        self.end(stage, 0);
    }

    /// Ready once it has ended; else the task of `waker` is polled when it has.
    #[inline]
    pub(crate) fn poll_ended(&self, waker: &Waker) -> Poll<Stage> {
        let stage = self.stage.get();
        if stage != Stage::Waiting {
            return Poll::Ready(stage);
        }
        let mut kept = self.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|k| k.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
        Poll::Pending
    }

    /// Looks at the message of the answer.
    #[inline]
    pub(crate) fn with<T>(&self, look: impl FnOnce(&[u8]) -> T) -> T {
        look(self.body.borrow().get(self.message_start.get()..).unwrap_or_default())
    }

    /// Its message as text: why there is no answer.
    #[cold]
    pub(crate) fn words(&self) -> String {
        self.with(perbuck_net::printable)
    }
}
