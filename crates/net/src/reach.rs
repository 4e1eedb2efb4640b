//! Which of a target's hosts a connection goes to, and how long opening it may take.

use std::time::Duration;

use perbuck_load::driver::{Driver, Session, SessionId, TargetFacts};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Rows;

use perbuck_database::server::{ServerTarget, host_text};

/// Opens a session with `open` within the target's limit, on the host that it belongs to or so many hosts behind it.
pub async fn in_time<S>(
    target: &ServerTarget,
    (id, away): (SessionId, u32),
    open: impl AsyncFnOnce(&str, u16) -> Result<S, DriverError>,
) -> Result<S, DriverError> {
    // Round robin: with a list of hosts connection i goes to the same one in every trial.
    let Some((host, port)) = target.host(id.0, away) else {
        return Err(DriverError::client(ErrorClass::Refused, "target", "the target names no host"));
    };
    let limit_ms = target.connect_timeout_ms;
    let limit = perbuck_event::now() + Duration::from_millis(limit_ms.into());
    match perbuck_event::timeout_at(limit, open(host, *port)).await {
        Ok(opened) => opened,
        Err(_) => {
            let place = host_text(host, *port);
            let message =
                format!("{place} did not let us in within {limit_ms} ms; is it reachable? See `connect_timeout` of the target");
            Err(DriverError::client(ErrorClass::Lost, "timeout", message))
        }
    }
}

/// Sets what the target wants every session to set; `set` is the server's own word for it.
pub async fn set_up<S: Session>(session: &mut S, target: &ServerTarget, set: &str) -> Result<(), DriverError> {
    for (name, sql) in target.session_statements(set) {
        session.query(&sql, &mut Rows::default()).await.map_err(|error| match error.class {
            ErrorClass::Lost => error,
            _ => DriverError::new(ErrorClass::Refused, error.code, format!("`set.{name}` of the target: {}", error.message)),
        })?;
    }
    Ok(())
}

/// What every session sets, for the record.
pub fn noted(target: &ServerTarget, mut facts: TargetFacts) -> TargetFacts {
    facts.variables.extend(target.settings.iter().map(|(name, value)| (format!("session {name}"), value.clone())));
    facts
}

/// Asks something on a session of its own.
pub async fn on_a_session<D: Driver, T>(
    driver: &D,
    ask: impl AsyncFnOnce(&mut D::Session) -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    let mut session = driver.connect(SessionId(0)).await?;
    let answer = ask(&mut session).await;
    session.close().await;
    answer
}
