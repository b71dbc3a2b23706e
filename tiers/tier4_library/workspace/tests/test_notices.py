import unittest
from datetime import date

from notices import channels, schedule, texts


class Channels(unittest.TestCase):
    def test_the_first_that_is_allowed(self):
        self.assertEqual(channels.channel_for(["post", "mail"]), "mail")
        self.assertIsNone(channels.channel_for([]))

    def test_by_channel(self):
        found = channels.by_channel([("app", "a"), ("mail", "b"), ("app", "c")])
        self.assertEqual(found, {"app": ["a", "c"], "mail": ["b"]})


class Texts(unittest.TestCase):
    def test_greeting(self):
        self.assertEqual(texts.greeting(" Ann  Brook"), "Dear Ann Brook,")

    def test_due(self):
        self.assertEqual(texts.due_line(["Sea", "Tide"]), "2 loans due: Sea; Tide.")
        self.assertEqual(texts.due_line([]), "Nothing is due.")

    def test_owed(self):
        self.assertEqual(texts.owed_line(250), "You owe 2.50.")


class Schedule(unittest.TestCase):
    def test_two_days_before(self):
        self.assertEqual(schedule.reminder_day(date(2025, 3, 7)), date(2025, 3, 5))
        self.assertEqual(schedule.reminder_day(date(2025, 3, 5)), date(2025, 3, 1))

    def test_calendar(self):
        found = schedule.calendar([("a", date(2025, 3, 7)), ("b", date(2025, 3, 7))])
        self.assertEqual(found, {date(2025, 3, 5): ["a", "b"]})


if __name__ == "__main__":
    unittest.main()
