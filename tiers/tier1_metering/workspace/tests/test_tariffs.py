import unittest

from tariffs import tariff


def plain(name="plain", day=300, night=200, base=20):
    return {"name": name, "day_price": day, "night_price": night, "base_cents": base}


class Tariffs(unittest.TestCase):
    def test_prices(self):
        self.assertEqual([tariff.price(plain(), slot) for slot in (0, 50)], [200, 300])

    def test_cost(self):
        self.assertEqual(tariff.energy_cents(plain(), [(0, 1000), (50, 2000)]), 80)

    def test_cheapest(self):
        self.assertEqual(tariff.cheapest([plain(), plain("owl", 400, 100)], [(0, 1000)]), "owl")


if __name__ == "__main__":
    unittest.main()
