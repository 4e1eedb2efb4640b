"""Seeded changes of records, pages and studies that a hostile author would make. Python's standard library only."""
import base64, copy, gzip, hashlib, itertools, json, re, struct, zlib

ELEMENT = '<script type="application/json" id="embedded">'
NUMBERS = [0, 1, -1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, 1e308, 0.5, -(2**63), 3600 * 10**9]
MANY = [2, 50, 1_000, 20_000, 100_000]


def paths(value, path=()):
    """Every place of a JSON value."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value[:8]) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from paths(inner, path + (key,))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def put(value, path, new):
    if not path:
        return new
    at(value, path[:-1])[path[-1]] = new
    return value


def chosen(rng, value, wanted):
    """A place whose value is wanted; nothing where there is none."""
    all_paths = [p for p in paths(value) if p and wanted(at(value, p))]
    return rng.choice(all_paths) if all_paths else None


def number(rng, v):
    """A number that is huge, negative or of another kind."""
    path = chosen(rng, v, lambda x: isinstance(x, (int, float)) and not isinstance(x, bool))
    return put(v, path, rng.choice(NUMBERS)) if path else v


def numbers(rng, v):
    """The same number in many places, so that their sums are too large."""
    value = rng.choice(NUMBERS)
    for path in [p for p in paths(v) if p and isinstance(at(v, p), int) and not isinstance(at(v, p), bool)]:
        if path[0] in ("measured", "intervals", "health", "statements_whole_run", "load") and rng.random() < 0.4:
            v = put(v, path, value)
    return v


def kind(rng, v):
    """A value of another type."""
    path = chosen(rng, v, lambda x: True)
    return put(v, path, rng.choice([None, True, "", [], {}, [[]], "x", -1, {"a": []}]))


def nested(rng, v):
    """A value that is nested deeply."""
    depth = rng.choice([100, 127, 128, 1_000, 100_000])
    path = chosen(rng, v, lambda x: True)
    return put(v, path, Raw("[" * depth + "]" * depth if rng.random() < 0.5 else '{"a":' * depth + "1" + "}" * depth))


def longer(rng, v):
    """A list many times as long, or a map of many keys."""
    path = chosen(rng, v, lambda x: isinstance(x, (list, dict)) and len(x) > 0)
    if not path:
        return v
    old, count = at(v, path), rng.choice(MANY)
    if isinstance(old, list):
        return put(v, path, list(itertools.islice(itertools.cycle(old), max(count, len(old)))))
    key, value = next(iter(old.items()))
    count = min(count, 20_000)
    return put(v, path, old | {f"{key}{i}": value for i in range(count)})


def text(rng, v):
    """A long text, or one of odd characters."""
    path = chosen(rng, v, lambda x: isinstance(x, str))
    return put(v, path, rng.choice(["x" * 3_000_000, "\u202e" * 50, "\x1b[2J", "</script>", "../" * 50, "0 " * 500_000, "\u0000"])) if path else v


def hidden_lists(rng, v):
    """Lists whose entries need few bytes in the file and many in memory."""
    count = rng.choice(MANY) * 10
    what = rng.choice(["processors", "gaps", "workers", "audit", "facts", "flags", "rows", "phases"])
    health, measured = v.get("health", {}), v.get("measured", {})
    if what == "processors":
        health["processors"] = {"steps_ms": [1] * rng.choice([0, 1, count]), "processors": Raw("[" + ",".join(["{}"] * count) + "]")}
    elif what == "gaps":
        health["gaps"] = Raw("[" + ",".join(['{"start_ms":0,"length_ms":0}'] * (count // 10)) + "]")
    elif what == "workers":
        health["workers"] = Raw("[" + ",".join(['{"connections":0,"cpu_ns":0,"busiest_phase":0}'] * (count // 10)) + "]")
    elif what == "audit":
        figure = '{"clause":"","what":"","value":0,"unit":"","width":0,"of":0,"judgement":"holds"}'
        v["audit"] = Raw("[" + ",".join([figure] * (count // 20)) + "]")
    elif what == "facts" and measured.get("transactions"):
        next(iter(measured["transactions"].values()))["facts"] = {f"{i:x}": 0 for i in range(min(count, 100_000))}
    elif what == "flags":
        v["flags"] = Raw("[" + ",".join(['{"flag":"gap","total_ms":0}'] * (count // 10)) + "]")
    elif what == "rows" and "workload" in v:
        v["workload"]["rows_before"] = {f"{i:x}": 0 for i in range(min(count, 100_000))}
    elif what == "phases" and "load" in v:
        phase = {"length_ns": 10**9, "load": {"connections": 1}}
        v["load"]["phases"] = [phase] * min(count // 20, 20_000)
        measured["phases"] = [{"phase": phase, "transactions": {}}] * min(count // 20, 20_000)
    return v


def seconds(rng, v):
    """Seconds of a trial that lie far apart or are many."""
    if v.get("intervals"):
        one = v["intervals"][0]
        n = rng.choice([2, 1_000, 50_000])
        step = rng.choice([0, 1, 1000, 2**40, 2**62 // n])
        v["intervals"] = [one | {"start_ms": i * step, "length_ms": rng.choice([0, 1, 1000, 2**63])} for i in range(n)]
    return v


def histogram(rng, v):
    """A histogram with lengths, bounds, indexes or counts that no trial has, or a deflate bomb."""
    path = chosen(rng, v, lambda x: isinstance(x, dict) and "hdr" in x and x["hdr"])
    if not path:
        return v
    held = at(v, path)
    inner = zlib.decompress(base64.b64decode(held["hdr"])[8:])
    cookie, length, offset, digits, low, high, ratio = struct.unpack(">IIIIQQd", inner[:40])
    payload = inner[40:]
    what = rng.choice(["length", "bounds", "digits", "skip", "counts", "bomb", "zeros", "flip", "cookie", "count"])
    if what == "length":
        length = rng.choice([2**32 - 1, 2**31, 0, 10**9, length + 1])
    elif what == "bounds":
        low, high = rng.choice([(1, 2**64 - 1), (2**62, 2**63), (0, 0), (2**63, 2**64 - 1), (1, 2), (1000, 2**63)])
    elif what == "digits":
        digits = rng.choice([0, 5, 6, 255, 256, 2**32 - 1])
    elif what == "skip":
        payload = varint(rng.choice([2**63, 2**32, 35_000, 10**6])) + payload
        length = len(payload)
    elif what == "counts":
        payload = varint(2 * rng.choice([2**62, 2**61, 10**15])) * rng.choice([1, 2, 3, 30_000])
        length = len(payload)
    elif what == "zeros":
        payload, length = b"\0" * 30_000_000, 30_000_000
    elif what == "bomb":
        payload = payload + b"\0" * 200_000_000
        length = rng.choice([length, len(payload)])
    elif what == "count":
        held[rng.choice(["count", "sum_ns", "max_ns"])] = rng.choice([0, 1, 2**63, 2**64 - 1])
    inner = struct.pack(">IIIIQQd", cookie ^ (what == "cookie"), length, offset, digits, low, high, ratio) + payload
    packed = bytearray(zlib.compress(inner, 9))
    if what == "flip":
        packed[rng.randrange(len(packed))] ^= 1 << rng.randrange(8)
    outer = struct.pack(">II", 0x1C849314, rng.choice([len(packed), len(packed), 2**32 - 1, 0]))
    held["hdr"] = base64.b64encode(outer + packed).decode()
    return v


def varint(n):
    """An encoded number of a histogram; odd ones are gaps."""
    out = bytearray()
    for _ in range(8):
        if n < 128:
            break
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n & 255)
    return bytes(out)


CHANGES = [number, number, numbers, numbers, kind, nested, longer, longer, text, hidden_lists, hidden_lists, seconds, histogram, histogram, histogram]


class Raw(str):
    """JSON that is written as it is."""


def written(value, pretty=True):
    """JSON with the raw parts in it; Python's own writer has no depth beyond its stack."""
    # A long part may stand in a list that was made many times as long, and that in another one.
    raw, left_raw, left = [], 16_000_000, 100_000_000

    def marked(v, indent=0):
        nonlocal left_raw, left
        left -= indent + (len(v) if isinstance(v, str) else 8)
        if isinstance(v, Raw):
            left_raw -= len(v)
            if left_raw < 0:
                return None
            raw.append(str(v))
            return f"\ue000{len(raw) - 1}\ue000"
        if isinstance(v, dict):
            left -= sum(map(len, v)) + (indent + 4) * len(v)
            return {k: marked(x, indent + 2) for k, x in v.items() if left > 0}
        return [marked(x, indent + 2) for x in v if left > 0] if isinstance(v, list) else v

    out = json.dumps(marked(value), indent=2 if pretty else None, ensure_ascii=False, separators=None if pretty else (",", ":"))
    out = re.sub('"\ue000([0-9]+)\ue000"', lambda mark: raw[int(mark[1])], out)
    return out + "\n" if pretty else out


def torn(rng, data):
    """Bytes that are cut, flipped, doubled, or hold a long line."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at_byte = rng.randrange(len(data))
        what = rng.choice(["cut", "flip", "double", "digits", "line", "nul"])
        if what == "cut":
            del data[at_byte : at_byte + rng.choice([1, 100, 10_000])]
        elif what == "flip":
            data[at_byte] ^= 1 << rng.randrange(8)
        elif what == "double":
            data[at_byte:at_byte] = data[at_byte : at_byte + rng.choice([1, 100, 10_000])]
        elif what == "digits":
            data[at_byte:at_byte] = b"9" * rng.choice([1, 20, 400])
        elif what == "line" and len(data) < 4_000_000:
            data[at_byte:at_byte] = rng.choice([b" ", b"a", b"[", b"1,", b"<p>"]) * 1_000_000
        else:
            data[at_byte:at_byte] = b"\0"
        if not data:
            data = bytearray(b" ")
    return bytes(data)


def record(rng, v):
    """The bytes of a changed record."""
    if rng.random() < 0.15:
        return torn(rng, written(v).encode())
    v = copy.deepcopy(v)
    for _ in range(rng.choice([1, 1, 2, 4])):
        try:
            v = rng.choice(CHANGES)(rng, v)
        except (LookupError, TypeError, AttributeError, ValueError, zlib.error, struct.error):
            # The change before left nothing that this one could change.
            break
        if not isinstance(v, dict) or any(isinstance(x, Raw) for x in v.values()):
            break
    return written(v).encode(errors="replace")


def study(rng, source):
    """The text of a changed study."""
    big = lambda n: "[" + ", ".join(str(i + 1) for i in range(n)) + "]"
    edits = [
        ("trials = 2", "trials = 1000\ndeployments = 99"), ("trials = 2", "trials = 2\ndeployments = 99"),
        ("connections = [1]", f"connections = {big(rng.choice([100, 5_000, 100_000]))}"), ("[sweep]", "seed = " + "9" * 100_000 + "\n[sweep]"),
        ("[sweep]", "[summary]\nover = " + big(50_000) + "\n[sweep]"), ('name = "small"', f'name = "small"\nquestion = "{"?" * 2_000_000}"'),
        ("[sweep]", "x = " + "[" * 100_000 + "\n[sweep]"), ("[sweep]", "".join(f"k{i} = 1\n" for i in range(50_000)) + "[sweep]"),
        ("[sweep]", "".join(f'[[contender]]\nname = "c{i}"\n' for i in range(5_000)) + "[sweep]"),
        ("[sweep]", "".join(f'[[workload]]\nname = "c{i}"\nkind = "sysbench"\n' for i in range(3_000)) + "[sweep]"),
        ('"1s"', '"9999999999999999999s"'), ("[price]", "[price]\nhorizon_months = 1200"), ("m7g.large\" }", "m7g.large\", count = 1000000 }"),
        ("[sweep]", "[decision]\nslo = { percentile = 99.9999999, at_most = \"1ns\" }\n[sweep]"),
        ("table_size = 1000", "table_size = 9223372036854775807\ntables = 1000000"),
        ("[sweep]", "[[figure]]\nname = \"f\"\nprinted = \"1\"\nformula = \"" + "(" * 50_000 + "1" + ")" * 50_000 + "\"\n[sweep]"),
    ]
    out = source
    for old, new in rng.sample(edits, rng.choice([1, 1, 2])):
        out = out.replace(old, new, 1)
    return out


def checksum(data):
    return hashlib.sha256(data).hexdigest()


def pieces(lines, size=64):
    """Records as a page holds them."""
    zipped = lambda some: base64.b64encode(gzip.compress(b"".join(some), 6, mtime=0)).decode()
    return [zipped(lines[i : i + size]) for i in range(0, len(lines), size)]


def page(rng, source):
    """A changed page, as bytes."""
    before, rest = source.split(ELEMENT, 1)
    embedded, after = rest.split("</script>", 1)
    if rng.random() < 0.1:
        return torn(rng, source.encode())
    data = json.loads(embedded)
    if data["head"]["form"] == 1:
        form_1(rng, data)
    else:
        form_2(rng, data)
    if rng.random() < 0.2:
        after = rng.choice([after * 50, after + "<p>x</p>\n" * 100_000, after + "<p" * 300_000, "", after.replace("\n", "")])
    if rng.random() < 0.1:
        before = rng.choice(["<p>x\n" * 100_000, before * 20, before[::-1], before.replace("<", "<<")])
    return (before + ELEMENT + written(data, False) + "</script>" + after).encode(errors="replace")


def form_2(rng, data):
    records = [json.loads(line) for p in data["records"] for line in gzip.decompress(base64.b64decode(p)).splitlines()]
    what = rng.choice(["records", "records", "records", "study", "study", "bomb", "many", "same", "head", "lists"])
    if what == "records":
        changed = rng.randrange(len(records))
        lines = [record(rng, r).replace(b"\n", b" ") if i == changed else written(r, False).encode() for i, r in enumerate(records)]
        if rng.random() < 0.5:
            try:
                data["sha256"][changed] = checksum((json.dumps(json.loads(lines[changed]), indent=2, ensure_ascii=False) + "\n").encode())
            except (ValueError, RecursionError):
                pass
        data["records"] = pieces([line + b"\n" for line in lines])
    elif what == "study":
        data["head"]["study"]["text"] = study(rng, data["head"]["study"]["text"])
        data["head"]["study"]["sha256"] = checksum(data["head"]["study"]["text"].encode())
    elif what == "bomb":
        # What is unpacked is a thousand times as long.
        fill = rng.choice([b" ", b"\n", b"[", b"0", b"{\"a\":", b"\0"])
        unit = gzip.compress(fill * (50_000_000 // len(fill)), 9, mtime=0)
        data["records"] = [base64.b64encode(unit * rng.choice([1, 10, 40])).decode()]
    elif what == "many":
        line = written(records[0], False).encode() + b"\n"
        count = rng.choice([100, 2_000, 20_000])
        data["sha256"] = data["sha256"][:1] * count
        data["records"] = pieces([line] * count, rng.choice([64, count]))
    elif what == "same":
        count = rng.choice([50, 3_000])
        data["records"], data["sha256"] = data["records"][:1] * count, data["sha256"] * count
    elif what == "head":
        v = {"head": data["head"]}
        data["head"] = rng.choice([number, kind, nested, longer, text])(rng, v).get("head", {})
    else:
        name = rng.choice(["sha256", "records"])
        data[name] = Raw("[" + ",".join(['""'] * (rng.choice(MANY) * 10)) + "]")


def form_1(rng, data):
    what = rng.choice(["seconds", "pool", "rows", "columns", "value", "study"])
    if what == "seconds":
        index = [i for i, p in enumerate(data["pool"]) if isinstance(p, dict) and "n" in p]
        columns = {"n": rng.choice([10**6, 366 * 86_400, 2**64 - 1]), **{k: 0 for k in (
            "start_ms", "length_ms", "transactions", "statements", "errors", "p50_ns", "p95_ns", "p99_ns", "max_ns")}}
        if index and rng.random() < 0.5:
            data["pool"][index[0]] = columns
        elif "intervals" in data["own"]:
            at_own = len(data["shared"]) + data["own"].index("intervals")
            for row in data["trials"]:
                row[at_own] = columns
        data["trials"] = data["trials"] * rng.choice([1, 10])
    elif what == "pool":
        big = rng.choice([[0] * 300_000, {f"{i:x}": 0 for i in range(50_000)}, "x" * 1_000_000])
        data["pool"][rng.randrange(len(data["pool"]))] = big
        data["trials"] = data["trials"] * rng.choice([10, 1_000])
    elif what == "rows":
        data["trials"] = Raw("[" + ",".join(rng.choice(["[]", "[0]"]) for _ in range(300_000)) + "]")
    elif what == "columns":
        data[rng.choice(["own", "shared"])] += ["a.b"] * rng.choice(MANY)
    elif what == "value":
        v = rng.choice([number, kind, nested, longer, text])(rng, {"data": data}).get("data")
        if isinstance(v, dict):
            data.update(v)
    else:
        data["head"]["study"]["text"] = study(rng, data["head"]["study"]["text"])


def largest_studies():
    """Studies with as much as a study may have, by name."""
    head = 'schema = 1\nname = "s"\n'
    contender = lambda i, more="": f'[[contender]]\nname = "c{i}"\ntarget = "sqlite:c{i}.db"\n{more}'
    workload = lambda i, more="": f'[[workload]]\nname = "w{i}"\nkind = "sysbench"\ndatabase = "d{i}"\n{more}'
    numbers = lambda n: "[" + ",".join(str(i + 1) for i in range(n)) + "]"
    one = contender(0) + workload(0)
    fill = lambda unit, size: "".join(unit(i) for i in range(size // len(unit(10_000)) + 1))
    yield "trials", head + one + contender(1) + "[sweep]\ntrials = 1000\ndeployments = 99\nconnections = [1, 2]\n"
    for points in (100, 1_000, 100_000, 1_000_000):
        yield f"{points} points", head + one + f"[sweep]\ntrials = 1000\ndeployments = 99\nconnections = {numbers(points)}\n"
        yield f"{points} rates", head + one + f"[sweep]\nconnections = [1]\nrate = {numbers(points)}\n"
    yield "phases", head + one + "[sweep]\nphases = [" + ", ".join(['{ time = "1s", connections = 1 }'] * 20_000) + "]\n"
    # As much as is allowed, and beyond that.
    yield "a million trials", head + one + f"[sweep]\ntrials = 1000\nconnections = {numbers(1000)}\n"
    yield "a thousand phases", head + one + "[sweep]\nphases = [" + ", ".join(['{ time = "1s", connections = 1 }'] * 1000) + "]\n"
    yield "members", head + "".join(map(contender, range(500))) + "".join(map(workload, range(500))) + "[sweep]\nconnections = [1, 2, 3, 4]\ntrials = 1\n"
    for size in (8_000_000, 300_000_000):
        yield f"a line of {size}", head + 'question = "' + "x" * size + '"\n' + one
    for size in (395_000, 2_000_000, 60_000_000):
        yield f"a list of {size}", head + f"x = [{'1,' * (size // 2)}]\n" + one
    for size in (500_000, 1_000_000, 1_800_000, 20_000_000):
        yield f"contenders of {size}", head + fill(contender, size) + workload(0)
        yield f"workloads of {size}", head + contender(0) + fill(workload, size)
        yield f"keys of {size}", head + one + "".join(f"k{i} = 1\n" for i in range(size // 12))
        nodes = ", ".join(['{ role = "r", instance = "m7g.large" }'] * (size // 40))
        yield f"nodes of {size}", head + contender(0, f"node = [{nodes}]\n") + workload(0) + '[price]\nsnapshot = "aws-2026-07"\nregions = ["us-east-1"]\n'
        rows = "".join(f'[[results.table]]\nworkload = "w0"\ncontender = "c0"\nconnections = [{i + 1}]\ntps = [1]\n' for i in range(size // 80))
        yield f"results of {size}", head + one + "[results]\n" + rows
        yield f"figures of {size}", head + one + "[results]\n" + "".join(
            f'[[figure]]\nname = "f{i}"\nprinted = "1"\nformula = "[f{i + 1}] + 1"\n' for i in range(size // 60))
    yield "tables", head + contender(0) + workload(0, "tables = 1000000\ntable_size = 9223372036854775807\n") + "[sweep]\nconnections = [1000000]\n"
    yield "regions", head + one + '[price]\nsnapshot = "aws-2026-07"\nregions = [' + '"us-east-1",' * 50_000 + "]\n"
