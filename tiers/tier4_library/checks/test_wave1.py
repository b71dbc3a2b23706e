"""R1 to R12, in their latest form. Expected values come from the parameters `p` by arithmetic of its own."""

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


def days(count):
    return timedelta(days=count)


def is_open(day):
    return 1 <= day.weekday() <= 5


def loan(barcode, due, member=1):
    return {"barcode": barcode, "kind": "book", "member": member, "out": DAY, "due": due, "renewed": 0}


def test_R1_overdue_level(subject, p):
    """All four levels, at both sides of each limit, with and without the keyword."""

    def level(late, limit=p.lvl_days):
        if late <= 0 or late >= p.lvl_top:
            return 0 if late <= 0 else 3
        return 1 if COMPARE[p.lvl_op](late, limit) else 2

    lates = [-5, -1, 0, 1, *around(p.lvl_days), *around(p.lvl_top), 900]
    rows = [((late,), {}, level(late)) for late in lates]
    rows += [((late,), {p.lvl_kw: limit}, level(late, limit)) for limit in (3, 60) for late in around(limit)]
    holds(subject, "loans.overdue:overdue_level", rows)


def test_R2_shorter_renewals(subject, p):
    """The first renewal, each later one, and the least that is left."""

    def added(before, most=p.ren_days):
        return max(most - p.ren_less * before, p.ren_min)

    counts = [*range(30), 200]
    rows = [((before,), {}, added(before)) for before in counts]
    rows += [((before,), {p.ren_kw: most}, added(before, most)) for most in (5, 100) for before in counts]
    holds(subject, "loans.renewal:renewal_days", rows)


def test_R3_points(subject, p):
    """Each kind by itself, together, none, and more than fit."""
    weight = {"film": p.pts_film, "game": p.pts_game, "book": p.pts_other, "map": p.pts_other}
    lists = [[], ["film"], ["game"], ["book"], ["map"], ["book", "film", "game", "film"], ["game"] * 9]
    rows = [((kinds,), {}, p.pts_limit - sum(weight[kind] for kind in kinds)) for kinds in lists]
    rows += [((kinds,), {p.pts_kw: 9}, 9 - sum(weight[kind] for kind in kinds)) for kinds in lists]
    holds(subject, "loans.checkout:points_left", rows)


def test_R4_worn_copies(subject, p):
    """Times at both sides of the limit, the order, and equals."""

    def worn(lent, limit=p.worn_times):
        kept = sorted(code for code, times in lent.items() if COMPARE[p.worn_op](times, limit))
        return sorted(kept, key=lambda code: lent[code], reverse=p.worn_order == "most")

    lent = {f"C{times}": times for times in (0, 1, *around(p.worn_times), 800)}
    lent |= {"E9": 500, "E1": 500, "E5": 500}
    rows = [((lent,), {}, worn(lent)), (({},), {}, [])]
    rows += [((lent,), {p.worn_kw: limit}, worn(lent, limit)) for limit in (0, 1, 500)]
    holds(subject, "catalog.copies:worn_out", rows)


def test_R5_spine_labels(subject, p):
    """Long and short authors, other signs in them, years, and films."""

    def title(author, kind, year):
        return {"code": "T1", "name": "x", "author": author, "kind": kind, "year": year}

    def label(letters, kind, year):
        front = p.spine_film + " " if kind == "film" else ""
        return front + letters[: p.spine_len] + p.spine_sep + str(year)[-2:]

    authors = [("Bo Brown-Lee", "BOBROWNLEE"), ("o'Hara", "OHARA"), ("Li", "LI"), ("de la Mare", "DELAMARE")]
    years = [1995, 2004, 2000]
    rows = [
        ((title(author, kind, year),), {}, label(letters, kind, year))
        for author, letters in authors
        for kind in ("book", "film", "game")
        for year in years
    ]
    holds(subject, "catalog.shelving:spine", rows)


def test_R6_lost_things(subject, p):
    """Days at both sides of the limit, the order, and equals by barcode."""
    lates = [-3, 0, 1, *around(p.lost_days), 300]
    loans = [loan(f"L{late}", DAY - days(late)) for late in lates]
    loans += [loan("K9", DAY - days(250)), loan("K1", DAY - days(250)), loan("K5", DAY - days(250), 2)]
    gone = sorted((one for one in loans if COMPARE[p.lost_op]((DAY - one["due"]).days, p.lost_days)), key=code)
    gone = sorted(gone, key=lambda one: one["due"], reverse=p.lost_order == "newest")
    rows = [((loans, DAY), {}, [code(one) for one in gone]), (([], DAY), {}, [])]
    holds(subject, "loans.returns:lost", rows)


def code(one):
    return one["barcode"]


def test_R7_card_fee(subject, p):
    """Ages at both sides of both limits."""

    def fee(age):
        if COMPARE[p.youth_op](age, p.youth_age):
            return 0
        return p.fee_senior if COMPARE[p.senior_op](age, p.senior_age) else p.fee_card

    ages = [0, 5, *around(p.youth_age), 40, *around(p.senior_age), 100]
    holds(subject, "members.cards:card_fee_cents", [((age,), {}, fee(age)) for age in ages])


def test_R8_head_start(subject, p):
    """The head start to the day, ties, other titles, and nobody favoured."""

    def order(placed, favoured, head=p.head_days):
        ties = sorted(placed, reverse=p.line_tie == "desc")
        return sorted(ties, key=lambda member: placed[member] - days(head if member in favoured else 0))

    placed = {number: DAY + days(off) for number, off in ((4, 0), (2, 0), (7, 1), (9, 30), (11, 30))}
    placed |= {20 + off: DAY + days(p.head_days + off) for off in (-1, 0, 1)}
    listed = [{"title": "T1", "member": member, "placed": day} for member, day in placed.items()]
    listed.insert(2, {"title": "T2", "member": 5, "placed": DAY})
    listed.sort(key=lambda hold: hold["placed"])
    some = [19, 20, 21, 22]
    rows = [((listed, "T1", who), {}, order(placed, who)) for who in ([], some, [9], list(placed))]
    rows += [((listed, "T1", some), {p.head_kw: head}, order(placed, some, head)) for head in (0, 1, 400)]
    rows += [((listed, "T2", some), {}, [5]), (([], "T1", some), {}, [])]
    holds(subject, "holds.queue:in_line", rows)


def test_R9_branch_pickup(subject, p):
    """Two weeks of days near and far, so that each weekday comes up on both."""

    def last(ready, remote, count=p.col_days):
        day = ready + days(count + (p.col_more if remote else 0))
        while not is_open(day):
            day += days(1 if p.col_shift == "next" else -1)
        return day

    weeks = [DAY + days(off) for off in range(14)]
    rows = [((ready, remote), {}, last(ready, remote)) for ready in weeks for remote in (False, True)]
    rows += [((ready, True), {p.col_kw: 3}, last(ready, True, 3)) for ready in weeks]
    holds(subject, "holds.pickup:collect_by", rows)


def test_R10_graded_fine(subject, p):
    """Each day from the first to long after the cap."""

    def fine(late, free=p.fine_grace):
        counted = [p.fine_low if number < p.fine_span else p.fine_high for number in range(late - free)]
        return min(sum(counted), p.fine_cap)

    rows = [((late,), {}, fine(late)) for late in range(-2, 70)] + [((900,), {}, p.fine_cap)]
    rows += [((late,), {p.fine_kw: 0}, fine(late, 0)) for late in range(60)]
    holds(subject, "fees.overdue:graded_fine_cents", rows)


def test_R11_blocked_accounts(subject, p):
    """Balances at both sides of both limits, from one entry and from several."""

    def expected(owed, low):
        return COMPARE[p.block_op](owed, p.block_low if low else p.block_cents)

    rows = [(([],), {}, False), (([],), {p.block_kw: True}, False)]
    for owed in (1, *around(p.block_low), *around(p.block_cents), 90_000):
        for entries in ([("fine", owed)], [("fine", owed + 300), ("card", 200), ("payment", -500)]):
            rows.append(((entries,), {}, expected(owed, False)))
            rows += [((entries,), {p.block_kw: low}, expected(owed, low)) for low in (False, True)]
    holds(subject, "fees.account:blocked", rows)


def test_R12_letters(subject, p):
    """Days, words and shape."""

    def expected(due):
        plan = [(due + days(p.let_first), p.let_mild), (due + days(p.lost_days), p.let_last)]
        return plan if p.let_shape == "day-word" else [(word, day) for day, word in plan]

    dues = [DAY, DAY + days(4), date(2024, 2, 25), date(2025, 12, 30)]
    holds(subject, "notices.schedule:letters", [((due,), {}, expected(due)) for due in dues])
