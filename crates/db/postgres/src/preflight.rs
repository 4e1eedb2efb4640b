//! What a server says of itself before a study starts, and whether another server listens where one is expected.

use std::path::PathBuf;

use perbuck_database::Dialect as _;
use perbuck_load::driver::Session as _;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::preflight::{HostFacts, too_old};
use perbuck_load::values::Rows;
use perbuck_net::link::Link;

use crate::facts::postmaster_of;
use crate::family::{Family, must_be, of_version};
use crate::session::PostgresSession;

/// ON CONFLICT came with it.
const LEAST: [u32; 2] = [9, 5];

/// The most sessions of the user in the database; the server keeps some of them for superusers. -1 is no limit.
const SESSIONS_MAX: &str = "\
    SELECT CAST(setting AS BIGINT) - CASE WHEN rolsuper THEN 0 ELSE (SELECT SUM(CAST(setting AS BIGINT)) FROM pg_settings \
    WHERE name IN ('superuser_reserved_connections', 'reserved_connections')) END, CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END, \
    CASE WHEN rolsuper THEN -1 ELSE datconnlimit END FROM pg_settings, pg_roles, pg_database \
    WHERE name = 'max_connections' AND rolname = current_user AND datname = current_database()";

/// Asks a server that took the login.
pub(crate) async fn preflight(session: &mut PostgresSession, family: Family) -> Result<HostFacts, DriverError> {
    let mut rows = Rows::default();
    session.query("SELECT version()", &mut rows).await?;
    let text = rows.display(0, 0)?;
    must_be(family, of_version(&text), &text, session.wire.address())?;
    let version = text.split(" on ").next().unwrap_or_default().to_owned();
    if family != Family::Postgres {
        return Ok(HostFacts { version, ..HostFacts::default() });
    }
    // `PostgreSQL 15.14 (Debian …)`.
    let number = version.split(' ').nth(1).unwrap_or_default();
    let problems = too_old(family.name(), number, &LEAST).into_iter().collect();
    let sessions_max = sessions_max(session).await?;
    let data_folder = if session.wire.socket.peer_is_local() { data_folder(session).await? } else { None };
    Ok(HostFacts { version, problems, sessions_max, data_folder, is_new: false })
}

/// The most sessions that the user may have in the database.
pub(crate) async fn sessions_max(session: &mut PostgresSession) -> Result<Option<u32>, DriverError> {
    let mut rows = Rows::default();
    session.query(SESSIONS_MAX, &mut rows).await?;
    let mut limits = Vec::new();
    for column in 0..rows.width() {
        limits.extend(if rows.is_empty() { None } else { u32::try_from(rows.int(0, column)?).ok() });
    }
    Ok(limits.into_iter().min())
}

/// The folder of a server whose processes this machine sees. Not every user is told its name.
async fn data_folder(session: &mut PostgresSession) -> Result<Option<PathBuf>, DriverError> {
    let mut rows = Rows::default();
    session.query("SELECT setting, pg_backend_pid() FROM pg_settings WHERE name = 'data_directory'", &mut rows).await?;
    if rows.is_empty() || rows.is_null(0, 0)? {
        return Ok(None);
    }
    let (folder, backend) = (PathBuf::from(rows.display(0, 0)?), u32::try_from(rows.int(0, 1)?).ok());
    Ok(backend.and_then(postmaster_of).map(|_| folder).filter(|folder| folder.exists()))
}

/// Refuses a server that greets, or refuses, in MySQL's protocol: it speaks first, and its packets have a small number, 0, and then the
/// version 10 of the protocol, or the sign of an error.
pub(crate) fn unless_mysql(link: &Link) -> Result<(), DriverError> {
    let arrived = link.inbox.arrived();
    let greets = matches!(arrived, [_, _, 0, 0, 10, b'0'..=b'9', ..] | [_, _, 0, 0, 0xff, _, _, ..]);
    if !greets {
        return Ok(());
    }
    let message = format!(
        "{} is a server of MySQL's protocol. Write `mysql://` in the target, or name that database on the command line",
        link.address()
    );
    Err(DriverError::client(ErrorClass::Refused, "protocol", message))
}
