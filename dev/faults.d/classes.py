"""The classes of faults: what they do, where they may strike, and which exit codes belong to them."""

import signal
import threading
import time
from dataclasses import dataclass
from typing import Callable

import machine
import mutate
import serving
import study
import system

SQL = ("mariadb", "postgres")
NETWORK = ("mariadb", "postgres", "tikv")
ALL = ("sqlite", "mariadb", "postgres", "tikv")
LIFE = ("prepare", "trial", "between")


@dataclass
class FaultClass:
    """One class. `arrange` acts before perbuck starts, `strike` at a moment of its life, `judge` looks at what only this class can know."""

    name: str
    places: tuple
    codes: object
    strike: Callable = None
    arrange: Callable = None
    judge: Callable = None
    shape: Callable = None
    relayed: bool = True
    counted: bool = False
    clustered: bool = False
    memory_mb: int = 0
    weight: int = 1


def places(systems, phases):
    return tuple((system, phase) for system in systems for phase in phases if not (system == "private" and phase == "prepare"))


def small_or_reset(rng, case):
    """Loads again before some trials, so that faults between trials meet loads."""
    reset = rng.choice(["never", "never", "per-trial"])
    return {"reset": reset, "loads_again": reset != "never"}


def on_finished(rng, case):
    """A study that is measured already."""
    return {"finished": True}


def wide(rng, case):
    """Enough rows that a fault finds the load still going on."""
    return {**small_or_reset(rng, case), "rows": rng.choice([100, 3000]) if case.phase == "prepare" else 100}


def signal_all(scene, process, number):
    for pid in scene.desk.programs(process):
        machine.kill(pid, number)


# --- signals ---

def strike_kill(scene, process):
    signal_all(scene, process, signal.SIGKILL)


def strike_stop(scene, process):
    wait = scene.rng.choice([0.05, 0.5, 1.5])
    scene.case.detail = f"stopped for {wait} s"
    signal_all(scene, process, signal.SIGSTOP)
    time.sleep(wait)
    signal_all(scene, process, signal.SIGCONT)


def strike_interrupt(scene, process):
    number = scene.rng.choice([signal.SIGINT, signal.SIGTERM])
    times = scene.rng.choice([1, 2])
    scene.case.detail = f"{number.name}, {times} times"
    scene.at_strike = len(scene.desk.records())
    signal_all(scene, process, number)
    scene.struck = time.monotonic()
    if times == 2:
        time.sleep(scene.rng.uniform(0.0, 0.1))
        if not machine.is_dead(process.pid):
            signal_all(scene, process, number)


def strike_second(scene, process):
    """Another perbuck starts on the same study: it is refused, whatever the first does."""
    scene.case.detail = "a second run of the same study"
    second = scene.desk.run(PHASE_RUN, 20)
    if machine.is_dead(process.pid):
        scene.case.reached = False
    elif second.code != 4 or "another perbuck" not in second.err:
        scene.case.violation(f"a second run of the same study was not refused: code {second.code}: {second.err[-200:]}")


def judge_interrupt(scene, ended):
    """A trial is drained for ten seconds at most, and a second Ctrl-C aborts it at once."""
    if not scene.case.reached:
        return
    missing = study.planned(scene.case.system, scene.shape) - scene.at_strike
    if scene.case.phase == "trial" and ended.code == 0 and missing >= 2:
        scene.case.violation(f"{missing} trials were missing when it got {scene.case.detail}, and it measured them all")
    took, most = time.monotonic() - scene.struck, 3 if scene.case.detail.endswith("2 times") else 12
    if took > most:
        scene.case.violation(f"it took {took:.1f} s to end after {scene.case.detail}")


# --- servers ---

def strike_server_kill(scene, process):
    scene.case.detail = "the server is killed"
    wait = scene.rng.choice([0.0, 0.3])
    scene.server.kill()
    time.sleep(wait)
    scene.server.start()


def strike_server_stop(scene, process):
    wait = scene.rng.choice([0.3, 1.0, 4.0])
    scene.case.detail = f"the server is stopped for {wait} s"
    pids = [scene.server.pid, *machine.descendants(scene.server.pid)]
    for pid in pids:
        machine.kill(pid, signal.SIGSTOP)
    time.sleep(wait)
    for pid in pids:
        machine.kill(pid, signal.SIGCONT)


def strike_lock(scene, process):
    """Another session holds a lock; two Ctrl-C must end perbuck, whatever it waits for."""
    holder = scene.server.lock()
    scene.heal_by(lambda: (holder.kill(), holder.wait(), end_sleepers(scene)))
    time.sleep(scene.rng.uniform(0.3, 1.5))
    if machine.is_dead(process.pid):
        return
    scene.case.detail = "a lock is held; Ctrl-C twice"
    signal_all(scene, process, signal.SIGINT)
    time.sleep(0.2)
    if machine.is_dead(process.pid):
        return
    signal_all(scene, process, signal.SIGINT)
    if not machine.wait_until(2.5, lambda: machine.is_dead(process.pid)):
        scene.case.violation("the second Ctrl-C did not end it within 2.5 s while a lock was held")
        scene.end_by_force(process)


def end_sleepers(scene):
    if scene.case.system == "mariadb":
        for (number,) in scene.server.ask("SELECT id FROM information_schema.processlist WHERE info LIKE '%SLEEP(600)' AND id<>CONNECTION_ID()"):
            scene.server.ask(f"KILL {number}", check=False)
    else:
        scene.server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)' AND pid<>pg_backend_pid()")


def private_processes(scene, process):
    """The guards of private servers, and what they hold."""
    below = machine.descendants(process.pid)
    guards = [p for p in below if "hold-server" in machine.command_line(p)]
    return guards, [p for p in below if p not in guards]


def strike_private(scene, process):
    victims = scene.rng.choice(["perbuck", "guard", "server", "perbuck and guard", "guard and server", "all", "TERM to perbuck and guard"])
    scene.case.detail = f"killed: {victims}"
    guards, servers = private_processes(scene, process)
    if not guards and victims != "perbuck":
        victims, scene.case.detail = "perbuck", "killed: perbuck while data are made"
    number = signal.SIGTERM if victims.startswith("TERM") else signal.SIGKILL
    chosen = []
    if "perbuck" in victims or victims == "all":
        chosen.append(process.pid)
    if "guard" in victims or victims == "all":
        chosen += guards
    if "server" in victims or victims == "all":
        chosen += servers
    for pid in chosen:
        machine.kill(pid, number)


def private_shape(rng, case):
    return {"kind": rng.choice(["mariadb", "mariadb", "postgres"]), "reset": "never", "trials": 2}


# --- the network ---

def for_a_while(scene, begin, choices=(0.3, 1.0, 5.0, None)):
    """The fault heals after a while, or only when perbuck has ended."""
    wait = scene.rng.choice(choices)
    begin()
    scene.case.detail += f", for {wait} s" if wait else ", to the end"
    heal = scene.bench.filter.heal
    scene.heal_by(heal)
    if wait:
        timer = threading.Timer(wait, heal)
        timer.start()
        scene.heal_by(timer.join)


def strike_partition(scene, process):
    scene.case.detail = "partition"
    for_a_while(scene, lambda: scene.bench.filter.partition(scene.server.port if scene.relay is None else scene.relay.port))


def strike_loss(scene, process):
    percent = scene.rng.choice([2, 10, 40])
    scene.case.detail = f"{percent} % loss"
    port = scene.relay.port if scene.relay else scene.server.port
    for_a_while(scene, lambda: scene.bench.filter.loss(port, percent), (0.3, 2.0, 8.0))


def strike_reset(scene, process):
    port = scene.relay.port if scene.relay else scene.server.port
    if scene.relay and scene.rng.random() < 0.5:
        number = scene.rng.choice([1, 3, 50])
        scene.case.detail = f"every {number}. answer is a reset"
        for_a_while(scene, lambda: scene.relay.set(("reset", number)), (None,))
        timer = threading.Timer(scene.rng.choice([0.1, 1.0]), lambda: scene.relay.set(("none", 0)))
        timer.start()
        scene.heal_by(timer.join)
    else:
        scene.case.detail = "resets by the filter"
        for_a_while(scene, lambda: scene.bench.filter.reset(port))


def strike_delay(scene, process):
    wait = scene.rng.choice([0.002, 0.03, 0.3])
    scene.case.detail = f"answers delayed by {wait} s"
    scene.relay.set(("delay", wait))
    timer = threading.Timer(scene.rng.choice([0.5, 2.0]), lambda: scene.relay.set(("none", 0)))
    timer.start()
    scene.heal_by(timer.join)


def strike_stall(scene, process):
    """Answers stop; Ctrl-C twice ends perbuck all the same."""
    scene.case.detail = "no answer comes any more; Ctrl-C twice"
    scene.relay.set(("stall", 0))
    scene.heal_by(lambda: scene.relay.set(("none", 0)))
    time.sleep(scene.rng.uniform(0.1, 1.0))
    for wait in (0.2, 2.5):
        if machine.is_dead(process.pid):
            return
        signal_all(scene, process, signal.SIGINT)
        machine.wait_until(wait, lambda: machine.is_dead(process.pid))
    if not machine.is_dead(process.pid):
        scene.case.violation("the second Ctrl-C did not end it within 2.5 s while no answer came")
        scene.end_by_force(process)


def strike_hostile(scene, process):
    number = scene.rng.choice([1, 2, 3, 5, 9, 20, 70])
    scene.case.detail = f"every {number}. answer is spoilt, three at most"
    scene.relay.set(("spoil", number), scene.rng)
    scene.heal_by(lambda: scene.relay.set(("none", 0)))


def arrange_hostile(scene):
    strike_hostile(scene, None)


def judge_hostile(scene, ended):
    scene.case.reached = scene.relay.hits > 0


# --- the clock ---

def arrange_clock(scene):
    scene.clock = scene.desk.path("clock")
    with open(scene.clock, "wb") as f:
        f.write(bytes(8))
    scene.environment = {"LD_PRELOAD": scene.bench.clock, "FAULTS_CLOCK": scene.clock}


def strike_clock(scene, process):
    step = scene.rng.choice([-86400, -3600, -2, 2, 3600, 86400])
    scene.case.detail = f"the wall clock steps by {step} s"
    with open(scene.clock, "r+b") as f:
        f.write((step * 1_000_000_000).to_bytes(8, "little", signed=True))


def judge_clock(scene, ended):
    """A step is seen and said, or no trial was running at that time."""
    said = "clock" in ended.err.lower() or "clock" in ended.out.lower()
    flagged = any(f["flag"].startswith("clock") for n in scene.desk.records() for f in scene.desk.record(n)["flags"])
    scene.case.checked["the clock step is said"] = int(said or flagged)


def clock_shape(rng, case):
    return {**small_or_reset(rng, case), "clock": True}


def undisturbed(scene, ended):
    scene.bench.learn(scene.case, ended.seconds)


def strike_refuse(scene, process):
    scene.case.detail = "a tenth of the inserts is answered with a deadlock"
    scene.relay.set(("refuse", 0), scene.rng)
    scene.heal_by(lambda: scene.relay.set(("none", 0)))


PHASE_RUN = ["run", "s.toml"]
CODES_STOPPED = {0, 130}

CLASSES = [
    FaultClass("none", places(SQL, LIFE) + places(("sqlite", "tikv"), LIFE), {0}, judge=undisturbed, counted=True),
    FaultClass("kill perbuck", places(ALL, LIFE) + places(("sqlite",), ("check", "report", "verify")), {0, -9}, strike_kill, shape=wide, weight=2),
    FaultClass("stop perbuck", places(ALL, LIFE) + places(("sqlite",), ("report",)), {0, 1}, strike_stop, shape=small_or_reset),
    FaultClass("Ctrl-C", places(ALL, LIFE) + places(("sqlite",), ("check", "report", "verify")), lambda c: CODES_STOPPED | ({-2, -15} if c.phase in ("check", "report", "verify") else set()),
               strike_interrupt, judge=judge_interrupt, shape=wide, weight=2),
    FaultClass("kill server", places(SQL, LIFE), {0, 1, 3}, strike_server_kill, shape=small_or_reset),
    FaultClass("stop server", places(NETWORK, LIFE), {0, 1, 3}, strike_server_stop, shape=small_or_reset),
    FaultClass("lock held", places(SQL, LIFE), CODES_STOPPED | {1, 3}, strike_lock, shape=small_or_reset),
    FaultClass("two at once", places(("sqlite", "mariadb"), ("trial",)), {0}, strike_second, shape=lambda r, c: {"spare": 2}),
    FaultClass("deadlocks", places(("mariadb",), ("trial",)), {0}, strike_refuse, judge=judge_hostile, shape=lambda r, c: {"spare": 2}, weight=2),
    FaultClass("private undisturbed", (("private", "trial"),), {0}, shape=private_shape),
    FaultClass("private servers", (("private", "trial"), ("private", "between"), ("private", "start")), {0, 1, 3, 130, -9, -15}, strike_private, shape=private_shape, weight=2),
    FaultClass("partition", places(NETWORK, LIFE), {0, 1, 3}, strike_partition, shape=small_or_reset, weight=2),
    FaultClass("packet loss", places(NETWORK, LIFE), {0, 1, 3}, strike_loss, shape=small_or_reset),
    FaultClass("resets", places(NETWORK, LIFE), {0, 1, 3}, strike_reset, shape=small_or_reset),
    FaultClass("delay", places(NETWORK, LIFE), {0, 1, 3}, strike_delay, shape=small_or_reset, clustered=True),
    FaultClass("stall", places(NETWORK, LIFE), CODES_STOPPED | {1, 3}, strike_stall, shape=small_or_reset, clustered=True),
    FaultClass("hostile server", places(NETWORK, LIFE), {0, 1, 3, 4}, arrange=arrange_hostile, judge=judge_hostile, shape=small_or_reset, weight=3,
               clustered=True),
    FaultClass("clock step", places(("sqlite", "mariadb"), ("trial", "between")), {0}, strike_clock, arrange_clock, judge_clock, clock_shape),
    *(FaultClass(f"{error} of a call", places(ALL, ("prepare", "trial")) + places(("sqlite",), ("check", "report", "verify")), system.codes_of_calls,
                 arrange=system.arrange_calls, judge=system.judge_calls, shape=small_or_reset, weight=2) for error in system.CALLS),
    FaultClass("full disk", places(("sqlite", "mariadb"), LIFE) + (("sqlite", "report"),), {0, 1, 5}, system.strike_full, system.arrange_full, shape=small_or_reset),
    FaultClass("read-only disk", places(("sqlite", "mariadb"), LIFE) + (("sqlite", "report"),), {0, 1, 3, 5}, system.strike_read_only, system.arrange_read_only,
               shape=small_or_reset),
    FaultClass("results moved away", places(("sqlite", "mariadb"), ("trial", "between")), {0, 1, 4, 5}, system.strike_vanish, judge=system.judge_vanish),
    FaultClass("power cut", places(("sqlite", "mariadb"), ("trial",)), {0}, arrange=system.arrange_power, judge=system.judge_power, shape=small_or_reset),
    FaultClass("mutated file", places(("sqlite",), ("files",)), {0, 1, 2, 4, 5}, arrange=mutate.arrange, judge=mutate.judge, shape=on_finished, weight=20),
    FaultClass("mutated journal", places(("mariadb",), ("trial",)), {0, 1, 2, 3, 4, 5}, arrange=mutate.arrange_journal, weight=2),
    FaultClass("serve", places(("sqlite",), ("serve",)), {0, 5, 1, 130, -2, -9, -15}, serving.strike, serving.arrange, shape=on_finished, weight=4),
]
