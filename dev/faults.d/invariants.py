"""What must hold after every fault."""

import glob
import os
import time

import machine
import study

# Words that perbuck never says about a fault from outside.
DEFECTS = ("panicked at", "defect of perbuck", "RUST_BACKTRACE", "internal error: entered unreachable", "assertion failed")
MEMORY_MB = 300


# What Rust's runtime says before perbuck's first line runs.
RUNTIME = "failed to allocate an alternative stack"


def words_of(case, ended, when):
    for word in DEFECTS:
        if case.kind == "ENOMEM of a call" and RUNTIME in ended.err:
            break
        if word in ended.err or word in ended.out[-2000:]:
            at = ended.err.find(word)
            case.violation(f"{when}: perbuck says `{word}`: {ended.err[max(0, at - 100):at + 300]}")
    for mark in ("\x1b", "\u202e", "\u2066"):
        if mark in ended.err or mark in ended.out[:100000]:
            case.violation(f"{when}: perbuck prints the control {mark!r}")
    if ended.code and ended.code > 0 and ended.code != 130 and not ended.err.strip() and not case.detail.startswith("write number"):
        case.violation(f"{when}: code {ended.code} without a message")


def of_command(case, ended, codes, memory_mb):
    """The disturbed command: its code and words belong to the fault, its time and memory are bounded."""
    if callable(codes):
        codes = codes(case)
    if case.checked.get("ended by force"):
        return
    # A wait without a limit says what it waits for, and ends with Ctrl-C. While a command reads the files that a user names, it leaves
    # signals to the system.
    waited = ended.code in (130, -2 if case.kind == "mutated file" else 130) and "nothing has moved for" in ended.err
    # A signal that comes before perbuck listens ends it as it ends any program.
    early = case.kind == "Ctrl-C" and ended.code in (-2, -15) and ended.seconds < 1 and not ended.out + ended.err
    allowed = ended.code in codes or (ended.code == 4 and "insist" in ended.err) or waited or early
    if ended.code is None:
        case.violation(f"two Ctrl-C did not end `perbuck {ended.words[0]}`: {'; '.join(ended.notes)}; it said: {ended.err.strip()[-300:]}")
    elif ended.notes and "kept waiting" not in case.checked and not waited:
        case.violation(f"`perbuck {ended.words[0]}` hung: {'; '.join(ended.notes)}; it said: {ended.err.strip()[-300:]}")
    elif not allowed:
        case.violation(f"code {ended.code} does not belong to {case.kind} ({sorted(codes)}): {ended.err.strip()[-300:]}")
    words_of(case, ended, "the disturbed command")
    if ended.memory_mb > (memory_mb or MEMORY_MB) and case.system != "private":
        case.violation(f"memory {ended.memory_mb:.0f} MB")


def complete(scene, ended):
    """A run that ended well has written every record that it was asked for."""
    wanted = scene.shape.get("planned") or study.planned(scene.case.system, scene.shape)
    if ended.code == 0 and ended.words[0] == "run" and scene.case.phase in ("start", "trial", "between") and not scene.replaced:
        there = len(scene.desk.records())
        if there < wanted:
            scene.case.violation(f"the disturbed run ended with 0 and left {there} of {wanted} records")


def untouched(case, before, after, when):
    for name, digest in before.items():
        if name not in after:
            case.violation(f"{when}: the finished record {name} is lost")
        elif after[name] != digest:
            case.violation(f"{when}: the finished record {name} has other bytes")


def whole(scene, records):
    """As many records as planned, each of another trial, each of them whole."""
    case, keys = scene.case, set()
    wanted = scene.shape.get("planned") or study.planned(case.system, scene.shape)
    if len(records) != wanted:
        case.violation(f"{len(records)} records, {wanted} are planned")
    for name in records:
        try:
            record = scene.desk.record(name)
            key = record["key"]
            keys.add((key["contender"], key["workload"], key["connections"], key["trial"]))
        except (ValueError, KeyError, TypeError) as e:
            case.violation(f"the record {name} is not whole: {e!r}")
    if len(keys) != len(records):
        case.violation(f"{len(records)} records of {len(keys)} trials")
    for folder, _, names in os.walk(scene.desk.results):
        for name in names:
            if name.endswith(".partial"):
                case.violation(f"{os.path.relpath(f'{folder}/{name}', scene.desk.results)} is left")


def left_behind(scene):
    """No process, no folder, no lock, no port outlives the next command."""
    bench, case = scene.bench, scene.case
    known = bench.known_processes()
    if not machine.wait_until(3, lambda: not machine.strangers(known)):
        for pid in machine.strangers(known):
            case.violation(f"a process is left: {machine.command_line(pid)[:200]}")
            for below in [*machine.descendants(pid), pid]:
                machine.kill(below)
        time.sleep(0.1)
        machine.strangers(known)
    for folder in ("tmp", "servers"):
        left = [os.path.basename(p) for p in glob.glob(f"{scene.folder}/{folder}/*")]
        if left:
            case.violation(f"left in {folder}: {', '.join(sorted(left)[:5])}")
    ports = machine.listeners() - bench.known_ports() - (scene.relay.ports() if scene.relay else set())
    if ports:
        case.violation(f"ports are left open: {sorted(ports)}")
    if os.path.exists(f"{scene.desk.results}/server-settings.json"):
        case.violation("server-settings.json is left after the next run")
    # A server that had an answer on its way sends it again at doubled intervals (RFC 6298): after a partition it learns that its
    # client has gone only after as long as that lasted.
    patience_s = 5 + (2 * scene.lasted_s if case.kind in ("partition", "packet loss") else 0)
    if scene.server and not machine.wait_until(patience_s, lambda: scene.server.sessions() == 0):
        case.violation(f"{scene.server.sessions()} sessions are left on the server")


def settings(scene, before):
    after = scene.server.settings()
    for name in sorted(before):
        if after.get(name) != before[name]:
            scene.case.violation(f"the global variable {name} was {before[name]} and is {after.get(name)}")
