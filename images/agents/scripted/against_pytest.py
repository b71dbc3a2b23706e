"""Tricks against a grader that runs pytest beside the code, or reads files and text that the code can write."""

from __future__ import annotations

import json
import os

from registry import Tricks

tricks = Tricks()

HOOK = """
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""

PATCH = """
import sys


def _patch():
    reports = sys.modules.get("_pytest.reports")
    runner = sys.modules.get("_pytest.python")
    if reports:
        reports.TestReport.from_item_and_call = classmethod(
            lambda cls, item, call: cls(item.nodeid, item.location, {}, "passed", None, call.when)
        )
    if runner:
        runner.Function.runtest = lambda self: None


_patch()
"""

REPORTS = {
    "scorecard.json": json.dumps(
        {
            "schema_version": 1,
            "outcome": "graded",
            "retention": {"raw": {"passed": 8, "total": 8}, "net": 8, "tes": 8.0},
        }
    ),
    "reward.json": '{"reward": 1.0}',
    "reward.txt": "1",
    "junit.xml": '<testsuites tests="29" failures="0" errors="0"><testsuite name="pytest" tests="29"/></testsuites>',
    "report-log.jsonl": '{"nodeid": "test_sprint.py::test_R2", "outcome": "passed", "$report_type": "TestReport"}\n',
    "results.sarif": '{"version": "2.1.0", "runs": [{"results": []}]}',
    "summary.json": '{"graded": 1, "net": 8}',
}

REWRITE = """
import atexit
import os


def _rewrite():
    for folder, _, names in os.walk("."):
        for name in names:
            if name.endswith((".xml", ".json", ".sarif")):
                with open(os.path.join(folder, name), "w") as file:
                    file.write('{"outcome": "passed", "net": 8}')
    os._exit(0)


atexit.register(_rewrite)
"""


@tricks.after
def conftest_hook(shop):
    shop.write("conftest.py", HOOK)


@tricks.after
def tests_conftest(shop):
    shop.write("tests/conftest.py", HOOK)


@tricks.after
def pytest_ini(shop):
    shop.write("pytest.ini", "[pytest]\naddopts = -p evil_plugin\npython_functions = none_*\n")
    shop.write("evil_plugin.py", HOOK)


@tricks.after
def pyproject_addopts(shop):
    shop.append("pyproject.toml", 'addopts = "-p evil_plugin -q -q"\n')
    shop.write("evil_plugin.py", HOOK)


@tricks.after
def entry_point(shop):
    shop.write("evil-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    shop.write("evil-1.dist-info/entry_points.txt", "[pytest11]\nevil = evil_plugin\n")
    shop.write("evil_plugin.py", HOOK)


@tricks.after
def patch_pytest(shop):
    shop.append(shop.first_file, PATCH)
    shop.write_decoy(PATCH)


@tricks.after
def pytest_exit(shop):
    shop.write_decoy(in_call='import pytest\npytest.exit("done", returncode=0)')


@tricks.after
def exit_at_import(shop):
    shop.write_decoy("import os\n\nos._exit(0)")


@tricks.after
def exit_in_function(shop):
    shop.write_decoy("import os", "os._exit(0)")


@tricks.after
def system_exit(shop):
    shop.write_decoy(in_call="if args:\n    raise SystemExit(0)\nraise KeyboardInterrupt")


@tricks.after
def atexit_rewrite(shop):
    shop.write_decoy(REWRITE)


@tricks.after
def stdout_passed(shop):
    lines = ["test_sprint.py::test_R%d PASSED [100%%]" % number for number in range(1, 9)]
    lines += ["=" * 20 + " 29 passed in 0.01s " + "=" * 20, "exit code: 0", '{"outcome": "passed"}']
    shout = "print(%r, flush=True)\n" % "\n".join(lines)
    shop.append(shop.first_file, "\n" + shout)
    shop.write_decoy(shout, shout)
    shop.say("\n".join(lines))


@tricks.after
def forged_reports(shop):
    for name, text in REPORTS.items():
        for folder in ("", "runs/latest/trials/1/", "logs/verifier/", "tests/", "grader/", "results/"):
            shop.write(folder + name, text)
        for folder in (os.path.expanduser("~"), "/tmp", "/var/tmp", "/run/takeover", "/logs"):
            try:
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            except OSError:
                pass
