"""R13 to R24, in their latest form. Expected values come from the parameters `p` by arithmetic of its own."""

import operator
from datetime import date, timedelta

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
DAY = date(2025, 3, 4)


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


def days(count):
    return timedelta(days=count)


def test_R13_idle_titles(subject, p):
    """Days at both sides of the limit, the order, and equals by code."""

    def idle(lent, limit=p.idle_days):
        kept = sorted(code for code, day in lent.items() if COMPARE[p.idle_op]((DAY - day).days, limit))
        return sorted(kept, key=lambda code: lent[code], reverse=p.idle_order == "shortest")

    lent = {f"T{ago}": DAY - days(ago) for ago in (0, 1, 10, *around(p.idle_days), 3_000)}
    lent |= {name: DAY - days(2_000) for name in ("E9", "E1", "E5")}
    rows = [((lent, DAY), {}, idle(lent)), (({}, DAY), {}, [])]
    rows += [((lent, DAY), {p.idle_kw: limit}, idle(lent, limit)) for limit in (0, 1, 10, 2_000)]
    holds(subject, "stats.weeding:idle", rows)


def test_R14_peak_hours(subject, p):
    """Hours at both sides of the share, in both kinds of sums, and their order."""

    def peaks(counts):
        whole = sum(counts.values())
        kept = [hour for hour, count in counts.items() if COMPARE[p.peak_op](count * 1_000, p.peak_share * whole)]
        return sorted(kept, reverse=p.peak_order == "falling")

    near = around(p.peak_share)
    counts = dict(zip((14, 9, 17), near, strict=True))
    counts |= {12: 10, 8: 1_000 - sum(near) - 10}
    uneven = {15: 50, 10: 60, 11: 7, 18: 33, 9: 12}
    rows = [((some,), {}, peaks(some)) for some in (counts, uneven, {10: 1}, {})]
    holds(subject, "stats.circulation:peaks", rows)


def test_R15_age_groups(subject, p):
    """Ages at both sides of the limit, and numbers at both sides of what may be told."""

    def expected(ages):
        young = sum(COMPARE[p.youth_op](age, p.youth_age) for age in ages)
        counts = {p.grp_young: young, p.grp_old: len(ages) - young}
        return {name: None if COMPARE[p.grp_op](count, p.grp_min) else count for name, count in counts.items()}

    lists = [[], [5] * 200, [50] * 200]
    lists += [[age] * 100 + [5] * 60 + [50] * 70 for age in around(p.youth_age)]
    lists += [[5] * young + [50] * old for young in around(p.grp_min) for old in around(p.grp_min)]
    holds(subject, "stats.usage:age_groups", [((ages,), {}, expected(ages)) for ages in lists])


def test_R16_search_score(subject, p):
    """Words in name, author, both and neither, twice, and years at both sides of the limit."""

    def title(year):
        return {"code": "T1", "name": "The Sea, a Tale", "author": "Bo Sea-Brown", "kind": "book", "year": year}

    def expected(query, year):
        words = query.lower().split()
        found = sum(p.sc_title for word in words if word in {"the", "sea", "a", "tale"})
        found += sum(p.sc_author for word in words if word in {"bo", "sea", "brown"})
        return found + (p.sc_new if found and COMPARE[p.sc_op](year, p.sc_year) else 0)

    queries = ["", "cliff", "tale", "BO", "sea", "Sea bo tale", "tale tale", "bo bo cliff"]
    years = [1950, *around(p.sc_year), 2100]
    rows = [((title(year), query), {}, expected(query, year)) for query in queries for year in years]
    holds(subject, "catalog.search:score", rows)


def test_R17_long_names(subject, p):
    """Lengths at both sides of the limit, by themselves and among other problems."""

    def title(length, kind):
        return {"code": "T1", "name": "x" * length, "author": "Bo", "kind": kind, "year": 1995}

    def expected(length, kind):
        found = [] if kind == "book" else ["unknown-kind"]
        if COMPARE[p.prob_op](length, p.prob_len):
            found.insert(0 if p.prob_place == "first" else len(found), p.prob_code)
        return found

    lengths = [1, 40, *around(p.prob_len), 900]
    rows = [((title(size, kind),), {}, expected(size, kind)) for size in lengths for kind in ("book", "map")]
    holds(subject, "catalog.titles:problems", rows)
    long = {**title(900, "book"), "code": "T2"}
    refuses(subject, "CatalogError", "ValueError", "catalog.titles:add", {}, long)


def test_R18_twins(subject, p):
    """Days of birth at both sides of the limit in both directions, case, three of a kind, shape and order."""

    def member(number, name, off):
        born = date(1990, 6, 15) + days(off)
        return {"number": number, "name": name, "born": born, "category": "adult", "joined": DAY}

    offsets = {1: 0, 2: p.twin_days - 1, 3: -p.twin_days, 4: p.twin_days + 1, 5: 0, 6: -p.twin_days - 1}
    registry = {number: member(number, "Ann Brook", off) for number, off in offsets.items()}
    registry[7] = member(7, "ANN brook", p.twin_days)
    registry |= {8: member(8, "Bo Lee", 0), 9: member(9, "Bo Lea", 0)}
    same = [number for number in registry if number < 8]
    off = {**offsets, 7: p.twin_days}
    pairs = [(low, high) for low in same for high in same if low < high]
    pairs = [(low, high) for low, high in pairs if COMPARE[p.twin_op](abs(off[low] - off[high]), p.twin_days)]
    wanted = pairs if p.twin_pair == "low-high" else [(high, low) for low, high in pairs]
    shuffled = {number: registry[number] for number in (7, 3, 1, 9, 5, 2, 8, 6, 4)}
    rows = [((registry,), {}, wanted), ((shuffled,), {}, wanted), (({},), {}, [])]
    holds(subject, "members.registry:twins", rows)


def test_R19_loyal_visitors(subject, p):
    """Visits at both sides of the least number, and up to the most that is added."""

    def added(visits, least=p.ext_min):
        return 0 if COMPARE[p.ext_op](visits, least) else min(visits * p.ext_each, p.ext_max)

    counts = [*range(45), 500]
    rows = [((visits,), {}, added(visits)) for visits in counts]
    rows += [((visits,), {p.ext_kw: least}, added(visits, least)) for least in (0, 20) for visits in counts]
    holds(subject, "members.cards:extension_days", rows)


def test_R20_late_borrowers(subject, p):
    """Overdue loans at both sides of the limit; what others have, and what is not overdue, does not count."""
    target = "loans.checkout:checkout"

    def loan(number, off, member):
        due = DAY - days(off)
        return {"barcode": f"L{number}", "kind": "book", "member": member, "out": due, "due": due, "renewed": 0}

    for late in range(p.late_count + 3):
        loans = [loan(number, 1 + number, 1) for number in range(late)]
        loans += [loan(50 + number, -number, 1) for number in range(6)]
        loans += [loan(70 + number, 9, 2) for number in range(9)]
        if COMPARE[p.late_op](late, p.late_count):
            raised = refuses(subject, p.late_error, "LoanError", target, loans, "X", "book", 1, DAY)
            assert raised.is_a(f"loans.errors.{p.late_error}")
            assert raised.message == f"{p.late_text} {late}"
        else:
            new = {"barcode": "X", "kind": "book", "member": 1, "out": DAY, "due": date(2025, 4, 3), "renewed": 0}
            assert subject.call(target, loans, "X", "book", 1, DAY) == [*loans, new]


def test_R21_renewable_loans(subject, p):
    """Due days at both sides of both limits, renewals left or not, and the given order."""

    def fits(off, renewed, limit):
        return off >= 0 and COMPARE[p.all_op](off, limit) and renewed < 2

    given = [(off, renewed) for off in (-1, 0, 1, 9, 10, 11, *around(p.all_days)) for renewed in (0, 1, 2)]
    given.sort(key=lambda pair: (pair[0] * 7 + pair[1]) % 11)
    loans = [
        {"barcode": f"L{n}", "kind": "film", "member": 1, "out": DAY, "due": DAY + days(off), "renewed": renewed}
        for n, (off, renewed) in enumerate(given)
    ]

    def expected(limit):
        yes = [f"L{n}" for n, pair in enumerate(given) if fits(*pair, limit)]
        return {p.all_yes: yes, "rest": [one["barcode"] for one in loans if one["barcode"] not in yes]}

    rows = [((loans, DAY), {}, expected(p.all_days)), (([], DAY), {}, {p.all_yes: [], "rest": []})]
    rows += [((loans, DAY), {p.all_kw: limit}, expected(limit)) for limit in (0, 10)]
    holds(subject, "loans.renewal:renewable", rows)


def test_R22_pickup_slots(subject, p):
    """Numbers below and beyond the count, and other counts."""
    numbers = [0, 1, 2, 3, 50, 99, 1_000, 123_456]
    rows = [((number,), {}, number * p.slot_step % p.slot_count + p.slot_base) for number in numbers]
    rows += [((number,), {p.slot_kw: 11}, number * p.slot_step % 11 + p.slot_base) for number in numbers]
    holds(subject, "holds.pickup:slot", rows)


def test_R23_holds_of_debtors(subject, p):
    """Debts at both sides of the limit, and what was refused before."""
    target = "holds.queue:place"
    before = [{"title": "T1", "member": 5, "placed": DAY}]
    after = [*before, {"title": "T1", "member": 3, "placed": DAY}]
    rows = [((before, "T1", 3, DAY), {}, after)]
    for owed in (0, 1, *around(p.block_cents), 90_000):
        if COMPARE[p.block_op](owed, p.block_cents):
            raised = refuses(subject, p.owe_error, "HoldError", target, before, "T1", 3, DAY, **{p.owe_kw: owed})
            assert raised.is_a(f"holds.errors.{p.owe_error}")
        else:
            rows.append(((before, "T1", 3, DAY), {p.owe_kw: owed}, after))
    holds(subject, target, rows)
    refuses(subject, "AlreadyWaiting", "HoldError", target, before, "T1", 5, DAY, **{p.owe_kw: 1})


def test_R24_replacement(subject, p):
    """Each year of age until the floor, prices that must be rounded, and other fees."""

    def cents(price, age, fee=p.rep_fee):
        percent = max(100 - p.rep_pct * age, p.rep_floor)
        whole, rest = divmod(price * percent, 100)
        return whole + (1 if rest and p.rep_round == "up" else 0) + fee

    pairs = [(price, age) for price in (0, 1, 99, 1_501, 2_000) for age in range(12)]
    rows = [(pair, {}, cents(*pair)) for pair in pairs]
    rows += [(pair, {p.rep_kw: 0}, cents(*pair, 0)) for pair in pairs]
    holds(subject, "fees.lost:replacement_cents", rows)
