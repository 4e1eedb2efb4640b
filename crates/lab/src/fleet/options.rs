//! Which agents a command uses: their addresses and the token, as the user gives them.

use std::path::Path;

use perbuck_core::study::{Stands, Study};
use perbuck_fleet::Token;

use crate::error::{ErrorKind, LabError};
use crate::inputs::read_text;
use crate::servers::host::SCHEME;

/// The port of an agent, unless it is told another one.
pub const PORT: u16 = 7117;
/// The way out of agents that are not where the study wants them.
const BESIDE: &str = "give each contender its agents: --agents CONTENDER=HOST,HOST --agents CONTENDER=HOST,HOST";
/// The variable that may hold the token.
const TOKEN: &str = "PERBUCK_FLEET_TOKEN";

/// Where an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAddress {
    /// The contender in whose network it stands; `None` where it drives all of them.
    pub contender: Option<String>,
    /// `host:port` of one that runs, or `ssh://user@host` of a machine where perbuck starts one.
    pub address: String,
}

impl AgentAddress {
    /// Whether perbuck starts it.
    pub(super) fn is_launched(&self) -> bool {
        self.address.starts_with(SCHEME)
    }
}

/// Where the agents are, and what happens without one of them.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// Each of them.
    pub agents: Vec<AgentAddress>,
    /// What they and this process know.
    pub token: Token,
    /// Whether a lost agent is waited for; else the next trials go on with those that are left.
    pub wait_for_lost: bool,
}

impl FleetOptions {
    /// Those that a user names as `host` or `host:port`, or as `contender=host`, which holds for those after it as well; `None` where none
    /// is named.
    ///
    /// # Errors
    /// No token, or one that is too short.
    pub fn named(agents: &[String], token_file: Option<&Path>, wait_for_lost: bool) -> Result<Option<Self>, LabError> {
        let mut contender = None;
        let mut one = |name: &String| {
            let (of, host) = name.split_once('=').map_or((None, name.as_str()), |(of, host)| (Some(of.to_owned()), host));
            contender = of.or(contender.take());
            AgentAddress { contender: contender.clone(), address: with_port(host) }
        };
        let agents: Vec<AgentAddress> = agents.iter().filter(|name| !name.is_empty()).map(&mut one).collect();
        if agents.is_empty() {
            return Ok(None);
        }
        let token = if agents.iter().all(AgentAddress::is_launched) {
            // None of them is told it.
            Token::made().and_then(|text| Token::of(&text)).map_err(|e| LabError::failed(e, ""))?
        } else {
            token(token_file)?
        };
        Ok(Some(Self { agents, token, wait_for_lost }))
    }
}

impl FleetOptions {
    /// Makes sure that they stand where the study says: in no contender's network, or in that of each.
    ///
    /// # Errors
    /// An agent that names a contender and must not, or does not and must; a contender without agents.
    pub fn suits(&self, study: &Study) -> Result<(), LabError> {
        let named = |agent: &&AgentAddress| agent.contender.is_some();
        if study.client.stands == Stands::Apart {
            let Some(agent) = self.agents.iter().find(named) else { return Ok(()) };
            let (of, address) = (agent.contender.as_deref().unwrap_or_default(), &agent.address);
            let message = format!("--agents {of}={address}: the agents of this study drive all contenders");
            let help = "name the agent without a contender, or write `stands = \"beside\"` in `[client]` of the study";
            return Err(LabError::usage(message, help));
        }
        let own: Vec<&str> = study.contenders.iter().filter(|c| c.control_of.is_none()).map(|c| c.name.as_str()).collect();
        let unknown = self.agents.iter().find(|agent| agent.contender.as_deref().is_none_or(|of| !own.contains(&of)));
        if let Some(agent) = unknown {
            let of = agent.contender.as_deref().map_or_else(|| "no contender".to_owned(), |of| format!("contender `{of}`"));
            let message = format!("agent {} stands beside {of}, and the study has {}", agent.address, own.join(", "));
            return Err(LabError::usage(message, BESIDE));
        }
        match own.iter().find(|name| self.agents.iter().all(|agent| agent.contender.as_deref() != Some(**name))) {
            Some(name) => Err(LabError::usage(format!("no agent stands beside contender `{name}`"), BESIDE)),
            None => Ok(()),
        }
    }

    /// The agents of a study, if it has any.
    ///
    /// # Errors
    /// Those that do not suit it; a study that needs agents in each network and has none.
    pub(crate) fn of_study<'a>(fleet: Option<&'a Self>, study: &Study) -> Result<Option<&'a Self>, LabError> {
        match fleet {
            Some(fleet) => fleet.suits(study).map(|()| Some(fleet)),
            None if study.client.stands == Stands::Beside => {
                let message = "`client.stands` is \"beside\", and one machine cannot stand in the network of each contender";
                Err(LabError::usage(message, BESIDE))
            }
            None => Ok(None),
        }
    }

    /// How many of them drive the contender that has the most.
    pub(super) fn most_of_one(&self) -> usize {
        let same = |agent: &AgentAddress| self.agents.iter().filter(|other| other.contender == agent.contender).count();
        self.agents.iter().map(same).max().unwrap_or(0)
    }
}

fn with_port(name: &str) -> String {
    match name.rsplit_once(':') {
        _ if name.starts_with(SCHEME) => name.to_owned(),
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
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    /// The agents of a command line.
    fn named(words: &str) -> FleetOptions {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "0123456789abcdef0123456789abcdef").unwrap();
        let words: Vec<String> = words.split(',').map(str::to_owned).collect();
        FleetOptions::named(&words, Some(&file), false).unwrap().unwrap()
    }

    #[test]
    fn an_agent_without_a_port_has_the_usual_one() {
        let names = ["load-1", "load-1:9", "10.0.0.1", "[::1]:9", "::1", "[::1]", "ssh://u@load-1:22"];
        let with = ["load-1:7117", "load-1:9", "10.0.0.1:7117", "[::1]:9", "[::1]:7117", "[::1]:7117", "ssh://u@load-1:22"];
        assert_eq!(names.map(with_port), with);
        assert!(FleetOptions::named(&[String::new()], None, false).is_ok_and(|options| options.is_none()));
    }

    #[test]
    fn a_contender_is_that_of_the_agents_after_it() {
        let found = named("arm=h1,h2:9,x86=h3").agents;
        let one = |of: &str, address: &str| AgentAddress { contender: Some(of.to_owned()), address: address.to_owned() };
        assert_eq!(found, [one("arm", "h1:7117"), one("arm", "h2:9"), one("x86", "h3:7117")]);
        assert_eq!((named("arm=h1,h2,x86=h3").most_of_one(), named("h1,h2,h3").most_of_one()), (2, 3));
    }

    #[test]
    fn agents_that_are_not_where_the_study_wants_them_are_named() {
        let study = |stands: &str| {
            let member = |name: &str| format!("[[contender]]\nname = \"{name}\"\ntarget = \"mysql://{name}/d\"\n");
            let text = format!(
                "schema = 1\nname = \"s\"\ncontrol = \"arm\"\n[client]\nstands = \"{stands}\"\n{}{}\
                 [[workload]]\nname = \"w\"\nkind = \"k\"\n[sweep]\nconnections = [1]\n",
                member("arm"),
                member("x86")
            );
            Study::read("s.toml", &text, &[]).unwrap()
        };
        let told = |words: &str, stands: &str| named(words).suits(&study(stands)).map_err(|e| e.to_string());
        assert_eq!((told("h1,h2", "apart"), told("arm=h1,x86=h2", "beside")), (Ok(()), Ok(())));
        for (words, stands, part) in [
            ("arm=h1,x86=h2", "apart", "--agents arm=h1:7117: the agents of this study drive all contenders"),
            ("h1,x86=h2", "beside", "agent h1:7117 stands beside no contender, and the study has arm, x86"),
            ("arm=h1,risc=h2", "beside", "agent h2:7117 stands beside contender `risc`"),
            ("arm=h1,h2", "beside", "no agent stands beside contender `x86`"),
        ] {
            let error = told(words, stands).unwrap_err();
            assert!(error.contains(part), "{words}: {error}");
        }
        let none = FleetOptions::of_study(None, &study("beside")).unwrap_err().to_string();
        assert!(none.contains("one machine cannot stand") && none.contains("--agents CONTENDER=HOST"), "{none}");
        assert!(FleetOptions::of_study(None, &study("apart")).unwrap().is_none());
    }
}
