"""R1 to R8. Expected values come from the parameters `p` by arithmetic of its own, never from the reference."""

import operator

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def around(value):
    """Both sides of a boundary, and the boundary."""
    return [value - 1, value, value + 1]


def holds(subject, target, rows):
    """Ask all rows (args, kwargs, expected) of one function in one process, and compare each answer."""
    steps = subject.steps()
    answers = [(steps.call(target, *args, **kwargs), expected) for args, kwargs, expected in rows]
    for answer, expected in answers:
        assert answer == expected


def ceil(number, by):
    whole, rest = divmod(number, by)
    return whole + (rest > 0)


def test_R1_peak_surcharge(subject, p):
    """Loads at both sides of the limit, rounding, the most that is added, and other limits."""

    def cents(cost, load, limit=p.peak_load):
        if not COMPARE[p.peak_op](load, limit):
            return cost
        part = ceil(cost * p.peak_pct, 100) if p.peak_round == "up" else cost * p.peak_pct // 100
        return cost + min(part, p.peak_max)

    costs = [0, 1, 3, 99, 1_000, 5_001, *range(p.peak_max * 100 // p.peak_pct - 3, p.peak_max * 100 // p.peak_pct + 5)]
    pairs = [(cost, load) for cost in [*costs, 90_000] for load in (0, *around(p.peak_load), 20_000)]
    rows = [(pair, {}, cents(*pair)) for pair in pairs]
    rows += [((cost, load), {p.peak_kw: 500}, cents(cost, load, 500)) for cost in costs for load in around(500)]
    holds(subject, "tariffs.tariff:peak_cents", rows)


def test_R2_estimated_counters(subject, p):
    """Days at both sides of the limit, none, and other daily values."""

    def counter(start, days, daily=p.est_daily):
        return start + daily * days + (p.est_extra if COMPARE[p.est_op](days, p.est_long) else 0)

    pairs = [(start, days) for start in (0, 5, 123_456) for days in (0, 1, 2, *around(p.est_long), 400)]
    rows = [(pair, {}, counter(*pair)) for pair in pairs]
    rows += [(pair, {p.est_kw: 3}, counter(*pair, 3)) for pair in pairs]
    holds(subject, "meters.readings:estimate", rows)


def test_R3_quiet_slots(subject, p):
    """Watt-hours at both sides of the limit, each order, equals by slot, and other limits."""
    keys = {
        "latest": lambda pair: -pair[0],
        "earliest": lambda pair: pair[0],
        "least": lambda pair: (pair[1], pair[0]),
        "most": lambda pair: (-pair[1], pair[0]),
    }

    def labels(profile, limit=p.quiet_wh):
        kept = sorted((pair for pair in profile if COMPARE[p.quiet_op](pair[1], limit)), key=keys[p.quiet_order])
        return [f"{slot // 4:02d}:{slot % 4 * 15:02d}" for slot, _ in kept]

    profile = [(40, 5), (3, 60), (90, 5), (7, 60), (0, 0), (95, 900), (11, 60)]
    profile += list(zip((50, 20, 60), around(p.quiet_wh), strict=True))
    rows = [((profile,), {}, labels(profile)), (([],), {}, []), ((profile[::-1],), {}, labels(profile))]
    rows += [((profile,), {p.quiet_kw: limit}, labels(profile, limit)) for limit in (0, 5, 60, 61)]
    holds(subject, "meters.profile:quiet_slots", rows)


def test_R4_reminders(subject, p):
    """Days at both sides of the limit, halves, and the least that is charged."""

    def expected(total, late):
        if COMPARE[p.rem_op](late, p.rem_free):
            return {p.rem_key: p.rem_mild, "cents": 0}
        return {p.rem_key: p.rem_firm, "cents": max((total * p.rem_pct * 2 + 100) // 200, p.rem_min)}

    edge = p.rem_min * 100 // p.rem_pct
    totals = [0, 1, 500, 9_950, 10_001, *range(10_000, 10_100, 10), *range(edge - 20, edge + 40, 5)]
    rows = [((total, late), {}, expected(total, late)) for total in totals for late in (0, 1, *around(p.rem_free), 400)]
    holds(subject, "billing.statement:reminder", rows)


def test_R5_severity(subject, p):
    """Excess at both sides of the percentage, none at all, and limits that limit nothing."""

    def expected(wh, limit):
        if COMPARE[p.sev_op]((wh - limit) * 100, p.sev_pct * limit):
            return p.sev_high
        return p.sev_low if wh > limit else None

    pairs = [(1_000 + off, 1_000) for off in (-1_000, -1, 0, 1, *around(p.sev_pct * 10), 5_000)]
    pairs += [(100 + off, 100) for off in around(p.sev_pct)] + [(1, 1), (2, 1), (0, 1), (5, 3), (4, 3)]
    holds(subject, "alerts.limits:severity", [(pair, {}, expected(*pair)) for pair in pairs])
    for limit in (0, -5):
        raised = subject.error("alerts.limits:severity", 10, limit)
        assert raised.type == p.sev_error
        assert raised.is_a(f"alerts.limits.{p.sev_error}")
        assert raised.is_a("ValueError")
        assert raised.message == f"{p.sev_text} {limit}"


def test_R6_instalments(subject, p):
    """Totals at both sides of the limit, that divide and that do not, and other numbers of parts."""

    def parts(total, count=p.plan_parts):
        if COMPARE[p.plan_op](total, p.plan_min):
            return [total]
        each = ceil(ceil(total, count), p.plan_step) * p.plan_step
        full, left = [each] * (total // each), [total % each] if total % each else []
        return left + full if p.plan_rest == "first" else full + left

    totals = [1, 500, *around(p.plan_min), 5_000, 12_345, 90_001]
    totals += [p.plan_step * p.plan_parts * 10 + off for off in (-1, 0, 1)]
    rows = [((total,), {}, parts(total)) for total in totals]
    rows += [((total,), {p.plan_kw: count}, parts(total, count)) for total in totals for count in (1, 3)]
    holds(subject, "billing.instalments:plan", rows)


def test_R7_ranking(subject, p):
    """Gaps at both sides of the limit, shape, order, equals by name, and other limits."""

    def ranked(costs, limit=p.rank_gap):
        least = min(costs.values(), default=0)
        kept = sorted(name for name in costs if COMPARE[p.rank_op](costs[name] - least, limit))
        kept = sorted(kept, key=lambda name: costs[name], reverse=p.rank_order == "widest")
        return [(name, costs[name] - least)[:: 1 if p.rank_shape == "name-gap" else -1] for name in kept]

    costs = {"owl": 1_000, "sun": 1_050, "zap": 1_007, "ant": 1_050, "elm": 1_050, "far": 9_000}
    costs |= {f"e{off}": 1_000 + gap for off, gap in enumerate(around(p.rank_gap))}
    rows = [((costs,), {}, ranked(costs)), (({},), {}, []), (({"one": 5},), {}, ranked({"one": 5}))]
    rows += [((costs,), {p.rank_kw: limit}, ranked(costs, limit)) for limit in (1, 7, 50)]
    holds(subject, "tariffs.compare:ranking", rows)


def test_R8_digest(subject, p):
    """Ages at both sides of the limit, as many texts as fit, one more, many more, and other limits."""

    def texts(alerts, limit=p.dig_limit):
        kept = [text for age, text in alerts if COMPARE[p.rem_op](age, p.rem_free)]
        return kept[:limit] + ([f"{p.dig_more} {len(kept) - limit}"] if len(kept) > limit else [])

    ages = [0, 1, *around(p.rem_free), 400]
    lists = [[(age, f"alert {age}") for age in ages], [], [(900, "old")]]
    lists += [[(number % 3, f"alert {number}") for number in range(size)] for size in (1, 2, *around(p.dig_limit), 300)]
    rows = [((alerts,), {}, texts(alerts)) for alerts in lists]
    rows += [((alerts,), {p.dig_kw: limit}, texts(alerts, limit)) for alerts in lists for limit in (1, 2)]
    holds(subject, "alerts.digest:digest", rows)
