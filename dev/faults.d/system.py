"""Faults of the operating system: calls that fail, disks that are full, read-only or gone, and writes that a power cut would lose."""

import collections
import math
import os
import re
import shutil
import time

import machine

CALLS = {
    "EIO": ("read", "write", "openat", "fsync", "linkat", "rename", "getdents64", "pread64", "pwrite64", "unlink", "sendto", "recvfrom"),
    "ENOSPC": ("write", "openat", "mkdir", "linkat", "pwrite64", "fsync", "rename", "ftruncate"),
    "EMFILE": ("openat", "socket", "epoll_create1", "eventfd2", "timerfd_create", "fcntl"),
    "ENOMEM": ("mmap", "clone3", "connect", "sendto"),
}
OF_SOCKETS = ("sendto", "recvfrom", "socket", "connect")


def arrange_calls(scene):
    """The n-th call of one kind fails in one thread, or every call from the n-th on."""
    rng, case = scene.rng, scene.case
    error = case.kind.split()[0]
    names = [c for c in CALLS[error] if not (c in OF_SOCKETS and case.system == "sqlite")]
    call = rng.choice(names)
    most = scene.bench.calls.get((case.system, case.phase, call), 100)
    number = int(math.exp(rng.uniform(0, math.log(max(1.5, most + 0.99)))))
    tail = rng.choice(["", "", "", "+"])
    case.detail = f"{call} number {number}{tail}"
    scene.trace, scene.call = scene.desk.path("trace"), call
    scene.before = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", scene.trace, "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}{tail}"]


def judge_calls(scene, ended):
    case, counts, hit = scene.case, collections.Counter(), False
    with open(scene.trace, errors="replace") as f:
        for line in f:
            counts[line.split(" ", 1)[0]] += "unfinished" not in line
            hit = hit or "(INJECTED)" in line
    case.reached = hit and "error while loading shared libraries" not in ended.err
    if not hit:
        scene.bench.calls[(case.system, case.phase, scene.call)] = max(counts.values(), default=1)


def codes_of_calls(case):
    """A dynamic loader that fails has code 127; where memory is refused Rust aborts, and so does the loader, in its own way."""
    more = {-6, *({-11} if case.detail.startswith("mmap") else ())} if case.kind.startswith("ENOMEM") else set()
    return {0, 1, 3, 5, 127} | more


# --- disks ---

def disk_of(scene):
    """A disk of its own for the results, or for the database in SQLite's case."""
    where = "db" if scene.case.system == "sqlite" and scene.rng.random() < 0.4 and scene.case.phase != "report" else "results"
    folder = scene.desk.path(where)
    aside = f"{folder}.aside"
    if os.path.exists(folder):
        os.rename(folder, aside)
    os.makedirs(folder)
    # A fast machine inserts tens of megabytes into a database that is on no real disk.
    machine.mount_small(folder, 262144 if where == "db" else 16384)
    if os.path.exists(aside):
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        shutil.rmtree(aside)
    scene.unmount = folder
    return where, folder


def fill(scene, folder, free_kb):
    state = os.statvfs(folder)
    size = max(0, state.f_bavail * state.f_frsize - free_kb * 1024)
    path = f"{folder}/.filler"
    with open(path, "wb") as f:
        f.write(bytes(size))
    scene.heal_by(lambda: os.path.exists(path) and os.remove(path))


def arrange_full(scene):
    where, scene.disk = disk_of(scene)
    scene.free_kb = scene.rng.choice([0, 0, 4, 8, 16, 40, 80])
    scene.case.detail = f"the disk of {where} has {scene.free_kb} KB"
    if scene.rng.random() < 0.4:
        fill(scene, scene.disk, scene.free_kb)
        scene.case.detail += " from the start"
        scene.free_kb = None


def strike_full(scene, process):
    if scene.free_kb is not None:
        try:
            fill(scene, scene.disk, scene.free_kb)
        except OSError:
            scene.heal_by(lambda: os.path.exists(f"{scene.disk}/.filler") and os.remove(f"{scene.disk}/.filler"))


def arrange_read_only(scene):
    where, scene.disk = disk_of(scene)
    scene.case.detail = f"the disk of {where} becomes read-only"
    if scene.rng.random() < 0.3:
        machine.remount(scene.disk, "ro")
        scene.case.detail = f"the disk of {where} is read-only from the start"
    scene.heal_by(lambda: machine.remount(scene.disk, "rw"))


def strike_read_only(scene, process):
    if not machine.wait_until(0.5, lambda: machine.remount(scene.disk, "ro")):
        scene.case.reached = "from the start" in scene.case.detail


def strike_vanish(scene, process):
    """The results folder is moved away under a running study."""
    scene.case.detail = "the results folder is moved away"
    away, there = f"{scene.desk.results}-away", scene.desk.results
    scene.seen, scene.replaced = scene.desk.records(), True
    scene.lost = len(scene.seen)
    os.rename(there, away)

    def restore():
        if os.path.exists(there):
            shutil.rmtree(there)
        os.rename(away, there)

    scene.heal_by(restore)


def judge_vanish(scene, ended):
    planned = 4
    if scene.case.reached and ended.code == 0 and scene.lost < planned - 1:
        scene.case.violation(f"the results folder was moved away after {scene.lost} of {planned} trials, and the run ended with 0: {ended.err[-300:]}")


# --- a power cut ---

def arrange_power(scene):
    """Nothing fails, but every write is watched: what is not synced before it gets its name would be lost."""
    scene.case.detail = "which files would survive a power cut"
    scene.trace = scene.desk.path("trace")
    calls = "openat,write,fsync,fdatasync,link,linkat,rename,renameat,renameat2"
    scene.before = ["strace", "-f", "-y", "--seccomp-bpf", "-qq", "-s", "0", "-o", scene.trace, "-e", f"trace={calls}"]


NAMED = re.compile(r'(?:link|rename)\w*\((?:AT_FDCWD\S*, )?"([^"]+)", (?:AT_FDCWD\S*, )?"([^"]+)".*= 0')
SYNCED = re.compile(r"f(?:data)?sync\(\d+<([^>]*)>.*= 0")
WRITTEN = re.compile(r"write\(\d+<([^>]*)>.*= [1-9]")


def judge_power(scene, ended):
    dirty, waiting, folder = set(), {}, scene.folder

    def absolute(path):
        return os.path.normpath(os.path.join(folder, path))

    with open(scene.trace, errors="replace") as f:
        lines = joined(f)
    for line in lines:
        if found := WRITTEN.search(line):
            dirty.add(found[1].removesuffix(" (deleted)"))
        elif found := SYNCED.search(line):
            dirty.discard(found[1])
            for name in [n for n in waiting if os.path.dirname(n) == found[1]]:
                del waiting[name]
        elif found := NAMED.search(line):
            source, to = absolute(found[1]), absolute(found[2])
            if to.startswith(scene.desk.results):
                if source in dirty:
                    scene.case.violation(f"{os.path.relpath(to, folder)} got its name before its bytes were synced")
                waiting[to] = line
    for name in waiting:
        scene.case.violation(f"the folder of {os.path.relpath(name, folder)} was not synced after it got its name")


def joined(lines):
    """Calls that another thread interrupted in the trace, in one line each, at the place where they ended."""
    open_, found = {}, []
    for line in lines:
        pid, rest = line.rstrip("\n").split(" ", 1)
        rest = rest.strip()
        if rest.endswith("<unfinished ...>"):
            open_[pid] = rest.removesuffix("<unfinished ...>").strip()
        elif rest.startswith("<... "):
            found.append(open_.pop(pid, "") + rest.split("resumed>", 1)[-1])
        else:
            found.append(rest)
    return found


def settle(scene):
    """What the class mounted is unmounted when the case is over."""
    if getattr(scene, "unmount", None):
        time.sleep(0.01)
        machine.unmount(scene.unmount)
