import unittest
from datetime import date

from stats import circulation, tables, usage


class Circulation(unittest.TestCase):
    def test_by_kind(self):
        self.assertEqual(circulation.by_kind(["film", "book", "film"]), {"book": 1, "film": 2})

    def test_by_weekday(self):
        days = [date(2025, 3, 4), date(2025, 3, 4), date(2025, 3, 8)]
        self.assertEqual(circulation.by_weekday(days), [0, 2, 0, 0, 0, 1, 0])

    def test_busiest(self):
        self.assertEqual(circulation.busiest({10: 4, 11: 6}), 11)
        self.assertIsNone(circulation.busiest({}))


class Usage(unittest.TestCase):
    def test_turnover(self):
        self.assertEqual(usage.turnover(30, 12), 250)

    def test_lent(self):
        self.assertEqual(usage.never_lent(["T2", "T1", "T3"], {"T1": 2}), ["T2", "T3"])
        self.assertEqual(usage.most_lent({"T1": 2, "T2": 5}, 1), [("T2", 5)])


class Tables(unittest.TestCase):
    def test_percent(self):
        self.assertEqual([tables.percent(1, 5), tables.percent(2, 3) + tables.percent(1, 3), tables.percent(1, 0)], [20, 100, 0])

    def test_rows(self):
        self.assertEqual(tables.row(["book", 5]), "book;5")
        self.assertEqual(tables.ranked({"a": 1, "b": 2}), [("b", 2), ("a", 1)])


if __name__ == "__main__":
    unittest.main()
