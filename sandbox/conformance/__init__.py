"""What any engine must hold, as a list of named checks: `takeover doctor` and the test suite run the same one."""

from .kit import Check, CheckResult, NotHeld
from .runner import CHECKS, bench_of, run_check, run_checks, select

__all__ = ["CHECKS", "Check", "CheckResult", "NotHeld", "bench_of", "run_check", "run_checks", "select"]
