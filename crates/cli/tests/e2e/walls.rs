//! The import walls of the design, held by a test: which crate may use which, and which words its sources may hold.
//! Every checker is also run on made-up input that breaks its wall, so that one which sees nothing cannot pass.

#[path = "walls/edges.rs"]
mod edges;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use edges::MAY_USE;
use serde_json::{Value, json};

/// Database clients and servers' protocols, by the beginning of their names.
const CLIENTS: [&str; 11] = [
    "rusqlite",
    "libsqlite3",
    "libloading",
    "mysql",
    "postgres",
    "tokio-postgres",
    "sqlx",
    "diesel",
    "tikv",
    "mariadb",
    "pgwire",
];

/// What a crate must not pull in, directly or through others; tests are free.
const NEVER: [(&str, &[&str]); 8] = [
    // A library neither reads a command line nor listens for signals nor asks a terminal.
    ("perbuck-lab", &["clap", "ctrlc", "rpassword"]),
    ("perbuck-core", &["tokio", "clap", "anyhow", "rand"]),
    ("perbuck-report", &["tokio"]),
    ("perbuck-prices", &["tokio"]),
    ("perbuck-load", &CLIENTS),
    ("perbuck-event", &CLIENTS),
    ("perbuck-database", &CLIENTS),
    ("perbuck-workloads", &["mio", "rustls", "mysql", "postgres", "tikv"]),
];

/// Words that would give a crate a file, a socket, a clock or a voice.
const IMPURE: [&str; 7] = ["std::fs", "std::net", "std::env", "std::process", "Instant::now", "SystemTime", "println!"];
const PURE_CRATES: [&str; 8] = ["core", "workloads", "report", "export", "exposition", "prices", "deploy", "import"];

/// Names of databases, in lower case.
const PRODUCTS: [&str; 10] =
    ["mysql", "mariadb", "tidb", "tiflash", "postgres", "cockroach", "yugabyte", "sqlite", "duckdb", "tikv"];
/// What may name them: the line of registration, tables of compatibility, and options of other programs. Words of messages and
/// of options in the lab stay as users know them.
const NAMES_ALLOWED: [(&str, &[&str]); 3] =
    [("load", &[]), ("lab", &["databases.rs"]), ("workloads", &["compat.rs", "data_tests.rs", "terminal_tests.rs"])];
/// Words in which the name of a product is that of an option, a message or a record, and no decision.
const OPTION_NAMES: &str = "mysql_storage_engine | mysql_table_options | mysql.force_index | tidb.cluster_index | tiflash_replicas | \
    --csv-format mysql | --csv-format postgres | is for TiDB | only TiDB has TiFlash | TiFlash servers | \
    TiFlash replica | TiFlash does not | log of TiFlash | from TiFlash | TIDB_INLJ | tell MySQL to use | \
    TiDB is told to | new tables (MySQL) | information_schema.tiflash_replica | of the MySQL protocol | mod tiflash | \
    tidb-on-kubernetes | two TiDB clusters on Arm | crate::tiflash | tiflash:: | ACCOUNTS: [&str; 2] = [\"postgres\"";

/// Words of SQL; `load` carries statements and writes none.
const SQL: [&str; 9] = ["SELECT", "INSERT", "UPDATE", "DELETE", "DROP", "CREATE", "ALTER", "COUNT", "WHERE"];
/// The exceptions, by file: how a session drops a table and counts its rows unless its database does so otherwise, the same in every
/// dialect; and an operation on records, which SQL has a statement for, too.
const ENGINE_SQL: [(&str, &str); 3] = [
    ("src/driver.rs", "DROP TABLE IF EXISTS {table}"),
    ("src/driver.rs", "SELECT COUNT(*) FROM {table}"),
    ("src/records.rs", "\"UPDATE\""),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn metadata() -> Value {
    let run = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

/// The dependencies of each package of this workspace: name, and whether only tests have it.
fn dependencies(metadata: &Value) -> BTreeMap<String, Vec<(String, bool)>> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let one = |d: &Value| (text(&d["name"]), d["kind"] == "dev");
    let all = |p: &Value| (text(&p["name"]), p["dependencies"].as_array().unwrap().iter().map(one).collect());
    metadata["packages"].as_array().unwrap().iter().map(all).collect()
}

/// Edges between crates of this workspace that no wall allows, and crates that no wall names.
fn forbidden_edges(metadata: &Value) -> Vec<String> {
    let packages = dependencies(metadata);
    let mut broken = Vec::new();
    for (name, uses) in &packages {
        let Some((_, allowed)) = MAY_USE.iter().find(|(n, _)| n == name) else {
            broken.push(format!("{name} has no wall"));
            continue;
        };
        let ours = |n: &&(String, bool)| packages.contains_key(&n.0) || MAY_USE.iter().any(|(m, _)| *m == n.0);
        let strangers = uses.iter().filter(ours).filter(|(n, _)| !allowed.contains(&n.as_str()));
        broken.extend(strangers.map(|(n, _)| format!("{name} uses {n}")));
    }
    broken
}

/// The crates that `Cargo.lock` names, with those that each one uses; versions of one crate are taken together.
fn locked(lock: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let quoted = |line: &str| line.split('"').nth(1).map(|t| t.split(' ').next().unwrap_or_default().to_owned());
        let name = package.lines().find(|l| l.starts_with("name = ")).and_then(quoted).unwrap();
        let mentioned = package.lines().filter(|l| l.starts_with(" \"")).filter_map(quoted);
        uses.entry(name).or_default().extend(mentioned);
    }
    uses
}

/// Crates that one of ours must not pull in but does.
fn forbidden_crates(metadata: &Value, lock: &str) -> Vec<String> {
    let (packages, locked) = (dependencies(metadata), locked(lock));
    let mut broken = Vec::new();
    for (name, never) in NEVER {
        let mut open: Vec<String> = packages[name].iter().filter(|(_, dev)| !dev).map(|(n, _)| n.clone()).collect();
        // What stands below is judged by its own wall.
        open.retain(|n| !packages.contains_key(n));
        let mut reached = BTreeSet::new();
        while let Some(next) = open.pop() {
            if reached.insert(next.clone()) {
                open.extend(locked.get(&next).into_iter().flatten().cloned());
            }
        }
        // `mysql` stands for mysql, mysql_async and mysql-common.
        let family =
            |n: &str, word: &str| n.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']));
        let hit = |n: &&String| never.iter().any(|word| family(n, word));
        broken.extend(reached.iter().filter(hit).map(|n| format!("{name} pulls in {n}")));
    }
    broken
}

/// The code of a source file: without comments and without the modules that only tests have.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            let closing = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
            let mut item = lines.by_ref().skip_while(|l| l.trim_start().starts_with("#["));
            if item.next().is_some_and(|l| !l.trim_end().ends_with(';')) {
                item.find(|l| *l == closing);
            }
            continue;
        }
        // Web addresses hold `//` too, but always after a colon.
        let comment = line.match_indices("//").map(|(at, _)| at).find(|at| !line[..*at].ends_with(':'));
        out += &line[..comment.unwrap_or(line.len())];
        out.push('\n');
    }
    out
}

/// Names of the modules in other files that only tests have.
fn test_modules(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let behind = |(i, l): (usize, &&str)| (*l == "#[cfg(test)]").then(|| lines[i + 1..].iter().find(|l| !l.starts_with("#[")));
    let module = |l: &&str| l.trim_start_matches("pub(crate) ").strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned);
    lines.iter().enumerate().filter_map(behind).flatten().filter_map(module).collect()
}

/// The code of a crate by file, without its tests.
fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let (mut folders, mut texts) = (vec![root().join("crates").join(name).join("src")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                texts.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut skipped = BTreeSet::new();
    for (path, text) in &texts {
        // `a/mod.rs` and `a.rs` both have their modules in `a/`, `lib.rs` beside itself.
        let own = path.with_extension("");
        let beside = matches!(own.file_name().and_then(|n| n.to_str()), Some("mod" | "lib" | "main"));
        let folder = if beside { path.parent().unwrap().to_owned() } else { own };
        skipped.extend(test_modules(text).iter().map(|m| folder.join(format!("{m}.rs"))));
    }
    // A module of tests may have modules of its own.
    texts.retain(|(path, _)| !skipped.iter().any(|s| path == s || path.starts_with(s.with_extension(""))));
    assert!(texts.len() >= 3, "{name} has sources");
    texts.into_iter().map(|(path, text)| (path, code(&text))).collect()
}

/// Whether a text holds a word with no letter, digit or `_` around it.
fn holds(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part) && !text[at + word.len()..].chars().next().is_some_and(part)
    })
}

/// The first of the words that each file holds.
fn words_found(sources: &[(PathBuf, String)], words: &[&str]) -> Vec<String> {
    let found =
        |(path, code): &(PathBuf, String)| words.iter().find(|w| holds(code, w)).map(|w| format!("{} holds {w}", path.display()));
    sources.iter().filter_map(found).collect()
}

#[test]
fn crates_use_only_what_stands_below_them() {
    let found = metadata();
    assert_eq!(forbidden_edges(&found), Vec::<String>::new());
    assert_eq!(dependencies(&found).len(), MAY_USE.len(), "every crate of the design is there");
    let package = |name: &str, uses: Value| json!({ "name": name, "dependencies": uses });
    let made_up = json!({ "packages": [
        package("perbuck-core", json!([{ "name": "perbuck-load", "kind": "dev" }, { "name": "serde", "kind": null }])),
        package("perbuck-load", json!([{ "name": "perbuck-core", "kind": null }, { "name": "perbuck", "kind": null }])),
        package("perbuck-unheard", json!([])),
    ] });
    let broken = ["perbuck-core uses perbuck-load", "perbuck-load uses perbuck", "perbuck-unheard has no wall"];
    assert_eq!(forbidden_edges(&made_up), broken);
}

#[test]
fn crates_pull_in_nothing_that_their_wall_forbids() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let found = metadata();
    assert_eq!(forbidden_crates(&found, &lock), Vec::<String>::new());
    let mut made_up = found;
    for package in made_up["packages"].as_array_mut().unwrap() {
        let uses = package["name"] == "perbuck-core" || package["name"] == "perbuck-load";
        let added = if uses { json!({ "name": "quiet", "kind": null }) } else { json!({ "name": "tokio", "kind": "dev" }) };
        package["dependencies"].as_array_mut().unwrap().push(added);
    }
    let quiet =
        "[[package]]\nname = \"quiet\"\ndependencies = [\n \"anyhow 1.0.99\",\n \"mysql_async\",\n \"mysql-common\",\n]\n";
    let broken = ["perbuck-core pulls in anyhow", "perbuck-load pulls in mysql-common", "perbuck-load pulls in mysql_async"];
    assert_eq!(forbidden_crates(&made_up, &(lock + quiet)), broken);
}

#[test]
fn no_openssl_is_locked() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    // `openssl-probe` only finds the files of trusted certificates, and links nothing.
    let library = |n: &String| n.starts_with("openssl") && n != "openssl-probe";
    let openssl = |lock: &str| locked(lock).into_keys().filter(library).collect::<Vec<_>>();
    assert_eq!(openssl(&lock), Vec::<String>::new());
    assert_eq!(openssl(&(lock + "[[package]]\nname = \"openssl-sys\"\n")), ["openssl-sys"]);
}

#[test]
fn pure_crates_touch_no_file_no_socket_no_clock_and_print_nothing() {
    for name in PURE_CRATES {
        assert_eq!(words_found(&sources(name), &IMPURE), Vec::<String>::new());
    }
    let violating = "fn now() -> Instant {\n    Instant::now() // a clock\n}\n";
    let found = words_found(&[(PathBuf::from("a.rs"), code(violating))], &IMPURE);
    assert_eq!(found, ["a.rs holds Instant::now"]);
    let innocent =
        "// std::fs\nconst URL: &str = \"http://x\";\n#[cfg(test)]\nmod tests {\n    use std::fs;\n    fn f() {\n    }\n}\n";
    assert_eq!(words_found(&[(PathBuf::from("a.rs"), code(innocent))], &IMPURE), Vec::<String>::new());
    assert!(code(innocent).contains("http://x"), "an address is no comment");
    let after = format!("{innocent}fn late() {{ std::fs::read(\"x\") }}\n");
    assert_eq!(words_found(&[(PathBuf::from("a.rs"), code(&after))], &IMPURE).len(), 1, "code behind the tests counts");
}

#[test]
fn the_engine_speaks_no_sql_but_how_tables_are_dropped_and_counted() {
    let mut load = sources("load");
    for (file, words) in ENGINE_SQL {
        let (_, code) = load.iter_mut().find(|(path, _)| path.ends_with(file)).unwrap();
        assert!(code.contains(words), "the exception is used, or it would be one too many: {words}");
        *code = code.replace(words, "");
    }
    assert_eq!(words_found(&load, &SQL), Vec::<String>::new());
    let violating = "fn ping() -> &'static str {\n    \"SELECT 1\"\n}\n";
    assert_eq!(words_found(&[(PathBuf::from("a.rs"), code(violating))], &SQL), ["a.rs holds SELECT"]);
}

/// Lines that name a product beyond what is allowed.
fn products_named(sources: &[(PathBuf, String)], files: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, code) in sources.iter().filter(|(path, _)| !files.iter().any(|file| path.ends_with(file))) {
        for line in code.lines() {
            let plain = OPTION_NAMES.split(" | ").fold(line.to_owned(), |line, name| line.replace(name, "")).to_lowercase();
            if let Some(product) = PRODUCTS.iter().find(|p| plain.contains(*p)) {
                found.push(format!("{} names {product}: {}", path.display(), line.trim()));
            }
        }
    }
    found
}

#[test]
fn the_engine_the_lab_and_the_workloads_name_no_product() {
    for (name, files) in NAMES_ALLOWED {
        assert_eq!(products_named(&sources(name), files), Vec::<String>::new());
    }
    let all: Vec<_> = NAMES_ALLOWED.iter().flat_map(|(name, _)| sources(name)).collect();
    let unused = |name: &&str| all.iter().all(|(_, code)| !code.contains(*name));
    assert_eq!(OPTION_NAMES.split(" | ").filter(unused).collect::<Vec<_>>(), Vec::<&str>::new(), "an exception that none needs");
    let violating = "fn quote(d: &dyn Dialect) -> bool {\n    d.name() == \"MySQL\" // a decision\n}\n";
    assert_eq!(products_named(&[(PathBuf::from("a.rs"), code(violating))], &[]).len(), 1);
    assert!(products_named(&[(PathBuf::from("a/databases.rs"), code(violating))], &["databases.rs"]).is_empty());
    let innocent = code("// MySQL\nconst OPTION: &str = \"mysql_storage_engine\";\n");
    assert!(products_named(&[(PathBuf::from("a.rs"), innocent)], &[]).is_empty());
}
