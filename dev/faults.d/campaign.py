"""Runs the cases of a campaign in a few workers, notes each in a journal, and sums them up."""

import argparse
import datetime
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import case as cases
import machine
import planted
import reliability
import servers
import study

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))


class Bench:
    """What the cases of one worker share: its servers, its filter, how long commands take undisturbed."""

    def __init__(self, folder, binary, environment):
        self.folder, self.binary, self.environment = folder, binary, environment
        os.makedirs(folder, mode=0o711, exist_ok=True)
        self.servers, self.typical, self.calls, self.filter = {}, {}, {}, machine.Filter()
        self.clock = os.path.join(os.path.dirname(folder), "clock.so")
        self.template, self.root = None, ROOT

    def server(self, kind):
        if kind not in self.servers:
            self.servers[kind] = servers.KINDS[kind](f"{self.folder}/{kind}")
        self.servers[kind].ensure()
        return self.servers[kind]

    def known_processes(self):
        return {s.pid for s in self.servers.values()}

    def known_ports(self):
        return {port for server in self.servers.values() for port in machine.ports_of(server.pid)}

    def learn(self, case, seconds):
        self.typical[(case.system, case.phase)] = min(seconds, 5)

    def finished(self, desk):
        """A study with all its trials and its page, measured once for each worker."""
        if self.template is None:
            self.template = f"{self.folder}/template"
            made = study.Desk(self.template, self.binary, self.environment)
            made.write("s.toml", study.text("sqlite", random.Random(1), self.template, 0, {}))
            for phase in ("check", "trial", "report", "verify"):
                ended = made.run(cases.PHASES[phase])
                if ended.code != 0:
                    raise RuntimeError(f"the template: {ended.brief()}")
                self.typical[("sqlite", phase)] = ended.seconds
        for name in ("s.toml", "results", "db"):
            source, to = f"{self.template}/{name}", desk.path(name)
            shutil.copytree(source, to, dirs_exist_ok=True) if os.path.isdir(source) else shutil.copy2(source, to)

    def close(self):
        for server in self.servers.values():
            server.kill()


def draw(seed, count, only, classes):
    """The cases of a seed: class and place in a fixed round, details from a seed of each case's own."""
    chosen = [c for c in classes if not only or c.name in only]
    round_ = [(c, place) for c in chosen for place in c.places for _ in range(c.weight)]
    if not round_:
        raise SystemExit(f"faults: no class of that name; there are: {', '.join(c.name for c in classes)}")
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        rng.shuffle(round_)
        found += round_
    return [(n, c, place, f"{seed}:{n}") for n, (c, place) in enumerate(found[:count])]


def play(bench, number, cls, place, seed):
    """One case from start to end; a defect of the campaign itself is shown as one."""
    case = cases.Case(number, cls.name, *place, seed)
    began, scene = time.monotonic(), None
    try:
        scene = cases.Scene(bench, case, cls)
        scene.play()
    except Exception:
        case.violation(f"the campaign itself failed: {traceback.format_exc()[-1500:]}")
    finally:
        bench.filter.heal()
        if scene:
            scene.clear(keep=bool(case.violations))
        known = bench.known_processes()
        for pid in machine.strangers(known):
            for below in [*machine.descendants(pid), pid]:
                machine.kill(below)
    case.seconds = round(time.monotonic() - began, 2)
    return case


def work(index, options, classes, todo, done):
    """One worker process."""
    machine.isolate()
    bench = Bench(f"{options.folder}/worker-{index}", options.binary, options.environment)
    try:
        while True:
            one = todo.get()
            if one is None:
                break
            number, name, place, seed = one
            cls = next(c for c in classes if c.name == name)
            done.put(vars(play(bench, number, cls, place, seed)))
    finally:
        bench.close()
        done.put(None)


def compile_clock(folder):
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", f"{folder}/clock.so", f"{HERE}/clock.c", "-ldl"], check=True)


def journal(folder):
    path = f"{folder}/cases.jsonl"
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [json.loads(line) for line in f if line.endswith("}\n")]


def run(options, classes, until=None):
    """Plays what the journal does not hold yet, or until a case is what `until` wants; returns all cases."""
    known = {c["number"]: c for c in journal(options.folder)}
    wanted = [c for c in draw(options.seed, options.count, options.only, classes) if options.case is None or c[0] == options.case]
    open_ = [c for c in wanted if c[0] not in known]
    compile_clock(options.folder)
    todo, done = multiprocessing.Queue(), multiprocessing.Queue()
    for n, cls, place, seed in open_:
        todo.put((n, cls.name, place, seed))
    workers = [multiprocessing.Process(target=work, args=(i, options, classes, todo, done)) for i in range(min(options.workers, max(1, len(open_))))]
    for worker in workers:
        todo.put(None)
        worker.start()
    end, left, results = time.monotonic() + options.seconds if options.seconds else None, len(workers), list(known.values())
    with open(f"{options.folder}/cases.jsonl", "a") as f:
        while left:
            if end and time.monotonic() > end:
                end = None
                drain(todo, len(workers))
            try:
                one = done.get(timeout=1)
            except Exception:
                if not any(w.is_alive() for w in workers):
                    break
                continue
            if one is None:
                left -= 1
                continue
            results.append(one)
            f.write(json.dumps(one) + "\n")
            f.flush()
            tell(one, len(results), len(wanted))
            if until and until(one):
                until = None
                drain(todo, len(workers))
    for worker in workers:
        worker.join()
    return results


def drain(todo, workers):
    """Time is up: nothing more is started."""
    try:
        while True:
            todo.get(timeout=0.2)
    except Exception:
        for _ in range(workers):
            todo.put(None)


def tell(one, n, of):
    verdict = "ok" if not one["violations"] else "VIOLATION"
    print(f"[{n}/{of}] {one['number']} {one['kind']}, {one['system']} {one['phase']}, {one['detail']}: {one['code']}, {one['seconds']} s: {verdict}", flush=True)
    for line in one["violations"]:
        print(f"    {line}", flush=True)


def table(results, classes):
    rows = ["| class | faults | reached | survived | violations |", "|---|---|---|---|---|"]
    for cls in classes:
        mine = [r for r in results if r["kind"] == cls.name]
        if mine:
            bad = sum(1 for r in mine if r["violations"])
            reached = sum(1 for r in mine if r["reached"])
            rows.append(f"| {cls.name} | {len(mine)} | {reached} | {len(mine) - bad} | {bad} |")
    bad = sum(1 for r in results if r["violations"])
    rows.append(f"| all | {len(results)} | {sum(1 for r in results if r['reached'])} | {len(results) - bad} | {bad} |")
    return "\n".join(rows)


def build():
    subprocess.run(["cargo", "build", "--locked", "-p", "perbuck", "-p", "perbuck-tikv-server"], check=True, cwd=ROOT)
    target = os.environ.get("CARGO_TARGET_DIR", f"{ROOT}/target")
    return f"{target}/debug/perbuck"


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="dev/faults", description="Faults over the life of a study: what holds after each is checked.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--class", dest="only", action="append", help="only this class; may be repeated")
    parser.add_argument("--case", type=int, help="only the case of this number, to see it again")
    parser.add_argument("--resume", dest="folder", help="the folder of a campaign; it goes on where it was")
    parser.add_argument("--binary", help="perbuck to try; built when it is not given")
    parser.add_argument("--tikv", help="perbuck-tikv-server; beside --binary when it is not given")
    parser.add_argument("--seconds", type=float, help="start nothing after so many seconds")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--planted", action="store_true", help="check that the campaign finds planted bugs")
    parser.add_argument("--write", action="store_true", help="write the table to docs/reliability.md")
    return parser.parse_args(arguments)


def main(arguments):
    import classes
    options = options_of(arguments)
    if os.geteuid() != 0:
        raise SystemExit("faults: needs root, for namespaces, mounts and nftables")
    options.folder = os.path.abspath(options.folder or tempfile.mkdtemp(prefix="perbuck-faults."))
    os.makedirs(options.folder, exist_ok=True)
    os.chmod(options.folder, 0o711)
    options.binary = os.path.abspath(options.binary or (planted.build(ROOT, options.folder) if options.planted else build()))
    os.environ["FAULTS_TIKV"] = os.path.abspath(options.tikv or os.path.join(os.path.dirname(options.binary), "perbuck-tikv-server"))
    options.environment = {}
    print(f"faults: seed {options.seed}, folder {options.folder}", flush=True)
    if options.planted:
        missed, rows = planted.check(options, classes.CLASSES, run)
        print(rows)
        if options.write:
            reliability.write(ROOT, "planted", rows, options.seed)
        return 1 if missed else 0
    results = run(options, classes.CLASSES)
    rows = table(results, classes.CLASSES)
    bad = sum(1 for r in results if r["violations"])
    print(f"{rows}\n{len(results)} faults, {bad} with violations; {datetime.date.today()}, seed {options.seed}")
    if options.write:
        reliability.write(ROOT, "campaign", rows, options.seed)
    return 1 if bad else 0
