"""No wrong number: records against what the relay and the server counted on their own."""

import base64

# What passes between the relay and perbuck takes time, and the relay is a slow program: only the lower bound is sharp.
SLACK_NS = 200_000


# A session with fewer inserts is one of perbuck's own notes.
OF_A_TRIAL = 5


def acknowledged(trips):
    return [t for t in trips if t.kind in ("execute", "INSERT") and t.ended and not t.failed]


def sessions(trips):
    """The statements of each session, in order."""
    found = {}
    for trip in trips:
        found.setdefault(trip.session, []).append(trip)
    return list(found.values())


def percentile(sorted_ns, q):
    return sorted_ns[min(len(sorted_ns) - 1, max(0, int(len(sorted_ns) * q + 0.999999) - 1))]


def compare(scene, began):
    """Every record of this case, trial by trial, where the script makes one statement a transaction."""
    if scene.shape.get("script", "oltp_insert") != "oltp_insert" or scene.case.phase not in ("prepare", "trial", "between"):
        return
    names = sorted(scene.desk.records(), key=lambda n: scene.desk.record(n)["started_unix_ms"])
    passed = acknowledged(scene.trips)
    of_sessions, total = sessions(passed), 0
    for index, name in enumerate(names):
        record = scene.desk.record(name)
        start = record["started_unix_ms"] / 1000 - 0.02
        following = [scene.desk.record(n)["started_unix_ms"] / 1000 - 0.02 for n in names[index + 1:]]
        end = min([*following, start + record["load"]["duration_ns"] / 1e9 + 12])
        mine = [one for one in of_sessions if start <= one[0].began < end]
        total += one_trial(scene, name, record, [trip for one in mine if len(one) >= OF_A_TRIAL or scene.case.kind != "none" for trip in one])
    scene.case.checked["records against the relay"] = len(names)
    acknowledged_rows(scene, passed, total)


def one_trial(scene, name, record, mine):
    """Compares one record with the statements of its time; returns how many transactions it counts over the whole run."""
    case = scene.case
    measured = record["measured"]["transactions"].get("oltp_insert")
    whole = record["statements_whole_run"]["insert"]
    if measured is None or scene.shape.get("clock") or case.kind == "hostile server":
        return whole
    disturbed = bool(record["errors"]) or record["health"]["connections_lost"] > 0
    # A trial of these times may have been dropped before this one; then more passed than it counts, never fewer.
    counted = len(mine)
    if measured["committed"] > counted:
        case.violation(f"{name} counts {measured['committed']} committed in its window, the relay {counted} in the whole run")
    if not disturbed and case.kind == "none" and whole != counted and counted > 4 * OF_A_TRIAL:
        case.violation(f"{name} counts {whole} inserts over the whole run, the relay {counted}")
    if measured["committed"] > whole:
        case.violation(f"{name} counts {measured['committed']} committed in its window, {whole} over the whole run")
    if disturbed:
        whole = measured["committed"]
    rate = measured["committed"] / (record["measured"]["window_ns"] / 1e9)
    if case.kind == "none" and mine:
        first = min(t.began for t in mine)
        inside = sum(1 for t in mine if t.ended <= first + record["measured"]["window_ns"] / 1e9)
        if abs(inside - measured["committed"]) > 4 + 0.02 * inside:
            case.violation(f"{name}: {measured['committed']} committed ({rate:.0f} TPS), the relay saw {inside} in its window")
        times = sorted(int((t.ended - t.began) * 1e9) for t in mine)
        for key, q in (("p50_ns", 0.5), ("p95_ns", 0.95)):
            said = [i[key] for i in record["intervals"] if i["transactions"] > 20]
            low, high = percentile(times, q - 5 / len(times)) * 0.97 - SLACK_NS, percentile(times, q + 5 / len(times)) * 3 + 20_000_000
            if said and len(record["intervals"]) == 1 and not low <= said[0] <= high:
                case.violation(f"{name}: {key} {said[0]}, the relay measured {percentile(times, q)}")
        if measured["service"]["count"] != measured["committed"] + measured["rolled_back"]:
            case.violation(f"{name}: its histogram holds {measured['service']['count']} times of {measured['committed']} transactions")
        base64.b64decode(measured["service"]["hdr"])
    return whole


def acknowledged_rows(scene, passed, total):
    """What perbuck counts as committed is in the table: none of it may be missing, and nothing beyond what passed may be there."""
    if scene.shape.get("reset", "never") != "never" or scene.case.kind == "hostile server":
        return
    rows = sum(scene.server.rows(f"db_{n}") or 0 for n in "ab")
    loaded = 2 * scene.shape.get("rows", 100)
    scene.case.checked["rows"] = rows
    if rows < loaded + total:
        scene.case.violation(f"{rows} rows are there; {loaded} were loaded and the records count {total} inserts")
    unanswered = sum(1 for t in scene.trips if t.kind == "execute" and not t.ended)
    if scene.case.kind == "none" and rows > loaded + len(passed) + unanswered:
        scene.case.violation(f"{rows} rows are there; {loaded} were loaded and {len(passed)} inserts passed")


def compare_server(scene, before):
    """The server's own counters over the whole case, against the relay's."""
    after = scene.server.counters()
    if scene.case.system == "mariadb":
        executes = after["Com_stmt_execute"] - before["Com_stmt_execute"]
        passed = sum(1 for t in scene.trips if t.kind == "execute")
        if executes != passed:
            scene.case.violation(f"the server executed {executes} prepared statements, {passed} passed the relay")
    elif scene.case.system == "postgres":
        commits, inserts = after["commits"] - before["commits"], sum(1 for t in acknowledged(scene.trips))
        if commits < inserts:
            scene.case.violation(f"the server committed {commits} transactions, {inserts} inserts passed the relay")
    scene.case.checked["server against the relay"] = 1
