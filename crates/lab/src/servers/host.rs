//! The machine that holds a private server: this one, or one that the system's `ssh` reaches.
//!
//! Nothing of perbuck need be there. A script, sent as the command of the session, says what the machine is and takes perbuck's program
//! through its standard input. The program deletes its own file as soon as it runs.

use std::env;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};

use super::guard::GUARD_COMMAND;
use super::program;

/// How the address of a host begins.
pub(crate) const SCHEME: &str = "ssh://";
/// How the folders begin in which the program arrives.
const PREFIX: &str = "perbuck-host-";
/// It asks nothing, and sees within ten seconds that a connection is cut. A session of its own: another one that shared its connection
/// would end with it, or keep it open.
const OPTIONS: [&str; 9] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=3",
    "ServerAliveCountMax=3",
    "ControlMaster=no",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
];

/// Says what the machine is, reads how many bytes follow and those bytes, and becomes that program. It arrives in the folder for temporary
/// files, and moves on to the server's where programs may not run there. A folder whose process has gone was cut off before its program
/// ran. The shell deletes its own, unless it is killed.
const SCRIPT: &str = r#"umask 077
t=${TMPDIR:-/tmp}
u=perbuck-host-$(uname -n)-
for d in "$t/$u"* "${1:-$t}/$u"*; do
  p=${d##*"/$u"}
  [ -O "$d" ] && ! kill -0 "${p%%-*}" 2>/dev/null && rm -rf "$d"
done
printf "\n[0,{\"Hello\":\"%s\"}]\n" "$(uname -sm)"
read -r n || exit 0
trap "rm -rf \"\$d\"" EXIT
trap "exit 1" HUP INT TERM
d=$(mktemp -d "$t/$u$$-XXXXXX") || { [ -n "$1" ] && d=$(mktemp -d "$1/$u$$-XXXXXX"); } || exit 1
h=$(command -v timeout) && h="$h 600"
$h head -c "$n" >"$d/perbuck"
[ "$(wc -c <"$d/perbuck")" -eq "$n" ] || exit 1
chmod 700 "$d/perbuck"
if ! "$d/perbuck" --version >/dev/null; then
  [ -n "$1" ] && e=$(mktemp -d "$1/$u$$-XXXXXX") || exit 1
  mv "$d/perbuck" "$e/"; rmdir "$d"; d=$e
  "$d/perbuck" --version >/dev/null || exit 1
fi
exec "$d/perbuck" "$2" "$d"
"#;

/// A machine that holds servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// The machine of this process.
    Here,
    /// One that `ssh` reaches.
    There(Address),
}

/// `ssh://user@name:port`. The port and the user are `ssh`'s own where they are not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    user: Option<String>,
    name: String,
    port: Option<u16>,
}

impl Address {
    /// Reads an address; else says what is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| format!("`{text}` does not begin with `{SCHEME}`"))?;
        let (user, rest) = rest.rsplit_once('@').map_or((None, rest), |(user, rest)| (Some(user.to_owned()), rest));
        // The colons of an IPv6 address stand in brackets.
        let (name, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, "")) => (name, None),
            Some((name, port)) => (name, Some(port.strip_prefix(':').ok_or_else(|| format!("`{text}` is no address"))?)),
            None => rest.split_once(':').map_or((rest, None), |(name, port)| (name, Some(port))),
        };
        let port = port.map(|port| port.parse().map_err(|_| format!("`{port}` in `{text}` is no port"))).transpose()?;
        // What begins with a dash would be an option of `ssh`.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
        let is_word = |word: &str| !word.is_empty() && !word.starts_with('-') && word.chars().all(plain);
        if !is_word(name) || user.as_deref().is_some_and(|user| !is_word(user)) {
            return Err(format!("`{text}` names no host"));
        }
        Ok(Self { user, name: name.to_owned(), port })
    }

    /// The arguments by which a user reaches it.
    pub(super) fn arguments(&self) -> String {
        let port = self.port.map(|port| format!("-p {port} ")).unwrap_or_default();
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("{port}{user}{}", self.name)
    }

    /// The command that launches perbuck there; `folder` is where its program arrives, and servers have their folders.
    fn command(&self, folder: Option<&Path>) -> Command {
        let mut command = Command::new("ssh");
        command.arg("-T").args(OPTIONS.iter().flat_map(|option| ["-o", option]));
        if let Some(port) = self.port {
            command.arg("-p").arg(port.to_string());
        }
        if let Some(user) = &self.user {
            command.arg("-l").arg(user);
        }
        // The user's own shell there only starts this one.
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        let words = ["exec", "sh", "-c", &quoted(SCRIPT), "sh", &quoted(&folder), GUARD_COMMAND].join(" ");
        command.arg("--").arg(&self.name).arg(words);
        command
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.contains(':') { format!("[{}]", self.name) } else { self.name.clone() };
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        write!(f, "{SCHEME}{user}{name}{}", self.port.map(|port| format!(":{port}")).unwrap_or_default())
    }
}

impl Host {
    /// The command that starts a guard there.
    pub(super) fn command(&self, folder: Option<&Path>) -> io::Result<Command> {
        match self {
            Self::Here => {
                let mut command = Command::new(program::own()?);
                command.arg(GUARD_COMMAND);
                Ok(command)
            }
            Self::There(address) => Ok(address.command(folder)),
        }
    }
}

/// A word of a shell, whatever is in it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The program for a machine that calls itself so (`Linux aarch64`): this one, or one for that architecture beside it.
pub(super) fn program_for(machine: &str) -> Result<PathBuf, String> {
    let arch = match machine.split_once(' ') {
        Some(("Linux", arch)) => perbuck_core::run_record::arch(arch).unwrap_or(arch),
        _ => return Err(format!("it is {machine}, and perbuck holds servers on Linux alone")),
    };
    if arch == env::consts::ARCH && cfg!(target_os = "linux") {
        // Also where the file was replaced since this process was started.
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    let own = env::current_exe().map_err(|e| e.to_string())?;
    let other = own.with_file_name(format!("perbuck-{arch}"));
    if other.is_file() { Ok(other) } else { Err(format!("it is {arch}, and there is no {}", other.display())) }
}

/// Sends the program's length in a line, and the program.
pub(super) fn send(program: &Path, to: &mut ChildStdin) -> io::Result<()> {
    let mut file = File::open(program)?;
    writeln!(to, "{}", file.metadata()?.len())?;
    io::copy(&mut file, to).map(drop)
}

/// Deletes the file from which this process was launched, if a script brought it.
pub(super) fn arrive(folder: Option<&str>) -> io::Result<()> {
    let Some(folder) = folder.map(Path::new) else { return Ok(()) };
    let brought = folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX));
    // Only the file that runs: a user may give any path.
    let resolved = fs::canonicalize(folder).unwrap_or_default();
    if brought && env::current_exe().is_ok_and(|own| own.parent() == Some(&resolved)) {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in ["ssh://a", "ssh://u@a.b:22", "ssh://[::1]:2222", "ssh://u_x@[fe80::1]", "ssh://10.0.0.1"] {
            assert_eq!(Address::read(text).unwrap().to_string(), text);
        }
        for (text, why) in [
            ("a", "`a` does not begin with `ssh://`"),
            ("ssh://", "`ssh://` names no host"),
            ("ssh://-oProxyCommand=x", "`ssh://-oProxyCommand=x` names no host"),
            ("ssh://-l@a", "`ssh://-l@a` names no host"),
            ("ssh://a b", "`ssh://a b` names no host"),
            ("ssh://a:b", "`b` in `ssh://a:b` is no port"),
            ("ssh://[::1]x", "`ssh://[::1]x` is no address"),
        ] {
            assert_eq!(Address::read(text).unwrap_err(), why);
        }
    }

    #[test]
    fn words_of_a_shell_are_quoted() {
        assert_eq!(quoted("a'b $c"), r"'a'\''b $c'");
    }

    #[test]
    fn another_machine_needs_a_program_of_its_own() {
        assert_eq!(program_for(&format!("Linux {}", env::consts::ARCH)).unwrap(), Path::new("/proc/self/exe"));
        let words = program_for("Linux riscv64").unwrap_err();
        assert!(words.starts_with("it is riscv64, and there is no ") && words.ends_with("/perbuck-riscv64"), "{words}");
        assert!(program_for("Darwin arm64").unwrap_err().contains("Darwin arm64"));
    }
}
