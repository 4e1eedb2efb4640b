//! `perbuck agent`, `perbuck fleet`, and the agents of other commands.

use perbuck_console::{Display, print, print_styled, say, stop_on_signal};
use perbuck_lab::fleet::check::HEADS;
use perbuck_lab::fleet::{AgentOptions, Build, Fleet, FleetOptions, Token, serve, token};
use perbuck_lab::registry::Registry;
use perbuck_lab::{ErrorKind, LabError};

use perbuck_report::text;

use super::screen;
use crate::args::StudyArguments;
use crate::args::fleet::{AgentArguments, FleetArguments, FleetCheckArguments, FleetCommand, FleetCommandArguments};

/// What Ctrl-C does to an agent.
const AGENT_STOPS: &str = "stopping; a trial that runs is void";

/// Applies shares of trials until Ctrl-C.
pub(crate) fn agent(arguments: &AgentArguments) -> Result<(), LabError> {
    let (token, stop) = (token(arguments.token.token_file.as_deref())?, stop_on_signal(AGENT_STOPS)?);
    let (build, registry) = (Build::running(), Registry::default());
    let options = AgentOptions { listen: arguments.listen, token, build, clock_ahead_ns: 0, registry };
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
    FleetOptions::named(&arguments.agents, arguments.token.token_file.as_deref(), arguments.wait_for_agents)
}
