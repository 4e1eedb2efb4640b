use std::io::Write;

use super::super::log::Called;
use super::*;
use crate::cases::words;
use crate::study::hold_against_its_text;

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().prefix("mine_").suffix(".lua").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// A script as a command line makes it.
fn made(text: &str, options: &[&str]) -> Result<(LuaScript, Settings, Described), End> {
    let file = file(text);
    let path = file.path();
    let all = [&[path.to_str().unwrap()], options].concat();
    let words = words(&all);
    assert_eq!(wanted(&words, Called::Perbuck).as_deref(), Some(path));
    let plain = parse::parse(&settings::known(&words), &[])?;
    let mut script = settings::script(path, &plain)?;
    let described = perbuck_lua::describe(&script, "mysql").map_err(|e| failed(&e))?;
    let specs = settings::specs(&described, &words);
    let given = parse::parse(&words, &specs)?;
    let read = Settings::read(&given)?;
    settings::complete(&mut script, &given, &specs, &described, &read)?;
    Ok((script, read, described))
}

fn of<'a>(script: &'a LuaScript, name: &str) -> Option<&'a perbuck_lua::Setting> {
    script.settings.iter().find(|(known, _)| known == name).map(|(_, setting)| setting)
}

const OPTIONS: &str = "sysbench.cmdline.options = { rows = {'Rows', 10}, fast = {'Fast', false}, where = {'Where'}, \
                       list = {'List', {'a', 'b'}} }\nfunction event() end";

#[test]
fn options_have_the_types_that_the_script_declares() {
    use perbuck_lua::Setting::{List, Number, Switch, Text};
    let (script, read, _) = made(OPTIONS, &["--rows=1e3", "--fast", "--threads=3", "run"]).unwrap();
    assert_eq!(of(&script, "rows"), Some(&Number(1000.0)));
    assert_eq!((of(&script, "fast"), of(&script, "where")), (Some(&Switch(true)), None));
    assert_eq!(of(&script, "list"), Some(&List(vec!["a".into(), "b".into()])));
    assert_eq!((of(&script, "threads"), of(&script, "db_driver")), (Some(&Number(3.0)), Some(&Text("mysql".into()))));
    assert!(of(&script, "mysql_password").is_none());
    hold_against_its_text(&series(&script, &read));
}

#[test]
fn a_file_that_was_changed_is_another_workload() {
    let (script, read, _) = made("function event() end", &["run"]).unwrap();
    let changed = LuaScript { source: std::sync::Arc::new(b"function event() return 1 end".to_vec()), ..script.clone() };
    assert_eq!(series(&script, &read).name, series(&script, &read).name);
    assert_ne!(series(&script, &read).name, series(&changed, &read).name);
}

#[test]
fn an_unknown_option_is_refused_where_the_script_declares_its_own() {
    let Err(End::Refused(refused)) = made(OPTIONS, &["--row=3", "run"]) else { panic!("it was taken") };
    assert_eq!((refused.message.as_str(), refused.help.as_str()), ("invalid option: --row", "did you mean --rows?"));
}

#[test]
fn a_script_of_sysbench_0_5_has_any_option() {
    let (script, ..) = made("function event() end", &["--oltp-table-size=7", "--num-threads=2", "run"]).unwrap();
    assert!(script.legacy);
    assert_eq!(of(&script, "oltp_table_size").map(perbuck_lua::Setting::text).as_deref(), Some("7"));
}

#[test]
fn what_lua_says_of_a_script_names_its_line() {
    let Err(End::Refused(refused)) = made("\nfoo\n", &["run"]) else { panic!("it was taken") };
    assert!(refused.message.ends_with(".lua:3: '=' expected near '<eof>'"), "{}", refused.message);
}

#[test]
fn commands_are_those_of_the_script() {
    let text =
        "sysbench.cmdline.commands = { fill = {function() end, sysbench.cmdline.PARALLEL_COMMAND} }\nfunction cleanup() end";
    let (_, _, described) = made(text, &["fill"]).unwrap();
    assert_eq!(described.commands, [("fill".to_owned(), true)]);
    for known in ["fill", "cleanup", "run", "help"] {
        assert_eq!(command(known, &described).unwrap(), known);
    }
    let refused = command("fil", &described).unwrap_err();
    assert_eq!(refused.help, "the script has: fill, cleanup, run, help");
}

#[test]
fn scripts_that_are_built_in_run_as_lua_where_that_is_asked_for_or_the_file_is_not_that_of_the_package() {
    assert_eq!(wanted(&words(&["oltp_read_only", "run"]), Called::Perbuck), None);
    assert_eq!(wanted(&words(&["./no_such_file.lua", "run"]), Called::Perbuck), None);
    let own = file("function event() end");
    let folder = own.path().parent().unwrap();
    let copy = folder.join("oltp_delete.lua");
    std::fs::write(&copy, "function event() end").unwrap();
    for called in [Called::Perbuck, Called::Sysbench] {
        assert_eq!(wanted(&words(&["/usr/share/sysbench/oltp_delete.lua", "run"]), called), None);
        assert_eq!(wanted(&words(&[copy.to_str().unwrap(), "run"]), called), Some(copy.clone()));
    }
    std::fs::remove_file(copy).unwrap();
}
