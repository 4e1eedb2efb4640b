#!/usr/bin/env python3
"""Packs one program of a release as an archive and as a Debian package: pack.py VERSION ARCHITECTURE PROGRAM REFERENCE FOLDER

REFERENCE has completions/, man/, LICENSE, NOTICE, README.md and CHANGELOG.md. All times are SOURCE_DATE_EPOCH, so that the same program
gives the same bytes. Python's standard library and dpkg-deb.
"""

import email.utils
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

TIME = int(os.environ["SOURCE_DATE_EPOCH"])
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
CONTROL = """\
Package: perbuck
Version: {version}
Architecture: {architecture}
Maintainer: perbuck maintainers <maintainers@perbuck.invalid>
Installed-Size: {kilobytes}
Section: database
Priority: optional
Description: compares databases by their work per dollar
 perbuck runs sysbench, TPC-C or YCSB on real databases, prices their
 machines from a dated list, and prints a verdict with its uncertainty.
 .
 The program is static: it needs no library of the system.
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: perbuck
Comment: NOTICE beside this file has the licences of what is linked.

Files: *
Copyright: 2026 the perbuck maintainers
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
"""
CHANGELOG = """\
perbuck ({version}) unstable; urgency=medium

  * CHANGELOG.md.gz beside this file has the changes.

 -- perbuck maintainers <maintainers@perbuck.invalid>  {date}
"""
# The package is for any release of Debian and Ubuntu, and for machines without the rest of it.
OVERRIDES = "perbuck: statically-linked-binary [usr/bin/perbuck]\n"


def owned_by_root(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mtime = TIME
    return entry


def zipped(data):
    """gzip without a name and a time."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=0) as out:
        out.write(data)
    return packed.getvalue()


def archive(root):
    """A folder as a tar file in the order of names."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in [root, *sorted(root.rglob("*"))]:
            entry = owned_by_root(tar.gettarinfo(path, str(path.relative_to(root.parent))))
            with path.open("rb") if path.is_file() else io.BytesIO() as data:
                tar.addfile(entry, data if path.is_file() else None)
    return packed.getvalue()


def put(path, data, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def tar_gz(name, program, reference, scratch, folder):
    root = scratch / name
    shutil.copytree(reference, root)
    put(root / "perbuck", program.read_bytes(), 0o755)
    (folder / f"{name}.tar.gz").write_bytes(zipped(archive(root)))


def debian(version, architecture, program, reference, scratch, folder):
    root, doc = scratch / "deb", scratch / "deb/usr/share/doc/perbuck"
    put(root / "usr/bin/perbuck", program.read_bytes(), 0o755)
    for page in sorted((reference / "man").iterdir()):
        put(root / f"usr/share/man/man1/{page.name}.gz", zipped(page.read_bytes()))
    share, completions = root / "usr/share", reference / "completions"
    put(share / "bash-completion/completions/perbuck", (completions / "perbuck.bash").read_bytes())
    put(share / "zsh/vendor-completions/_perbuck", (completions / "_perbuck").read_bytes())
    put(share / "fish/vendor_completions.d/perbuck.fish", (completions / "perbuck.fish").read_bytes())
    put(share / "lintian/overrides/perbuck", OVERRIDES.encode())
    put(doc / "copyright", COPYRIGHT.encode())
    put(doc / "NOTICE.gz", zipped((reference / "NOTICE").read_bytes()))
    put(doc / "CHANGELOG.md.gz", zipped((reference / "CHANGELOG.md").read_bytes()))
    put(doc / "changelog.gz", zipped(CHANGELOG.format(version=version, date=email.utils.formatdate(TIME)).encode()))
    kilobytes = sum(f.stat().st_size for f in root.rglob("*") if f.is_file()) // 1024 + 1
    control = CONTROL.format(version=version, architecture=DEBIAN_NAMES[architecture], kilobytes=kilobytes)
    put(root / "DEBIAN/control", control.encode())
    for path in [root, *root.rglob("*")]:
        os.utime(path, (TIME, TIME))
    target = folder / f"perbuck_{version}_{DEBIAN_NAMES[architecture]}.deb"
    # Several threads of xz cut the data into blocks, by the number of processors.
    environment = dict(os.environ, DPKG_DEB_THREADS_MAX="1")
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", "-Zxz", root, target], env=environment, check=True, stdout=subprocess.DEVNULL)


def main():
    version, architecture = sys.argv[1:3]
    program, reference, folder = map(Path, sys.argv[3:6])
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        # A temporary folder is closed to others, and dpkg-deb would refuse to pack one so.
        scratch.chmod(0o755)
        tar_gz(f"perbuck-{version}-{architecture}-linux", program, reference, scratch, folder)
        debian(version, architecture, program, reference, scratch, folder)


main()
