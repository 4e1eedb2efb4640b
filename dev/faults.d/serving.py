"""Faults of `perbuck serve`: clients that are slow, many or rude, files that change below it, descriptors that run out."""

import os
import re
import signal
import socket
import time

import machine
import mutate

ANSWER_SECONDS = 5


def arrange(scene):
    rng, desk, case = scene.rng, scene.desk, scene.case
    scene.way = rng.choice(["kill", "Ctrl-C", "TERM", "stop", "slow clients", "rude clients", "half requests", "mutated files", "few descriptors"])
    case.detail = scene.way
    if scene.way == "few descriptors":
        scene.before = ["prlimit", f"--nofile={rng.choice([12, 20])}"]
    if scene.way == "mutated files":
        case.detail += ": " + mutate.one_of(scene, mutate.results_files(desk))


def get(port, path="/", timeout=ANSWER_SECONDS):
    """The status of an answer, or nothing."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            s.settimeout(timeout)
            data = b""
            while chunk := s.recv(65536):
                data += chunk
                if len(data) > 50_000_000:
                    break
            found = re.match(rb"HTTP/1\.[01] (\d+)", data)
            return int(found[1]) if found else None
    except OSError:
        return None


def port_of(scene, process):
    out = process.faults[1]

    def said():
        with open(out) as f:
            return re.search(r"127\.0\.0\.1:(\d+)", f.read())

    machine.wait_until(5, lambda: said() or machine.is_dead(process.pid))
    found = said()
    return int(found[1]) if found else None


def strike(scene, process):
    port, way, rng = port_of(scene, process), scene.way, scene.rng
    if port is None:
        scene.case.reached = way == "few descriptors"
        return end(scene, process)
    pages = ["/", "/report?study=s", "/live?study=s", "/study?study=s", "/nothing", "/report?study=../s"]
    opened = []
    if way == "slow clients":
        for _ in range(rng.choice([20, 100])):
            s = socket.create_connection(("127.0.0.1", port))
            s.sendall(b"GET / HT")
            opened.append(s)
    elif way in ("rude clients", "half requests"):
        for _ in range(30):
            s = socket.create_connection(("127.0.0.1", port))
            junk = rng.randbytes(rng.choice([1, 100, 70000])) if way == "rude clients" else f"GET {rng.choice(pages)} HTTP/1.1\r\nHost: ".encode()
            try:
                s.sendall(junk)
            except OSError:
                pass
            s.close() if rng.random() < 0.7 else opened.append(s)
    elif way == "few descriptors":
        for _ in range(40):
            s = socket.socket()
            s.settimeout(0.2)
            try:
                s.connect(("127.0.0.1", port))
            except OSError:
                pass
            opened.append(s)
        time.sleep(0.5)
        spins(scene, process)
        for s in opened:
            s.close()
    elif way == "stop":
        machine.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.3)
        machine.kill(process.pid, signal.SIGCONT)
    if way in ("kill", "Ctrl-C", "TERM"):
        machine.kill(process.pid, {"kill": signal.SIGKILL, "Ctrl-C": signal.SIGINT, "TERM": signal.SIGTERM}[way])
        return
    began = time.monotonic()
    for page in pages[:3]:
        status = get(port, page)
        if status is None:
            scene.case.violation(f"{way}: no answer to a healthy GET {page} within {ANSWER_SECONDS} s")
            break
    scene.case.checked["answered"] = round(time.monotonic() - began, 2)
    for s in opened:
        s.close()
    end(scene, process)


def spins(scene, process):
    """Out of descriptors it waits; it does not burn a processor."""
    def ticks():
        with open(f"/proc/{process.pid}/stat") as f:
            words = f.read().rsplit(")", 1)[1].split()
            return int(words[11]) + int(words[12])

    before = ticks()
    time.sleep(0.5)
    used = (ticks() - before) / os.sysconf("SC_CLK_TCK")
    if used > 0.3:
        scene.case.violation(f"without a free descriptor it used {used:.2f} s of CPU in 0.5 s")


def end(scene, process):
    machine.kill(process.pid, signal.SIGINT)
    if not machine.wait_until(3, lambda: machine.is_dead(process.pid)):
        scene.case.violation("Ctrl-C did not end serve within 3 s")
        scene.end_by_force(process)
