//! The sessions of a connection: the one that statements go to, and others beside it, which a script opens and closes for itself.

use std::pin::Pin;
use std::sync::Arc;

use super::Connection;
use crate::driver::Session;
use crate::error::{DriverError, ErrorClass};
use crate::statement::{Catalogue, StatementId};
use crate::values::Rows;

/// A session with its statements and the rows of the last one.
pub(crate) struct OneSession<S> {
    /// None where a script has closed it.
    pub(super) session: Option<S>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) rows: Rows,
    /// The statement that was sent last, for the words of an error.
    pub(super) last: Option<StatementId>,
}

impl<S: Session> OneSession<S> {
    /// Registers the catalogue with the session, and executes the settings that the catalogue has for it.
    pub(crate) async fn open(mut session: S, catalogue: Arc<Catalogue>) -> Result<Self, DriverError> {
        session.prepare(&catalogue).await?;
        let mut rows = Rows::default();
        for sql in catalogue.opening() {
            session.query(sql, &mut rows).await?;
        }
        Ok(Self { session: Some(session), catalogue, rows, last: None })
    }

    pub(super) fn session(&mut self) -> Result<&mut S, DriverError> {
        open(&mut self.session)
    }

    pub(super) fn lift_timeout(&mut self) {
        self.session.iter_mut().for_each(Session::lift_timeout);
    }

    pub(super) async fn close(&mut self) {
        if let Some(session) = self.session.take() {
            session.close().await;
        }
    }
}

/// The session, if it is open.
#[inline]
pub(super) fn open<S>(session: &mut Option<S>) -> Result<&mut S, DriverError> {
    session.as_mut().ok_or_else(closed)
}

#[cold]
pub(super) fn closed() -> DriverError {
    DriverError::client(ErrorClass::Fatal, "connection", "the connection is closed")
}

/// A session that is being opened.
pub(crate) type Opening<S> = Pin<Box<dyn Future<Output = Result<OneSession<S>, DriverError>>>>;
/// Opens a session like the first one of a connection.
pub(crate) type Opener<S> = Box<dyn Fn() -> Opening<S>>;

/// The sessions that statements do not go to now.
pub(super) struct Others<S> {
    opener: Option<Opener<S>>,
    /// By their numbers; nothing in the place of the one that statements go to.
    aside: Vec<Option<OneSession<S>>>,
    /// The number of that one.
    here: usize,
    /// Whether sessions wait for answers without a limit.
    lifted: bool,
}

impl<S: Session> Others<S> {
    pub(super) fn none() -> Self {
        Self { opener: None, aside: Vec::new(), here: 0, lifted: false }
    }

    pub(super) fn lift_timeout(&mut self) {
        self.lifted = true;
        self.aside.iter_mut().flatten().for_each(OneSession::lift_timeout);
    }

    pub(super) async fn close(self) {
        for mut one in self.aside.into_iter().flatten() {
            one.close().await;
        }
    }

    async fn open(&self) -> Result<OneSession<S>, DriverError> {
        let Some(opener) = &self.opener else {
            let message = "no other connection can be opened here: tables are made with one connection";
            return Err(DriverError::client(ErrorClass::Fatal, "connection", message));
        };
        let mut one = opener().await?;
        if self.lifted {
            one.lift_timeout();
        }
        Ok(one)
    }
}

impl<S: Session> Connection<S> {
    /// Opens the first session, number 0; others can be opened as it was.
    pub(crate) async fn opened_by(opener: Opener<S>) -> Result<Self, DriverError> {
        let own = opener().await?;
        Ok(Self::of(own, Others { opener: Some(opener), ..Others::none() }))
    }

    /// Whether it can open others, or its own again.
    pub fn opens_others(&self) -> bool {
        self.others.opener.is_some()
    }

    /// The number of the session that statements go to.
    #[inline]
    pub fn here(&self) -> usize {
        self.others.here
    }

    /// Whether the session of this number is open.
    pub fn has(&self, number: usize) -> bool {
        let aside = || self.others.aside.get(number).and_then(Option::as_ref);
        let one = if number == self.others.here { Some(&self.own) } else { aside() };
        one.is_some_and(|one| one.session.is_some())
    }

    /// Opens a session of this number, which none has that is open; see [`Self::switch_to`].
    ///
    /// # Errors
    /// As those of [`crate::driver::Driver::connect`]; `Fatal` where it [opens no others](Self::opens_others).
    pub async fn open_another(&mut self, number: usize) -> Result<(), DriverError> {
        // What fails here is no statement.
        self.own.last = None;
        let one = self.others.open().await?;
        if number == self.others.here {
            self.own = one;
            return Ok(());
        }
        let aside = &mut self.others.aside;
        if aside.len() <= number {
            aside.resize_with(number + 1, || None);
        }
        aside[number] = Some(one);
        Ok(())
    }

    /// What follows goes to the session of this number, and its rows are those of the last statement there.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn switch_to(&mut self, number: usize) -> Result<(), DriverError> {
        if number == self.others.here { Ok(()) } else { self.switch(number) }
    }

    #[cold]
    fn switch(&mut self, number: usize) -> Result<(), DriverError> {
        let others = &mut self.others;
        let Some(next) = others.aside.get_mut(number).and_then(Option::take) else {
            return Err(DriverError::client(ErrorClass::Fatal, "connection", format!("connection {number} is closed")));
        };
        let before = std::mem::replace(&mut self.own, next);
        if others.aside.len() <= others.here {
            others.aside.resize_with(others.here + 1, || None);
        }
        others.aside[others.here] = Some(before);
        others.here = number;
        Ok(())
    }

    /// Closes the session of this number, if it is open and can be opened again.
    pub async fn close_one(&mut self, number: usize) {
        if !self.opens_others() {
            return;
        }
        let aside = self.others.aside.get_mut(number).and_then(Option::as_mut);
        if let Some(one) = if number == self.others.here { Some(&mut self.own) } else { aside } {
            one.close().await;
        }
    }

    /// Closes the session of this number and opens it again, without the statements that were added to its catalogue; a reconnect.
    ///
    /// # Errors
    /// As those of [`Self::open_another`]: it is closed then.
    pub async fn reconnect(&mut self, number: usize) -> Result<(), DriverError> {
        self.close_one(number).await;
        self.open_another(number).await?;
        self.counts.reconnects += 1;
        Ok(())
    }

    /// Rolls back on every session.
    ///
    /// # Errors
    /// That of the first session on which it fails.
    pub async fn rollback_all(&mut self) -> Result<(), DriverError> {
        self.rollback().await?;
        let here = self.others.here;
        for number in 0..self.others.aside.len() {
            if self.has(number) && number != self.others.here {
                self.switch_to(number)?;
                self.rollback().await?;
            }
        }
        self.switch_to(here)
    }
}
