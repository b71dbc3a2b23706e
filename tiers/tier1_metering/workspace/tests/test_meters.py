import unittest

from meters import profile, readings


def reading(day, wh, meter="M1"):
    return {"meter": meter, "day": day, "wh": wh}


class Readings(unittest.TestCase):
    def test_consumption(self):
        series = [reading(1, 100), reading(2, 300), reading(5, 450)]
        self.assertEqual(readings.consumption(series), [(2, 200), (5, 150)])

    def test_problems(self):
        self.assertEqual(readings.problems([]), ["empty"])
        self.assertEqual(readings.problems([reading(2, 5), reading(2, 4)]), ["unordered", "falling"])
        with self.assertRaises(readings.ReadingError):
            readings.consumption([reading(1, 5), reading(2, 6, "M2")])


class Profile(unittest.TestCase):
    def test_sum_and_peak(self):
        self.assertEqual(profile.total([(0, 100), (50, 300)]), 400)
        self.assertEqual(profile.peak([(0, 100), (50, 300)]), 50)
        self.assertIsNone(profile.peak([]))

    def test_night(self):
        self.assertEqual(profile.night_percent([(0, 100), (50, 300)]), 25)


if __name__ == "__main__":
    unittest.main()
