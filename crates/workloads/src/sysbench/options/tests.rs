//! Options read from parameters.

use perbuck_core::study::Located;

use super::*;
use crate::testing;

fn read(words: &[(&str, &str)]) -> Result<Options, Vec<crate::params::ParamProblem>> {
    testing::read(words)
}

pub(in super::super) fn options(script: &str, words: &[(&str, &str)]) -> Options {
    read(&[&[("script", script)], words].concat()).unwrap()
}

#[test]
fn defaults_are_those_of_sysbench() {
    let all = read(&[]).unwrap().parameters();
    let expected = "auto_inc=on create_secondary=on delete_inserts=1 distinct_ranges=1 index_updates=1 \
                    mysql_storage_engine=innodb non_index_updates=1 order_ranges=1 point_selects=10 rand_spec_iter=12 \
                    rand_spec_pct=1 rand_spec_res=75 rand_type=uniform range_selects=on range_size=100 \
                    script=oltp_read_write secondary=off simple_ranges=1 skip_trx=off sum_ranges=1 table_size=10000 tables=1";
    assert_eq!(all.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" "), expected);
}

#[test]
fn every_problem_is_reported() {
    let given = [
        ("table_size", "2147483648"),
        ("script", "oltp_read_wrte"),
        ("mysql_storage_engine", "innodb; DROP TABLE x"),
        ("rand_type", "zipfan"),
        ("table-size", "5"),
    ];
    let problems = read(&given).unwrap_err();
    let mut keys: Vec<&str> = problems.iter().map(|p| p.key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["mysql_storage_engine", "rand_type", "script", "table-size", "table_size"]);
    assert!(problems.iter().any(|p| p.help.contains("oltp_read_write")), "{problems:?}");
}

#[test]
fn a_script_that_would_do_nothing_is_refused() {
    let none = [("index_updates", "0"), ("non_index_updates", "0"), ("delete_inserts", "0")];
    assert!(read(&none).is_ok());
    assert_eq!(read(&[&none[..], &[("script", "oltp_write_only")]].concat()).unwrap_err()[0].key, "script");
}

#[test]
fn scripts_share_their_data() {
    let of = |script| options(script, &[]).data_parameters();
    for (script, _) in SCRIPTS {
        assert_eq!(of(script) == of("oltp_read_only"), script != "bulk_insert", "{script}");
    }
    let other = options("oltp_point_select", &[("point_selects", "3"), ("reconnect", "5"), ("skip_trx", "on")]);
    assert_eq!(other.data_parameters(), of("oltp_read_only"));
    assert_eq!((&*other.parameters()["point_selects"], &*other.parameters()["reconnect"]), ("1", "5"));
}

#[test]
fn defaults_are_those_that_help_shows() {
    for compat in [None, Some(Compat::Sysbench10), Some(Compat::Sysbench11)] {
        for (script, _) in SCRIPTS {
            let mut given = testing::parameters(&[("script", script)]);
            given.extend(compat.map(|c| testing::parameters(&[("compat", c.name())])).unwrap_or_default());
            let implicit = Options::checked(&given).unwrap();
            let shown = option_help(implicit.script.into(), compat);
            for option in shown.iter().filter(|o| !matches!(o.name, "script" | "compat")) {
                given.insert(
                    option.name.to_owned(),
                    Located { value: option_value(option.name, option.default).unwrap(), line: 1 },
                );
            }
            assert_eq!(Options::checked(&given).unwrap(), implicit, "{script} {compat:?}");
            assert_eq!(implicit.parameters().get("compat").map(String::as_str), compat.map(Compat::name));
        }
    }
}

#[test]
fn data_know_what_decides_them() {
    let of = |words: &[(&str, &str)]| options("oltp_read_write", words).data_parameters();
    let plain = of(&[]);
    // Even draws stay even when they are scrambled, and constants of a law that is not used decide nothing.
    assert_eq!(plain, of(&[("rand_scramble", "on")]));
    assert_eq!(plain, of(&[("rand_spec_pct", "7"), ("compat", "sysbench-1.1")]));
    let different = [
        of(&[("rand_type", "gaussian")]),
        of(&[("rand_type", "pareto")]),
        of(&[("rand_type", "pareto"), ("rand_scramble", "on")]),
        of(&[("rand_type", "zipfian")]),
        of(&[("compat", "sysbench-1.0")]),
        of(&[("create_table_options", "COMMENT 'x'")]),
        of(&[("pgsql_variant", "redshift")]),
        of(&[("rand_type", "special")]),
    ];
    for (i, one) in different.iter().enumerate() {
        assert!(*one != plain && different[i + 1..].iter().all(|other| other != one), "{one:?}");
    }
}

#[test]
fn versions_bring_their_defaults_and_refuse_what_they_do_not_have() {
    let law = |words: &[(&str, &str)]| (options("oltp_read_write", words).rand_type, options("oltp_read_write", words).compat);
    assert_eq!(law(&[("compat", "sysbench-1.0")]), (RandType::Special, Some(Compat::Sysbench10)));
    assert_eq!(law(&[("rand_type", "special")]), (RandType::Special, None));
    assert_eq!(law(&[("compat", "sysbench-1.1")]), (RandType::Uniform, Some(Compat::Sysbench11)));
    for (compat, rand_type) in [("sysbench-1.0", "zipfian"), ("sysbench-1.1", "special")] {
        let problems = read(&[("compat", compat), ("rand_type", rand_type)]).unwrap_err();
        assert!(problems[0].message.contains(compat) && problems[0].key == "rand_type", "{problems:?}");
    }
    assert!(read(&[("compat", "sysbench-2")]).unwrap_err()[0].help.contains("sysbench-1.0"));
}

#[test]
fn options_of_other_scripts_are_refused_by_name() {
    let ask = |script: &str, name: &'static str| {
        let problems = read(&[("script", script), (name, "3")]).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        (problems[0].message.clone(), problems[0].help.clone())
    };
    assert_eq!(ask("oltp_read_write", "random_points").0, "`random_points` is no option of oltp_read_write");
    assert_eq!(ask("oltp_read_write", "threads").0, "`threads` is no option of oltp_read_write");
    assert!(ask("bulk_insert", "tables").1.contains("`threads`"));
    assert!(read(&[("script", "bulk_insert"), ("rand_type", "pareto")]).is_ok());
}

#[test]
fn numbers_have_their_limits() {
    let limits = [
        ("table_size", "0"),
        ("tables", "7001"),
        ("rand_spec_pct", "101"),
        ("rand_spec_res", "-1"),
        ("rand_spec_iter", "0"),
        ("rand_pareto_h", "1"),
        ("rand_zipfian_exp", "-0.5"),
        ("rand_zipfian_exp", "much"),
        ("reconnect", "-1"),
        ("create_table_options", "a\nb"),
        ("pgsql_variant", "citus"),
    ];
    for (name, value) in limits {
        let problems = read(&[(name, value)]).unwrap_err();
        assert!(problems.len() == 1 && problems[0].key == name, "{problems:?}");
    }
    let both = [("create_table_options", "a"), ("mysql_table_options", "b")];
    assert_eq!(read(&both).unwrap_err()[0].key, "mysql_table_options");
    let whole = read(&[("rand_zipfian_exp", "1"), ("rand_pareto_h", "0.25")]).unwrap();
    assert_eq!((whole.rand_zipfian_exp, whole.rand_pareto_h), (1.0, 0.25));
}
