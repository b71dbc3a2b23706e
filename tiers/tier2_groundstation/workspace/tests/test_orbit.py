import unittest

from orbit import passes, satellites, windows


def a_pass(satellite="DUNE", start=0, end=600, peak=40):
    return {"satellite": satellite, "start": start, "end": end, "rise_deg": 10, "set_deg": 60, "peak_deg": peak}


class Windows(unittest.TestCase):
    def test_length(self):
        self.assertEqual(windows.length((5, 65)), 60)
        with self.assertRaises(windows.BadWindow):
            windows.length((5, 4))

    def test_overlap(self):
        self.assertEqual(windows.overlap((0, 60), (45, 90)), 15)
        self.assertEqual(windows.overlap((0, 60), (60, 90)), 0)

#:if joins_touching
    def test_merged(self):
        self.assertEqual(windows.merged([(50, 60), (0, 10), (10, 20), (55, 70)]), [(0, 20), (50, 70)])
#:else
    def test_merged(self):
        self.assertEqual(windows.merged([(50, 60), (0, 10), (55, 70)]), [(0, 10), (50, 70)])
#:end

    def test_gaps(self):
        self.assertEqual(windows.gaps([(20, 30), (50, 60)], (0, 60)), [(0, 20), (30, 50)])
        self.assertEqual(windows.gaps([], (0, 60)), [(0, 60)])


class Satellites(unittest.TestCase):
    def test_lists(self):
        self.assertEqual(satellites.in_band("S"), ["BORA-1", "BORA-2"])
        self.assertEqual(satellites.fleet_of("Tern Imaging"), ["ASTER", "CIRRUS"])

    def test_unknown(self):
        with self.assertRaises(satellites.UnknownSatellite):
            satellites.satellite("SPUTNIK")

    def test_revolutions(self):
        self.assertEqual(satellites.revolutions("CIRRUS", 81_000), 15)


class Passes(unittest.TestCase):
    def test_usable(self):
        low, short = a_pass(peak=5), a_pass(end=60)
        late, early = a_pass(start=300), a_pass(start=100)
        self.assertEqual(passes.usable([low, late, short, early]), [early, late])

    def test_best(self):
        found = passes.best([a_pass(peak=40), a_pass(start=100, peak=70), a_pass(start=50, peak=70)])
        self.assertEqual(found["start"], 50)
        with self.assertRaises(passes.NoPass):
            passes.best([])

    def test_trimmed(self):
        self.assertEqual(passes.seconds_of(passes.trimmed(a_pass(), 60)), 480)
        self.assertIsNone(passes.trimmed(a_pass(), 300))


if __name__ == "__main__":
    unittest.main()
