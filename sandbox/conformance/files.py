"""Workspaces go in and come out as they are, whatever an agent does to them."""

from __future__ import annotations

import hashlib
import io
from typing import Final

from ..caps import Caps
from ..limits import MIB
from ..tree import TreeItem, decode_path
from .kit import Bench, Check, describe, require

_ODD: Final = (
    b"caf\xe9",
    b"\xff\xfe",
    b"a\nb",
    b"-rf",
    b" ",
    b"...",
    b"\x1b[31m",
    b"%s$HOME`id`",
    b"x" * 255,
    b"\\",
    b"'\"",
)


def _utf8(bench: Bench) -> str:
    files = {"utf8/naïve/名前.txt": "Größe 漢字 🎉\n".encode(), "utf8/é.py": b"# \xc3\xa9\n"}
    bench.load(files)
    seen = bench.sh("cat utf8/*/* utf8/*.py; printf 'ж' > utf8/новый")
    snapshot, _ = bench.export()
    back = bench.contents(snapshot, "utf8")
    require(seen.stdout == b"".join(files.values()), describe(seen))
    return require(back == {**files, "utf8/новый": "ж".encode()}, f"came back: {sorted(back)}")


def _binary(bench: Bench) -> str:
    files = {
        "bin/all": bytes(range(256)) * 3,
        "bin/crlf": b"a\r\nb\rc\n\r",
        "bin/no-newline": b"last line",
        "bin/empty": b"",
        "bin/nul": bytes(5000),
    }
    bench.load(files)
    seen = bench.sh("sha256sum bin/all | cut -d' ' -f1")
    snapshot, _ = bench.export()
    require(seen.stdout.decode().strip() == hashlib.sha256(files["bin/all"]).hexdigest(), describe(seen))
    return require(bench.contents(snapshot, "bin") == files, f"{len(files)} files byte for byte")


def _large(bench: Bench) -> str:
    data = hashlib.shake_256(b"large").digest(MIB) * 50
    bench.sandbox.load([(TreeItem("large.bin", "f", 0o644, len(data)), io.BytesIO(data))])
    seen = bench.sh("sha256sum < large.bin")
    snapshot, _ = bench.export()
    bench.sh("rm large.bin")
    digest = hashlib.sha256(data).hexdigest()
    require(seen.stdout.split()[:1] == [digest.encode()], describe(seen))
    return require(snapshot.manifest["large.bin"].sha256 == digest, "50 MiB in and out, same SHA-256")


def _modes(bench: Bench) -> str:
    wanted = {f"modes/{mode:03o}": mode for mode in (0o000, 0o400, 0o444, 0o600, 0o644, 0o755, 0o777)}
    items = [(TreeItem("modes", "d", 0o755), b"")]
    items += [(TreeItem(path, "f", mode, 1), b"x") for path, mode in wanted.items()]
    bench.sandbox.load(items)
    made = bench.sh("cd modes && touch made && chmod 7751 made && mkdir -m 0700 dir && stat -c '%a' 444 755")
    snapshot, _ = bench.export()
    got = {path: item.mode for path, item in snapshot.manifest.items() if path.startswith("modes/")}
    require(made.stdout == b"444\n755\n", describe(made))
    return require(got == {**wanted, "modes/made": 0o751, "modes/dir": 0o700}, " ".join(f"{m:o}" for m in got.values()))


def _unreadable(bench: Bench) -> str:
    made = bench.sh("mkdir -p shut/d && echo secret > shut/d/f && chmod 000 shut/d/f shut/d shut")
    snapshot, export = bench.export()
    bench.sh("chmod 700 shut; chmod 700 shut/d; rm -r shut")
    item = snapshot.manifest.get("shut/d/f")
    require(made.ok, describe(made))
    return require(item is not None and item.size == 7 and export.complete, f"mode 000 below mode 000: {item}")


def _symlinks(bench: Bench) -> str:
    links = {
        "links/abs": "/etc/shadow",
        "links/gone": "nowhere",
        "links/loop": "loop",
        "links/up": "../../..",
        "links/dir": ".",
    }
    bench.sandbox.load(
        [
            (TreeItem("links", "d", 0o755), b""),
            *((TreeItem(p, "l", 0o777, target=links[p]), b"") for p in sorted(links)),
        ]
    )
    made = bench.sh("ln -s /proc/1/root links/made && readlink links/abs links/loop")
    snapshot, _ = bench.export()
    got = {path: item.target for path, item in snapshot.manifest.items() if path.startswith("links/")}
    require(made.stdout == b"/etc/shadow\nloop\n", describe(made))
    return require(got == {**links, "links/made": "/proc/1/root"}, f"kept as links, none followed: {len(got)}")


def _odd_names(bench: Bench) -> str:
    files = {decode_path(b"odd/" + name): name for name in _ODD}
    bench.load(files)
    renamed = bench.python(
        "for name in os.listdir(b'odd'): os.rename(b'odd/' + name, b'odd/' + name[:254] + b'+')\nsay(len(os.listdir(b'odd')))"
    )
    snapshot, export = bench.export()
    back = bench.contents(snapshot, "odd")
    wanted = {decode_path(b"odd/" + name[:254] + b"+"): name for name in _ODD}
    require(renamed == len(_ODD) and export.complete, f"{renamed} names arrived")
    return require(back == wanted, f"{len(back)} of {len(_ODD)} came back")


def _empty_directories(bench: Bench) -> str:
    bench.sandbox.load([(TreeItem("empty", "d", 0o755), b""), (TreeItem("empty/in", "d", 0o755), b"")])
    bench.sh("mkdir -p empty/out/deep")
    snapshot, _ = bench.export()
    got = sorted(path for path in snapshot.manifest if path.startswith("empty/"))
    return require(got == ["empty/in", "empty/out", "empty/out/deep"], " ".join(got))


def _special_files(bench: Bench) -> str:
    made = bench.python(
        "os.makedirs('special'); os.mkfifo('special/fifo'); os.chdir('special')\n"
        "socket.socket(socket.AF_UNIX).bind('socket'); say(sorted(os.listdir('.')))"
    )
    snapshot, export = bench.export()
    bench.sh("rm -r special")
    omitted = {(entry.path, entry.reason) for entry in export.omitted}
    kept = [path for path in snapshot.manifest if path.startswith("special/")]
    require(made == ["fifo", "socket"] and not kept, f"made {made}, kept {kept}")
    return require({("special/fifo", "fifo"), ("special/socket", "socket")} <= omitted, f"left out: {sorted(omitted)}")


def _sparse(bench: Bench) -> str:
    made = bench.sh(
        "ulimit -f unlimited 2>/dev/null; truncate -s 300M sparse || python3 -c \"open('sparse','w').truncate(300<<20)\""
    )
    snapshot, export = bench.export(caps=Caps(max_bytes=200 * MIB))
    bench.sh("rm sparse")
    require(made.ok, describe(made))
    named = ("sparse", "bytes") in {(entry.path, entry.reason) for entry in export.omitted}
    return require(
        named and "sparse" not in snapshot.manifest and not export.complete,
        "a file beyond the cap is left out and named",
    )


def _deep(bench: Bench) -> str:
    made = bench.python("for n in range(1500): os.mkdir('deep'); os.chdir('deep')\nsay(1)")
    _, export = bench.export(caps=Caps(max_depth=50))
    removed = bench.sh("rm -rf deep")
    require(made == 1 and removed.ok, describe(removed))
    reasons = {entry.reason for entry in export.omitted if entry.path.startswith("deep/")}
    return require(reasons == {"depth"} and not export.complete, f"1,500 directories deep: left out for {reasons}")


def _hard_links(bench: Bench) -> str:
    bench.sh("mkdir hard; echo one > hard/a; ln hard/a hard/b")
    snapshot, _ = bench.export()
    back = bench.contents(snapshot, "hard")
    return require(back == {"hard/a": b"one\n", "hard/b": b"one\n"}, f"each name a file: {sorted(back)}")


def _git(bench: Bench) -> str:
    script = (
        "git init -q repo && cd repo && git config user.name a && git config user.email a@example.com &&"
        " echo 1 > f && git add f && git commit -qm one && git status --porcelain && git log --format=%s"
    )
    made = bench.sh(script)
    snapshot, _ = bench.export()
    with bench.fresh() as other:
        other.load(bench.store.open(snapshot.sha256))
        seen = bench.sh("git -C repo log --format=%s && git -C repo status --porcelain && git -C repo fsck", other)
    require(made.stdout == b"one\n", describe(made))
    return require(seen.ok and seen.stdout == b"one\n", f"in a second sandbox: {describe(seen)}")


def _ownership(bench: Bench) -> str:
    bench.load({"own/f": b"x"})
    told = bench.python(
        "say([[os.stat(p).st_uid, os.stat(p).st_gid, os.access(p, os.W_OK)] for p in ('.', 'own', 'own/f')])"
    )
    guest = bench.sandbox.guest
    return require(told == [[guest.uid, guest.gid, True]] * 3, f"uid, gid, writable: {told}")


def _prompt_is_fixed(bench: Bench) -> str:
    bench.sandbox.load([(TreeItem("check.md", "f", 0o444, 5), b"asked")], "run")
    told = bench.python(
        "p = '/run/takeover/check.md'\n"
        "say([open(p).read(), tried(open, p, 'w'), tried(os.unlink, p), tried(os.rename, p, p + '2'), tried(os.chmod, p, 0o666)])"
    )
    refused = [answer in ("EACCES", "EPERM", "EROFS") for answer in told[1:]]
    return require(told[0] == "asked" and all(refused), f"write, unlink, rename, chmod: {told[1:]}")


CHECKS: Final = (
    Check("files.utf8", "Names and contents in UTF-8 go in and come out unchanged.", _utf8),
    Check("files.binary", "Binary files, CRLF and missing final newlines are kept byte for byte.", _binary),
    Check("files.large", "A file of 50 MiB goes in and comes out unchanged.", _large),
    Check("files.modes", "Permission bits are kept; set-id and sticky bits are not.", _modes),
    Check("files.unreadable", "What the agent has made unreadable is exported all the same.", _unreadable),
    Check("files.symlinks", "Symbolic links are carried as links and never followed.", _symlinks),
    Check("files.odd-names", "Any name that a filesystem can hold is kept.", _odd_names),
    Check("files.empty-directories", "Empty directories are kept.", _empty_directories),
    Check("files.special", "FIFOs and sockets are left out by name, and nothing waits for them.", _special_files),
    Check("files.sparse", "A sparse file beyond the cap is left out and the export says so.", _sparse),
    Check("files.deep", "A tree deeper than the cap is cut there and the export says so.", _deep),
    Check("files.hard-links", "Each name of a hard-linked file becomes a file.", _hard_links),
    Check("files.git", "git works, also in the next sandbox, without a word about ownership.", _git),
    Check("files.ownership", "The workspace and all in it belong to the agent.", _ownership),
    Check("files.prompt", "The agent can read its prompt and cannot change it.", _prompt_is_fixed),
)
