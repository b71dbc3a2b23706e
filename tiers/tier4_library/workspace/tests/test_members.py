import unittest
from datetime import date

from members import cards, names, registry
from members.errors import MemberError, UnknownMember


def member(number=1, name="Ann Brook", born=date(1990, 5, 10), category="adult", joined=date(2024, 3, 2)):
    return {"number": number, "name": name, "born": born, "category": category, "joined": joined}


class Cards(unittest.TestCase):
    def test_age(self):
        self.assertEqual(cards.age_on(date(2010, 5, 10), date(2020, 5, 9)), 9)
        self.assertEqual(cards.age_on(date(2010, 5, 10), date(2025, 5, 10)), 15)

    def test_categories(self):
        self.assertEqual(cards.category_for(date(2010, 5, 10), date(2025, 5, 10)), "adult")
        self.assertEqual(cards.category_for(date(2015, 5, 10), date(2025, 5, 10)), "child")

    def test_a_year(self):
        self.assertEqual(cards.valid_until(member()), date(2025, 3, 2))
        self.assertFalse(cards.is_valid(member(), date(2025, 3, 3)))


class Names(unittest.TestCase):
    def test_register_form(self):
        self.assertEqual(names.listed("Anna  Maria Brook"), "Brook, Anna Maria")
        self.assertEqual(names.listed("Cher"), "Cher")
        self.assertEqual(names.initials("anna Maria Brook"), "AMB")


class Registry(unittest.TestCase):
    def test_numbers_count_up(self):
        known = registry.add({}, member())
        self.assertEqual(registry.next_number(known), 2)
        with self.assertRaises(MemberError):
            registry.add(known, member(number=3))

    def test_finding(self):
        known = registry.add({}, member())
        self.assertEqual(registry.find(known, 1)["name"], "Ann Brook")
        with self.assertRaises(UnknownMember):
            registry.find(known, 2)

    def test_categories(self):
        self.assertEqual(registry.in_category({1: member(), 2: member(2, category="child")}, "child"), [2])


if __name__ == "__main__":
    unittest.main()
