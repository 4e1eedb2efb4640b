//! Where the password comes from, and how one on the command line is taken off it.

use std::ffi::OsString;

use perbuck_drivers::secret::Secret;

use super::parse::{Given, without_passwords};
use super::settings::text;
use super::target::Engine;
use crate::refused::Refused;
use crate::secret::{Door, Places};

const DOOR: Door = Door { command: "sysbench", variable: "PERBUCK_SYSBENCH_PASSWORD" };

impl Engine {
    /// The option and the variable of the database's own client.
    fn password_names(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Mysql | Self::Tidb => Some(("mysql-password", "MYSQL_PWD")),
            Self::Pgsql | Self::Cockroach | Self::Yugabyte => Some(("pgsql-password", "PGPASSWORD")),
            Self::Sqlite => None,
        }
    }
}

/// Takes a password off the command line. Returns where there is none, or where that fails.
pub(super) fn hide(words: &[OsString], given: &Given, engine: Engine) {
    if given.typed.is_empty() {
        return;
    }
    let typed = engine.password_names().and_then(|(option, _)| given.typed.get(option));
    DOOR.hide(&without_passwords(words), typed);
}

/// The password; none is the empty one.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn password(given: &Given, engine: Engine) -> Result<Secret, Refused> {
    let Some((option, client)) = engine.password_names() else { return Ok(Secret::default()) };
    let places =
        Places { typed: given.typed.get(option), file: text(given, "password-file"), filed: given.filed.get(option), client };
    Ok(DOOR.password(&places)?.unwrap_or_default())
}
