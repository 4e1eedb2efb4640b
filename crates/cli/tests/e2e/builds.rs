//! Where a server's program comes from: recorded, compared with what the study declares, and told where two contenders differ.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::Desk;

const PROGRAM: &str = "/usr/sbin/mariadbd";

/// The start of the note with the build id of a GNU linker: lengths of name and id, type 3, name.
const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";

/// A copy of the server's program whose build id has one other byte; the id.
fn other_build(path: &Path) -> String {
    let mut program = fs::read(PROGRAM).unwrap();
    let at = program.windows(NOTE.len()).position(|bytes| bytes == NOTE).unwrap() + NOTE.len();
    program[at] ^= 0xff;
    fs::write(path, &program).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    program[at..at + 20].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn study(desk: &Desk, builds: [&str; 2], program: &Path) -> String {
    let one = |name: &str, build: &str, program: &Path| {
        format!(
            "[[contender]]\nname = \"{name}\"\nbuild = {{ {build} }}\nserver = {{ kind = \"mariadb\", program = \"{}\", folder = \"{}\" }}\n",
            program.display(),
            desk.path("servers").display()
        )
    };
    let (a, b) = (one("a", builds[0], Path::new(PROGRAM)), one("b", builds[1], program));
    format!(
        "schema = 1\nname = \"s\"\nquestion = \"?\"\nbaseline = \"a\"\nseed = 1\n{a}{b}[[workload]]\nname = \"w\"\nkind = \"sysbench\"\n\
         script = \"oltp_point_select\"\ntables = 1\ntable_size = 100\n[sweep]\nconnections = [2]\nwarmup = \"0s\"\nduration = \"1s\"\n\
         trials = 1\n"
    )
}

#[test]
fn a_planted_difference_of_build_is_found() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("servers")).unwrap();
    let program = desk.path("mariadbd-other");
    let id = other_build(&program);
    let same = "source = \"Debian\", flags = \"-O2\"";
    let patched = "source = \"Debian\", patches = [\"one byte\"]";

    // What the server does not say as it is declared keeps the study from running.
    let text = study(&desk, [same, "commit = \"0000000\", build_id = \"0123456789\""], &program);
    desk.write("s.toml", &text);
    let refused = desk.perbuck(&["run", "s.toml"]);
    assert_ne!(refused.code, Some(0));
    for part in ["b", "its build id is declared as 0123456789", &id] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }

    let text = study(&desk, [same, same], &program);
    desk.write("s.toml", &text);
    desk.good(&["run", "s.toml"]);
    let records = desk.records("results/s");
    let of = |name: &str| records.iter().find(|r| r.key.contender == name).unwrap().target.build.clone().unwrap();
    let (a, b) = (of("a"), of("b"));
    assert_eq!(b.build_id.as_ref(), Some(&id));
    assert_ne!(a.build_id, b.build_id);
    assert_eq!((a.commit, &a.instructions), (b.commit, &b.instructions), "all but the note is the same");
    assert!(!a.instructions.is_empty());
    let page = desk.good(&["report", "results/s", "-o", "out", "--format", "md"]);
    let text = fs::read_to_string(desk.path("out/report.md")).unwrap();
    assert!(text.contains("a and b declare the same build, and their programs differ"), "{} {text}", page.out);
    assert!(
        text.contains("server: build id of its program") && !text.contains("build as declared"),
        "what differs is shown: {text}"
    );
    // What is declared may be said better afterwards: it decides nothing of what is measured.
    desk.write("patched.toml", &study(&desk, [same, patched], &program));
    desk.good(&["report", "results/s", "--study", "patched.toml", "-o", "patched", "--format", "md"]);
    let text = fs::read_to_string(desk.path("patched/report.md")).unwrap();
    assert!(text.contains("build as declared: patches") && !text.contains("declare the same build"), "{text}");
}
