//! `perbuck ycsb` as a user types it: on SQLite, which needs no server, and what is refused.

use crate::common::Desk;
use perbuck_core::run_record::TransactionRecord;

/// The words after `perbuck` for a database file of the desk.
fn words<'a>(order: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["ycsb", order, "sqlite", "-p", "sqlite.db=y.db", "--results=results"], more].concat()
}

/// The one text that a query of the desk's database returns.
fn ask(desk: &Desk, sql: &str) -> String {
    rusqlite::Connection::open(desk.path("y.db")).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The number after `Count: ` of an operation.
fn count(text: &str, operation: &str) -> u64 {
    let last = text.split("Run finished").last().unwrap();
    let line = last.lines().find(|l| l.split(" - ").next().unwrap().trim() == operation);
    let line = line.unwrap_or_else(|| panic!("no {operation} in\n{text}"));
    line.split("Count: ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
}

#[test]
fn load_and_run_print_the_lines_of_go_ycsb_and_keep_records() {
    let desk = Desk::new();
    let load = desk.good(&words("load", &["-P", "workloads/workloada", "-p", "recordcount=300", "--threads=2"]));
    assert_eq!(count(&load.out, "INSERT"), 300, "{}", load.out);
    assert!(load.out.starts_with("***************** properties *****************\n"), "{}", load.out);
    // Keys and columns are those of go-ycsb.
    assert_eq!(ask(&desk, "SELECT COUNT(*) || '' FROM usertable"), "300");
    let first = "SELECT LENGTH(FIELD0) || ' ' || LENGTH(FIELD9) FROM usertable WHERE YCSB_KEY = ";
    assert_eq!(ask(&desk, &format!("{first}'user6284781860667377211'")), "100 100");
    assert_eq!(ask(&desk, &format!("{first}'user6284782960179005422'")), "100 100");
    let run = desk.good(&words("run", &["-P", "workloads/workloada", "-p", "recordcount=300", "--threads", "2", "--seed=7"]));
    assert_eq!(count(&run.out, "READ") + count(&run.out, "UPDATE"), 1000, "{}", run.out);
    assert_eq!(count(&run.out, "TOTAL"), 1000);
    assert!(!run.out.contains("_MISSING") && !run.out.contains("_ERROR"), "{}", run.out);
    let columns = "Takes(s): , Count: , OPS: , Avg(us): , Min(us): , Max(us): , 50th(us): , 90th(us): , 95th(us): , 99th(us): , \
                   99.9th(us): , 99.99th(us): ";
    let total = run.out.lines().find(|l| l.starts_with("TOTAL  - ")).unwrap().strip_prefix("TOTAL  - ").unwrap();
    let titles: String = total.split(", ").map(|c| format!("{}: ", c.split(": ").next().unwrap())).collect::<Vec<_>>().join(", ");
    assert_eq!(titles, columns);
    let records = desk.records("results");
    assert_eq!(records.len(), 2);
    let of_run = records.iter().find(|r| r.key.workload == "workloada").unwrap();
    assert_eq!((of_run.workload.kind.as_str(), of_run.workload.parameters["requestdistribution"].as_str()), ("ycsb", "zipfian"));
    let operations: u64 = of_run.measured.transactions.values().map(TransactionRecord::completed).sum();
    assert_eq!(operations, 1000);
    // What is kept is a study that other commands read.
    let folder =
        desk.path("results").read_dir().unwrap().map(|e| e.unwrap().path()).find(|p| p.to_string_lossy().contains("workloada-2"));
    let folder = folder.unwrap().to_string_lossy().into_owned();
    desk.good(&["report", &folder]);
    assert!(desk.read(&format!("{folder}/report.md")).contains("workloada"));
}

#[test]
fn the_shape_of_ycsb_holds_its_lines_alone() {
    let desk = Desk::new();
    desk.good(&words("load", &["-P", "workloadf", "-p", "compat=ycsb", "--shape=ycsb"]));
    assert_eq!(ask(&desk, "SELECT COUNT(*) || '' FROM usertable WHERE YCSB_KEY = 'user8517097267634966620'"), "1");
    let run = desk.good(&words("run", &["-P", "workloadf", "-p", "compat=ycsb", "--shape=ycsb", "-target", "5000"]));
    assert!(run.out.lines().all(|l| l.starts_with('[') && l.split(", ").count() == 3), "{}", run.out);
    let value = |name: &str, what: &str| -> u64 {
        let start = format!("[{name}], {what}, ");
        run.out
            .lines()
            .find_map(|l| l.strip_prefix(&start))
            .unwrap_or_else(|| panic!("no {start} in {}", run.out))
            .parse()
            .unwrap()
    };
    // As in YCSB, the parts of a read-modify-write count as a read and an update, too.
    let both = value("READ-MODIFY-WRITE", "Operations");
    assert_eq!((value("READ", "Operations"), value("UPDATE", "Operations")), (1000, both));
    assert_eq!((value("READ", "Return=OK"), value("READ-MODIFY-WRITE", "Return=OK")), (1000, both));
    assert!(value("Intended-READ-MODIFY-WRITE", "Operations") == both && (300..700).contains(&both), "{}", run.out);
    assert!(run.out.contains("[READ], 99thPercentileLatency(us), "), "{}", run.out);
}

#[test]
fn inserts_scans_and_misses_are_counted() {
    let desk = Desk::new();
    desk.good(&words("load", &["-P", "workloade", "-p", "recordcount=200", "-p", "batch.size=100"]));
    for (workload, operation) in [("workloade", "SCAN"), ("workloadd", "READ")] {
        let run = desk.good(&words("run", &["-P", workload, "-p", "recordcount=200", "--threads=2"]));
        assert_eq!(count(&run.out, operation) + count(&run.out, "INSERT"), 1000, "{}", run.out);
        assert!(!run.out.contains("_MISSING") && !run.out.contains("_ERROR"), "{}", run.out);
    }
    assert!(ask(&desk, "SELECT COUNT(*) || '' FROM usertable").parse::<u64>().unwrap() > 250);
    // A load over the same table says what it found.
    let rerun = desk.perbuck(&words("load", &["-P", "workloada", "-p", "recordcount=200"]));
    assert_eq!((rerun.code, count(&rerun.out, "INSERT_DUPLICATE")), (Some(1), 200), "{rerun:?}");
    assert!(rerun.err.contains("200 keys existed already"), "{}", rerun.err);
    // Records that were not loaded are missing, which go-ycsb counts as a success.
    desk.good(&words("load", &["-P", "workloada", "-p", "recordcount=200", "-p", "dropdata=true"]));
    let run = desk.good(&words("run", &["-P", "workloadc", "-p", "recordcount=400", "-p", "requestdistribution=sequential"]));
    assert_eq!((count(&run.out, "READ"), count(&run.out, "READ_MISSING")), (1000, 400), "{}", run.out);
    assert!(run.err.contains("400 operations did not find a row that must be there"), "{}", run.err);
}

#[test]
fn what_is_wrong_is_named_with_the_way_out() {
    let desk = Desk::new();
    let redis = desk.perbuck(&["ycsb", "load", "redis", "-P", "workloada"]);
    assert_eq!(redis.code, Some(1));
    let way_out = "use mysql, mariadb, tidb, postgres, cockroach, yugabyte, sqlite, duckdb or tikv";
    assert!(redis.err.contains("redis is not supported") && redis.err.contains(way_out), "{redis:?}");
    let none = desk.perbuck(&words("run", &["-P", "workloada"]));
    assert!(none.code == Some(1) && none.err.contains("perbuck ycsb load makes the table"), "{none:?}");
    let odd = desk.perbuck(&words("load", &["-P", "workloada", "-p", "recordcont=5"]));
    assert!(odd.err.contains("property recordcont is unknown and has no effect; did you mean recordcount?"), "{odd:?}");
    let help = desk.good(&["ycsb", "--help"]);
    assert!(
        help.out.contains("requestdistribution") && help.out.contains("workloadf") && help.out.contains("-P"),
        "{}",
        help.out
    );
}

#[test]
fn a_password_leaves_the_command_line_and_is_in_no_output() {
    let desk = Desk::new();
    // No server listens on that port.
    let words = ["ycsb", "run", "mysql", "-P", "workloada", "-p", "mysql.port=1", "-p", "mysql.password=geheim"];
    let ended = desk.perbuck(&words);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("the password stood on the command line"), "{}", ended.err);
    assert!(!ended.err.contains("geheim") && !ended.out.contains("geheim"), "{ended:?}");
    let file = desk.write("secret.properties", "mysql.password=geheim\nmysql.port=1\n");
    let ended = desk.perbuck(&["ycsb", "run", "mysql", "-P", "workloada", "-P", file.to_str().unwrap()]);
    assert!(ended.out.contains("\"mysql.password\"=\"***\"") && !ended.out.contains("geheim"), "{ended:?}");
}
