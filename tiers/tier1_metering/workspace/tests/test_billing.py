import unittest

from billing import account, statement


class Statements(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(statement.statement(30, 5000, 20), {"energy": 5000, "base": 600, "total": 5600})
        with self.assertRaises(statement.BillingError):
            statement.statement(0, 5000, 20)

    def test_due(self):
        self.assertEqual(statement.due_day(5), 15)


class Accounts(unittest.TestCase):
    def test_open_and_credit(self):
        self.assertEqual(account.open_cents([5600, 400], [1000]), 5000)
        self.assertEqual(account.credit_cents([500], [1000]), 500)


if __name__ == "__main__":
    unittest.main()
