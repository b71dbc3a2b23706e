import unittest

from units import rounding, slots


class Slots(unittest.TestCase):
    def test_slots(self):
        self.assertEqual([slots.slot_of(minute) for minute in (0, 10, 15, 1439)], [0, 0, 1, 95])
        with self.assertRaises(slots.SlotError):
            slots.slot_of(1440)

    def test_labels(self):
        self.assertEqual([slots.label(0), slots.label(5)], ["00:00", "01:15"])
        with self.assertRaises(slots.SlotError):
            slots.label(96)

    def test_night(self):
        self.assertTrue(slots.is_night(0))
        self.assertFalse(slots.is_night(50))


class Rounding(unittest.TestCase):
    def test_halves_go_up(self):
        self.assertEqual([rounding.half_up(number, 10) for number in (4, 5, 15)], [0, 1, 2])

    def test_split(self):
        self.assertEqual(rounding.split(11, 3), [4, 4, 3])


if __name__ == "__main__":
    unittest.main()
