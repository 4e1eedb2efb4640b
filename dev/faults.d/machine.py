"""What one worker of the campaign stands on: namespaces of its own, its orphans, its processes and ports."""

import ctypes
import os
import resource
import signal
import socket
import subprocess
import time

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
RELAY_MARK = 77
LIBC = ctypes.CDLL(None, use_errno=True)


def _call(what, result):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def isolate():
    """A network with nothing but loopback, mounts of its own, and every orphan of our children becomes our child."""
    _call("prctl", LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    _call("prctl", LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0))
    _call("unshare", LIBC.unshare(CLONE_NEWNS | CLONE_NEWNET))
    _call("mount", LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    # A shell starts its background jobs deaf to Ctrl-C, and perbuck would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A command that asks for everything must not take the machine with it.
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def children(pid=None):
    """The processes whose parent is `pid`, or this process."""
    me, found = pid or os.getpid(), []
    for task in os.listdir(f"/proc/{me}/task"):
        try:
            with open(f"/proc/{me}/task/{task}/children") as f:
                found += [int(word) for word in f.read().split()]
        except OSError:
            pass
    return found


def descendants(pid):
    found, left = [], [pid]
    while left:
        try:
            below = children(left.pop())
        except OSError:
            continue
        found += below
        left += below
    return found


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def strangers(known):
    """Living children that nobody here started on purpose; dead ones are reaped on the way."""
    living = []
    for pid in children():
        if pid in known:
            continue
        if is_dead(pid):
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        else:
            living.append(pid)
    return living


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def listeners():
    """TCP ports that someone listens on in this network."""
    found = set()
    for name in ("tcp", "tcp6"):
        with open(f"/proc/self/net/{name}") as f:
            for line in f.readlines()[1:]:
                words = line.split()
                if words[3] == "0A":
                    found.add(int(words[1].rsplit(":", 1)[1], 16))
    return found


def ports_of(pid):
    """TCP ports that a process listens on."""
    sockets = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            pass
    with open("/proc/self/net/tcp") as f:
        rows = [line.split() for line in f.readlines()[1:]]
    return {int(row[1].rsplit(":", 1)[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


def wait_until(limit, what):
    """Polls until `what()` is true; returns whether it became so within the limit in seconds."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.005)
    return False


class Filter:
    """nftables rules of this worker's network."""

    def __init__(self):
        self._nft("add table inet faults; add chain inet faults in { type filter hook input priority 0 ; }")

    def _nft(self, text):
        subprocess.run(["nft", text], check=True, capture_output=True)

    def partition(self, port):
        self._nft(f"add rule inet faults in tcp dport {port} drop; add rule inet faults in tcp sport {port} drop")

    def loss(self, port, percent):
        for side in ("dport", "sport"):
            self._nft(f"add rule inet faults in tcp {side} {port} numgen random mod 100 < {percent} drop")

    def reset(self, port):
        self._nft(f"add rule inet faults in tcp dport {port} reject with tcp reset")

    def heal(self):
        self._nft("flush chain inet faults in")

    def redirect(self, ports):
        """Connections to one port arrive at another, but for those of a relay itself, which carry its mark."""
        self._nft("add table ip moved; add chain ip moved out { type nat hook output priority -100 ; }; flush chain ip moved out")
        for port, to in ports.items():
            self._nft(f"add rule ip moved out tcp dport {port} meta mark != {RELAY_MARK} redirect to :{to}")


def mount_small(folder, kilobytes):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,nr_inodes=500", "faults", folder], check=True)


def remount(folder, option):
    return subprocess.run(["mount", "-o", f"remount,{option}", folder], capture_output=True).returncode == 0


def unmount(folder):
    subprocess.run(["umount", "-l", folder], capture_output=True)
