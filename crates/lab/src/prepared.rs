//! Prepared data that are kept: saved from a private server or from the file of a database, and restored to one.
//!
//! An archive holds a manifest for each contender, which is written last, and the parts of its data. So a save that was cut off leaves the old
//! data, or none. Data are restored beside the old ones, checked, and then take their name in one step.

mod archive;
mod file;
mod kept;
mod manifest;
mod pack;

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Instant;

use perbuck_core::study::Contender;
use perbuck_database::secret::Secret;
use perbuck_deploy::local::{KINDS, Kind};
use perbuck_load::stop::StopToken;

use crate::data::{DataState, FRESH};
use crate::error::LabError;
use crate::inputs::Inputs;
use crate::lease::Leases;
use crate::preflight::{self, Purpose, megabytes};
use crate::prepare;
use crate::progress::{Done, Progress};
use crate::rest;
use crate::servers::{self, Servers, WhileStopped, random_word};
use crate::stage::{self, AskPassword, LOAD_SESSIONS, Stage};

use archive::Archive;
pub(crate) use kept::kept;
use manifest::{Database, ID_LENGTH, Loaded, Wanted};
pub use manifest::{Entry, Manifest, Part};
use pack::Source;

/// Bytes of a manifest at most: some hundred thousand files.
const MANIFEST_MAX: u64 = 64 << 20;

/// What is to be saved or restored, and where.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The folder or the bucket of the archive.
    pub archive: &'a str,
    /// The folder that holds the results of all studies.
    pub results: &'a Path,
    /// How a password is asked for.
    pub ask_password: Option<AskPassword>,
}

/// Why perbuck cannot move the data of a contender, if it cannot: it can where it stops a private server on this machine, or where they are a
/// file.
fn left_alone(inputs: &Inputs, (i, contender): (usize, &Contender)) -> Option<String> {
    if let Some(spec) = &contender.server {
        let kind = Kind::named(&spec.kind.value);
        return match (&spec.host, kind) {
            (Some(host), _) => Some(format!("its server runs on {}", host.value)),
            (None, Some(kind)) if kind.data_can_move() => None,
            (None, _) => Some(format!("data of {} hold the addresses of its parts", spec.kind.value)),
        };
    }
    match inputs.targets.get(i).and_then(Option::as_ref) {
        Some(target) if target.lease_file().is_some() => None,
        Some(_) => Some("perbuck does not hold its server".to_owned()),
        None => Some("it has no target".to_owned()),
    }
}

/// The contenders whose data can be moved, by name; of the others it is said why not.
fn movable(inputs: &Inputs, progress: &mut dyn Progress) -> Result<Vec<String>, LabError> {
    let mut names = Vec::new();
    let mut reasons = Vec::new();
    for (i, contender) in inputs.study.contenders.iter().enumerate().filter(|(_, c)| c.control_of.is_none()) {
        match left_alone(inputs, (i, contender)) {
            None => names.push(contender.name.clone()),
            Some(why) => reasons.push(format!("{}: its data are left alone: {why}", contender.name)),
        }
    }
    if names.is_empty() {
        let kinds: Vec<&str> = KINDS.iter().filter(|(_, kind)| kind.data_can_move()).map(|(name, _)| *name).collect();
        let help =
            format!("this is for private servers on this machine ({}), and for databases that are files", kinds.join(", "));
        return Err(LabError::usage(reasons.join("\n"), help));
    }
    reasons.iter().for_each(|reason| progress.line(reason));
    Ok(names)
}

/// Prepares the data of a study where they are missing, and saves them.
///
/// # Errors
/// No contender whose data can be moved, an archive that cannot be reached, data that are not fresh, and what a load can meet.
pub fn save(inputs: &Inputs, request: Request<'_>, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
    let archive = Archive::at(request.archive, stop)?;
    let names = movable(inputs, progress)?;
    // What is wrong with it is found before a long load.
    let probe = format!("{}/{}/000000", names[0], new_id()?);
    archive.put(&probe, b"perbuck looks whether it may write here\n".to_vec()).and_then(|()| archive.remove(&probe))?;
    servers::clean(&inputs.study, progress);
    for name in &names {
        let only = inputs.only(name)?;
        save_one(&only, (&archive, new_id()?), request, progress, stop)?;
    }
    Ok(())
}

fn save_one(
    inputs: &Inputs,
    (archive, id): (&Archive, String),
    request: Request<'_>,
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<(), LabError> {
    let contender = &inputs.study.contenders[0];
    let passwords = stage::passwords(inputs, request.ask_password)?;
    let purpose = Purpose::Load { reload: false };
    let looked =
        preflight::Request { purpose, connections: LOAD_SESSIONS, threads: Some(LOAD_SESSIONS), apart: false, results: None };
    preflight::pass(inputs, looked, &passwords, progress, stop)?;
    let mut servers = Servers::start(inputs, request.results, stop, progress)?;
    let stages = stage::build(inputs, &servers, &passwords, stop)?;
    let _leases = Leases::take(&inputs.study, &stages, stop, progress)?;
    let ready = stages.iter().try_for_each(|stage| {
        prepare::ensure(stage, None, stop, progress)?;
        is_fresh(stage)
    });
    servers.explain(ready)?;
    rest::wait(&stages.iter().collect::<Vec<_>>(), stop, progress)?;
    progress.passing(&format!("{}: saving its data", contender.name));
    let wanted = wanted(inputs, contender, &stages, stop)?;
    let manifest = Manifest::new(&contender.name, wanted, id);
    if !servers.has(0) {
        let kept = file::copies(&stages).and_then(|mut sources| put(manifest, (archive, &mut sources), progress, stop));
        let dropped = stages.iter().try_for_each(|stage| stage.server.drop_copy());
        return kept.and(dropped);
    }
    servers.restart(0, WhileStopped::Save, inputs.registry, stop)?;
    let folder = servers.copy_folder(0).unwrap_or_default();
    let mut sources = Source::below(&folder).map_err(LabError::of_file("read", &folder))?;
    put(manifest, (archive, &mut sources), progress, stop)
}

/// Data that trials changed are none that a later study could start from.
fn is_fresh(stage: &Stage) -> Result<(), LabError> {
    match stage.data.noted()? {
        DataState::Ours { used_by, .. } if used_by == FRESH => Ok(()),
        DataState::Ours { .. } => {
            let message = format!("{}: trials have changed the data in {}", stage.title, stage.address);
            Err(LabError::refused(message, "load them again first: perbuck prepare --force STUDY"))
        }
        _ => {
            let message = format!("{}: another tool made the data in {}", stage.title, stage.address);
            Err(LabError::refused(message, "perbuck saves only what it loaded itself"))
        }
    }
}

/// Puts the data into the archive, and their manifest last. What was there before goes after that.
fn put(
    mut manifest: Manifest,
    (archive, sources): (&Archive, &mut [Source]),
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<(), LabError> {
    let (began, who, folder) = (Instant::now(), manifest.contender.clone(), manifest.folder());
    let mut shown = |done, of| progress.advancing(&moved(&who, "saving", done, of), share(done, of, began));
    let put = pack::save(sources, (archive, &folder), stop, &mut shown);
    manifest.parts = match put {
        Ok(parts) => parts,
        Err(error) => {
            // Without a manifest they are of no use. A failure here is not the one to tell.
            let _ = remove(archive, &folder, "");
            return Err(error);
        }
    };
    manifest.entries = sources.iter().map(|source| source.entry.clone()).collect();
    let text = manifest.text().map_err(|why| LabError::failed(format!("{who}: cannot write the manifest: {why}"), ""))?;
    archive.put(&manifest_name(&who), text)?;
    remove(archive, &who, &folder)?;
    let (all, stored) = (megabytes(manifest.bytes()), megabytes(manifest.stored()));
    let parts = if manifest.parts.len() == 1 { "1 part".to_owned() } else { format!("{} parts", manifest.parts.len()) };
    let seconds = began.elapsed().as_secs_f64();
    progress.line(&format!("{who}: saved {all} as {stored} in {parts} in {seconds:.1} s{}", repeated(archive)));
    Ok(())
}

/// Restores the data of a study.
///
/// # Errors
/// No contender whose data can be moved, an archive that cannot be reached or holds none, data that were made otherwise or are damaged. The old
/// data stay then.
pub fn restore(inputs: &Inputs, request: Request<'_>, progress: &mut dyn Progress, stop: &StopToken) -> Result<(), LabError> {
    let archive = Archive::at(request.archive, stop)?;
    let all = movable(inputs, progress)?.iter().map(|name| inputs.only(name)).collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    // All of them are looked at before anything is moved.
    for only in &all {
        let contender = &only.study.contenders[0];
        let Some(manifest) = manifest_in(&archive, &contender.name)? else {
            return Err(no_manifest(&archive, request.archive, &contender.name)?);
        };
        let own = file_stages(only, request, stop)?;
        let wanted = wanted(only, contender, &own, stop)?;
        if let Some(how) = manifest.differs(&wanted) {
            let message = format!("{}: the data in {} are others: {how}", contender.name, request.archive);
            return Err(LabError::refused(message, "name another archive, or change the study to what they were made with"));
        }
        found.push((only, manifest, own));
    }
    for (only, manifest, own) in found {
        let (began, who) = (Instant::now(), manifest.contender.clone());
        let mut shown = |done, of| progress.advancing(&moved(&who, "restoring", done, of), share(done, of, began));
        let unpack = &mut |into: &Path| pack::restore(&manifest, &archive, into, stop, &mut shown);
        let to = if own.is_empty() {
            kept::keep(&manifest, &kept::folder(request.results, &only.study.name), unpack)?
        } else {
            let _leases = Leases::take(&only.study, &own, stop, &mut crate::progress::Quiet)?;
            file::replace(&own, unpack)?
        };
        let (all, seconds, repeats) = (megabytes(manifest.bytes()), began.elapsed().as_secs_f64(), repeated(&archive));
        progress.line(&format!("{who}: restored {all} to {} in {seconds:.1} s{repeats}", to.display()));
    }
    Ok(())
}

/// Lists what an archive holds, and the names of parts that belong to none of it.
///
/// # Errors
/// An archive that cannot be read.
pub fn list(archive: &str) -> Result<(Vec<Manifest>, Vec<String>), LabError> {
    listed(&Archive::at(archive, &StopToken::default())?)
}

fn listed(archive: &Archive) -> Result<(Vec<Manifest>, Vec<String>), LabError> {
    let names = archive.names("")?;
    let contenders = names.iter().filter_map(|(name, _)| name.strip_suffix(".json").filter(|name| !name.contains('/')));
    let all = contenders.map(|name| manifest_in(archive, name)).collect::<Result<Vec<_>, _>>()?;
    let all: Vec<Manifest> = all.into_iter().flatten().collect();
    let own: BTreeSet<String> = all.iter().flat_map(Manifest::names).collect();
    let left = names.into_iter().map(|(name, _)| name).filter(|name| manifest::is_part(name) && !own.contains(name));
    Ok((all, left.collect()))
}

/// Removes the data of these contenders from an archive, or of all, with what saves that were cut off left there. Returns whose they were.
///
/// # Errors
/// An archive that cannot be read or written, and a contender that it does not hold.
pub fn drop_from(archive: &str, contenders: &[String]) -> Result<Vec<String>, LabError> {
    let (at, title) = (Archive::at(archive, &StopToken::default())?, archive);
    let (all, left) = listed(&at)?;
    if let Some(none) = contenders.iter().find(|name| !all.iter().any(|manifest| manifest.contender == **name)) {
        let message = format!("{title} holds no data of contender `{none}`");
        return Err(LabError::usage(message, format!("see what it holds: perbuck data list {title}")));
    }
    let mut gone = Vec::new();
    for manifest in all.iter().filter(|m| contenders.is_empty() || contenders.contains(&m.contender)) {
        // First, so that what is cut off here leaves no manifest of what is not whole.
        at.remove(&manifest_name(&manifest.contender))?;
        manifest.names().iter().try_for_each(|name| at.remove(name))?;
        if let Archive::Folder(root) = &at {
            // Its empty folders, too.
            let folder = root.join(manifest.folder());
            if folder.exists() {
                fs::remove_dir_all(&folder).map_err(LabError::of_file("remove", &folder))?;
                // It stays where another one is in it.
                let _ = fs::remove_dir(root.join(&manifest.contender));
            }
        }
        gone.push(manifest.contender.clone());
    }
    left.iter().filter(|_| contenders.is_empty()).try_for_each(|name| at.remove(name))?;
    Ok(gone)
}

/// What data a study needs of a contender.
fn wanted(inputs: &Inputs, contender: &Contender, stages: &[Stage], stop: &StopToken) -> Result<Wanted, LabError> {
    let built = if stages.is_empty() { of_server(inputs, contender, stop)? } else { Vec::new() };
    let stages = if stages.is_empty() { &built } else { stages };
    let database = match &contender.server {
        Some(spec) => {
            let (_, version) = servers::version_of(contender, spec, stop)?;
            Database { kind: spec.kind.value.clone(), version }
        }
        None => {
            let facts = stages[0].server.host_facts(0).map_err(|e| LabError::target(&contender.name, &e))?;
            // It begins with the name of the product.
            let version = facts.version.split_once(' ').map_or(facts.version.as_str(), |(_, version)| version);
            Database { kind: stages[0].driver.to_owned(), version: version.to_owned() }
        }
    };
    let mut workloads: Vec<Loaded> = Vec::new();
    for (stage, spec) in stages.iter().zip(&inputs.study.workloads) {
        let loaded = Loaded {
            kind: spec.kind.value.clone(),
            database: spec.database.clone(),
            parameters: stage.shape.clone(),
            seed: stage::data_seed(&inputs.study, spec).0,
            fingerprint: stage.fingerprint.clone(),
        };
        if !workloads.contains(&loaded) {
            workloads.push(loaded);
        }
    }
    Ok(Wanted { database, workloads })
}

/// The stages of a private server that is not there: nothing is asked of it.
fn of_server(inputs: &Inputs, contender: &Contender, stop: &StopToken) -> Result<Vec<Stage>, LabError> {
    let kind = contender.server.as_ref().and_then(|spec| Some((Kind::named(&spec.kind.value)?, spec.parts())));
    let target = kind.and_then(|(kind, parts)| kind.target(&parts, (Ipv4Addr::LOCALHOST.into(), &[1]), ""));
    let target = inputs.registry.target(&target.unwrap_or_default()).map_err(|p| LabError::failed(p.message, p.help))?;
    stage::stages_of(inputs, contender, (&target, &Secret::default()), stop)
}

/// The stages of a file; none of a private server.
fn file_stages(inputs: &Inputs, request: Request<'_>, stop: &StopToken) -> Result<Vec<Stage>, LabError> {
    if inputs.study.contenders[0].server.is_some() {
        return Ok(Vec::new());
    }
    stage::build(inputs, &Servers::default(), &stage::passwords(inputs, request.ask_password)?, stop)
}

/// A name for a folder of data.
fn new_id() -> Result<String, LabError> {
    random_word(ID_LENGTH).map_err(LabError::of_file("read random numbers from", Path::new("/dev/urandom")))
}

fn manifest_name(contender: &str) -> String {
    format!("{contender}.json")
}

fn manifest_in(archive: &Archive, contender: &str) -> Result<Option<Manifest>, LabError> {
    let name = manifest_name(contender);
    let Some(bytes) = archive.get(&name, MANIFEST_MAX)? else { return Ok(None) };
    let read = Manifest::read(contender, &bytes);
    read.map(Some).map_err(|why| LabError::files(format!("{name} is no manifest of prepared data: {why}"), "save the data again"))
}

/// That an archive has no manifest of a contender.
fn no_manifest(archive: &Archive, title: &str, contender: &str) -> Result<LabError, LabError> {
    let (all, left) = listed(archive)?;
    if left.iter().any(|name| name.starts_with(&format!("{contender}/"))) {
        let message = format!("the save of contender `{contender}` in {title} did not end: its data have no manifest");
        return Ok(LabError::files(message, "save the data again"));
    }
    let held: Vec<&str> = all.iter().map(|manifest| manifest.contender.as_str()).collect();
    let held = if held.is_empty() { "nothing".to_owned() } else { held.join(", ") };
    let help = format!("save them first: perbuck data save STUDY {title}");
    Ok(LabError::files(format!("{title} holds no data of contender `{contender}`; it holds {held}"), help))
}

/// Removes the parts of a contender but those in this folder.
fn remove(archive: &Archive, of: &str, but: &str) -> Result<(), LabError> {
    let kept = format!("{but}/");
    let names = archive.names(&format!("{of}/"))?.into_iter().map(|(name, _)| name);
    names.filter(|name| manifest::is_part(name) && !name.starts_with(&kept)).try_for_each(|name| archive.remove(&name))
}

fn moved(who: &str, doing: &str, done: u64, of: u64) -> String {
    format!("{who}: {doing} its data, {} of {}", megabytes(done), megabytes(of))
}

fn share(done: u64, of: u64, began: Instant) -> Done {
    let share = if of == 0 { 1.0 } else { done as f64 / of as f64 };
    let left = (share > 0.0).then(|| began.elapsed().mul_f64(1.0 / share - 1.0));
    Done { share, left }
}

fn repeated(archive: &Archive) -> String {
    match archive.repeated() {
        0 => String::new(),
        1 => "; 1 request was repeated".to_owned(),
        count => format!("; {count} requests were repeated"),
    }
}
