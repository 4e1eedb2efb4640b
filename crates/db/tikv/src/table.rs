//! What is asked of a table outside of the operations that are measured: whether it has rows, how many, which of them are
//! missing or different. Also how all of them are deleted.

use perbuck_grpc::kvproto::kvrpcpb::delete_range_request;
use perbuck_grpc::proto::put_bytes;
use perbuck_load::driver::Effect;
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::records::Action;
use perbuck_load::values::{Params, Rows};

use crate::keys;
use crate::row::Row;
use crate::rows::{Came, TikvSession, text, wrong_shape};
use crate::wire::answers;
use crate::wire::call::Command;

impl TikvSession {
    /// How many rows a table has, at most `limit`.
    pub(crate) async fn rows_of(&mut self, table: &[u8], limit: u32) -> Result<u64, DriverError> {
        self.set_key(table, b"");
        let mut count = 0;
        self.scan(table, limit, true, |_, _| count += 1).await?;
        Ok(count)
    }

    /// What is asked of a table outside of transactions that are measured.
    #[cold]
    pub(crate) async fn ask_of_table(
        &mut self,
        table: &[u8],
        action: &Action,
        params: &Params,
        rows: &mut Rows,
    ) -> Result<Effect, DriverError> {
        let cells: Vec<&[u8]> = params.iter().map(|value| text(Some(value))).collect::<Result<_, _>>()?;
        match action {
            Action::Exists => push_number(rows, self.rows_of(table, 1).await?),
            Action::CountUnless(expected) => {
                let found = self.rows_of(table, u32::MAX).await?;
                if !expected.contains(&found) {
                    push_number(rows, found);
                }
            }
            Action::Count => {
                let mut found = 0;
                for key in cells {
                    found += u64::from(self.matches(table, key, |row| row.is_some()).await?);
                }
                push_number(rows, found);
            }
            Action::Absent => {
                for key in cells {
                    if !self.matches(table, key, |row| row.is_some()).await? {
                        push_key(rows, key);
                    }
                }
            }
            Action::Different(width) => {
                for cells in cells.chunks(*width as usize + 1) {
                    let same = |value: Option<&[u8]>| {
                        let row = Row::new(value.unwrap_or_default());
                        cells[1..].iter().enumerate().all(|(i, cell)| row.find(i as u64) == Ok(Some(cell)))
                    };
                    if !self.matches(table, cells[0], same).await? {
                        push_key(rows, cells[0]);
                    }
                }
            }
            Action::Get(_) | Action::Put | Action::Update(_) | Action::Scan { .. } => return Err(wrong_shape()),
        }
        Ok(Effect::ResultSet)
    }

    /// Whether the row of a key is as expected; `None` is that there is none.
    async fn matches(&mut self, table: &[u8], key: &[u8], expected: impl Fn(Option<&[u8]>) -> bool) -> Result<bool, DriverError> {
        self.set_key(table, key);
        self.read().await?;
        self.requests.call.with(|answer| Came::Read.value(answer).map(expected)).map_err(crate::malformed)
    }

    /// Deletes every row of a table, region by region; of a transaction's with all their versions.
    pub(crate) async fn delete_all(&mut self, table: &[u8]) -> Result<(), DriverError> {
        let (mut start, end) = (table.to_vec(), keys::after(table));
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

fn push_number(rows: &mut Rows, number: u64) {
    rows.push_int(number as i64);
    rows.end_row();
}

fn push_key(rows: &mut Rows, key: &[u8]) {
    rows.push_text(key);
    rows.end_row();
}
