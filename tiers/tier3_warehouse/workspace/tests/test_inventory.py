import unittest
from datetime import date

from inventory import counting, locations, lots, replenish, stock
from inventory.errors import BadLocation, InventoryError, NotEnough


class Locations(unittest.TestCase):
    def test_labels_come_apart_and_together(self):
        place = locations.parse("A-03-12-2")
        self.assertEqual(place, {"zone": "A", "aisle": 3, "bay": 12, "level": 2})
        self.assertEqual(locations.label(place), "A-03-12-2")

    def test_other_texts_are_refused(self):
        for text in ("A-3-12-2", "a-03-12-2", "A-03-12", ""):
            with self.assertRaises(BadLocation):
                locations.parse(text)

    def test_order_of_the_house(self):
        self.assertEqual(
            locations.in_order(["B-01-01-1", "A-10-02-1", "A-02-10-1"]), ["A-02-10-1", "A-10-02-1", "B-01-01-1"]
        )


class Stock(unittest.TestCase):
    def setUp(self):
        self.stock = stock.receive({}, "MUG", "A-01-02-1", 5)
        self.stock = stock.receive(self.stock, "MUG", "A-01-01-1", 3)

    def test_issue_empties_a_location(self):
        after = stock.issue(self.stock, "MUG", "A-01-01-1", 3)
        self.assertEqual(after, {"MUG": {"A-01-02-1": 5}})
        self.assertEqual(stock.on_hand(self.stock, "MUG"), 8)

    def test_nobody_takes_more_than_there_is(self):
        with self.assertRaises(NotEnough):
            stock.issue(self.stock, "MUG", "A-01-01-1", 4)
        with self.assertRaises(NotEnough):
            stock.plan_pick(self.stock, "MUG", 9)

    def test_move_keeps_the_sum(self):
        after = stock.move(self.stock, "MUG", "A-01-02-1", "B-01-01-1", 2)
        self.assertEqual(stock.on_hand(after, "MUG"), 8)
        self.assertEqual(after["MUG"]["B-01-01-1"], 2)
#:if pick_in_order

    def test_plan_follows_the_house(self):
        self.assertEqual(stock.plan_pick(self.stock, "MUG", 4), [("A-01-01-1", 3), ("A-01-02-1", 1)])
#:end


class Lots(unittest.TestCase):
    def setUp(self):
        self.lots = [
            {"code": "L3", "units": 5, "expires": None},
            {"code": "L2", "units": 4, "expires": date(2025, 6, 10)},
            {"code": "L1", "units": 2, "expires": date(2025, 6, 5)},
        ]

    def test_first_expiring_first(self):
        self.assertEqual([lot["code"] for lot in lots.first_expiring(self.lots)], ["L1", "L2", "L3"])

    def test_the_day_of_expiry_is_the_last(self):
        self.assertEqual(len(lots.usable(self.lots, date(2025, 6, 5))), 3)
        self.assertEqual(len(lots.usable(self.lots, date(2025, 6, 6))), 2)

    def test_taking(self):
        self.assertEqual(lots.take(self.lots, 5, date(2025, 6, 1)), [("L1", 2), ("L2", 3)])
        with self.assertRaises(NotEnough):
            lots.take(self.lots, 10, date(2025, 6, 6))


class Counting(unittest.TestCase):
    def test_differences_by_location(self):
        books = {"A-01-01-1": 5, "A-01-02-1": 2}
        counts = {"A-01-02-1": 2, "A-01-01-1": 4, "A-01-03-1": 1}
        self.assertEqual(counting.differences(books, counts), [("A-01-01-1", -1), ("A-01-03-1", 1)])
        self.assertEqual(counting.accuracy_percent(books, counts), 100 // 3)

    def test_negative_counts_are_refused(self):
        with self.assertRaises(InventoryError):
            counting.variance(1, -1)


class Replenish(unittest.TestCase):
    def test_reorder_point(self):
        self.assertEqual(replenish.reorder_point(20, 5), 100)
        self.assertEqual(replenish.reorder_point(20, 5, safety=50), 150)

    def test_whole_cases(self):
        self.assertEqual(replenish.order_units(10, 5, 100, 6), 90)
        self.assertEqual(replenish.order_units(10, 90, 100, 6), 0)

    def test_days_of_stock(self):
        self.assertEqual((replenish.days_of_stock(100, 30), replenish.days_of_stock(5, 0)), (3, 1000))


if __name__ == "__main__":
    unittest.main()
