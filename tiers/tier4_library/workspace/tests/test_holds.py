import unittest
from datetime import date

from holds import errors, pickup, queue

TUESDAY = date(2025, 3, 4)


class Queue(unittest.TestCase):
    def setUp(self):
        first = queue.place([], "T1", 5, TUESDAY)
        self.holds = queue.place(first, "T1", 3, TUESDAY)

    def test_who_came_first(self):
        self.assertEqual(queue.line(self.holds, "T1"), [5, 3])
        self.assertEqual(queue.next_for(self.holds, "T1"), 5)
        self.assertIsNone(queue.next_for(self.holds, "T2"))

    def test_positions(self):
        self.assertEqual(queue.position(self.holds, "T1", 3), 2)
        with self.assertRaises(errors.NotWaiting):
            queue.position(self.holds, "T1", 4)

    def test_once_only(self):
        with self.assertRaises(errors.AlreadyWaiting):
            queue.place(self.holds, "T1", 5, TUESDAY)

    def test_cancelling(self):
        self.assertEqual(queue.line(queue.cancel(self.holds, "T1", 5), "T1"), [3])
        with self.assertRaises(errors.NotWaiting):
            queue.cancel(self.holds, "T2", 5)


class Pickup(unittest.TestCase):
    def test_five_open_days(self):
        self.assertEqual(pickup.ready_until(TUESDAY), date(2025, 3, 11))

    def test_expired(self):
        waiting = [(1, TUESDAY), (2, date(2025, 3, 5))]
        self.assertEqual(pickup.expired(waiting, date(2025, 3, 12)), [1])


if __name__ == "__main__":
    unittest.main()
