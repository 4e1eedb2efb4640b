//! A database of its own on the MariaDB server that `dev/with-servers` starts, and what the real tools say of it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use std::process::Command;

use super::{Desk, server};

/// One database on a test server.
pub struct Maria {
    pub host: String,
    pub port: String,
    pub password: String,
    pub database: String,
}

impl Maria {
    /// A fresh database named `name` on the server whose variables start with `prefix`; root's password goes to `desk`
    /// for a contender named `m`.
    pub fn fresh(desk: &mut Desk, prefix: &str, name: &str) -> Self {
        desk.alone_on(prefix);
        let url = server(prefix);
        let (_, address) = url.split_once('@').unwrap();
        let (host, port) = address.split_once('/').unwrap().0.split_once(':').unwrap();
        let password = server(&format!("{prefix}_PASSWORD"));
        desk.set("PERBUCK_M_PASSWORD", &password);
        let maria = Self { host: host.to_owned(), port: port.to_owned(), password, database: name.to_owned() };
        maria.in_database("", &format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}"));
        maria
    }

    pub fn url(&self) -> String {
        format!("mysql://root@{}:{}/{}", self.host, self.port, self.database)
    }

    /// Runs SQL by the real client and returns its rows, tab-separated.
    pub fn sql(&self, sql: &str) -> String {
        self.in_database(&self.database, sql)
    }

    /// The same in another database, or in none.
    pub fn in_database(&self, database: &str, sql: &str) -> String {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "-h", &self.host, "-P", &self.port, "-u", "root", "-N", "-B", "-e", sql, database])
            .env("MYSQL_PWD", &self.password)
            .output()
            .unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A counter of the whole server.
    pub fn status(&self, name: &str) -> i64 {
        let row = self.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
        row.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Runs the real sysbench on this database.
    pub fn sysbench(&self, arguments: &[&str]) -> String {
        let output = Command::new("sysbench")
            .args([&format!("--mysql-host={}", self.host), &format!("--mysql-port={}", self.port), "--mysql-user=root"])
            .args([&format!("--mysql-password={}", self.password), &format!("--mysql-db={}", self.database)])
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "sysbench {arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }
}

/// A study of one contender `m` with the given workload lines and connections.
pub fn study(url: &str, workload: &str, sweep: &str) -> String {
    format!(
        "schema = 1\nname = \"s\"\n[[contender]]\nname = \"m\"\ntarget = \"{url}\"\n[[workload]]\nname = \"w\"\n{workload}\n[sweep]\n{sweep}\n"
    )
}
