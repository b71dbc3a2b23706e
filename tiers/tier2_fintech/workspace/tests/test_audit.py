import unittest

from audit import masking, retention, trail


class Masking(unittest.TestCase):
    def test_actor(self):
        self.assertEqual(masking.mask_actor("marlene"), "ma*****")
        self.assertEqual(masking.mask_actor("jo"), "**")

    def test_email(self):
        self.assertEqual(masking.mask_email("marlene@example.org"), "ma*****@example.org")


class Trail(unittest.TestCase):
    def setUp(self):
        self.trail = trail.append([], "marlene", "manager", "refund.issue")
        self.trail = trail.append(self.trail, "viktor", "clerk", "invoice.create")

    def test_numbers_and_privilege(self):
        self.assertEqual([entry["seq"] for entry in self.trail], [1, 2])
        self.assertEqual([entry["privileged"] for entry in self.trail], [True, False])

    def test_chain_holds_until_changed(self):
        self.assertIsNone(trail.first_broken(self.trail))
        self.trail[1]["action"] = "report.view"
        self.assertEqual(trail.first_broken(self.trail), 2)


class Retention(unittest.TestCase):
    def test_financial_entries_stay_longer(self):
        self.assertFalse(retention.expired("refund.issue", 366))
        self.assertTrue(retention.expired("report.view", 366))


if __name__ == "__main__":
    unittest.main()
