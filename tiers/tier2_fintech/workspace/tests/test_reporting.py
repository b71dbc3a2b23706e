import unittest

from reporting import exports, statements

JOURNAL = [
    {
        "id": "b",
        "day": "2024-05-03",
        "memo": "fees",
        "lines": [{"account": "5000", "amount_cents": 40}, {"account": "1000", "amount_cents": -40}],
    },
    {
        "id": "a",
        "day": "2024-05-01",
        "memo": "sale",
        "lines": [{"account": "1000", "amount_cents": 500}, {"account": "4000", "amount_cents": -500}],
    },
]


class Statements(unittest.TestCase):
    def test_rows_by_day_with_balance(self):
        self.assertEqual(
            statements.statement("1000", JOURNAL, 1_000),
            [["2024-05-01", "sale", 500, 1_500], ["2024-05-03", "fees", -40, 1_460]],
        )

    def test_summary(self):
        self.assertEqual(statements.summary(JOURNAL), {"Bank": 460, "Subscription revenue": 500, "Payment fees": 40})


class Exports(unittest.TestCase):
    def test_amounts(self):
        self.assertEqual(exports.format_cents(123456), "1,234.56")
        self.assertEqual(exports.format_cents(-5), "(0.05)")

    def test_csv(self):
        self.assertEqual(exports.to_csv([{"a": 1, "b": "x,y"}], ["a", "b"]), 'a,b\n1,"x,y"\n')


if __name__ == "__main__":
    unittest.main()
