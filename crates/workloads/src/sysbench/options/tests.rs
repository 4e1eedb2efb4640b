//! Options read from parameters.

use perbuck_core::study::{Located, Scalar};

use super::*;
use crate::params::ParamProblem;

fn read(pairs: &[(&str, Scalar)]) -> Result<Options, Vec<ParamProblem>> {
    let given = pairs.iter().map(|(k, v)| ((*k).to_owned(), Located { value: v.clone(), line: 1 })).collect();
    let mut reader = Reader::new(&given, &OPTIONS);
    let options = Options::read(&mut reader);
    reader.finish().map(|()| options)
}

/// Options from integers and words, for the tests of the neighbours.
pub(in super::super) fn options(script: &str, numbers: &[(&str, i64)], words: &[(&str, &str)]) -> Options {
    let mut pairs = vec![("script", Scalar::Text(script.to_owned()))];
    pairs.extend(numbers.iter().map(|(k, v)| (*k, Scalar::Int(*v))));
    pairs.extend(words.iter().map(|(k, v)| (*k, Scalar::Text((*v).to_owned()))));
    read(&pairs).unwrap()
}

#[test]
fn defaults_are_those_of_sysbench() {
    let all = read(&[]).unwrap().parameters();
    let expected = [
        ("auto_inc", "on"),
        ("create_secondary", "on"),
        ("delete_inserts", "1"),
        ("distinct_ranges", "1"),
        ("index_updates", "1"),
        ("mysql_storage_engine", "innodb"),
        ("non_index_updates", "1"),
        ("order_ranges", "1"),
        ("point_selects", "10"),
        ("rand_spec_iter", "12"),
        ("rand_spec_pct", "1"),
        ("rand_spec_res", "75"),
        ("rand_type", "uniform"),
        ("range_selects", "on"),
        ("range_size", "100"),
        ("script", "oltp_read_write"),
        ("secondary", "off"),
        ("simple_ranges", "1"),
        ("skip_trx", "off"),
        ("sum_ranges", "1"),
        ("table_size", "10000"),
        ("tables", "1"),
    ];
    assert_eq!(all.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), expected);
}

#[test]
fn every_problem_is_reported() {
    let given = [
        ("table_size", Scalar::Int(1 << 31)),
        ("script", Scalar::Text("oltp_read_wrte".into())),
        ("mysql_storage_engine", Scalar::Text("innodb; DROP TABLE x".into())),
        ("rand_type", Scalar::Text("zipfan".into())),
        ("table-size", Scalar::Int(5)),
    ];
    let problems = read(&given).unwrap_err();
    let mut keys: Vec<&str> = problems.iter().map(|p| p.key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["mysql_storage_engine", "rand_type", "script", "table-size", "table_size"]);
    assert!(problems.iter().any(|p| p.help.contains("oltp_read_write")), "{problems:?}");
}

#[test]
fn a_script_that_would_do_nothing_is_refused() {
    let none = [("index_updates", 0), ("non_index_updates", 0), ("delete_inserts", 0)];
    let mut pairs: Vec<(&str, Scalar)> = none.iter().map(|(k, v)| (*k, Scalar::Int(*v))).collect();
    assert!(read(&pairs).is_ok());
    pairs.push(("script", Scalar::Text("oltp_write_only".into())));
    assert_eq!(read(&pairs).unwrap_err()[0].key, "script");
}

#[test]
fn scripts_share_their_data() {
    let of = |script| options(script, &[], &[]).data_parameters();
    for (script, _) in SCRIPTS {
        assert_eq!(of(script) == of("oltp_read_only"), script != "bulk_insert", "{script}");
    }
    let counts = [("point_selects", 3), ("reconnect", 5)];
    let other = options("oltp_point_select", &counts, &[("skip_trx", "on")]);
    assert_eq!(other.data_parameters(), of("oltp_read_only"));
    assert_eq!((&*other.parameters()["point_selects"], &*other.parameters()["reconnect"]), ("1", "5"));
}

#[test]
fn defaults_are_those_that_help_shows() {
    for compat in [None, Some(Compat::Sysbench10), Some(Compat::Sysbench11)] {
        for (script, _) in SCRIPTS {
            let mut pairs = vec![("script", Scalar::Text(script.to_owned()))];
            pairs.extend(compat.map(|c| ("compat", Scalar::Text(c.name().to_owned()))));
            let implicit = read(&pairs).unwrap();
            let shown = option_help(implicit.script.into(), compat);
            let given = shown.iter().filter(|o| !matches!(o.name, "script" | "compat"));
            let values = given.map(|o| (o.name, option_value(o.name, o.default).unwrap()));
            let explicit: Vec<(&str, Scalar)> = pairs.iter().cloned().chain(values).collect();
            assert_eq!(read(&explicit).unwrap(), implicit, "{script} {compat:?}");
            assert_eq!(implicit.parameters().get("compat").map(String::as_str), compat.map(Compat::name));
        }
    }
}

#[test]
fn data_know_what_decides_them() {
    let of = |words: &[(&str, &str)]| options("oltp_read_write", &[], words).data_parameters();
    let plain = of(&[]);
    // Even draws stay even when they are scrambled, and constants of a law that is not used decide nothing.
    assert_eq!(plain, of(&[("rand_scramble", "on")]));
    assert_eq!(plain, options("oltp_read_write", &[("rand_spec_pct", 7)], &[("compat", "sysbench-1.1")]).data_parameters());
    let special = of(&[("rand_type", "special")]);
    let different = [
        of(&[("rand_type", "gaussian")]),
        of(&[("rand_type", "pareto")]),
        of(&[("rand_type", "pareto"), ("rand_scramble", "on")]),
        of(&[("rand_type", "zipfian")]),
        of(&[("compat", "sysbench-1.0")]),
        of(&[("create_table_options", "COMMENT 'x'")]),
        of(&[("pgsql_variant", "redshift")]),
        special.clone(),
    ];
    for (i, one) in different.iter().enumerate() {
        assert!(*one != plain && different[i + 1..].iter().all(|other| other != one), "{one:?}");
    }
}

#[test]
fn versions_bring_their_defaults_and_refuse_what_they_do_not_have() {
    let of = |compat: &str, rand_type: Option<&str>| {
        let mut pairs = vec![("compat", Scalar::Text(compat.to_owned()))];
        pairs.extend(rand_type.map(|t| ("rand_type", Scalar::Text(t.to_owned()))));
        read(&pairs)
    };
    assert_eq!(of("sysbench-1.0", None).unwrap().rand_type, RandType::Special);
    assert_eq!(of("sysbench-1.1", None).unwrap().rand_type, RandType::Uniform);
    let old = of("sysbench-1.0", None).unwrap().distribution();
    assert!(matches!(old, Distribution::SpecialOfSysbench10 { band_percent: 1, share_percent: 75, averaged: 12 }));
    assert_eq!(options("oltp_read_write", &[], &[("rand_type", "special")]).distribution(), {
        Distribution::Special { band_percent: 1, share_percent: 75, averaged: 12 }
    });
    for (compat, rand_type) in [("sysbench-1.0", "zipfian"), ("sysbench-1.1", "special")] {
        let problems = of(compat, Some(rand_type)).unwrap_err();
        assert!(problems[0].message.contains(compat) && problems[0].key == "rand_type", "{problems:?}");
    }
    assert!(of("sysbench-2", None).unwrap_err()[0].help.contains("sysbench-1.0"));
}

#[test]
fn options_of_other_scripts_are_refused_by_name() {
    let ask = |script: &str, name: &'static str| {
        let problems = read(&[("script", Scalar::Text(script.to_owned())), (name, Scalar::Int(3))]).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        (problems[0].message.clone(), problems[0].help.clone())
    };
    assert_eq!(ask("oltp_read_write", "random_points").0, "`random_points` is no option of oltp_read_write");
    assert_eq!(ask("oltp_read_write", "threads").0, "`threads` is no option of oltp_read_write");
    assert!(ask("bulk_insert", "tables").1.contains("`threads`"));
    assert!(read(&[("script", Scalar::Text("bulk_insert".into())), ("rand_type", Scalar::Text("pareto".into()))]).is_ok());
}

#[test]
fn numbers_have_their_limits() {
    let limits = [
        ("table_size", Scalar::Int(0)),
        ("tables", Scalar::Int(7_001)),
        ("rand_spec_pct", Scalar::Int(101)),
        ("rand_spec_res", Scalar::Int(-1)),
        ("rand_spec_iter", Scalar::Int(0)),
        ("rand_pareto_h", Scalar::Int(1)),
        ("rand_zipfian_exp", Scalar::Float(-0.5)),
        ("rand_zipfian_exp", Scalar::Text("much".into())),
        ("reconnect", Scalar::Int(-1)),
        ("create_table_options", Scalar::Text("a\nb".into())),
        ("pgsql_variant", Scalar::Text("citus".into())),
    ];
    for (name, value) in limits {
        let problems = read(&[(name, value)]).unwrap_err();
        assert!(problems.len() == 1 && problems[0].key == name, "{problems:?}");
    }
    let both = [("create_table_options", Scalar::Text("a".into())), ("mysql_table_options", Scalar::Text("b".into()))];
    assert_eq!(read(&both).unwrap_err()[0].key, "mysql_table_options");
    let whole = read(&[("rand_zipfian_exp", Scalar::Int(1)), ("rand_pareto_h", Scalar::Float(0.25))]).unwrap();
    assert_eq!((whole.rand_zipfian_exp, whole.rand_pareto_h), (1.0, 0.25));
}
