//! Which database, and where: the options and variables of PostgreSQL's programs as an address.

use std::env;

use perbuck_database::registry::AnyTarget;

use crate::flags::Given;
use crate::refused::Refused;
use crate::target::{as_the_program, default_port, host_or_folder, parsed, port, postgres_compatible, servers, sslmode};

/// The variable of the database's own client that holds a password.
pub(super) fn password_variable(target: &AnyTarget) -> &'static str {
    if target.dialect().family() == "mysql" { "MYSQL_PWD" } else { "PGPASSWORD" }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

pub(super) fn target(given: &Given) -> Result<AnyTarget, Refused> {
    let word = given.words.first().map(String::as_str);
    if let Some(extra) = given.words.get(1) {
        let message = format!("too many command-line arguments (first is \"{extra}\")");
        return Err(Refused::usage(message, "give the name of one database"));
    }
    let address =
        Some(given.text("target")).filter(|address| !address.is_empty()).or_else(|| word.filter(|word| word.contains("://")));
    if let Some(address) = address {
        if let Some(name) = ["host", "port", "username", "driver"].into_iter().find(|name| given.has(name)) {
            return Err(Refused::usage(format!("--{name} and an address are both given"), format!("leave --{name} out")));
        }
        return parsed(address);
    }
    let scheme = match given.text("driver") {
        driver @ ("mysql" | "tidb" | "postgres") => driver,
        "mariadb" => "mysql",
        driver => postgres_compatible(driver)
            .ok_or_else(|| given.invalid("driver", "use postgres, mysql, tidb, cockroach or yugabyte"))?,
    };
    let is_mysql = matches!(scheme, "mysql" | "tidb");
    let named = |option: &str, names: [&str; 2]| {
        let typed = Some(given.text(option)).filter(|typed| !typed.is_empty()).map(str::to_owned);
        typed.or_else(|| variable(names[usize::from(is_mysql)]))
    };
    let host = named("host", ["PGHOST", "MYSQL_HOST"]).unwrap_or_else(|| "localhost".to_owned());
    let typed = named("port", ["PGPORT", "MYSQL_TCP_PORT"]);
    let number = typed.as_deref().map_or(Some(default_port(scheme)), port);
    let number = number.ok_or_else(|| given.invalid("port", "give a port from 1 to 65535"))?;
    let own = || variable("USER").or_else(|| variable("LOGNAME"));
    let user = named("username", ["PGUSER", "MYSQL_USER"])
        .or_else(own)
        .unwrap_or_else(|| if is_mysql { "root" } else { "postgres" }.to_owned());
    let database = word.map(str::to_owned).or_else(|| variable(if is_mysql { "MYSQL_DATABASE" } else { "PGDATABASE" }));
    let mode = match variable("PGSSLMODE").filter(|_| !is_mysql) {
        Some(word) => sslmode(&word).ok_or_else(|| {
            Refused::usage(format!("PGSSLMODE is \"{word}\""), "use disable, allow, prefer, require, verify-ca or verify-full")
        })?,
        None => "preferred",
    };
    let database = database.unwrap_or_else(|| user.clone());
    let settings =
        variable("PGOPTIONS").filter(|_| !is_mysql).map(|text| session_settings(&text)).transpose()?.unwrap_or_default();
    let mut options = vec![("tls", mode.to_owned())];
    options.extend(settings.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let host = if is_mysql { (host, number) } else { host_or_folder((host, number)) };
    servers(scheme, &user, &[host], &database, &options).map(as_the_program)
}

/// The settings in PGOPTIONS, `-c NAME=VALUE` each, as options of an address. A backslash keeps the sign after it.
fn session_settings(text: &str) -> Result<Vec<(String, String)>, Refused> {
    let (mut words, mut chars) = (vec![String::new()], text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => words.last_mut().into_iter().for_each(|word| word.extend(chars.clone().next())),
            ' ' => words.push(String::new()),
            c => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
        if c == '\\' {
            chars.next();
        }
    }
    let wrong = || Refused::usage(format!("PGOPTIONS is \"{text}\""), "perbuck reads -c NAME=VALUE in it, and nothing else");
    let mut all = Vec::new();
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("-c") {
            Some("") => words.next().ok_or_else(wrong)?,
            Some(rest) => rest.to_owned(),
            None => word.strip_prefix("--").ok_or_else(wrong)?.to_owned(),
        };
        let (name, value) = setting.split_once('=').ok_or_else(wrong)?;
        all.push((format!("set.{name}"), value.to_owned()));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_session_are_read_from_the_variable() {
        let all = session_settings("-c default_transaction_isolation=repeatable\\ read  -cwork_mem=4MB --jit=off").unwrap();
        let all: Vec<(&str, &str)> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [("set.default_transaction_isolation", "repeatable read"), ("set.work_mem", "4MB"), ("set.jit", "off")];
        assert_eq!(all, expected);
        assert!(session_settings("-E").is_err() && session_settings("-c x").is_err() && session_settings("-c").is_err());
    }
}
