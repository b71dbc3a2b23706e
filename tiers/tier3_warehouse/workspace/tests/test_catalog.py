import unittest
from datetime import date

from catalog import goods, policy, registry, units


def article(sku="MUG", **changes):
    plain = {
        "sku": sku,
        "name": "Mug",
        "category": "kitchen",
        "weight_g": 350,
        "length_mm": 120,
        "width_mm": 90,
        "height_mm": 100,
        "case_size": 6,
    }
    return {**plain, **changes}


class Goods(unittest.TestCase):
    def test_volume(self):
        self.assertEqual(goods.volume_mm3(article()), 1_080_000)

    def test_problems_in_the_order_of_the_fields(self):
        self.assertEqual(goods.problems(article(case_size=0, weight_g=-1)), ["weight_g", "case_size"])


class Registry(unittest.TestCase):
    def test_adding_keeps_the_given_catalog(self):
        before = {}
        after = registry.add(before, article())
        self.assertEqual((len(before), len(after)), (0, 1))

    def test_doubles_and_bad_measures_are_refused(self):
        catalog = registry.add({}, article())
        with self.assertRaises(goods.CatalogError):
            registry.add(catalog, article())
        with self.assertRaises(goods.CatalogError):
            registry.add(catalog, article("CUP", weight_g=0))

    def test_finding(self):
        catalog = registry.add(registry.add({}, article("PAN")), article("LID"))
        self.assertEqual(registry.find(catalog, "PAN")["name"], "Mug")
        self.assertEqual(registry.in_category(catalog, "kitchen"), ["LID", "PAN"])
        with self.assertRaises(goods.UnknownSku):
            registry.find(catalog, "POT")


class Units(unittest.TestCase):
    def test_cases(self):
        self.assertEqual(units.split_cases(20, 6), (3, 2))
        self.assertEqual(units.full_cases(20, 6), 4 * 6)

    def test_pallets(self):
        self.assertEqual([units.pallets(cases) for cases in (0, 1, 40, 45)], [0, 1, 1, 2])


class Policy(unittest.TestCase):
    def test_weekends_are_no_workdays(self):
        self.assertTrue(policy.is_workday(date(2025, 5, 2)))
        self.assertFalse(policy.is_workday(date(2025, 5, 3)))
        self.assertEqual(policy.next_workday(date(2025, 5, 2)), date(2025, 5, 5))


if __name__ == "__main__":
    unittest.main()
