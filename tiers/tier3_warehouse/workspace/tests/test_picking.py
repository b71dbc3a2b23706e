import unittest

from picking import batches, route, shorts, waves
from picking.model import PickingError


def pick(order, units=1, location="A-01-01-1", sku="MUG"):
    return {"order": order, "sku": sku, "units": units, "location": location}


class Waves(unittest.TestCase):
    def test_by_count(self):
        picks = [pick("O1"), pick("O2"), pick("O3")]
        self.assertEqual([len(wave) for wave in waves.by_count(picks, 2)], [2, 1])
        with self.assertRaises(PickingError):
            waves.by_count(picks, 0)

    def test_by_zone(self):
        picks = [pick("O1", location="B-01-01-1"), pick("O2"), pick("O3", location="B-01-02-1")]
        found = waves.by_zone(picks)
        self.assertEqual(list(found), ["A", "B"])
        self.assertEqual([one["order"] for one in found["B"]], ["O1", "O3"])


class Batches(unittest.TestCase):
    def test_singles(self):
        picks = [pick("O1"), pick("O2"), pick("O1", sku="PAN"), pick("O3")]
        self.assertEqual([one["order"] for one in batches.singles(picks)], ["O2", "O3"])

    def test_by_article(self):
        picks = [pick("O1", 2, sku="PAN"), pick("O2", 3), pick("O3", 4, sku="PAN")]
        self.assertEqual(batches.by_article(picks), {"MUG": 3, "PAN": 6})


class Route(unittest.TestCase):
    def test_serpentine(self):
        places = ["A-02-01-1", "A-01-02-1", "A-02-05-1", "A-01-01-1", "A-01-01-1"]
        self.assertEqual(route.serpentine(places), ["A-01-01-1", "A-01-02-1", "A-02-05-1", "A-02-01-1"])

    def test_aisle_changes(self):
        self.assertEqual(route.aisle_changes(["A-01-01-1", "A-02-01-1", "A-02-02-1", "B-02-01-1"]), 2)


class Shorts(unittest.TestCase):
    def test_compare(self):
        found = shorts.compare([pick("O2", 5), pick("O1", 2)], [3, 2])
        self.assertEqual(found, [{"order": "O2", "sku": "MUG", "missing": 2}])
        self.assertEqual(shorts.affected_orders(found * 2), ["O2"])

    def test_results_must_fit(self):
        with self.assertRaises(PickingError):
            shorts.compare([pick("O1")], [])


if __name__ == "__main__":
    unittest.main()
