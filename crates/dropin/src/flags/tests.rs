use super::Kind::{Duration, Int, List, Password, Switch, Text};
use super::*;
use crate::cases::words;
use crate::option::{done, ignored, refused};

const fn flag(short: Option<char>, name: &'static str, kind: Kind, default: &'static str) -> Flag {
    Flag { short, ..done(name, kind, default, "what it is") }
}

const FLAGS: &[Flag] = &[
    flag(Some('T'), "threads", Int, "1"),
    flag(Some('P'), "port", Int, "4000"),
    flag(Some('p'), "password", Password, ""),
    flag(Some('H'), "host", List, "127.0.0.1"),
    flag(Some('h'), "help", Switch, "false"),
    flag(Some('q'), "quiet", Switch, "false"),
    flag(None, "time", Duration, ""),
    flag(None, "name", Text, "x"),
    flag(None, "password-file", Text, ""),
    ignored("pprof", Text, "", "nothing to do"),
    refused("ssl-key", Text, "not supported: leave it out"),
    flag(None, "wait", Switch, "false").of(&["run"]),
];
const TABLE: Table = Table { command: "perbuck test", groups: &[Group { title: "All:", options: FLAGS }] };

fn read(list: &[&str]) -> Result<Given, Refused> {
    TABLE.read(&words(list))
}

#[test]
fn values_stand_behind_options_in_every_way_of_pflag() {
    for line in [
        &["run", "--threads", "16"][..],
        &["run", "--threads=16"],
        &["run", "-T", "16"],
        &["run", "-T16"],
        &["run", "-T=16"],
        &["-T", "4", "run", "--threads", "16"],
        &["-qT16", "run"],
    ] {
        let given = read(line).unwrap();
        assert_eq!((given.text("threads"), given.words.as_slice()), ("16", ["run".to_owned()].as_slice()), "{line:?}");
        assert_eq!(given.switch("quiet"), line[0] == "-qT16");
    }
    let given = read(&["-H", "a,b", "--host=c", "--quiet=f", "--name=", "--", "--threads=3"]).unwrap();
    assert_eq!((given.list("host"), given.switch("quiet"), given.text("name")), (vec!["a", "b", "c"], false, ""));
    assert_eq!((given.words.as_slice(), given.text("threads")), (["--threads=3".to_owned()].as_slice(), "1"));
    assert_eq!(given.count("threads", 1, 5), Ok(1));
    assert_eq!((read(&[]).unwrap().list("host"), given.has("host"), given.has("time")), (vec!["127.0.0.1"], true, false));
    assert_eq!(read(&["--time", "1m30s"]).unwrap().duration_ns("time"), Some(90_000_000_000));
    // A value may begin with a dash.
    assert_eq!(read(&["--name", "--threads"]).unwrap().text("name"), "--threads");
}

#[test]
fn a_password_is_kept_apart_and_never_quoted() {
    for line in [
        &["-phunter2", "run", "-q"][..],
        &["-p", "hunter2", "run", "-q"],
        &["-p=hunter2", "run", "-q"],
        &["run", "--password", "hunter2", "-q"],
        &["run", "--password=hunter2", "-q"],
        &["--password-file=f", "run", "-p", "x", "-phunter2", "-q"],
        &["run", "-qphunter2"],
    ] {
        let given = read(line).unwrap();
        assert_eq!(given.typed, Some(Typed("hunter2".into())), "{line:?}");
        assert!(!format!("{given:?}").contains("hunter2"));
        assert_eq!(given.kept, words(&["run", "-q"]), "{line:?}");
    }
    assert_eq!(read(&["-p", "x", "-p", ""]).unwrap().typed, None);
    for line in [&["-Phunter2"][..], &["--pasword=hunter2"], &["-P", "hunter2"], &["-xhunter2"], &["-qxhunter2"]] {
        let refused = read(line).unwrap_err();
        assert!(!format!("{refused:?}").contains("hunter2") && !refused.help.is_empty(), "{line:?}: {refused:?}");
    }
    assert!(read(&["--pasword=hunter2"]).unwrap_err().help.contains("--password?"));
}

#[test]
fn slips_are_named_with_the_way_out() {
    for (line, said, help) in [
        (&["--thread=4"][..], "unknown flag: --thread", "did you mean --threads?"),
        (&["--zzzzzz"], "unknown flag: --zzzzzz", "perbuck test --help"),
        (&["-z"], "unknown shorthand flag: 'z'", "--help"),
        (&["-T"], "flag needs an argument: -T", "INT"),
        (&["--threads"], "flag needs an argument: --threads", "INT"),
        (&["--threads=4.5"], "invalid argument \"4.5\" for \"-T, --threads\" flag", "whole number"),
        (&["--quiet=maybe"], "invalid argument \"maybe\" for \"-q, --quiet\" flag", "=true or =false"),
        (&["--time=60"], "invalid argument \"60\" for \"--time\" flag", "10s"),
        (&["--ssl-key=k"], "--ssl-key: not supported", "leave it out"),
    ] {
        let refused = read(line).unwrap_err();
        assert!(refused.message == said && refused.help.contains(help), "{line:?}: {refused:?}");
    }
    let given = read(&["--pprof=:1", "--pprof", ":2", "--ssl-key=", "--wait"]).unwrap();
    assert_eq!(given.remarks, ["--pprof: nothing to do"]);
    assert!(given.only_of("run").is_ok());
    assert!(given.only_of("check").unwrap_err().help.contains("an option of run, and not of check"));
    assert!(given.count("port", 1, 100).unwrap_err().message.contains("for \"-P, --port\" flag"));
}

#[test]
fn the_help_has_every_option_in_columns() {
    let text = TABLE.help();
    assert!(text.contains("  -T, --threads int            what it is (default 1)\n"), "{text}");
    assert!(text.contains("      --wait                   [run] what it is (default false)\n"), "{text}");
    assert!(text.contains("      --ssl-key string         refused: not supported: leave it out\n"), "{text}");
}
