import unittest

from packing import cartons, labels, weighing
from packing.errors import PackingError

KINDS = [
    {"name": "L", "inner_mm3": 8_000_000, "max_g": 20_000},
    {"name": "S", "inner_mm3": 1_000_000, "max_g": 5_000},
    {"name": "M", "inner_mm3": 4_000_000, "max_g": 10_000},
]


class Cartons(unittest.TestCase):
    def test_the_smallest_that_fits(self):
        self.assertEqual(cartons.choose(400_000, 500, KINDS), "S")
        self.assertEqual(cartons.choose(400_000, 6_000, KINDS), "M")

    def test_nothing_fits(self):
        with self.assertRaises(PackingError):
            cartons.choose(400_000, 25_000, KINDS)

    def test_filled(self):
        self.assertEqual(cartons.filled_percent(400_000, KINDS[1]), 40)


class Weighing(unittest.TestCase):
    def test_expected(self):
        self.assertEqual(weighing.expected_g([(2, 350), (1, 900)], 200), 1800)

    def test_heaviest(self):
        self.assertEqual(weighing.heaviest({"P2": 500, "P1": 500, "P3": 100}), "P1")
        with self.assertRaises(PackingError):
            weighing.heaviest({})


class Labels(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(labels.parcel_number("O5", 2), "O5/02")
        with self.assertRaises(PackingError):
            labels.parcel_number("O5", 0)

    def test_check_digit(self):
        self.assertEqual(labels.check_digit("O5/02"), 9)

    def test_address(self):
        self.assertEqual(labels.address_lines(" Ann  Lee, , Main Road 5"), ["Ann Lee", "Main Road 5"])


if __name__ == "__main__":
    unittest.main()
