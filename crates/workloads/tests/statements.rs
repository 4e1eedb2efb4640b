//! Every statement that a workload makes for a database: a change of a single byte fails. The list has each statement once, with
//! its number, where it first comes; sets of options and databases name their statements by these numbers.
//!
//! `PERBUCK_STATEMENTS=1 cargo test -p perbuck-workloads --test statements` writes the list again, to be looked at in a diff.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeMap;
use std::fmt::Write;

use perbuck_core::study::{Located, Scalar};
use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::workload::{Dataset, Workload};
use perbuck_postgres::Family;
use perbuck_workloads::{Benchmark, BenchmarkAction, Benchmarks, Plan, Workloads, sysbench, tpcc};

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/statements.txt");

/// Bytes of a statement that are shown.
const SHOWN: usize = 600;

const DIALECTS: [(&str, &dyn Dialect); 6] = [
    ("mysql", &perbuck_mysql::MysqlDialect),
    ("sqlite", &perbuck_sqlite::SqliteDialect),
    ("postgres", &Family::Postgres),
    ("cockroach", &Family::Cockroach),
    ("yugabyte", &Family::Yugabyte),
    ("tikv", &perbuck_tikv::TikvDialect),
];

/// Options beside the script, as `name=value` with spaces between them.
const SYSBENCH: [&str; 15] = [
    "",
    "auto_inc=off",
    "secondary=on",
    "secondary=on auto_inc=off",
    "create_secondary=off tables=2",
    "mysql_storage_engine=rocksdb create_table_options=ROW_FORMAT=COMPRESSED",
    "mysql_table_options=ROW_FORMAT=COMPRESSED",
    "pgsql_variant=redshift",
    "compat=sysbench-1.0",
    "compat=sysbench-1.1 rand_type=gaussian tables=3",
    "skip_trx=on compat=sysbench-1.0",
    "table_size=500 reconnect=3",
    "rand_type=special",
    "compat=sysbench-1.0 rand_type=gaussian skip_trx=on",
    "compat=sysbench-1.1 auto_inc=off",
];

const TPCC: [&str; 16] = [
    "",
    "batch=on warehouses=3",
    "isolation=read-uncommitted",
    "isolation=read-committed",
    "isolation=repeatable-read batch=on",
    "isolation=serializable",
    "foreign_keys=on",
    "warehouses=5 partitions=2",
    "warehouses=5 partitions=2 partition_type=range",
    "warehouses=5 partitions=2 partition_type=list history_key=on",
    "warehouses=5 partitions=2 foreign_keys=on",
    "history_key=on",
    "compat=go-tpc",
    "compat=go-tpc warehouses=2 partitions=2",
    "session=sort_buffer_size=1024&x='text'",
    "isolation=serializable session=a=b foreign_keys=on history_key=on",
];

const YCSB: [&str; 14] = [
    "recordcount=1000",
    "recordcount=1",
    "recordcount=1000 compat=go-ycsb",
    "recordcount=1000 compat=go-ycsb fieldlength=2000",
    "recordcount=1 compat=go-ycsb fieldlength=8000 fieldcount=2",
    "recordcount=1 compat=go-ycsb fieldlength=9000 fieldcount=2",
    "recordcount=1 dataintegrity=true mysql.force_index=false fieldcount=2",
    "recordcount=1000 fieldlength=70000 fieldcount=3",
    "recordcount=1000 dataintegrity=true fieldlengthdistribution=constant",
    "recordcount=1000 dataintegrity=true compat=go-ycsb workload=workloade",
    "recordcount=1000 mysql.force_index=false tidb.cluster_index=false",
    "recordcount=1000 workload=workloadf readallfieldsbyname=true writeallfields=true",
    "recordcount=1000 dotransactions=false table=other fieldnameprefix=column",
    "recordcount=12345 zeropadding=20 insertorder=ordered keyprefix=key",
];

fn plan(kind: &str, words: &str) -> Plan {
    let scalar = |v: &str| match v {
        "on" | "true" => Scalar::Bool(true),
        "off" | "false" => Scalar::Bool(false),
        _ => v.parse().map_or_else(|_| Scalar::Text(v.to_owned()), Scalar::Int),
    };
    let given = words.split_whitespace().map(|word| word.split_once('=').unwrap());
    let parameters: BTreeMap<_, _> = given.map(|(k, v)| (k.to_owned(), Located { value: scalar(v), line: 1 })).collect();
    Plan::read::<Workloads>(kind, &parameters).unwrap_or_else(|problems| panic!("{kind} {words}: {problems:?}"))
}

fn of(dataset: &dyn Dataset, workload: &impl Workload) -> Vec<String> {
    let mut all = vec![format!("{} parts, grows: {}, {:?}", dataset.parts(), dataset.grows(), dataset.parameters())];
    for table in dataset.tables() {
        all.push(format!("{} {:?} {:?} {} {}", table.bulk.name, table.bulk.columns, table.rows, table.rows_vary, table.numbered));
        all.extend([table.create, table.after_load].concat());
        all.extend(table.statistics);
    }
    let catalogue = workload.catalogue();
    all.push(catalogue.labels().join(", "));
    all.extend(catalogue.statements().iter().map(|s| format!("{:?} {} {}", s.verb, s.keep_rows, s.sql)));
    all.extend(catalogue.opening().iter().cloned());
    all.extend(dataset.room_for_checks().iter().map(|s| (*s).to_owned()));
    for c in dataset.checks() {
        all.push(format!("{} {} {} {:?} {:?}", c.what, c.compared, c.violations, c.columns, c.unless_used));
    }
    all
}

/// All statements and notes, or why the database cannot have the workload.
fn statements(plan: &Plan, dialect: &'static dyn Dialect) -> Vec<String> {
    if let Some((message, help)) = plan.refusal(dialect) {
        return vec![message, help];
    }
    let made = Workloads::with_benchmark(plan, Made(dialect)).unwrap();
    let Some(o) = plan.options::<sysbench::Options>() else {
        let notes = plan.options::<tpcc::Options>().map_or_else(Vec::new, |o| tpcc::compat_notes(o).to_vec());
        return made.into_iter().chain(notes.into_iter().map(str::to_owned)).collect();
    };
    [made, sysbench::prewarm(o, dialect), sysbench::cleanup(o, dialect), sysbench::compat_notes(o, dialect)].concat()
}

/// The statements of a workload and its data.
struct Made(&'static dyn Dialect);

impl BenchmarkAction for Made {
    type Output = Vec<String>;

    fn run<B: Benchmark>(self, options: &B) -> Vec<String> {
        of(&*options.dataset(self.0, Seed(1)), &options.workload(self.0, Seed(1)))
    }
}

/// A statement, or the beginning of a long one with a hash of all of it (FNV-1a).
fn shown(text: &str) -> String {
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{} … {hash:016x}", text.chars().take(SHOWN).collect::<String>())
}

fn plans() -> Vec<(String, Plan)> {
    let mut all = Vec::new();
    for (script, _) in sysbench::SCRIPTS {
        // What only some scripts have is tried with one of each sort.
        let sets = if ["oltp_read_write", "oltp_insert"].contains(&script) {
            &SYSBENCH[..]
        } else {
            &["", "compat=sysbench-1.0", "skip_trx=on"]
        };
        let sets = if script == "bulk_insert" { &["threads=3", "compat=sysbench-1.1"] } else { sets };
        all.extend(sets.iter().map(|words| ("sysbench", format!("script={script} {words}"))));
    }
    all.extend(TPCC.iter().map(|words| ("tpcc", (*words).to_owned())));
    all.extend(YCSB.iter().map(|words| ("ycsb", (*words).to_owned())));
    all.into_iter().map(|(kind, words)| (format!("{kind} {words}"), plan(kind, &words))).collect()
}

#[test]
fn every_statement_is_as_it_was() {
    let (mut list, mut seen) = (String::new(), BTreeMap::new());
    for (title, plan) in plans() {
        writeln!(list, "{}", title.trim_end()).unwrap();
        for (name, dialect) in DIALECTS {
            let (mut numbers, mut new) = (String::new(), String::new());
            for text in statements(&plan, dialect) {
                let next = seen.len() + 1;
                let number = seen.entry(text).or_insert_with_key(|text| {
                    writeln!(new, "    {next} {}", shown(text)).unwrap();
                    next
                });
                write!(numbers, " {number}").unwrap();
            }
            write!(list, "  {name}{numbers}\n{new}").unwrap();
        }
    }
    if std::env::var_os("PERBUCK_STATEMENTS").is_some() {
        std::fs::write(LIST, &list).unwrap();
        return;
    }
    let known = std::fs::read_to_string(LIST).unwrap_or_default();
    let changed = list.lines().zip(known.lines()).find(|(now, before)| now != before);
    assert_eq!((changed, list.len()), (None, known.len()));
}
