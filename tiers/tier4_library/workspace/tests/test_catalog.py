import unittest

from catalog import copies, search, series, shelving, titles


def title(code="T1", name="The Sea", author="Bo Brown", kind="book", year=1995):
    return {"code": code, "name": name, "author": author, "kind": kind, "year": year}


class Titles(unittest.TestCase):
    def test_sorting_leaves_articles_out(self):
        shelf = [title("T1", "The Sea"), title("T2", "A Boat"), title("T3", "Tide")]
        self.assertEqual(titles.by_name(shelf), ["T2", "T1", "T3"])

    def test_problems_are_listed(self):
        self.assertEqual(titles.problems(title()), [])
        self.assertEqual(titles.problems(title(name=" ", kind="map")), ["no-name", "unknown-kind"])

    def test_adding_and_finding(self):
        known = titles.add({}, title())
        self.assertEqual(titles.find(known, "T1"), title())
        with self.assertRaises(titles.CatalogError):
            titles.add(known, title())
        with self.assertRaises(titles.UnknownTitle):
            titles.find(known, "T2")


class Copies(unittest.TestCase):
    def test_barcodes(self):
        self.assertTrue(copies.is_barcode("1234567" + str(copies.check_digit("1234567"))))
        self.assertFalse(copies.is_barcode("12345"))

    def test_what_is_there(self):
        shelf = [
            {"barcode": "20", "title": "T1", "state": "shelf"},
            {"barcode": "10", "title": "T1", "state": "shelf"},
            {"barcode": "30", "title": "T1", "state": "out"},
        ]
        self.assertEqual(copies.available(shelf, "T1"), ["10", "20"])
        self.assertEqual(copies.count_by_state(shelf, "T1"), {"shelf": 2, "out": 1, "repair": 0, "lost": 0})


class Search(unittest.TestCase):
    def test_every_word_must_be_there(self):
        shelf = [title("T1", "The Sea"), title("T2", "Sea Air", "Ann Lee")]
        self.assertEqual(search.search(shelf, "sea"), ["T1", "T2"])
        self.assertEqual(search.search(shelf, "lee SEA"), ["T2"])
        self.assertEqual(search.search(shelf, ""), [])

    def test_years(self):
        shelf = [title("T1", year=1990), title("T2", year=2000)]
        self.assertEqual(search.of_years(shelf, 1990, 1995), ["T1"])


class Series(unittest.TestCase):
    def test_volumes(self):
        some = series.add_volume({1: "T1"}, 4, "T9")
        self.assertEqual(some, {1: "T1", 4: "T9"})
        self.assertEqual(series.gaps(some), [2, 3])
        self.assertEqual([series.after(some, "T1"), series.after(some, "T9")], ["T9", None])

    def test_refusals(self):
        for number, code in ((0, "T2"), (1, "T2"), (2, "T1")):
            with self.assertRaises(titles.CatalogError):
                series.add_volume({1: "T1"}, number, code)


class Shelving(unittest.TestCase):
    def test_marks(self):
        self.assertEqual(shelving.shelf_mark(title(author="O'Brien")), "B-OBR-1995")
        self.assertEqual(shelving.parse_mark("F-LEE-2000"), ("F", "LEE", 2000))

    def test_order(self):
        marks = ["F-ABC-1990", "B-XYZ-2000", "B-ABC-2000"]
        self.assertEqual(shelving.in_order(marks), ["B-ABC-2000", "B-XYZ-2000", "F-ABC-1990"])


if __name__ == "__main__":
    unittest.main()
