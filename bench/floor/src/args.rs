//! The command line. No library: the program has a dozen words and its memory is measured.

use std::time::Duration;

use crate::login::Server;
use crate::script::Kind;

/// How sockets are waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Io {
    /// Edge-triggered epoll, one recv and one send an answer.
    Epoll,
    /// `io_uring`.
    Uring(UringOptions),
}

/// Which of the ways of `io_uring`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UringOptions {
    /// Completions are worked off when the thread asks for them (`DEFER_TASKRUN`), not when they come.
    pub(crate) deferred: bool,
    /// One receive serves a connection for ever, into buffers of a common pool; else each query links its own.
    pub(crate) multishot: bool,
}

/// What to do.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) server: Server,
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    pub(crate) window: Duration,
    pub(crate) kind: Kind,
    pub(crate) tables: u32,
    pub(crate) table_size: u32,
    pub(crate) io: Io,
}

const USAGE: &str = "usage: perbuck-floor --url mysql://USER@HOST:PORT/DB [--connections N] [--threads N] [--seconds N] \
    [--script oltp_point_select|oltp_read_write] [--tables N] [--table-size N] [--io epoll|uring|uring-linked|uring-plain]; \
    the password is in PERBUCK_FLOOR_PASSWORD";

impl Args {
    /// Reads `--name value` pairs.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            server: Server::default(),
            connections: 16,
            threads: 1,
            window: Duration::from_secs(5),
            kind: Kind::PointSelect,
            tables: 4,
            table_size: 25_000,
            io: Io::Epoll,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or(USAGE)?;
            let number = || value.parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(|| format!("{name} {value}: not above 0"));
            match name.as_str() {
                "--url" => args.server = server(&value).ok_or(USAGE)?,
                "--connections" => args.connections = number()? as usize,
                "--threads" => args.threads = number()? as usize,
                "--seconds" => args.window = Duration::from_secs(number()?.into()),
                "--tables" => args.tables = number()?,
                "--table-size" => args.table_size = number()?,
                "--script" => args.kind = kind(&value).ok_or(USAGE)?,
                "--io" => args.io = io(&value).ok_or(USAGE)?,
                _ => return Err(USAGE.into()),
            }
        }
        // A thread without connections would wait for ever.
        args.threads = args.threads.min(args.connections);
        if args.server.address.is_empty() { Err(USAGE.into()) } else { Ok(args) }
    }
}

fn server(url: &str) -> Option<Server> {
    let (user, rest) = url.strip_prefix("mysql://")?.split_once('@')?;
    let (address, database) = rest.split_once('/')?;
    let password = std::env::var("PERBUCK_FLOOR_PASSWORD").unwrap_or_default();
    Some(Server { address: address.into(), user: user.into(), database: database.into(), password })
}

fn kind(name: &str) -> Option<Kind> {
    match name {
        "oltp_point_select" => Some(Kind::PointSelect),
        "oltp_read_write" => Some(Kind::ReadWrite),
        _ => None,
    }
}

fn io(name: &str) -> Option<Io> {
    let uring = |deferred, multishot| Some(Io::Uring(UringOptions { deferred, multishot }));
    match name {
        "epoll" => Some(Io::Epoll),
        "uring" => uring(true, true),
        "uring-linked" => uring(true, false),
        "uring-plain" => uring(false, true),
        _ => None,
    }
}
