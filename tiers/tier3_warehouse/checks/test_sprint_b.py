"""R13 to R24. Expected values come from the parameters `p` by arithmetic of its own, never from the reference."""

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


def divided(dividend, divisor, rounding):
    """A quotient rounded up or down."""
    whole, rest = divmod(dividend, divisor)
    return whole + (rest > 0 and rounding == "up")


def test_R13_batches_of_singles(subject, p):
    """Both limits of a batch at both sides, orders of several picks left out, and the shape."""

    def expected(singles, most=p.batch_orders):
        batches = []
        for name, units in singles:
            batch = batches[-1] if batches else None
            if batch is None or len(batch) == most or sum(u for _, u in batch) + units > p.wave_units:
                batches.append([])
            batches[-1].append((name, units))
        return [{p.batch_key: [name for name, _ in batch], "units": sum(u for _, u in batch)} for batch in batches]

    def given(picks):
        return [{"order": name, "sku": "MUG", "units": units, "location": "A-01-01-1"} for name, units in picks]

    half = p.wave_units // 2
    cases = [[(f"O{n * 7 % 97}", 1) for n in range(count)] for count in (0, *around(p.batch_orders), 90)]
    cases += [[("P9", half), ("P2", total - half), ("P5", 1)] for total in around(p.wave_units)]
    cases += [[("P9", units), ("P2", 3), ("P5", units)] for units in around(p.wave_units)]
    rows = [((given(singles),), {}, expected(singles)) for singles in cases]
    both = cases[-1] + cases[4]
    rows += [((given(both),), {p.batch_kw: most}, expected(both, most)) for most in (1, 40)]
    mixed = [("O8", 5), ("O3", 4), ("O8", 6), ("O1", 2), ("O7", 1), ("O7", 1)]
    rows.append(((given(mixed),), {}, expected([("O3", 4), ("O1", 2)])))
    holds(subject, "picking.batches:batch_singles", rows)


def test_R14_worst_shorts(subject, p):
    """Sums over orders, the least sum at both sides, the order with equals, and the limit."""

    def expected(shorts, limit=p.short_limit):
        total = {}
        for sku, missing in shorts:
            total[sku] = total.get(sku, 0) + missing
        listed = sorted((sku for sku in total), reverse=p.short_tie == "desc")
        listed = [sku for sku in listed if COMPARE[p.short_op](total[sku], p.short_min)]
        listed.sort(key=lambda sku: total[sku], reverse=True)
        return [{"sku": sku, p.short_key: total[sku]} for sku in listed[:limit]]

    def given(shorts):
        return [{"order": f"O{n}", "sku": sku, "missing": missing} for n, (sku, missing) in enumerate(shorts)]

    parts = [("PAN", 60), ("MUG", 1), ("PAN", 60), ("LID", p.short_min), ("CUP", 40), ("CUP", p.short_min - 40)]
    parts += [(f"E{missing}", missing) for missing in around(p.short_min)] + [("POT", 60), ("POT", 60), ("JAR", 900)]
    many = [(f"S{n * 37 % 100:02d}", 200 + n // 3) for n in range(100)]
    cases = [[], parts, many[: p.short_limit - 1], many[: p.short_limit], many[: p.short_limit + 1], many]
    rows = [((given(shorts),), {}, expected(shorts)) for shorts in cases]
    rows += [((given(parts),), {"limit": limit}, expected(parts, limit)) for limit in (0, 1, 3, 500)]
    holds(subject, "picking.shorts:worst", rows)


def test_R15_padding(subject, p):
    """Volumes at both sides of the usable part of each carton, and the new error."""
    kinds = [("L", 5_000, 20_000), ("S", 100, 5_000), ("M", 1_000, 10_000)]
    cartons = [{"name": name, "inner_mm3": inner, "max_g": grams} for name, inner, grams in kinds]
    target = "packing.cartons:choose"

    def expected(volume, grams, percent):
        for name, inner, most in sorted(kinds, key=lambda kind: kind[1]):
            if COMPARE[p.pack_op](volume * 100, percent * inner) and grams <= most:
                return name
        return None

    rows = []
    volumes = [around(inner * percent // 100) for _, inner, _ in kinds for percent in (p.pack_fill, 50, 100)]
    for volume in [1, *(volume for three in volumes for volume in three), 9_000]:
        for grams in (1, 5_000, 5_001, 20_001):
            for given, percent in (({}, p.pack_fill), ({p.pack_kw: 50}, 50), ({p.pack_kw: 100}, 100)):
                name = expected(volume, grams, percent)
                if name is not None:
                    rows.append(((volume, grams, cartons), given, name))
    rows.append(((50, 1, cartons, 50), {}, expected(50, 1, 50)))
    holds(subject, target, rows)
    large = 5_000 * p.pack_fill // 100 + 1
    for volume, grams in ((large, 1), (1, 20_001)):
        raised = refuses(subject, p.pack_error, "PackingError", target, volume, grams, cartons)
        assert raised.is_a(f"packing.errors.{p.pack_error}")


def test_R16_scale(subject, p):
    """Both kinds of tolerance at both sides and in both directions, and the sign."""

    def expected(wanted, measured):
        allowed = max(p.scale_g, wanted * p.scale_bps // 10_000)
        off = wanted - measured if p.scale_sign == "expected-measured" else measured - wanted
        return {p.scale_key: off, "ok": COMPARE[p.scale_op](abs(off), allowed)}

    rows = []
    for wanted in (100, 1_000, 9_999, 10_000, 10_099, 100_000, 123_456):
        allowed = max(p.scale_g, wanted * p.scale_bps // 10_000)
        for off in (0, 1, *around(allowed), 9_000):
            rows += [((wanted, wanted + sign * off), {}, expected(wanted, wanted + sign * off)) for sign in (-1, 1)]
    holds(subject, "packing.weighing:check_scale", rows)


def test_R17_freight_of_cartons(subject, p):
    """The weight with its tare, the volume by the divisor with its rounding, and which of them counts."""

    def expected(inner, goods, tare=p.tare_g):
        return max(goods + tare, divided(inner, p.divisor, p.tare_round))

    inners = [1, *around(p.divisor * 700), p.divisor * 9_000 - 5, p.divisor * 9_000, p.divisor * 9_000 + 5]
    rows = []
    for inner in inners:
        carton = {"name": "M", "inner_mm3": inner, "max_g": 30_000}
        for goods in (0, 1, 650, 8_999, 20_000):
            rows.append(((carton, goods), {}, expected(inner, goods)))
            rows += [((carton, goods), {p.tare_kw: tare}, expected(inner, goods, tare)) for tare in (0, 50)]
    holds(subject, "packing.cartons:freight_g", rows)


def test_R18_billable_weight(subject, p):
    """Weight and volume at both sides of each other and of a step, and the parameter."""

    def expected(grams, volume, divisor=p.divisor):
        counted = max(grams, volume // divisor)
        below = counted // p.bill_step * p.bill_step
        up = {"down": False, "up": counted > below, "nearest": 2 * (counted - below) >= p.bill_step}[p.bill_round]
        return below + p.bill_step * up

    step, half = p.bill_step, p.bill_step // 2
    exact = p.divisor * step * 40
    rows = [
        ((g, 1, 1, 1), {}, expected(g, 1)) for g in (1, half, *around(step), *around(step + half), 9 * step, 77_777)
    ]
    for volume in (exact - 1, exact, exact + 1, exact + p.divisor - 1, exact + p.divisor, exact + p.divisor * half):
        for grams in (1, step * 39, step * 40, step * 40 + 1, step * 50):
            rows.append(((grams, 1, volume, 1), {}, expected(grams, volume)))
    middle = p.divisor * (step * 40 + (step + 1) // 2)
    rows += [((1, 1, 1, volume), {}, expected(1, volume)) for volume in around(middle)]
    rows += [((5, 30, 40, 50), {p.bill_kw: divisor}, expected(5, 60_000, divisor)) for divisor in (1, 7, 100, 50_000)]
    holds(subject, "shipping.dimensional:billable_g", rows)


def test_R19_girth(subject, p):
    """The girth with each side the longest, the mark at both sides, and the shape."""

    def expected(*sides):
        girth = max(sides) + 2 * (sum(sides) - max(sides))
        mark = p.girth_word if COMPARE[p.girth_op](girth, p.girth_mm) else None
        return (mark, girth) if p.girth_shape == "mark-girth" else (girth, mark)

    rows = [((a, b, c), {}, expected(a, b, c)) for a, b, c in ((300, 20, 10), (20, 300, 10), (10, 20, 300), (9, 9, 9))]
    for girth in (*around(p.girth_mm), 9_000):
        longest = girth - 2 * 70
        rows += [((longest, 40, 30), {}, expected(longest, 40, 30)), ((30, 40, longest), {}, expected(30, 40, longest))]
    holds(subject, "shipping.dimensional:girth", rows)


def test_R20_express_truck(subject, p):
    """Minutes left until the truck leaves, and at both sides of that minute."""
    target = "shipping.departures:express_minutes_left"
    leaves = p.express_minute + p.truck_lag
    minutes = [0, 100, p.express_minute, *around(leaves), leaves + 200]
    gone = [minute for minute in minutes if COMPARE[p.truck_op](minute, leaves)]
    holds(subject, target, [((minute,), {}, leaves - minute) for minute in minutes if minute not in gone])
    for minute in gone:
        raised = refuses(subject, p.truck_error, "ShippingError", target, minute)
        assert raised.is_a(f"shipping.errors.{p.truck_error}")


def test_R21_longer_windows(subject, p):
    """Both windows at both sides, with and without further days."""
    target = "returns.authorise:authorise"
    rows, closed = [], []
    for category, compare, window in ((p.window_cat, p.window_op, p.window_days), ("kitchen", ">", 30)):
        for extra in (None, 0, 8):
            for days in (0, *around(window), *around(window + 8), 400):
                args = ("O1", category, DAY, DAY + timedelta(days=days))
                given = {} if extra is None else {p.window_kw: extra}
                if COMPARE[compare](days, window + (extra or 0)):
                    closed.append((args, given))
                else:
                    rows.append((args, given, {"order": "O1", "category": category, "days": days}))
    holds(subject, target, rows)
    for args, given in closed:
        refuses(subject, "WindowClosed", "ReturnsError", target, *args, **given)


def test_R22_resale(subject, p):
    """Every grade with days at both sides of near expiry, and rounding."""

    def expected(grade, price, left):
        percent = {"A": 100, "B": p.resale_b, "C": 0}[grade]
        if grade != "C" and COMPARE[p.near_op](left, p.near_days):
            percent = p.resale_near
        return divided(price * percent, 100, p.resale_round)

    prices, days = (0, 1, 99, 100, 1_001, 9_950), (0, 1, *around(p.near_days), 500)
    cases = [(grade, price, left) for grade in "ABC" for price in prices for left in days]
    holds(subject, "returns.disposition:resale_cents", [(case, {}, expected(*case)) for case in cases])
    refuses(subject, "UnknownGrade", "ReturnsError", "returns.disposition:resale_cents", "D", 100, 500)


def test_R23_last_entries(subject, p):
    """The limit at both sides, its default, the filter, and the order."""

    def expected(actions, limit=p.tail_limit, action=None):
        found = [number for number, one in enumerate(actions, 1) if action in (None, one)]
        found = found[len(found) - min(limit, len(found)) :]
        return found if p.tail_order == "oldest" else found[::-1]

    def given(actions):
        names = ("number", "actor", "action", "subject")
        return [dict(zip(names, (n, "ada", action, "MUG"), strict=True)) for n, action in enumerate(actions, 1)]

    target = f"audit.journal:{p.tail_method}"
    actions = [("move", "count", "move", "access")[n % 4] for n in range(120)]
    rows = [((given(actions[:count]),), {}, expected(actions[:count])) for count in (0, 1, *around(p.tail_limit), 120)]
    rows += [((given(actions),), {"limit": limit}, expected(actions, limit)) for limit in (0, 1, 5, 900)]
    for action in ("move", "count", "lift"):
        rows.append(((given(actions),), {p.tail_kw: action}, expected(actions, action=action)))
        rows.append(((given(actions), 3), {p.tail_kw: action}, expected(actions, 3, action)))
    holds(subject, target, rows)


def test_R24_purging(subject, p):
    """Days of the new kind, age at both sides for every kind, and the order."""
    keep = {"movement": 730, "count": 365, "access": 90, p.purge_kind: p.purge_days}

    def expected(records):
        old = [(day, name) for name, kind, day in records if COMPARE[p.purge_op]((DAY - day).days, keep[kind])]
        old.sort(key=lambda record: record[1])
        old.sort(key=lambda record: record[0], reverse=p.purge_order == "newest")
        return [name for _, name in old]

    holds(subject, "audit.retention:keep_days", [((kind,), {}, days) for kind, days in keep.items()])
    ages = [(kind, age) for kind, days in keep.items() for age in (0, *around(days), days + 200)]
    records = [(f"r{n * 7 % 41:02d}", kind, DAY - timedelta(days=age)) for n, (kind, age) in enumerate(ages * 2)]
    single = [([record], DAY) for record in records]
    rows = [(args, {}, expected(args[0])) for args in (*single, (records, DAY), ([], DAY))]
    holds(subject, "audit.retention:purgeable", rows)
