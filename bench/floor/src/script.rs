//! The statements of sysbench 1.0.20's `oltp_point_select` and `oltp_read_write` as packets in which ids are patched.

use crate::answer::Answer;

/// Longest packet: the INSERT with its two texts.
pub(crate) const PACKET: usize = 256;
const RANGE_SIZE: u64 = 100;
const STMT_EXECUTE: u8 = 0x17;
const LONGLONG: u8 = 8;
const VAR_STRING: u8 = 0xfd;
const C: &str = "00000000000-00000000000-00000000000-00000000000-00000000000-00000000000-00000000000-00000000000-\
    00000000000-00000000000";
const PAD: &str = "00000000000-00000000000-00000000000-00000000000-00000000000";

/// Which of sysbench's scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One SELECT by primary key.
    PointSelect,
    /// BEGIN, 10 SELECTs by primary key, 4 range SELECTs, 2 UPDATEs, a DELETE and an INSERT of one row, COMMIT.
    ReadWrite,
}

/// Values of a packet that change from one execution to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Param {
    /// The id drawn for this step; DELETE and INSERT share one.
    Id,
    /// The last id of the range that begins there.
    RangeEnd,
    /// A number of its own.
    K,
    /// A text of which the first digits change.
    Text(&'static str),
}

/// One statement of a script and the packet that executes it.
#[derive(Debug)]
struct Statement {
    /// Its index among a connection's prepared statements.
    first: usize,
    /// Whether the one on another table is so many tables further.
    per_table: bool,
    answer: Answer,
    packet: Vec<u8>,
    patches: Vec<(usize, Param)>,
}

/// One execution within a transaction.
#[derive(Debug, Clone, Copy)]
struct Step {
    statement: usize,
    draws_table: bool,
    draws_id: bool,
}

/// Where a connection is in its script.
#[derive(Debug, Default)]
pub(crate) struct Position {
    step: usize,
    table: usize,
    id: u64,
}

impl Position {
    /// Whether no transaction is open.
    #[inline]
    pub(crate) fn is_between(&self) -> bool {
        self.step == 0
    }
}

/// A script with its packets.
#[derive(Debug)]
pub(crate) struct Script {
    tables: u32,
    table_size: u32,
    statements: Vec<Statement>,
    steps: Vec<Step>,
    /// Statements that every connection prepares, in this order.
    pub(crate) sql: Vec<String>,
}

impl Script {
    /// The script on `sbtest1` to `sbtestN`.
    pub(crate) fn new(kind: Kind, tables: u32, table_size: u32) -> Self {
        let mut script = Self { tables, table_size, statements: Vec::new(), steps: Vec::new(), sql: Vec::new() };
        const POINT: &str = "SELECT c FROM sbtest# WHERE id=?";
        if kind == Kind::PointSelect {
            script.add(POINT, Answer::Rows, &[Param::Id], 1, true);
            return script;
        }
        let range = [Param::Id, Param::RangeEnd];
        script.add("BEGIN", Answer::Ok, &[], 1, false);
        script.add(POINT, Answer::Rows, &[Param::Id], 10, true);
        for sql in [
            "SELECT c FROM sbtest# WHERE id BETWEEN ? AND ?",
            "SELECT SUM(k) FROM sbtest# WHERE id BETWEEN ? AND ?",
            "SELECT c FROM sbtest# WHERE id BETWEEN ? AND ? ORDER BY c",
            "SELECT DISTINCT c FROM sbtest# WHERE id BETWEEN ? AND ? ORDER BY c",
        ] {
            script.add(sql, Answer::Rows, &range, 1, true);
        }
        script.add("UPDATE sbtest# SET k=k+1 WHERE id=?", Answer::Ok, &[Param::Id], 1, true);
        script.add("UPDATE sbtest# SET c=? WHERE id=?", Answer::Ok, &[Param::Text(C), Param::Id], 1, true);
        script.add("DELETE FROM sbtest# WHERE id=?", Answer::Ok, &[Param::Id], 1, true);
        let row = [Param::Id, Param::K, Param::Text(C), Param::Text(PAD)];
        script.add("INSERT INTO sbtest# (id, k, c, pad) VALUES (?, ?, ?, ?)", Answer::Ok, &row, 1, false);
        script.add("COMMIT", Answer::Ok, &[], 1, false);
        script
    }

    /// Adds a statement (`#` stands for the table's number) and its executions: all on the table drawn for the first of them, each with an id of its own
    /// unless it draws none.
    fn add(&mut self, sql: &str, answer: Answer, params: &[Param], times: usize, draws: bool) {
        let first = self.sql.len();
        let per_table = sql.contains('#');
        let tables = if per_table { self.tables } else { 1 };
        self.sql.extend((1..=tables).map(|table| sql.replace('#', &table.to_string())));
        let (packet, patches) = execute(params);
        let statement = self.statements.len();
        self.statements.push(Statement { first, per_table, answer, packet, patches });
        self.steps.extend((0..times).map(|i| Step { statement, draws_table: draws && i == 0, draws_id: draws }));
    }

    /// Writes the packet of a connection's next statement and returns its length.
    #[inline]
    pub(crate) fn write(&self, position: &mut Position, prepared: &[u32], random: &mut Random, out: &mut [u8; PACKET]) -> usize {
        let step = self.steps[position.step];
        let statement = &self.statements[step.statement];
        if step.draws_table {
            position.table = random.below(self.tables) as usize;
        }
        if step.draws_id {
            position.id = u64::from(random.below(self.table_size)) + 1;
        }
        let on_table = if statement.per_table { position.table } else { 0 };
        out[..statement.packet.len()].copy_from_slice(&statement.packet);
        out[5..9].copy_from_slice(&prepared[statement.first + on_table].to_le_bytes());
        for (at, param) in &statement.patches {
            let number = match param {
                Param::Id => position.id,
                Param::RangeEnd => position.id + RANGE_SIZE - 1,
                Param::K => u64::from(random.below(self.table_size)) + 1,
                Param::Text(_) => random.digits(),
            };
            out[*at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        statement.packet.len()
    }

    /// The kind of answer to the statement at this position.
    #[inline]
    pub(crate) fn answer(&self, position: &Position) -> Answer {
        self.statements[self.steps[position.step].statement].answer
    }

    /// Moves on after a good answer; true at a transaction's end.
    #[inline]
    pub(crate) fn advance(&self, position: &mut Position) -> bool {
        position.step += 1;
        let ended = position.step == self.steps.len();
        if ended {
            position.step = 0;
        }
        ended
    }

    /// Starts the script again, as sysbench does after an error. BEGIN ends the transaction that the error left open.
    pub(crate) fn restart(&self, position: &mut Position) {
        position.step = 0;
    }
}

/// The COM_STMT_EXECUTE packet and the offsets of its values.
fn execute(params: &[Param]) -> (Vec<u8>, Vec<(usize, Param)>) {
    let mut packet = vec![0, 0, 0, 0, STMT_EXECUTE, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    let mut patches = Vec::new();
    if !params.is_empty() {
        // No NULL (one byte of bitmap serves eight parameters), and types in every packet: no state to keep.
        packet.extend_from_slice(&[0, 1]);
        for param in params {
            packet.extend_from_slice(&[if matches!(param, Param::Text(_)) { VAR_STRING } else { LONGLONG }, 0]);
        }
        for param in params {
            if let Param::Text(text) = param {
                packet.push(text.len() as u8);
                patches.push((packet.len(), *param));
                packet.extend_from_slice(text.as_bytes());
            } else {
                patches.push((packet.len(), *param));
                packet.extend_from_slice(&[0; 8]);
            }
        }
    }
    packet[0] = (packet.len() - 4) as u8;
    (packet, patches)
}

/// xorshift64: a few shifts a number.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Any seed but 0.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Uniform in 0..n, by the upper half of a product.
    #[inline]
    fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// Eight characters from 0 to 7.
    #[inline]
    fn digits(&mut self) -> u64 {
        (self.next() & 0x0707_0707_0707_0707) | 0x3030_3030_3030_3030
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_has_twenty_statements_and_every_packet_fits() {
        let script = Script::new(Kind::ReadWrite, 4, 1000);
        let prepared: Vec<u32> = (100..100 + script.sql.len() as u32).collect();
        let (mut position, mut random, mut out) = (Position::default(), Random::new(7), [0; PACKET]);
        let mut sent = Vec::new();
        loop {
            let length = script.write(&mut position, &prepared, &mut random, &mut out);
            assert_eq!(usize::from(out[0]) + 4, length);
            let id = u32::from_le_bytes([out[5], out[6], out[7], out[8]]);
            sent.push(script.sql[id as usize - 100].clone());
            if script.advance(&mut position) {
                break;
            }
        }
        assert_eq!(script.sql.len(), 9 * 4 + 2);
        assert_eq!(sent.len(), 20);
        assert_eq!((sent[0].as_str(), sent[19].as_str()), ("BEGIN", "COMMIT"));
        assert!(sent[1..11].iter().all(|s| *s == sent[1]), "ten points on one table: {sent:?}");
        let table = |sql: &str| sql.chars().find(char::is_ascii_digit);
        assert_eq!(table(&sent[17]), table(&sent[18]), "what is deleted is inserted again");
    }
}
