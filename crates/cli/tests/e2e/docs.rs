//! Docs cannot rot: every command in a `console` block of README and docs runs here, and its output has the shape that the page shows.
//!
//! Numbers, times and verdicts may differ, words may not. A line `…` stands for any lines. Where a page shows no output, only the exit status
//! counts. A command outside such a block must be in [`NOT_RUN`], with the reason.

#[path = "docs/pages.rs"]
mod pages;
#[path = "docs/substitutions.rs"]
mod substitutions;

use std::path::Path;
use std::process::Command;

use crate::common::maria::Maria;
use crate::common::{Desk, SQLITE_STUDY, edited};
use pages::{ALONE, NOT_RUN, OTHER_TOOLS, PREPARATION, PUBLISHED, STUDIES};
use substitutions::SUBSTITUTIONS;

/// A command of a page and the output that the page shows.
struct Shown {
    page: String,
    line: usize,
    command: String,
    output: Vec<String>,
}

/// The commands of a page: those of `console` blocks, and those of others.
fn commands(page: &str) -> (Vec<Shown>, Vec<String>) {
    let (mut run, mut others): (Vec<Shown>, Vec<String>) = (Vec::new(), Vec::new());
    let mut fence: Option<bool> = None;
    let mut continues = false;
    for (number, line) in std::fs::read_to_string(root().join(page)).unwrap().lines().enumerate() {
        match (fence, line.trim_start()) {
            (None, bare) if bare.starts_with("```") => fence = Some(bare == "```console"),
            (Some(_), "```") => fence = None,
            (Some(true), _) if continues => {
                let last = run.last_mut().unwrap();
                last.command.push_str(line.trim());
            }
            (Some(true), _) if line.starts_with("$ ") => {
                run.push(Shown { page: page.to_owned(), line: number + 1, command: line[2..].to_owned(), output: Vec::new() });
            }
            (Some(true), _) => run.last_mut().expect("a console block begins with a command").output.push(line.to_owned()),
            (Some(false), _) if line.starts_with("$ ") => others.push(line[2..].to_owned()),
            _ => (),
        }
        continues = fence == Some(true) && (line.starts_with("$ ") || continues) && line.ends_with('\\');
        if continues {
            let last = run.last_mut().unwrap();
            last.command.truncate(last.command.trim_end_matches('\\').len());
        }
    }
    (run, others)
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// README and all pages below docs/, by their paths from the root.
fn pages() -> Vec<String> {
    let mut found = Vec::new();
    crate::common::files(&root().join("docs"), &mut found);
    let below = found.iter().map(|path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
    ["README.md".to_owned()].into_iter().chain(below.filter(|path| path.ends_with(".md"))).collect()
}

/// Remarks of a trial, which it has or has not.
const REMARKS: [&str; 6] = [
    " (limited by the client",
    " (client-limited)",
    " (a transaction had run",
    " (still-running)",
    " (the client's machine lacked CPU time",
    " (throttled)",
];

/// Flags that a busy machine gives its trials, and a quiet one does not.
const OF_THE_MACHINE: [&str; 5] =
    ["! throttled: ", "! client-limited: ", "! still-running: ", "! unsettled: ", "! littles-law: "];

/// A line without what differs from run to run: numbers, units of time, widths, remarks, and all from a verdict on. Lines that continue the
/// cells of a table have no shape.
fn shape(line: &str) -> String {
    const VERDICTS: [&str; 6] = ["better", "worse", "equivalent", "undecided", "kept", "broken"];
    if line.starts_with("        ") {
        return String::new();
    }
    let line = REMARKS.iter().fold(line, |line, remark| line.split(remark).next().unwrap_or(line)).replace(['─', '═'], "");
    let plain = |word: &str| {
        if word.contains(|c: char| c.is_ascii_digit()) && !word.contains(".toml") { "0".to_owned() } else { word.to_owned() }
    };
    // An interval follows its number or stands below it, as the width of the table allows.
    let interval = |word: &&str| word.starts_with('(') && word.ends_with(')') && word.contains('–');
    let mut words: Vec<String> = line.split_whitespace().filter(|word| !interval(word)).map(plain).collect();
    // `≥` says that the client was the limit, which is so on one machine and not on another.
    words.retain(|word| !["ns", "µs", "ms", "s", "%", "%)", "≥"].contains(&word.as_str()));
    words.dedup_by(|a, b| a == b && a == "0");
    let verdict = |word: &String| VERDICTS.contains(&word.trim_end_matches([':', ',', '.']));
    words.truncate(words.iter().position(verdict).unwrap_or(words.len()));
    words.join(" ")
}

/// The shapes of lines; where a sentence of a list is broken into lines depends on its numbers, so they are one. A busy machine makes
/// trials stall: what is said of that, a flag or a paragraph, has no shape.
fn shapes<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    let mut of_stalls = false;
    for line in lines {
        let goes_on = of_stalls && !line.is_empty() && !line.starts_with('!');
        of_stalls = goes_on || line.contains(" stalled on ");
        match whole.last_mut() {
            _ if of_stalls => (),
            Some(last) if last.starts_with(['•', '!']) && line.starts_with("  ") => last.push_str(line),
            // The answer is one sentence.
            Some(last) if last.contains(" gives ") && last.contains('×') && !last.ends_with('.') && !matches!(line, "" | "…") =>
            {
                last.push(' ');
                last.push_str(line);
            }
            _ => whole.push(line.to_owned()),
        }
    }
    whole.retain(|line| OF_THE_MACHINE.iter().all(|flag| !line.starts_with(flag)));
    whole.iter().map(|line| shape(line)).filter(|line| !line.is_empty()).collect()
}

/// Whether the lines are those of the page, in which `…` stands for any.
fn matches(page: &[String], lines: &[String]) -> bool {
    match page {
        [] => lines.is_empty(),
        [any, rest @ ..] if any == "…" => (0..=lines.len()).any(|skipped| matches(rest, &lines[skipped..])),
        [first, rest @ ..] => lines.first() == Some(first) && matches(rest, &lines[1..]),
    }
}

/// Runs the commands of a page one after the other in the folder.
fn run(desk: &Desk, shown: &[Shown]) {
    let path =
        format!("{}:{}", Path::new(env!("CARGO_BIN_EXE_perbuck")).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut exports = String::new();
    for Shown { page, line, command, output } in shown {
        let here = SUBSTITUTIONS.iter().filter(|row| row.0 == page).fold(command.clone(), |text, row| text.replace(row.1, row.2));
        if here.starts_with("export ") {
            exports = format!("{here}; ");
            continue;
        }
        let mut bash = desk.command(&[]);
        let environment: Vec<_> = bash.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
        bash = Command::new("bash");
        bash.envs(environment).env("PATH", &path).current_dir(desk.path("."));
        let ended = crate::common::ended(bash.args(["-c", &format!("{exports}exec 2>&1; {here}")]).output().unwrap());
        let fails = output.iter().any(|line| line.starts_with("perbuck: ")) && !command.ends_with("echo $?");
        // On a busy machine the client itself may be late, and its trials are refused.
        let refused = ended.code == Some(4) && ended.out.contains("--insist client-limited");
        assert!(
            refused || (ended.code != Some(0)) == fails,
            "{page}:{line}: `{here}` ended with {:?}:\n{}",
            ended.code,
            ended.out
        );
        let told = ended.out.replace(&desk.path("state").display().to_string(), "/home/me/.local/state");
        let (wanted, found) = (shapes(output.iter().map(String::as_str)), shapes(told.lines()));
        assert!(
            output.is_empty() || matches(&wanted, &found),
            "{page}:{line}: `{here}` printed\n{}\nand in shape\n{found:#?}\nwanted\n{wanted:#?}",
            ended.out
        );
    }
}

/// A folder in which the paths of the pages lead to this tree.
fn desk() -> Desk {
    let desk = Desk::new();
    for folder in ["docs", "prices", "studies"] {
        std::os::unix::fs::symlink(root().join(folder).canonicalize().unwrap(), desk.path(folder)).unwrap();
    }
    desk
}

fn page_of(command: &str) -> String {
    format!("docs/commands/{command}.md")
}

fn run_page(desk: &Desk, page: &str) {
    let (shown, _) = commands(page);
    assert!(!shown.is_empty(), "{page} shows no command");
    run(desk, &shown);
}

#[test]
fn every_command_of_a_page_runs_in_a_test_or_says_why_not() {
    let groups = [&STUDIES[..], &PREPARATION, &PUBLISHED, &OTHER_TOOLS].concat();
    let mut needed = Vec::new();
    for page in pages() {
        let (shown, others) = commands(&page);
        assert!(
            shown.is_empty() || ALONE.contains(&page.as_str()) || groups.iter().any(|name| page == page_of(name)),
            "no test here runs the commands of {page}"
        );
        for command in others {
            let reason = NOT_RUN.iter().position(|row| row.0 == page && command.starts_with(row.1));
            needed.push(reason.unwrap_or_else(|| panic!("{page}: `{command}` stands in no console block; nothing runs it")));
        }
        for (page, from, _) in SUBSTITUTIONS.iter().filter(|row| row.0 == page) {
            assert!(shown.iter().any(|shown| shown.command.contains(from)), "{page} has no `{from}` to replace");
        }
    }
    for (number, row) in NOT_RUN.iter().enumerate() {
        assert!(needed.contains(&number), "{} has no command `{}` outside of a console block", row.0, row.1);
    }
}

#[test]
fn a_command_that_prints_something_else_is_found() {
    let desk = desk();
    let shown = |output: &str| {
        [Shown {
            page: "a page".to_owned(),
            line: 1,
            command: "echo 17 rows in 3 ms".to_owned(),
            output: output.lines().map(str::to_owned).collect(),
        }]
    };
    run(&desk, &shown("5,000 rows in 1.5 s"));
    run(&desk, &shown("one stalled on sysbench in 1 of 10 trials: its\nintervals do not hold.\n\n5,000 rows in 1.5 s"));
    for wrong in ["17 columns in 3 ms", "17 rows", "…\n17 columns"] {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&desk, &shown(wrong))));
        assert!(caught.is_err(), "`{wrong}` passed");
    }
}

#[test]
fn studies_and_published_studies() {
    for group in [&STUDIES[..], &PREPARATION, &PUBLISHED] {
        let desk = desk();
        for command in group {
            run_page(&desk, &page_of(command));
        }
    }
}

#[test]
fn the_demo() {
    let desk = desk();
    run_page(&desk, "docs/commands/demo.md");
}

/// Saves the files that a page shows in blocks that begin with their names, and runs its commands.
fn run_with_files(page: &str, names: &[&str]) -> Desk {
    let desk = desk();
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    for name in names {
        let mark = if name.ends_with(".sql") || name.ends_with(".lua") { "--" } else { "#" };
        let block = &text[text.find(&format!("\n{mark} {name}")).unwrap() + 1..];
        desk.write(name, block.split("```").next().unwrap());
    }
    run_page(&desk, page);
    desk
}

#[test]
fn the_example_of_the_intervals() {
    run_with_files("docs/method/intervals.md", &["blocks.toml", "blocks.csv"]);
}

#[test]
fn the_example_of_your_own_sql() {
    let desk =
        run_with_files("docs/own-workload.md", &["shop-tables.sql", "shop-indexes.sql", "pay.sql", "look.sql", "shop.toml"]);
    let report = desk.read("results/shop/report.md");
    for part in ["Verdict", "full", "relaxed", "pay.sql", "look.sql", "TPS"] {
        assert!(report.contains(part), "{part}");
    }
    let records = desk.records("results/shop");
    let kinds = &records[0].measured.transactions;
    let share = kinds["pay.sql"].committed as f64 / (kinds["pay.sql"].committed + kinds["look.sql"].committed) as f64;
    assert!(records.len() == 6 && (share - 0.75).abs() < 0.2, "{share}");
    assert_eq!((records[0].workload.rows_before["customers"], records[0].workload.rows_before["orders"]), (10_000, 50_000));
}

#[test]
fn the_example_of_a_script_in_lua() {
    let desk = run_with_files("docs/lua.md", &["stock.lua", "stock.toml"]);
    let report = desk.read("results/stock/report.md");
    for part in ["Verdict", "full", "relaxed", "per dollar", "TPS"] {
        assert!(report.contains(part), "{part}");
    }
    let records = desk.records("results/stock");
    assert!(records.len() == 6 && records.iter().all(|record| record.measured.statements.update > 0));
    assert!(desk.read("results/stock/study.toml").contains("UPDATE stock SET n"));
}

#[test]
fn the_example_of_recorded_traffic() {
    let desk = run_with_files("docs/traffic.md", &["shop.log", "shop-then.sql", "shop.toml"]);
    let records = desk.records("results/shop");
    let compared = |kind: &str| records[0].measured.transactions[kind].facts["compared"];
    assert_eq!((records.len(), compared("select"), records[0].errors.len()), (2, 2, 0));
    assert!(records.iter().all(|record| record.measured.transactions["transaction"].committed == 1));
}

#[test]
fn two_databases() {
    let desk = desk();
    run_page(&desk, "docs/two-databases.md");
}

/// What needs no cluster.
#[test]
fn deployments() {
    let desk = desk();
    run_page(&desk, "docs/deploy.md");
}

/// The study of the README with fewer rows and shorter trials.
#[test]
fn the_readme() {
    let desk = desk();
    std::fs::remove_file(desk.path("studies")).unwrap();
    let mut study = std::fs::read_to_string(root().join("studies/mariadb-memory.toml")).unwrap();
    for (from, to) in [("250_000", "1000"), ("\"5s\"", "\"100ms\""), ("\"10s\"", "\"300ms\""), ("\"2s\"", "\"0s\"")] {
        assert!(study.contains(from), "{from} is not in the study");
        study = study.replace(from, to);
    }
    desk.write("studies/mariadb-memory.toml", &study);
    run_page(&desk, "README.md");
}

#[test]
fn command_lines_of_other_tools() {
    for command in OTHER_TOOLS {
        let mut desk = desk();
        let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", &format!("docs_{command}"));
        for (name, value) in
            [("HOST", &maria.host), ("PORT", &maria.port), ("PASSWORD", &maria.password), ("DATABASE", &maria.database)]
        {
            desk.set(name, value);
        }
        run_page(&desk, &page_of(command));
    }
}

#[test]
fn exit_codes() {
    let desk = desk();
    let (shown, _) = commands("docs/exit-codes.md");
    let tpcc = edited(&[("\"rw\"", "\"tpcc\""), ("\"sysbench\"", "\"tpcc\""), ("table_size = 1000", "warehouses = 1")]);
    desk.write("study.toml", &tpcc);
    desk.good(&["prepare", "study.toml"]);
    rusqlite::Connection::open(desk.path("full.db")).unwrap().execute("UPDATE warehouse SET w_ytd = w_ytd + 1", []).unwrap();
    run(&desk, &shown[..1]);
    desk.write("study.toml", &edited(&[("us-east-1", "us-east-9"), ("trials", "trails")]));
    run(&desk, &shown[1..2]);
    desk.write("study.toml", SQLITE_STUDY);
    desk.good(&["run", "study.toml"]);
    desk.write("study.toml", &edited(&[("table_size = 1000", "table_size = 2000")]));
    run(&desk, &shown[2..]);
}
