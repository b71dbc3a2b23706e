import unittest
from datetime import date

from fees import account, lost, overdue, receipts
from fees.errors import FeeError, Overpaid


class Fines(unittest.TestCase):
    def test_by_kind(self):
        self.assertEqual(overdue.fine_cents("book", 3), 30)
        self.assertEqual(overdue.fine_cents("film", 3), 150)
        with self.assertRaises(FeeError):
            overdue.fine_cents("map", 3)

#:if fines_have_a_cap
    def test_cap(self):
        self.assertEqual(overdue.fine_cents("game", 200), 1000)

#:end
    def test_total(self):
        self.assertEqual(overdue.total_cents([("book", 2), ("film", 1)]), 70)


class Lost(unittest.TestCase):
    def test_price_and_work(self):
        self.assertEqual(lost.lost_cents(1500), 2000)
        with self.assertRaises(FeeError):
            lost.lost_cents(-1)

    def test_refund(self):
        self.assertEqual(lost.refund_cents(1500, 10), 1500)
        self.assertEqual(lost.refund_cents(1500, 100), 0)


class Account(unittest.TestCase):
    def setUp(self):
        self.entries = account.charge(account.charge([], "fine", 50), "card", 200)

    def test_balance(self):
        self.assertEqual(account.balance(self.entries), 250)
        self.assertEqual(account.balance(account.pay(self.entries, 100)), 150)

    def test_refusals(self):
        with self.assertRaises(Overpaid):
            account.pay(self.entries, 300)
        with self.assertRaises(FeeError):
            account.charge([], "fine", 0)

    def test_what_was_charged_first_is_paid_first(self):
        paid = account.pay(self.entries, 100)
        self.assertEqual(account.open_items(paid), [("card", 150)])


class Receipts(unittest.TestCase):
    def test_lines_have_one_width(self):
        self.assertEqual(receipts.line("fine", 50), "fine".ljust(25) + " 0.50")
        self.assertEqual(len(receipts.line("x" * 50, 1250)), 30)

    def test_receipt(self):
        lines = receipts.receipt([("fine", 50), ("card", 200)], date(2025, 3, 4))
        self.assertEqual((lines[0], len(lines)), ("2025-03-04, 2 items", 4))
        self.assertTrue(lines[-1].endswith("2.50"))


if __name__ == "__main__":
    unittest.main()
