//! `perbuck data`: data are saved into a folder or a bucket and restored, whole or not at all, and never others than a study needs.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::s3::{Gateway, SECRET};
use crate::common::{Desk, LONG_ENOUGH, edited, ended, server, signal, wait_until};
use serde_json::Value;
use sha2::{Digest, Sha256};

const FILES: [&str; 2] = ["full.db", "off.db"];
/// One trial, so long that even a busy machine completes transactions in it.
const QUICK: [(&str, &str); 3] = [("[1, 2]", "[1]"), ("trials = 2", "trials = 1"), LONG_ENOUGH];

fn sum(path: &Path) -> String {
    Sha256::digest(fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sums(desk: &Desk) -> Vec<String> {
    FILES.iter().map(|name| sum(&desk.path(name))).collect()
}

/// All files below the folder of the test and all that was said: the secret is in none.
fn is_nowhere(desk: &Desk, said: &[&crate::common::Ended]) {
    let mut found = Vec::new();
    crate::common::files(&desk.path("."), &mut found);
    for path in found {
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes()), "{}", path.display());
    }
    assert!(said.iter().all(|ended| !ended.out.contains(SECRET) && !ended.err.contains(SECRET)), "{said:#?}");
}

/// The part files of an archive in a folder.
fn parts(archive: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    crate::common::files(archive, &mut found);
    found.retain(|path| path.extension().is_none());
    found
}

#[test]
fn files_are_saved_into_a_folder_and_restored_byte_for_byte() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    let saved = desk.good(&["data", "save", "study.toml", "kept"]);
    assert!(saved.err.contains("full: saved ") && saved.err.contains("off, rw: loaded 1,000 rows"), "{saved:#?}");
    let before = sums(&desk);
    let listed = desk.good(&["data", "list", "kept"]);
    assert!(
        listed.out.contains("sysbench (") && listed.out.contains("full") && !listed.out.contains("did not end"),
        "{listed:#?}"
    );
    // Trials change the data: they are no data to save.
    desk.good(&["run", "study.toml"]);
    assert_ne!(sums(&desk), before);
    let used = desk.perbuck(&["data", "save", "study.toml", "kept"]);
    assert_eq!(used.code, Some(4), "{used:#?}");
    assert!(used.err.contains("trials have changed the data in sqlite:full.db"), "{used:#?}");
    let restored = desk.good(&["data", "restore", "study.toml", "kept"]);
    assert!(restored.err.contains("off: restored 0 MB to off.db in "), "{restored:#?}");
    assert_eq!(sums(&desk), before);
    // A study finds them, on another machine, too.
    FILES.iter().for_each(|name| fs::remove_file(desk.path(name)).unwrap());
    desk.good(&["data", "restore", "study.toml", "kept"]);
    assert_eq!(sums(&desk), before);
    let ran = desk.good(&["run", "--results", "others", "study.toml"]);
    assert!(!ran.err.contains("loaded"), "{ran:#?}");
    // A save in place of another leaves nothing of it.
    let old = parts(&desk.path("kept"));
    desk.good(&["data", "restore", "study.toml", "kept"]);
    desk.good(&["data", "save", "study.toml", "kept"]);
    let new = parts(&desk.path("kept"));
    assert!(old.len() == new.len() && old.iter().all(|path| !new.contains(path)), "{old:?} {new:?}");
    let dropped = desk.good(&["data", "drop", "kept"]);
    assert_eq!(dropped.out, "removed the data of full\nremoved the data of off\n");
    assert_eq!(parts(&desk.path("kept")), Vec::<PathBuf>::new());
}

/// A study on one file, with data of its own in the archive `kept`.
fn saved() -> Desk {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    desk.good(&["data", "save", "study.toml", "kept"]);
    desk
}

#[test]
fn data_that_were_made_otherwise_or_are_damaged_are_refused_and_the_old_ones_stay() {
    let desk = saved();
    let before = sums(&desk);
    let refused = |study: &str, code: i32, says: &str| {
        desk.write("other.toml", study);
        let ended = desk.perbuck(&["data", "restore", "other.toml", "kept"]);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        assert!(ended.err.contains(says), "{says}: {ended:#?}");
        assert_eq!(sums(&desk), before);
        let mut left = Vec::new();
        crate::common::files(&desk.path("."), &mut left);
        left.retain(|path| {
            path.to_string_lossy().contains("perbuck-restored") || path.to_string_lossy().contains("perbuck-copy")
        });
        assert_eq!(left, Vec::<PathBuf>::new());
    };
    let with = |more: &[(&str, &str)]| edited(&[&QUICK, more].concat());
    refused(
        &with(&[("table_size = 1000", "table_size = 2000")]),
        4,
        "sysbench: table_size is 1000 in them, and 2000 in the study",
    );
    refused(&with(&[("name = \"small\"", "name = \"small\"\nseed = 7")]), 4, "sysbench: the seed is ");
    refused(&with(&[("name = \"off\"", "name = \"out\"")]), 5, "kept holds no data of contender `out`; it holds full, off");
    let study = with(&[]);
    let manifest = desk.read("kept/off.json");
    let changed = manifest.replace("\"version\": \"3.", "\"version\": \"1.");
    desk.write("kept/off.json", &changed);
    refused(&study, 4, "they were made by version 1.");
    // A save that was cut off has no manifest.
    fs::remove_file(desk.path("kept/off.json")).unwrap();
    refused(&study, 5, "the save of contender `off` in kept did not end: its data have no manifest");
    assert!(desk.good(&["data", "list", "kept"]).out.contains("parts of saves that did not end: 1"));
    desk.write("kept/off.json", &manifest.replace("\"parts\"", "\"pants\""));
    refused(&study, 5, "off.json is no manifest of prepared data");
    // Of a file that is another one than its manifest says, and of a part.
    let read: Value = serde_json::from_str(&manifest).unwrap();
    let of_file = read["entries"][0]["sha256"].as_str().unwrap();
    desk.write("kept/off.json", &manifest.replace(of_file, &of_file.replace('a', "b").replace('1', "2")));
    let ended = desk.perbuck(&["data", "restore", "study.toml", "kept"]);
    assert!(ended.code == Some(5) && ended.err.contains("000 is damaged: its checksum is another one"), "{ended:#?}");
    assert_eq!(sums(&desk)[1], before[1]);
    desk.write("kept/off.json", &manifest);
    let part = parts(&desk.path("kept")).into_iter().find(|path| path.to_string_lossy().contains("/off/")).unwrap();
    let mut bytes = fs::read(&part).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&part, &bytes).unwrap();
    refused(&study, 5, "000000 is damaged: its checksum is another one");
    fs::remove_file(&part).unwrap();
    refused(&study, 5, "000000 is damaged: it is missing");
    // A file that perbuck did not load is not replaced.
    let other = saved();
    fs::write(other.path("full.db"), "").unwrap();
    let ended = other.perbuck(&["data", "restore", "study.toml", "kept"]);
    assert!(ended.code == Some(4) && ended.err.contains("is there, and perbuck did not load it"), "{ended:#?}");
}

#[test]
fn what_cannot_be_moved_is_told() {
    let desk = Desk::new();
    let foreign = [
        ("sqlite:full.db?synchronous=FULL", "mysql://root@127.0.0.1:1/x"),
        ("sqlite:off.db?synchronous=OFF", "mysql://root@127.0.0.1:2/x"),
    ];
    desk.write("study.toml", &edited(&foreign));
    let ended = desk.perbuck(&["data", "save", "study.toml", "kept"]);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.err.contains("full: its data are left alone: perbuck does not hold its server"), "{ended:#?}");
    desk.write("study.toml", &edited(&QUICK));
    let ended =
        desk.command(&["data", "save", "study.toml", "s3://b/x"]).env_remove("AWS_ACCESS_KEY_ID").env("HOME", "/none").output();
    let ended = crate::common::ended(ended.unwrap());
    assert!(ended.code == Some(2) && ended.err.contains("/none/.aws/credentials cannot be read"), "{ended:#?}");
    assert!(!desk.path("full.db").exists());
}

#[test]
fn a_bucket_keeps_data_and_checks_who_asks() {
    let (gateway, mut desk) = (Gateway::start(), Desk::new());
    gateway.tell(&mut desk);
    desk.write("study.toml", &edited(&QUICK));
    let saved = desk.good(&["data", "save", "study.toml", "s3://prepared/team/one"]);
    assert!(gateway.file("team/one/full.json").exists() && !gateway.objects("team/one/full").is_empty());
    let before = sums(&desk);
    desk.good(&["run", "study.toml"]);
    let restored = desk.good(&["data", "restore", "study.toml", "s3://prepared/team/one/"]);
    assert_eq!(sums(&desk), before);
    let listed = desk.good(&["data", "list", "s3://prepared/team/one"]);
    assert!(listed.out.contains("off"), "{listed:#?}");
    let refused = |variable: (&str, &str), archive: &str, says: &str| {
        let ended = ended(desk.command(&["data", "list", archive]).env(variable.0, variable.1).output().unwrap());
        assert!(ended.code == Some(3) && ended.err.contains(says), "{says}: {ended:#?}");
        ended
    };
    let wrong = refused(("AWS_SECRET_ACCESS_KEY", "another"), "s3://prepared/team/one", "SignatureDoesNotMatch");
    let unknown =
        refused(("AWS_ACCESS_KEY_ID", "nobody"), "s3://prepared/team/one", "No user exists with the provided access key ID");
    refused(("AWS_REGION", "us-east-1"), "s3://nothing/x", "there is no bucket `nothing` at 127.0.0.1:");
    refused(("AWS_ENDPOINT_URL", "http://127.0.0.1:1"), "s3://prepared/x", "127.0.0.1:1 did not answer in 5 attempts");
    // Keys in a file do the same.
    let file = desk
        .write("keys", &format!("[mine]\naws_access_key_id = {}\naws_secret_access_key = {SECRET}\n", crate::common::s3::KEY));
    let mut command = desk.command(&["data", "list", "--json", "s3://prepared/team/one"]);
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    let by_file = ended(command.env("AWS_SHARED_CREDENTIALS_FILE", &file).env("AWS_PROFILE", "mine").output().unwrap());
    assert_eq!(by_file.code, Some(0), "{by_file:#?}");
    fs::remove_file(file).unwrap();
    let manifest: Value = serde_json::from_str(&by_file.out).unwrap();
    assert_eq!(manifest[0]["workloads"][0]["parameters"]["table_size"], "1000");
    // Without its manifest, as after an upload that was cut off.
    fs::remove_file(gateway.file("team/one/off.json")).unwrap();
    let torn = desk.perbuck(&["data", "restore", "study.toml", "s3://prepared/team/one"]);
    assert!(
        torn.code == Some(5) && torn.err.contains("the save of contender `off` in s3://prepared/team/one did not end"),
        "{torn:#?}"
    );
    assert_eq!(sums(&desk), before);
    desk.good(&["data", "drop", "s3://prepared/team/one"]);
    assert_eq!(gateway.objects("team/one"), Vec::<PathBuf>::new());
    is_nowhere(&desk, &[&saved, &restored, &listed, &wrong, &unknown, &by_file, &torn]);
}

/// A way to a server that cuts off so many connections first.
fn cutting_off(port: u16, mut first: u32) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for here in listener.incoming().flatten() {
            if first > 0 {
                first -= 1;
                let mut bytes = [0; 64];
                let _ = (&here).read(&mut bytes);
                continue;
            }
            let there = TcpStream::connect(("127.0.0.1", port)).unwrap();
            for (mut from, mut to) in [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    own
}

#[test]
fn requests_that_were_cut_off_are_repeated_and_counted() {
    let (gateway, mut desk) = (Gateway::start(), Desk::new());
    gateway.tell(&mut desk);
    desk.set("AWS_ENDPOINT_URL", &format!("http://127.0.0.1:{}", cutting_off(gateway.port, 3)));
    desk.write("study.toml", &edited(&QUICK));
    let saved = desk.good(&["data", "save", "study.toml", "s3://prepared"]);
    assert!(saved.err.contains("requests were repeated") || saved.err.contains("request was repeated"), "{saved:#?}");
}

/// A study on one private server.
fn on_server(desk: &Desk, kind: &str, more: &str) -> String {
    fs::create_dir_all(desk.path("servers")).unwrap();
    format!(
        "schema = 1\nname = \"s\"\nseed = 1\n[[contender]]\nname = \"m\"\nserver = {{ kind = \"{kind}\", folder = \"{}\"{more} }}\n\
         [[workload]]\nname = \"w\"\nkind = \"tpcc\"\nwarehouses = 1\n\
         [sweep]\nconnections = [2]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 1\n",
        desk.path("servers").display()
    )
}

/// Saves the data of a private server, restores them and runs on them; the files are those that the manifest lists.
fn moves(desk: &Desk, archive: &str, study: &str) {
    desk.write("s.toml", study);
    let saved = desk.good(&["data", "save", "s.toml", archive]);
    assert!(saved.err.contains("m, w: loaded ") && saved.err.contains("m: saved "), "{saved:#?}");
    let other = study.replace("warehouses = 1", "warehouses = 2");
    desk.write("other.toml", &other);
    let refused = desk.perbuck(&["data", "restore", "other.toml", archive]);
    assert!(refused.code == Some(4) && refused.err.contains("tpcc: warehouses is 1 in them, and 2 in the study"), "{refused:#?}");
    let restored = desk.good(&["data", "restore", "s.toml", archive]);
    assert!(restored.err.contains("m: restored "), "{restored:#?}");
    let manifest: Value = serde_json::from_str(&desk.read("results/.data/s/m.json")).unwrap();
    let folder = desk.path("results/.data/s/m").join(manifest["id"].as_str().unwrap());
    let entries = manifest["entries"].as_array().unwrap();
    let files = entries.iter().filter(|entry| entry["sha256"].is_string());
    let differ = files.clone().filter(|entry| sum(&folder.join(entry["path"].as_str().unwrap())) != entry["sha256"]).count();
    assert!(files.count() > 20 && differ == 0);
    let itself = desk.perbuck(&["data", "restore", "s.toml", "results/.data/s"]);
    assert!(itself.code == Some(2) && itself.err.contains("and no parts"), "{itself:#?}");
    let ran = desk.good(&["run", "s.toml"]);
    assert!(ran.err.contains("starting on the prepared data of ") && !ran.err.contains("m, w: loaded"), "{ran:#?}");
    assert!(ran.err.contains("after the last trial 11 of 12 conditions hold, 1 does not apply"), "{ran:#?}");
    assert_eq!(fs::read_dir(desk.path("servers")).unwrap().count(), 0);
    // What trials do is done to the server's own files.
    let differ = |path: &str| entries.iter().any(|e| e["path"] == *path && sum(&folder.join(path)) != e["sha256"]);
    assert!(entries.iter().filter(|e| e["sha256"].is_string()).all(|e| !differ(e["path"].as_str().unwrap())));
    fs::remove_dir_all(desk.path("results/s")).unwrap();
    let others = desk.perbuck(&["run", "other.toml"]);
    assert!(
        others.code == Some(4) && others.err.contains("the prepared data in results/.data/s are others: tpcc: warehouses"),
        "{others:#?}"
    );
    desk.good(&["data", "drop", "results/.data/s"]);
    assert!(!desk.path("results/.data/s/m").exists());
}

#[test]
fn mariadb_starts_on_data_of_a_bucket() {
    let (gateway, mut desk) = (Gateway::start(), Desk::new());
    gateway.tell(&mut desk);
    moves(&desk, "s3://prepared/servers", &on_server(&desk, "mariadb", ""));
    is_nowhere(&desk, &[]);
}

#[test]
fn postgres_starts_on_data_of_a_folder() {
    let desk = Desk::new();
    moves(&desk, "kept", &on_server(&desk, "postgres", ""));
}

#[test]
fn mysql_starts_on_data_of_a_folder() {
    let desk = Desk::new();
    let more = format!(", program = \"{}\"", server("PERBUCK_TEST_MYSQL9_PROGRAM"));
    moves(&desk, "kept", &on_server(&desk, "mysql", &more));
}

#[test]
fn a_kill_leaves_the_old_data_or_the_new_ones() {
    let (gateway, mut desk) = (Gateway::start(), Desk::new());
    gateway.tell(&mut desk);
    desk.write("study.toml", &edited(&[&QUICK[..], &[("table_size = 1000", "table_size = 150000")]].concat()));
    let archive = "s3://prepared/killed";
    let killed = |words: &[&str], when: &mut dyn FnMut() -> bool| {
        let mut child = desk.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("it is in the middle", || when() || child.try_wait().unwrap().is_some());
        let _ = child.try_wait().unwrap().is_none().then(|| signal(&child, "KILL"));
        child.wait().unwrap();
    };
    // Before a load perbuck only looks whether it may write.
    let parts =
        || gateway.objects("killed/full").into_iter().filter(|part| fs::metadata(part).is_ok_and(|part| part.len() > 1_000));
    killed(&["data", "save", "study.toml", archive], &mut || parts().count() > 0);
    if !gateway.file("killed/full.json").exists() {
        let torn = desk.perbuck(&["data", "restore", "study.toml", archive]);
        assert!(torn.code == Some(5) && torn.err.contains("did not end"), "{torn:#?}");
    }
    desk.good(&["data", "save", "study.toml", archive]);
    let (before, old): (_, Vec<PathBuf>) = (sums(&desk), parts().collect());
    // A second save, in the middle: its first part is there.
    killed(&["data", "save", "study.toml", archive], &mut || parts().any(|part| !old.contains(&part)));
    desk.good(&["data", "restore", "study.toml", archive]);
    assert_eq!(sums(&desk), before);
    // A restore in the middle: the old file is whole, and the same command goes on.
    killed(&["data", "restore", "study.toml", archive], &mut || desk.path("full.db.perbuck-restored").exists());
    assert_eq!(sums(&desk), before);
    desk.good(&["data", "restore", "study.toml", archive]);
    assert!(sums(&desk) == before && !desk.path("full.db.perbuck-restored").exists());
}
