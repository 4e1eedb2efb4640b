//! `perbuck prices import`

use std::fs::{self, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::path::Path;

use perbuck_core::problem::Problem;
use perbuck_core::units::thousands;
use perbuck_prices::import::{ImportError, Imported, Options, import, machines};
use sha2::{Digest, Sha256};

use super::args::ImportArguments;
use super::lint::told;
use perbuck_console::print;
use perbuck_lab::inputs::Named;
use perbuck_lab::{ErrorKind, LabError};

pub(crate) fn run(arguments: &ImportArguments) -> Result<(), LabError> {
    let output = &arguments.output;
    let Some(name) =
        output.file_stem().and_then(|stem| stem.to_str()).filter(|_| output.extension().is_some_and(|e| e == "toml"))
    else {
        let message = format!("{} does not end in .toml", output.display());
        let help = "name the snapshot file to write, such as `-o prices/aws-2026-11.toml`";
        return Err(LabError::new(ErrorKind::Usage, message, help));
    };
    // Before hundreds of megabytes are read, not after.
    refuse_to_overwrite(arguments)?;
    let file = arguments.file.display().to_string();
    let options = Options {
        name: name.to_owned(),
        date: arguments.date.clone(),
        file: Path::new(&file).file_name().map_or(file.clone(), |f| f.to_string_lossy().into_owned()),
        regions: arguments.region.clone(),
        families: arguments.family.clone(),
        provider: arguments.provider.clone(),
        spot: arguments.spot,
        commitments: arguments.commitments,
        machines: sizes(arguments)?,
    };
    let mut list = BufReader::with_capacity(1 << 18, Hashed { inner: open(&arguments.file)?, hash: Sha256::new() });
    let imported = import(arguments.format, &mut list, &options).map_err(|e| failed(&file, e))?;
    // Blanks after the end of the list belong to its hash, too.
    std::io::copy(&mut list, &mut std::io::sink()).map_err(|e| LabError::file("read the list", &arguments.file, &e))?;
    let hash: String = list.into_inner().hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    write(arguments, &file, imported, &hash)
}

fn write(arguments: &ImportArguments, list: &str, imported: Imported, hash: &str) -> Result<(), LabError> {
    let output = &arguments.output;
    let (machines, regions, volumes) = imported.counts();
    let (notes, skipped) = (imported.notes.clone(), imported.skipped.clone());
    let (text, snapshot) = imported.into_file(hash).map_err(|p| LabError::problems(&p))?;
    save(arguments, &text)?;
    let mut said = format!(
        "{}: {} machine prices in {regions} region{}, {volumes} volume prices, from {list}\n",
        output.display(),
        thousands(machines as u64),
        if regions == 1 { "" } else { "s" },
    );
    if !skipped.is_empty() {
        said += "left out:\n";
        let mut skipped: Vec<(&String, &u64)> = skipped.iter().collect();
        skipped.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let most = skipped.iter().map(|(_, count)| thousands(**count).len()).max().unwrap_or(0);
        for (reason, count) in skipped {
            said += &format!("  {:>most$}  {reason}\n", thousands(*count));
        }
    }
    for note in notes {
        said += &format!("note: {note}\n");
    }
    let (faults, count) = told(&output.display().to_string(), &snapshot);
    if count > 0 {
        said +=
            &format!("{faults}{count} of these prices look wrong; `perbuck prices lint {}` shows them again\n", output.display());
    }
    print(&said)
}

fn refuse_to_overwrite(arguments: &ImportArguments) -> Result<(), LabError> {
    if arguments.output.exists() && !arguments.force {
        let message = format!("{} exists already; a price list is never edited after use", arguments.output.display());
        return Err(LabError::new(ErrorKind::Refused, message, "give another name with `-o`, or replace it with `--force`"));
    }
    Ok(())
}

/// Writes the whole file or none of it.
fn save(arguments: &ImportArguments, text: &str) -> Result<(), LabError> {
    let output = &arguments.output;
    let wrong = |e: std::io::Error| LabError::file("write", output, &e);
    let temporary = output.with_extension(format!("toml.{}", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).open(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    // A link fails where the name is taken, a rename does not.
    let placed =
        written.and_then(|()| if arguments.force { fs::rename(&temporary, output) } else { fs::hard_link(&temporary, output) });
    if temporary.exists() {
        fs::remove_file(&temporary).map_err(wrong)?;
    }
    if matches!(&placed, Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists) {
        refuse_to_overwrite(arguments)?;
    }
    placed.map_err(wrong)?;
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    perbuck_lab::folder::sync(folder.unwrap_or(Path::new(".")));
    Ok(())
}

fn sizes(arguments: &ImportArguments) -> Result<Vec<perbuck_prices::snapshot::Machine>, LabError> {
    let Some(path) = &arguments.machines else { return Ok(Vec::new()) };
    machines(&mut BufReader::new(open(path)?)).map_err(|e| failed(&path.display().to_string(), e))
}

fn open(path: &Path) -> Result<Box<dyn Read>, LabError> {
    let opened = if path.as_os_str() == "-" { Named::stdin() } else { Named::open(path) };
    Ok(Box::new(opened.map_err(|e| LabError::file("read the list", path, &e))?))
}

fn failed(file: &str, error: ImportError) -> LabError {
    let problem = Problem { file: file.to_owned(), line: error.line as usize, message: error.message, help: error.help };
    LabError::problems(&[problem])
}

/// A reader that hashes what goes by.
struct Hashed {
    inner: Box<dyn Read>,
    hash: Sha256,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}
