"""One fault: the desk is laid out, perbuck's command is disturbed, the fault heals, and everything that must hold is looked at."""

import os
import random
import shutil
import time
from dataclasses import dataclass, field

import invariants
import machine
import oracle
import study
import system
from relay import Relay, Relays

# The commands of a study's life. Later kinds of command add a line here, and the classes that suit them.
PHASES = {
    "check": ["check", "s.toml"],
    "prepare": ["prepare", "s.toml"],
    "start": ["run", "s.toml"],
    "trial": ["run", "s.toml"],
    "between": ["run", "s.toml"],
    "report": ["report", "results/s"],
    "verify": ["verify", "results/s/report.html"],
    "serve": ["serve", "results", "--port", "0"],
    "files": ["report", "results/s"],
}
OF_FILES = ("report", "verify", "serve", "files")
LIMIT_SECONDS = 30
# Seconds of an undisturbed command until something undisturbed has been measured.
GUESSED = {"check": 0.03, "report": 0.1, "verify": 0.1, "serve": 0.2, "prepare": 0.12, "start": 5.0}


@dataclass
class Case:
    """What one fault is, and what came of it."""

    number: int
    kind: str
    system: str
    phase: str
    seed: str
    detail: str = ""
    reached: bool = True
    code: int | None = 0
    violations: list = field(default_factory=list)
    seconds: float = 0.0
    log: list = field(default_factory=list)
    checked: dict = field(default_factory=dict)

    def violation(self, words):
        self.violations.append(words)


class Scene:
    """What a class of fault works with while its case runs."""

    def __init__(self, bench, case, cls):
        self.bench, self.case, self.cls = bench, case, cls
        self.rng = random.Random(case.seed)
        self.shape = dict(cls.shape(self.rng, case)) if cls.shape else {}
        self.folder = f"{bench.folder}/case-{case.number:05}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.desk = study.Desk(self.folder, bench.binary, dict(bench.environment))
        self.words = list(PHASES[case.phase])
        self.before, self.environment, self.limit = [], {}, LIMIT_SECONDS
        self.server = self.relay = None
        self.seen, self.heal_steps = {}, []
        self.trips = []
        # Whether healing brings other records back than those that lay there.
        self.replaced = False

    # --- laying out ---
    def lay_out(self):
        system = self.case.system
        if self.case.phase in OF_FILES or self.shape.get("finished"):
            return self.bench.finished(self.desk)
        port = 0
        if system in ("mariadb", "postgres", "tikv"):
            self.server = self.bench.server(system)
            self.server.fresh(["db_a", "db_b"])
            port = self.server.port
            if self.cls.relayed and system != "tikv":
                self.relay = Relay(self.server.scheme, self.server.port)
                port = self.relay.port
            elif self.cls.clustered and system == "tikv":
                self.relay = Relays(self.server.scheme, machine.ports_of(self.server.pid), self.bench.filter)
        self.desk.write("s.toml", study.text(system, self.rng, self.folder, port, self.shape))
        if self.case.phase in ("trial", "between") and system != "private":
            ended = self.must(["prepare", "s.toml"], "before the fault")
            self.bench.typical[(system, "prepare")] = ended.seconds

    def must(self, words, when, codes=(0,), limit=60):
        ended = self.desk.run(words, limit)
        self.case.log.append(f"{when}: {ended.brief()}")
        insisting = ended.code == 4 and "insist" in ended.err
        if ended.code not in codes and not insisting:
            self.case.violation(f"{when}: `perbuck {' '.join(words)}` ended with {ended.code}: {ended.err.strip()[-300:]}")
        invariants.words_of(self.case, ended, when)
        return ended

    # --- the moment of the fault ---
    def typical(self):
        return self.bench.typical.get((self.case.system, self.case.phase), GUESSED.get(self.case.phase, 0.5))

    def wait_for_moment(self, process):
        """Sleeps until the moment that the seed drew; returns whether perbuck is still there."""
        def gone():
            return machine.is_dead(process.pid)

        if self.case.phase in ("trial", "between"):
            first = 1 if self.case.phase == "between" else 0
            planned = study.planned(self.case.system, self.shape)
            done = self.rng.randrange(first, max(first + 1, planned - self.shape.get("spare", 0)))
            machine.wait_until(LIMIT_SECONDS, lambda: gone() or self.reached_trial(done))
            time.sleep(self.rng.uniform(0, 0.04 if first else 0.35))
        else:
            time.sleep(self.rng.uniform(0, self.typical()))
        return not gone()

    def reached_trial(self, done):
        events = [e["event"] for e in self.desk.live()]
        return "began" in events and events.count("done") >= done

    def end_by_force(self, process):
        """A violation is noted already; waiting any longer would only cost time."""
        self.case.checked["ended by force"] = 1
        for pid in self.desk.programs(process):
            machine.kill(pid)

    def heal_by(self, step):
        self.heal_steps.append(step)

    # --- the whole ---
    def play(self):
        case = self.case
        self.lay_out()
        if case.violations:
            return
        settings = self.server.settings() if self.server else {}
        counters = self.server.counters() if self.server and self.cls.counted else {}
        self.seen = self.desk.records()
        if self.cls.arrange:
            self.cls.arrange(self)
        began = time.time()
        process = self.desk.start(self.words, before=self.before, environment=self.environment)
        alive = self.case.phase == "serve" or self.wait_for_moment(process) if self.cls.strike else True
        if self.cls.strike:
            case.reached = alive
            if alive:
                self.cls.strike(self, process)
        ended = self.desk.finish(process, self.limit)
        case.log.append(f"the fault ({case.detail}): {ended.brief()}")
        case.code, self.lasted_s = ended.code, ended.seconds
        observed = self.desk.records()
        invariants.complete(self, ended)
        for step in self.heal_steps:
            step()
        if self.server:
            self.server.ensure()
        if self.cls.judge:
            self.cls.judge(self, ended)
        invariants.of_command(case, ended, self.cls.codes, self.cls.memory_mb)
        invariants.untouched(case, self.seen, self.desk.records(), "after the fault")
        self.seen.update({n: h for n, h in observed.items() if n not in self.seen and not self.replaced})
        self.follow()
        invariants.left_behind(self)
        if self.server:
            invariants.settings(self, settings)
        if self.relay:
            self.trips = self.relay.take()
            if self.case.system != "tikv":
                oracle.compare(self, began)
            if self.cls.counted:
                oracle.compare_server(self, counters)

    def follow(self):
        """The next commands: they must end well, and the study must be whole."""
        case = self.case
        if case.phase == "check" and not self.shape.get("finished"):
            self.must(["check", "s.toml"], "the next check")
            return
        if case.phase not in OF_FILES:
            self.must(["run", "s.toml"], "the next run", limit=90)
            invariants.whole(self, self.desk.records())
        self.must(["report", "results/s", *self.insisting()], "the next report")
        records = self.desk.records()
        invariants.untouched(case, self.seen, records, "after the next command")
        invariants.whole(self, records)
        if os.path.exists(f"{self.desk.results}/report.html"):
            self.must(["verify", "results/s/report.html"], "verify of its page")

    def insisting(self):
        """Trials that had errors are compared only if insisted on."""
        try:
            failed = any(self.desk.record(name)["errors"] for name in self.desk.records())
        except (OSError, ValueError, KeyError):
            return []
        return ["--insist", "errors"] if failed else []

    def clear(self, keep):
        if self.cls.arrange:
            system.settle(self)
        if self.relay:
            self.relay.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
