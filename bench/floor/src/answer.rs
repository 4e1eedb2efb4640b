//! Finds the end of an answer from its first and last bytes alone.
//!
//! Packets are not walked. An answer's first packet says whether it is an error. A result set ends with an EOF packet of
//! nine bytes. Nothing else in these scripts ends in such bytes: rows hold digits, dashes and their lengths (none of
//! them 5 or 0xfe at that position), and the EOF packet after the one column definition has number 3.

/// An EOF packet: length 5, number, 0xfe, warnings, status.
const EOF: usize = 9;
/// A packet's header and the first byte of its payload.
const HEAD: usize = 5;
/// The number of the EOF packet that ends the column definitions: it follows the count (1) and the one definition (2).
const DEFINITIONS_END: u8 = 3;

/// What a statement answers when it succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// One OK packet.
    Ok,
    /// A result set of one column.
    Rows,
}

/// What is known after a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// More bytes must come.
    More,
    /// The answer is whole.
    Done,
    /// The whole answer is an error packet.
    Error,
    /// The bytes are no answer to this statement.
    Broken,
}

/// The first and last bytes of an answer that comes in several pieces.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    bytes: usize,
    head: [u8; HEAD],
    tail: [u8; EOF],
}

impl Pieces {
    /// Judges the answer with its next piece. After any verdict but [`Verdict::More`] the next piece starts another answer.
    #[inline]
    pub(crate) fn add(&mut self, expected: Answer, piece: &[u8]) -> Verdict {
        // Nearly every answer comes in one piece, of which nothing needs to be kept.
        if self.bytes == 0
            && let (Some(head), Some(tail)) = (piece.first_chunk(), piece.last_chunk())
        {
            let verdict = judge(expected, piece.len(), head, tail);
            if verdict != Verdict::More {
                return verdict;
            }
        }
        self.add_slowly(expected, piece)
    }

    fn add_slowly(&mut self, expected: Answer, piece: &[u8]) -> Verdict {
        for (at, byte) in self.head.iter_mut().enumerate().skip(self.bytes) {
            let Some(new) = piece.get(at - self.bytes) else { break };
            *byte = *new;
        }
        let new = piece.len().min(EOF);
        self.tail.rotate_left(new);
        self.tail[EOF - new..].copy_from_slice(&piece[piece.len() - new..]);
        self.bytes += piece.len();
        if self.bytes < EOF {
            return Verdict::More;
        }
        let verdict = judge(expected, self.bytes, &self.head, &self.tail);
        if verdict != Verdict::More {
            self.bytes = 0;
        }
        verdict
    }
}

/// No answer is shorter than nine bytes: OK packets have eleven at least, error packets more.
#[inline]
fn judge(expected: Answer, bytes: usize, head: &[u8; HEAD], tail: &[u8; EOF]) -> Verdict {
    let first = 4 + u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    match (head[4], expected) {
        (0xff, _) if bytes == first => Verdict::Error,
        (0, Answer::Ok) if bytes == first => Verdict::Done,
        (0xff, _) | (0, Answer::Ok) if bytes < first => Verdict::More,
        (1, Answer::Rows) => {
            let ends = tail[..3] == [5, 0, 0] && tail[3] != DEFINITIONS_END && tail[4] == 0xfe;
            if ends { Verdict::Done } else { Verdict::More }
        }
        _ => Verdict::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &[u8] = &[7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];
    const ERROR: &[u8] = b"\x0d\0\0\x01\xff\xbd\x04#40001dead";

    fn rows(rows: u8) -> Vec<u8> {
        let mut bytes = b"\x01\0\0\x01\x01\x03\0\0\x02def\x05\0\0\x03\xfe\0\0\x02\0".to_vec();
        for row in 0..rows {
            bytes.extend_from_slice(&[6, 0, 0, 4 + row, 0, 0, 3]);
            bytes.extend_from_slice(b"1-2");
        }
        bytes.extend_from_slice(&[5, 0, 0, 4 + rows, 0xfe, 0, 0, 2, 0]);
        bytes
    }

    #[test]
    fn an_answer_ends_where_it_ends_however_it_is_cut() {
        for (expected, whole, verdict) in [
            (Answer::Ok, OK.to_vec(), Verdict::Done),
            (Answer::Ok, ERROR.to_vec(), Verdict::Error),
            (Answer::Rows, ERROR.to_vec(), Verdict::Error),
            (Answer::Rows, rows(0), Verdict::Done),
            (Answer::Rows, rows(100), Verdict::Done),
        ] {
            let mut pieces = Pieces::default();
            assert_eq!(pieces.add(expected, &whole), verdict);
            for cut in 1..whole.len() {
                assert_eq!(pieces.add(expected, &whole[..cut]), Verdict::More, "{cut} of {}", whole.len());
                assert_eq!(pieces.add(expected, &whole[cut..]), verdict, "{cut} of {}", whole.len());
            }
            for byte in &whole[..whole.len() - 1] {
                assert_eq!(pieces.add(expected, &[*byte]), Verdict::More);
            }
            assert_eq!(pieces.add(expected, &whole[whole.len() - 1..]), verdict);
        }
    }

    #[test]
    fn what_answers_another_statement_is_broken() {
        assert_eq!(Pieces::default().add(Answer::Ok, &rows(1)), Verdict::Broken);
        assert_eq!(Pieces::default().add(Answer::Rows, OK), Verdict::Broken);
        assert_eq!(Pieces::default().add(Answer::Ok, &[OK, OK].concat()), Verdict::Broken);
    }
}
