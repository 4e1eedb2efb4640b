//! What perbuck and the guard of a private server say to each other: a line of JSON each, through the guard's standard input and output,
//! on this machine or through `ssh`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use perbuck_core::run_record::{Build, MachineFacts, MachineSamples, Observed, Profile, ServerMachine, TunedSetting};
use perbuck_core::study::Tuning;
use perbuck_deploy::local::Parts;
use perbuck_observe::Room;
use perbuck_observe::setting::Setting;
use serde::{Deserialize, Serialize};

use crate::disk::{Ceilings, DiskLoad};
use crate::doctor::Seen;
use crate::error::Failure;
use crate::sampler::ServerSeen;

/// Settings of a server in its own words.
pub(super) type Config = BTreeMap<String, String>;

/// The server that a guard is to make. It holds the password, so it cannot be printed.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Order {
    /// For messages: ``contender `a` ``.
    pub(super) who: String,
    /// What a study calls its kind.
    pub(super) kind: String,
    /// Its program, where the study names one.
    pub(super) program: Option<String>,
    /// Where its folder is made; the machine's folder for temporary files where the study names none.
    pub(super) parent: Option<PathBuf>,
    pub(super) parts: Parts,
    pub(super) options: String,
    pub(super) config: Config,
    pub(super) databases: Vec<String>,
    /// The folder of prepared data that it starts on, on its machine; it makes its own where there is none.
    pub(super) kept: Option<PathBuf>,
    pub(super) connections: u32,
    /// The limit of file descriptors that perbuck had when it was started: a server's settings can depend on it. That of the guard
    /// where it runs on another machine.
    pub(super) descriptors: Option<u64>,
    /// Whether clients come from other machines, by the address by which the guard itself was reached.
    pub(super) is_remote: bool,
    /// Empty where nothing is started.
    pub(super) password: String,
}

/// How a server is stopped and started again.
#[derive(Serialize, Deserialize)]
pub(super) struct Restart {
    /// Its settings.
    pub(super) config: Config,
    pub(super) step: WhileStopped,
}

/// What is done while a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WhileStopped {
    /// Nothing.
    Nothing,
    /// Caches are emptied.
    Cool,
    /// A copy of its data is saved.
    Save,
    /// The copy takes the place of its data.
    Restore,
}

/// A line: a number, and what is said. An answer has the number of its question, so that a late one is taken for no other. What comes by
/// itself has zero.
pub(super) type Numbered<T> = (u64, T);

/// What perbuck says.
#[derive(Serialize, Deserialize)]
pub(super) enum Ask {
    /// Whether this server could be made; a guard answers [`Told::Looked`].
    Look(Order),
    /// To remove what killed runs left where this server would have its folder; answered by [`Told::Cleaned`].
    Clean(Order),
    /// To make and hold this server; answered by [`Told::Started`] or [`Told::Failed`].
    Start(Order),
    /// To stop it and start it again; answered likewise.
    Restart(Restart),
    /// To run an agent with this token; answered by [`Told::Serves`].
    Serve(String),
    /// What its server's processes have used; answered by [`Told::Seen`].
    See,
    /// What spoils a measurement on its machine; answered by [`Told::Examined`].
    Examine,
    /// What a disk of its machine can do; answered by [`Told::Loaded`].
    Load(DiskLoad),
    /// To set these files of its machine for good; answered by [`Told::Put`].
    Put(Vec<Setting>),
    /// To set its machine so while a trial runs; answered by [`Told::Tuned`].
    Tune(Tuning),
    /// To restore what was set; answered by [`Told::Untuned`].
    Untune,
    /// To read what its machine does, until [`Ask::Watched`].
    Watch,
    /// What its machine did since; answered by [`Told::Watched`].
    Watched,
    /// Whether its machine has `perf` for profiles; answered by [`Told::Profiles`].
    CanProfile,
    /// To profile its server's processes before a window; ended by [`Ask::Profiled`].
    Profile {
        /// For how long.
        length: Duration,
        /// When the window opens.
        opens_in: Duration,
    },
    /// The profile; answered by [`Told::Profiled`].
    Profiled,
    /// What its server is doing; answered by [`Told::Doing`].
    Doing,
    /// Nothing, but that perbuck is still there: a connection that is cut off closes nothing.
    Pulse,
}

/// What a guard says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    /// What the machine is, before perbuck's program is there: `Linux x86_64`. The launching script says it.
    Hello(String),
    /// The guard runs, and is of this version of perbuck.
    Here(String),
    /// The server has been started.
    Started(Started),
    /// The line itself has ended, and how. No guard says this.
    Gone(String),
    /// A process of the server has ended by itself: its name, how, and its last words.
    Ended { process: String, how: String, words: String },
    /// There is no server, and why.
    Failed(Failure),
    /// What was found, or why the server could not be made.
    Looked(Result<Looked, Failure>),
    /// What was removed, and what could not be.
    Cleaned(Vec<Result<String, String>>),
    /// An agent listens there, or why there is none.
    Serves(Result<SocketAddr, Failure>),
    /// CPU time of the server so far, and what limits did to it, where the system tells it.
    Seen(Option<ServerSeen>),
    /// What was found.
    Examined(Seen),
    /// What the disk did, or why it was not measured.
    Loaded(Result<Ceilings, Failure>),
    /// For each file whether it was set.
    Put(Vec<Result<(), String>>),
    /// What was set, or why it cannot be.
    Tuned(Result<Vec<TunedSetting>, String>),
    /// The settings that another program had changed, or what could not be restored.
    Untuned(Result<Vec<String>, String>),
    /// Whether profiles can be taken, or why not.
    Profiles(Result<(), String>),
    /// Where the server's processes spent their processor time.
    Profiled(Option<Box<Profile>>),
    /// What its machine did.
    Watched(Option<Box<MachineSamples>>),
    /// What the processes of the server are doing, and the last words of the one that was started last.
    Doing { doing: String, words: String },
}

impl Told {
    /// Whether it answers a question, and does not come by itself.
    pub(super) fn answers(&self) -> bool {
        !matches!(self, Self::Started(_) | Self::Gone(_) | Self::Ended { .. } | Self::Failed(_))
    }
}

/// A server that has been started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Started {
    /// Its address, as a target of perbuck.
    pub(super) target: String,
    pub(super) folder: PathBuf,
    /// The file system that holds the folder.
    pub(super) file_system: Option<String>,
    /// Its program.
    pub(super) program: PathBuf,
    pub(super) build: Build,
    /// Why the page cache could not be dropped before, where it was to be.
    pub(super) page_cache_kept: Option<String>,
}

/// What is known of a server before it is there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Looked {
    pub(super) program: PathBuf,
    pub(super) is_remote: bool,
    /// Where the guard listens until the next question, on another machine: an address as that of the server would be.
    pub(super) door: Option<SocketAddr>,
    /// What the program says of its version; empty where it says nothing.
    pub(super) version: String,
    /// The machine that it would run on.
    pub(crate) machine: Observed,
    /// What else its system tells of it.
    pub(super) facts: Option<Box<MachineFacts>>,
    /// Where its folder would be made.
    pub(crate) parent: PathBuf,
    pub(crate) room: Option<Room>,
}

impl Looked {
    /// What is compared with the machines that a study declares. Of this machine the volume says nothing: no bill names it.
    pub(crate) fn observed(&self) -> Vec<Observed> {
        let room = self.room.filter(|_| self.is_remote);
        let volume = room.map(|room| Observed {
            source: self.machine.source.clone(),
            volume_bytes: Some(room.total_bytes),
            ..Observed::default()
        });
        std::iter::once(self.machine.clone()).chain(volume).collect()
    }

    /// What a record holds of its machine, but for what that does in a trial.
    pub(super) fn server_machine(&self) -> ServerMachine {
        ServerMachine { source: self.machine.source.clone(), facts: self.facts.clone(), ..ServerMachine::default() }
    }
}
