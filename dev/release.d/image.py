#!/usr/bin/env python3
"""Writes an image for containers of both architectures as an OCI layout in one tar file: image.py VERSION COMMIT FILE ARCHITECTURE=PROGRAM …

It needs no daemon and nothing but Python's standard library. The image holds the program, a user that is not root, and /work, where a study
is mounted. Certificates are in the program. All times are SOURCE_DATE_EPOCH. Specification: OCI image-spec 1.1.
"""

import datetime
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path

TIME = int(os.environ["SOURCE_DATE_EPOCH"])
CREATED = datetime.datetime.fromtimestamp(TIME, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
OCI_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
TYPE = "application/vnd.oci.image."
# The number that images without a distribution use for their user.
USER = 65532
PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\nperbuck:x:{USER}:{USER}:perbuck:/work:/sbin/nologin\n"
GROUP = f"root:x:0:\nperbuck:x:{USER}:\n"


class Layout:
    """The files of an OCI layout, by name."""

    def __init__(self):
        self.files = {"oci-layout": json_bytes({"imageLayoutVersion": "1.0.0"})}

    def add(self, media_type, data):
        """Adds a blob and returns its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = data
        return {"mediaType": TYPE + media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def tar(self):
        folders = {"blobs/": None, "blobs/sha256/": None}
        return tar_of([(name, data, 0o755 if data is None else 0o644, 0) for name, data in sorted({**self.files, **folders}.items())])


def json_bytes(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def tar_of(entries):
    """A tar file of (name, data, mode, owner); an entry without data is a folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data, mode, owner in entries:
            entry = tarfile.TarInfo(name)
            entry.mode, entry.uid, entry.gid, entry.mtime = mode, owner, owner, TIME
            if data is None:
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            else:
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def layer(program, documents):
    """The root file system."""
    entries = [("etc/", None, 0o755, 0), ("etc/group", GROUP.encode(), 0o644, 0), ("etc/passwd", PASSWD.encode(), 0o644, 0)]
    entries += [("tmp/", None, 0o1777, 0), ("usr/", None, 0o755, 0), ("usr/bin/", None, 0o755, 0), ("usr/bin/perbuck", program, 0o755, 0)]
    entries += [(f"usr/share/{folder}", None, 0o755, 0) for folder in ("", "doc/", "doc/perbuck/")]
    entries += [(f"usr/share/doc/perbuck/{name}", data, 0o644, 0) for name, data in documents]
    return tar_of([*entries, ("work/", None, 0o755, USER)])


def config(architecture, version, commit, uncompressed):
    labels = {"title": "perbuck", "version": version, "revision": commit, "licenses": "Apache-2.0", "created": CREATED}
    return {
        "created": CREATED,
        "architecture": OCI_NAMES[architecture],
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin", "HOME=/work"],
            "Entrypoint": ["/usr/bin/perbuck"],
            "WorkingDir": "/work",
            "Labels": {f"org.opencontainers.image.{key}": value for key, value in labels.items()},
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(uncompressed).hexdigest()]},
        "history": [{"created": CREATED, "created_by": "dev/release"}],
    }


def manifest(layout, architecture, program, version, commit, documents):
    """The descriptor of the image for one architecture."""
    uncompressed = layer(program.read_bytes(), documents)
    described = layout.add("config.v1+json", json_bytes(config(architecture, version, commit, uncompressed)))
    layers = [layout.add("layer.v1.tar+gzip", gzip.compress(uncompressed, 9, mtime=0))]
    body = {"schemaVersion": 2, "mediaType": TYPE + "manifest.v1+json", "config": described, "layers": layers}
    return {**layout.add("manifest.v1+json", json_bytes(body)), "platform": {"architecture": OCI_NAMES[architecture], "os": "linux"}}


def main():
    version, commit, file, *programs = sys.argv[1:]
    documents = [(name, Path(name).read_bytes()) for name in ("LICENSE", "NOTICE")]
    layout, manifests = Layout(), []
    for architecture, program in (word.split("=", 1) for word in programs):
        manifests.append(manifest(layout, architecture, Path(program), version, commit, documents))
    both = layout.add("index.v1+json", json_bytes({"schemaVersion": 2, "mediaType": TYPE + "index.v1+json", "manifests": manifests}))
    both["annotations"] = {"org.opencontainers.image.ref.name": version}
    layout.files["index.json"] = json_bytes({"schemaVersion": 2, "mediaType": TYPE + "index.v1+json", "manifests": [both]})
    Path(file).write_bytes(layout.tar())


main()
