//! What is asked outside of the catalogue.

use std::fmt;

use crate::driver::{Effect, Session};
use crate::error::DriverError;
use crate::records::{Action, Records};
use crate::values::{Params, Rows};

/// A question to a database, in its own words.
#[derive(Debug, Clone)]
pub enum Query {
    /// A statement of SQL.
    Sql(String),
    /// An operation on records, with its parameters.
    Records(Records, Params),
    /// A number that is known without asking.
    Known(u64),
}

impl Query {
    /// An operation on the records of `table`, with these texts as parameters.
    pub fn records<T: AsRef<[u8]>>(table: &str, action: Action, texts: impl IntoIterator<Item = T>) -> Self {
        let mut params = Params::default();
        for text in texts {
            params.text(text.as_ref());
        }
        Self::Records(Records::new(table, action), params)
    }

    /// Asks it; the rows are kept.
    pub async fn ask<S: Session>(&self, session: &mut S, rows: &mut Rows) -> Result<Effect, DriverError> {
        match self {
            Self::Sql(sql) => session.query(sql, rows).await,
            Self::Records(records, params) => session.query_records(records, params, rows).await,
            Self::Known(number) => {
                rows.start(true);
                rows.push_int(*number as i64);
                rows.end_row();
                Ok(Effect::ResultSet)
            }
        }
    }
}

impl<T: Into<String>> From<T> for Query {
    fn from(sql: T) -> Self {
        Self::Sql(sql.into())
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(sql) => f.write_str(sql),
            Self::Records(records, params) => write!(f, "{records} {params:?}"),
            Self::Known(number) => number.fmt(f),
        }
    }
}
