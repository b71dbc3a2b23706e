import unittest
from datetime import date

from orders import allocation, intake, priority, promise
from orders.model import OrderError, total_units

DAY = date(2025, 5, 5)


def make(number, channel, ship_by, lines):
    return {"number": number, "channel": channel, "ship_by": ship_by, "lines": lines}


class Intake(unittest.TestCase):
    def test_a_sound_order(self):
        order = make("O1", "web", DAY, [("MUG", 2), ("PAN", 1)])
        self.assertEqual(intake.problems(order), [])
        self.assertEqual(total_units(order), 3)
        self.assertIs(intake.accept(order), order)

    def test_all_problems_are_listed(self):
        order = make("O1", "fax", DAY, [("MUG", 0), ("MUG", 1)])
        self.assertEqual(intake.problems(order), ["unknown-channel", "bad-units", "repeated-article"])
        with self.assertRaises(OrderError):
            intake.accept(order)

    def test_no_lines(self):
        self.assertEqual(intake.problems(make("O1", "store", DAY, [])), ["no-lines"])


class Priority(unittest.TestCase):
    orders = [make("O2", "web", DAY, []), make("O3", "web", date(2025, 5, 2), []), make("O1", "web", DAY, [])]

    def test_rank(self):
        self.assertEqual(priority.ranked(self.orders), ["O3", "O1", "O2"])

    def test_overdue(self):
        self.assertEqual(priority.overdue(self.orders, DAY), ["O3"])
        self.assertEqual(priority.days_late(self.orders[1], DAY), 3)


class Allocation(unittest.TestCase):
    def test_lines_in_order(self):
        found = allocation.allocate([("MUG", 10), ("MUG", 5)], {"MUG": 10})
        self.assertEqual((found["given"], found["lacking"]), ({"MUG": 10}, {"MUG": 5}))

    def test_almost_everything(self):
        found = allocation.allocate([("MUG", 10)], {"MUG": 9})
        self.assertEqual((found["given"], found["lacking"]), ({"MUG": 9}, {"MUG": 1}))

    def test_completeness(self):
        order = make("O1", "web", DAY, [("MUG", 2)])
        self.assertTrue(allocation.is_complete(order, {"MUG": 2}))
        self.assertFalse(allocation.is_complete(order, {}))


class Promise(unittest.TestCase):
    def test_deadline(self):
        self.assertEqual(promise.ship_by(DAY, 715), DAY)
        self.assertEqual(promise.ship_by(DAY, 720), date(2025, 5, 6))

    def test_weekend(self):
        self.assertEqual(promise.ship_by(date(2025, 5, 10), 0), date(2025, 5, 12))

    def test_workdays(self):
        self.assertEqual(promise.workdays_between(date(2025, 5, 2), date(2025, 5, 6)), 2)


if __name__ == "__main__":
    unittest.main()
