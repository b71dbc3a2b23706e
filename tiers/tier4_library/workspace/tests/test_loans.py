import unittest
from datetime import date

from loans import checkout, errors, model, overdue, renewal, returns

TUESDAY = date(2025, 3, 4)


def loan(barcode="10", kind="book", member=1, due=date(2025, 4, 3), renewed=0):
    return {"barcode": barcode, "kind": kind, "member": member, "out": TUESDAY, "due": due, "renewed": renewed}


class Checkout(unittest.TestCase):
    def test_due_days(self):
        self.assertEqual(checkout.due_day("book", TUESDAY), date(2025, 4, 3))
        self.assertEqual(checkout.due_day("film", date(2025, 3, 20)), date(2025, 4, 1))

    def test_lending(self):
        self.assertEqual(checkout.checkout([], "10", "book", 1, TUESDAY), [loan()])
        with self.assertRaises(errors.LoanError):
            checkout.checkout([loan()], "10", "book", 2, TUESDAY)

    def test_enough_is_enough(self):
        many = [loan(str(number)) for number in range(20)]
        with self.assertRaises(errors.TooManyLoans):
            checkout.checkout(many, "x", "book", 1, TUESDAY)

    def test_in_the_order_in_which_they_are_due(self):
        mine = [loan("10"), loan("20", due=date(2025, 4, 1)), loan("30", member=2)]
        self.assertEqual([one["barcode"] for one in model.of_member(mine, 1)], ["20", "10"])


class Renewal(unittest.TestCase):
    def test_renewing(self):
        again = renewal.renew(loan(), date(2025, 4, 1))
        self.assertEqual((again["due"], again["renewed"]), (date(2025, 5, 1), 1))
        self.assertEqual(renewal.renewals_left(again), 1)

    def test_refusals(self):
        with self.assertRaises(errors.NotRenewable):
            renewal.renew(loan(), date(2025, 4, 4))
        with self.assertRaises(errors.NotRenewable):
            renewal.renew(loan(renewed=2), date(2025, 4, 1))
        with self.assertRaises(errors.NotRenewable):
            renewal.renew(loan(), date(2025, 4, 1), 3)


class Overdue(unittest.TestCase):
    def test_days(self):
        self.assertEqual(overdue.days_late(loan(), date(2025, 4, 5)), 2)
        self.assertEqual(overdue.days_late(loan(), date(2025, 4, 3)), 0)

    def test_list(self):
        some = [loan("10"), loan("20", due=date(2025, 4, 10))]
        self.assertEqual(overdue.overdue(some, date(2025, 4, 5)), ["10"])


class Returns(unittest.TestCase):
    def test_giving_back(self):
        rest, late = returns.give_back([loan("10"), loan("20")], "10", date(2025, 4, 5))
        self.assertEqual((rest, late), ([loan("20")], 2))
        with self.assertRaises(errors.NotLent):
            returns.give_back([], "10", TUESDAY)

    def test_tally(self):
        self.assertEqual(returns.tally([0, 2, 5]), {"on_time": 1, "late": 2})


if __name__ == "__main__":
    unittest.main()
