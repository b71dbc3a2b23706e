import unittest

from rbac import roles, rules


class Roles(unittest.TestCase):
    def test_order(self):
        self.assertTrue(roles.at_least("manager", "clerk"))
        self.assertFalse(roles.at_least("viewer", "clerk"))
        self.assertEqual(roles.roles_from("manager"), ["manager", "controller"])

    def test_unknown_role(self):
        with self.assertRaises(roles.UnknownRole):
            roles.rank("intern")


class Rules(unittest.TestCase):
    def test_allowed(self):
        self.assertTrue(rules.is_allowed("manager", "refund.issue"))
        self.assertFalse(rules.is_allowed("clerk", "refund.issue"))

    def test_require(self):
        with self.assertRaises(rules.AccessDenied):
            rules.require("viewer", "invoice.create")
        rules.require("controller", "period.close")

    def test_actions_of_a_role(self):
        self.assertEqual(rules.allowed_actions("clerk"), ["invoice.create", "payment.allocate", "report.view"])
        self.assertEqual(rules.weakest_role("refund.issue"), "manager")


if __name__ == "__main__":
    unittest.main()
