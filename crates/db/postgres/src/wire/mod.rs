//! Messages over a connection: what one side says, and whether an answer is outstanding.

pub(crate) mod answer;
#[cfg(test)]
pub(crate) mod canned;
pub(crate) mod cells;
pub(crate) mod execute;
pub(crate) mod login;
pub(crate) mod messages;
pub(crate) mod placeholders;

use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use perbuck_load::error::DriverError;

use crate::errors::{self, ServerError};
use messages::{Message, kind};
use perbuck_net::link::Link;

const PROTOCOL: &str = "PostgreSQL";

/// One connection at the level of messages.
pub(crate) struct Wire {
    link: Link,
}

impl Deref for Wire {
    type Target = Link;

    #[inline]
    fn deref(&self) -> &Link {
        &self.link
    }
}

impl DerefMut for Wire {
    #[inline]
    fn deref_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

impl Wire {
    /// Connects; the client then speaks first.
    pub(crate) async fn connect(host: &str, port: u16, read_timeout: Duration) -> Result<Self, DriverError> {
        Ok(Self { link: Link::connect(host, port, read_timeout, PROTOCOL).await? })
    }

    /// Begins a command; its messages are appended to the buffer.
    ///
    /// # Errors
    /// When an answer is still outstanding, or the server has said something unasked that ends the connection.
    #[inline]
    pub(crate) fn command(&mut self) -> Result<&mut Vec<u8>, DriverError> {
        if !self.link.is_idle() {
            self.hear_unasked()?;
        }
        Ok(self.reply())
    }

    /// Begins what is said within a dialogue, such as the login.
    #[inline]
    pub(crate) fn reply(&mut self) -> &mut Vec<u8> {
        self.link.begin()
    }

    /// A server may say at any time that a setting has changed, warn, or give the connection up.
    #[cold]
    fn hear_unasked(&mut self) -> Result<(), DriverError> {
        if self.link.is_busy() {
            return Err(self.link.given_up());
        }
        while let Some(message) = self.take()? {
            if message.kind == kind::ERROR {
                return Err(self.server_error(&message).error);
            }
            if !is_aside(message.kind) {
                return Err(self.link.unasked());
            }
        }
        // The rest of an aside comes before the answer, and is passed over then.
        let aside = self.link.inbox.arrived().first().is_none_or(|first| is_aside(*first));
        if aside { Ok(()) } else { Err(self.link.unasked()) }
    }

    /// Sends what was written; an answer is then outstanding.
    pub(crate) async fn send(&mut self) -> Result<(), DriverError> {
        self.link.ask();
        poll_fn(|_| self.link.poll_send()).await
    }

    /// The next message, if it has arrived.
    #[inline]
    pub(crate) fn take(&mut self) -> Result<Option<Message>, DriverError> {
        messages::take(&mut self.link.inbox).map_err(|why| self.link.malformed(why))
    }

    /// The next message that is part of an answer.
    pub(crate) async fn message(&mut self) -> Result<Message, DriverError> {
        loop {
            let message = self.any_message().await?;
            if !is_aside(message.kind) {
                return Ok(message);
            }
        }
    }

    /// The next message, whatever it is.
    pub(crate) async fn any_message(&mut self) -> Result<Message, DriverError> {
        loop {
            match self.take()? {
                Some(message) => return Ok(message),
                None => poll_fn(|_| self.link.poll_receive()).await?,
            }
        }
    }

    /// The body of a message; valid until more bytes are received.
    #[inline]
    pub(crate) fn body(&self, message: &Message) -> &[u8] {
        self.link.inbox.get(&message.body)
    }

    /// The error in an ErrorResponse. The connection goes on after it, unless it says that it does not.
    #[cold]
    pub(crate) fn server_error(&mut self, message: &Message) -> ServerError {
        match errors::from_message(self.body(message)) {
            Ok(found) => {
                if found.ends_connection {
                    self.link.give_up();
                }
                found
            }
            Err(why) => ServerError { error: self.link.malformed(why), ends_connection: true },
        }
    }
}

/// What may stand between any two messages and belongs to no answer ("Asynchronous Operations").
#[inline]
pub(crate) fn is_aside(kind: u8) -> bool {
    matches!(kind, kind::NOTICE | kind::PARAMETER_STATUS | kind::NOTIFICATION)
}
