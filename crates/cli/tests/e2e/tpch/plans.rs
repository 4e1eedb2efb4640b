//! Plans of queries: kept with `--plans`, compared between contenders, and found where they are other ones.

use std::fs;

use super::{SMALL, VALIDATED, study};
use crate::common::Desk;
use crate::common::maria::Maria;
use crate::common::postgres::Postgres;

/// A study of two contenders, `m` and its rival `n`, with the queries of validation.
fn two(name: &str, urls: [&str; 2], trials: u32) -> String {
    let contender = |(name, url): (&str, &str)| format!("[[contender]]\nname = \"{name}\"\ntarget = \"{url}\"\n");
    format!(
        "schema = 1\nname = \"{name}\"\n{}{}[[workload]]\nname = \"w\"\n{VALIDATED}\n[sweep]\nstreams = [1]\ntrials = {trials}\n",
        contender(("m", urls[0])),
        contender(("n", urls[1]))
    )
}

/// Runs such a study with `--plans`; what its report says of the queries.
fn plans_of(desk: &Desk, name: &str, urls: [&str; 2], trials: u32) -> String {
    desk.write("p.toml", &two(name, urls, trials));
    desk.good(&["run", "p.toml", "--plans"]);
    let folder = format!("results/{name}");
    for r in desk.records(&folder) {
        let plans = r.target.plans.as_ref().unwrap();
        assert_eq!((plans.queries.len(), plans.ran), (22, true));
        let failed: Vec<_> = plans.queries.iter().filter(|q| q.shape.is_none() || q.error.is_some()).collect();
        assert!(failed.is_empty(), "{failed:?}");
        let file = desk.read(&format!("{folder}/{}.plans", r.path()));
        assert!(file.contains("\"query\": \"Q22\"") && file.contains("SELECT"), "{file}");
    }
    desk.good(&["report", &folder]);
    let page = desk.read(&format!("{folder}/report.md"));
    let (_, after) = page.split_once("### Plans of the queries").unwrap_or_else(|| panic!("{page}"));
    let (plans, _) = after.split_once("\n### ").unwrap_or((after, ""));
    plans.to_owned()
}

/// The queries of which the second contender has other plans.
fn others(plans: &str) -> Vec<&str> {
    let line = plans.lines().find_map(|line| line.strip_prefix("- n against m: ")).unwrap_or_else(|| panic!("{plans}"));
    let Some(named) = line.strip_prefix("other plans for ") else { return Vec::new() };
    named.split(';').next().unwrap().split([',', ' ']).filter(|word| word.starts_with('Q')).collect()
}

/// The block of a page that shows the plans of a query.
fn shown<'p>(plans: &'p str, query: &str) -> &'p str {
    let start = plans.find(&format!(", {query}: 2 plans</summary>")).unwrap_or_else(|| panic!("{plans}"));
    plans[start..].split("</details>").next().unwrap()
}

#[test]
fn a_planted_change_of_plan_is_shown_on_postgres_and_a_changed_file_of_plans_is_found() {
    let mut desk = Desk::new();
    let (m, n) = (Postgres::fresh(&mut desk, "plans_m"), Postgres::fresh(&mut desk, "plans_n"));
    desk.set("PERBUCK_N_PASSWORD", &n.password);
    let urls = [&*m.url(), &n.url()];
    // Q6 reads one table by one index or none, Q5 joins six.
    let same = plans_of(&desk, "same", urls, 2);
    assert!(!others(&same).contains(&"Q6") && !same.contains("another database"), "{same}");
    n.sql("ALTER DATABASE plans_n SET enable_hashjoin = off");
    let changed = plans_of(&desk, "changed", urls, 2);
    assert!(others(&changed).contains(&"Q5") && !others(&changed).contains(&"Q6"), "{changed}");
    assert!(changed.contains("× the time)"), "{changed}");
    let both = shown(&changed, "Q5");
    let [with, without] =
        ["**m, 2 of 2 trials**", "**n, 2 of 2 trials**"].map(|title| both.find(title).unwrap_or_else(|| panic!("{both}")));
    assert!(both[with..without].contains("    Sort\n") && both[with..without].contains("Hash Join"), "{both}");
    assert!(!both[without..].contains("Hash Join") && both[without..].contains(" on lineitem"), "{both}");

    let verified = desk.good(&["verify", "results/changed"]);
    assert!(verified.out.contains("4 files of plans in results/changed are those that the records name"), "{verified:#?}");
    let file = desk.path("results/changed/n/w/c00001/001.json.plans");
    fs::write(&file, fs::read_to_string(&file).unwrap().replacen("Merge Join", "Hash Join", 1)).unwrap();
    let found = desk.perbuck(&["verify", "results/changed"]);
    assert!(found.code == Some(1) && found.out.contains("001.json.plans: its content does not match the checksum"), "{found:#?}");
    fs::remove_file(&file).unwrap();
    let missing = desk.good(&["verify", "results/changed"]);
    assert!(missing.out.contains("1 records in results/changed name files of plans that are not there"), "{missing:#?}");

    // What ran without plans has none, and trials on disk get none later.
    let late = desk.good(&["run", "p.toml", "--plans"]);
    assert!(late.err.contains("--plans: trials that are on disk get no plans"), "{late:#?}");
}

#[test]
fn a_missing_index_is_shown_on_mariadb() {
    let mut desk = Desk::new();
    let m = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "plans_m");
    let n = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "plans_n");
    desk.set("PERBUCK_N_PASSWORD", &n.password);
    let urls = [&*m.url(), &n.url()];
    let same = plans_of(&desk, "same", urls, 1);
    assert!(!others(&same).contains(&"Q20"), "{same}");
    n.sql("ALTER TABLE lineitem DROP INDEX idx_lineitem_1");
    let changed = plans_of(&desk, "changed", urls, 1);
    assert!(others(&changed).contains(&"Q20"), "{changed}");
    let both = shown(&changed, "Q20");
    assert_eq!(both.matches("idx_lineitem_1").count(), 1, "{both}");
}

#[test]
fn plans_of_sqlite_are_estimates_and_studies_without_any_are_refused() {
    let desk = Desk::new();
    let file = |name: &str| format!("sqlite:{name}.db");
    desk.write("p.toml", &two("lite", [&file("m"), &file("n")], 1));
    desk.good(&["run", "p.toml", "--plans"]);
    desk.good(&["report", "results/lite"]);
    let page = desk.read("results/lite/report.md");
    assert!(page.contains("n against m: the same plans for 22 queries.") && page.contains("does not run the query"), "{page}");

    desk.write(
        "s.toml",
        &study("sqlite:h.db", "kind = \"sysbench\"\ntables = 1\ntable_size = 100", "duration = \"1s\"\ntrials = 1"),
    );
    let refused = desk.perbuck(&["run", "s.toml", "--plans"]);
    assert!(refused.code == Some(2) && refused.err.contains("no workload of the study has queries whose plans"), "{refused:#?}");
    assert!(refused.err.contains("leave --plans out"), "{refused:#?}");
    desk.write("s.toml", &study("sqlite:h.db", SMALL, "trials = 1"));
    let refused = desk.perbuck(&["run", "s.toml", "--plans", "--driver", "sim"]);
    assert!(refused.code == Some(2) && refused.err.contains("--driver"), "{refused:#?}");
    desk.write("s.toml", &format!("imported = true\n{}", study("sqlite:h.db", SMALL, "trials = 1")));
    let refused = desk.perbuck(&["run", "s.toml", "--plans"]);
    assert!(refused.code == Some(2) && refused.err.contains("import"), "{refused:#?}");
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/published/mysql-kunpeng-2020.toml");
    let refused = desk.perbuck(&["run", published, "--plans"]);
    assert!(refused.code == Some(2) && refused.err.contains("published"), "{refused:#?}");
}
