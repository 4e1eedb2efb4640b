//! How an order becomes a server on the machine of its guard: programs, ports, folder, user.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{User, geteuid};
use perbuck_deploy::local::{Kind, Recipe, Wanted, is_plain};

use super::find;
use super::folder::PREFIX;
use super::instance::without_passwords;
use super::program::Terms;
use super::talk::{Config, Looked, Order};
use crate::error::{ErrorKind, LabError};
use crate::process;

const NAME_LENGTH: usize = 10;
const RANDOM: &str = "/dev/urandom";
/// Accounts that packages bring, for servers that refuse to run as root.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];
/// Where sshd says which addresses a session has: those of the client and of the server, each with its port.
const SSH_CONNECTION: &str = "SSH_CONNECTION";

/// What the guard makes and runs.
pub(super) struct Charge {
    pub(super) order: Order,
    pub(super) kind: Kind,
    pub(super) folder: PathBuf,
    pub(super) programs: Vec<PathBuf>,
    address: IpAddr,
    ports: Vec<u16>,
    pub(super) terms: Terms,
    /// What is made and started.
    pub(super) recipe: Recipe,
}

impl Charge {
    /// Finds what the order needs on this machine.
    pub(super) fn of(order: Order) -> Result<Self, LabError> {
        debug_assert!(is_plain(&order.password));
        let (kind, who) = (kind(&order)?, &order.who);
        let programs = find::all(who, (kind, &order.parts), order.program.as_deref())?;
        let parent = parent(&order);
        let parent = parent.canonicalize().map_err(LabError::of_file("make a folder for a server in", &parent))?;
        let name = random_word(NAME_LENGTH).map_err(LabError::of_file("read random numbers from", Path::new(RANDOM)))?;
        let folder = parent.join(format!("{PREFIX}{name}"));
        let address = address(&order)?;
        let ports = free_ports(address, kind.ports(&order.parts));
        let ports = ports.map_err(|e| LabError::new(ErrorKind::Target, format!("{who}: no port is free: {e}"), ""))?;
        let recipe = recipe((&order, kind), (&folder, address, &ports), &programs)?;
        let descriptors = order.descriptors.unwrap_or_else(process::descriptors_at_start);
        let terms = Terms { user: user(&order, kind)?, quits: recipe.quits, descriptors };
        Ok(Self { order, kind, folder, programs, address, ports, terms, recipe })
    }

    /// The same server with other settings.
    pub(super) fn with_settings(&self, config: Config) -> Result<Recipe, LabError> {
        let order = Order { config, ..self.order.clone() };
        recipe((&order, self.kind), (&self.folder, self.address, &self.ports), &self.programs)
    }
}

/// Whether the server could be made, as far as that is known before it is.
pub(super) fn look(order: &Order) -> Result<Looked, LabError> {
    let kind = kind(order)?;
    let programs = find::all(&order.who, (kind, &order.parts), order.program.as_deref())?;
    user(order, kind)?;
    let program = programs.into_iter().next().unwrap_or_default();
    // What does not tell its version is asked when it runs.
    let said = without_passwords(Command::new(&program).arg("--version")).output();
    let version = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let parent = parent(order);
    let mut door = None;
    if order.is_remote {
        let address = address(order)?;
        door = free_port(address).ok().map(|port| SocketAddr::new(address, port));
        let is_folder =
            fs::metadata(&parent).and_then(|m| if m.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) });
        is_folder.map_err(LabError::of_file("make a folder for a server in", &parent))?;
    }
    let host = perbuck_observe::host();
    Ok(Looked {
        program,
        is_remote: order.is_remote,
        door,
        version,
        machine: perbuck_observe::machine(&host),
        facts: host.facts,
        room: parent.ancestors().find_map(perbuck_observe::room),
        parent,
    })
}

fn kind(order: &Order) -> Result<Kind, LabError> {
    Kind::named(&order.kind).ok_or_else(|| LabError::usage(format!("{}: no such server", order.who), ""))
}

/// Where the server has its folder.
pub(super) fn parent(order: &Order) -> PathBuf {
    order.parent.clone().unwrap_or_else(env::temp_dir)
}

/// Where the server listens: where its guard was reached, if that is on another machine.
fn address(order: &Order) -> Result<IpAddr, LabError> {
    if !order.is_remote {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    reached_at(&order.who)
}

/// The address of this machine by which `ssh` came.
pub(super) fn reached_at(who: &str) -> Result<IpAddr, LabError> {
    let told = env::var(SSH_CONNECTION).unwrap_or_default();
    told.split(' ').nth(2).and_then(|word| word.parse().ok()).ok_or_else(|| {
        let message = format!("{who}: its sshd does not tell the address of the session ({SSH_CONNECTION} is `{told}`)");
        LabError::new(ErrorKind::Target, message, "reach the host by OpenSSH")
    })
}

/// The user who runs the server where perbuck's own may not.
fn user(order: &Order, kind: Kind) -> Result<Option<(u32, u32)>, LabError> {
    if !(kind.refuses_root() && geteuid().is_root()) {
        return Ok(None);
    }
    let found = ACCOUNTS.iter().find_map(|name| User::from_name(name).ok().flatten());
    let Some(user) = found else {
        let message = format!("{}: {kind} refuses to run as root, and there is no user {}", order.who, ACCOUNTS.join(" or "));
        return Err(LabError::usage(message, "run perbuck as another user"));
    };
    Ok(Some((user.uid.as_raw(), user.gid.as_raw())))
}

fn recipe(
    (order, kind): (&Order, Kind),
    (folder, address, ports): (&Path, IpAddr, &[u16]),
    programs: &[PathBuf],
) -> Result<Recipe, LabError> {
    let wanted = Wanted {
        folder,
        parts: &order.parts,
        options: &order.options,
        address,
        ports,
        config: &order.config,
        databases: &order.databases,
        connections: order.connections,
        as_root: geteuid().is_root(),
    };
    let refused = |r: perbuck_deploy::local::Refused| LabError::failed(format!("{}: {}", order.who, r.message), r.help);
    let recipe = kind.recipe(&wanted, programs, &order.password).map_err(refused)?;
    // Data that are there need no other step.
    let kept = order.kept.as_ref().and_then(|_| kind.steps_on_kept_data(&wanted, programs, &order.password));
    Ok(Recipe { steps: kept.unwrap_or(recipe.steps), ..recipe })
}

/// So many ports, each another one.
fn free_ports(address: IpAddr, count: usize) -> io::Result<Vec<u16>> {
    let mut ports = BTreeSet::new();
    while ports.len() < count {
        ports.insert(free_port(address)?);
    }
    Ok(ports.into_iter().collect())
}

/// A free port outside the range from which systems take the ports of clients: one of those could be in use by a connection a moment
/// later.
pub(super) fn free_port(address: IpAddr) -> io::Result<u16> {
    let mut last = io::Error::other("none was tried");
    for _ in 0..200 {
        let mut bytes = [0; 2];
        File::open(RANDOM)?.read_exact(&mut bytes)?;
        let port = 10_000 + u16::from_le_bytes(bytes) % 20_000;
        match TcpListener::bind((address, port)) {
            Ok(_) => return Ok(port),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Letters and digits from the system's random numbers: a name or a password, no part of any experiment.
pub(crate) fn random_word(length: usize) -> io::Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = vec![0; length];
    File::open(RANDOM)?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|b| char::from(LETTERS[usize::from(b % 32)])).collect())
}
