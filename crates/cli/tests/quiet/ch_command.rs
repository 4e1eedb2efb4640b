//! `perbuck ch` beside go-tpc: its command lines work, on tables of TPC-C that are there or not, and what people parse its output with reads ours.

use crate::common::maria::Maria;
use crate::common::postgres::Postgres;
use crate::common::side::{Side, numbers};
use crate::common::{Desk, Ended};

const KINDS: [&str; 5] = ["DELIVERY", "NEW_ORDER", "ORDER_STATUS", "PAYMENT", "STOCK_LEVEL"];

/// The lines of the end: those of transactions, tpmC, those of queries, QphH.
fn lines_are_those_of_go_tpc(ran: &Ended, workers: &str) {
    let (above, last) = ran.out.split_once(&format!("\nFinished: {workers}\n")).unwrap_or_else(|| panic!("{ran:#?}"));
    for part in [
        "Queries of the measured time",
        " queries an hour of ",
        "lag, from a commit",
        "Other than go-tpc",
        "Audit of the",
        "\nSeed: ",
    ] {
        assert!(above.contains(part), "{part}: {ran:#?}");
    }
    let first = |line: &str| line.split([' ', ':']).find(|word| !word.is_empty()).unwrap_or_default().to_owned();
    let shown: Vec<String> = last.lines().map(|line| first(line.trim_start_matches("[Summary] "))).collect();
    let transactions = shown.iter().position(|word| word == "tpmC").unwrap_or_else(|| panic!("{ran:#?}"));
    assert!(shown[..transactions].iter().all(|word| KINDS.contains(&word.as_str())), "{shown:?}");
    assert_eq!(shown[transactions + 1..], ["Q1", "Q6", "QphH"]);
    let summary = numbers(last, "[Summary] ");
    let of = |query: &str, label: &str| summary[query][label];
    let (count, sum_ms) = (of("Q1", "Count") + of("Q6", "Count"), of("Q1", "Sum(ms)") + of("Q6", "Sum(ms)"));
    let qphh: f64 = last.lines().last().unwrap().strip_prefix("QphH: ").unwrap().parse().unwrap();
    assert!((qphh / (3_600_000.0 * count / sum_ms) - 1.0).abs() < 1e-2, "{qphh}: {summary:?}");
    assert!(numbers(&ran.out, "[Current] ").contains_key("Q6"), "{ran:#?}");
}

#[test]
fn a_script_of_go_tpc_works_on_mariadb() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "ch_command");
    maria.sql("DROP DATABASE ch_command");
    desk.set("MYSQL_PWD", &maria.password);
    let address = ["-H", &maria.host, "-P", &maria.port, "-U", "root", "-D", "ch_command"];
    let tpcc = |desk: &Desk, words: &[&str]| desk.good(&[&["tpcc"], &address[..], words].concat());
    tpcc(&desk, &["prepare", "--warehouses=1", "--no-check"]);
    let side = Side::of("ch", desk, &address);
    side.refused(&["run", "--warehouses=1", "--time=1s"], 1, &["ch_marker", "perbuck ch prepare makes the tables"]);
    side.refused(&["prepare", "--tiflash-replica", "1"], 2, &["--tiflash-replica is for TiDB"]);
    side.refused(&["prepare", "--warehouses=2"], 4, &["the database holds 1 warehouses, and --warehouses is 2"]);
    let prepared = side.good(&["prepare", "--analyze", "--tidb_build_stats_concurrency=8", "-T2", "--check-all"]);
    assert!(prepared.out.starts_with("the tables of TPC-C are there, with 1 warehouses"), "{prepared:#?}");
    assert!(
        prepared.out.contains("analyzing table stock\n") && prepared.out.contains("creating table ch_marker\n"),
        "{prepared:#?}"
    );
    assert!(prepared.out.ends_with("rows of the queries' tables\nFinished\n"), "{prepared:#?}");
    assert!(prepared.err.contains("--check-all: nothing to do"), "{prepared:#?}");
    assert_eq!(maria.sql("SHOW TABLES").lines().count(), 13, "and no note of perbuck's");
    side.refused(&["prepare"], 4, &["table region exists already", "perbuck ch cleanup"]);

    let words =
        ["run", "--warehouses=1", "-T2", "-t1", "--queries=q6,q1", "--time=3s", "--interval=1s", "--refresh-conn-wait=1s"];
    let ran = side
        .good(&[&words[..], &["--conn-params=sort_buffer_size=1048576", "--ap-conn-params=sort_buffer_size=2097152"]].concat());
    lines_are_those_of_go_tpc(&ran, "2 OLTP workers, 1 OLAP workers");
    let record = side.desk.records("state/perbuck/ch").pop().unwrap();
    assert_eq!((record.workload.metric.metric().name.as_ref(), record.workload.kind.as_str()), ("tpmc", "ch"));
    let parameter = |name: &str| record.workload.parameters[name].as_str();
    let expected = ["q6,q1", "1", "sort_buffer_size=1048576", "sort_buffer_size=2097152"];
    assert_eq!(["queries", "query_streams", "session", "query_session"].map(parameter), expected);
    assert!(record.measured.transactions["freshness"].committed > 0);

    others_and_alone(&side, &maria);
    assert_eq!(tpcc(&side.desk, &["check", "--warehouses=1"]).out.matches(" holds: ").count(), 11);
    let cleaned = side.good(&["cleanup"]);
    assert!(cleaned.out.starts_with("DROP TABLE IF EXISTS ch_marker\n") && cleaned.out.ends_with("Finished\n"), "{cleaned:#?}");
    tpcc(&side.desk, &["cleanup"]);
    assert_eq!(maria.sql("SHOW TABLES"), "");
}

/// Query streams without transactions.
fn queries_alone(side: &Side) {
    let alone = side.good(&["run", "--warehouses=1", "-T0", "-t2", "--queries=q6", "--time=2s"]);
    let last = alone.out.split_once("\nFinished: 0 OLTP workers, 2 OLAP workers\n").unwrap_or_else(|| panic!("{alone:#?}")).1;
    assert!(last.starts_with("tpmC: 0.0, tpmTotal: 0.0, efficiency: 0.0%\n[Summary] Q6     - Count: "), "{last}");
    assert!(alone.out.contains(" queries an hour of 2 query streams\n") && !alone.out.contains("lag"), "{alone:#?}");
    let record =
        side.desk.records("state/perbuck/ch").into_iter().find(|r| r.workload.parameters["transactions"] == "false").unwrap();
    assert_eq!((record.workload.metric.metric().name.as_ref(), record.load.connections), ("ch_queries", 2));
    let ended = side.good(&["run", "--warehouses=1", "-T0", "-t2", "--queries=q6", "--count=5", "--output=json", "--no-record"]);
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((json["threads"].as_u64(), json["query_streams"].as_u64()), (Some(0), Some(2)));
    assert_eq!((json["summary_queries"][0]["Count"].as_u64(), json["lag_ms"].is_null()), (Some(5), true));
}

/// Tables of go-tpc, a part of the tables of TPC-C, transactions without queries, and JSON.
fn others_and_alone(side: &Side, maria: &Maria) {
    let alone = side.good(&["run", "--warehouses=1", "-t0", "--time=1s", "--no-record", "--ap-host=nowhere"]);
    assert!(alone.out.contains("\nFinished: 1 OLTP workers, 0 OLAP workers\n"), "{alone:#?}");
    assert!(!alone.out.contains("QphH") && !alone.out.contains("Queries of"), "{alone:#?}");
    queries_alone(side);
    let words =
        ["run", "--warehouses=1", "-t2", "--queries=q6", "--time=2s", "--output=json", "--no-record", "--weight=0,0,0,0,100"];
    let json: serde_json::Value = serde_json::from_str(&side.good(&words).out).unwrap();
    let operation = |list: &str| json[list][0]["Operation"].as_str().map(str::to_owned);
    assert_eq!((operation("summary").as_deref(), operation("summary_queries").as_deref()), (Some("STOCK_LEVEL"), Some("Q6")));
    assert_eq!((json["query_streams"].as_u64(), json["threads"].as_u64()), (Some(2), Some(1)));
    assert!(json["QphH"].as_f64().unwrap() > 0.0 && json["lag_ms"][0].as_f64().unwrap() > 0.0, "{json:#}");

    // go-tpc's own, which no query of ours can read.
    side.good(&["cleanup"]);
    maria.sql("CREATE TABLE supplier (s_suppkey BIGINT PRIMARY KEY)");
    side.refused(&["prepare"], 4, &["table supplier exists already"]);
    side.refused(&["run", "--warehouses=1", "--time=1s"], 1, &["--dropdata replaces region, nation and supplier of go-tpc"]);
    side.good(&["prepare", "--dropdata"]);
    assert_eq!(maria.sql("SELECT COUNT(su_suppkey) FROM supplier").trim(), "10000");
    side.good(&["cleanup"]);
    maria.sql("ALTER TABLE history RENAME TO history_");
    side.refused(
        &["prepare"],
        4,
        &["table warehouse of TPC-C is there, and history is missing", "perbuck tpcc prepare --dropdata"],
    );
    maria.sql("ALTER TABLE history_ RENAME TO history");
}

#[test]
fn prepare_makes_all_tables_on_postgres_and_goes_on_where_it_was_cut_off() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "ch_command");
    desk.set("PERBUCK_CH_PASSWORD", &postgres.password);
    let address =
        ["-d", "postgres", "-H", "127.0.0.1", "-P", &postgres.port, "-U", "perbuck", "-D", "ch_command", "--warehouses=1"];
    let side = Side::of("ch", desk, &[&address[..], &["--conn-params=sslmode=disable"]].concat());
    let cut_off = side.cut_off(&["prepare", "-T2"], || {
        postgres.sql("SELECT COUNT(*) FROM pg_tables WHERE tablename = 'perbuck_load_tpcc'").trim() == "1"
            && postgres.sql("SELECT COALESCE(SUM(loaded), 0) FROM perbuck_load_tpcc").trim().parse::<u64>().unwrap() > 50_000
    });
    assert!(cut_off.code == Some(130) && cut_off.err.contains("the same command goes on from there"), "{cut_off:#?}");
    side.refused(&["prepare", "--parts=2"], 4, &["a load with other options was cut off: table perbuck_load_tpcc is there"]);
    let prepared = side.good(&["prepare", "-T2"]);
    assert!(prepared.out.starts_with("going on with a load that was cut off after "), "{prepared:#?}");
    assert!(prepared.out.contains("creating table region\n") && prepared.out.ends_with("\nFinished\n"), "{prepared:#?}");
    assert_eq!(prepared.out.matches(" holds: ").count(), 12, "{prepared:#?}");
    assert_eq!(postgres.sql("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").trim(), "13");
    let words = ["run", "-T2", "-t2", "--queries=q1,q6", "--time=3s", "--interval=1s", "--ignore-error"];
    lines_are_those_of_go_tpc(&side.good(&words), "2 OLTP workers, 2 OLAP workers");
    side.refused(&["run", "--time=1s", "--ap-port=1"], 3, &["127.0.0.1:1 cannot be reached", "the options of host and port"]);
    side.desk.good(&["verify", &folder_of_report(&side)]);
}

/// The folder of the only study, of which a report was made.
fn folder_of_report(side: &Side) -> String {
    let study = std::fs::read_dir(side.desk.path("state/perbuck/ch")).unwrap().next().unwrap().unwrap().file_name();
    let folder = format!("state/perbuck/ch/{}", study.to_str().unwrap());
    side.desk.good(&["report", &folder]);
    assert!(side.desk.read(&format!("{folder}/report.md")).contains("| Q6 |"));
    folder
}

#[test]
fn wrong_words_are_named_with_the_way_out_and_nothing_is_done() {
    let desk = Desk::new();
    for (words, code, parts) in [
        (&["run", "--queries=q23"][..], 2, &["--queries holds \"q23\"", "q1,q6"][..]),
        (&["run", "--warehouses=20001"], 2, &["--warehouses is 20001", "give 20000 at most"]),
        (&["run", "-T0", "-t0"], 2, &["\"0\" for \"-T, --threads\" flag"]),
        (&["run", "--weight=50,50"], 2, &["not five shares that add up to 100"]),
        (&["run", "--use-explain"], 2, &["--use-explain: perbuck ch keeps no plans", "EXPLAIN ANALYZE"]),
        (&["run", "--use-plan-replayer"], 2, &["--use-plan-replayer: ", "PLAN REPLAYER DUMP"]),
        (&["run", "--conn-refresh-interval=10s"], 2, &["connections are kept for the whole run"]),
        (&["run", "--ap-host=a,b"], 2, &["name 2 servers, and queries go to one", "a proxy"]),
        (&["run", "--ap-conn-params=tls=true"], 2, &["its tls differs from that of --conn-params"]),
        (&["run", "--agents=a"], 2, &["--agents: ", "leave --agents out"]),
        (&["run", "--time=60"], 2, &["\"60\" for \"--time\" flag", "10s"]),
        (&["prepare", "--queries"], 2, &["flag needs an argument: --queries"]),
        (&["prepare", "--ap-host=a"], 2, &["unknown flag: --ap-host", "an option of run"]),
        (&["check"], 2, &["unknown command \"check\"", "prepare, run or cleanup"]),
        (&["run", "-P", "1", "--time=1s"], 3, &["unable to connect", "host and port"]),
        (&["cleanup", "--target=sqlite:none/t.db"], 3, &["none/t.db"]),
    ] {
        let ended = desk.perbuck(&[&["ch"], words].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{words:?}: {ended:#?}");
        assert!(parts.iter().all(|p| ended.err.contains(p)), "{words:?}: {ended:#?}");
    }
    let mut left = Vec::new();
    crate::common::files(&desk.path("."), &mut left);
    assert!(left.is_empty(), "{left:?}");
}
