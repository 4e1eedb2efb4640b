//! One request of gRPC (`call`), a connection of them (`streams`, `channel`), and the messages of PD and the stores.

pub(crate) mod answers;
pub(crate) mod call;
pub(crate) mod channel;
pub(crate) mod pd;
pub(crate) mod streams;
