//! `reset = "restore"` of TiDB by BACKUP and RESTORE. A TiDB with stores cannot be had here: a proxy before MariaDB says that it is one, and does
//! what both statements say by copies of tables. So this shows what perbuck asks for, and in which order, and not what TiDB answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::Duration;

use crate::common::maria::Maria;
use crate::common::{Desk, ended, files, signal, wait_until};

const SECRET: &str = "hunter2/hunter2";
const KEYS: &str = "access-key=AKIAHUNTER&secret-access-key=hunter2%2Fhunter2";
const SWEEP: &str = "connections = [2]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 3";
const COM_QUERY: u8 = 3;

/// What the proxy does with the next statement that starts with these words and is about the data.
#[derive(Clone, Default)]
struct Planned {
    seen: Vec<String>,
    /// It does half of it, and never answers.
    hangs: Option<&'static str>,
    /// It repeats the statement in its error.
    refuses: Option<&'static str>,
}

struct Fake {
    maria: Arc<Maria>,
    port: u16,
    planned: Arc<Mutex<Planned>>,
}

impl Fake {
    fn start(desk: &mut Desk, name: &str) -> Self {
        let maria = Arc::new(Maria::fresh(desk, "PERBUCK_TEST_MARIADB", name));
        let drop =
            "SELECT CONCAT('DROP DATABASE `', SCHEMA_NAME, '`;') FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'kept%'";
        maria.in_database("", &maria.in_database("", drop));
        desk.set("PERBUCK_M_BACKUP", KEYS);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, planned) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Planned>>::default());
        let (of_server, plan) = (maria.clone(), planned.clone());
        spawn(move || {
            for client in listener.incoming() {
                let (maria, plan) = (of_server.clone(), plan.clone());
                spawn(move || serve(client.unwrap(), &maria, &plan));
            }
        });
        Self { maria, port, planned }
    }

    fn study(&self, contender: &str) -> String {
        format!(
            "schema = 1\nname = \"s\"\nseed = 1\n[[contender]]\nname = \"m\"\nwait_ready = \"0s\"\n{contender}\n\
             target = \"tidb://root@127.0.0.1:{}/{}?tls=disabled\"\n[[workload]]\nname = \"w\"\nkind = \"tpcc\"\nwarehouses = 1\n\
             reset = \"restore\"\n[sweep]\n{SWEEP}\n",
            self.port, self.maria.database
        )
    }

    /// Statements about the data that start with a word.
    fn seen(&self, word: &str) -> Vec<String> {
        let seen = &self.planned.lock().unwrap().seen;
        seen.iter().filter(|sql| sql.starts_with(word) && !sql.contains("perbuck_tried")).cloned().collect()
    }

    fn tables(&self) -> String {
        self.maria.sql("SHOW TABLES LIKE 'perbuck%'")
    }
}

/// Hands the packets of one client to the server, but for what only TiDB knows.
fn serve(mut client: TcpStream, maria: &Maria, planned: &Mutex<Planned>) {
    let mut server = TcpStream::connect(format!("{}:{}", maria.host, maria.port)).unwrap();
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    spawn(move || {
        // Either of them has closed.
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
    let mut head = [0; 4];
    while client.read_exact(&mut head).is_ok() {
        let mut packet = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        client.read_exact(&mut packet).unwrap();
        if head[3] == 0 && packet[0] == COM_QUERY {
            let Some(sql) = answered(&String::from_utf8_lossy(&packet[1..]), maria, planned) else { return };
            packet = [&[COM_QUERY], sql.as_bytes()].concat();
            head[..3].copy_from_slice(&(packet.len() as u32).to_le_bytes()[..3]);
        }
        if server.write_all(&[&head[..], &packet].concat()).is_err() {
            return;
        }
    }
    let _ = server.shutdown(std::net::Shutdown::Both);
}

/// What the server is asked in place of a statement; `None` where there is to be no answer.
fn answered(sql: &str, maria: &Maria, planned: &Mutex<Planned>) -> Option<String> {
    let word = sql.split(' ').next().unwrap_or_default();
    if !["BACKUP", "RESTORE"].contains(&word) {
        let told = sql.replace("TIDB_VERSION()", "'Git Commit Hash: None'");
        return Some(told.replace("VERSION()", "'8.0.11-TiDB-v8.5.6'"));
    }
    let plan = {
        let mut planned = planned.lock().unwrap();
        planned.seen.push(sql.to_owned());
        planned.clone()
    };
    if plan.refuses == Some(word) {
        return Some(format!("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'cannot do: {}'", sql.replace('\'', "|")));
    }
    // BACKUP TABLE `x`.`a`, `x`.`b` TO 's3://bucket/folder/perbuck-x-…?keys' …
    let (tables, rest) =
        sql.split_once(" TABLE ").unwrap().1.split_once(if word == "BACKUP" { " TO '" } else { " FROM '" }).unwrap();
    let folder = rest.split(['?', '\'']).next().unwrap().rsplit('/').next().unwrap();
    let folder = format!("`kept{}`", &folder[folder.len() - 16..]);
    let hangs = plan.hangs == Some(word) && !sql.contains("perbuck_tried");
    let tables: Vec<&str> = tables.split(", ").collect();
    let statements = tables[..if hangs { tables.len() / 2 } else { tables.len() }].iter().flat_map(|table| {
        let kept = format!("{folder}.{}", table.split_once('.').unwrap().1);
        let (from, to) = if word == "BACKUP" { (*table, &*kept) } else { (&*kept, *table) };
        [format!("CREATE TABLE {to} LIKE {from}"), format!("INSERT INTO {to} SELECT * FROM {from}")]
    });
    let first = if word == "BACKUP" { format!("CREATE DATABASE {folder};") } else { String::new() };
    maria.in_database("", &(first + &statements.collect::<Vec<_>>().join(";")));
    if hangs {
        // Until the test has ended.
        planned.lock().unwrap().seen.push(format!("{word} hangs"));
        sleep(Duration::from_secs(600));
        return None;
    }
    Some("DO 0".to_owned())
}

fn data_of(desk: &Desk) -> Vec<String> {
    let mut records = desk.records("results/s");
    records.sort_by_key(|record| record.key.trial);
    records.into_iter().map(|record| record.workload.data).collect()
}

const BACKUP: &str = "backup = \"s3://bucket/some/?region=r\"";

#[test]
fn tables_are_backed_up_once_and_restored_before_each_block_and_keys_stay_where_they_are() {
    let mut desk = Desk::new();
    let fake = Fake::start(&mut desk, "backed");
    desk.write("s.toml", &fake.study(BACKUP));
    let ran = desk.good(&["run", "--verbose", "s.toml"]);
    let count = |words: &str| ran.err.matches(words).count();
    assert_eq!([count("m, w: loaded "), count("m, w: saved a copy of the data in ")], [1, 1], "{ran:#?}");
    assert!(ran.err.contains("; its folder in s3://bucket/some/ stays there until you delete it"), "{ran:#?}");
    assert_eq!(count("m, w: restored the data in "), 2, "{ran:#?}");
    assert_eq!(data_of(&desk), ["kept", "restored", "restored"]);
    let records = desk.records("results/s");
    assert!(records.iter().all(|r| r.workload.rows_before == records[0].workload.rows_before));
    assert_eq!(fake.tables(), "perbuck_data\n");
    // The first block, too, runs on restored data.
    let (backups, restores) = (fake.seen("BACKUP"), fake.seen("RESTORE"));
    assert_eq!([backups.len(), restores.len()], [1, 3]);
    let (backup, tables) = (&backups[0], "BACKUP TABLE `backed`.`customer`, `backed`.`district`, `backed`.`history`, ");
    assert!(backup.starts_with(tables) && !backup.contains("perbuck_"), "{backup}");
    assert!(
        backup.contains(" TO 's3://bucket/some/perbuck-backed-") && backup.contains(&format!("?region=r&{KEYS}'")),
        "{backup}"
    );
    assert!(backup.ends_with(" IGNORE_STATS = FALSE"), "{backup}");
    let mut found = Vec::new();
    files(&desk.path("."), &mut found);
    for path in found {
        let bytes = std::fs::read(&path).unwrap();
        for secret in [SECRET, "hunter2%2F", "AKIAHUNTER"] {
            assert!(!bytes.windows(secret.len()).any(|w| w == secret.as_bytes()), "{} holds a key", path.display());
        }
    }
    assert!(!format!("{ran:?}").to_lowercase().contains("hunter"), "{ran:#?}");
}

#[test]
fn a_kill_never_leaves_a_part_of_the_data_as_if_it_were_all() {
    let mut desk = Desk::new();
    let fake = Fake::start(&mut desk, "backed");
    desk.write("s.toml", &fake.study(BACKUP));
    let killed = |desk: &Desk, when: &mut dyn FnMut() -> bool| {
        let mut child = desk.command(&["run", "s.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the moment", || when() || child.try_wait().unwrap().is_some());
        signal(&child, "KILL");
        let ended = ended(child.wait_with_output().unwrap());
        assert_eq!(ended.code, None, "{ended:#?}");
    };
    let plan = |hangs| {
        let mut planned = fake.planned.lock().unwrap();
        (planned.hangs, planned.seen) = (hangs, Vec::new());
    };
    let hanging = |word: &str| fake.seen(word).iter().any(|sql| sql.ends_with("hangs"));

    // In the middle of the backup: no note names its folder, and the next run makes another one.
    plan(Some("BACKUP"));
    killed(&desk, &mut || hanging("BACKUP"));
    assert!(!fake.tables().contains("perbuck_copy"));
    let torn = fake.seen("BACKUP")[0].clone();
    plan(None);
    killed(&desk, &mut || desk.path("results/s/m/w/c00002/001.json").exists());
    assert!(fake.tables().contains("perbuck_copy"));
    let whole = fake.seen("BACKUP")[0].clone();
    assert_ne!(torn, whole);
    // The backup that is noted is used by the next run, which is killed in the middle of a restore.
    plan(Some("RESTORE"));
    killed(&desk, &mut || hanging("RESTORE"));
    let folder = |sql: &str| sql.split("'s3://").nth(1).unwrap().split('?').next().unwrap().to_owned();
    assert_eq!(folder(&fake.seen("RESTORE")[0]), folder(&whole));
    assert_eq!(fake.seen("BACKUP"), Vec::<String>::new());
    assert_eq!(fake.maria.sql("SELECT used_by FROM perbuck_data"), "restoring\n");
    // A part of the data is there, and counts for nothing: all of it is restored again.
    plan(None);
    let ran = desk.good(&["run", "s.toml"]);
    let mixed =
        "the data are a mix, since their restore or load was cut off; going on with the copy of the data that a run before left";
    assert!(ran.err.contains(mixed) && !ran.err.contains("m, w: loaded "), "{ran:#?}");
    assert_eq!(folder(&fake.seen("RESTORE")[0]), folder(&whole));
    let records = desk.records("results/s");
    assert!(records.len() == 3 && records.iter().all(|r| r.workload.rows_before == records[0].workload.rows_before));
    assert_eq!(fake.tables(), "perbuck_data\n");
}

#[test]
fn what_cannot_be_backed_up_is_refused_before_the_load_and_keys_are_not_repeated() {
    let mut desk = Desk::new();
    let fake = Fake::start(&mut desk, "backed");
    let refused = |study: &str, code: i32| {
        desk.write("s.toml", study);
        let refused = desk.perbuck(&["run", "s.toml"]);
        assert_eq!(refused.code, Some(code), "{refused:#?}");
        assert!(!format!("{refused:?}").to_lowercase().contains("hunter"), "{refused:#?}");
        refused.err
    };
    let none = refused(&fake.study(""), 2);
    assert!(none.contains("give a contender with TiDB a storage (`backup = \"s3://BUCKET/FOLDER\"`)"), "{none}");
    let key = refused(&fake.study("backup = \"s3://bucket/some?secret-access-key=hunter2\""), 2);
    assert!(key.contains("contender `m`: `backup` holds a key") && key.contains("PERBUCK_<CONTENDER>_BACKUP"), "{key}");
    let other = refused(&fake.study(BACKUP).replace("tidb://", "mysql://").replace(&fake.port.to_string(), &fake.maria.port), 3);
    assert!(other.contains("`backup` is for TiDB, and the server is 10."), "{other}");
    fake.planned.lock().unwrap().refuses = Some("BACKUP");
    let repeated = refused(&fake.study(BACKUP), 3);
    assert!(repeated.contains("m, w: `reset = \"restore\"`: a backup of one row failed: cannot do: BACKUP TABLE"), "{repeated}");
    assert!(repeated.contains("access-key=…&secret-access-key=…"), "{repeated}");
    assert!(repeated.contains("or write `reset = \"per-block\"`"), "{repeated}");
    assert_eq!(fake.maria.sql("SHOW TABLES"), "");
}
