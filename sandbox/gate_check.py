"""Compare the modules of this workspace with the SHA-256 hashes in app_map.md.

Prints one line per difference: DRIFT (changed, missing or not a plain file), UNLISTED (no hash in the map).
Exit code: 0 no drift, 1 drift, 2 no hashes to compare with. Usage: python3 gate_check.py [app_map.md [folder]]
"""

import hashlib
import json
import os
import re
import sys
from pathlib import Path

SKIPPED = ("__pycache__", "node_modules", "site-packages")


def main(app_map: str = "app_map.md", folder: str = ".") -> int:
    listed = {}
    if Path(app_map).is_file():
        text = Path(app_map).read_text(encoding="utf-8", errors="surrogateescape")
        for recorded, path in re.findall(r"^([0-9a-f]{16,64})  (.+)$", text, re.MULTILINE):
            listed[json.loads(path) if path.startswith('"') else path] = recorded
    if not listed:
        print("DRIFT " + app_map + ": no hashes to compare with")
        return 2
    drift = 0
    for path, recorded in sorted(listed.items()):
        place = Path(folder, path)
        found = "not a plain, readable file" if os.path.lexists(place) else "missing"
        if place.is_file() and not place.is_symlink() and os.access(place, os.R_OK):
            found = hashlib.sha256(place.read_bytes()).hexdigest()[: len(recorded)]
        if found != recorded:
            drift += 1
            print(f"DRIFT {ascii(path)[1:-1]}: recorded {recorded}, now {found}")
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED)
        for path in (os.path.relpath(Path(parent, name), folder) for name in sorted(names)):
            if path.endswith(".py") and path != "gate_check.py" and path not in listed:
                print("UNLISTED " + ascii(path)[1:-1])
    print(f"{len(listed)} modules compared, {drift} drifted")
    return 1 if drift else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
