//! What is asked of a table outside of the operations that are measured: whether it is there, how many rows it has, which are
//! missing or different, and that all of them go.

use perbuck_grpc::kvproto::kvrpcpb::delete_range_request;
use perbuck_grpc::proto::put_bytes;
use perbuck_load::driver::Effect;
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::values::{Params, Rows};

use crate::keys;
use crate::row::Row;
use crate::sentence::Sentence;
use crate::session::{Came, TikvSession, text, wrong_shape};
use crate::wire::answers;
use crate::wire::call::Command;

impl TikvSession {
    /// How many rows a table has, at most `limit`.
    async fn count_rows(&mut self, table: &[u8], limit: u32) -> Result<u64, DriverError> {
        self.set_key(table, b"");
        let mut count = 0;
        self.scan(table, limit, true, |_, _| count += 1).await?;
        Ok(count)
    }

    /// What is asked outside of transactions that are measured.
    #[cold]
    pub(crate) async fn keep_house(
        &mut self,
        sentence: &Sentence,
        params: &Params,
        rows: &mut Rows,
    ) -> Result<Effect, DriverError> {
        match sentence {
            Sentence::Drop { table } => return self.delete_all(table).await.map(|()| Effect::Affected(0)),
            Sentence::Number(number) => push_number(rows, *number),
            Sentence::CountAll { table } => push_number(rows, self.count_rows(table, u32::MAX).await? as i64),
            Sentence::Exists { table } => push_number(rows, self.count_rows(table, 1).await? as i64),
            Sentence::Unless { table, exactly, rows: wanted } => {
                let found = self.count_rows(table, u32::MAX).await?;
                if found < *wanted || (*exactly && found != *wanted) {
                    push_number(rows, found as i64);
                }
            }
            Sentence::Count { table } | Sentence::Absent { table } => {
                let mut there = 0;
                for key in params.iter() {
                    let key = text(Some(key))?;
                    self.set_key(table, key);
                    self.read().await?;
                    if self.value_of_read(|value| value.is_some())? {
                        there += 1;
                    } else if matches!(sentence, Sentence::Absent { .. }) {
                        rows.push_text(key);
                        rows.end_row();
                    }
                }
                if matches!(sentence, Sentence::Count { .. }) {
                    push_number(rows, there);
                }
            }
            Sentence::Different { table, width } => {
                let cells: Vec<&[u8]> = params.iter().map(|value| text(Some(value))).collect::<Result<_, _>>()?;
                for cells in cells.chunks(*width as usize + 1) {
                    self.set_key(table, cells[0]);
                    self.read().await?;
                    let same = |value: Option<&[u8]>| {
                        let row = Row::new(value.unwrap_or_default());
                        cells[1..].iter().enumerate().all(|(i, cell)| row.find(i as u64) == Ok(Some(cell)))
                    };
                    if !self.value_of_read(same)? {
                        rows.push_text(cells[0]);
                        rows.end_row();
                    }
                }
            }
            Sentence::Get { .. } | Sentence::Put { .. } | Sentence::Update { .. } | Sentence::Scan { .. } => {
                return Err(wrong_shape());
            }
        }
        Ok(Effect::ResultSet)
    }

    fn value_of_read<T>(&self, look: impl FnOnce(Option<&[u8]>) -> T) -> Result<T, DriverError> {
        self.requests.call.with(|answer| Came::Read.value(answer).map(look)).map_err(crate::malformed)
    }

    /// Deletes every row of a table, region by region; of a transaction's with all their versions.
    async fn delete_all(&mut self, table: &[u8]) -> Result<(), DriverError> {
        let (mut start, end) = (table.to_vec(), keys::behind(table));
        let command = if self.transactional() { Command::DELETE_RANGE } else { Command::RAW_DELETE_RANGE };
        loop {
            let sent = self.requests.send(command, &start, |out, region| {
                put_bytes(out, delete_range_request::START_KEY, &start);
                put_bytes(out, delete_range_request::END_KEY, crate::nearer(&region.end, &end));
            });
            let region = sent.await?;
            if let Some(words) =
                self.requests.call.with(|a| answers::error(a).map(|e| e.map(<[u8]>::to_vec))).map_err(crate::malformed)?
            {
                let message = format!("the rows cannot be deleted: {}", perbuck_net::printable(&words));
                return Err(DriverError::new(ErrorClass::Fatal, ErrorCode::Word("tikv", "refused"), message));
            }
            if region.end.is_empty() || region.end >= end {
                return Ok(());
            }
            start.clone_from(&region.end);
        }
    }
}

fn push_number(rows: &mut Rows, number: i64) {
    rows.push_int(number);
    rows.end_row();
}
