//! A server that lives in memory and always says the same, for tests and for the benchmark of a protocol alone: what a statement
//! costs without the kernel.

/// The answers.
#[derive(Debug, Clone)]
pub struct Answers {
    /// To every prepare: whole messages.
    pub prepared: Vec<u8>,
    /// To every execution of a prepared statement.
    pub executed: Vec<u8>,
    /// To every text.
    pub text: Vec<u8>,
    /// Bytes that one read brings, at most.
    pub at_once: usize,
}

/// What a client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A statement to be prepared.
    Prepare,
    /// One to be executed.
    Execute,
    /// A text, or anything else.
    Text,
}

/// The server's end of a connection.
pub struct Canned {
    answers: Answers,
    read: fn(&[u8]) -> Asked,
    asked: Asked,
    said: usize,
}

impl Canned {
    /// A server with these answers; `read` tells by the bytes of a command what it is.
    pub fn new(answers: Answers, read: fn(&[u8]) -> Asked) -> Self {
        Self { answers, read, asked: Asked::Text, said: 0 }
    }

    /// Takes what is sent; how much of it.
    pub(crate) fn hear(&mut self, bytes: &[u8]) -> usize {
        self.asked = (self.read)(bytes);
        self.said = 0;
        bytes.len()
    }

    /// The next bytes of an answer; 0 after its end, as if the connection had been closed.
    pub(crate) fn say(&mut self, room: &mut [u8]) -> usize {
        let answer = match self.asked {
            Asked::Prepare => &self.answers.prepared,
            Asked::Execute => &self.answers.executed,
            Asked::Text => &self.answers.text,
        };
        let rest = answer.get(self.said..).unwrap_or_default();
        let count = rest.len().min(room.len()).min(self.answers.at_once);
        room[..count].copy_from_slice(&rest[..count]);
        self.said += count;
        count
    }
}
