import unittest
from datetime import date

from audit import journal, retention


class Writing(unittest.TestCase):
    def setUp(self):
        self.journal = journal.write([], "ada", "move", "MUG")

    def test_numbers_count_from_one(self):
        longer = journal.write(self.journal, "bo", "count", "MUG")
        self.assertEqual([entry["number"] for entry in longer], [1, 2])
        self.assertEqual(len(self.journal), 1)

    def test_nameless_entries_are_refused(self):
        with self.assertRaises(journal.JournalError):
            journal.write([], "", "move", "MUG")

    def test_reading(self):
        longer = journal.write(self.journal, "bo", "count", "PAN")
        self.assertEqual(journal.about(longer, "MUG"), ["ada: move"])
        self.assertEqual((journal.count(longer), journal.count(longer, "bo")), (2, 1))


class Retention(unittest.TestCase):
    def test_days_by_kind(self):
        self.assertEqual([retention.keep_days(kind) for kind in ("access", "count", "visit")], [90, 365, 730])

    def test_last_day(self):
        self.assertEqual(retention.last_day("access", date(2025, 1, 1)), date(2025, 4, 1))

    def test_summary_takes_the_latest(self):
        records = [("access", date(2025, 1, 1)), ("access", date(2025, 1, 2))]
        self.assertEqual(retention.summary(records), {"access": date(2025, 4, 2)})


if __name__ == "__main__":
    unittest.main()
