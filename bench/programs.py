"""The programs that the benches run, and what each run cost. Python's standard library only."""
import collections, json, os, pathlib, re, resource, subprocess, sys, tempfile, threading, time, urllib.parse

TABLES, SIZE = 4, 25000
ROOT = pathlib.Path(__file__).resolve().parent.parent
DIST = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "dist"

# CPU in microseconds, peak memory in bytes; `workers` and `errors` are None where a program does not say.
Run = collections.namedtuple("Run", "user_us system_us queries transactions seconds peak_bytes workers errors")
# What a finished process cost: seconds and bytes.
Cost = collections.namedtuple("Cost", "output user system peak_bytes")


class Died(Exception):
    """A program ended without a result; the text says why."""


class Server:
    """The database that dev/with-servers started."""

    def __init__(self):
        try:
            self.url, self.password = os.environ["PERBUCK_TEST_MARIADB"], os.environ["PERBUCK_TEST_MARIADB_PASSWORD"]
        except KeyError as missing:
            sys.exit(f"{missing} is not set: run this under dev/with-servers --mariadb-only")
        parts = urllib.parse.urlparse(self.url)
        self.host, self.port, self.user, self.database = parts.hostname, parts.port, parts.username, parts.path[1:]

    def sql(self, text):
        command = ["mariadb", "--no-defaults", "--protocol=tcp", f"--host={self.host}", f"--port={self.port}", f"--user={self.user}"]
        command += ["--batch", "--skip-column-names", "--execute", text]
        done = subprocess.run(command, env=dict(os.environ, MYSQL_PWD=self.password), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"the server refuses «{text}»: {done.stderr.strip()}")
        return done.stdout

    def make_room(self, connections):
        """Raises what stops many connections; what one run leaves behind may still be closing when the next begins."""
        self.sql(f"SET GLOBAL max_connections = GREATEST(@@max_connections, {2 * connections + 200});"
                 "SET GLOBAL max_prepared_stmt_count = GREATEST(@@max_prepared_stmt_count, 1048576)")
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def prepare(self):
        """Makes the tables anew, with sysbench's own data."""
        for what in ("cleanup", "prepare"):
            run(self.sysbench("oltp_read_write", what))

    def sysbench(self, script, command, *options):
        return ["sysbench", f"--mysql-host={self.host}", f"--mysql-port={self.port}", f"--mysql-user={self.user}",
                f"--mysql-password={self.password}", f"--mysql-db={self.database}", script, f"--tables={TABLES}",
                f"--table-size={SIZE}", *options, command]


def built(name, folder=DIST):
    """The path of one of our programs."""
    path = pathlib.Path(folder) / name
    if not path.is_file():
        sys.exit(f"{path} is missing: cargo build --profile dist -p {name}")
    return path


def run(command, folder=None, **variables):
    """Runs a program to its end. Its peak memory is the kernel's figure (ru_maxrss) where that can be trusted."""
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        child = subprocess.Popen(command, cwd=folder, env=dict(os.environ, **variables), stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT)
        watched = Watched(child.pid)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        watched.end()
        out.seek(0)
        output = out.read()
    if child.returncode != 0:
        raise Died(reason(output) or f"status {child.returncode}")
    # Until it executes its program a child is a copy of this one, and ru_maxrss remembers that: it is a true peak only
    # above our own. Below, what was seen in /proc counts.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    peak = usage.ru_maxrss * 1024
    return Cost(output, usage.ru_utime, usage.ru_stime, peak if peak > own else watched.peak_bytes)


class Watched:
    """Reads VmHWM, which only rises, five times a second while a process lives."""

    def __init__(self, pid):
        self.peak_bytes, self.status, self.over = 0, pathlib.Path(f"/proc/{pid}/status"), threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.over.wait(0.2):
            try:
                seen = re.search(r"VmHWM:\s+(\d+) kB", self.status.read_text())
            except OSError:
                return
            if seen:
                self.peak_bytes = int(seen.group(1)) * 1024

    def end(self):
        self.over.set()
        self.thread.join()


def reason(output):
    """The line of a failed program's output that says the most."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"fatal|error|failed|cannot|refused", line, re.IGNORECASE)]
    # Without such a word the last one says why it ended.
    return (telling or lines[-1:] or [""])[0].replace("|", "/")[:160]


def perbuck(binary, server, folder, script, connections, seconds, name, workload="", sweep=""):
    """CPU and counts of the measured window, from the record; peak memory of the whole process. `workload` and `sweep` are
    further lines of those parts of the study."""
    study = pathlib.Path(folder) / f"{name}.toml"
    # sysbench 1.0 and the floor speak plain text; perbuck would take the TLS that the server offers.
    study.write_text(
        f'schema = 1\nname = "{name}"\n[[contender]]\nname = "m"\ntarget = "{server.url}?tls=disabled"\n[[workload]]\n'
        f'name = "w"\nkind = "sysbench"\nscript = "{script}"\ntables = {TABLES}\ntable_size = {SIZE}\n{workload}\n'
        f'[sweep]\nconnections = [{connections}]\nwarmup = "500ms"\nduration = "{seconds}s"\ntrials = 1\n{sweep}\n'
    )
    cost = run([binary, "run", study], folder=folder, PERBUCK_M_PASSWORD=server.password)
    records = list((pathlib.Path(folder) / "results" / name).glob("m/w/*/001.json"))
    if len(records) != 1:
        raise Died(reason(cost.output) or "no record")
    record = json.loads(records[0].read_text())
    health, measured = record["health"], record["measured"]
    kinds = measured["transactions"].values()
    return Run(health["client_user_ns"] / 1e3, health["client_system_ns"] / 1e3,
               sum(measured["statements"][k] for k in ("read", "write", "other")), sum(k["committed"] for k in kinds),
               measured["window_ns"] / 1e9, cost.peak_bytes, record["load"]["workers"], None)


def sysbench(server, script, connections, seconds):
    """CPU and peak memory of the whole process, its start and its connecting included: it tells of no window."""
    cost = run(server.sysbench(script, "run", f"--threads={connections}", f"--time={seconds}", "--rand-type=uniform"))
    number = lambda pattern: float(re.search(pattern, cost.output).group(1))
    return Run(cost.user * 1e6, cost.system * 1e6, number(r"queries:\s+(\d+)"), number(r"transactions:\s+(\d+)"),
               number(r"total time:\s+([\d.]+)s"), cost.peak_bytes, connections, number(r"ignored errors:\s+(\d+)"))


def floor(binary, server, script, connections, seconds, threads, io="epoll"):
    """CPU and counts of the measured window, as the floor program says them."""
    cost = run([binary, "--url", server.url, "--script", script, "--connections", str(connections), "--threads", str(threads),
                "--seconds", str(seconds), "--tables", str(TABLES), "--table-size", str(SIZE), "--io", io],
               PERBUCK_FLOOR_PASSWORD=server.password)
    said = json.loads(cost.output)
    return Run(said["user_ns"] / 1e3, said["system_ns"] / 1e3, said["queries"], said["transactions"], said["seconds"],
               said["peak_rss_bytes"], threads, said["errors"])


def note(text):
    """Progress, beside the table on standard output."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
