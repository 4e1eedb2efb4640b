"""A relay between perbuck and a server: it counts on its own what passes, and delays, resets or spoils it where a fault asks for that."""

import random
import selectors
import socket
import struct
import threading
import time

import machine

NOTHING = ("none", 0)


class Trip:
    """One statement: when it passed, when the last byte of its answer passed, and whether it was an error."""

    __slots__ = ("began", "ended", "kind", "failed", "session")

    def __init__(self, began, kind, session):
        self.began, self.ended, self.kind, self.failed, self.session = began, None, kind, False, session


class MysqlCounter:
    """Finds the statements of a MySQL conversation: a packet of sequence 0 from the client is a command."""

    def __init__(self, trips):
        self.trips, self.buffer, self.open, self.skip = trips, b"", None, 0

    def client(self, data, now):
        self.buffer += data
        while True:
            if self.skip:
                cut = min(self.skip, len(self.buffer))
                self.buffer, self.skip = self.buffer[cut:], self.skip - cut
            if len(self.buffer) < 5:
                return
            length = int.from_bytes(self.buffer[:3], "little")
            if self.buffer[3] == 0:
                kind = {0x17: "execute", 0x03: "query"}.get(self.buffer[4])
                self.open = Trip(now, kind, id(self)) if kind else None
                if self.open:
                    self.trips.append(self.open)
            self.skip = 4 + length

    def server(self, data, now):
        trip = self.open
        if trip:
            if trip.ended is None and len(data) > 4 and data[4] == 0xFF:
                trip.failed = True
            trip.ended = now


class PostgresCounter:
    """Finds the round trips of a PostgreSQL conversation: each ends with ReadyForQuery; a CommandComplete says what was done."""

    def __init__(self, trips):
        self.trips, self.buffer, self.began, self.tags, self.failed = trips, b"", None, [], False

    def client(self, data, now):
        if self.began is None:
            self.began = now

    def server(self, data, now):
        self.buffer += data
        while len(self.buffer) >= 5:
            kind, length = self.buffer[:1], struct.unpack(">I", self.buffer[1:5])[0]
            if len(self.buffer) < 1 + length:
                return
            body, self.buffer = self.buffer[5:1 + length], self.buffer[1 + length:]
            if kind == b"C":
                self.tags.append(body.split(b" ")[0].rstrip(b"\0").decode(errors="replace"))
            elif kind == b"E":
                self.failed = True
            elif kind == b"Z":
                trip = Trip(self.began or now, self.tags[-1] if self.tags else "none", id(self))
                trip.ended, trip.failed = now, self.failed
                self.trips.append(trip)
                self.began, self.tags, self.failed = None, [], False


class NoCounter:
    def __init__(self, trips):
        pass

    def client(self, data, now):
        pass

    def server(self, data, now):
        pass


COUNTERS = {"mysql": MysqlCounter, "postgres": PostgresCounter, "tikv": NoCounter}


def spoil(data, rng):
    """The bytes of an answer, wrong in one of the ways in which bytes can be wrong."""
    data = bytearray(data)
    at = rng.randrange(len(data)) if data else 0
    how = rng.choice(["flip", "zero", "ones", "cut", "double", "length", "noise", "drop", "swap", "long"])
    if how == "flip":
        for _ in range(rng.choice([1, 1, 2, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == "zero":
        data[at:at + rng.choice([1, 4, 16])] = bytes(min(4, len(data) - at))
    elif how == "ones":
        data[at:at + 4] = b"\xff" * min(4, len(data) - at)
    elif how == "cut":
        del data[at:]
    elif how == "double":
        data = data[:at] + data
    elif how == "length":
        data[:3] = rng.choice([b"\xff\xff\xff", b"\0\0\0", bytes([data[0] ^ 1, 0, 0])])
    elif how == "noise":
        data[at:at] = rng.randbytes(rng.choice([1, 7, 300]))
    elif how == "drop":
        del data[at:at + rng.choice([1, 3, 9])]
    elif how == "swap":
        half = len(data) // 2
        data = data[half:] + data[:half]
    else:
        data += rng.randbytes(70000)
    return bytes(data)


def refused(counter, data, rng):
    """The answer to an insert, made into a deadlock that the client may try again; nothing where it is another answer."""
    trip = counter.open if isinstance(counter, MysqlCounter) else None
    if trip and trip.kind == "execute" and len(data) > 5 and data[4] == 0 and int.from_bytes(data[:3], "little") + 4 == len(data) and rng.random() < 0.1:
        trip.failed = True
        body = b"\xff\xbd\x04#40001Deadlock found when trying to get lock; try restarting transaction"
        return len(body).to_bytes(3, "little") + data[3:4] + body
    return None


class Relay:
    """Listens on a port of its own and relays to the server's, in one thread."""

    def __init__(self, scheme, server_port):
        self.scheme, self.server_port = scheme, server_port
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.trips, self.fault, self.rng, self.hits = [], NOTHING, random.Random(0), 0
        self.chunks, self.pairs, self.closing = 0, {}, False
        self.held, self.counters = [], []
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def set(self, fault, rng=None):
        """`(name, number)`: delay of seconds; reset every number-th chunk; spoil the chunk of that number; stall; none."""
        if fault != NOTHING:
            self.chunks, self.hits = 0, 0
        self.fault = fault
        self.rng = rng or self.rng

    def take(self):
        """The statements counted since the last call."""
        taken, self.trips[:] = list(self.trips), []
        return taken

    def ports(self):
        return {self.port}

    def close(self):
        self.closing = True
        self.thread.join(5)
        for one in list(self.pairs):
            one.close()
        self.listener.close()

    def _serve(self):
        while not self.closing:
            for key, _ in self.selector.select(0.002 if self.held else 0.05):
                try:
                    self._accept() if key.fileobj is self.listener else self._move(key.fileobj)
                except OSError:
                    self._drop(key.fileobj)
            self._release()

    def _accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.socket()
            server.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, machine.RELAY_MARK)
            server.settimeout(2)
            server.connect(("127.0.0.1", self.server_port))
        except OSError:
            client.close()
            server.close()
            return
        counter = COUNTERS[self.scheme](self.trips)
        self.counters.append(counter)
        for one, other, role in ((client, server, "client"), (server, client, "server")):
            one.settimeout(5)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # As the servers do: an idle client that the filter cut off without a word is noticed by asking.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in ((socket.TCP_KEEPIDLE, 2), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 5)):
                one.setsockopt(socket.IPPROTO_TCP, option, value)
            self.pairs[one] = (other, role, counter)
            self.selector.register(one, selectors.EVENT_READ)

    def _drop(self, one, reset=False):
        other = self.pairs.get(one, (None,))[0]
        for end in (one, other):
            if end in self.pairs:
                del self.pairs[end]
                self.selector.unregister(end)
                if reset:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.close()

    def _move(self, one):
        if one not in self.pairs:
            return
        other, role, counter = self.pairs[one]
        data = one.recv(262144)
        if not data:
            return self._drop(one)
        getattr(counter, role)(data, time.time())
        name, number = self.fault
        if role == "server" and name != "none":
            self.chunks += 1
            if name == "reset" and self.chunks % number == 0:
                self.hits += 1
                return self._drop(one, reset=True)
            if name == "spoil" and self.chunks % number == 0 and self.hits < 3:
                self.hits += 1
                data = spoil(data, self.rng)
            elif name == "refuse" and (other_answer := refused(counter, data, self.rng)):
                self.hits += 1
                data = other_answer
            elif name in ("delay", "stall"):
                self.hits += 1
                wait = number if name == "delay" else 3600
                self.held.append((time.monotonic() + wait, other, data))
                return
        other.sendall(data)

    def _release(self):
        now, later = time.monotonic(), []
        for due, other, data in self.held:
            if due > now and self.fault[0] != "none":
                later.append((due, other, data))
            else:
                try:
                    other.sendall(data)
                except OSError:
                    self._drop(other)
        self.held = later


class Relays:
    """One relay for each port of a cluster, which tells its clients ports of its own: the network leads them here."""

    def __init__(self, scheme, ports, network):
        self.all = [Relay(scheme, port) for port in ports]
        self.network, self.port = network, None
        network.redirect({one.server_port: one.port for one in self.all})

    @property
    def hits(self):
        return sum(one.hits for one in self.all)

    def set(self, fault, rng=None):
        for one in self.all:
            one.set(fault, rng)

    def take(self):
        return []

    def close(self):
        self.network.redirect({})
        for one in self.all:
            one.close()

    def ports(self):
        return {one.port for one in self.all}
