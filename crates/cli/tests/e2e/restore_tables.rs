//! `reset = "restore"` on MySQL and MariaDB servers that perbuck does not hold: files of tables, by DISCARD and IMPORT TABLESPACE.

use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::common::maria::{Maria, study};
use crate::common::{Desk, Ended, ended, server, signal, wait_until};
use perbuck_database::Database as _;
use perbuck_database::secret::Secret;
use perbuck_load::driver::{CopyScope, Driver as _, Session as _, SessionId};
use perbuck_load::error::DriverError;
use perbuck_load::loader::{LoadError, on_loop};
use perbuck_load::values::Rows;
use perbuck_mysql::{Mysql, MysqlDriver};

const TPCC: &str = "kind = \"tpcc\"\nwarehouses = 1\nforeign_keys = true\nhistory_key = true\nreset = \"restore\"";
const SWEEP: &str = "connections = [2]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 3";
const MARIADB: &str = "PERBUCK_TEST_MARIADB";
const MYSQL9: &str = "PERBUCK_TEST_MYSQL9";
const TABLES: &str = "customer, district, history, item, new_order, order_line, orders, stock, warehouse";
const USED_BY: &str = "SELECT used_by FROM perbuck_data";

/// A database on a server, and the server's folder.
struct Target {
    maria: Maria,
    folder: PathBuf,
}

impl Target {
    fn fresh(desk: &mut Desk, prefix: &str, name: &str) -> Self {
        let maria = Maria::fresh(desk, prefix, name);
        desk.write("s.toml", &study(&maria.url(), TPCC, SWEEP));
        Self { maria, folder: PathBuf::from(server(&format!("{prefix}_DATADIR"))) }
    }

    /// The files of copies of this database, without what all their names begin with.
    fn kept(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let all = names.filter(|name| name.starts_with("perbuck-"));
        let of = |name: String| name.split_once(&format!(".{}.", self.maria.database)).map(|(_, file)| file.to_owned());
        all.filter_map(of).collect()
    }

    fn has_copy(&self) -> bool {
        self.folder.join(format!("perbuck-keep.{}.list", self.maria.database)).exists()
    }

    /// Whether a table is exported or imported just now.
    fn moves(&self, table: &str) -> bool {
        self.folder.join(&self.maria.database).join(format!("{table}.cfg")).exists()
    }

    fn used_by(&self) -> String {
        self.maria.sql(USED_BY).trim().to_owned()
    }

    /// Checksums of all rows, statistics of InnoDB, next numbers of rows, and references.
    fn data(&self) -> [String; 4] {
        let own = format!("WHERE database_name = '{}' AND table_name NOT LIKE 'perbuck%'", self.maria.database);
        let each = |table| self.maria.sql(&format!("SELECT * FROM mysql.{table} {own} ORDER BY 1, 2, 3, 4"));
        // MariaDB reads no comment of this version.
        let numbers = "/*!80000 SET SESSION information_schema_stats_expiry = 0 */; SELECT table_name, auto_increment \
                       FROM information_schema.TABLES WHERE table_schema = DATABASE() AND table_name NOT LIKE 'perbuck%' ORDER BY 1";
        let references = "SELECT constraint_name, table_name, referenced_table_name FROM \
                          information_schema.REFERENTIAL_CONSTRAINTS WHERE constraint_schema = DATABASE() ORDER BY 1, 2";
        [
            self.maria.sql(&format!("CHECKSUM TABLE {TABLES}")),
            format!("{}{}", each("innodb_table_stats"), each("innodb_index_stats")),
            self.maria.sql(numbers),
            self.maria.sql(references),
        ]
    }

    fn driver(&self) -> MysqlDriver {
        let url = self.maria.url();
        let (scheme, rest) = url.split_once(':').unwrap();
        let target = Mysql::parse(scheme, rest).unwrap().unwrap();
        MysqlDriver::new(target.server, Secret::new(self.maria.password.clone())).unwrap()
    }
}

fn done<T>(work: impl Future<Output = Result<T, DriverError>>) -> Result<T, LoadError> {
    on_loop(async { work.await.map_err(|error| LoadError::Server { doing: "asking".to_owned(), error }) })
}

fn data_of(desk: &Desk) -> Vec<String> {
    let mut records = desk.records("results/s");
    records.sort_by_key(|record| record.key.trial);
    records.into_iter().map(|record| record.workload.data).collect()
}

/// Kills a run at a moment; returns how it would have ended where the moment did not come.
fn killed(desk: &Desk, when: &mut dyn FnMut(&mut Child) -> bool) -> Ended {
    let mut command = desk.command(&["run", "s.toml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the moment", || when(&mut child) || child.try_wait().unwrap().is_some());
    let _ = child.try_wait().unwrap().is_none().then(|| signal(&child, "KILL"));
    ended(child.wait_with_output().unwrap())
}

fn blocks_restore(prefix: &str, name: &str) {
    let mut desk = Desk::new();
    let target = Target::fresh(&mut desk, prefix, name);
    let ran = desk.good(&["run", "--verbose", "s.toml"]);
    let count = |words: &str| ran.err.matches(words).count();
    assert_eq!([count("m, w: loaded "), count("m, w: saved a copy of the data in ")], [1, 1], "{ran:#?}");
    assert_eq!(count("m, w: restored the data in "), 2, "{ran:#?}");
    assert_eq!(data_of(&desk), ["kept", "restored", "restored"]);
    let records = desk.records("results/s");
    assert!(records.iter().all(|r| r.workload.rows_before == records[0].workload.rows_before));
    assert_ne!(records[0].workload.rows_after, records[0].workload.rows_before);
    assert_eq!(target.kept(), Vec::<String>::new());
    assert!(!TABLES.split(", ").any(|table| target.moves(table)));
}

#[test]
fn blocks_begin_with_the_data_that_were_saved() {
    blocks_restore(MARIADB, "tables_restored");
}

/// A copy that a run saved is restored over what the run did to the data.
fn restored_equals_loaded(prefix: &str, name: &str) {
    let mut desk = Desk::new();
    let target = Target::fresh(&mut desk, prefix, name);
    // The server gathers statistics of loaded tables again some seconds later, whoever looks.
    target.maria.sql("SET GLOBAL innodb_stats_auto_recalc = OFF");
    desk.good(&["prepare", "s.toml"]);
    let loaded = target.data();
    assert!(loaded[0].lines().count() == 9 && loaded[1].lines().count() > 9 && loaded[3].lines().count() == 10, "{loaded:#?}");
    let trial = desk.path("results/s/m/w/c00002/001.json");
    // The second block has data that were restored over those that the first one had changed.
    let ended = killed(&desk, &mut |_| trial.exists() && target.used_by().ends_with("running"));
    assert_eq!(ended.code, None, "killed: {ended:#?}");
    let columns = "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data";
    target.maria.sql(&format!("INSERT INTO history ({columns}) SELECT {columns} FROM history LIMIT 100"));
    target.maria.sql("DELETE FROM new_order; UPDATE stock SET s_quantity = 0; ANALYZE TABLE history, new_order, stock");
    for (now, before) in target.data().iter().zip(&loaded).take(3) {
        assert_ne!(now, before);
    }
    let driver = target.driver();
    done(driver.restore_copy(&CopyScope::default(), &["UPDATE perbuck_data SET used_by = 'noted'".into()])).unwrap();
    assert_eq!(target.data(), loaded);
    assert_eq!(target.used_by(), "noted");
    let orphan = "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (99999, 1, 77)";
    let refused = done(async {
        let mut session = driver.connect(SessionId::Own(0)).await?;
        session.query(orphan, &mut Rows::default()).await
    });
    assert!(refused.unwrap_err().to_string().contains("foreign key constraint fails"));
    // Tables of another form are no tables of this copy.
    assert!(done(driver.has_copy()).unwrap());
    target.maria.sql("ALTER TABLE history ADD COLUMN more INT");
    assert!(!done(driver.has_copy()).unwrap());
    let other = done(driver.restore_copy(&CopyScope::default(), &[])).unwrap_err().to_string();
    assert!(other.contains("tables with other definitions"), "{other}");
    done(driver.drop_copy()).unwrap();
    assert_eq!(target.kept(), Vec::<String>::new());
    target.maria.sql("SET GLOBAL innodb_stats_auto_recalc = ON");
}

#[test]
fn restored_tables_are_those_that_were_loaded() {
    restored_equals_loaded(MARIADB, "tables_equal");
}

#[test]
fn mysql_9_restores_what_was_loaded() {
    restored_equals_loaded(MYSQL9, "tables_equal");
}

/// A run is killed while it saves, while it restores for the first block, and while it restores for the second one.
fn killed_runs_go_on(prefix: &str, name: &str) {
    let mut desk = Desk::new();
    let target = Target::fresh(&mut desk, prefix, name);
    desk.good(&["prepare", "s.toml"]);
    let [loaded, ..] = target.data();
    let saving = killed(&desk, &mut |_| target.kept().iter().any(|file| file.contains("stock.ibd")));
    assert_eq!(saving.code, None, "killed: {saving:#?}");
    assert!(!target.has_copy() && target.used_by() == "fresh" && target.data()[0] == loaded, "{saving:#?}");
    let restoring = killed(&desk, &mut |_| target.has_copy() && target.moves("customer"));
    assert_eq!(restoring.code, None, "killed: {restoring:#?}");
    assert_eq!(target.used_by(), "restoring");
    // What has not ended is no data to measure on, nor to count.
    let checked = desk.perbuck(&["prepare", "--check", "s.toml"]);
    assert!(checked.code == Some(1) && checked.err.contains("or a restore, has not ended"), "{checked:#?}");
    let second = desk.path("results/s/m/w/c00002/001.json");
    let later = killed(&desk, &mut |_| second.exists() && target.moves("customer"));
    assert_eq!(later.code, None, "killed: {later:#?}");
    let mixed =
        "the data are a mix, since their restore or load was cut off; going on with the copy of the data that a run before left";
    assert!(later.err.contains(mixed), "{later:#?}");
    assert_eq!(target.used_by(), "restoring");
    let resumed = desk.good(&["run", "--verbose", "s.toml"]);
    assert!(!resumed.err.contains("m, w: loaded ") && resumed.err.contains(mixed), "{resumed:#?}");
    assert_eq!(data_of(&desk), ["restored", "restored", "restored"], "{resumed:#?}");
    assert!(resumed.err.contains("of 12 conditions hold"), "{resumed:#?}");
    assert_eq!(target.kept(), Vec::<String>::new());
}

#[test]
fn a_kill_leaves_old_data_restored_ones_or_a_mix_that_is_known() {
    killed_runs_go_on(MARIADB, "tables_cut_off");
}

#[test]
fn mysql_9_knows_a_mix_after_a_kill() {
    killed_runs_go_on(MYSQL9, "tables_cut_off");
}

#[test]
fn a_mix_without_its_copy_is_loaded() {
    let mut desk = Desk::new();
    let target = Target::fresh(&mut desk, MARIADB, "tables_mixed");
    let restoring = killed(&desk, &mut |_| target.has_copy() && target.moves("stock"));
    assert_eq!(restoring.code, None, "killed: {restoring:#?}");
    done(target.driver().drop_copy()).unwrap();
    assert_eq!([target.used_by(), target.kept().concat()], ["restoring", ""]);
    let ran = desk.good(&["run", "s.toml"]);
    assert!(ran.err.contains("m, w: loaded "), "{ran:#?}");
    assert_eq!(data_of(&desk), ["kept", "restored", "restored"]);
}

#[test]
fn what_is_in_the_way_of_copies_is_told_before_the_load() {
    let mut desk = Desk::new();
    let target = Target::fresh(&mut desk, MARIADB, "tables_refused");
    let maria = &target.maria;
    let refused = |desk: &Desk, command: &[&str], words: &[&str]| {
        let ended = desk.perbuck(command);
        assert_eq!(ended.code, Some(3), "{command:?}: {ended:#?}");
        assert!(words.iter().all(|word| ended.err.contains(word)), "{command:?}: {words:?}: {ended:#?}");
        assert!(ended.err.contains("or write `reset = \"per-block\"`"), "{ended:#?}");
        assert_eq!(maria.sql("SHOW TABLES").replace("district\n", ""), "", "loaded");
        assert_eq!(target.kept(), Vec::<String>::new());
    };
    maria.sql("SET GLOBAL innodb_file_per_table = OFF");
    for command in [&["check", "--connect", "s.toml"][..], &["run", "s.toml"], &["prepare", "s.toml"]] {
        refused(&desk, command, &["tables have no files of their own", "SET GLOBAL innodb_file_per_table = ON"]);
    }
    maria.sql("SET GLOBAL innodb_file_per_table = ON");
    maria.sql("CREATE TABLE district (a INT) ENGINE = MyISAM");
    refused(&desk, &["run", "s.toml"], &["table `district` cannot be copied: it is a table of MyISAM"]);
    maria.sql("DROP TABLE district; CREATE TABLE district (a INT) PARTITION BY HASH (a) PARTITIONS 2");
    refused(&desk, &["run", "s.toml"], &["table `district` cannot be copied: it is partitioned"]);
    maria.sql("DROP TABLE district");
    // Rights. It may do what a load needs.
    maria.sql("CREATE OR REPLACE USER plain_user@'127.0.0.1' IDENTIFIED BY 'secret'; GRANT ALL ON tables_refused.* TO plain_user@'127.0.0.1'");
    desk.set("PERBUCK_M_PASSWORD", "secret");
    let own = maria.url().replace("root@", "plain_user@");
    desk.write("s.toml", &study(&own, TPCC, SWEEP));
    let rights = "the privileges RELOAD and LOCK TABLES, SELECT, INSERT and DELETE on mysql.innodb_table_stats";
    refused(&desk, &["run", "s.toml"], &["denied", rights]);
    maria.sql("DROP USER plain_user@'127.0.0.1'");
    let split = TPCC.replace("warehouses = 1\nforeign_keys = true", "warehouses = 2\npartitions = 2");
    desk.write("s.toml", &study(&maria.url(), &split, SWEEP));
    let checked = desk.perbuck(&["check", "s.toml"]);
    let why = "contender `m`: MariaDB takes no files of partitions in place of others, and `partitions` is given";
    assert!(checked.code == Some(2) && checked.err.contains(why), "{checked:#?}");
}
