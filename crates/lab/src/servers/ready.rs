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

use super::folder;
use super::guard::Told;
use super::instance::Instance;
use crate::error::{ErrorKind, LabError};
use crate::registry::Registry;
use crate::stage::answer;

/// Recovery and first starts are slow on slow disks; nothing of it is measured.
const TIMEOUT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until the server lets us in; its version.
pub(super) fn wait(
    who: &str,
    instance: &Instance,
    (target, password): (&dyn Target, &Secret),
    registry: Registry,
    stop: &StopToken,
) -> Result<String, LabError> {
    let waiting = Waiting { title: who.to_owned(), stop: stop.clone(), blockers: None };
    let mut started = None;
    loop {
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        match instance.told() {
            Some(Told::Started) => started = Some(Instant::now()),
            Some(Told::Failed { is_of_files, message, help }) => {
                return Err(LabError::new(if is_of_files { ErrorKind::Files } else { ErrorKind::Target }, message, help));
            }
            Some(Told::Ended { process, how }) => {
                let words = instance.last_words(&process, password);
                let message = format!("{who}: {} did not start ({how}); it said:\n{words}", called(&process));
                return Err(LabError::new(ErrorKind::Target, message, "mend the `config` of its `server`"));
            }
            None => {}
        }
        // Its data are made first, which takes as long as it takes.
        let Some(began) = started else {
            thread::sleep(PAUSE);
            continue;
        };
        match (registry.version)(target, password, &waiting) {
            Ok(version) => return Ok(version),
            Err(error) if began.elapsed() < TIMEOUT && error.class == ErrorClass::Lost => thread::sleep(PAUSE),
            Err(error) if error.cause == Some(Cause::Stopped) => return Err(LabError::interrupted()),
            Err(error) => {
                let doing = folder::doing(instance.folder());
                let message = format!(
                    "{who}: the server does not let perbuck in: {error}; {doing}; it said:\n{}",
                    instance.last_words(instance.last_process(), password)
                );
                return Err(LabError::new(ErrorKind::Target, message, ""));
            }
        }
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
