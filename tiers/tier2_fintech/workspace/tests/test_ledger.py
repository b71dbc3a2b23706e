import unittest

from ledger import accounts, journal, periods, rules
from ledger.models import LedgerError, PeriodClosed, UnbalancedPosting, UnknownAccount


def lines(*pairs):
    return [{"account": account, "amount_cents": cents} for account, cents in pairs]


def posting(name, day, *pairs, memo="test"):
    return {"id": name, "day": day, "memo": memo, "lines": lines(*pairs)}


class Accounts(unittest.TestCase):
    def test_types_and_sides(self):
        self.assertEqual(accounts.account_type("1100"), "asset")
        self.assertEqual(accounts.normal_side("5000"), "debit")
        self.assertEqual(accounts.normal_side("4000"), "credit")
        self.assertEqual(accounts.accounts_of_type("asset"), ["1000", "1100", "1900"])

    def test_unknown_account(self):
        with self.assertRaises(UnknownAccount):
            accounts.account_type("9999")


class Rules(unittest.TestCase):
    def test_balanced_lines_pass(self):
        rules.validate_lines(lines(("1000", 500), ("4000", -500)))

    def test_unbalanced_lines_are_refused(self):
        with self.assertRaises(UnbalancedPosting):
            rules.validate_lines(lines(("1000", 500), ("4000", -499)))

    def test_too_few_and_empty_lines_are_refused(self):
        with self.assertRaises(LedgerError):
            rules.validate_lines(lines(("1000", 0)))
        with self.assertRaises(LedgerError):
            rules.validate_lines(lines(("1000", 0), ("4000", 0)))

    def test_memo_is_cleaned(self):
        self.assertEqual(rules.clean_memo("  rent \n for   May "), "rent for May")

    def test_review(self):
        self.assertTrue(rules.needs_review(lines(("1000", 1_000_000), ("4000", -1_000_000))))
        self.assertFalse(rules.needs_review(lines(("1000", 999_999), ("4000", -999_999))))


class Journal(unittest.TestCase):
    def test_booking_keeps_the_given_journal(self):
        before = []
        after = journal.book(before, posting("a", "2024-04-02", ("1000", 100), ("4000", -100)))
        self.assertEqual((len(before), len(after)), (0, 1))

    def test_closed_periods_refuse(self):
        with self.assertRaises(PeriodClosed):
            journal.book([], posting("a", "2024-04-02", ("1000", 1), ("4000", -1)), ["FY2025-P01"])

    def test_trial_balance(self):
        booked = journal.book([], posting("a", "2024-04-02", ("1000", 100), ("4000", -100)))
        booked = journal.book(booked, posting("b", "2024-04-03", ("5000", 30), ("1000", -30)))
        self.assertEqual(
            journal.trial_balance(booked), [["1000", "debit", 70], ["4000", "credit", 100], ["5000", "debit", 30]]
        )


class Periods(unittest.TestCase):
    def test_year_turns_in_april(self):
        self.assertEqual(periods.fiscal_year("2024-03-31"), 2024)
        self.assertEqual(periods.fiscal_year("2024-04-01"), 2025)

    def test_period_numbers(self):
        self.assertEqual(periods.fiscal_period("2024-04-30"), "FY2025-P01")
        self.assertEqual(periods.fiscal_period("2025-03-01"), "FY2025-P12")

    def test_periods_close_in_order(self):
        self.assertTrue(periods.can_close("FY2025-P02", ["FY2025-P01"]))
        self.assertFalse(periods.can_close("FY2025-P03", ["FY2025-P01"]))


if __name__ == "__main__":
    unittest.main()
