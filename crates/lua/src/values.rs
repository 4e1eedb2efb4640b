//! The options of a script in a study: checked against what the script declares, with their values as it sees them.

use std::collections::BTreeMap;

use perbuck_core::problem::did_you_mean;

use crate::describe::{Described, ScriptValue, describe};
use crate::limit;
use crate::script::{LuaScript, Setting};

/// What a script is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Run,
    Prepare,
}

/// What options of every script are in a study: scripts may read them, and a study says these things elsewhere.
const GENERAL: [(&str, &str); 8] = [
    ("events", "0"),
    ("time", "0"),
    ("rate", "0"),
    ("warmup_time", "0"),
    ("report_interval", "0"),
    ("percentile", "95"),
    ("verbosity", "3"),
    ("rand_seed", "0"),
];

/// Everything that is wrong with a script, found by running its text without a database: what, and the way out.
pub(crate) fn problems(script: &LuaScript, purpose: Purpose) -> Vec<(String, String)> {
    let file = script.path.display();
    let described = match describe(script, "mysql") {
        Ok(described) => described,
        Err(failure) => return vec![(failure, limit::WAY_OUT.to_owned())],
    };
    let mut all = Vec::new();
    if purpose == Purpose::Run && !described.has_event {
        all.push((format!("{file} has no function `event`"), "a load calls it for each transaction".to_owned()));
    }
    if purpose == Purpose::Prepare && !has_prepare(&described) {
        all.push((format!("{file} has no command `prepare`"), "define a function `prepare` that makes the tables".to_owned()));
    }
    let Some(options) = &described.options else { return all };
    let shared = script.maker().into_iter().flat_map(|maker| maker.given.keys());
    for (name, value) in &script.given {
        match options.iter().find(|option| option.name == *name) {
            None => {
                let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
                let help = did_you_mean(name, &names, || format!("`perbuck sysbench {file} help` lists its options"));
                all.push((format!("{file} has no option `{name}`"), help));
            }
            Some(option) if setting(&option.default, value).is_none() => {
                let (wanted, help) = match option.default {
                    ScriptValue::Switch(_) => ("on or off", "write `=on` or `=off`"),
                    _ => ("a number", "write a number, without a unit"),
                };
                all.push((format!("{file}: the option `{name}` is {wanted}, and `{value}` is none"), help.to_owned()));
            }
            Some(_) => {}
        }
    }
    let twice = shared.filter(|name| script.given.contains_key(*name));
    all.extend(twice.map(|name| (format!("`{name}` stands in `options` and in `init_options`"), "keep one of them".to_owned())));
    all
}

fn has_prepare(described: &Described) -> bool {
    described.functions.iter().any(|name| name == "prepare") || described.commands.iter().any(|(name, _)| name == "prepare")
}

/// The script with the values of all options, as a trial needs it. What is wrong with it was told before.
pub(crate) fn completed(script: &LuaScript, driver: &str) -> LuaScript {
    let Ok(described) = describe(script, driver) else { return script.clone() };
    let shared = script.maker().into_iter().flat_map(|maker| maker.given.iter());
    let given: BTreeMap<&String, &String> = shared.chain(&script.given).collect();
    let mut settings: Vec<(String, Setting)> = GENERAL.iter().map(|(name, value)| ((*name).to_owned(), number(value))).collect();
    settings.push(("db_driver".to_owned(), Setting::Text(driver.to_owned())));
    match &described.options {
        None => settings.extend(given.iter().map(|(name, value)| ((*name).clone(), Setting::Text((*value).clone())))),
        Some(options) => {
            for option in options {
                let value = given
                    .get(&option.name)
                    .and_then(|value| setting(&option.default, value))
                    .or_else(|| default(&option.default));
                settings.retain(|(name, _)| *name != option.name);
                settings.extend(value.map(|value| (option.name.clone(), value)));
            }
        }
    }
    LuaScript { settings, legacy: described.options.is_none(), shares: described.shares, ..script.clone() }
}

fn number(text: &str) -> Setting {
    text.parse().map_or_else(|_| Setting::Text(text.to_owned()), Setting::Number)
}

/// A value as the script sees it; `None` where it has another type.
fn setting(default: &ScriptValue, text: &str) -> Option<Setting> {
    match default {
        ScriptValue::Switch(_) => match text {
            "on" | "true" | "1" => Some(Setting::Switch(true)),
            "off" | "false" | "0" => Some(Setting::Switch(false)),
            _ => None,
        },
        ScriptValue::Number(_) => text.parse().ok().filter(|n: &f64| n.is_finite()).map(Setting::Number),
        ScriptValue::Text(_) => Some(Setting::Text(text.to_owned())),
        ScriptValue::List(_) => Some(list(text)),
    }
}

fn list(text: &str) -> Setting {
    Setting::List(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect())
}

fn default(value: &ScriptValue) -> Option<Setting> {
    match value {
        ScriptValue::Switch(on) => Some(Setting::Switch(*on)),
        ScriptValue::Number(text) => Some(number(text)),
        ScriptValue::Text(text) => text.clone().map(Setting::Text),
        ScriptValue::List(text) => Some(list(text)),
    }
}
