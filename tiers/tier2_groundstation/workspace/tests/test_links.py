import unittest

from links import budget, volume


class Budget(unittest.TestCase):
    def test_margin(self):
        self.assertEqual(budget.margin("S", 60), 95)
        self.assertEqual(budget.margin("X", 30, 5), 45)

    def test_no_link(self):
        with self.assertRaises(budget.LinkError):
            budget.margin("S", 5)

    def test_rate(self):
        self.assertEqual(budget.rate_kbps("ASTER", 70), 80_000)
        self.assertEqual(budget.rate_kbps("ASTER", 30, 5), 40_000)
        self.assertEqual(budget.rate_kbps("ASTER", 10, 10), 0)


class Volume(unittest.TestCase):
    def test_kilobytes(self):
        self.assertEqual(volume.kilobytes(10, 10), 12)
        with self.assertRaises(volume.VolumeError):
            volume.kilobytes(-1, 10)

    def test_time_is_rounded_up(self):
        self.assertEqual(volume.seconds_for(12, 10), 10)
        self.assertEqual(volume.seconds_for(100, 10), 80)

    def test_fits(self):
        self.assertTrue(volume.fits(12, 10, 10))
        self.assertFalse(volume.fits(100, 10, 10))


if __name__ == "__main__":
    unittest.main()
