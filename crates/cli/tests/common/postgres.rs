//! A database of its own on the PostgreSQL server that `dev/with-servers` starts, and what the real tools say of it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use std::process::{Command, Output};

use super::{Desk, server};

/// One database on a test server.
#[derive(Clone)]
pub struct Postgres {
    pub port: String,
    pub password: String,
    pub database: String,
    pub admin_password: String,
}

impl Postgres {
    /// A fresh database named `name`; its owner's password goes to `desk` for a contender named `m`.
    pub fn fresh(desk: &mut Desk, name: &str) -> Self {
        Self::on(desk, "PERBUCK_TEST_POSTGRES", name)
    }

    /// The same on the server that may be killed.
    pub fn mortal(desk: &mut Desk, name: &str) -> Self {
        Self::on(desk, "PERBUCK_TEST_POSTGRES_KILL", name)
    }

    /// On the server whose variables start with `prefix`.
    fn on(desk: &mut Desk, prefix: &str, name: &str) -> Self {
        desk.alone_on(prefix);
        let variable = |word: &str| server(&format!("{prefix}_{word}"));
        let (port, password, admin_password) = (variable("PORT"), variable("PASSWORD"), variable("ADMIN_PASSWORD"));
        desk.set("PERBUCK_M_PASSWORD", &password);
        let postgres = Self { port, password, database: name.to_owned(), admin_password };
        for sql in [&*format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"), &*format!("CREATE DATABASE {name} OWNER perbuck")] {
            postgres.ask("postgres", &postgres.admin_password, "postgres", sql);
        }
        postgres
    }

    pub fn url(&self) -> String {
        format!("postgres://perbuck@127.0.0.1:{}/{}", self.port, self.database)
    }

    /// Whether the server lets its owner in.
    pub fn answers(&self) -> bool {
        let ready =
            ["--host=127.0.0.1", &format!("--port={}", self.port), &format!("--dbname={}", self.database)].map(str::to_owned);
        Command::new("pg_isready").args(ready).arg("--quiet").status().unwrap().success()
    }

    /// Runs SQL by the real client and returns its rows, tab-separated.
    pub fn sql(&self, sql: &str) -> String {
        self.ask("perbuck", &self.password, &self.database, sql)
    }

    /// The same as the superuser.
    pub fn admin_sql(&self, sql: &str) -> String {
        self.ask("postgres", &self.admin_password, &self.database, sql)
    }

    /// Until it is dropped the server vacuums nothing by itself, which would be work of others: it visits each database of the tests.
    pub fn without_autovacuum(&self) -> WithoutAutovacuum<'_> {
        self.autovacuum("off");
        WithoutAutovacuum(self)
    }

    fn autovacuum(&self, word: &str) {
        self.admin_sql(&format!("ALTER SYSTEM SET autovacuum = {word}"));
        self.admin_sql("SELECT pg_reload_conf()");
    }

    fn ask(&self, user: &str, password: &str, database: &str, sql: &str) -> String {
        let output = Command::new("psql")
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--field-separator=\t"])
            .args(["--host=127.0.0.1", &format!("--port={}", self.port), &format!("--username={user}"), "-c", sql, database])
            .env("PGPASSWORD", password)
            .output()
            .unwrap();
        text_of(sql, &output)
    }

    /// Runs the real sysbench on this database.
    pub fn sysbench(&self, arguments: &[&str]) -> String {
        let output = Command::new("sysbench")
            .args(["--db-driver=pgsql", "--pgsql-host=127.0.0.1", &format!("--pgsql-port={}", self.port)])
            .args(["--pgsql-user=perbuck", &format!("--pgsql-password={}", self.password)])
            .arg(format!("--pgsql-db={}", self.database))
            .args(arguments)
            .output()
            .unwrap();
        text_of(&format!("sysbench {arguments:?}"), &output)
    }
}

fn text_of(what: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{what}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// See [`Postgres::without_autovacuum`].
pub struct WithoutAutovacuum<'a>(&'a Postgres);

impl Drop for WithoutAutovacuum<'_> {
    fn drop(&mut self) {
        self.0.autovacuum("on");
    }
}
