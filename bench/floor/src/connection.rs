//! One connection and what happens when bytes arrive on it; the event loops differ in how bytes come and go.

use std::net::TcpStream;

use crate::answer::{Pieces, Verdict};
use crate::login::{Server, Session};
use crate::measure::Counts;
use crate::script::{PACKET, Position, Random, Script};

/// A connection that has logged in and prepared its statements.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    prepared: Vec<u32>,
    position: Position,
    pieces: Pieces,
}

impl Connection {
    /// Opens one.
    pub(crate) fn open(server: &Server, script: &Script) -> Result<Self, String> {
        let mut session = Session::open(server)?;
        let prepared = script.sql.iter().map(|sql| session.prepare(sql)).collect::<Result<_, _>>()?;
        Ok(Self { stream: session.finish()?, prepared, position: Position::default(), pieces: Pieces::default() })
    }

    /// Writes the next query and returns its length.
    #[inline]
    pub(crate) fn write(&mut self, script: &Script, random: &mut Random, out: &mut [u8; PACKET]) -> usize {
        script.write(&mut self.position, &self.prepared, random, out)
    }

    /// Whether it may stop here: one that stopped within its transaction would leave others waiting for its locks.
    #[inline]
    pub(crate) fn may_stop(&self) -> bool {
        self.position.is_between()
    }

    /// Takes in what was received; true when the answer is whole and the next query may go.
    #[inline]
    pub(crate) fn receive(&mut self, script: &Script, piece: &[u8], counts: &mut Counts) -> Result<bool, String> {
        match self.pieces.add(script.answer(&self.position), piece) {
            Verdict::More => return Ok(false),
            Verdict::Done => {
                counts.queries += 1;
                counts.transactions += u64::from(script.advance(&mut self.position));
            }
            Verdict::Error => {
                counts.queries += 1;
                counts.errors += 1;
                script.restart(&mut self.position);
            }
            Verdict::Broken => return Err("an answer does not fit its statement".into()),
        }
        Ok(true)
    }
}
