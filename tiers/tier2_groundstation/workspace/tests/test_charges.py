import unittest

from charges import invoices, tariff


class Tariff(unittest.TestCase):
#:if begun_minutes
    def test_begun_minutes_count(self):
        self.assertEqual(tariff.billed_minutes(600), 10)
        self.assertEqual(tariff.billed_minutes(605), 11)
#:else
    def test_full_minutes_count(self):
        self.assertEqual(tariff.billed_minutes(600), 10)
#:end

    def test_least(self):
        self.assertEqual(tariff.contact_cents(60, "S"), 2_000)

    def test_unknown_band(self):
        with self.assertRaises(tariff.TariffError):
            tariff.contact_cents(60, "L")

    def test_cancelling(self):
        self.assertEqual(tariff.cancel_cents(905, 90_000), 0)
        self.assertEqual(tariff.cancel_cents(910, 7_200), 455)
        self.assertEqual(tariff.cancel_cents(910, 60), 910)


class Invoices(unittest.TestCase):
    def test_contact_line(self):
        self.assertEqual(invoices.contact_line("ASTER", 600), {"text": "Contact ASTER, 600 s", "cents": 9_000})

    def test_rebate(self):
        self.assertEqual(invoices.total_cents([{"text": "x", "cents": 500_000}]), 500_000)
        self.assertEqual(invoices.total_cents([{"text": "x", "cents": 600_000}]), 595_000)

    def test_number(self):
        self.assertEqual(invoices.invoice_number(2025, 4, 7), "HM-2025-04-0007")
        with self.assertRaises(ValueError):
            invoices.invoice_number(2025, 0, 7)


if __name__ == "__main__":
    unittest.main()
