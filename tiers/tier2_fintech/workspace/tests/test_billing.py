import unittest

from billing import invoices, plans, proration, tax


class Tax(unittest.TestCase):
    def test_rates(self):
        self.assertEqual(tax.tax_cents(1_000, "north"), 190)
        self.assertEqual(tax.tax_cents(1_000, "south"), 70)
        self.assertEqual(tax.tax_cents(1_000, "islands"), 0)

    def test_halves_round_up(self):
        self.assertEqual(tax.tax_cents(50, "south"), 4)

    def test_refusals(self):
        with self.assertRaises(tax.TaxError):
            tax.tax_cents(-1, "north")
        with self.assertRaises(tax.TaxError):
            tax.rate_bps("moon")

    def test_net_of_gross(self):
        self.assertEqual(tax.net_cents(1_190, "north"), 1_000)


class Plans(unittest.TestCase):
    def test_base_and_extra_seats(self):
        self.assertEqual(plans.price_cents("team", 5), 2_900)
        self.assertEqual(plans.price_cents("team", 7), 3_900)

    def test_yearly(self):
        self.assertEqual(plans.price_cents("starter", 1, yearly=True), 9_000)

    def test_cheapest(self):
        self.assertEqual(plans.cheapest_plan(1), "starter")
        self.assertEqual(plans.cheapest_plan(8), "team")
        self.assertEqual(plans.cheapest_plan(80), "company")


class Proration(unittest.TestCase):
    def test_rounds_down(self):
        self.assertEqual(proration.prorate_cents(1_000, 10, 30), 333)

    def test_bounds(self):
        with self.assertRaises(ValueError):
            proration.prorate_cents(1_000, 31, 30)

    def test_plan_change(self):
        self.assertEqual(proration.plan_change_cents(900, 4_900, 15, 30), 2_000)


class Invoices(unittest.TestCase):
    def setUp(self):
        self.lines = [{"text": "seat", "quantity": 3, "unit_cents": 700}]

    def test_totals(self):
        self.assertEqual(
            invoices.totals(self.lines, "north"), {"net_cents": 2_100, "tax_cents": 399, "gross_cents": 2_499}
        )

    def test_number(self):
        self.assertEqual(invoices.invoice_number(2024, 7), "INV-2024-000007")

    def test_posting_lines_balance(self):
        for region in tax.RATES_BPS:
            booked = invoices.posting_lines(self.lines, region)
            self.assertEqual(sum(line["amount_cents"] for line in booked), 0)


if __name__ == "__main__":
    unittest.main()
