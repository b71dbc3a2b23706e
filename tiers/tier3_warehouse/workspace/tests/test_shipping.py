import unittest
from datetime import date

from shipping import carriers, departures, dimensional, manifest
from shipping.errors import NoCarrier, ShippingError

CARRIERS = [
    {"name": "Swift", "zones": ["metro", "north"], "max_g": 30_000, "cents_per_kg": 250},
    {"name": "Brook", "zones": ["metro"], "max_g": 10_000, "cents_per_kg": 200},
]


class Dimensional(unittest.TestCase):
    def test_volume(self):
        self.assertEqual(dimensional.volume_mm3(10, 20, 30), 6000)
        with self.assertRaises(ShippingError):
            dimensional.volume_mm3(10, 0, 30)

    def test_longest(self):
        self.assertEqual(dimensional.longest_side(10, 50, 30), 50)


class Carriers(unittest.TestCase):
    def test_zones(self):
        self.assertEqual([carriers.zone_for(code) for code in ("10000", "45000", "90000")], ["metro", "north", "far"])
        with self.assertRaises(ShippingError):
            carriers.zone_for("1000")

    def test_cheapest(self):
        self.assertEqual(carriers.cheapest(CARRIERS, 2_500, "metro"), "Brook")
        self.assertEqual(carriers.cheapest(CARRIERS, 2_500, "north"), "Swift")
        with self.assertRaises(NoCarrier):
            carriers.cheapest(CARRIERS, 40_000, "metro")

    def test_begun_kilograms_count(self):
        self.assertEqual(carriers.price_cents(CARRIERS[1], 2_005), 600)


class Departures(unittest.TestCase):
    def test_loading_takes_time(self):
        self.assertEqual(departures.next_departure(580, [900, 600]), 600)
        self.assertEqual(departures.next_departure(585, [900, 600]), 900)
        self.assertIsNone(departures.next_departure(900, [900, 600]))

#:if one_truck_at_weekends
    def test_first_truck_only_at_weekends(self):
        self.assertEqual(departures.trucks_on(date(2025, 5, 2), [900, 600]), [600, 900])
        self.assertEqual(departures.trucks_on(date(2025, 5, 3), [900, 600]), [600])
#:else
    def test_no_truck_at_weekends(self):
        self.assertEqual(departures.trucks_on(date(2025, 5, 2), [900, 600]), [600, 900])
        self.assertEqual(departures.trucks_on(date(2025, 5, 3), [900, 600]), [])
#:end


class Manifest(unittest.TestCase):
    def test_build(self):
        found = manifest.build([("O5/02", 500), ("O5/01", 700)])
        self.assertEqual([line[0] for line in found["lines"]], ["O5/01", "O5/02"])
        self.assertEqual((found["count"], found["total_g"]), (2, 1200))

    def test_split(self):
        self.assertEqual(manifest.split([("P1", 600), ("P2", 400), ("P3", 10)], 1000), [["P1", "P2"], ["P3"]])
        with self.assertRaises(ShippingError):
            manifest.split([("P1", 1005)], 1000)


if __name__ == "__main__":
    unittest.main()
