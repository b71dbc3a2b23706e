import unittest

from booking import plan, priority, requests


def request(name="a", **changes):
    given = {
        "id": name,
        "customer": "Bora Weather",
        "satellite": "BORA-1",
        "service": "standard",
        "kilobytes": 500,
        "deadline": 7_200,
    }
    return {**given, **changes}


def contact(name, start, end, dish="N1", rise=40, sets=40):
    return {
        "id": name,
        "dish": dish,
        "satellite": "BORA-1",
        "start": start,
        "end": end,
        "rise_deg": rise,
        "set_deg": sets,
    }


class Requests(unittest.TestCase):
    def test_sound(self):
        self.assertEqual(requests.problems(request(), 0), [])

    def test_problems(self):
        bad = request(satellite="MIR", kilobytes=0, deadline=60)
        self.assertEqual(requests.problems(bad, 60), ["unknown-satellite", "no-data", "too-late"])
        with self.assertRaises(requests.RequestRefused):
            requests.accept([], bad, 60)

    def test_accept(self):
        known = [request("a"), request("b")]
        self.assertEqual([one["id"] for one in requests.accept(known, request("c"), 0)], ["a", "b", "c"])


class Priority(unittest.TestCase):
    def test_order(self):
        given = [request("a"), request("b", service="launch"), request("c", deadline=3_600)]
        self.assertEqual([one["id"] for one in priority.ordered(given)], ["b", "c", "a"])

    def test_displacing(self):
        self.assertTrue(priority.may_displace("emergency", "standard"))
        self.assertFalse(priority.may_displace("launch", "standard"))

    def test_unknown(self):
        with self.assertRaises(priority.UnknownService):
            priority.rank("luxury")


class Plan(unittest.TestCase):
    def test_clock(self):
        self.assertEqual(plan.clock(459_000), "5/07:30:00")

    def test_a_dish_has_to_turn(self):
        self.assertEqual(plan.conflicts([contact("a", 0, 600), contact("b", 600, 900)]), [])
        self.assertEqual(plan.conflicts([contact("a", 0, 600), contact("b", 600, 900, rise=90)]), [("a", "b")])

    def test_add(self):
        found = plan.add([contact("a", 600, 900)], contact("b", 0, 300, rise=100, sets=90))
        self.assertEqual([one["id"] for one in found], ["b", "a"])
        with self.assertRaises(plan.PlanConflict):
            plan.add(found, contact("c", 200, 400))

    def test_free_spans(self):
        self.assertEqual(plan.free_spans([contact("a", 300, 600)], "N1", (0, 900)), [(0, 300), (600, 900)])

    def test_day_sheet(self):
        self.assertEqual(plan.day_sheet([contact("a", 3_600, 4_000)], "N1"), ["0/01:00:00 BORA-1"])


if __name__ == "__main__":
    unittest.main()
