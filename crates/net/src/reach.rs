//! Which of a target's hosts a connection goes to, how long opening it may take, and the settings and facts of every session.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use perbuck_load::driver::{Driver, Session, SessionId, TargetFacts};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Rows;
use perbuck_load::watch;
use rustls::ClientConfig;

use crate::certificates::{TlsOptions, config, fingerprint};
use crate::link::Link;
use perbuck_database::endpoint::host_text;
use perbuck_database::secret::Secret;
use perbuck_database::server::ServerTarget;

/// Servers, the user to log in as, and how TLS is used.
#[derive(Debug)]
pub struct Access {
    /// Where they are.
    pub target: ServerTarget,
    /// The user's password.
    pub password: Secret,
    /// None where TLS is disabled.
    pub tls: Option<Arc<ClientConfig>>,
}

impl Access {
    /// Reads the certificate authorities of the target.
    ///
    /// # Errors
    /// `Refused` where their file cannot be used; the message names it.
    pub fn new(target: ServerTarget, password: Secret) -> Result<Self, DriverError> {
        let (mode, ca_file, fingerprints) = (target.tls, target.ca_file.as_deref(), Some(&*target.fingerprints));
        let tls = config(TlsOptions { mode, ca_file, fingerprints, own: None })?.map(Arc::new);
        Ok(Self { target, password, tls })
    }

    /// The limit for an answer.
    pub fn read_timeout(&self) -> Duration {
        Duration::from_millis(self.target.read_timeout_ms.into())
    }

    /// Lets the password itself go to the server, which could use it elsewhere. A proof of the password may go to any server.
    ///
    /// # Errors
    /// `Refused` where nothing proves that the server is the right one; the message says what to write.
    pub fn may_send_password(&self, link: &Link) -> Result<(), DriverError> {
        let verified = link.socket.is_encrypted() && self.target.verifies();
        if verified || link.socket.is_loopback() || self.target.sends_password {
            return Ok(());
        }
        let way_out = match link.socket.certificate().map(fingerprint) {
            Some(seen) => format!(
                "because nothing verifies the server's certificate. If `openssl x509 -noout -fingerprint -sha256 -in server-cert.pem` \
                 on the server prints this fingerprint, write `tls_fingerprint={seen}` in the target"
            ),
            None => {
                "because without TLS any server on the way could read it. Write `tls=required` in the target to see the fingerprint of \
                     the server's certificate, or `send_password=always` if you trust the network"
                    .to_owned()
            }
        };
        let message = format!(
            "{} asks for the password of `{}` itself, not for a proof of it. perbuck did not send it, {way_out}",
            link.address(),
            self.target.user
        );
        Err(DriverError::client(ErrorClass::Refused, "unverified", message))
    }

    /// Opens a session with `open` within the target's limit, on its own host or `away` positions after it.
    pub async fn in_time<S>(
        &self,
        (id, away): (SessionId, u32),
        open: impl AsyncFnOnce(&str, u16) -> Result<S, DriverError>,
    ) -> Result<S, DriverError> {
        // Round robin: with a list of hosts connection i goes to the same one in every trial.
        let Some((host, port)) = self.target.host(id, away) else {
            return Err(DriverError::client(ErrorClass::Refused, "target", "the target names no host"));
        };
        watch::asks(host_text(host, *port), "opening a session");
        let limit_ms = self.target.connect_timeout_ms;
        let limit = perbuck_event::now() + Duration::from_millis(limit_ms.into());
        perbuck_event::timeout_at(limit, open(host, *port)).await.unwrap_or_else(|_| {
            let host = host_text(host, *port);
            let message =
                format!("{host} did not accept a session within {limit_ms} ms; check that it is reachable, or raise `connect_timeout` of the target");
            Err(DriverError::client(ErrorClass::Lost, "timeout", message))
        })
    }
}

/// A value in SQL: a number is written without quotes. No text holds a quote or a backslash.
pub fn literal(value: &str) -> String {
    if value.parse::<i64>().is_ok() { value.to_owned() } else { format!("'{value}'") }
}

/// Sets variables of a session; `set` is the server's statement for it.
pub async fn set_up<S: Session>(
    session: &mut S,
    settings: impl IntoIterator<Item = &(String, String)>,
    set: impl Fn(&str, &str) -> String,
) -> Result<(), DriverError> {
    for (name, value) in settings {
        session.query(&set(name, value), &mut Rows::default()).await.map_err(|error| match error.class {
            ErrorClass::Lost => error,
            _ => {
                let message = format!("`set.{name}` of the target, or `transactions` of the contender: {}", error.message);
                DriverError::new(ErrorClass::Refused, error.code, message)
            }
        })?;
    }
    Ok(())
}

/// What terminals set, for the record: the values in force by `ask`, which reads them on a session of a terminal.
///
/// # Errors
/// As [`Driver::connect`], or the server's answer.
pub async fn noted<D: Driver>(
    driver: &D,
    (target, mut facts): (&ServerTarget, TargetFacts),
    ask: impl AsyncFn(&mut D::Session, &[(String, String)]) -> Result<BTreeMap<String, String>, DriverError>,
) -> Result<TargetFacts, DriverError> {
    if target.settings.is_empty() {
        return Ok(facts);
    }
    let mut session = driver.connect(SessionId::Terminal(0)).await?;
    let found = ask(&mut session, &target.settings).await;
    session.close().await;
    let found = found?;
    let told = |name, asked| found.get(name).cloned().unwrap_or_else(|| format!("not told; asked for {asked}"));
    facts.variables.extend(target.settings.iter().map(|(name, asked)| (format!("session {name}"), told(name, asked))));
    Ok(facts)
}

/// The first byte that a server answers to some bytes, on a connection of its own; `None` where it says nothing in time.
pub async fn first_byte((host, port): (&str, u16), ask: &[u8], limit: Duration) -> Option<u8> {
    let answer = async {
        let mut link = Link::connect(host, port, limit, "").await.ok()?;
        link.begin().extend_from_slice(ask);
        link.ask();
        poll_fn(|_| link.poll_send()).await.ok()?;
        poll_fn(|_| link.poll_receive()).await.ok()?;
        link.inbox.arrived().first().copied()
    };
    perbuck_event::timeout_at(perbuck_event::now() + limit, answer).await.ok().flatten()
}

/// Asks something on a session of its own.
pub async fn on_a_session<D: Driver, T>(
    driver: &D,
    ask: impl AsyncFnOnce(&mut D::Session) -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    on_host(driver, 0, ask).await
}

/// The same on the host at this position.
pub async fn on_host<D: Driver, T>(
    driver: &D,
    host: u32,
    ask: impl AsyncFnOnce(&mut D::Session) -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    let mut session = driver.connect_at(SessionId::Own(0), host).await?;
    let answer = ask(&mut session).await;
    session.close().await;
    answer
}

/// What the servers of all hosts have executed: `ask` reads who a server is and how much that is. Hosts may be names of one server,
/// which counts once. What a user may not read, and a server that has no such counters, is no failure.
///
/// # Errors
/// `Lost` or `Refused` where a session cannot be opened.
pub async fn work_of_hosts<D: Driver>(
    driver: &D,
    ask: impl AsyncFn(&mut D::Session) -> Result<Result<(String, u64), String>, DriverError>,
) -> Result<Result<u64, String>, DriverError> {
    let mut servers = BTreeMap::new();
    let hosts = (0..driver.hosts().len() as u32).map(|offset| (SessionId::Own(0), offset));
    for (id, offset) in hosts.chain(driver.has_query_host().then_some((SessionId::Query(0), 0))) {
        let mut session = driver.connect_at(id, offset).await?;
        let answer = ask(&mut session).await;
        session.close().await;
        match answer {
            Ok(Ok((server, done))) => servers.insert(server, done),
            Ok(Err(why)) => return Ok(Err(why)),
            Err(error) if error.class == ErrorClass::Lost => return Err(error),
            Err(error) => return Ok(Err(format!("its counters cannot be read: {}", error.message))),
        };
    }
    Ok(Ok(servers.values().sum()))
}

/// A query of names and values.
///
/// # Errors
/// As [`Session::query`].
pub async fn pairs<S: Session>(session: &mut S, sql: &str) -> Result<BTreeMap<String, String>, DriverError> {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await?;
    (0..rows.len() as usize).map(|row| Ok((rows.display(row, 0)?, rows.display(row, 1)?))).collect()
}
