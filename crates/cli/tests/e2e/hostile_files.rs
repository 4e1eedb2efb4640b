//! Short seeded parts of two benches: what hostile files cost, and whether slow clients starve a healthy one.

use std::path::Path;
use std::process::Command;

/// Runs a bench on the perbuck of the tests.
fn bench(name: &str, words: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench").join(name);
    let ran = Command::new(path).args(["--binary", env!("CARGO_BIN_EXE_perbuck")]).args(words).output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(ran.status.success(), "{name}: {said}");
}

/// Without optimisation everything takes longer, so the limit of time is no benchmark here; that of memory is the bench's.
#[test]
fn changed_pages_and_records_and_the_largest_studies_stay_within_their_limits() {
    bench("hostile-files", &["--count", "60", "--seed", "7", "--seconds", "60"]);
}

#[test]
fn slow_clients_do_not_starve_a_healthy_one() {
    bench("serve-slow", &["--clients", "300", "--seconds", "4", "--limit", "8"]);
    bench("serve-slow", &["--clients", "100", "--seconds", "3", "--limit", "8", "--descriptors", "40"]);
}
