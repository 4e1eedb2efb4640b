//! The options of a script: those that it declares, and the values of all.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use perbuck_console::print;
use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::file_text;
use perbuck_database::Dialect;
use perbuck_lua::{Console, Described, LuaScript, ScriptValue, Setting, random_options};
use perbuck_workloads::Benchmark;

use super::super::help::columns_of;
use super::super::options::{Kind, OLDER, PASSWORDS, Spec, all, canonical, find};
use super::super::parse::Given;
use super::super::script::SHARED;
use super::super::settings::{Settings, text};
use super::file::STANDARD_INPUT;
use super::unreadable;
use crate::option::{chosen, done, split};
use crate::refused::{End, Refused};

/// The words that every script knows: the first look at a script needs no others.
pub(super) fn known(words: &[OsString]) -> Vec<OsString> {
    use std::os::unix::ffi::OsStrExt;
    let knows = |word: &&OsString| {
        word.as_bytes().strip_prefix(b"--").is_none_or(|option| {
            let name = canonical(&split(option).0);
            name == "test" || find(&name).is_some() || chosen(&name, &OLDER).is_some() || PASSWORDS.contains(&name.as_str())
        })
    };
    words.iter().filter(knows).cloned().collect()
}

fn read_all(mut from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    from.read_to_end(&mut all).map(|_| all)
}

/// What sysbench calls the driver of a database.
pub(super) fn driver_name(dialect: &dyn Dialect) -> &'static str {
    if dialect.family() == "postgres" { "pgsql" } else { dialect.family() }
}

/// A script whose options are those of every script.
pub(super) fn script(path: &Path, given: &Given) -> Result<LuaScript, End> {
    let source = match path == Path::new(STANDARD_INPUT) {
        true => read_all(std::io::stdin()),
        false => std::fs::read(path),
    };
    let source = source.map_err(|error| unreadable(path, &error))?;
    let to_log = |line: &[u8]| drop(print(&format!("{}\n", String::from_utf8_lossy(line))));
    // A reader that is gone ends the run elsewhere.
    let console = Console::new(|text| drop(print(&String::from_utf8_lossy(text))), to_log);
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut script = LuaScript::of_file(whole, record_name(path), source);
    script.command.clone_from(&given.command);
    script.console = console;
    script.settings = general(given);
    Ok(script)
}

/// The options of every script, as scripts see them.
fn general(given: &Given) -> Vec<(String, Setting)> {
    let seen = all().filter(|spec| !PASSWORDS.contains(&spec.name));
    seen.map(|spec| (spec.name.replace('-', "_"), setting(spec, text(given, spec.name)))).collect()
}

fn setting(spec: &Spec, text: &str) -> Setting {
    let number = |text: &str| text.parse().map_or_else(|_| Setting::Text(text.to_owned()), Setting::Number);
    match spec.kind {
        // Scripts print the one percentile that sysbench has.
        _ if spec.name == "percentile" => number(text.split(',').next().unwrap_or_default()),
        Kind::Switch => Setting::Switch(text == "on"),
        Kind::Int | Kind::Number => number(text),
        Kind::Size => number(&bytes(text)),
        Kind::Text => Setting::Text(text.to_owned()),
        Kind::List => Setting::List(text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()),
    }
}

/// A size with its unit worked out.
fn bytes(text: &str) -> String {
    let factor = match text.chars().last().map(|c| c.to_ascii_uppercase()) {
        Some('K') => 1u64 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some('T') => 1 << 40,
        _ => return text.to_owned(),
    };
    text[..text.len() - 1].parse::<u64>().map_or_else(|_| text.to_owned(), |size| size.saturating_mul(factor).to_string())
}

/// The options that a script declares; where it declares none, every option of the words that no script knows, as sysbench 0.5 took them.
pub(super) fn specs(described: &Described, words: &[OsString]) -> Vec<Spec> {
    use std::os::unix::ffi::OsStrExt;
    let Some(options) = &described.options else {
        let unknown = words.iter().filter(|word| !known(std::slice::from_ref(*word)).contains(word));
        let name = |word: &OsString| split(word.as_bytes().strip_prefix(b"--").unwrap_or_default()).0.replace('-', "_");
        return unknown.map(|word| done(leaked(&name(word)), Kind::Text, "", "an option of the script")).collect();
    };
    let spec = |option: &perbuck_lua::ScriptOption| {
        let (kind, default) = match &option.default {
            ScriptValue::Switch(on) => (Kind::Switch, if *on { "on" } else { "off" }.to_owned()),
            ScriptValue::Number(number) => (Kind::Number, number.clone()),
            ScriptValue::Text(text) => (Kind::Text, text.clone().unwrap_or_default()),
            ScriptValue::List(list) => (Kind::List, list.clone()),
        };
        done(leaked(&option.name), kind, leaked(&default), leaked(&option.help))
    };
    // One that every script knows means the same here.
    options.iter().filter(|option| find(&option.name).is_none()).map(spec).collect()
}

/// A text that lasts as long as the process, as those of options do: a command line has one script.
fn leaked(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// Gives a script the values of its options.
pub(super) fn complete(
    script: &mut LuaScript,
    given: &Given,
    specs: &[Spec],
    described: &Described,
    settings: &Settings,
) -> Result<(), Refused> {
    script.settings = general(given);
    script.legacy = described.options.is_none();
    for spec in specs {
        let declared = described.options.iter().flatten().find(|option| option.name == spec.name);
        let without = declared.is_some_and(|option| option.default == ScriptValue::Text(None));
        match given.own.get(spec.name) {
            // No default is nil.
            None if without => {}
            typed => script.settings.push((spec.name.to_owned(), setting(spec, typed.map_or(spec.default, String::as_str)))),
        }
    }
    script.given.clone_from(&given.own);
    let random = SHARED.iter().filter_map(|name| Some((name.replace('-', "_"), given.general.get(*name)?.clone())));
    script.random_given = random.collect();
    if let Some(compat) = settings.compat {
        script.random_given.insert("compat".to_owned(), compat.name().to_owned());
    }
    let problem = |problems: Vec<perbuck_workloads::params::ParamProblem>| {
        let first = problems.into_iter().next();
        first.map_or_else(|| Refused::usage("options of random numbers are wrong", ""), |p| Refused::usage(p.message, p.help))
    };
    script.random = Arc::new(random_options(&script.random_given).map_err(problem)?);
    script.tolerance = settings.load.tolerance.clone();
    script.compiled = matches!(text(given, "luajit-cmd"), "on");
    if script.legacy {
        // What sysbench's older scripts read: a default of its driver for MySQL, and the older name of `threads`.
        let own = [("num_threads", f64::from(settings.load.connections)), ("myisam_max_rows", 1e6)];
        script.settings.extend(own.map(|(name, number)| (name.to_owned(), Setting::Number(number))));
    }
    Ok(())
}

/// The options of the script, for its help.
pub(super) fn help(path: &Path, specs: &[Spec]) -> String {
    format!("{} options:\n{}\n", path.file_name().unwrap_or_default().to_string_lossy(), columns_of(specs))
}

/// A name for its study: letters, digits, `-` and `_`.
pub(super) fn study_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let name = name.trim_matches(['-', '_']);
    if name.is_empty() { "script".to_owned() } else { name.to_ascii_lowercase() }
}

/// What a study calls the file: its name without what separates the files of a list.
fn record_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().replace([',', '@', ':', ' '], "-");
    if path == Path::new(STANDARD_INPUT) { "stdin.lua".to_owned() } else { name }
}

/// The script as a study names it, with its text and those of its modules.
pub(super) fn parameters(script: &LuaScript) -> BTreeMap<String, Scalar> {
    let words =
        script.parameters().into_iter().filter(|(name, value)| !value.is_empty() && matches!(&**name, "options" | "random"));
    let names: Vec<&str> = [script.name.as_str()].into_iter().chain(script.modules.keys().map(String::as_str)).collect();
    let own = (file_text(&script.name), String::from_utf8_lossy(&script.source).into_owned());
    let modules = script.modules.iter().map(|(name, text)| (file_text(name), text.clone()));
    let all = words.chain([("file".to_owned(), names.join(", ")), own]).chain(modules);
    all.map(|(name, value)| (name, Scalar::Text(value))).collect()
}
