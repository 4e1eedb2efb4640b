"""Writes a table into docs/reliability.md, between the marks of its section."""

import datetime
import re


def write(root, section, rows, seed):
    path = f"{root}/docs/reliability.md"
    with open(path) as f:
        text = f.read()
    body = f"Seed {seed}, {datetime.date.today()}.\n\n{rows}"
    begin, end = f"<!-- {section} -->", f"<!-- end of {section} -->"
    changed, count = re.subn(f"{begin}.*?{end}", lambda _: f"{begin}\n{body}\n{end}", text, flags=re.S)
    if count != 1:
        raise SystemExit(f"faults: {path} has no section between `{begin}` and `{end}`")
    with open(path, "w") as f:
        f.write(changed)
