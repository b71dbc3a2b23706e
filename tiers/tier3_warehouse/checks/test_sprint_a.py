"""R1 to R12. Expected values come from the parameters `p` by arithmetic of its own, never from the reference."""

import operator
from datetime import date, timedelta

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
DAY = date(2025, 5, 5)


def around(value):
    """Both sides of a boundary, and the boundary."""
    return [value - 1, value, value + 1]


def holds(subject, target, rows):
    """Ask all rows (args, kwargs, expected) of one function in one process, and compare each answer."""
    steps = subject.steps()
    answers = [(steps.call(target, *args, **kwargs), expected) for args, kwargs, expected in rows]
    for answer, expected in answers:
        assert answer == expected


def refuses(subject, name, base, target, *args, **kwargs):
    """The call raises an exception of this name and base."""
    raised = subject.error(target, *args, **kwargs)
    assert raised.type == name
    assert raised.is_a(base)
    return raised


def test_R1_safety_stock(subject, p):
    """Both percentages, the demand at which they change, and rounding up."""

    def stock(demand, days):
        percent = p.cover_fast_pct if COMPARE[p.cover_op](demand, p.cover_fast) else p.cover_pct
        whole, rest = divmod(demand * days * percent, 100)
        return whole + (rest > 0)

    pairs = [(demand, days) for demand in (0, 1, 100, *around(p.cover_fast), 1_000) for days in (0, 1, 7, 100)]
    rows = [(pair, {}, stock(*pair)) for pair in pairs]
    rows += [((demand,), {p.cover_kw: days}, stock(demand, days)) for demand, days in pairs]
    holds(subject, "inventory.replenish:safety_stock", rows)


def test_R2_near_expiry(subject, p):
    """Days left at both sides of the limit, what is past or never expires, order and shape."""

    def expected(lots, days=p.near_days):
        kept = [(units, code, left) for code, units, left in lots if left is not None and left >= 0]
        kept = [lot for lot in kept if COMPARE[p.near_op](lot[2], days)]
        kept.sort(key=lambda lot: (lot[0] if p.near_order == "asc" else -lot[0], lot[1]))
        return [(left, code) if p.near_shape == "left-code" else (code, left) for _, code, left in kept]

    def given(lots):
        def day(left):
            return None if left is None else DAY + timedelta(days=left)

        return [{"code": code, "units": units, "expires": day(left)} for code, units, left in lots]

    lots = [(f"L{left}", 90 + left * 7 % 23, left) for left in (-2, -1, 0, 1, 9, 10, 11, *around(p.near_days), 300)]
    lots += [("K9", 55, 3), ("K1", 55, 4), ("K5", 70, 3), ("K0", 500, None)]
    rows = [((given(lots), DAY), {}, expected(lots)), (([], DAY), {}, [])]
    rows += [((given(lots), DAY), {p.near_kw: days}, expected(lots, days)) for days in (0, 1, 10, 300)]
    holds(subject, "inventory.lots:near_expiry", rows)


def test_R3_count_verdict(subject, p):
    """The slack at both sides in both directions, an empty location, and negative numbers."""

    def verdict(expected, counted, slack=p.count_slack):
        within = COMPARE[p.count_op](abs(counted - expected) * 1_000, slack * expected)
        return p.count_ok if within else p.count_bad

    pairs = [(1_000, 1_000 + sign * off) for off in (0, *around(p.count_slack)) for sign in (-1, 1)]
    pairs += [(100_000, 100_000 - off) for off in around(100 * p.count_slack)]
    pairs += [(0, 0), (0, 1), (3, 3), (3, 2), (100, 99)]
    rows = [(pair, {}, verdict(*pair)) for pair in pairs]
    rows += [((1_000, 1_000 + off), {p.count_kw: 200}, verdict(1_000, 1_000 + off, 200)) for off in around(200)]
    rows += [((9, 8, 1_000), {}, verdict(9, 8, 1_000))]
    holds(subject, "inventory.counting:verdict", rows)
    refuses(subject, "InventoryError", "ValueError", "inventory.counting:verdict", 5, -1)


def test_R4_over_delivery(subject, p):
    """Receipts at both sides of the surplus; the message says it; a shortage of that size is none."""
    target = "inbound.receiving:receive_line"
    rows = []
    for expected in (0, 1, 100, 1_000):
        limit = expected * p.over_pct // 100
        for surplus in (-limit, -limit - 1, -limit + 1, 0, 1, *around(limit), expected):
            received = expected + surplus
            if received < 0:
                continue
            if surplus > 0 and COMPARE[p.over_op](surplus * 100, p.over_pct * expected):
                raised = refuses(subject, p.over_error, "InboundError", target, {"MUG": expected}, "MUG", received)
                assert raised.is_a(f"inbound.errors.{p.over_error}")
                assert raised.message == f"{p.over_text} {surplus}"
                continue
            status = "exact" if surplus == 0 else "short" if surplus < 0 else "over"
            receipt = {"sku": "MUG", "expected": expected, "received": received, "status": status}
            rows.append((({"MUG": expected}, "MUG", received), {}, receipt))
    holds(subject, target, rows)


def test_R5_heavy_goods(subject, p):
    """The weight at both sides, the zone of heavy goods, the bay among them, and no fallback."""
    zone = p.heavy_zone
    free = [f"{zone}-04-05-1", f"{zone}-02-02-2", f"{zone}-05-02-1", "A-01-09-1", "ZZ-01-01-1", f"{zone}-03-05-1"]
    free += [f"{zone}-01-03-1"]
    heavy = f"{zone}-03-05-1" if p.heavy_bay == "highest" else f"{zone}-02-02-2"
    target = "inbound.putaway:slot_for"
    weights = [1, *around(p.heavy_g), 90_000]
    is_heavy = COMPARE[p.heavy_op]
    rows = [((grams, free), {}, heavy if is_heavy(grams, p.heavy_g) else "A-01-09-1") for grams in weights]
    rows += [((1, ["B-01-01-1"]), {}, "B-01-01-1"), ((90_000, [f"{zone}-09-09-9"]), {}, f"{zone}-09-09-9")]
    holds(subject, target, rows)
    refuses(subject, "NoSlot", "InboundError", target, 90_000, ["A-01-01-1", "ZZ-01-01-1"])


def test_R6_unloading_time(subject, p):
    """Seconds for no, one and many pallets of both kinds, up to the cap."""

    def seconds(pallets, by_hand):
        return min(p.unload_base + pallets * (p.unload_hand if by_hand else p.unload_each), p.unload_cap)

    counts = [0, 1, 2, 20, 30, *range(38, 46), *range(81, 101), 1_000]
    rows = [((count,), {}, seconds(count, False)) for count in counts]
    rows += [((count,), {p.unload_kw: hand}, seconds(count, hand)) for count in counts for hand in (False, True)]
    holds(subject, "inbound.docks:unload_seconds", rows)


def test_R7_bulk_orders(subject, p):
    """Units at both sides, in one line and over several, and the place among other problems."""

    def given(lines, channel="web"):
        return {"number": "O1", "channel": channel, "ship_by": DAY, "lines": lines}

    def expected(lines, *others):
        found = list(others)
        if COMPARE[p.bulk_op](sum(units for _, units in lines), p.bulk_units):
            found.insert(0 if p.bulk_place == "first" else len(found), p.bulk_code)
        return found

    rows = []
    for units in (1, *around(p.bulk_units), 9_000):
        for lines in ([("MUG", units)], [("MUG", units - 9), ("PAN", 4), ("LID", 5)]):
            wrong = ["bad-units"] if lines[0][1] < 1 else []
            rows.append(((given(lines),), {}, expected(lines, *wrong)))
            rows.append(((given(lines, "fax"),), {}, expected(lines, "unknown-channel", *wrong)))
    twice = [("MUG", 8_000), ("MUG", 0)]
    rows.append(((given(twice, "fax"),), {}, expected(twice, "unknown-channel", "bad-units", "repeated-article")))
    holds(subject, "orders.intake:problems", rows)


def test_R8_urgency(subject, p):
    """Points with and without the new key, early and late, and the order by points."""

    def points(late, extra):
        return p.rank_day * max(late, 0) + p.rank_weight * (extra or 0)

    def given(number, late, extra=None):
        order = {"number": number, "channel": "web", "ship_by": DAY - timedelta(days=late), "lines": [("MUG", 1)]}
        return order if extra is None else {**order, p.rank_field: extra}

    cases = [(late, extra) for late in (-3, 0, 1, 8) for extra in (None, 0, 1, 5)]
    rows = [((given("O1", late, extra), DAY), {}, points(late, extra)) for late, extra in cases]
    holds(subject, "orders.priority:score", rows)
    orders = [(f"O{n * 7 % 16:02d}", late, extra) for n, (late, extra) in enumerate(cases)]
    sign = -1 if p.rank_order == "highest" else 1
    ranked = sorted(orders, key=lambda order: (sign * points(order[1], order[2]), order[0]))
    numbers = [number for number, _, _ in ranked]
    rows = [(([given(*order) for order in orders], DAY), {}, numbers), (([], DAY), {}, [])]
    holds(subject, "orders.priority:by_score", rows)


def test_R9_express_orders(subject, p):
    """The deadline at both sides on every day of the week, and the days of rest."""
    rest = {"sun": (6,), "sat": (5,), "sat+sun": (5, 6)}[p.express_rest]

    def leaves(day, minute, closes=p.express_minute):
        day += timedelta(days=0 if COMPARE[p.express_op](minute, closes) else 1)
        while day.weekday() in rest:
            day += timedelta(days=1)
        return day

    days = [DAY + timedelta(days=n) for n in range(7)]
    minutes = [0, *around(p.express_minute), 1_439]
    rows = [((day, minute), {}, leaves(day, minute)) for day in days for minute in minutes]
    rows += [((day, minute), {p.express_kw: 300}, leaves(day, minute, 300)) for day in days for minute in around(300)]
    holds(subject, "orders.promise:express_ship_by", rows)


def test_R10_least_fill(subject, p):
    """Lines at both sides of the least fill; what they leave behind goes to later lines; the new key."""

    def expected(lines, available, least=p.fill_pct):
        left, given, lacking, refused = dict(available), {}, {}, []
        for sku, units in lines:
            part = min(units, left.get(sku, 0))
            if COMPARE[p.fill_op](part * 100, least * units):
                refused.append(sku)
                part = 0
            left[sku] = left.get(sku, 0) - part
            for table, count in ((given, part), (lacking, units - part)):
                if count:
                    table[sku] = table.get(sku, 0) + count
        return {"given": given, "lacking": lacking, p.fill_field: refused}

    lines = [("PAN", 100), ("MUG", 100), ("MUG", 30), ("LID", 5)]
    stocks = [{"MUG": units, "LID": 5} for units in (0, 1, *around(p.fill_pct), 99, 100, 130, 500)]
    rows = [((lines, stock), {}, expected(lines, stock)) for stock in stocks]
    for units in around(100 * p.fill_pct):
        rows.append((([("MUG", 10_000)], {"MUG": units}), {}, expected([("MUG", 10_000)], {"MUG": units})))
    for least in (0, 20, 100):
        rows += [
            (([("MUG", 100)], {"MUG": units}), {p.fill_kw: least}, expected([("MUG", 100)], {"MUG": units}, least))
            for units in (*around(20), 99, 100)
        ]
    holds(subject, "orders.allocation:allocate", [*rows, (([], {}), {}, expected([], {}))])


def test_R11_waves_by_units(subject, p):
    """The limit at both sides, single picks beyond it, and the order of picks."""

    def expected(picks, limit=p.wave_units):
        waves, total = [], None
        for name, units in sorted(picks, key=lambda pick: pick[1] if p.wave_order == "smallest" else -pick[1]):
            if total is None or COMPARE[p.wave_op](total + units, limit):
                waves.append([])
                total = 0
            waves[-1].append(name)
            total += units
        return waves

    def given(picks):
        return [{"order": name, "sku": "MUG", "units": units, "location": "A-01-01-1"} for name, units in picks]

    half = p.wave_units // 2
    cases = [[("O1", half), ("O2", total - half)] for total in around(p.wave_units)]
    cases += [[("O1", half), ("O2", total - half), ("O3", 1)] for total in around(p.wave_units)]
    cases += [[("O1", units), ("O2", units), ("O3", 5)] for units in around(p.wave_units)]
    cases += [[], [("O5", 2), ("O4", 90), ("O3", 2), ("O2", 90), ("O1", 44), ("O6", 90)]]
    rows = [((given(picks),), {}, expected(picks)) for picks in cases]
    rows += [((given(picks),), {p.wave_kw: limit}, expected(picks, limit)) for picks in cases for limit in (1, 90, 134)]
    holds(subject, "picking.waves:by_units", rows)


def test_R12_walking_time(subject, p):
    """Every part of the time alone and together; zones count as other aisles; the way is not sorted."""

    def walk(stops, start=p.walk_start):
        total = start + p.walk_stop * len(stops)
        for (zone, aisle, bay), (next_zone, next_aisle, next_bay) in zip(stops, stops[1:], strict=False):
            same = (zone, aisle) == (next_zone, next_aisle)
            total += p.walk_bay * abs(next_bay - bay) if same else p.walk_aisle
        return total

    cases = [[], [("A", 1, 1)], [("A", 1, 1), ("A", 1, 2)], [("A", 1, 8), ("A", 1, 1), ("A", 1, 8)]]
    cases += [[("A", 1, 1), ("A", 2, 9)], [("A", 1, 1), ("B", 1, 1)], [("A", 3, 4), ("A", 3, 4)]]
    cases += [[("B", 5, 1), ("A", 2, 9), ("A", 2, 4), ("A", 7, 4), ("A", 7, 6), ("B", 7, 6)]]
    labels = [[f"{zone}-{aisle:02d}-{bay:02d}-1" for zone, aisle, bay in stops] for stops in cases]
    rows = [((places,), {}, walk(stops)) for places, stops in zip(labels, cases, strict=True)]
    rows += [((places,), {p.walk_kw: 0}, walk(stops, 0)) for places, stops in zip(labels, cases, strict=True)]
    rows += [((labels[-1], 5), {}, walk(cases[-1], 5))]
    holds(subject, "picking.route:walk_ms", rows)
