"""R1 to R8. Expected values come from the parameters `p` by arithmetic of its own, never from the reference."""

import operator

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
RANKS = {"viewer": 1, "clerk": 2, "manager": 3, "controller": 4}
NEEDED = {"report.view": 1, "invoice.create": 2, "refund.issue": 3, "period.close": 4}


def around(value):
    """Both sides of a boundary, and the boundary."""
    return [value - 1, value, value + 1]


def holds(subject, target, rows):
    """Ask all rows (args, kwargs, expected) of one function in one process, and compare each answer."""
    steps = subject.steps()
    answers = [(steps.call(target, *args, **kwargs), expected) for args, kwargs, expected in rows]
    for answer, expected in answers:
        assert answer == expected


def refuses(subject, name, base, target, *args, message=None):
    """The call raises an exception of this name and base, with this message."""
    raised = subject.error(target, *args)
    assert raised.type == name
    assert raised.is_a(base)
    assert message is None or raised.message == message


def test_R1_posting_holds(subject, p):
    """Amount, age and cap of a hold at both sides of each limit; negative amounts are refused."""

    def hours(amount, age, cap=p.hold_cap):
        base = p.hold_long if COMPARE[p.op_hold](amount, p.hold_amount) else p.hold_short
        return min(cap, base + (p.hold_extra if COMPARE[p.op_age](age, p.hold_age) else 0))

    amounts, ages = [0, *around(p.hold_amount), 9_000_000], [0, *around(p.hold_age), 5_000]
    rows = [((amount, age), {}, hours(amount, age)) for amount in amounts for age in ages]
    for cap in (1, p.hold_short, p.hold_long + p.hold_extra, 1_000):
        rows += [((amount, age), {p.hold_kw: cap}, hours(amount, age, cap)) for amount in amounts for age in ages]
    holds(subject, "ledger.rules:hold_hours", rows)
    refuses(subject, p.hold_error, "ValueError", "ledger.rules:hold_hours", -1, 400)


def test_R2_volume_discount(subject, p):
    """Rate by seats, loyalty up to its limit, rounding, cap."""

    def discount(amount, seats, years=p.loyal_default):
        at_least = COMPARE[p.op_seats]
        bps = p.bps_big if at_least(seats, p.seats_big) else p.bps_mid if at_least(seats, p.seats_mid) else 0
        exact = amount * (bps + p.loyal_bps * min(years, p.loyal_max))
        whole, rest = divmod(exact, 10_000)
        up = {"down": False, "up": rest > 0, "nearest": rest >= 5_000}[p.disc_round]
        return min(whole + up, p.disc_cap)

    seats = [1, *around(p.seats_mid), *around(p.seats_big), 2_000]
    rows = [((1_000_003, n), {}, discount(1_000_003, n)) for n in seats]
    for years in (0, 1, *around(p.loyal_max), 40):
        rows += [((1_000_003, n), {p.loyal_kw: years}, discount(1_000_003, n, years)) for n in seats]
    for amount in (0, 1, *range(10_001, 10_400, 37), 10_000_000, 1_000_000_000):
        rows += [((amount, n), {}, discount(amount, n)) for n in (1, p.seats_mid + 1, p.seats_big + 1)]
    holds(subject, "billing.discounts:volume_discount_cents", rows)


def test_R3_refund_window(subject, p):
    """Full, partial and no refund at both sides of each day; the fee never makes it negative."""
    full, part = COMPARE[p.op_full], COMPARE[p.op_part]
    days = [0, *around(p.full_days), *around(p.part_days), 900]
    inside = [day for day in days if full(day, p.full_days) or part(day, p.part_days)]
    rows = []
    for paid in (0, 1, 150, p.ref_fee * 2, 99_999, 100_000):
        for day in inside:
            share = max(0, paid * p.part_pct // 100 - p.ref_fee)
            verdict, cents = (p.ref_full, paid) if full(day, p.full_days) else (p.ref_part, share)
            rows.append(((paid, day), {}, {p.ref_key: verdict, "refund_cents": cents}))
    holds(subject, "payments.refunds:refund_outcome", rows)
    for day in (day for day in days if day not in inside):
        message = f"{p.ref_text} after {day} days"
        refuses(subject, p.ref_error, "RefundError", "payments.refunds:refund_outcome", 500, day, message=message)


def test_R4_approvals(subject, p):
    """Which approvals count, how many are needed, and the shape of the answer."""
    within, large = COMPARE[p.op_window], COMPARE[p.op_dual]

    def status(amount, approvals, window=p.dual_window):
        needed = p.dual_many if large(amount, p.dual_amount) else p.dual_few
        counted = [1 for role, age in approvals if RANKS[role] >= RANKS[p.dual_role] and within(age, window)]
        return {"needed": needed, p.dual_key: max(0, needed - len(counted)), p.dual_done: len(counted) >= needed}

    rows = []
    for amount in (0, *around(p.dual_amount), 90_000_000):
        for count in range(p.dual_many + 2):
            rows.append(((amount, [("controller", 0)] * count), {}, status(amount, [("controller", 0)] * count)))
    mixed = [[(role, 1)] * p.dual_many for role in RANKS]
    mixed += [[("controller", age)] * p.dual_many for age in (0, *around(p.dual_window), 500)]
    mixed += [[("viewer", 0), ("controller", 3), ("manager", p.dual_window + 9), ("clerk", 2), ("manager", 4)]]
    for approvals in mixed:
        rows.append(((90_000_000, approvals), {}, status(90_000_000, approvals)))
        for window in (0, 3, 1_000):
            rows.append(((0, approvals), {p.dual_kw: window}, status(0, approvals, window)))
    holds(subject, "rbac.rules:approval_status", rows)


def test_R5_denial_notice(subject, p):
    """Masking at both sides of its length, the code and severity of each gap, and no notice without a denial."""

    def notice(actor, role, action):
        kept = actor[: p.deny_keep] if len(actor) > p.deny_keep else ""
        gap = NEEDED[action] - RANKS.get(role, 0)
        severity = p.deny_high if COMPARE[p.op_gap](gap, p.deny_gap) else p.deny_low
        masked = kept + p.deny_mask * (len(actor) - len(kept))
        return {"actor": masked, p.deny_key: p.deny_base + p.deny_step * gap, "severity": severity}

    pairs = [(role, action) for role in ("stranger", *RANKS) for action in NEEDED]
    refused = [(role, action) for role, action in pairs if RANKS.get(role, 0) < NEEDED[action]]
    rows = [(("marlene", role, action), {}, notice("marlene", role, action)) for role, action in refused]
    for length in range(p.deny_keep + 3):
        actor = "abcdefgh"[:length]
        rows.append(((actor, "viewer", "refund.issue"), {}, notice(actor, "viewer", "refund.issue")))
    holds(subject, "rbac.rules:denial_notice", rows)
    for role in ("manager", "controller"):
        refuses(subject, p.deny_error, "ValueError", "rbac.rules:denial_notice", "marlene", role, "refund.issue")


def test_R6_ageing_report(subject, p):
    """Buckets and the least amount at both sides, and the order of rows with and without equals."""
    small, early = COMPARE[p.op_small], COMPARE[p.op_bucket]

    def rows_of(invoices, floor=p.age_floor):
        kept = sorted((row for row in invoices if not small(row[1], floor)), reverse=p.age_ties == "down")
        column = 1 if p.age_order in ("biggest", "smallest") else 2
        sign = -1 if p.age_order in ("biggest", "longest") else 1
        kept.sort(key=lambda row: sign * row[column])
        label = [p.age_label1, p.age_label2, p.age_label3]
        late = [(not early(days, p.age_first)) + (not early(days, p.age_second)) for _, _, days in kept]
        return [(name, label[n], cents) for (name, cents, _), n in zip(kept, late, strict=True)]

    def given(invoices):
        return [{"id": name, "open_cents": cents, "days_overdue": days} for name, cents, days in invoices]

    days = [0, *around(p.age_first), *around(p.age_second), 400]
    spread = [(f"i{n}", 9_000 + 700 * (n * 5 % 8), day) for n, day in enumerate(days)]
    equal = [("b", 5_000, 10), ("d", 5_000, 90), ("a", 5_000, 10), ("c", 7_000, 10), ("e", 6_000, 90)]
    least = [(f"f{n}", cents, 20 + n) for n, cents in enumerate([0, *around(p.age_floor), 4_000])]
    rows = [((given(invoices),), {}, rows_of(invoices)) for invoices in ([], spread, equal, least)]
    for floor in (0, 5_000, 6_000):
        invoices = spread + equal + least
        rows.append(((given(invoices),), {p.age_kw: floor}, rows_of(invoices, floor)))
    holds(subject, "reporting.ageing:ageing_rows", rows)


def test_R7_dunning_plan(subject, p):
    """Days and channels of the steps from every weekday, and both limits of the amount."""

    def plan(due, amount, pause=p.dun_pause):
        if COMPARE[p.op_least](amount, p.dun_least):
            return []
        last = p.dun_last if COMPARE[p.op_final](amount, p.dun_amount) else "email"
        found = []
        for offset, channel in ((p.dun_first, "email"), (p.dun_second, p.dun_middle), (p.dun_third, last)):
            day = due + offset + pause
            while day % 7 > 4:
                day += 1 if p.dun_shift == "next" else -1
            found.append((day, channel))
        return found

    amounts = [0, *around(p.dun_least), *around(p.dun_amount), 8_000_000]
    rows = [((3, amount), {}, plan(3, amount)) for amount in amounts]
    rows += [((due, 9_999), {}, plan(due, 9_999)) for due in range(700, 714)]
    rows += [((due, 9_999), {p.dun_kw: n}, plan(due, 9_999, n)) for due in range(7) for n in (0, 1, 30)]
    holds(subject, "notifications.dunning:dunning_plan", rows)


def test_R8_audit_export(subject, p):
    """Age limit at both sides, order, fields, separator, the last line, and equal numbers."""
    recent = COMPARE[p.op_keep]

    def lines(events, limit=p.exp_limit):
        kept = sorted((e for e in events if recent(e[3], p.exp_days)), reverse=p.exp_order == "falling")
        order = [("seq", "actor", "action").index(name) for name in p.exp_fields.split("-")]
        mark = {"pipe": "|", "tab": "\t", "semicolon": ";"}[p.exp_sep]
        text = [mark.join(str(event[column]) for column in order) for event in kept[:limit]]
        return text + ([f"{p.exp_more} {len(kept) - limit}"] if len(kept) > limit else [])

    def given(events):
        return [dict(zip(("seq", "actor", "action", "age_days"), event, strict=True)) for event in events]

    many = [(100 + n * 7 % 71, f"user{n}", "role.assign", n) for n in range(p.exp_limit + 9)]
    ages = [(n, "ma*****", "refund.issue", age) for n, age in enumerate([*around(p.exp_days), 0, 4_000], 5)]
    cases = [[], ages, many, many[: p.exp_limit - 1], many[: p.exp_limit], many[: p.exp_limit + 1]]
    rows = [((given(events),), {}, lines(events)) for events in cases]
    rows += [((given(ages + many),), {p.exp_kw: limit}, lines(ages + many, limit)) for limit in (1, 3, 500)]
    holds(subject, "audit.export:export_lines", rows)
    for age in (1, p.exp_days + 50):
        twice = given([(8, "a", "report.view", age), (9, "b", "report.view", 1), (8, "c", "report.view", age)])
        refuses(subject, p.exp_error, "ValueError", "audit.export:export_lines", twice)
