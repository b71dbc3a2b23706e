"""B1 to B12: what TASK.md describes."""


def holds(subject, target, rows):
    """Ask all rows (args, expected) of one function in one process, and compare each answer."""
    steps = subject.steps()
    answers = [(steps.call(target, *args), expected) for args, expected in rows]
    for answer, expected in answers:
        assert answer == expected


def refuses(subject, name, target, *args):
    """The call raises an exception that is of this class."""
    raised = subject.error(target, *args)
    assert raised.is_a(name)
    return raised


def reading(day, wh, meter="M1"):
    return {"meter": meter, "day": day, "wh": wh}


def tariff(name="plain", day=300, night=200, base=20):
    return {"name": name, "day_price": day, "night_price": night, "base_cents": base}


def test_B1_slots_of_minutes(subject):
    """Both ends of a day, of a slot, and minutes that no day has."""
    minutes = [(0, 0), (14, 0), (15, 1), (29, 1), (720, 48), (1_424, 94), (1_425, 95), (1_439, 95)]
    holds(subject, "units.slots:slot_of", [((minute,), slot) for minute, slot in minutes])
    for minute in (-1, 1_440):
        refuses(subject, "units.slots.SlotError", "units.slots:slot_of", minute)


def test_B2_labels(subject):
    """Hours and quarters, and slots that do not exist."""
    labels = [(0, "00:00"), (1, "00:15"), (29, "07:15"), (50, "12:30"), (95, "23:45")]
    holds(subject, "units.slots:label", [((slot,), label) for slot, label in labels])
    for slot in (-1, 96):
        refuses(subject, "units.slots.SlotError", "units.slots:label", slot)


def test_B3_night(subject):
    """From 22:00 to 6:00, at both sides of both."""
    slots = [(0, True), (23, True), (24, False), (50, False), (87, False), (88, True), (95, True)]
    holds(subject, "units.slots:is_night", [((slot,), night) for slot, night in slots])


def test_B4_rounding(subject):
    """Halves up, below zero, too; parts that add up."""
    numbers = [((4, 10), 0), ((5, 10), 1), ((14, 10), 1), ((15, 10), 2), ((1, 3), 0), ((2, 3), 1), ((-5, 10), 0)]
    holds(subject, "units.rounding:half_up", numbers)
    totals = [((11, 3), [4, 4, 3]), ((12, 3), [4, 4, 4]), ((1, 3), [1, 0, 0]), ((7, 1), [7])]
    holds(subject, "units.rounding:split", totals)


def test_B5_problems_of_readings(subject):
    """Each by itself and in their order; equal counters are fine, equal days are not."""
    rows = [(([],), ["empty"]), (([reading(1, 5)],), []), (([reading(1, 5), reading(2, 5)],), [])]
    rows += [(([reading(1, 5), reading(1, 6)],), ["unordered"]), (([reading(1, 5), reading(2, 4)],), ["falling"])]
    rows += [(([reading(1, 5), reading(2, 6, "M2")],), ["mixed"])]
    rows += [(([reading(3, 5), reading(2, 4, "M2"), reading(4, 9)],), ["mixed", "unordered", "falling"])]
    holds(subject, "meters.readings:problems", rows)


def test_B6_consumption(subject):
    """From the second reading on; what is wrong is said."""
    series = [reading(1, 100), reading(2, 300), reading(5, 300), reading(9, 450)]
    rows = [((series,), [(2, 200), (5, 0), (9, 150)]), ((series[:1],), [])]
    holds(subject, "meters.readings:consumption", rows)
    target = "meters.readings:consumption"
    raised = refuses(subject, "meters.readings.ReadingError", target, [reading(2, 5), reading(2, 4)])
    assert raised.message == "unordered, falling"
    assert refuses(subject, "ValueError", target, []).message == "empty"


def test_B7_profiles(subject):
    """Sum, peak and night."""
    profile = [(0, 100), (90, 300), (50, 300), (23, 25)]
    holds(subject, "meters.profile:total", [((profile,), 725), (([],), 0)])
    holds(subject, "meters.profile:peak", [((profile,), 50), (([],), None), (([(5, 0)],), 5)])
    rows = [((profile,), 59), (([(24, 7), (0, 1)],), 13), (([(0, 0)],), 0), (([],), 0), (([(88, 3)],), 100)]
    holds(subject, "meters.profile:night_percent", rows)


def test_B8_prices(subject):
    """Day and night at both sides; a sum that is rounded once."""
    slots = [(23, 200), (24, 300), (87, 300), (88, 200)]
    holds(subject, "tariffs.tariff:price", [((tariff(), slot), price) for slot, price in slots])
    rows = [((tariff(), [(0, 1_000), (50, 2_000)]), 80), ((tariff(), []), 0)]
    rows += [((tariff(day=100), [(50, 49)] * 2), 1), ((tariff(day=100), [(50, 49)]), 0), ((tariff(day=100), [(50, 50)]), 1)]
    holds(subject, "tariffs.tariff:energy_cents", rows)


def test_B9_cheapest_tariff(subject):
    """Energy, base fee, and equals by name."""
    night = [(0, 1_000)]
    two = [tariff(), tariff("owl", 400, 100)]
    rows = [((two, night), "owl"), ((two, [(50, 1_000)]), "plain")]
    rows += [(([tariff("b"), tariff("a")], night), "a"), (([tariff(base=21), tariff("z")], night), "z")]
    holds(subject, "tariffs.tariff:cheapest", rows)


def test_B10_statements(subject):
    """Sums, the day on which they are due, and what cannot be billed."""
    rows = [((30, 5_000, 20), {"energy": 5_000, "base": 600, "total": 5_600})]
    rows += [((1, 0, 7), {"energy": 0, "base": 7, "total": 7})]
    holds(subject, "billing.statement:statement", rows)
    holds(subject, "billing.statement:due_day", [((5,), 15), ((0,), 10)])
    for days in (0, -1):
        refuses(subject, "billing.statement.BillingError", "billing.statement:statement", days, 1, 1)


def test_B11_accounts(subject):
    """What is open, what was paid too much, and nothing of either."""
    cases = [([5_600, 400], [1_000], 5_000, 0), ([500], [1_000], 0, 500), ([], [], 0, 0), ([5], [2, 3], 0, 0)]
    holds(subject, "billing.account:open_cents", [((totals, paid), left) for totals, paid, left, _ in cases])
    holds(subject, "billing.account:credit_cents", [((totals, paid), left) for totals, paid, _, left in cases])


def test_B12_limits(subject):
    """Above, not at the limit; messages with and without slots."""
    profile = [(50, 300), (10, 500), (5, 200), (7, 201)]
    holds(subject, "alerts.limits:over", [((profile, 200), [7, 10, 50]), ((profile, 500), []), (([], 1), [])])
    rows = [(("M1", [4, 5]), "M1: 01:00, 01:15"), (("M9", []), "M9: nothing unusual"), (("x", [95]), "x: 23:45")]
    holds(subject, "alerts.limits:message", rows)
