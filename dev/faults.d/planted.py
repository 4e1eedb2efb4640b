"""Planted bugs: perbuck with ten mutations, each of which the campaign must find.

All are built at once into a scratch copy of the sources; FAULTS_PLANTED chooses the one that is awake. So the check costs one build. A
mutation whose text is no longer in the source is an error: it must then be written again.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

ON = ('({ static P: std::sync::OnceLock<bool> = std::sync::OnceLock::new(); '
      '*P.get_or_init(|| std::env::var("FAULTS_PLANTED").is_ok_and(|v| v == "NAME")) })')


@dataclass
class Bug:
    """`old` becomes `new` in `path`; in `new`, ON stands for "this bug is awake". `finds` is what a violation must say."""

    name: str
    path: str
    old: str
    new: str
    classes: tuple
    finds: str
    count: int = 10
    also: tuple = ()  # more of (path, old, new), where two mechanisms do the same work


LAB, LOAD = "crates/lab/src", "crates/load/src"
BUGS = [
    Bug("skipped fsync", f"{LAB}/store.rs", "        file.sync_all()\n    });", "        if ON { Ok(()) } else { file.sync_all() }\n    });",
        ("power cut",), "before its bytes were synced", 2),
    Bug("ignored error", f"{LAB}/run.rs", "            self.store.write(&record)?;", "            let written = self.store.write(&record);\n            if !ON { written?; }",
        ("ENOSPC of a call", "full disk"), "ended with 0 and left|are planned", 50),
    Bug("record not atomic", f"{LAB}/store.rs", "    let temporary = write_temporary(path, &mut |file| file.write_all(text.as_bytes()))?;",
        "    if ON { return fs::write(path, &text).map_err(LabError::of_file(\"write\", path)); }\n"
        "    let temporary = write_temporary(path, &mut |file| file.write_all(text.as_bytes()))?;",
        ("full disk", "ENOSPC of a call"), "not whole|damaged|next run|next report", 50),
    Bug("lock not taken", f"{LAB}/store.rs", "    let mut locked = file.try_lock();", "    let mut locked = if ON { Ok(()) } else { file.try_lock() };",
        ("two at once",), "was not refused", 4),
    Bug("settings not restored", f"{LAB}/globals/mod.rs", "        if !self.changes.iter().any(chosen) {", "        if ON || !self.changes.iter().any(chosen) {",
        ("none",), "the global variable", 12),
    Bug("server not ended", f"{LAB}/servers/folder.rs", "fn end_processes(folder: &Path, quits: bool) {",
        "fn end_processes(folder: &Path, quits: bool) {\n    if ON { return; }", ("private undisturbed",), "a process is left", 2,
        ((f"{LAB}/servers/program.rs", "    set_pdeathsig(if start", "    if !ON { set_pdeathsig(if start"),
         (f"{LAB}/servers/program.rs", "Signal::SIGKILL })?;", "Signal::SIGKILL })?; }"))),
    Bug("double count", f"{LOAD}/recorder.rs", "        self.pending.push(sample);", "        self.pending.push(sample);\n        if ON && sample.finished_ns % 20 == 0 { self.roll(sample.finished_ns); self.write_down(); self.pending.push(sample); }",
        ("none",), "committed|the relay", 12),
    Bug("retry counted as success", f"{LOAD}/terminal.rs", "        common.recorder.borrow_mut().attempt(&sent, retry, now_ns);",
        "        common.recorder.borrow_mut().attempt(&sent, retry, now_ns);\n        if ON && retry {\n"
        "            let (kind, outcome, before) = (0, crate::recorder::Outcome::Committed, now_ns - 1000);\n"
        "            common.recorder.borrow_mut().record(crate::recorder::Sample { kind, outcome, intended_ns: before, started_ns: before, finished_ns: now_ns, "
        "statements: Default::default(), facts: Default::default() });\n        }", ("deadlocks",), "committed|the relay", 6),
    Bug("signal ignored", "crates/console/src/signals.rs", "        raised.request();", "        if !ON { raised.request(); }", ("Ctrl-C",), "measured them all|hung|did not end|to end after", 30),
    Bug("folder not synced", f"{LAB}/store.rs", "    linked.map_err(LabError::of_file(\"write the record\", path))?;\n    sync(folder);",
        "    linked.map_err(LabError::of_file(\"write the record\", path))?;\n    if !ON { sync(folder); }", ("power cut",), r"the folder of .*/00\d.json was not synced", 2),
    Bug("truncated record accepted", f"{LAB}/stored.rs", "    Ok(in_parallel(&store::evidence_in(root)?, one)?.into_iter().unzip())",
        "    let mut paths = store::evidence_in(root)?;\n    if ON { paths.retain(|p| read_record(p).is_ok()); }\n    Ok(in_parallel(&paths, one)?.into_iter().unzip())", ("mutated file",), "accepts a damaged record", 80),
]


def change(root):
    for name, path, old, new in [(b.name, *edit) for b in BUGS for edit in ((b.path, b.old, b.new), *b.also)]:
        with open(f"{root}/{path}") as f:
            text = f.read()
        if text.count(old) != 1:
            raise SystemExit(f"faults: the planted bug `{name}` no longer fits {path}: its text is there {text.count(old)} times")
        with open(f"{root}/{path}", "w") as f:
            f.write(text.replace(old, new.replace("ON", ON.replace("NAME", name))))


def build(root, folder):
    """The mutated program, built from a copy of the sources that git knows, with a target folder of its own."""
    scratch = f"{folder}/planted"
    shutil.rmtree(f"{scratch}/src", ignore_errors=True)
    os.makedirs(f"{scratch}/src")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True).stdout
    tar = subprocess.Popen(["tar", "--null", "-T", "-", "-c"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    untar = subprocess.Popen(["tar", "-x"], cwd=f"{scratch}/src", stdin=tar.stdout)
    tar.stdin.write(listed)
    tar.stdin.close()
    if tar.wait() or untar.wait():
        raise SystemExit("faults: cannot copy the sources")
    change(f"{scratch}/src")
    environment = {**os.environ, "CARGO_TARGET_DIR": f"{scratch}/target"}
    subprocess.run(["cargo", "build", "--locked", "-p", "perbuck", "-p", "perbuck-tikv-server"], check=True, cwd=f"{scratch}/src", env=environment)
    return f"{scratch}/target/debug/perbuck"


def check(options, classes, run):
    """Plays for each bug the classes that could see it, on the mutated program, until one does; returns the bugs that none saw."""
    folder, missed = options.folder, []
    rows = ["| planted bug | found by | after faults |", "|---|---|---|"]
    for number, bug in enumerate(BUGS):
        options.environment, options.only, options.count = {"FAULTS_PLANTED": bug.name}, list(bug.classes), bug.count
        # Short: the path of a socket has at most 107 bytes.
        options.folder = f"{folder}/{number}"
        os.makedirs(options.folder, exist_ok=True)
        os.chmod(options.folder, 0o711)

        def finds(one):
            return any(re.search(bug.finds, line) for line in one["violations"])

        results = sorted(run(options, classes, until=finds), key=lambda r: r["number"])
        found = [r for r in results if finds(r)]
        if found:
            rows.append(f"| {bug.name} | {found[0]['kind']}, {found[0]['system']} {found[0]['phase']} | {len(results)} |")
        else:
            missed.append(bug.name)
            rows.append(f"| {bug.name} | **nothing** | {len(results)} |")
    options.folder = folder
    return missed, "\n".join(rows)
