//! The help: all options of every script, and those of one.

use perbuck_workloads::sysbench::{Compat, SCRIPTS, Script};

use super::options::{GROUPS, OLDER, Spec};
use super::script::options;

/// Lines of the form and what it does, in two columns as sysbench prints them.
fn columns(rows: &[(String, String)]) -> String {
    let widest = rows.iter().map(|(form, _)| form.len()).max().unwrap_or(0);
    rows.iter().map(|(form, what)| format!("  {form:<widest$} {what}\n")).collect()
}

/// An option with what it does, and its default if it has one.
fn row(option: &Spec) -> (String, String) {
    let default = if option.default.is_empty() { String::new() } else { format!(" [{}]", option.default) };
    (format!("--{}{}", option.name, option.kind.form()), format!("{}{default}", option.help))
}

/// Options with what they do.
pub(super) fn columns_of(options: &[Spec]) -> String {
    columns(&options.iter().map(row).collect::<Vec<_>>())
}

/// `perbuck sysbench --help`.
pub(super) fn general() -> String {
    let mut out = "\
Usage:
  perbuck sysbench [options]... [script] [command]

Replaces sysbench: put `perbuck` before a command line of sysbench's database scripts.
Commands: prepare run cleanup help, and prewarm, which reads the tables into memory

"
    .to_owned();
    for group in &GROUPS {
        let rows: Vec<(String, String)> = group.options.iter().map(row).collect();
        out += &format!("{}\n{}\n", group.title, columns(&rows));
    }
    let older = OLDER.map(|(old, new)| (format!("--{old}"), format!("--{new}")));
    out += &format!("Older names:\n{}\nScripts:\n", columns(&older));
    SCRIPTS.iter().for_each(|(name, _)| out += &format!("  {name}\n"));
    out + "\nSee 'perbuck sysbench <script> help' for a list of options for each script.\n\n"
}

/// `perbuck sysbench SCRIPT help`.
pub(super) fn of_script(script: Script, compat: Option<Compat>) -> String {
    let rows: Vec<(String, String)> = options(Some(script), compat).iter().map(row).collect();
    format!("{} options:\n{}\n", script.name(), columns(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_option_and_script() {
        let text = general();
        for name in super::super::options::all().map(|o| o.name).chain(OLDER.map(|o| o.0)) {
            assert!(text.contains(&format!("  --{name}")), "{name}");
        }
        assert!(SCRIPTS.iter().all(|(name, _)| text.contains(name)));
        assert!(text.contains("--threads=N") && text.contains("[1]\n"), "{text}");
    }
}
