//! Times of commands and the log of transactions, beside those of the real pgbench.

use super::*;

/// The commands in a report of `-r`, and how many numbers stand before each: of every script.
fn commands(text: &str) -> Vec<(usize, String)> {
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
fn of_command<'a>(text: &'a str, command: &str) -> Vec<f64> {
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

