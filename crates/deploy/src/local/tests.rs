use super::*;

const PASSWORD: &str = "s3cret";

fn made(kind: Kind, config: &[(&str, &str)], as_root: bool) -> Recipe {
    let config = config.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let databases = ["perbuck".to_owned(), "other".to_owned()];
    let folder = Path::new("folder");
    let ports = &[4711, 4712][..kind.ports()];
    let wanted = Wanted { folder, ports, config: &config, databases: &databases, connections: 90, as_root };
    let programs: Vec<PathBuf> = kind.programs().iter().map(|p| PathBuf::from(p.names[0])).collect();
    kind.recipe(&wanted, &programs, PASSWORD).unwrap_or_else(|r| panic!("{}", r.message))
}

fn words(arguments: &[OsString]) -> Vec<&str> {
    arguments.iter().filter_map(|a| a.to_str()).collect()
}

fn all_kinds() -> impl Iterator<Item = Kind> {
    KINDS.iter().map(|(_, kind)| *kind)
}

#[test]
fn the_password_is_in_no_argument_and_no_file_and_no_address() {
    for kind in all_kinds() {
        let recipe = made(kind, &[], true);
        let arguments = recipe.steps.iter().flat_map(|s| &s.arguments).chain(&recipe.arguments);
        assert!(arguments.clone().count() > 5);
        assert!(!arguments.into_iter().any(|a| a.to_string_lossy().contains(PASSWORD)), "{kind}");
        assert!(!recipe.files.iter().any(|(_, text)| text.contains(PASSWORD)));
        assert!(!recipe.target.contains(PASSWORD));
        let inputs = recipe.steps.iter().map(|s| &s.input).chain([&recipe.input]);
        assert_eq!(inputs.filter(|input| input.contains(PASSWORD)).count(), 1);
    }
}

#[test]
fn the_callers_settings_come_last() {
    let recipe = made(Kind::Mariadb, &[("max_connections", "7"), ("innodb_buffer_pool_size", "64M")], false);
    let words = words(&recipe.arguments);
    let at = |w: &str| words.iter().position(|a| *a == w);
    assert!(at("--max-connections=90") < at("--max_connections=7"));
    assert!(at("--innodb_buffer_pool_size=64M").is_some());
    assert!(!words.contains(&"--user=root"));
    let recipe = made(Kind::Postgres, &[("shared_buffers", "64MB")], true);
    assert!(self::words(&recipe.arguments).windows(2).any(|w| w == ["-c", "shared_buffers=64MB"]));
}

#[test]
fn every_server_listens_on_the_loopback_only_and_makes_all_databases() {
    for kind in all_kinds() {
        let recipe = made(kind, &[], true);
        assert!(words(&recipe.arguments).iter().any(|a| a.ends_with("=127.0.0.1")), "{kind}");
        let mut inputs = recipe.steps.iter().map(|s| &s.input).chain([&recipe.input]);
        let input = inputs.find(|input| !input.is_empty()).unwrap_or_else(|| panic!("{kind}"));
        assert!(["perbuck", "other"].iter().all(|d| input.contains(&format!("CREATE DATABASE {}", quoted(kind, d)))));
        assert!(recipe.target.contains("@127.0.0.1:4711/perbuck"));
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
        let refused = kind.check(key, "x").unwrap_err();
        assert!(refused.message.contains(key) && refused.help.contains("target"), "{}", refused.message);
    }
    for (key, value) in [("", "x"), ("-c", "x"), ("a b", "x"), ("a=b", "x"), ("sql_mode", "a\nb")] {
        assert!(Kind::Mysql.check(key, value).is_err(), "{key}");
    }
    assert_eq!(Kind::Mariadb.check("innodb-buffer-pool-size", "64M"), Ok(()));
    assert_eq!(Kind::Postgres.check("auto_explain.log_min_duration", "1s"), Ok(()));
}

#[test]
fn the_configuration_of_tidb_is_toml() {
    let config = [("performance.max-procs", "2"), ("instance.tidb_enable_slow_log", "OFF"), ("log.level", "say \"no\"")];
    let recipe = made(Kind::Tidb, &config, true);
    let [(name, text)] = &recipe.files[..] else { panic!("{}", recipe.files.len()) };
    let expected = "tmp-storage-path = \"folder/temp\"\ninstance.tidb_enable_slow_log = false\nlog.level = \"say \\\"no\\\"\"\n\
                    performance.max-procs = 2\n";
    assert_eq!((*name, text.as_str()), ("tidb.toml", expected));
    assert!(words(&recipe.arguments).contains(&"--config=folder/tidb.toml"));
    for (value, written) in [("0.5", "0.5"), ("-1", "-1"), ("007", "\"007\""), ("infinity", "\"infinity\""), ("1.", "\"1.\"")] {
        assert!(made(Kind::Tidb, &[("a.b", value)], true).files[0].1.ends_with(&format!("a.b = {written}\n")), "{value}");
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
    let config = BTreeMap::new();
    let wanted = Wanted { folder: Path::new("f"), ports: &[1], config: &config, databases: &[], connections: 1, as_root: false };
    assert!(all_kinds().all(|kind| kind.recipe(&wanted, &[], PASSWORD).is_err()));
}

#[test]
fn plain_passwords_cannot_break_out_of_a_statement() {
    assert!(is_plain("aZ09"));
    assert!(["", "a'b", "a\\", "a b"].iter().all(|p| !is_plain(p)));
}
