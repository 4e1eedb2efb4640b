//! The help: all options of every script, and those of one.

use perbuck_workloads::sysbench::{Compat, SCRIPTS, Script};

use super::options::{GROUPS, Kind, OLDER};
use super::script::options;
use crate::option::OptionSpec;

/// Lines of the form and what it does, in two columns as sysbench prints them.
fn columns(rows: &[(String, String)]) -> String {
    let widest = rows.iter().map(|(form, _)| form.len()).max().unwrap_or(0);
    rows.iter().map(|(form, what)| format!("  {form:<widest$} {what}\n")).collect()
}

/// What an option does, and its default if it has one.
fn described(help: &str, default: &str) -> String {
    if default.is_empty() { help.to_owned() } else { format!("{help} [{default}]") }
}

fn row(option: &OptionSpec<Kind>) -> (String, String) {
    (format!("--{}{}", option.name, option.kind.form()), described(option.help, option.default))
}

/// `perbuck sysbench --help`.
pub(super) fn general() -> String {
    let mut out = "\
Usage:
  perbuck sysbench [options]... [script] [command]

Takes the place of sysbench: put `perbuck` before a command line of sysbench's database scripts.
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
    let row = |o: super::parse::ScriptOption| (format!("--{}{}", o.name, o.kind.form()), described(&o.help, &o.default));
    let rows: Vec<(String, String)> = options(Some(script), compat).into_iter().map(row).collect();
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

    #[test]
    fn the_help_of_a_script_has_sysbenchs_names_and_defaults() {
        let text = of_script(Script::ReadWrite, Some(Compat::Sysbench10));
        assert!(text.starts_with("oltp_read_write options:\n  --auto_inc[=on|off] "), "{text}");
        for (name, default) in
            [("table_size=N", "10000"), ("skip_trx[=on|off]", "off"), ("mysql_storage_engine=STRING", "innodb")]
        {
            let line = text.lines().find(|l| l.contains(name)).unwrap_or_default();
            assert!(line.ends_with(&format!("[{default}]")), "{name}: {line}");
        }
        assert!(!text.contains("--rand_type") && !text.contains("--script"), "{text}");
    }
}
