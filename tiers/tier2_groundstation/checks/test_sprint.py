"""R1 to R8. Expected values come from the parameters `p` by arithmetic of its own, never from the reference."""

import operator

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
LEVELS = {"routine": 0, "guarded": 1, "hazardous": 2, "irreversible": 3}
COMMANDS = {
    "ping": "routine",
    "dump_log": "routine",
    "set_clock": "guarded",
    "load_schedule": "guarded",
    "fire_thruster": "hazardous",
    "wipe_memory": "irreversible",
    "deploy_boom": "irreversible",
}
ROLES = {"trainee": 0, "operator": 1, "engineer": 2, "director": 3}
BEFORE_ECONOMY = {"emergency": 3, "launch": 2, "standard": 1, "economy": 0}


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


def test_R1_pass_score(subject, p):
    """Peak, length and cap of a pass at both sides of each limit; peaks outside the sky are refused."""

    def score(peak, seconds, cap=p.score_cap):
        points = p.high_points if COMPARE[p.op_high](peak, p.high_deg) else p.low_points
        points += seconds // p.score_span
        return min(cap, p.short_points if COMPARE[p.op_short](seconds, p.short_s) else points)

    peaks = [0, *around(p.high_deg), 90]
    lengths = [0, *around(p.short_s), *around(7 * p.score_span), *around(40 * p.score_span), 9_000]
    rows = [((peak, seconds), {}, score(peak, seconds)) for peak in peaks for seconds in lengths]
    for cap in (1, p.short_points - 1, p.high_points + 3, 1_000):
        rows += [((peak, n), {p.score_kw: cap}, score(peak, n, cap)) for peak in peaks for n in lengths]
    holds(subject, "orbit.passes:pass_score", rows)
    for peak in (-1, 91):
        refuses(subject, p.score_error, "ValueError", "orbit.passes:pass_score", peak, 600)


def test_R2_wind_hold(subject, p):
    """Gusts and their mean at both sides, which readings count, and none at all."""

    def hold(gusts, last=p.calm_n):
        counted = gusts[::-1][:last]
        if not counted:
            return {p.hold_key: False, "worst": 0}
        mean = sum(counted) // len(counted)
        held = COMPARE[p.op_gust](max(counted), p.gust_kmh) or COMPARE[p.op_mean](mean, p.mean_kmh)
        return {p.hold_key: held, "worst": max(counted)}

    cases = [[], [0], *([5, gust, 7] for gust in around(p.gust_kmh)), [200] * 3]
    cases += [[mean] * count for mean in around(p.mean_kmh) for count in (1, p.calm_n, p.calm_n + 4)]
    cases += [[p.mean_kmh - 1, p.mean_kmh], [p.mean_kmh, p.mean_kmh + 1, p.mean_kmh + 1]]
    cases += [[200] + [5] * (p.calm_n + n) for n in (-2, -1, 0, 1)]
    cases += [[p.mean_kmh + 6] * 9 + [3] * n for n in range(p.calm_n - 4, p.calm_n)]
    rows = [((gusts,), {}, hold(gusts)) for gusts in cases]
    rows += [((gusts,), {p.calm_kw: last}, hold(gusts, last)) for gusts in cases for last in (1, 3, 500)]
    holds(subject, "antennas.weather:wind_hold", rows)


def test_R3_files_of_a_contact(subject, p):
    """Order, equal sizes, files that no longer fit, large files, and the reserve to the kilobyte."""

    def fill(files, capacity, percent=p.reserve_pct):
        left = capacity - (capacity * percent + 99) // 100
        taken, used = [], 0
        order = sorted(files, reverse=p.down_ties == "down")
        order.sort(key=lambda file: file[1] if p.down_order == "smallest" else -file[1])
        for name, size in order:
            size += p.head_kb if COMPARE[p.op_bulk](size, p.bulk_kb) else 0
            if used + size <= left:
                taken.append(name)
                used += size
        return {p.down_key: taken, "spare_kb": capacity - used}

    mixed = [("b", 300), ("d", 100), ("a", 300), ("c", 500), ("e", 300), ("f", 40)]
    rows = [((mixed, capacity), {}, fill(mixed, capacity)) for capacity in (0, 50, 700, 1_100, 1_801, 9_000)]
    for size in around(p.bulk_kb):
        rows.append((([("x", size)], 50_000), {}, fill([("x", size)], 50_000)))
        for spare in around(size + p.head_kb):
            rows.append((([("x", size)], spare), {p.reserve_kw: 0}, fill([("x", size)], spare, 0)))
    for capacity in (1, 99, 101, 4_999, 5_000):
        for size in around(capacity - (capacity * p.reserve_pct + 99) // 100):
            rows.append((([("x", size)], capacity), {}, fill([("x", size)], capacity)))
    rows += [((mixed, 1_207), {p.reserve_kw: n}, fill(mixed, 1_207, n)) for n in (0, 1, 50, 100)]
    holds(subject, "links.volume:fill_pass", rows)
    refuses(subject, p.down_error, "VolumeError", "links.volume:fill_pass", mixed, -1)


def test_R4_refusal_slip(subject, p):
    """Code and tone of each gap, times of many days, and no slip without a refusal."""

    def slip(role, command, shown):
        level = LEVELS[COMMANDS[command]]
        tone = p.slip_high if level >= LEVELS[p.slip_level] else p.slip_low
        code = p.slip_base + p.slip_step * (level - ROLES.get(role, 0))
        return {"at": shown + p.slip_mark, p.slip_key: code, "tone": tone}

    target = "commands.clearance:refusal_slip"
    pairs = [(role, command) for role in ("stranger", *ROLES) for command in COMMANDS]
    refused = [(role, name) for role, name in pairs if LEVELS[COMMANDS[name]] > ROLES.get(role, 0)]
    rows = [((*pair, 27_000), {}, slip(*pair, "0/07:30:00")) for pair in refused]
    times = {0: "0/00:00:00", 61: "0/00:01:01", 86_399: "0/23:59:59", 86_400: "1/00:00:00", 459_309: "5/07:35:09"}
    times[86_400 * 312 + 45_296] = "312/12:34:56"
    rows += [(("trainee", "set_clock", at), {}, slip("trainee", "set_clock", shown)) for at, shown in times.items()]
    holds(subject, target, rows)
    for role, command in (pair for pair in pairs if pair not in refused):
        refuses(subject, p.slip_error, "ValueError", target, role, command, 60)


def test_R5_batches_of_commands(subject, p):
    """Bytes at both sides of the limit, dangerous commands alone, the shape, and what fits no batch."""
    too_much = COMPARE[p.op_batch]

    def batches(commands, limit=p.batch_bytes):
        found, room = [], False
        for name, payload in commands:
            alone = LEVELS[COMMANDS[name]] >= LEVELS[p.alone_level]
            size = payload + p.env_bytes
            if not room or alone or too_much(found[-1][1] + size, limit):
                found.append(([], 0))
            found[-1] = (found[-1][0] + [name], found[-1][1] + size)
            room = not alone
        return found if p.batch_shape == "names-bytes" else [(total, names) for names, total in found]

    target = "commands.batches:uplink_batches"
    every = [(name, 40) for name in COMMANDS]
    mixed = [pair for name in COMMANDS for pair in (("ping", 5), ("dump_log", 10), (name, 15))]
    limit = p.batch_bytes
    close = [[("ping", limit - p.env_bytes - off)] for off in (1, 2, 3)]
    close += [[("ping", 10), ("dump_log", limit - 2 * p.env_bytes - 10 + off), ("ping", 7)] for off in (-1, 0, 1)]
    close += [[("ping", 0)] * n for n in (1, limit // p.env_bytes, limit // p.env_bytes + 2)]
    cases = [[], every, every[::-1], mixed, mixed[::-1], *close]
    rows = [((commands,), {}, batches(commands)) for commands in cases]
    for commands, small in ((every, 150), (mixed, 90), (mixed, 200), (every[:3], 2 * (40 + p.env_bytes))):
        rows.append(((commands,), {p.batch_kw: small}, batches(commands, small)))
    for off in (-1, 0, 1):
        payload = limit - p.env_bytes + off
        if too_much(payload + p.env_bytes, limit):
            given, message = [("ping", 1), ("set_clock", payload)], f"{p.batch_text} set_clock"
            refuses(subject, p.batch_error, "ValueError", target, given, message=message)
        else:
            rows.append((([("ping", payload)],), {}, batches([("ping", payload)])))
    holds(subject, target, rows)


def test_R6_urgency(subject, p):
    """Points of each service, deadlines at both sides, what is too late, and the order of equals."""

    def urgent(requests, now, within=p.soon_s):
        rows = []
        for name, service, deadline in requests:
            if deadline < now:
                continue
            soon = COMPARE[p.op_soon](deadline - now, within)
            rows.append((p.urg_weight * BEFORE_ECONOMY[service] + (p.soon_points if soon else 0), deadline, name))
        rows.sort(key=lambda row: (-row[0], row[1] if p.urg_ties == "earliest" else -row[1], row[2]))
        return [(points, name) if p.urg_shape == "points-id" else (name, points) for points, _, name in rows]

    def given(requests):
        rest = {"customer": "Bora Weather", "satellite": "BORA-1", "kilobytes": 100}
        return [{"id": name, "service": service, "deadline": at, **rest} for name, service, at in requests]

    now = 70_000
    every = [(f"s{n}", service, now + 50_000) for n, service in enumerate(BEFORE_ECONOMY)]
    close = [(f"c{n}", "launch", now + off) for n, off in enumerate([-1, 0, 1, *around(p.soon_s), 90_000])]
    equal = [("b", "standard", now + 600), ("d", "standard", now + 900), ("a", "standard", now + 600)]
    equal += [("c", "standard", now + 900), ("e", "standard", now + 300)]
    cases = [[], every[::-1], close, equal, equal[::-1], every + close + equal]
    rows = [((given(requests), now), {}, urgent(requests, now)) for requests in cases]
    for within in (0, 1, 600, 60_000):
        rows += [((given(one), now), {p.soon_kw: within}, urgent(one, now, within)) for one in cases[2:]]
    holds(subject, "booking.priority:by_urgency", rows)


def test_R7_surcharge(subject, p):
    """Each service, the part that is free, rounding and cap; and services that nobody can book."""

    def surcharge(cents, service, free=p.sur_free):
        whole, rest = divmod(max(0, cents - free) * p.sur_bps * BEFORE_ECONOMY[service], 10_000)
        up = {"down": False, "up": rest > 0, "nearest": rest >= 5_000}[p.sur_round]
        return min(whole + up, p.sur_cap)

    amounts = [0, *around(p.sur_free), *range(20_001, 20_800, 37), 200_003, 9_000_000]
    rows = [((cents, service), {}, surcharge(cents, service)) for cents in amounts for service in BEFORE_ECONOMY]
    for free in (0, 1, 19_000, 20_000, 30_000):
        rows.append(((20_000, "launch"), {p.sur_kw: free}, surcharge(20_000, "launch", free)))
    holds(subject, "charges.tariff:surcharge_cents", rows)
    for service in ("luxury", ""):
        refuses(subject, p.sur_error, "TariffError", "charges.tariff:surcharge_cents", 9_000, service)


def test_R8_usage(subject, p):
    """Shares at both sides of each limit, rounding, order, equals, and the row of the rest."""
    busy, little = COMPARE[p.op_busy], COMPARE[p.op_floor]

    def table(seconds, floor=p.use_floor):
        total = sum(seconds.values())
        shares = sorted(((name, used * 1_000 // total) for name, used in seconds.items()), reverse=p.use_ties == "down")
        shares.sort(key=lambda row: row[1] if p.use_order == "smallest" else -row[1])
        label = [p.use_label3, p.use_label2, p.use_label1]
        kept = [(name, share) for name, share in shares if not little(share, floor)]
        rows = [(name, share, label[busy(share, p.use_busy) + busy(share, p.use_fair)]) for name, share in kept]
        rest = len(shares) - len(rows)
        return rows + ([(p.use_rest, rest, p.use_label3)] if rest else [])

    def given(seconds):
        halves = [(name, used // 2) for name, used in seconds.items()]
        halves += [(name, used - used // 2) for name, used in reversed(list(seconds.items()))]
        fields = {"satellite": "BORA-1", "rise_deg": 0, "set_deg": 90}
        return [
            {"id": str(n), "dish": name, "start": 500 * n, "end": 500 * n + used, **fields}
            for n, (name, used) in enumerate(halves)
        ]

    limits = (p.use_busy, p.use_fair, p.use_floor)
    cases = [{"N1": share, "S1": 1_000 - share} for limit in limits for share in around(limit)]
    cases += [{"N1": 10_000 * limit - 1, "S1": 10_000_000 - 10_000 * limit + 1} for limit in limits]
    cases += [{"S2": 300, "N1": 300, "N2": 100, "S1": 300}, {"N1": 1, "N2": 1, "S1": 1}, {"N2": 7}, {}]
    cases += [{"N1": 20, "N2": 600, "S1": 350, "S2": 30}, {"S1": 150, "N2": 450, "N1": 400}]
    rows = [((given(seconds),), {}, table(seconds)) for seconds in cases]
    rows += [((given(seconds),), {p.use_kw: n}, table(seconds, n)) for seconds in cases for n in (0, 100, 300, 1_000)]
    holds(subject, "reports.usage:usage_rows", rows)
