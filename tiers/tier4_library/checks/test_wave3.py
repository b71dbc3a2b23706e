"""R25 to R36. Expected values come from the parameters `p` by arithmetic of its own, never from the reference."""

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


def ceil(number, by):
    whole, rest = divmod(number, by)
    return whole + (rest > 0)


def test_R25_digest(subject, p):
    """As many lines as fit, one more, many more, and none."""
    between = {"bar": " | ", "slash": " / ", "plus": " + "}[p.dig_sep]

    def text(count, limit=p.dig_limit):
        shown = [f"line {number}" for number in range(min(count, limit))]
        return between.join(shown + ([f"{p.dig_more} {count - limit}"] if count > limit else []))

    counts = [0, 1, 2, 5, 6, 7, 8, *around(p.dig_limit), 150]
    lines = {count: [f"line {number}" for number in range(count)] for count in counts}
    rows = [((lines[count],), {}, text(count)) for count in counts]
    rows += [((lines[count],), {p.dig_kw: limit}, text(count, limit)) for count in counts for limit in (1, 6)]
    holds(subject, "notices.digest:digest", rows)


def test_R26_quiet_hours(subject, p):
    """Minutes at both sides of both limits."""

    def sent(minute):
        if minute < p.quiet_open:
            return p.quiet_open
        return p.quiet_open + 1_440 if COMPARE[p.quiet_op](minute, p.quiet_close) else minute

    minutes = [0, 1, *around(p.quiet_open), 700, *around(p.quiet_close), 1_439]
    holds(subject, "notices.channels:send_minute", [((minute,), {}, sent(minute)) for minute in minutes])


def test_R27_headline(subject, p):
    """Texts at both sides of the length, blanks where the cut falls, and other lengths."""

    def cut(text, limit=p.sub_len):
        text = " ".join(text.split())
        return text if len(text) <= limit else text[: limit - len(p.sub_end)].rstrip() + p.sub_end

    texts = ["", " a \n b ", *("x" * size for size in (*around(p.sub_len), 300)), "ab " * 60, "a " * 90]
    texts += ["y" * (p.sub_len - 3) + " z" * 9, "y" * (p.sub_len - 2) + " z" * 9]
    rows = [((text,), {}, cut(text)) for text in texts]
    rows += [((text,), {p.sub_kw: limit}, cut(text, limit)) for text in texts for limit in (7, 8)]
    holds(subject, "notices.texts:headline", rows)


def test_R28_shares(subject, p):
    """Shares at both sides of the least, rounding, order, and whether anything is left over."""

    def expected(counts):
        whole = sum(counts.values())
        large = {name: n for name, n in counts.items() if COMPARE[p.sh_op](n * 1_000, p.sh_min * whole)}
        rows = sorted(large.items(), key=lambda item: (-item[1], item[0]))
        if len(large) < len(counts):
            rows.append((p.sh_rest, whole - sum(large.values())))
        return [(name, ceil(n * 1_000, whole) if p.sh_round == "up" else n * 1_000 // whole) for name, n in rows]

    near = dict(zip(("low", "limit", "high"), around(p.sh_min), strict=True))
    near |= {"zoo": 200, "air": 200, "most": 600 - sum(around(p.sh_min))}
    lists = [near, {"b": 1, "a": 1, "c": 1}, {"a": 6, "b": 7, "c": 1, "d": 2}, {"a": 3}, {"a": 50, "b": 0}]
    holds(subject, "stats.tables:shares", [((counts,), {}, expected(counts)) for counts in lists])


def test_R29_trend(subject, p):
    """Numbers at both sides of the limit, up and down."""

    def expected(now, before):
        change = (now - before) * 1_000
        if COMPARE[p.tr_op](change, p.tr_share * before):
            return p.tr_up
        return p.tr_down if COMPARE[p.tr_op](-change, p.tr_share * before) else "steady"

    pairs = [(1_000 + sign * off, 1_000) for sign in (-1, 1) for off in (0, 1, *around(p.tr_share), 900)]
    pairs += [(7, 5), (6, 5), (4, 5), (3, 5), (5, 5), (0, 5), (100, 1)]
    holds(subject, "stats.circulation:trend", [(pair, {}, expected(*pair)) for pair in pairs])


def test_R30_copies_to_buy(subject, p):
    """Waiting members from none to many, copies that are owned, both limits and other ratios."""

    def wanted(waiting, owned, each=p.want_ratio):
        needed = ceil(waiting, each) if p.want_round == "up" else waiting // each
        return min(max(needed - owned, 0), p.want_max)

    pairs = [(waiting, owned) for waiting in (*range(30), 60, 89, 90, 95, 100, 110, 500) for owned in (0, 1, 3)]
    rows = [(pair, {}, wanted(*pair)) for pair in pairs]
    rows += [(pair, {p.want_kw: each}, wanted(*pair, each)) for pair in pairs for each in (1, 20)]
    holds(subject, "catalog.copies:copies_wanted", rows)


def test_R31_shelves(subject, p):
    """Rows of books that just fit a shelf, and those that just do not."""

    def shelves(pages):
        return ceil(sum(p.um_cover + p.um_page * count for count in pages), p.shelf_mm * 1_000)

    lists = [[], [0], [1], [300] * 16, [300] * 17]
    for count in (1, 7, 200):
        room = p.shelf_mm * 1_000 * 5 - count * p.um_cover
        full = room // p.um_page
        lists += [[full - (count - 1) * 10 + off] + [10] * (count - 1) for off in (-2, -1, 0, 1, 2)]
    lists += [[0] * (p.shelf_mm * 1_000 * shelf // p.um_cover + off) for shelf in (1, 3, 9) for off in (0, 1)]
    far = p.shelf_mm * 1_000 * 4_000
    lists += [[far // p.um_page + off] for off in range(-25, 3)]
    holds(subject, "catalog.shelving:shelves_needed", [((pages,), {}, shelves(pages)) for pages in lists])


def test_R32_aliases(subject, p):
    """Long, short and single names, and numbers at both sides of the divisor."""
    names = [("Josephine Brook", "josephine"), ("Al Lee", "al"), ("CHERIE", "cherie"), ("o'Hara Bo", "o'hara")]
    numbers = [0, 1, *around(p.al_mod), 2 * p.al_mod, 12_345]
    rows = [
        ((name, number), {}, f"{first[: p.al_len]}{p.al_sep}{number % p.al_mod}")
        for name, first in names
        for number in numbers
    ]
    holds(subject, "members.names:alias", rows)


def test_R33_sorting_bins(subject, p):
    """Days at both sides of the limit, reserved or not."""

    def place(late, reserved):
        if reserved:
            return p.bin_hold
        return p.bin_check if COMPARE[p.bin_op](late, p.bin_days) else "shelf"

    lates = [0, 1, *around(p.bin_days), 900]
    rows = [((late, reserved), {}, place(late, reserved)) for late in lates for reserved in (False, True)]
    holds(subject, "loans.returns:sorting_bin", rows)


def test_R34_book_bags(subject, p):
    """Bags of all sizes up to the cap, on each weekday."""

    def due(out, count, base=p.bun_base):
        day = out + timedelta(days=min(base + count * p.bun_each, p.bun_max))
        while not 1 <= day.weekday() <= 5:
            day += timedelta(days=1)
        return day

    pairs = [(DAY + timedelta(days=off), count) for off in range(7) for count in (0, 1, 2, 3, 5, 8, 90)]
    rows = [(pair, {}, due(*pair)) for pair in pairs]
    rows += [(pair, {p.bun_kw: 0}, due(*pair, 0)) for pair in pairs]
    holds(subject, "loans.bundles:bundle_due", rows)


def test_R35_waiting_time(subject, p):
    """Places and copies that divide and that do not, other times, and no copies at all."""

    def wait(turn, copies, each=p.wait_days):
        return ceil(turn, copies) * each + p.wait_extra

    pairs = [(turn, copies) for turn in (1, 2, 3, 4, 5, 12, 100) for copies in (1, 2, 3, 7)]
    rows = [(pair, {}, wait(*pair)) for pair in pairs]
    rows += [(pair, {p.wait_kw: 10}, wait(*pair, 10)) for pair in pairs]
    holds(subject, "holds.queue:waiting_days", rows)
    for copies in (0, -1):
        raised = subject.error("holds.queue:waiting_days", 3, copies)
        assert raised.type == p.wait_error
        assert raised.is_a(f"holds.errors.{p.wait_error}")
        assert raised.is_a("HoldError")


def test_R36_instalments(subject, p):
    """Debts at both sides of the limit, that divide and that do not, and where the rest stands."""

    def parts(cents, part=p.ins_part):
        if COMPARE[p.ins_op](cents, p.ins_min):
            return [cents]
        whole, rest = divmod(cents, part)
        full, left = [part] * whole, [rest] if rest else []
        return left + full if p.ins_rest == "first" else full + left

    debts = [1, 1_000, *around(p.ins_min), 8_000, 20_001]
    debts += [p.ins_part * count + off for count in (3, 5) for off in (-1, 0, 1)]
    rows = [((cents,), {}, parts(cents)) for cents in debts]
    rows += [((cents,), {p.ins_kw: 2_000}, parts(cents, 2_000)) for cents in (*debts, 10_000)]
    holds(subject, "fees.account:instalments", rows)
