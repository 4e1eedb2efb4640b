"""The studies of the campaign, and perbuck's commands on them."""

import hashlib
import json
import os
import subprocess
import time
from dataclasses import dataclass, field

import machine
from servers import PASSWORD

SETTINGS = "server_settings = { long_query_time = 7, max_connect_errors = 321 }"


@dataclass
class Ended:
    """How a command ended; `code` is negative for a signal, None where the limit of time ended it."""

    words: list
    code: int | None
    out: str
    err: str
    seconds: float
    memory_mb: float
    notes: list = field(default_factory=list)

    def brief(self):
        return f"{' '.join(self.words)[:200]} -> {self.code} after {self.seconds:.1f} s, {self.memory_mb:.0f} MB: {self.err.strip()[-500:]}"


class Desk:
    """The folder of one case: its study, its results, its folder for temporary files."""

    def __init__(self, folder, binary, environment):
        self.folder, self.binary = folder, binary
        os.makedirs(f"{folder}/tmp")
        os.makedirs(f"{folder}/servers")
        os.makedirs(f"{folder}/db")
        os.chmod(f"{folder}/tmp", 0o1777)
        self.environment = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": f"{folder}/tmp", "RUST_BACKTRACE": "0", "LC_ALL": "C.UTF-8",
                            "PERBUCK_A_PASSWORD": PASSWORD, "PERBUCK_B_PASSWORD": PASSWORD, **environment}
        self.results = f"{folder}/results/s"

    def path(self, name):
        return f"{self.folder}/{name}"

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)

    def start(self, words, before=(), environment=None):
        """Starts perbuck; its output goes to files, so that no pipe of ours holds it."""
        self.count = getattr(self, "count", 0) + 1
        out, err = self.path(f"out.{self.count}"), self.path(f"err.{self.count}")
        with open(out, "wb") as o, open(err, "wb") as e:
            argv = [*before, self.binary, *words]
            process = subprocess.Popen(argv, cwd=self.folder, env={**self.environment, **(environment or {})}, stdin=subprocess.DEVNULL,
                                       stdout=o, stderr=e, start_new_session=True)
        process.faults = (words, out, err, time.monotonic())
        return process

    def finish(self, process, limit):
        """Waits for it. Past the limit it gets Ctrl-C twice; where that does not end it, it is killed and the code is None."""
        words, out, err, began = process.faults
        notes, usage, status = [], None, None
        end = began + limit
        asked = 0
        while status is None:
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                status = code
            elif time.monotonic() > end:
                for one in self.programs(process):
                    machine.kill(one, 9 if asked == 2 else 2)
                asked += 1
                if asked == 1:
                    notes.append(f"still running after {limit} s")
                if asked == 3:
                    notes.append("two Ctrl-C did not end it")
                    machine.kill(process.pid)
                    status = os.wait4(process.pid, 0)[1]
                end = time.monotonic() + 3
            else:
                time.sleep(0.004)
        process.returncode = os.waitstatus_to_exitcode(status)
        with open(out, errors="replace") as o, open(err, errors="replace") as e:
            code = None if asked == 3 else process.returncode
            return Ended(words, code, o.read(200000), e.read(200000), time.monotonic() - began, usage.ru_maxrss / 1024, notes)

    def programs(self, process):
        """The processes of perbuck: the child itself, or the one below strace."""
        below = [p for p in machine.descendants(process.pid) if self.binary in machine.command_line(p) and "hold-server" not in machine.command_line(p)]
        return below or [process.pid]

    def run(self, words, limit=60, **more):
        return self.finish(self.start(words, **more), limit)

    def live(self):
        """The events of the run so far."""
        try:
            with open(f"{self.results}/live.jsonl") as f:
                return [json.loads(line) for line in f.read().splitlines() if line.endswith("}")]
        except (OSError, ValueError):
            return []

    def records(self):
        """Every record with the hash of its bytes."""
        found = {}
        for folder, _, names in os.walk(self.results):
            for name in names:
                path = f"{folder}/{name}"
                # A fault may have put a pipe or a link there, which is no record.
                if name.endswith(".json") and folder != self.results and os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as f:
                        found[os.path.relpath(path, self.results)] = hashlib.sha256(f.read()).hexdigest()
        return found

    def record(self, name):
        with open(f"{self.results}/{name}") as f:
            return json.load(f)


def text(system, rng, folder, port, shape):
    """A study of two contenders on one system. `shape` holds what the class of fault needs to be otherwise."""
    seconds, trials = shape.get("duration", "300ms"), shape.get("trials", 2)
    limits = "connect_timeout=2s&read_timeout=2s"
    contenders = []
    for name in "ab":
        if system == "sqlite":
            where = f'target = "sqlite:db/{name}.db?synchronous=OFF&busy_timeout=2s"'
        elif system == "private":
            kind = shape.get("kind", "mariadb")
            config = 'innodb_buffer_pool_size = "16M", innodb_log_file_size = "8M"' if kind == "mariadb" else 'shared_buffers = "16MB"'
            where = f'server = {{ kind = "{kind}", folder = "{folder}/servers", config = {{ {config} }} }}'
        elif system == "tikv":
            where = f'target = "tikv://127.0.0.1:{port}/?type=raw&prefix={name}&{limits}&retry_limit=3s"'
        else:
            scheme = "mysql" if system == "mariadb" else "postgres"
            where = f'target = "{scheme}://bench@127.0.0.1:{port}/db_{name}?tls=disabled&{limits}"'
            if system == "mariadb" and name == "a" and shape.get("settings", True):
                where += f"\n{SETTINGS}"
        contenders.append(f'[[contender]]\nname = "{name}"\n{where}\n')
    if system == "private" and not shape.get("both"):
        contenders.pop()
    if system == "tikv":
        workload = 'kind = "ycsb"\nworkload = "a"\nrecordcount = 100'
    else:
        script = shape.get("script", "oltp_insert")
        reset = shape.get("reset", "never")
        workload = f'kind = "sysbench"\nscript = "{script}"\ntables = 1\ntable_size = {shape.get("rows", 100)}\nreset = "{reset}"'
    return (f'schema = 1\nname = "s"\nseed = {rng.randrange(1000)}\n\n{"".join(contenders)}\n[[workload]]\nname = "w"\n{workload}\n\n'
            f'[sweep]\nconnections = [2]\nworkers = 1\nwarmup = "0s"\nduration = "{seconds}"\ntrials = {trials}\n')


def planned(system, shape):
    return (1 if system == "private" and not shape.get("both") else 2) * shape.get("trials", 2)
