import unittest

from reports import shifts, tables

PLAN = [
    {"id": "b", "dish": "S1", "satellite": "ASTER", "start": 5_400, "end": 6_000, "rise_deg": 0, "set_deg": 90},
    {"id": "a", "dish": "N1", "satellite": "BORA-1", "start": 3_000, "end": 3_900, "rise_deg": 0, "set_deg": 90},
]


class Tables(unittest.TestCase):
    def test_aligned(self):
        self.assertEqual(tables.aligned([["a", "bc", "d"], ["abc", "b", ""]]), "a    bc  d\nabc  b\n")

    def test_duration(self):
        self.assertEqual(tables.duration(5_400), "1 h 30 min")
        self.assertEqual(tables.duration(45), "45 s")

    def test_euros(self):
        self.assertEqual(tables.euros(123_450), "1 234.50")
        self.assertEqual(tables.euros(-5), "0.05-")


class Shifts(unittest.TestCase):
    def test_duty(self):
        self.assertEqual([shifts.shift_of(hour * 3_600) for hour in (0, 8, 20)], ["night", "early", "late"])

    def test_handover(self):
        self.assertEqual(
            shifts.handover(PLAN, 3_600), ["N1 hears BORA-1 until 0/01:05:00", "S1 expects ASTER at 0/01:30:00"]
        )


if __name__ == "__main__":
    unittest.main()
