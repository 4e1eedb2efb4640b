//! What a private server finds in its environment.

use std::process::Command;

/// How the names of variables end that hold passwords: perbuck's own, and those of database clients.
const PASSWORDS: [&str; 2] = ["PASSWORD", "_PWD"];

/// Takes the passwords out of a command's environment: they are of other contenders, and a process shows its environment to every
/// program of its user. All else stays, since a library that is loaded so is part of what is measured.
pub(super) fn without_passwords(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| PASSWORDS.iter().any(|end| name.ends_with(end))) {
            command.env_remove(name);
        }
    }
    command
}
