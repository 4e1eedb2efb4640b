//! Waiting until a private server takes connections.

use std::thread;
use std::time::{Duration, Instant};

use perbuck_database::registry::DriverAction;
use perbuck_database::secret::Secret;
use perbuck_database::{Databases, Target, Wishes};
use perbuck_load::driver::Driver;
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::stop::StopToken;
use perbuck_load::watch::Waiting;

use super::host::Host;
use super::instance::Instance;
use super::line::GONE;
use super::talk::{Started, Told};
use crate::error::{ErrorKind, LabError};
use crate::registry::Registry;
use crate::stage::answer;

/// Recovery and first starts are slow on slow disks; nothing of it is measured.
const TIMEOUT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until its guard has started a server: its data are made first, which takes as long as it takes.
pub(super) fn started(who: &str, instance: &mut Instance, stop: &StopToken) -> Result<Started, LabError> {
    loop {
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        match instance.told() {
            Some(Told::Started(started)) => return Ok(started),
            Some(told) => ended(who, told)?,
            None => thread::sleep(PAUSE),
        }
    }
}

/// Waits until a server that was started lets us in; its version.
pub(super) fn wait(
    who: &str,
    instance: &mut Instance,
    (target, password): (&dyn Target, &Secret),
    registry: Registry,
    stop: &StopToken,
) -> Result<String, LabError> {
    let waiting = Waiting { title: who.to_owned(), stop: stop.clone(), blockers: None };
    let began = Instant::now();
    loop {
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        if let Some(told) = instance.told() {
            ended(who, told)?;
        }
        match (registry.version)(target, password, &waiting) {
            Ok(version) => return Ok(version),
            Err(error) if began.elapsed() < TIMEOUT && error.class == ErrorClass::Lost => thread::sleep(PAUSE),
            Err(error) if error.cause == Some(Cause::Stopped) => return Err(LabError::interrupted()),
            Err(error) => {
                let (doing, words) = instance.doing();
                let way = match instance.host() {
                    Host::Here => "",
                    Host::There(_) => "a firewall of the host may close its ports: perbuck uses 10000 to 29999",
                };
                let message = format!("{who}: the server does not let perbuck in: {error}; {doing}; it said:\n{words}");
                return Err(LabError::new(ErrorKind::Target, message, way));
            }
        }
    }
}

/// The failure of a server that its guard tells.
fn ended(who: &str, told: Told) -> Result<(), LabError> {
    match told {
        Told::Failed(failure) => Err(failure.error()),
        Told::Gone(how) => Err(LabError::new(ErrorKind::Target, format!("{who}: {how}"), GONE)),
        Told::Ended { process, how, words } => {
            let message = format!("{who}: {} did not start ({how}); it said:\n{words}", called(&process));
            Err(LabError::new(ErrorKind::Target, message, "mend the `config` of its `server`"))
        }
        _ => Ok(()),
    }
}

/// What a message calls a process.
pub(super) fn called(process: &str) -> String {
    if process == "server" { "the server".to_owned() } else { process.to_owned() }
}

pub(crate) fn version<Known: Databases>(
    target: &dyn Target,
    password: &Secret,
    waiting: &Waiting,
) -> Result<String, DriverError> {
    struct Ask<'a>(&'a Waiting);
    impl DriverAction for Ask<'_> {
        type Output = Result<String, DriverError>;

        fn with_driver<D: Driver>(self, driver: D) -> Self::Output {
            answer(self.0, "asking for its version", driver.facts()).map(|facts| facts.version)
        }
    }
    let unknown = || DriverError::client(ErrorClass::Fatal, "server", "perbuck starts no private server of that kind");
    Known::drive(target, password, &Wishes::default(), Ask(waiting)).ok_or_else(unknown)??
}
