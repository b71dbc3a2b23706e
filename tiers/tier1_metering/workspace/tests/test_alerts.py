import unittest

from alerts import limits


class Limits(unittest.TestCase):
    def test_over(self):
        self.assertEqual(limits.over([(50, 300), (10, 500), (5, 100)], 200), [10, 50])

    def test_message(self):
        self.assertEqual(limits.message("M1", [4, 5]), "M1: 01:00, 01:15")
        self.assertEqual(limits.message("M1", []), "M1: nothing unusual")


if __name__ == "__main__":
    unittest.main()
