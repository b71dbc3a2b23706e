import unittest

from inbound import docks, putaway, receiving
from inbound.errors import InboundError, NoSlot, NotAnnounced


class Receiving(unittest.TestCase):
    def test_status(self):
        notice = {"MUG": 100}
        found = [receiving.receive_line(notice, "MUG", units)["status"] for units in (95, 100, 105)]
        self.assertEqual(found, ["short", "exact", "over"])

    def test_the_unannounced_is_refused(self):
        with self.assertRaises(NotAnnounced):
            receiving.receive_line({"MUG": 10}, "PAN", 1)
        with self.assertRaises(InboundError):
            receiving.receive_line({"MUG": 10}, "MUG", -1)

    def test_missing_adds_receipts_up(self):
        notice = {"MUG": 10, "PAN": 5}
        receipts = [receiving.receive_line(notice, "MUG", 4), receiving.receive_line(notice, "MUG", 5)]
        self.assertEqual(receiving.missing(notice, receipts), {"MUG": 1, "PAN": 5})

    def test_sample(self):
        self.assertEqual([receiving.sample_size(units) for units in (0, 5, 200, 9000)], [0, 1, 20, 50])


class Docks(unittest.TestCase):
    trucks = [("T2", 5, 30), ("T1", 0, 60), ("T3", 10, 30)]

    def test_the_first_free_door(self):
        plan = docks.assign(self.trucks, ["D1", "D2"])
#:if doors_cleaned
        self.assertEqual(plan, {"T1": ("D1", 0), "T2": ("D2", 5), "T3": ("D2", 45)})
#:else
        self.assertEqual(plan, {"T1": ("D1", 0), "T2": ("D2", 5), "T3": ("D2", 35)})
#:end

    def test_waiting(self):
#:if doors_cleaned
        self.assertEqual(docks.waiting(self.trucks, ["D1", "D2"]), 35)
#:else
        self.assertEqual(docks.waiting(self.trucks, ["D1", "D2"]), 25)
#:end

    def test_no_doors(self):
        with self.assertRaises(InboundError):
            docks.assign(self.trucks, [])


class Putaway(unittest.TestCase):
    def test_first_in_the_house(self):
        self.assertEqual(putaway.slot_for(500, ["B-01-01-1", "A-02-01-1"]), "A-02-01-1")

    def test_heaviest_first(self):
        free = ["A-01-02-1", "A-01-01-1", "A-01-03-1"]
        self.assertEqual(putaway.plan([("CUP", 200), ("PAN", 900)], free), {"PAN": "A-01-01-1", "CUP": "A-01-02-1"})

    def test_nothing_free(self):
        with self.assertRaises(NoSlot):
            putaway.slot_for(500, [])


if __name__ == "__main__":
    unittest.main()
