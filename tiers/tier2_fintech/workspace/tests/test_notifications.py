import unittest

from notifications import channels, messages


class Channels(unittest.TestCase):
    def test_preference(self):
        self.assertEqual(channels.channel_for(["sms", "email"]), "email")
        self.assertEqual(channels.channel_for(["sms", "email"], urgent=True), "sms")

    def test_unreachable(self):
        with self.assertRaises(channels.Unreachable):
            channels.channel_for([])


class Messages(unittest.TestCase):
    def test_subject(self):
        self.assertEqual(messages.subject_line("invoice", "INV-2024-000007"), "Your invoice INV-2024-000007")

    def test_reminder(self):
        self.assertEqual(
            messages.reminder_text("Marlene", "INV-2024-000007", 1_050, 1),
            "Hello Marlene, 10.50 of INV-2024-000007 is 1 day overdue.",
        )


if __name__ == "__main__":
    unittest.main()
