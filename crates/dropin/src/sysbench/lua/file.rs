//! Which file a command line means.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use perbuck_workloads::sysbench::SCRIPTS;

use crate::sysbench::log::Called;

/// The name of the script that stands on standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// Where sysbench's package has its scripts.
const PACKAGES: [&str; 2] = ["/usr/share/sysbench", "/usr/local/share/sysbench"];

/// The script in Lua that a command line names; `None` where it names none that can be found. A file outside of sysbench's package is read
/// whatever its name. One of the package that perbuck has built in is read for `--lua`, and for its help under sysbench's name.
pub(in crate::sysbench) fn wanted(words: &[OsString], called: Called) -> Option<PathBuf> {
    let texts = || words.iter().map(|word| word.to_string_lossy());
    let of_option = texts().find_map(|word| word.strip_prefix("--test=").map(str::to_owned));
    let typed = of_option.or_else(|| texts().find(|word| !word.starts_with("--")).map(std::borrow::Cow::into_owned));
    // sysbench reads what is piped to it where no script is named.
    let is_asked = |word: std::borrow::Cow<'_, str>| matches!(&*word, "--help" | "--version");
    let piped = || called == Called::Sysbench && !texts().any(is_asked) && !std::io::stdin().is_terminal();
    let typed = typed.or_else(|| piped().then(|| STANDARD_INPUT.to_owned()))?;
    if typed == STANDARD_INPUT {
        return Some(typed.into());
    }
    let asked = texts().any(|word| matches!(&*word, "--lua" | "--lua=on" | "--lua=true" | "--lua=1"));
    let stem = Path::new(&typed).file_name()?.to_string_lossy().into_owned();
    let stem = stem.strip_suffix(".lua").unwrap_or(&stem);
    let has_own = SCRIPTS.iter().any(|(name, _)| *name == stem);
    let helps = called == Called::Sysbench && texts().any(|word| word == "help");
    // A plain name means the script that is built in, whatever files there are.
    let is_file = typed.contains('/') || typed.ends_with(".lua");
    find(&typed).filter(|path| !has_own || asked || helps || is_file && !is_packaged(path))
}

fn is_packaged(path: &Path) -> bool {
    let folder = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
    folder.is_some_and(|folder| PACKAGES.iter().any(|package| folder == Path::new(package)))
}

/// The file of a name: as typed, with `.lua`, or in a folder of sysbench's package.
fn find(typed: &str) -> Option<PathBuf> {
    let with_suffix = || if typed.ends_with(".lua") { typed.to_owned() } else { format!("{typed}.lua") };
    let plain = [PathBuf::from(typed), PathBuf::from(with_suffix())];
    let packaged = PACKAGES.iter().filter(|_| !typed.contains('/')).map(|folder| Path::new(folder).join(with_suffix()));
    plain.into_iter().chain(packaged).find(|path| path.is_file())
}
