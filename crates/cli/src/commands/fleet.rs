//! `perbuck agent`, `perbuck fleet`, and the agents of other commands.

use perbuck_console::{Display, print, print_styled, say, stop_on_signal};
use perbuck_lab::fleet::check::HEADS;
use perbuck_lab::fleet::{AgentOptions, Fleet, FleetOptions, Token, serve};
use perbuck_lab::inputs::read_text;
use perbuck_lab::registry::Registry;
use perbuck_lab::{ErrorKind, LabError};

use perbuck_report::text;

use super::screen;
use crate::args::StudyArguments;
use crate::args::fleet::{
    AgentArguments, FleetArguments, FleetCheckArguments, FleetCommand, FleetCommandArguments, PORT, TokenArguments,
};

/// The variable that may hold the token.
const TOKEN: &str = "PERBUCK_FLEET_TOKEN";

/// What Ctrl-C does to an agent.
const AGENT_STOPS: &str = "stopping; a trial that runs is void";

/// Applies shares of trials until Ctrl-C.
pub(crate) fn agent(arguments: &AgentArguments) -> Result<(), LabError> {
    let (token, stop) = (token(&arguments.token)?, stop_on_signal(AGENT_STOPS)?);
    let options = AgentOptions { listen: arguments.listen, token, clock_ahead_ns: 0, registry: Registry::default() };
    let listening = &mut |address| say(&format!("perbuck agent {} listens at {address}", env!("CARGO_PKG_VERSION")));
    serve(&options, listening, &mut Display::default(), &stop)
}

pub(crate) fn run(arguments: &FleetCommandArguments) -> Result<(), LabError> {
    match &arguments.command {
        FleetCommand::Check(arguments) => check(arguments),
        FleetCommand::Token => {
            let made = Token::made().map_err(|e| LabError::new(ErrorKind::Failed, e, ""))?;
            print(&format!("{made}\n"))
        }
    }
}

fn check(arguments: &FleetCheckArguments) -> Result<(), LabError> {
    let StudyArguments { path, targets, prices } = &arguments.study;
    let inputs = perbuck_lab::inputs::read_to_measure((path, &targets.of()), prices.as_deref(), Registry::default())?;
    let Some(options) = options(&arguments.fleet)? else {
        return Err(LabError::new(ErrorKind::Usage, "no agent is named", "name them: --agents HOST,HOST"));
    };
    let found = Fleet::gather(&options, u32::MAX, &stop_on_signal(AGENT_STOPS)?)?.check(
        &inputs,
        &arguments.results,
        &mut Display::default(),
    )?;
    let remarks: String = found.remarks.iter().map(|remark| format!("{remark}\n")).collect();
    print_styled(&format!("{}\n{remarks}", text::table(HEADS, &found.rows, screen())))
}

/// The agents that a command is to use, if any.
pub(crate) fn options(arguments: &FleetArguments) -> Result<Option<FleetOptions>, LabError> {
    if arguments.agents.is_empty() {
        return Ok(None);
    }
    let with_port = |name: &String| match name.rsplit_once(':') {
        _ if name.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{name}]:{PORT}"),
        Some((_, port)) if port.parse::<u16>().is_ok() => name.clone(),
        _ => format!("{name}:{PORT}"),
    };
    let agents = arguments.agents.iter().map(with_port).collect();
    Ok(Some(FleetOptions { agents, token: token(&arguments.token)?, wait_for_lost: arguments.wait_for_agents }))
}

fn token(arguments: &TokenArguments) -> Result<Token, LabError> {
    let text = match (&arguments.token_file, std::env::var(TOKEN)) {
        (Some(file), _) => read_text("the token", file)?,
        (None, Ok(text)) => text,
        (None, Err(_)) => {
            let help = "make one with `perbuck fleet token > token`, copy it to every machine, and name it with --token-file";
            return Err(LabError::new(ErrorKind::Usage, "agents and their coordinator need a token", help));
        }
    };
    Token::of(&text).map_err(|e| LabError::new(ErrorKind::Usage, e, "make one with `perbuck fleet token > token`"))
}
