use super::*;
use crate::cases::words;
use crate::option::done;

const SCRIPT: [Spec; 4] = [
    done("table_size", Kind::Number, "", ""),
    done("tables", Kind::Number, "", ""),
    done("skip_trx", Kind::Switch, "", ""),
    done("create_table_options", Kind::Text, "", ""),
];

fn read(list: &[&str]) -> Result<Given, Refused> {
    parse(&words(list), &SCRIPT)
}

fn refused(list: &[&str]) -> String {
    let refused = read(list).unwrap_err();
    format!("{}\n{}", refused.message, refused.help)
}

#[test]
fn options_stand_anywhere_and_later_ones_win() {
    let given = read(&["--threads=4", "oltp_read_write", "--table_size=1e3", "--skip-trx", "run", "--threads=8"]).unwrap();
    assert_eq!((given.script.as_deref(), given.command.as_deref()), (Some("oltp_read_write"), Some("run")));
    assert_eq!(given.general["threads"], "8");
    assert_eq!((given.own["table_size"].as_str(), given.own["skip_trx"].as_str()), ("1000", "on"));
    let given = read(&["--histogram=off", "--skip_trx=0", "--create-table-options=x=y"]).unwrap();
    assert_eq!((given.general["histogram"].as_str(), given.own["skip_trx"].as_str()), ("off", "off"));
    assert_eq!(given.own["create_table_options"], "x=y");
}

#[test]
fn older_names_are_taken_with_a_warning() {
    let given = read(&["--num-threads=3", "--max_time=5", "--max-requests=7", "--tx-rate=9", "--test=x.lua", "run"]).unwrap();
    let values = ["threads", "time", "events", "rate"].map(|n| given.general[n].as_str());
    assert_eq!(values, ["3", "5", "7", "9"]);
    let order = [("num-threads", "threads"), ("max-requests", "events"), ("max-time", "time"), ("tx-rate", "rate")];
    let wanted = order.map(|(older, newer)| format!("--{older} is deprecated, use --{newer} instead"));
    assert!(given.by_test && given.deprecated().eq(wanted));
    assert_eq!((given.script.as_deref(), given.command.as_deref()), (Some("x.lua"), Some("run")));
}

#[test]
fn slips_are_named_with_the_way_out() {
    for (line, parts) in [
        (&["--thread=4"][..], &["invalid option: --thread", "--threads?"][..]),
        (&["--oltp-table-size=4"], &["invalid option: --oltp-table-size", "--table-size?"]),
        (&["--threads=x"], &["Invalid value for the 'threads' option: 'x'", "whole number"]),
        (&["--threads=4.5"], &["'4.5'"]),
        (&["--threads=99999999999"], &["Invalid value for the 'threads' option"]),
        (&["--table-size=10K"], &["Invalid value for the 'table_size' option: '10K'", "without a unit"]),
        (&["--skip-trx=maybe"], &["invalid option: --skip_trx=maybe", "=on or =off"]),
        (&["--threads"], &["--threads has no value", "--threads=N"]),
        (&["--threads", "4", "oltp", "run"], &["--threads has no value", "--threads=N"]),
        (&["--histogram", "4", "oltp", "run"], &["Unrecognized command line argument: run", "after `=`"]),
        (&["a", "run", "now"], &["Unrecognized command line argument: now"]),
        (&["--thread-stack-size=64X"], &["'64X'", "64K"]),
        (&["--mysql-compression"], &["compression is not supported"]),
        (&["--config-file=/nonexistent/file"], &["/nonexistent/file", "--config-file"]),
    ] {
        let said = refused(line);
        assert!(parts.iter().all(|p| said.contains(p)), "{line:?}: {said}");
    }
    assert!(read(&["--mysql-compression=off", "--mysql-dry-run=0"]).is_ok());
    let remarks = read(&["--db-debug", "--thread-stack-size=64K", "--mysql-debug"]).unwrap().remarks;
    assert!(remarks.len() == 3 && remarks[0].starts_with("--db-debug: nothing to do"), "{remarks:?}");
}

#[test]
fn a_password_is_kept_apart_and_never_quoted() {
    let line = ["--mysql-password=hunter2", "--pgsql_password=a=b", "oltp_read_only", "run"];
    let given = read(&line).unwrap();
    assert_eq!(given.typed["mysql-password"].0, "hunter2");
    assert_eq!(given.typed["pgsql-password"].0, "a=b");
    assert!(!format!("{given:?}").contains("hunter2"));
    assert_eq!(without_passwords(&words(&line)), words(&["oltp_read_only", "run"]));
    assert!(read(&["--mysql-password=x", "--mysql-password="]).unwrap().typed.is_empty());
    for line in [
        &["--mysql-pasword=hunter2"][..],
        &["--password=hunter2"],
        &["--mysql-password", "hunter2", "oltp_read_only", "run"],
        &["x", "run", "--pgsql-password", "hunter2"],
    ] {
        assert!(!refused(line).contains("hunter2"), "{line:?}");
    }
    assert!(refused(&["--password=hunter2"]).contains("--mysql-password?"));
}

#[test]
fn an_option_file_is_read_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("options.cnf");
    let text = "# a comment = 1\n[sysbench]\nthreads = 16\n time=60 # seconds\nmysql-host = 'a', b\nmysql_password=\"p w\"\ntables=3\nnonsense\ntable_sise=4\n";
    std::fs::write(&path, text).unwrap();
    let file = format!("--config-file={}", path.display());
    let given = read(&["--time=5", &file, "--threads=2"]).unwrap();
    let value = |name: &str| given.general[name].as_str();
    assert_eq!((value("threads"), value("time"), value("mysql-host")), ("2", "60", "a,b"));
    assert_eq!((given.own["tables"].as_str(), &given.filed["mysql-password"].0), ("3", &OsString::from("p w")));
    assert!(given.remarks.iter().any(|r| r.contains(":8: no NAME=VALUE")), "{:?}", given.remarks);
    assert!(given.remarks.iter().any(|r| r.contains(":9:") && r.contains("did you mean table-size?")), "{:?}", given.remarks);
    std::fs::write(&path, "threads=many\n").unwrap();
    let said = refused(&[&file]);
    assert!(said.contains("options.cnf:1: Invalid value for the 'threads' option: 'many'"), "{said}");
    std::fs::write(&path, "mysql-host='a\n").unwrap();
    assert!(refused(&[&file]).contains("options.cnf:1: a quote is not closed"));
}
