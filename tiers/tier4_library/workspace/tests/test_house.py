import unittest
from datetime import date

from house import days, hours, policy, text

TUESDAY = date(2025, 3, 4)


class Days(unittest.TestCase):
    def test_the_week(self):
        week = [date(2025, 3, day) for day in range(3, 10)]
        self.assertEqual([days.is_open(day) for day in week], [False, True, True, True, True, True, False])

    def test_closed_by_hand(self):
        self.assertFalse(days.is_open(TUESDAY, {TUESDAY}))
        self.assertEqual(days.next_open(TUESDAY, {TUESDAY}), date(2025, 3, 5))

    def test_moving_to_open_days(self):
        self.assertEqual(days.next_open(TUESDAY), TUESDAY)
        self.assertEqual(days.next_open(date(2025, 3, 2)), TUESDAY)
        self.assertEqual(days.previous_open(date(2025, 3, 3)), date(2025, 3, 1))

    def test_counting_open_days(self):
        self.assertEqual(days.open_days_after(TUESDAY, 5), date(2025, 3, 11))


class Hours(unittest.TestCase):
    def test_by_day(self):
        self.assertEqual(hours.hours_on(TUESDAY), (600, 1080))
        self.assertEqual(hours.hours_on(date(2025, 3, 8)), (540, 840))
        self.assertEqual(hours.hours_on(date(2025, 3, 9)), (0, 0))

    def test_coming_in(self):
        self.assertEqual([hours.is_open_at(TUESDAY, minute) for minute in (595, 600, 1080)], [False, True, False])
        self.assertTrue(hours.can_borrow_at(TUESDAY, 1050))
        self.assertFalse(hours.can_borrow_at(TUESDAY, 1070))

    def test_clock(self):
        self.assertEqual([hours.clock(545), hours.clock(600)], ["9:05", "10:00"])


class Text(unittest.TestCase):
    def test_words(self):
        self.assertEqual(text.words("The Sea, the sea!"), ["the", "sea", "the", "sea"])
        self.assertEqual(text.single_spaced("  a \n b "), "a b")

    def test_plural(self):
        self.assertEqual([text.plural(1, "book"), text.plural(2, "book")], ["1 book", "2 books"])

    def test_money(self):
        self.assertEqual([text.money(305), text.money(-50)], ["3.05", "-0.50"])


class Policy(unittest.TestCase):
    def test_kinds(self):
        self.assertEqual(policy.kinds(), ["book", "film", "game"])


if __name__ == "__main__":
    unittest.main()
