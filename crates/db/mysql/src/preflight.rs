//! What a server says of itself before a study starts, and whether another server listens where one is expected.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use perbuck_load::driver::Session as _;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::preflight::{HostFacts, HostProblem, too_old};
use perbuck_load::values::Rows;
use perbuck_net::reach::{first_byte, pairs};

use crate::facts::local_pid;
use crate::session::MysqlSession;

/// utf8mb4 came with it.
const LEAST_MYSQL: [u32; 3] = [5, 5, 3];
/// How long a server may take to greet before another one is looked for at its port.
const SILENCE: Duration = Duration::from_secs(1);
/// "SSLRequest" of PostgreSQL's protocol.
const POSTGRES_TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Which product a version is of.
fn product(version: &str) -> &'static str {
    if version.contains("MariaDB") {
        "MariaDB"
    } else if version.contains("TiDB") {
        "TiDB"
    } else {
        "MySQL"
    }
}

/// Asks a server that took the login; `named` is the product that the scheme of the target names, if it names one.
pub(crate) async fn preflight(session: &mut MysqlSession, named: Option<&str>) -> Result<HostFacts, DriverError> {
    let mut rows = Rows::default();
    session.query("SELECT VERSION(), @@max_connections, @@max_user_connections", &mut rows).await?;
    let version = rows.display(0, 0)?;
    let limits = [rows.int(0, 1)?, rows.int(0, 2)?].into_iter().filter(|limit| *limit > 0);
    // One of TiDB without a limit says 0.
    let sessions_max = limits.min().and_then(|limit| u32::try_from(limit).ok());
    let mut facts = HostFacts { problems: problems(&version, named), version, sessions_max, ..HostFacts::default() };
    if session.wire.socket.peer_is_local() {
        let all = pairs(session, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('datadir', 'pid_file')").await?;
        let pid = local_pid(session, &all).await?.unwrap_or_default();
        facts.data_folder = pid.and_then(|_| Some(PathBuf::from(all.get("datadir")?)));
    }
    Ok(facts)
}

fn problems(version: &str, named: Option<&str>) -> Vec<HostProblem> {
    let found = product(version);
    let other = named.filter(|named| *named != found).map(|named| HostProblem {
        message: format!("the server is {found} ({version}), and the target says {named}"),
        help: format!("write `{}://` in the target", found.to_lowercase()),
    });
    // TiDB's version is that of the MySQL whose protocol it speaks, which every TiDB can.
    let old = if found == "TiDB" { None } else { too_old(found, version.trim_start_matches("5.5.5-"), &LEAST_MYSQL) };
    other.into_iter().chain(old).collect()
}

/// Opens a session; where the server says nothing for a while, asks whether it waits for PostgreSQL's first words. It is asked once,
/// on another connection, since a slow server of this protocol would give up the one that was garbled.
pub(crate) async fn unless_another<S>(
    (host, port): (&str, u16),
    open: impl Future<Output = Result<S, DriverError>>,
) -> Result<S, DriverError> {
    let mut open = pin!(open);
    if let Ok(opened) = perbuck_event::timeout_at(perbuck_event::now() + SILENCE, open.as_mut()).await {
        return opened;
    }
    match first_byte((host, port), &POSTGRES_TLS_REQUEST, SILENCE).await {
        Some(b'S' | b'N') => {
            let address = perbuck_database::endpoint::host_text(host, port);
            let message = format!(
                "{address} is a server of PostgreSQL's protocol. Write `postgres://` in the target, or name that database on the \
                 command line"
            );
            Err(DriverError::client(ErrorClass::Refused, "protocol", message))
        }
        _ => open.await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_what_the_scheme_says_and_not_too_old() {
        let said = |version, named| problems(version, named).into_iter().map(|p| p.message).collect::<Vec<_>>();
        for version in ["10.11.14-MariaDB-0+deb12u2", "9.1.0", "8.0.11-TiDB-v8.5.1", "5.5.68-MariaDB", "5.5.5-10.3.1-MariaDB"] {
            assert!(said(version, None).is_empty() && said(version, Some(product(version))).is_empty(), "{version}");
        }
        assert_eq!(said("9.1.0", Some("MariaDB")), ["the server is MySQL (9.1.0), and the target says MariaDB"]);
        assert_eq!(problems("10.11.14-MariaDB", Some("TiDB"))[0].help, "write `mariadb://` in the target");
        assert_eq!(said("5.1.73", None), ["MySQL 5.1.73 is older than perbuck can drive"]);
        assert!(said("5.0.11-TiDB-v1.0.0", None).is_empty());
    }
}
