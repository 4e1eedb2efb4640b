#!/usr/bin/env python3
"""Writes what a program of a release is linked from, as CycloneDX 1.5 in JSON: components.py VERSION ARCHITECTURE FILE

The list is that of `cargo tree`, as in dev/notice: the crates that are linked for this target with these features, and no others. cargo-cyclonedx
was tried; it asks `cargo metadata`, so it also names macros and crates of features that are off, and it writes this machine's folders.
"""

import datetime
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What is linked and is no crate: SQLite is C code inside of one, the libraries come with compiler and linker.
SQLITE_CRATE = "libsqlite3-sys"


def cargo(*words):
    return subprocess.run(["cargo", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def tree(target):
    """What each crate that is linked depends on, by (name, version). A crate that came before ends in `(*)` and has no lines of its own."""
    found, path = {}, []
    words = ["tree", "--locked", "--package=perbuck", "--edges=normal,no-proc-macro", f"--target={target}", "--prefix=depth", "--format= {p}"]
    for line in cargo(*words).splitlines():
        depth, name, version = line.split()[:3]
        crate = (name, version.removeprefix("v"))
        del path[int(depth):]
        found.setdefault(crate, set())
        if path:
            found[path[-1]].add(crate)
        path.append(crate)
    return found


def reference(crate):
    return f"pkg:cargo/{crate[0]}@{crate[1]}"


def licence(text):
    """Old crates write `/` for OR."""
    return re.sub(r"\s*/\s*", " OR ", text)


def component(crate, package, checksum):
    found = {"type": "library", "bom-ref": reference(crate), "name": crate[0], "version": crate[1], "purl": reference(crate)}
    found["licenses"] = [{"expression": licence(package["license"])}]
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        found["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return found


def generic(name, licence, version):
    purl = f"pkg:generic/{name}@{version}" if version else f"pkg:generic/{name}"
    found = {"type": "library", "bom-ref": purl, "name": name, "purl": purl, "licenses": [licence]}
    return {**found, "version": version} if version else found


def sqlite(crates):
    """SQLite's version is that of the header of the crate's own copy."""
    folder = next(Path(p["manifest_path"]).parent for c, p in crates.items() if c[0] == SQLITE_CRATE)
    version = re.search(r'#define SQLITE_VERSION\s+"([\d.]+)"', (folder / "sqlite3/sqlite3.h").read_text()).group(1)
    return generic("sqlite", {"license": {"name": "public domain"}}, version)


def libraries():
    """Rust's standard library, and the C library of the linker, which does not say its version."""
    rust = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    return [generic("rust-std", {"expression": "MIT OR Apache-2.0"}, rust), generic("musl", {"expression": "MIT"}, None)]


def main():
    version, architecture, file = sys.argv[1:]
    target = f"{architecture}-unknown-linux-musl"
    edges, root = tree(target), ("perbuck", version)
    packages = json.loads(cargo("metadata", "--locked", "--format-version=1"))["packages"]
    packages = {(p["name"], p["version"]): p for p in packages if (p["name"], p["version"]) in edges}
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
    components = [component(crate, packages[crate], checksums[crate]) for crate in sorted(edges) if crate != root]
    graph = {reference(crate): sorted(map(reference, uses)) for crate, uses in edges.items()}
    embedded, linked = sqlite(packages), libraries()
    graph[next(name for name in graph if f"/{SQLITE_CRATE}@" in name)].append(embedded["bom-ref"])
    graph[reference(root)] += [library["bom-ref"] for library in linked]
    graph.update({library["bom-ref"]: [] for library in [embedded, *linked]})
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    program = {"type": "application", "bom-ref": reference(root), "name": "perbuck", "version": version, "purl": reference(root)}
    listed = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {**program, "licenses": [{"expression": "Apache-2.0"}]},
            "properties": [{"name": "cdx:rustc:sbom:target:triple", "value": target}],
        },
        "components": [*components, embedded, *linked],
        "dependencies": [{"ref": name, "dependsOn": uses} for name, uses in sorted(graph.items())],
    }
    Path(file).write_text(json.dumps(listed, indent=1) + "\n")


main()
