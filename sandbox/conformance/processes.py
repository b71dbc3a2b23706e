"""Commands run as they are asked for, and nothing of them outlives them."""

from __future__ import annotations

from typing import Final

from ..sandbox import CommandFailed, RunResult
from .kit import Bench, Check, NotHeld, describe, require

_ALIVE: Final = (
    "alive = [p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())"
    " and open('/proc/%s/stat' % p).read().rpartition(')')[2].split()[0] != 'Z']\n"
    "say(alive)"
)


def _nothing_left(bench: Bench, result: RunResult, what: str) -> str:
    alive = bench.python(_ALIVE)
    return require(alive == [], f"{what}; {result.killed} killed; alive afterwards: {alive}")


def _exit_codes(bench: Bench) -> str:
    results = [bench.sh(script) for script in ("exit 0", "exit 7", "kill -9 $$", "kill -15 $$", "exit 255")]
    told = [(result.how, result.code, result.signal) for result in results]
    wanted = [
        ("exited", 0, None),
        ("exited", 7, None),
        ("exited", None, 9),
        ("exited", None, 15),
        ("exited", 255, None),
    ]
    return require(told == wanted, str(told))


def _streams(bench: Bench) -> str:
    result = bench.sh("echo out; echo err >&2; printf 'no newline'")
    return require((result.stdout, result.stderr) == (b"out\nno newline", b"err\n"), describe(result))


def _bytes(bench: Bench) -> str:
    result = bench.sh(r"printf '\377\376\000\r\n'; printf '\300\257' >&2")
    return require(
        (result.stdout, result.stderr) == (b"\xff\xfe\0\r\n", b"\xc0\xaf"), f"{result.stdout!r} {result.stderr!r}"
    )


def _multibyte(bench: Bench) -> str:
    count = 3_333_333
    result = bench.sandbox.run(
        ["python3", "-c", f"import sys; sys.stdout.write('漢' * {count})"], output_limit=16 << 20, wall=20
    )
    return require(result.stdout == "漢".encode() * count, f"{len(result.stdout)} bytes of three-byte characters")


def _stdin(bench: Bench) -> str:
    result = bench.sh("readlink /proc/self/fd/0; cat; echo end")
    fed = bench.sh("cat", stdin=b"fed\x00\xff")
    require(fed.stdout == b"fed\x00\xff", f"given input: {fed.stdout!r}")
    return require(result.stdout == b"/dev/null\nend\n", describe(result))


def _arguments(bench: Bench) -> str:
    arguments = ["", " ", "a\nb", "'\"`$(id)", "-x", "ß", "\udcff"]
    script = "import sys,os,json; print(json.dumps([os.fsencode(a).hex() for a in sys.argv[1:]]))"
    result = bench.sandbox.run(["python3", "-c", script, *arguments], wall=20)
    wanted = [argument.encode("utf-8", "surrogateescape").hex() for argument in arguments]
    return require(result.stdout.decode().strip() == str(wanted).replace("'", '"'), describe(result))


def _environment(bench: Bench) -> str:
    result = bench.sandbox.run(["env", "-0"], env={"GIVEN": "a\nb", "EMPTY": ""}, wall=20)
    told = dict(entry.split("=", 1) for entry in result.stdout.decode().split("\0") if entry)
    image = set(bench.sandbox.image.env)
    foreign = sorted(set(told) - image - {"PATH", "HOME", "LANG", "TZ", "GIVEN", "EMPTY", "PWD"})
    require(told.get("GIVEN") == "a\nb" and told.get("EMPTY") == "", str(told))
    return require(
        not foreign, f"foreign variables: {foreign}" if foreign else f"{len(told)} variables, all accounted for"
    )


def _directory(bench: Bench) -> str:
    result = bench.sh("pwd; mkdir -p cwd/x")
    other = bench.sh("pwd", cwd="/workspace/cwd/x")
    return require((result.stdout, other.stdout) == (b"/workspace\n", b"/workspace/cwd/x\n"), describe(other))


def _missing_command(bench: Bench) -> str:
    try:
        result = bench.sandbox.run(["/no/such/program"], wall=20)
    except CommandFailed as error:
        return require(error.errno == 2, f"errno {error.errno}: {error}")
    raise NotHeld(f"it was started: {describe(result)}")


def _children(bench: Bench) -> str:
    result = bench.sh("sleep 300 & sleep 300 & exec sleep 300", wall=0.4)
    require(result.how == "wall", describe(result))
    return _nothing_left(bench, result, "three sleepers at the wall limit")


def _background(bench: Bench) -> str:
    result = bench.sh("(while :; do echo still >> survivor; sleep 0.01; done) & sleep 0.1")
    require(result.ok and result.killed > 0, describe(result))
    return _nothing_left(bench, result, "a loop left in the background")


def _daemon(bench: Bench) -> str:
    code = (
        "if os.fork(): os.wait(); say('done'); sys.exit()\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "for s in range(1, 65):\n"
        "    try: signal.signal(s, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "os.closerange(0, 64); time.sleep(300)\n"
    )
    bench.python(code)
    alive = bench.python(_ALIVE)
    return require(alive == [], f"double fork, new session, no descriptors: alive {alive}")


def _stubborn(bench: Bench) -> str:
    result = bench.sh("trap '' TERM INT HUP QUIT; while :; do sleep 5; done", wall=0.4)
    require(result.how == "wall" and result.seconds < 10, describe(result))
    return _nothing_left(bench, result, f"ended after {result.seconds:.1f} s")


def _spinner(bench: Bench) -> str:
    result = bench.sandbox.run(["python3", "-c", "while 1: pass"], wall=0.4)
    require(result.how == "wall" and result.seconds < 10, describe(result))
    return _nothing_left(bench, result, f"ended after {result.seconds:.1f} s")


def _orphans(bench: Bench) -> str:
    result = bench.sh("for n in $(seq 200); do (true &) ; done; sleep 0.1; ls -d /proc/[0-9]* | wc -l")
    count = int(result.stdout.split()[-1]) if result.stdout.strip() else -1
    return require(0 < count < 20, f"200 orphans later there are {count} processes")


def _caps(bench: Bench, stream: int) -> str:
    limit, sent = 64 * 1024, 20_000_000
    result = bench.sh(f"yes | head -c {sent} >&{stream}", output_limit=limit)
    kept = len(result.stdout if stream == 1 else result.stderr)
    counted = result.output_bytes.get(stream)
    return require(
        kept <= limit and counted == sent and result.truncated and result.ok, f"{counted} bytes printed, {kept} kept"
    )


def _not_truncated(bench: Bench) -> str:
    whole = bench.sh("head -c 65536 /dev/zero", output_limit=65536)
    over = bench.sh("head -c 65537 /dev/zero", output_limit=65536)
    return require(
        (whole.truncated, over.truncated, len(whole.stdout)) == (False, True, 65536),
        "exactly the limit is not truncated",
    )


def _closed_output(bench: Bench) -> str:
    result = bench.sh("exec >&- 2>&-; sleep 0.2; exit 5")
    return require((result.how, result.code) == ("exited", 5), describe(result))


def _kept_output(bench: Bench) -> str:
    result = bench.sh("echo early; sleep 300 & exit 3", wall=10)
    require(result.seconds < 5, f"waited {result.seconds:.1f} s for a child that holds the output")
    return require((result.code, result.stdout) == (3, b"early\n"), describe(result))


def _lines(bench: Bench) -> str:
    echo = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line.upper()); sys.stdout.flush()"
    with bench.sandbox.open_process(["python3", "-c", echo]) as first:
        with bench.sandbox.open_process(["python3", "-c", echo]) as second:
            answers = [first.ask(b"a" * 100_000, 20)[:1], second.ask(b"b", 20), first.ask(b"c", 20)]
        answers.append(first.ask(b"d", 20))
    require(answers == [b"A", b"B", b"C", b"D"], str(answers))
    return require(bench.python(_ALIVE) == [], "two workers at once answered in turn and are gone")


def _many(bench: Bench) -> str:
    results = [bench.sh(f"echo {n}; exit {n}") for n in range(20)]
    return require([result.code for result in results] == list(range(20)), "20 commands in one sandbox, each by itself")


CHECKS: Final = (
    Check("run.exit", "Exit codes and signals are told apart and told as they are.", _exit_codes),
    Check("run.streams", "Standard output and standard error are kept apart.", _streams),
    Check("run.bytes", "Output that is no UTF-8 arrives as the bytes it is.", _bytes),
    Check("run.multibyte", "10 MB of three-byte characters arrive whole.", _multibyte),
    Check("run.stdin", "Standard input is /dev/null, or exactly what was given.", _stdin),
    Check("run.arguments", "Arguments arrive byte for byte; no shell is in between.", _arguments),
    Check("run.environment", "The environment holds the image's variables, ours and no others.", _environment),
    Check("run.directory", "The working directory is the workspace, or what was asked.", _directory),
    Check("run.missing", "A program that is not there is told apart from one that fails.", _missing_command),
    Check("run.children", "At the wall limit the whole process tree ends.", _children),
    Check("run.background", "What a command leaves in the background ends with it.", _background),
    Check("run.daemon", "A daemon (double fork, own session, no descriptors) ends too.", _daemon),
    Check("run.stubborn", "A process that ignores SIGTERM ends at the wall limit.", _stubborn),
    Check("run.spinner", "A busy loop ends at the wall limit.", _spinner),
    Check("run.orphans", "Orphans are reaped.", _orphans),
    Check("run.stdout-cap", "Standard output beyond its cap is counted and dropped.", lambda bench: _caps(bench, 1)),
    Check("run.stderr-cap", "Standard error beyond its cap is counted and dropped.", lambda bench: _caps(bench, 2)),
    Check("run.truncated", "`truncated` is said exactly when something is missing.", _not_truncated),
    Check("run.closed-output", "A program that closes its output is waited for.", _closed_output),
    Check("run.kept-output", "A child that holds the output open delays nothing.", _kept_output),
    Check("run.lines", "Two workers at once are asked line by line.", _lines),
    Check("run.many", "One sandbox runs many commands.", _many),
)
