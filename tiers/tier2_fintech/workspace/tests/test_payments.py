import unittest

from payments import allocation, methods, refunds


class Methods(unittest.TestCase):
    def test_fees(self):
        self.assertEqual(methods.fee_cents("card", 1_000), 39)
        self.assertEqual(methods.fee_cents("transfer", 1_000), 0)

    def test_cheapest_of_equals_is_the_first(self):
        self.assertEqual(methods.cheapest_method(1_000, ["card", "debit"]), "debit")


class Allocation(unittest.TestCase):
    def setUp(self):
        self.invoices = [
            {"id": "b", "due": "2024-05-01", "open_cents": 300},
            {"id": "a", "due": "2024-05-01", "open_cents": 200},
            {"id": "c", "due": "2024-04-01", "open_cents": 100},
        ]

    def test_earliest_due_first(self):
        found = allocation.allocate(350, self.invoices)
        self.assertEqual(found, {"applied": [("c", 100), ("a", 200), ("b", 50)], "left_cents": 0})

    def test_what_is_left(self):
        self.assertEqual(allocation.allocate(700, self.invoices)["left_cents"], 100)


class Refunds(unittest.TestCase):
    def test_never_more_than_paid(self):
        self.assertEqual(refunds.refund(500, [200], 300), [200, 300])
        with self.assertRaises(refunds.RefundError):
            refunds.refund(500, [200], 301)

    def test_lines_balance(self):
        self.assertEqual(sum(line["amount_cents"] for line in refunds.refund_lines(250)), 0)


if __name__ == "__main__":
    unittest.main()
