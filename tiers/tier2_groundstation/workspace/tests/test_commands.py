import unittest

from commands import catalog, clearance, queue


class Catalog(unittest.TestCase):
    def test_hazards(self):
        self.assertEqual(catalog.hazard("set_clock"), "guarded")
        self.assertEqual(catalog.level("wipe_memory"), 3)
        self.assertEqual(catalog.commands_of("hazardous"), ["fire_thruster", "reset_radio"])

    def test_unknown(self):
        with self.assertRaises(catalog.UnknownCommand):
            catalog.hazard("sing")


class Clearance(unittest.TestCase):
    def test_levels(self):
        self.assertTrue(clearance.may_send("operator", "set_clock"))
        self.assertFalse(clearance.may_send("operator", "fire_thruster"))
        self.assertEqual(clearance.allowed("trainee"), ["dump_log", "ping"])

    def test_require(self):
        clearance.require("director", "wipe_memory")
        with self.assertRaises(clearance.NotCleared):
            clearance.require("engineer", "wipe_memory")

    def test_lowest_role(self):
        self.assertEqual(clearance.lowest_role(["ping", "fire_thruster"]), "engineer")
        self.assertIsNone(clearance.lowest_role([]))


class Queue(unittest.TestCase):
    def test_harmless_first(self):
        self.assertEqual(queue.queued(["wipe_memory", "set_clock", "ping"]), ["ping", "set_clock", "wipe_memory"])

    def test_full(self):
        with self.assertRaises(queue.QueueFull):
            queue.queued(["ping"] * 60)

    def test_repeats(self):
        self.assertEqual(queue.without_repeats(["ping", "ping", "set_clock", "ping"]), ["ping", "set_clock", "ping"])

    def test_tally(self):
        self.assertEqual(
            queue.tally(["ping", "set_clock", "ping"]), {"routine": 2, "guarded": 1, "hazardous": 0, "irreversible": 0}
        )


if __name__ == "__main__":
    unittest.main()
