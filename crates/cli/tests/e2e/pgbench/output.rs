//! Times of commands and the log of transactions, beside those of the real pgbench.

use super::*;

/// The commands in a report of `-r`, and how many numbers stand before each: of every script.
pub(super) fn commands(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().filter(|line| line.contains("statement latencies in milliseconds") || line.starts_with("     "));
    lines
        .map(|line| {
            let Some(rest) = line.strip_prefix("   ") else { return (0, line.to_owned()) };
            // The columns stand where pgbench has them.
            let numbers = if rest.get(23..35).is_some_and(|third| third.trim().parse::<u64>().is_ok()) { 3 } else { 2 };
            let (mean, command) = rest.split_at(11 + 12 * (numbers - 1));
            assert!(mean[..11].trim().parse::<f64>().is_ok() && command.starts_with("  "), "{line}");
            (numbers, command.to_owned())
        })
        .collect()
}

const COMMANDS: &str = "-- a comment\n\\set a 1 + 1\n\\if :a > 5\nSELECT 1,\n  2;\n\\elif :a = 2\nSELECT 3 /* c */, ':' -- d\n;\n\\else\nSELECT 4;\n\\endif\n  \
                        /* hi */ SELECT :a AS x \\gset p_\n\\sleep 3 ms\nSELECT 5 \\; SELECT 6;\n\
                        SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';\n";

#[test]
fn commands_are_reported_as_by_pgbench() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_by_command");
    good(theirs, &desk, &postgres, &["-i", "-q"]);
    desk.write("a.sql", COMMANDS);
    for words in [
        &["-n", "-t", "20", "-r"][..],
        &["-n", "-t", "20", "-r", "-f", "a.sql"],
        &["-n", "-t", "20", "-r", "-S", "-M", "prepared", "--failures-detailed"],
        &["-n", "-t", "20", "-r", "-N", "-f", "a.sql@2", "--max-tries=3", "-c", "2"],
    ] {
        let [ours, theirs] = PROGRAMS.map(|program| good(program, &desk, &postgres, words));
        assert_eq!(commands(&ours), commands(&theirs), "{words:?}");
        assert!(commands(&ours).len() > 2, "{ours}");
    }
}

/// The mean time of a command, and what follows it.
pub(super) fn of_command<'a>(text: &'a str, command: &str) -> Vec<f64> {
    let line = text.lines().find(|line| line.ends_with(command)).unwrap_or_else(|| panic!("{command}: {text}"));
    line.trim_end_matches(command).split_whitespace().map(|number: &'a str| number.parse().unwrap()).collect()
}

#[test]
fn the_times_and_failures_of_commands_are_theirs() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_command_times");
    postgres.sql("CREATE TABLE one (id int, n int)");
    postgres.sql("INSERT INTO one VALUES (1, 0)");
    let script = "\\sleep 5 ms\nSELECT pg_sleep(0.02);\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT n FROM one;\n\\sleep 2 ms\n\
                  UPDATE one SET n = n + 1;\nEND;\n";
    desk.write("a.sql", script);
    for program in PROGRAMS {
        let words = ["-n", "-c", "4", "-j", "2", "-t", "10", "-r", "-f", "a.sql"];
        let out = good(program, &desk, &postgres, &words);
        let slept = of_command(&out, "  SELECT pg_sleep(0.02);");
        assert!(slept[0] > 20.0 && slept[0] < 60.0 && slept[1] == 0.0, "{out}");
        let slept = of_command(&out, "  \\sleep 5 ms");
        assert!(slept[0] > 5.0 && slept[0] < 20.0, "{out}");
        let update = of_command(&out, "  UPDATE one SET n = n + 1;");
        let failed = out.split("number of failed transactions: ").nth(1).unwrap().split(' ').next().unwrap();
        assert!(update[1] > 0.0 && update[1] == failed.parse::<f64>().unwrap(), "{out}");
        let out = good(program, &desk, &postgres, &[&words[..], &["--max-tries=1000"]].concat());
        let update = of_command(&out, "  UPDATE one SET n = n + 1;");
        let retries = out.split("total number of retries: ").nth(1).unwrap().lines().next().unwrap();
        assert!(update[1] == 0.0 && update[2] > 0.0 && update[2] == retries.parse::<f64>().unwrap(), "{out}");
    }
}

/// The lines of all files whose names begin so, as numbers or words, and the ends of these names after the process id.
fn logged(desk: &Desk, prefix: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let names = std::fs::read_dir(desk.path(".")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(&format!("{prefix}."))).collect();
    names.sort();
    let (mut lines, mut ends) = (Vec::new(), Vec::new());
    for name in names {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        lines.extend(std::fs::read_to_string(desk.path(&name)).unwrap().lines().map(words));
        std::fs::remove_file(desk.path(&name)).unwrap();
        ends.push(name[prefix.len() + 1..].trim_start_matches(|c: char| c.is_ascii_digit()).to_owned());
    }
    (lines, ends)
}

fn numbers(line: &[String]) -> Vec<i64> {
    line.iter().map(|word| word.parse().unwrap_or_else(|_| panic!("{line:?}"))).collect()
}

#[test]
fn the_log_has_a_line_for_each_transaction() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_log");
    good(theirs, &desk, &postgres, &["-i", "-q"]);
    let words = ["-n", "-l", "-t", "25", "-c", "4", "-j", "2"];
    let now_s = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    for program in PROGRAMS {
        let before_s = now_s();
        // Two scripts, and a prefix of one's own.
        good(program, &desk, &postgres, &[&words[..], &["-b", "si", "-S", "--log-prefix=mine"]].concat());
        let (lines, ends) = logged(&desk, "mine");
        assert_eq!((lines.len(), ends), (100, vec![String::new(), ".1".to_owned()]));
        let numbers: Vec<Vec<i64>> = lines.iter().map(|line| numbers(line)).collect();
        for line in &numbers {
            let [_, _, us, script, second, rest] = line[..] else { panic!("{line:?}") };
            assert!(us > 0 && us < 10_000_000 && (script == 0 || script == 1) && (0..1_000_000).contains(&rest), "{line:?}");
            assert!(second >= before_s && second <= now_s(), "{line:?}");
        }
        assert!([0, 1].iter().all(|script| numbers.iter().any(|line| line[3] == *script)));
        let clients: std::collections::BTreeSet<i64> = numbers.iter().map(|line| line[0]).collect();
        assert_eq!(clients, (0..4).collect());
        for client in clients {
            let own: Vec<i64> = numbers.iter().filter(|line| line[0] == client).map(|line| line[1]).collect();
            assert_eq!(own, (1..=own.len() as i64).collect::<Vec<_>>(), "the transactions of a client in their order");
        }
        good(program, &desk, &postgres, &[&words[..], &["-S", "-R", "2000", "--max-tries=2"]].concat());
        let (lines, _) = logged(&desk, "pgbench_log");
        assert_eq!(lines.len(), 100);
        for line in &lines {
            let [_, _, us, _, _, _, lag, retries] = self::numbers(line)[..] else { panic!("{line:?}") };
            assert!(us >= lag && lag >= 0 && retries == 0, "{line:?}");
        }
        good(program, &desk, &postgres, &[&words[..], &["-S", "-t", "500", "--sampling-rate=0.25"]].concat());
        let (lines, _) = logged(&desk, "pgbench_log");
        assert!((380..620).contains(&lines.len()), "a quarter of 2000: {}", lines.len());
    }
}

#[test]
fn the_log_of_intervals_has_the_sums_of_pgbench() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_intervals");
    good(theirs, &desk, &postgres, &["-i", "-q"]);
    let processed =
        |out: &str| -> i64 { out.split("actually processed: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap() };
    for (program, is_real) in PROGRAMS.into_iter().zip([false, true]) {
        let words = ["-n", "-l", "-T", "4", "--aggregate-interval=2", "-S", "-c", "2"];
        let out = good(program, &desk, &postgres, &words);
        let (lines, _) = logged(&desk, "pgbench_log");
        let lines: Vec<Vec<i64>> = lines.iter().map(|line| numbers(line)).collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.len() == 15), "{lines:?}");
        assert_eq!(lines[1][0] - lines[0][0], 2);
        for line in &lines {
            let [_, count, sum, squares, min, max, ..] = line[..] else { panic!("{line:?}") };
            assert!(count > 0 && min > 0 && min * count <= sum && sum <= max * count && squares >= sum * sum / count, "{line:?}");
            assert!(line[6..].iter().all(|number| *number == 0), "{line:?}");
        }
        // The intervals of pgbench begin before its clients have connected, so that its last transactions are in none.
        let (all, counted) = (processed(&out), lines[0][1] + lines[1][1]);
        assert!(counted == all || is_real && counted < all, "{all} {lines:?}");
        let out = good(program, &desk, &postgres, &[&words[..], &["-R", "200", "--max-tries=2", "--failures-detailed"]].concat());
        let (lines, _) = logged(&desk, "pgbench_log");
        let lines: Vec<Vec<i64>> = lines.iter().map(|line| numbers(line)).collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.len() == 15 && line[6] > 0 && line[9] >= line[8]), "{lines:?}");
        assert!(lines.iter().map(|line| line[1]).sum::<i64>() <= processed(&out), "{lines:?}");
    }
}

/// Transactions that fail have a word in place of their time, and those that are tried again say how often.
#[test]
fn the_log_says_which_transactions_failed() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_log_failures");
    postgres.sql("CREATE TABLE one (id int, n int)");
    postgres.sql("INSERT INTO one VALUES (1, 0)");
    desk.write(
        "a.sql",
        "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT n FROM one;\n\\sleep 2 ms\nUPDATE one SET n = n + 1;\nEND;\n",
    );
    let words = ["-n", "-l", "-c", "4", "-j", "2", "-t", "25", "-f", "a.sql"];
    let failed =
        |out: &str| -> usize { out.split("failed transactions: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap() };
    for program in PROGRAMS {
        for (more, word) in [(&[][..], "failed"), (&["--failures-detailed"], "serialization")] {
            let out = good(program, &desk, &postgres, &[&words[..], more].concat());
            let (lines, _) = logged(&desk, "pgbench_log");
            let worded = lines.iter().filter(|line| line[2] == word).count();
            assert!(lines.len() == 100 && worded > 0 && worded == failed(&out), "{worded} {out}");
        }
        let out = good(program, &desk, &postgres, &[&words[..], &["--max-tries=1000"]].concat());
        let (lines, _) = logged(&desk, "pgbench_log");
        let retries: i64 = lines.iter().map(|line| numbers(line)[6]).sum();
        assert!(retries > 0 && out.contains(&format!("total number of retries: {retries}\n")), "{retries} {out}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_an_error() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_log_nowhere");
    good(theirs, &desk, &postgres, &["-i", "-q"]);
    for program in PROGRAMS {
        let ended = program(&desk, &postgres, &["-n", "-S", "-l", "--log-prefix=/nowhere/x"]);
        let said = ["could not open logfile \"/nowhere/x.", "No such file or directory"];
        assert!(ended.code == Some(1) && said.iter().all(|part| ended.err.contains(part)), "{ended:#?}");
        for words in [&["--sampling-rate=0.5"][..], &["-l", "-T5", "--aggregate-interval=2"]] {
            let ended = program(&desk, &postgres, &[&["-n", "-S"], words].concat());
            let said = ["is allowed only when logging transactions (-l)", "must be a multiple of aggregation interval (2)"];
            assert!(ended.code == Some(1) && said.iter().any(|part| ended.err.contains(part)), "{ended:#?}");
        }
    }
    // A disk without space: the shell makes the name of the log lead to one, and becomes perbuck.
    for words in ["-t 3", "-T 30 -c 2", "-T 30 --aggregate-interval=1"] {
        let perbuck = env!("CARGO_BIN_EXE_perbuck");
        let line = format!(
            "ln -s /dev/full pgbench_log.$$; exec {perbuck} pgbench -n -S -l {words} {}",
            connection(&postgres).join(" ")
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line]).env("PGPASSWORD", &postgres.password).current_dir(desk.path("."));
        let began = std::time::Instant::now();
        let ended = crate::common::ended(command.env("HOME", desk.path(".")).output().unwrap());
        assert!(ended.code == Some(2) && ended.err.contains("could not write to logfile \"pgbench_log."), "{ended:#?}");
        assert!(ended.err.contains("No space left on device") && began.elapsed().as_secs() < 20, "{ended:#?}");
    }
}
