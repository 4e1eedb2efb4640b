//! Which agents a command uses: their addresses and the token, as the user gives them.

use std::path::Path;

use perbuck_fleet::Token;

use crate::error::{ErrorKind, LabError};
use crate::inputs::read_text;

/// The port of an agent, unless it is told another one.
pub const PORT: u16 = 7117;
/// The variable that may hold the token.
const TOKEN: &str = "PERBUCK_FLEET_TOKEN";

/// Where the agents are, and what happens without one of them.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// `host:port` of each.
    pub agents: Vec<String>,
    /// What they and this process know.
    pub token: Token,
    /// Whether a lost agent is waited for; else the next trials go on with those that are left.
    pub wait_for_lost: bool,
}

impl FleetOptions {
    /// Those that a user names as `host` or `host:port`; `None` where none is named.
    ///
    /// # Errors
    /// No token, or one that is too short.
    pub fn named(agents: &[String], token_file: Option<&Path>, wait_for_lost: bool) -> Result<Option<Self>, LabError> {
        let agents: Vec<String> = agents.iter().filter(|name| !name.is_empty()).map(|name| with_port(name)).collect();
        if agents.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { agents, token: token(token_file)?, wait_for_lost }))
    }
}

fn with_port(name: &str) -> String {
    match name.rsplit_once(':') {
        _ if name.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{name}]:{PORT}"),
        Some((_, port)) if port.parse::<u16>().is_ok() => name.to_owned(),
        _ => format!("{name}:{PORT}"),
    }
}

/// The token in this file, or in `PERBUCK_FLEET_TOKEN`.
///
/// # Errors
/// Neither is there, or it is too short.
pub fn token(file: Option<&Path>) -> Result<Token, LabError> {
    let text = match (file, std::env::var(TOKEN)) {
        (Some(file), _) => read_text("the token", file)?,
        (None, Ok(text)) => text,
        (None, Err(_)) => {
            let help = "make one with `perbuck fleet token > token`, copy it to every machine, and name it with --token-file";
            return Err(LabError::new(ErrorKind::Usage, "agents and their coordinator need a token", help));
        }
    };
    Token::of(&text).map_err(|e| LabError::new(ErrorKind::Usage, e, "make one with `perbuck fleet token > token`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_without_a_port_has_the_usual_one() {
        let names = ["load-1", "load-1:9", "10.0.0.1", "[::1]:9", "::1", "[::1]"];
        let with = ["load-1:7117", "load-1:9", "10.0.0.1:7117", "[::1]:9", "[::1]:7117", "[::1]:7117"];
        assert_eq!(names.map(with_port), with);
        assert!(FleetOptions::named(&[String::new()], None, false).is_ok_and(|options| options.is_none()));
    }
}
