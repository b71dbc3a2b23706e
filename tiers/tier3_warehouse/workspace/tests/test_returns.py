import unittest
from datetime import date

from returns import authorise, disposition
from returns.errors import ReturnsError, UnknownGrade, WindowClosed


class Authorise(unittest.TestCase):
    def test_thirty_days(self):
        found = authorise.authorise("O1", "kitchen", date(2025, 4, 1), date(2025, 5, 1))
        self.assertEqual(found, {"order": "O1", "category": "kitchen", "days": 30})
        with self.assertRaises(WindowClosed):
            authorise.authorise("O1", "kitchen", date(2025, 4, 1), date(2025, 5, 2))

    def test_not_before_delivery(self):
        with self.assertRaises(ReturnsError):
            authorise.authorise("O1", "kitchen", date(2025, 4, 2), date(2025, 4, 1))

    def test_who_pays(self):
        self.assertTrue(authorise.we_pay("damaged"))
        self.assertFalse(authorise.we_pay("unwanted"))


class Disposition(unittest.TestCase):
    def test_destinations(self):
        self.assertEqual([disposition.destination(grade) for grade in "ABC"], ["restock", "refurbish", "scrap"])
        with self.assertRaises(UnknownGrade):
            disposition.destination("D")

    def test_the_worst_part_decides(self):
        self.assertEqual(disposition.worst_grade(["A", "C", "B"]), "C")

    def test_tally(self):
        self.assertEqual(disposition.tally([("A", 2), ("C", 0), ("A", 3)]), {"restock": 5})


if __name__ == "__main__":
    unittest.main()
