"""Database servers of one worker: started on demand, kept between faults, restarted where a fault killed them."""

import os
import pwd
import shutil
import subprocess
import time

import machine

PASSWORD = "faults"
READY_SECONDS = 60


def _program(*names):
    for name in names:
        found = shutil.which(name) or (name if os.access(name, os.X_OK) else None)
        if found:
            return found
    raise SystemExit(f"faults: {names[0]} is not there; dev/packages installs it")


class Server:
    """One server process with its folder and port."""

    def __init__(self, folder):
        self.folder, self.port, self.process = folder, machine.free_port(), None
        for last in (False, True):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder, mode=0o711)
            try:
                self.make()
                break
            except subprocess.CalledProcessError as e:
                # Two installations at once on a busy machine can disturb each other.
                if last:
                    raise RuntimeError(f"{e.cmd[0]}: {e.stderr[-500:]}") from e
        self.start()

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        log = open(f"{self.folder}/log", "ab")
        self.process = subprocess.Popen(self.argv(), stdin=subprocess.PIPE, stdout=log, stderr=log, cwd="/", start_new_session=True)
        if not machine.wait_until(READY_SECONDS, lambda: self.process.poll() is not None or self.ready()) or self.process.poll() is not None:
            raise RuntimeError(f"{self.argv()[0]} did not start; see {self.folder}/log")

    def ensure(self):
        """Starts it again where it died."""
        if self.process.poll() is not None:
            self.start()

    def kill(self):
        for pid in machine.descendants(self.pid):
            machine.kill(pid)
        self.process.kill()
        self.process.wait()


class Maria(Server):
    scheme = "mysql"

    def make(self):
        os.chmod(self.folder, 0o700)
        install = _program("mariadb-install-db")
        subprocess.run(
            [install, "--no-defaults", "--user=root", f"--datadir={self.folder}/data", f"--tmpdir={self.folder}", "--skip-test-db", "--auth-root-authentication-method=normal"],
            check=True, capture_output=True)
        with open(f"{self.folder}/init.sql", "w") as f:
            f.write(f"CREATE USER IF NOT EXISTS bench@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO bench@'127.0.0.1';\n")

    def argv(self):
        f = self.folder
        return [_program("mariadbd", "/usr/sbin/mariadbd"), "--no-defaults", "--user=root", f"--datadir={f}/data", f"--tmpdir={f}", f"--socket={f}/socket",
                f"--pid-file={f}/server.pid", "--bind-address=127.0.0.1", f"--port={self.port}", "--skip-name-resolve",
                "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M", f"--init-file={f}/init.sql", "--local-infile=1",
                # What a partition cut off, only the server can end, and by default it asks after two hours.
                "--tcp-keepalive-time=2", "--tcp-keepalive-interval=1", "--tcp-keepalive-probes=5"]

    def ready(self):
        return self.ask("SELECT 1", check=False) == [["1"]]

    def ask(self, sql, check=True):
        words = ["mariadb", "--no-defaults", "--batch", "--skip-column-names", f"--socket={self.folder}/socket", "-uroot", "-e", sql]
        ended = subprocess.run(words, capture_output=True, text=True)
        if check and ended.returncode != 0:
            raise RuntimeError(ended.stderr)
        return [line.split("\t") for line in ended.stdout.splitlines()]

    def fresh(self, names):
        self.ask(" ".join(f"DROP DATABASE IF EXISTS {n}; CREATE DATABASE {n};" for n in names))

    def settings(self):
        """All global variables but those that move by themselves."""
        moving = ("timestamp", "gtid", "rand_seed", "last_", "identity", "insert_id", "innodb_buffer_pool_load", "in_transaction")
        return {row[0]: row[1:] for row in self.ask("SHOW GLOBAL VARIABLES") if not row[0].startswith(moving)}

    def counters(self):
        wanted = "'Com_insert','Com_commit','Com_stmt_execute','Com_select','Com_update'"
        return {name: int(value) for name, value in self.ask(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({wanted})")}

    def rows(self, database):
        found = self.ask(f"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='{database}' AND table_name='sbtest1'")
        return int(self.ask(f"SELECT COUNT(*) FROM {database}.sbtest1")[0][0]) if found != [["0"]] else None

    def lock(self):
        """A session that holds the global read lock until it is killed."""
        return subprocess.Popen(["mariadb", "--no-defaults", f"--socket={self.folder}/socket", "-uroot", "-e",
                                 "FLUSH TABLES WITH READ LOCK; SELECT SLEEP(600)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def sessions(self):
        return len(self.ask("SELECT id FROM information_schema.processlist WHERE user='bench'"))


class Postgres(Server):
    scheme = "postgres"

    def _as(self):
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]

    def _bin(self, name):
        folders = sorted(f"/usr/lib/postgresql/{v}/bin" for v in os.listdir("/usr/lib/postgresql"))
        return _program(f"{folders[-1]}/{name}", name)

    def make(self):
        account = pwd.getpwnam("postgres")
        os.chown(self.folder, account.pw_uid, account.pw_gid)
        with open(f"{self.folder}/password", "w") as f:
            f.write(PASSWORD)
        subprocess.run([*self._as(), self._bin("initdb"), f"--pgdata={self.folder}/data", "--username=bench", "--encoding=UTF8", "--locale=C.UTF-8",
                        "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={self.folder}/password"], check=True, capture_output=True, cwd="/")

    def argv(self):
        return [*self._as(), self._bin("postgres"), "-D", f"{self.folder}/data", "-c", f"port={self.port}", "-c", "listen_addresses=127.0.0.1",
                "-c", f"unix_socket_directories={self.folder}", "-c", "shared_buffers=32MB", "-c", "autovacuum=off",
                "-c", "tcp_keepalives_idle=2", "-c", "tcp_keepalives_interval=1", "-c", "tcp_keepalives_count=5"]

    def ready(self):
        return self.ask("SELECT 1", check=False) == [["1"]]

    def ask(self, sql, check=True, database="postgres"):
        words = ["psql", "-X", "-q", "-A", "-t", "-F\t", "-h", self.folder, "-p", str(self.port), "-U", "bench", "-c", sql, database]
        ended = subprocess.run(words, capture_output=True, text=True, cwd="/")
        if check and ended.returncode != 0:
            raise RuntimeError(ended.stderr)
        return [line.split("\t") for line in ended.stdout.splitlines()]

    def fresh(self, names):
        for name in names:
            self.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
            if self.ask(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):
                self.ask("DROP SCHEMA public CASCADE; CREATE SCHEMA public", database=name)
            else:
                self.ask(f"CREATE DATABASE {name}")

    def settings(self):
        return {row[0]: row[1:] for row in self.ask("SELECT name, reset_val FROM pg_settings")}

    def counters(self):
        time.sleep(0.3)
        total = "SELECT COALESCE(SUM(xact_commit),0), COALESCE(SUM(tup_inserted),0) FROM pg_stat_database WHERE datname LIKE 'db\\_%'"
        commits, inserted = self.ask(total)[0]
        return {"commits": int(commits), "inserted": int(inserted)}

    def rows(self, database):
        found = self.ask("SELECT COUNT(*) FROM pg_class WHERE relname='sbtest1'", database=database)
        return int(self.ask("SELECT COUNT(*) FROM sbtest1", database=database)[0][0]) if found != [["0"]] else None

    def lock(self):
        words = ["psql", "-X", "-h", self.folder, "-p", str(self.port), "-U", "bench", "-c",
                 "BEGIN; LOCK TABLE sbtest1 IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(600)", "db_a"]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    def sessions(self):
        return int(self.ask("SELECT COUNT(*) FROM pg_stat_activity WHERE datname LIKE 'db\\_%' AND pid <> pg_backend_pid()")[0][0])


class Tikv(Server):
    """PD and one store of testing/tikv-server; their data live in memory."""

    scheme = "tikv"

    def make(self):
        pass

    def argv(self):
        return [os.environ["FAULTS_TIKV"], str(self.port), "1"]

    def ready(self):
        return self.port in machine.listeners()

    def fresh(self, names):
        self.kill()
        self.start()

    def settings(self):
        return {}

    def counters(self):
        return {}

    def rows(self, database):
        return None

    def sessions(self):
        return 0


KINDS = {"mariadb": Maria, "postgres": Postgres, "tikv": Tikv}
