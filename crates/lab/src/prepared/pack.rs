//! Files become parts, and parts files again: each part is made, checked and moved by itself, several at the same time.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use perbuck_load::stop::StopToken;
use sha2::{Digest, Sha256};

use super::archive::Archive;
use super::manifest::{Entry, Manifest, PART, Part, part_name};
use crate::error::LabError;

/// Parts that are in flight at the same time: each takes 32 MiB of memory at most.
const IN_FLIGHT: usize = 8;
/// Bytes that a part can grow by where it cannot be compressed.
const GROWTH: u64 = 1 << 20;
/// Between two looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes that are read at once for a sum.
const BUFFER: usize = 256 * 1024;

/// A file or a folder that is to be saved.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) entry: Entry,
}

impl Source {
    /// A file or a folder under a name of its own.
    pub(super) fn of(path: PathBuf, name: &str) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(&path)?;
        let (mode, kind) = (metadata.permissions().mode() & 0o7777, metadata.file_type());
        if !kind.is_dir() && !kind.is_file() {
            return Err(io::Error::other(format!("{} is neither a file nor a folder", path.display())));
        }
        let bytes = if kind.is_file() { metadata.len() } else { 0 };
        let sha256 = kind.is_file().then(String::new);
        Ok(Self { path, entry: Entry { path: name.to_owned(), mode, bytes, sha256 } })
    }

    /// All that is below a folder, in an order that does not depend on the file system.
    pub(super) fn below(root: &Path) -> io::Result<Vec<Self>> {
        let (mut found, mut folders) = (Vec::new(), vec![(root.to_owned(), String::new())]);
        while let Some((folder, above)) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let name = entry?.file_name();
                let Some(text) = name.to_str() else { return Err(io::Error::other(format!("{} is no text", name.display()))) };
                let (path, text) = (folder.join(&name), format!("{above}{text}"));
                let source = Self::of(path.clone(), &text)?;
                if source.entry.sha256.is_none() {
                    folders.push((path, format!("{text}/")));
                }
                found.push(source);
            }
        }
        found.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
        Ok(found)
    }
}

/// How far a move of data is: bytes that are done, of all.
pub(super) type Shown<'a> = &'a mut dyn FnMut(u64, u64);

/// Saves files: entries with their sums, and the parts that were put.
pub(super) fn save(
    sources: &mut [Source],
    (archive, folder): (&Archive, &str),
    stop: &StopToken,
    shown: Shown<'_>,
) -> Result<Vec<Part>, LabError> {
    let sums = {
        let sources = &*sources;
        side_by_side(sources.len(), stop, &mut |_| {}, &|n| {
            let Source { path, entry } = &sources[n];
            entry.sha256.as_ref().map(|_| sum_of(path)).transpose().map_err(LabError::of_file("read", path))
        })?
    };
    for (source, sum) in sources.iter_mut().zip(sums) {
        source.entry.sha256 = sum;
    }
    let (sources, entries) = (&*sources, sources.iter().map(|source| &source.entry));
    let bytes: u64 = entries.clone().map(|entry| entry.bytes).sum();
    let pieces = pieces(entries);
    side_by_side(pieces.len(), stop, &mut |done| shown((done as u64 * PART).min(bytes), bytes), &|number| {
        let mut part = ZlibEncoder::new(Vec::new(), Compression::fast());
        let mut plain = Vec::new();
        for piece in &pieces[number] {
            let path = &sources[piece.entry].path;
            plain.resize(piece.bytes as usize, 0);
            let read = File::open(path).and_then(|file| file.read_exact_at(&mut plain, piece.start));
            read.and_then(|()| part.write_all(&plain)).map_err(LabError::of_file("read", path))?;
        }
        let stored = part.finish().map_err(LabError::of_file("compress", Path::new(folder)))?;
        let told = Part { bytes: stored.len() as u64, sha256: hex(&Sha256::digest(&stored)) };
        archive.put(&part_name(folder, number), stored).map(|()| told)
    })
}

/// Makes the files of a manifest in a folder that is not there yet, and checks each of them. They are on disk afterwards.
pub(super) fn restore(
    manifest: &Manifest,
    archive: &Archive,
    into: &Path,
    stop: &StopToken,
    shown: Shown<'_>,
) -> Result<(), LabError> {
    let (folder, bytes, pieces) = (manifest.folder(), manifest.bytes(), pieces(manifest.entries.iter()));
    if pieces.len() != manifest.parts.len() {
        let message = format!("{folder} holds files as a server starts on them, and no parts");
        return Err(LabError::usage(message, "name the archive from which they were restored"));
    }
    let made = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
    made(into).map_err(LabError::of_file("make the folder", into))?;
    for entry in &manifest.entries {
        let path = into.join(&entry.path);
        let done = match &entry.sha256 {
            None => made(&path),
            Some(_) => {
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).and_then(|file| file.set_len(entry.bytes))
            }
        };
        done.map_err(LabError::of_file("make", &path))?;
    }
    side_by_side(pieces.len(), stop, &mut |done| shown((done as u64 * PART).min(bytes), bytes), &|number| {
        let name = part_name(&folder, number);
        let plain = part(archive, &name, &manifest.parts[number])?;
        let mut rest = plain.as_slice();
        for piece in &pieces[number] {
            let path = into.join(&manifest.entries[piece.entry].path);
            let Some((own, after)) = rest.split_at_checked(piece.bytes as usize) else {
                return Err(damaged(&name, "it is too short"));
            };
            let opened = OpenOptions::new().write(true).open(&path);
            opened.and_then(|file| file.write_all_at(own, piece.start)).map_err(LabError::of_file("write", &path))?;
            rest = after;
        }
        if rest.is_empty() { Ok(()) } else { Err(damaged(&name, "it is too long")) }
    })?;
    side_by_side(manifest.entries.len(), stop, &mut |_| {}, &|n| {
        let entry = &manifest.entries[n];
        let path = into.join(&entry.path);
        if let Some(wanted) = &entry.sha256 {
            let found = File::open(&path).and_then(|file| file.sync_all()).and_then(|()| sum_of(&path));
            if found.map_err(LabError::of_file("read", &path))? != *wanted {
                return Err(damaged(&entry.path, "its checksum is another one"));
            }
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(entry.mode & 0o777))
            .map_err(LabError::of_file("set the permissions of", &path))
    })
    .map(drop)
}

/// The bytes of a part, checked.
fn part(archive: &Archive, name: &str, part: &Part) -> Result<Vec<u8>, LabError> {
    let stored = archive.get(name, PART + GROWTH)?.ok_or_else(|| damaged(name, "it is missing"))?;
    if hex(&Sha256::digest(&stored)) != part.sha256 {
        return Err(damaged(name, "its checksum is another one"));
    }
    let mut plain = Vec::new();
    // One more byte than there may be, so that it is noticed.
    let read = ZlibDecoder::new(stored.as_slice()).take(PART + 1).read_to_end(&mut plain);
    read.map_err(|error| damaged(name, &error.to_string()))?;
    Ok(plain)
}

fn damaged(name: &str, why: &str) -> LabError {
    LabError::files(format!("{name} is damaged: {why}"), "save the data again; what was there before is left as it was")
}

/// A piece of a part: so many bytes of a file, from there on.
struct Piece {
    entry: usize,
    start: u64,
    bytes: u64,
}

/// The pieces of each part.
fn pieces<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<Vec<Piece>> {
    let (mut parts, mut room) = (Vec::<Vec<Piece>>::new(), 0);
    for (entry, Entry { bytes, .. }) in entries.enumerate() {
        let mut start = 0;
        while start < *bytes {
            if room == 0 {
                parts.push(Vec::new());
                room = PART;
            }
            let taken = room.min(bytes - start);
            parts.last_mut().into_iter().for_each(|part| part.push(Piece { entry, start, bytes: taken }));
            (start, room) = (start + taken, room - taken);
        }
    }
    parts
}

/// Does so many things, several at the same time, each by its number; ends with the first that fails, and when the user wants to stop.
fn side_by_side<T: Send>(
    count: usize,
    stop: &StopToken,
    shown: &mut dyn FnMut(usize),
    work: &(dyn Fn(usize) -> Result<T, LabError> + Sync),
) -> Result<Vec<T>, LabError> {
    let next = Mutex::new(Some(0..count));
    let end = || next.lock().map(|mut next| next.take()).map(drop);
    thread::scope(|scope| {
        let (tell, told) = channel();
        for _ in 0..IN_FLIGHT.min(count) {
            let (tell, next) = (tell.clone(), &next);
            scope.spawn(move || {
                let take = || next.lock().ok()?.as_mut()?.next();
                while let Some(number) = take() {
                    if tell.send((number, work(number))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        let (mut done, mut failure): (Vec<Option<T>>, _) = ((0..count).map(|_| None).collect(), None);
        loop {
            match told.recv_timeout(LOOK) {
                Ok((number, Ok(came))) => done[number] = Some(came),
                Ok((_, Err(error))) => {
                    failure.get_or_insert(error);
                    let _ = end();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.requested() && failure.is_none() {
                failure = Some(LabError::interrupted());
                let _ = end();
            }
            shown(done.iter().flatten().count());
        }
        failure.map_or_else(|| Ok(done.into_iter().flatten().collect()), Err)
    })
}

fn sum_of(path: &Path) -> io::Result<String> {
    let (mut file, mut sum, mut buffer) = (File::open(path)?, Sha256::new(), vec![0; BUFFER]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&sum.finalize())),
            bytes => sum.update(&buffer[..bytes]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
