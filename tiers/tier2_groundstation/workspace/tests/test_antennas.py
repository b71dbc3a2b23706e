import unittest

from antennas import dishes, weather


class Dishes(unittest.TestCase):
    def test_bands(self):
        self.assertEqual(dishes.dishes_for("X"), ["N1", "S1", "S2"])
        self.assertEqual(dishes.dishes_for("S", "Nordvik"), ["N1", "N2"])

    def test_hills(self):
        self.assertTrue(dishes.can_see("N1", 10))
        self.assertFalse(dishes.can_see("N2", 10))

    def test_unknown(self):
        with self.assertRaises(dishes.UnknownDish):
            dishes.dish("W1")


class Weather(unittest.TestCase):
    def test_stow(self):
        self.assertTrue(weather.must_stow(60, 60))
        self.assertTrue(weather.must_stow(10, 90))
        self.assertFalse(weather.must_stow(55, 85))

    def test_rain(self):
        self.assertEqual(weather.rain_loss(10, "X"), 40)
        self.assertEqual(weather.rain_loss(10, "UHF"), 0)
        with self.assertRaises(weather.WeatherError):
            weather.rain_loss(10, "L")

    def test_heater(self):
        self.assertTrue(weather.needs_heater(0, 90))
        self.assertFalse(weather.needs_heater(5, 90))


if __name__ == "__main__":
    unittest.main()
