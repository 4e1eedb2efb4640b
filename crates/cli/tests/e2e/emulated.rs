//! A record made under an emulator is never compared as if it were native.

use crate::common::{Desk, SQLITE_STUDY};
use perbuck_core::run_record::{Flag, RunRecord};

#[test]
fn emulated_and_native_records_are_compared_only_on_request() {
    let desk = Desk::new();
    desk.write("s.toml", SQLITE_STUDY);
    desk.good(&["run", "s.toml"]);
    let path = desk.path("results/small/off/rw/c00002/002.json");
    let mut record = RunRecord::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(record.host.emulator, std::env::var("PERBUCK_TEST_EMULATOR").ok());
    record.host.arch = "aarch64".to_owned();
    record.host.emulator = Some("qemu-user".to_owned());
    record.flags.push(Flag::Emulated { emulator: "qemu-user".to_owned() });
    std::fs::write(&path, record.to_json().unwrap()).unwrap();
    for command in ["compare", "report"] {
        let refused = desk.perbuck(&[command, "results/small"]);
        assert_eq!(refused.code, Some(4), "{refused:#?}");
        for word in ["off/rw/c00002/002.json", "qemu-user", "--insist emulated"] {
            assert!(refused.err.contains(word), "{}", refused.err);
        }
    }
    let insisted = desk.good(&["compare", "results/small", "--insist", "emulated"]);
    assert!(insisted.out.contains("qemu-user"), "{}", insisted.out);
}
