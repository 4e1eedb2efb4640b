//! `perbuck tpcc` beside go-tpc: its command lines work, what people parse its output with reads ours, and what it leaves
//! unsaid is there.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::maria::Maria;
use crate::common::postgres::Postgres;
use crate::common::side::{Side, numbers};
use crate::common::{Desk, Ended, ended, signal, wait_until};

/// What a line of shell, as people have them in their scripts, makes of an output.
fn asked(out: &str, line: &str) -> String {
    let mut shell = Command::new("sh").args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(out.as_bytes()).unwrap();
    ended(shell.wait_with_output().unwrap()).out.trim().to_owned()
}

const LABELS: &str = "Takes(s), Count, TPM, Sum(ms), Avg(ms), 50th(ms), 90th(ms), 95th(ms), 99th(ms), 99.9th(ms), Max(ms)";
const KINDS: [&str; 5] = ["DELIVERY", "NEW_ORDER", "ORDER_STATUS", "PAYMENT", "STOCK_LEVEL"];

/// Holds the last lines of a run against what go-tpc prints and against each other.
fn summary_adds_up(out: &str, warehouses: f64) {
    let lines: Vec<&str> = out.lines().collect();
    let finished = lines.iter().position(|l| *l == "Finished").unwrap();
    let summary = &lines[finished + 1..lines.len() - 1];
    for (line, kind) in summary.iter().filter(|l| !l.contains("_ERR")).zip(KINDS) {
        // go-tpc 682637f: [Summary] NEW_ORDER - Takes(s): 20.0, Count: 13, TPM: 39.0, Sum(ms): 2.0, …, Max(ms): 1.0
        assert!(line.starts_with(&format!("[Summary] {kind} - Takes(s): ")), "{line}");
        let labels: Vec<&str> = line.split(" - ").nth(1).unwrap().split(", ").map(|p| p.split(':').next().unwrap()).collect();
        assert_eq!(labels.join(", "), LABELS);
        assert!(line.split(", ").all(|p| p.ends_with(|c: char| c.is_ascii_digit())), "{line}");
    }
    let rows = numbers(out, "[Summary] ");
    let mut total = 0.0;
    for row in rows.iter().filter(|(name, _)| !name.ends_with("_ERR")).map(|(_, row)| row) {
        let of = |label: &str| row[label];
        assert!((of("TPM") - of("Count") / of("Takes(s)") * 60.0).abs() <= of("TPM") * 0.06 / of("Takes(s)") + 0.2, "{row:?}");
        assert!((of("Avg(ms)") - of("Sum(ms)") / of("Count")).abs() <= 0.11, "{row:?}");
        let rising = ["50th(ms)", "90th(ms)", "95th(ms)", "99th(ms)", "99.9th(ms)", "Max(ms)"].map(of);
        assert!(rising.is_sorted(), "{row:?}");
        total += of("TPM");
    }
    let closing = |field: u8| asked(out, &format!("tail -1 | awk -F'[:,%]' '/^tpmC: / {{ print ${field} }}'"));
    let [tpmc, tpm_total, efficiency] = [2, 4, 6].map(|f| closing(f).parse::<f64>().unwrap());
    assert!((tpmc - rows["NEW_ORDER"]["TPM"]).abs() < 0.01 && (tpm_total - total).abs() < 0.51, "{out}");
    assert!((efficiency - tpmc / (12.86 * warehouses) * 100.0).abs() < 0.06 + efficiency * 1e-4, "{out}");
    assert_eq!(asked(out, "sed -n 's/^\\[Summary\\] NEW_ORDER .*TPM: \\([0-9.]*\\),.*/\\1/p'"), format!("{tpmc:.1}"));
}

/// The audit stands above go-tpc's lines.
fn audit_is_there(out: &str) {
    for part in [
        "Audit of the measured time",
        "    9.2.2.5  new orders rolled back ",
        "    9.2.2.5  lines of a new order ",
        "    9.2.2.5  remote order lines ",
        "    9.2.2.5  order-status by last name ",
        "    2.7.4.2  deliveries that skipped a district ",
        "    5.2.5    90th percentile of stock_level ",
        "tpmC per warehouse: without keying and think times",
        "not a TPC result",
        "\nSeed: ",
    ] {
        assert!(out.find(part).is_some_and(|at| at < out.find("\nFinished\n").unwrap()), "{part}: {out}");
    }
}

/// go-tpc creates the database, too. Cut off, the same command goes on.
fn cut_off_it_goes_on(side: &Side, maria: &Maria) -> Ended {
    let cut_off = side.cut_off(&["prepare", "-T", "2"], || {
        let ledgers = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'tpcc_command' AND table_name = 'perbuck_load_tpcc'";
        let loaded = "SELECT COALESCE(SUM(loaded), 0) FROM tpcc_command.perbuck_load_tpcc";
        maria.in_database("", ledgers).trim() == "1" && maria.in_database("", loaded).trim().parse::<u64>().unwrap() > 100_000
    });
    assert!(cut_off.code == Some(130) && cut_off.err.contains("the same command goes on from there"), "{cut_off:#?}");
    assert!(cut_off.out.starts_with("creating table warehouse\n"), "{cut_off:#?}");
    let ended = side.good(&["prepare", "-T", "2"]);
    assert!(ended.out.starts_with("going on with a load that was cut off after ") && ended.out.ends_with("\nFinished\n"));
    assert_eq!(maria.sql("SHOW TABLES FROM tpcc_command LIKE 'perbuck%'"), "", "what a load notes goes with it");
    ended
}

#[test]
fn a_script_of_go_tpc_works_on_mariadb() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "tpcc_command");
    maria.sql("DROP DATABASE tpcc_command");
    let address =
        ["-H", &maria.host, "-P", &maria.port, "-U", "root", "-p", &maria.password, "-D", "tpcc_command", "--warehouses", "1"];
    let side = Side::of("tpcc", desk, &address);
    let ended = cut_off_it_goes_on(&side, &maria);
    assert_eq!(ended.out.matches(" holds: ").count(), 12, "{ended:#?}");
    assert!(ended.err.contains("the password stood on the command line"), "{ended:#?}");
    let rerun = side.run(&["prepare"]);
    assert!(rerun.code == Some(4) && rerun.err.contains("--dropdata"), "{rerun:#?}");

    let ran = side.good(&["run", "-T", "4", "--time", "4s", "--interval", "1s", "--ignore-error"]);
    summary_adds_up(&ran.out, 1.0);
    audit_is_there(&ran.out);
    let current = |n: usize| asked(&ran.out, &format!("grep '^\\[Current\\] NEW_ORDER ' | sed -n {n}p"));
    let currents: f64 = (1..=4).map(|n| numbers(&current(n), "[Current] ")["NEW_ORDER"]["Count"]).sum();
    assert!((currents - numbers(&ran.out, "[Summary] ")["NEW_ORDER"]["Count"]).abs() < 0.5, "{ran:#?}");

    let json = side.good(&["run", "-T", "2", "--time=2s", "--interval=1s", "--output=json", "--compat=go-tpc", "--ignore-error"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json["current"].as_array().unwrap().len(), json["notes"].as_array().unwrap().len()), (2, 8));
    let new_orders = json["summary"].as_array().unwrap().iter().find(|r| r["Operation"] == "NEW_ORDER").unwrap();
    assert_eq!((json["tpmC"].as_f64(), json["audit"].as_array().unwrap().len()), (new_orders["TPM"].as_f64(), 17));
    assert!(json["parameters"]["compat"] == "go-tpc" && json["efficiency"].as_f64().unwrap() > 0.0);
    let records = side.desk.records("state/perbuck/tpcc");
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|r| !r.to_json().unwrap().contains(&maria.password) && r.workload.kind == "tpcc"));

    // One error ends a run, or is counted with all the others.
    maria.sql(
        "CREATE TRIGGER refuses BEFORE INSERT ON history FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no payments'",
    );
    let failed = side.run(&["run", "-T2", "--time=1h"]);
    assert_eq!((failed.code, failed.out.as_str()), (Some(1), ""), "{failed:#?}");
    for part in ["no payments, for query 'INSERT INTO history", "(mysql 1644)", "--ignore-error goes on"] {
        assert!(failed.err.contains(part), "{part}: {failed:#?}");
    }
    let counted = side.good(&["run", "-T2", "--time=2s", "--ignore-error", "--no-record"]);
    let rows = numbers(&counted.out, "[Summary] ");
    assert!(
        rows["PAYMENT_ERR"]["Count"] > 0.0 && !rows.contains_key("PAYMENT") && rows["NEW_ORDER"]["Count"] > 0.0,
        "{counted:#?}"
    );
    assert!(
        counted.out.contains("    mysql 1644 (fatal):") && counted.out.contains("transactions failed beside"),
        "{counted:#?}"
    );
    maria.sql("DROP TRIGGER refuses");

    // Once transactions have run, 3.3.2.11 says nothing.
    let checked = side.good(&["check", "--check-all"]);
    assert!(checked.out.contains("3.3.2.11 is not applicable") && checked.out.matches(" holds: ").count() == 11, "{checked:#?}");
    maria.sql("UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 5");
    let broken = side.run(&["check"]);
    let lines: Vec<&str> = broken.out.lines().filter(|l| l.contains("BROKEN")).collect();
    assert_eq!((broken.code, lines.len(), broken.out.contains("3.3.2.11")), (Some(1), 2, false), "{broken:#?}");
    assert!(lines.iter().all(|l| l.contains("c_w_id 1, c_d_id 2, c_id 5, ")), "{lines:?}");
    assert!(broken.err.contains("(condition 3.3.2.10, 3.3.2.12)"), "{broken:#?}");

    let cleaned = side.good(&["cleanup"]);
    assert!(cleaned.out.starts_with("DROP TABLE IF EXISTS order_line\n"), "{cleaned:#?}");
    assert_eq!(maria.sql("SHOW TABLES"), "");
    let gone = side.run(&["run", "--time=1s"]);
    assert!(gone.code == Some(1) && gone.err.contains("perbuck tpcc prepare makes the tables"), "{gone:#?}");
}

#[test]
fn a_script_of_go_tpc_works_on_postgres() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "tpcc_command");
    desk.set("PGPASSWORD", &postgres.password);
    let address = ["-d", "postgres", "-H", "127.0.0.1", "-P", &postgres.port, "-U", "perbuck", "-D", "tpcc_command"];
    let rest = ["--conn-params", "sslmode=disable&statement_timeout=60000", "--warehouses=1"];
    let side = Side::of("tpcc", desk, &[&address[..], &rest].concat());
    let ended = side.good(&["prepare", "--no-check", "--parts=1"]);
    assert!(!ended.out.contains("condition") && ended.err.contains("--conn-params: variables are set"), "{ended:#?}");
    let ran = side.good(&["run", "-T", "4", "--time=3s", "--interval=1s", "--isolation=4", "--output=table", "--ignore-error"]);
    assert!(ran.out.contains("\n|   PREFIX   |"), "{ran:#?}");
    let cell = asked(&ran.out, "tail -2 | head -1 | awk -F'|' '{ print $2 }'");
    assert!(cell.parse::<f64>().unwrap() > 0.0, "{ran:#?}");
    let record = &side.desk.records("state/perbuck/tpcc")[0];
    assert_eq!(record.workload.parameters["session"], "statement_timeout='60000'");
    assert_eq!(side.good(&["check"]).out.matches(" holds: ").count(), 11);
    side.good(&["cleanup"]);
    assert_eq!(postgres.sql("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").trim(), "0");
}

#[test]
fn sqlite_works_the_same_and_compare_reads_the_records() {
    let side = Side::of("tpcc", Desk::new(), &["--target=sqlite:t.db?synchronous=OFF", "--warehouses=1"]);
    side.good(&["prepare"]);
    let words = ["run", "-T2", "--time=2s", "--interval=1s", "--weight=50,50,0,0,0", "--seed=7"];
    let ran = side.good(&words);
    assert_eq!(numbers(&ran.out, "[Summary] ").keys().collect::<Vec<_>>(), ["NEW_ORDER", "PAYMENT"]);
    assert!(ran.out.contains("\nSeed: 7\n") && ran.out.contains("order_status in the mix"), "{ran:#?}");
    let mix = ran.out.lines().find(|l| l.contains("delivery in the mix")).unwrap();
    assert!(mix.ends_with("BROKEN"), "{mix}");
    side.good(&words);
    let record = ran.err.lines().find_map(|l| l.strip_prefix("record: ")).unwrap();
    let folder = record.split("/t/").next().unwrap();
    assert!(side.desk.read(&format!("{folder}/t/tpcc/c00002/002.json")).contains("\"trial\": 2"));
    let compared = side.desk.good(&["compare", folder]);
    assert!(compared.out.contains("tpmC"), "{compared:#?}");
    side.desk.good(&["report", folder]);
    let report = side.desk.read(&format!("{folder}/report.md"));
    let row = report.lines().find(|l| l.contains("| delivery in the mix (%) |")).unwrap_or_else(|| panic!("{report}"));
    assert!(row.contains("| 4 or more | 0.00, BROKEN in every trial |"), "{row}");

    // So many transactions, of all terminals together.
    let ran = side.good(&["run", "-T2", "--count=50", "--no-record"]);
    let counts: f64 = numbers(&ran.out, "[Summary] ").values().map(|r| r["Count"]).sum();
    assert!((counts - 50.0).abs() < 0.1 && !ran.err.contains("record:"), "{ran:#?}");
    let few = side.run(&["run", "--warehouses=2", "--time=1s"]);
    assert!(few.code == Some(4) && few.err.contains("holds 1 warehouses, and --warehouses is 2"), "{few:#?}");

    // Ctrl-C is the way to end a run that has no end; one that has is then cut short.
    for (words, code, kept) in [(&["run"][..], 0, true), (&["run", "--time=1h"], 130, false)] {
        let mut command = side.desk.command(&["tpcc"]);
        command.args(words).args(["--interval=1s", "--results=ended"]).args(&side.address);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert!(line.starts_with("[Current] "), "{line}");
        signal(&child, "INT");
        std::io::Read::read_to_string(&mut out, &mut line).unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut said).unwrap();
        wait_until("it has ended", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{line}{said}");
        summary_adds_up(&line, 1.0);
        assert_eq!(said.contains("record: ended/"), kept, "{said}");
    }
    side.good(&["cleanup"]);
}

#[test]
fn wrong_words_are_named_with_the_way_out_and_nothing_is_done() {
    let desk = Desk::new();
    for (words, code, parts) in [
        (&["run", "--warehouse=4"][..], 2, &["unknown flag: --warehouse", "did you mean --warehouses?"][..]),
        (&["run", "--time=60"], 2, &["\"60\" for \"--time\" flag", "10s"]),
        (&["run", "--weight=1,2,3"], 2, &["--weight is \"1,2,3\"", "45,43,4,4,4"]),
        (&["run", "--isolation=5"], 2, &["for \"--isolation\" flag", "6 (serializable)"]),
        (&["run", "--use-fk"], 2, &["unknown flag: --use-fk", "an option of prepare"]),
        (&["prepare", "--output-type=csv"], 2, &["without --output-dir", "--output-dir"]),
        (&["prepare", "--tables=item"], 2, &["--tables is given without --output-type", "--output-type csv"]),
        (&["prepare", "--output-type=sql", "--output-dir=x"], 2, &["\"sql\" for \"--output-type\" flag", "use csv"]),
        (&["prepare", "--output-type=csv", "--output-dir=x", "--tables=itme"], 2, &["there is no table `itme`", "item"]),
        (
            &["prepare", "--output-type=csv", "--output-dir=x", "--target=sqlite:t.db"],
            2,
            &["there are no CSV files for SQLite, DuckDB and TiKV", "-d mysql"],
        ),
        (&["prepare", "--partition-type=4"], 2, &["--partition-type", "2 (range)"]),
        (&["prepare", "--target=sqlite:t.db", "--parts=2"], 2, &["--parts is given, and SQLite", "leave --parts out"]),
        (&["prepare", "--ssl-cert=c"], 2, &["--ssl-cert: client certificates", "log in by password"]),
        (&["run", "-d", "oracle"], 2, &["\"oracle\" for \"-d, --driver\" flag", "--target"]),
        (&["rum"], 2, &["unknown command \"rum\"", "did you mean run?"]),
        (&[], 2, &["no command is given", "prepare"]),
        (&["run", "-P", "1", "--time=1s"], 3, &["unable to connect", "host and port"]),
        (&["check", "--target=sqlite:none/t.db"], 3, &["none/t.db"]),
    ] {
        let ended = desk.perbuck(&[&["tpcc"], words].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{words:?}: {ended:#?}");
        assert!(parts.iter().all(|p| ended.err.contains(p)), "{words:?}: {ended:#?}");
    }
    let mut left = Vec::new();
    crate::common::files(&desk.path("."), &mut left);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn rows_are_written_as_files_without_a_database() {
    let desk = Desk::new();
    let words = ["tpcc", "prepare", "--warehouses=2", "-T2", "-D", "shop", "--output-type=csv", "--output-dir=rows"];
    let ended = desk.good(&[&words[..], &["--tables", "item,district"]].concat());
    assert!(ended.out.ends_with("\nFinished\n") && ended.out.contains("100,000 rows"), "{ended:#?}");
    let mut files = Vec::new();
    crate::common::files(&desk.path("rows"), &mut files);
    let rows = |table: &str| -> usize {
        let of = files.iter().filter(|f| f.to_string_lossy().contains(&format!("/shop.{table}.")));
        of.map(|f| std::fs::read_to_string(f).unwrap().lines().count()).sum()
    };
    assert_eq!((rows("item"), rows("district"), rows("stock")), (100_000, 20, 0), "{files:?}");
    assert_eq!(files.iter().filter(|f| f.to_string_lossy().ends_with(".sql")).count(), 3, "{files:?}");
}

#[test]
fn the_help_lists_every_option_and_what_plays_no_part_is_said() {
    let desk = Desk::new();
    let help = desk.good(&["tpcc", "--help"]);
    for option in
        ["-T, --threads int", "--max-measure-latency duration", "--check-all", "--compat string", "-p, --password string"]
    {
        assert!(help.out.contains(option), "{option}: {help:#?}");
    }
    assert_eq!(desk.good(&["tpcc", "help"]).out, help.out);
    let ended = desk.perbuck(&[
        "tpcc",
        "run",
        "-P1",
        "--pprof=:1",
        "--max-measure-latency=4s",
        "--silence",
        "-S",
        "10080",
        "--conn-params=charset=x",
    ]);
    for option in [
        "--pprof: ",
        "--max-measure-latency: nothing to do: no latency is cut off",
        "--silence: ",
        "--statusPort: ",
        "charset: nothing to do",
    ] {
        assert!(ended.err.contains(option), "{option}: {ended:#?}");
    }
}
