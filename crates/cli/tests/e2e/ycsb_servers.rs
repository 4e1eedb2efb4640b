//! YCSB on real servers: data integrity on MariaDB and PostgreSQL, and a table as the real go-ycsb makes it.

use crate::common::maria::Maria;
use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended};

fn maria(desk: &mut Desk, name: &str) -> Maria {
    let maria = Maria::fresh(desk, "PERBUCK_TEST_MARIADB", name);
    desk.set("PERBUCK_YCSB_PASSWORD", &maria.password);
    maria
}

fn on_maria(desk: &Desk, maria: &Maria, order: &str, more: &[&str]) -> Ended {
    let (host, port) = (format!("mysql.host={}", maria.host), format!("mysql.port={}", maria.port));
    let db = format!("mysql.db={}", maria.database);
    desk.perbuck(&[&["ycsb", order, "mysql", "--no-record", "-p", &host, "-p", &port, "-p", &db], more].concat())
}

/// The number after `Count: ` of an operation at the end of a run; 0 where there is none.
fn count(ended: &Ended, operation: &str) -> u64 {
    let end = ended.out.split("Run finished").last().unwrap();
    let line = end.lines().find(|l| l.split(" - ").next().unwrap().trim() == operation);
    line.map_or(0, |l| l.split("Count: ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap())
}

const INTEGRITY: [&str; 6] = ["-p", "dataintegrity=true", "-p", "recordcount=500", "--threads", "8"];

#[test]
fn integrity_on_mariadb_finds_what_was_planted_and_nothing_else() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "ycsb_integrity");
    let load = on_maria(&desk, &maria, "load", &[&["-P", "workloada"][..], &INTEGRITY].concat());
    assert_eq!((load.code, count(&load, "INSERT")), (Some(0), 500), "{load:?}");
    for workload in ["workloada", "workloadf", "workloade"] {
        let run = on_maria(&desk, &maria, "run", &[&["-P", workload][..], &INTEGRITY].concat());
        let trouble = ["MISSING", "WRONG", "ERROR"].iter().filter(|w| run.out.contains(&format!("_{w}"))).count();
        assert_eq!((run.code, trouble), (Some(0), 0), "{workload}: {run:?}");
    }
    // A field that changed, one that is gone, and a row that is gone.
    maria.sql("UPDATE usertable SET FIELD3 = REVERSE(FIELD3) WHERE YCSB_KEY = 'user6284781860667377211'");
    maria.sql("UPDATE usertable SET FIELD9 = NULL WHERE YCSB_KEY = 'user6284782960179005422'");
    maria.sql("DELETE FROM usertable WHERE YCSB_KEY = 'user6284784059690633633'");
    let all = ["-P", "workloadc", "-p", "requestdistribution=sequential", "-p", "operationcount=500"];
    // One connection reads every record once.
    let run = on_maria(&desk, &maria, "run", &[&all[..], &INTEGRITY[..4]].concat());
    assert_eq!((run.code, count(&run, "READ")), (Some(1), 500), "{run:?}");
    assert_eq!((count(&run, "READ_WRONG"), count(&run, "READ_MISSING"), count(&run, "READ_ERROR")), (2, 1, 0), "{run:?}");
    assert!(run.err.contains("1 operations did not find a row that must be there, and 2 found wrong rows"), "{}", run.err);
    // Updates miss it, too: a row that is as it should be counts as found.
    let update = [&all[..], &INTEGRITY[..4], &["-p", "readproportion=0", "-p", "updateproportion=1"]].concat();
    let run = on_maria(&desk, &maria, "run", &update);
    assert_eq!((count(&run, "UPDATE"), count(&run, "UPDATE_MISSING")), (500, 1), "{run:?}");
}

/// Three rows of a table with two fields of 60 bytes that go-ycsb (d383d2b) loaded with `dataintegrity=true`, as mariadb prints
/// them.
const OF_GO_YCSB: &str = "('user6284781860667377211','user6284781860667377211:field0:8980977323673753606:168678287','user6284781860667377211:field1:8981964685115697859:109218472'), \
    ('user6284782960179005422','user6284782960179005422:field0:3535830496522108932:655901015','user6284782960179005422:field1:3536809061871027497:137868040'), \
    ('user6284784059690633633','user6284784059690633633:field0:17737358836166554966:63544959','user6284784059690633633:field1:17738346197608499219:39214842')";

#[test]
fn a_table_of_go_ycsb_is_right_to_the_last_byte() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "ycsb_golden");
    let table = "CREATE TABLE usertable (YCSB_KEY VARCHAR(64) PRIMARY KEY, FIELD0 VARCHAR(60), FIELD1 VARCHAR(60))";
    maria.sql(&format!("{table}; INSERT INTO usertable VALUES {OF_GO_YCSB}"));
    let properties = ["-p", "recordcount=3", "-p", "fieldcount=2", "-p", "fieldlength=60", "-p", "dataintegrity=true"];
    let reads = ["-P", "workloadc", "-p", "operationcount=60"];
    let run = on_maria(&desk, &maria, "run", &[&reads[..], &properties].concat());
    assert_eq!((run.code, count(&run, "READ"), count(&run, "READ_WRONG")), (Some(0), 60, 0), "{run:?}");
    let scans = [&reads[..], &properties, &["-p", "readproportion=0", "-p", "scanproportion=1"]].concat();
    let run = on_maria(&desk, &maria, "run", &scans);
    assert_eq!((run.code, count(&run, "SCAN"), count(&run, "SCAN_WRONG")), (Some(0), 60, 0), "{run:?}");
    // What we load is the same, byte for byte.
    let rows = "SELECT YCSB_KEY, FIELD0, FIELD1 FROM usertable ORDER BY YCSB_KEY";
    let theirs = maria.sql(rows);
    for batch in ["batch.size=1", "batch.size=100"] {
        let load = on_maria(&desk, &maria, "load", &[&["-p", "dropdata=true", "-p", batch][..], &properties].concat());
        assert_eq!((load.code, maria.sql(rows)), (Some(0), theirs.clone()), "{load:?}");
    }
}

#[test]
fn every_workload_is_right_on_postgresql() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "ycsb_all");
    desk.set("PERBUCK_YCSB_PASSWORD", &postgres.password);
    let (port, db) = (format!("pg.port={}", postgres.port), format!("pg.db={}", postgres.database));
    let base = ["--no-record", "-p", &port, "-p", "pg.user=perbuck", "-p", &db, "-p", "compat=ycsb"];
    let run = |order: &str, workload: &str| {
        desk.perbuck(&[&["ycsb", order, "postgres", "-P", workload][..], &base, &INTEGRITY].concat())
    };
    let load = run("load", "workloada");
    assert_eq!((load.code, count(&load, "INSERT")), (Some(0), 500), "{load:?}");
    for workload in ["workloada", "workloadb", "workloadc", "workloadd", "workloade", "workloadf"] {
        let run = run("run", workload);
        let trouble = ["MISSING", "WRONG", "ERROR"].iter().filter(|w| run.out.contains(&format!("_{w}"))).count();
        assert_eq!((run.code, trouble), (Some(0), 0), "{workload}: {run:?}");
    }
    assert!(postgres.sql("SELECT COUNT(*) FROM usertable").trim().parse::<u64>().unwrap() > 550);
}

#[test]
fn a_study_drives_mixes_on_mariadb_and_checks_its_data() {
    let mut desk = Desk::new();
    let maria = maria(&mut desk, "ycsb_study");
    let text = format!(
        "schema = 1\nname = \"s\"\n[[contender]]\nname = \"m\"\ntarget = \"{}\"\n\
         [[workload]]\nname = \"a\"\nkind = \"ycsb\"\nworkload = \"a\"\nrecordcount = 12345\ndataintegrity = true\n\
         [[workload]]\nname = \"c\"\nkind = \"ycsb\"\nworkload = \"c\"\nrecordcount = 12345\ndataintegrity = true\n\
         [sweep]\nconnections = [8]\nwarmup = \"100ms\"\nduration = \"400ms\"\ntrials = 1\n",
        maria.url()
    );
    desk.write("s.toml", &text);
    desk.good(&["run", "s.toml"]);
    assert_eq!(maria.sql("SELECT COUNT(*), COUNT(DISTINCT YCSB_KEY) FROM usertable").trim(), "12345\t12345");
    let records = desk.records("results/s");
    assert_eq!(records.len(), 2);
    for record in records {
        let read = &record.measured.transactions["READ"];
        assert!(read.committed > 0 && read.facts["missing"] == 0 && read.facts["wrong"] == 0, "{:?}", read.facts);
        assert_eq!(record.workload.parameters["requestdistribution"], "zipfian");
    }
    assert_eq!(desk.perbuck(&["prepare", "--check", "s.toml"]).code, Some(0));
    maria.sql("UPDATE usertable SET FIELD0 = 'x' WHERE YCSB_KEY = 'user6284781860667377211'");
    let broken = desk.perbuck(&["prepare", "--check", "s.toml"]);
    assert!(broken.code != Some(0) && format!("{}{}", broken.out, broken.err).contains("usertable values"), "{broken:?}");
}
