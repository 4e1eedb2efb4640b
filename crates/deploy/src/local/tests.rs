use std::net::Ipv4Addr;

use super::*;

const PASSWORD: &str = "s3cret";
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn texts(config: &[(&str, &str)]) -> BTreeMap<String, String> {
    config.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

fn made(kind: Kind, config: &[(&str, &str)], as_root: bool) -> Recipe {
    of_parts(kind, &[], config, as_root)
}

fn of_parts(kind: Kind, parts: &[(&str, u32)], config: &[(&str, &str)], as_root: bool) -> Recipe {
    let (config, parts) = (texts(config), parts.iter().map(|(part, count)| ((*part).to_owned(), *count)).collect());
    let databases = ["perbuck".to_owned(), "other".to_owned()];
    let folder = Path::new("folder");
    let ports: Vec<u16> = (4711..).take(kind.ports(&parts)).collect();
    let wanted = Wanted {
        folder,
        parts: &parts,
        options: "",
        address: LOOPBACK,
        ports: &ports,
        config: &config,
        databases: &databases,
        connections: 90,
        as_root,
    };
    let programs: Vec<PathBuf> = kind.programs(&parts).iter().map(|p| PathBuf::from(p.names[0])).collect();
    kind.recipe(&wanted, &programs, PASSWORD).unwrap_or_else(|r| panic!("{}", r.message))
}

/// Arguments and input of every program that a recipe runs.
fn programs(recipe: &Recipe) -> Vec<(&[OsString], &str)> {
    let steps = recipe.steps.iter().filter_map(|step| match step {
        Step::Write { .. } => None,
        Step::Run { arguments, input, .. } => Some((&arguments[..], input.as_str())),
    });
    steps.chain(recipe.stages.iter().flatten().map(|p| (&p.arguments[..], p.input.as_str()))).collect()
}

fn file<'a>(recipe: &'a Recipe, name: &str) -> &'a str {
    let mut texts = recipe.steps.iter().filter_map(|step| match step {
        Step::Write { file, text } if file == name => Some(text),
        _ => None,
    });
    texts.next().unwrap_or_else(|| panic!("{name}"))
}

/// The arguments of the server of one process.
fn arguments(recipe: &Recipe) -> Vec<&str> {
    words(&recipe.stages[0][0].arguments)
}

fn words(arguments: &[OsString]) -> Vec<&str> {
    arguments.iter().filter_map(|a| a.to_str()).collect()
}

/// All kinds, and a cluster with SQL.
fn all_recipes() -> Vec<(Kind, Recipe)> {
    let cluster = (Kind::Tidb, of_parts(Kind::Tidb, &[("tikv", 3), ("tidb", 2)], &[], true));
    KINDS.iter().map(|(_, kind)| (*kind, made(*kind, &[], true))).chain([cluster]).collect()
}

#[test]
fn the_password_is_in_no_argument_and_no_file_and_no_address() {
    for (kind, recipe) in all_recipes() {
        let programs = programs(&recipe);
        let all = programs.iter().flat_map(|(arguments, _)| *arguments);
        assert!(all.clone().count() > 5);
        assert!(!all.into_iter().any(|a| a.to_string_lossy().contains(PASSWORD)), "{kind}");
        assert!(!recipe.steps.iter().any(|step| matches!(step, Step::Write { text, .. } if text.contains(PASSWORD))));
        assert!(!recipe.target.contains(PASSWORD));
        let inputs = programs.iter().filter(|(_, input)| input.contains(PASSWORD)).count();
        assert_eq!(inputs, usize::from(kind != Kind::Tikv), "TiKV has no users");
    }
}

#[test]
fn the_callers_settings_come_last() {
    let recipe = made(Kind::Mariadb, &[("max_connections", "7"), ("innodb_buffer_pool_size", "64M")], false);
    let words = arguments(&recipe);
    let at = |w: &str| words.iter().position(|a| *a == w);
    assert!(at("--max-connections=90") < at("--max_connections=7"));
    assert!(at("--innodb_buffer_pool_size=64M").is_some());
    assert!(!words.contains(&"--user=root"));
    let recipe = made(Kind::Postgres, &[("shared_buffers", "64MB")], true);
    assert!(arguments(&recipe).windows(2).any(|w| w == ["-c", "shared_buffers=64MB"]));
}

#[test]
fn every_server_listens_on_the_loopback_only_and_makes_all_databases() {
    for (kind, recipe) in all_recipes() {
        for process in recipe.stages.iter().flatten() {
            let bound = |a: &&str| a.ends_with("=127.0.0.1") || a.contains("=127.0.0.1:") || a.contains("://127.0.0.1:");
            assert!(words(&process.arguments).iter().any(bound), "{kind}: {}", process.name);
        }
        if kind == Kind::Tikv {
            assert_eq!(recipe.target, "tikv://127.0.0.1:4711/");
            continue;
        }
        let input = programs(&recipe).into_iter().map(|(_, input)| input).find(|input| !input.is_empty());
        let input = input.unwrap_or_else(|| panic!("{kind}"));
        assert!(["perbuck", "other"].iter().all(|d| input.contains(&format!("CREATE DATABASE {}", quoted(kind, d)))));
        assert!(recipe.target.contains("@127.0.0.1:4711") && recipe.target.contains("/perbuck"));
    }
}

fn quoted(kind: Kind, name: &str) -> String {
    if kind == Kind::Postgres { format!("\"{name}\"") } else { format!("`{name}`") }
}

#[test]
fn settings_that_would_move_the_server_are_refused() {
    for (key, kind) in [
        ("datadir", Kind::Mariadb),
        ("Bind-Address", Kind::Mysql),
        ("listen_addresses", Kind::Postgres),
        ("status.status-port", Kind::Tidb),
    ] {
        let refused = kind.check(&Parts::new(), key, "x").unwrap_err();
        assert!(refused.message.contains(key) && refused.help.contains("target"), "{}", refused.message);
    }
    for (key, value) in [("", "x"), ("-c", "x"), ("a b", "x"), ("a=b", "x"), ("sql_mode", "a\nb")] {
        assert!(Kind::Mysql.check(&Parts::new(), key, value).is_err(), "{key}");
    }
    assert_eq!(Kind::Mariadb.check(&Parts::new(), "innodb-buffer-pool-size", "64M"), Ok(()));
    assert_eq!(Kind::Postgres.check(&Parts::new(), "auto_explain.log_min_duration", "1s"), Ok(()));
}

#[test]
fn settings_of_parts_are_checked_as_theirs() {
    let (alone, cluster) = (Parts::new(), Parts::from([("tikv".to_owned(), 3)]));
    let absent = Kind::Tidb.check(&alone, "tikv.storage.reserve-space", "0").unwrap_err();
    assert!(absent.message.contains("not started") && absent.help.contains("tikv = 3"));
    assert_eq!(Kind::Tidb.check(&cluster, "tikv.storage.reserve-space", "0"), Ok(()));
    assert_eq!(Kind::Tidb.check(&cluster, "tikv-client.grpc-connection-count", "2"), Ok(()));
    for (kind, key) in [(Kind::Tidb, "tikv.storage.data-dir"), (Kind::Tikv, "storage.data-dir"), (Kind::Tikv, "pd.join")] {
        assert!(kind.check(&cluster, key, "x").unwrap_err().message.contains(key));
    }
    // PD's own settings, and what TiKV is told of PD.
    assert_eq!(Kind::Tikv.check(&alone, "pd.schedule.leader-schedule-limit", "4"), Ok(()));
}

#[test]
fn a_cluster_starts_in_order_and_every_part_has_its_settings() {
    let config = [("tikv.storage.block-cache.capacity", "1GB"), ("performance.max-procs", "2"), ("pd.log.level", "warn")];
    let recipe = of_parts(Kind::Tidb, &[("tikv", 3), ("tidb", 2), ("pd", 3)], &config, true);
    let stages: Vec<Vec<&str>> = recipe.stages.iter().map(|s| s.iter().map(|p| p.name.as_str()).collect()).collect();
    assert_eq!(stages, [vec!["pd-1", "pd-2", "pd-3"], vec!["tikv-1", "tikv-2", "tikv-3"], vec!["tidb-1"], vec!["tidb-2"]]);
    assert_eq!(file(&recipe, "tikv.toml"), "[storage.block-cache]\ncapacity = \"1GB\"\n");
    assert_eq!(file(&recipe, "pd.toml"), "[log]\nlevel = \"warn\"\n[replication]\nmax-replicas = 3\n");
    assert!(file(&recipe, "tidb.toml").ends_with("[performance]\nmax-procs = 2\n"));
    assert_eq!(recipe.target, "tidb://perbuck@127.0.0.1:4711,127.0.0.1:4713/perbuck?tls=disabled");
    // No port is given twice.
    let arguments = recipe.stages.iter().flatten().flat_map(|p| words(&p.arguments));
    let own = arguments.filter(|a| {
        ["--P=", "--status=", "--addr=", "--status-addr=", "--client-urls=", "--peer-urls="].iter().any(|k| a.starts_with(k))
    });
    let ports: std::collections::BTreeSet<&str> = own.filter_map(|a| a.rsplit([':', '=']).next()).collect();
    assert_eq!(ports.len(), 2 * (2 + 3 + 3));
    // Copies that have no place are not looked for.
    let one = of_parts(Kind::Tikv, &[("tikv", 2)], &[], true);
    assert_eq!(file(&one, "pd.toml"), "[replication]\nmax-replicas = 1\n");
    let own = of_parts(Kind::Tikv, &[("tikv", 2)], &[("pd.replication.max-replicas", "2")], true);
    assert_eq!(file(&own, "pd.toml"), "[replication]\nmax-replicas = 2\n");
}

#[test]
fn options_are_part_of_the_address() {
    let target =
        |kind: Kind, options: &str| kind.target(&Parts::new(), (LOOPBACK, &[1, 2, 3, 4][..kind.ports(&Parts::new())]), options);
    assert_eq!(target(Kind::Tikv, "type=txn").as_deref(), Some("tikv://127.0.0.1:1/?type=txn"));
    let there = |kind: Kind| kind.target(&Parts::new(), (IpAddr::from([10, 0, 0, 1]), &[1]), "");
    let expected = "mysql://perbuck@10.0.0.1:1/perbuck?tls=disabled&send_password=always";
    assert_eq!(there(Kind::Mysql).as_deref(), Some(expected));
    assert_eq!(there(Kind::Mariadb).as_deref(), Some("mysql://perbuck@10.0.0.1:1/perbuck?tls=disabled"));
    let expected = "tidb://perbuck@127.0.0.1:1/perbuck?tls=disabled&set.tidb_txn_mode=optimistic";
    assert_eq!(target(Kind::Tidb, "set.tidb_txn_mode=optimistic").as_deref(), Some(expected));
}

#[test]
fn the_configuration_of_tidb_is_toml() {
    let config = [("performance.max-procs", "2"), ("instance.tidb_enable_slow_log", "OFF"), ("log.level", "say \"no\"")];
    let recipe = made(Kind::Tidb, &config, true);
    let expected = "tmp-storage-path = \"folder/temp\"\n[instance]\ntidb_enable_slow_log = false\n[log]\nlevel = \"say \\\"no\\\"\"\n\
                    [performance]\nmax-procs = 2\n";
    assert_eq!(file(&recipe, "tidb.toml"), expected);
    assert!(arguments(&recipe).contains(&"--config=folder/tidb.toml"));
    for (value, written) in [("0.5", "0.5"), ("-1", "-1"), ("007", "\"007\""), ("infinity", "\"infinity\""), ("1.", "\"1.\"")] {
        assert!(
            file(&made(Kind::Tidb, &[("a.b", value)], true), "tidb.toml").ends_with(&format!("[a]\nb = {written}\n")),
            "{value}"
        );
    }
}

#[test]
fn the_number_of_a_version_is_found() {
    for (kind, said, number) in [
        (Kind::Mariadb, "10.11.19-MariaDB-0+deb12u1", "10.11.19-MariaDB-0+deb12u1"),
        (Kind::Postgres, "PostgreSQL 15.18 (Debian 15.18-0) on x86_64", "15.18"),
        (Kind::Tidb, "8.0.11-TiDB-v8.5.6", "8.5.6"),
        (Kind::Mysql, "of no number", "of no number"),
    ] {
        assert_eq!(kind.version(said), number);
    }
}

#[test]
fn too_few_programs_make_no_recipe() {
    let (config, parts) = (BTreeMap::new(), Parts::new());
    let folder = Path::new("f");
    let wanted = Wanted {
        folder,
        parts: &parts,
        options: "",
        address: LOOPBACK,
        ports: &[1],
        config: &config,
        databases: &[],
        connections: 1,
        as_root: false,
    };
    assert!(KINDS.iter().all(|(_, kind)| kind.recipe(&wanted, &[], PASSWORD).is_err()));
}

#[test]
fn plain_passwords_cannot_break_out_of_a_statement() {
    assert!(is_plain("aZ09"));
    assert!(["", "a'b", "a\\", "a b"].iter().all(|p| !is_plain(p)));
}
