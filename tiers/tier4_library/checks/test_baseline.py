"""B1 to B25: what the code did before the first wave, and still has to do."""

from datetime import date, timedelta

TUESDAY = date(2025, 3, 4)


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


def title(code="T1", name="The Sea", author="Bo Brown", kind="book", year=1995):
    return {"code": code, "name": name, "author": author, "kind": kind, "year": year}


def member(number=1, name="Ann Brook", born=date(1990, 5, 10), category="adult", joined=date(2024, 3, 2)):
    return {"number": number, "name": name, "born": born, "category": category, "joined": joined}


def loan(barcode="10", kind="book", who=1, due=date(2025, 4, 3), renewed=0):
    return {"barcode": barcode, "kind": kind, "member": who, "out": TUESDAY, "due": due, "renewed": renewed}


def hold(code, who, day=TUESDAY):
    return {"title": code, "member": who, "placed": day}


def test_B1_open_days(subject):
    """Tuesday to Saturday, but for days closed by hand."""
    week = [date(2025, 3, day) for day in range(3, 10)]
    rows = [((day,), number in (1, 2, 3, 4, 5)) for number, day in enumerate(week)]
    rows += [((TUESDAY, [TUESDAY]), False), ((TUESDAY, [date(2025, 3, 5)]), True)]
    holds(subject, "house.days:is_open", rows)


def test_B2_moving_to_open_days(subject):
    """Forwards and backwards over weekends and closed days."""
    rows = [((TUESDAY,), TUESDAY), ((date(2025, 3, 2),), TUESDAY), ((date(2025, 3, 8),), date(2025, 3, 8))]
    rows += [((date(2025, 3, 2), [TUESDAY]), date(2025, 3, 5))]
    holds(subject, "house.days:next_open", rows)
    rows = [((TUESDAY,), TUESDAY), ((date(2025, 3, 3),), date(2025, 3, 1))]
    rows += [((TUESDAY, [TUESDAY]), date(2025, 3, 1))]
    holds(subject, "house.days:previous_open", rows)


def test_B3_counting_open_days(subject):
    """None, some, and over closed days; hours at both ends."""
    rows = [((TUESDAY, 0), TUESDAY), ((TUESDAY, 4), date(2025, 3, 8)), ((TUESDAY, 5), date(2025, 3, 11))]
    rows += [((TUESDAY, 1, [date(2025, 3, 5)]), date(2025, 3, 6))]
    holds(subject, "house.days:open_days_after", rows)
    thursday, saturday, sunday = (date(2025, 3, day) for day in (6, 8, 9))
    days = [(TUESDAY, (600, 1_080)), (thursday, (600, 1_200)), (saturday, (540, 840)), (sunday, (0, 0))]
    rows = [((day,), hours) for day, hours in days] + [((TUESDAY, [TUESDAY]), (0, 0))]
    holds(subject, "house.hours:hours_on", rows)
    minutes = [(599, False), (600, True), (1_079, True), (1_080, False)]
    holds(subject, "house.hours:is_open_at", [((TUESDAY, minute), inside) for minute, inside in minutes])
    minutes = [(599, False), (600, True), (1_064, True), (1_065, False)]
    holds(subject, "house.hours:can_borrow_at", [((TUESDAY, minute), lends) for minute, lends in minutes])
    holds(subject, "house.hours:clock", [((545,), "9:05"), ((0,), "0:00"), ((1_199,), "19:59")])


def test_B4_texts(subject):
    """Words, blanks, plurals and money."""
    holds(subject, "house.text:words", [(("The Sea, the sea-side!",), ["the", "sea", "the", "sea", "side"])])
    holds(subject, "house.text:single_spaced", [((" a \n\t b",), "a b"), (("",), "")])
    holds(subject, "house.text:plural", [((0, "book"), "0 books"), ((1, "book"), "1 book"), ((2, "fee"), "2 fees")])
    rows = [((305,), "3.05"), ((-50,), "-0.50"), ((0,), "0.00"), ((-1205,), "-12.05")]
    holds(subject, "house.text:money", rows)
    holds(subject, "house.policy:kinds", [((), ["book", "film", "game"])])


def test_B5_order_of_titles(subject):
    """Articles do not count, a name that is one does, and years break ties."""
    names = [("The Sea", "sea"), ("A Boat", "boat"), ("an", "an"), ("Theory", "theory"), ("THE End", "end")]
    holds(subject, "catalog.titles:sort_name", [((name,), key) for name, key in names])
    shelf = [title("T1", "The Sea", year=2000), title("T2", "A Boat"), title("T3", "Sea", year=1950)]
    holds(subject, "catalog.titles:by_name", [((shelf,), ["T2", "T3", "T1"]), (([],), [])])


def test_B6_problems_of_titles(subject):
    """Each by itself, all together, and the year at its limit."""
    rows = [((title(),), []), ((title(name="  "),), ["no-name"]), ((title(author=""),), ["no-author"])]
    rows += [((title(kind="map"),), ["unknown-kind"]), ((title(year=1449),), ["bad-year"]), ((title(year=1450),), [])]
    rows += [((title("T1", " ", "", "map", 5),), ["no-name", "no-author", "unknown-kind", "bad-year"])]
    holds(subject, "catalog.titles:problems", rows)


def test_B7_catalog(subject):
    """Adding and finding, and what is refused."""
    known = {"T1": title()}
    other = title("T2", "Tide")
    holds(subject, "catalog.titles:add", [((known, other), {"T1": title(), "T2": other})])
    holds(subject, "catalog.titles:find", [((known, "T1"), title())])
    refuses(subject, "catalog.titles.CatalogError", "catalog.titles:add", known, title())
    refuses(subject, "catalog.titles.CatalogError", "catalog.titles:add", known, title("T3", kind="map"))
    refuses(subject, "catalog.titles.UnknownTitle", "catalog.titles:find", known, "T2")


def test_B8_barcodes(subject):
    """Check digits, and texts that are no barcodes."""
    holds(subject, "catalog.copies:check_digit", [(("1234567",), 0), (("0000001",), 7), (("0000010",), 9), (("",), 0)])
    texts = [("12345670", True), ("12345671", False), ("00000017", True), ("1234567", False), ("1234567x", False)]
    holds(subject, "catalog.copies:is_barcode", [((text,), right) for text, right in texts])


def test_B9_copies(subject):
    """States are counted, all of them named; what stands on the shelf is listed."""
    states = [("30", "T1", "shelf"), ("10", "T1", "shelf"), ("20", "T2", "shelf"), ("40", "T1", "repair")]
    copies = [{"barcode": code, "title": of, "state": state} for code, of, state in states]
    counted = {"shelf": 2, "out": 0, "repair": 1, "lost": 0}
    holds(subject, "catalog.copies:count_by_state", [((copies, "T1"), counted), (([], "T1"), dict.fromkeys(counted, 0))])
    holds(subject, "catalog.copies:available", [((copies, "T1"), ["10", "30"]), ((copies, "T3"), [])])


def test_B10_search(subject):
    """Every word in name or author, whatever the case; years with both ends."""
    shelf = [title("T1", "The Sea"), title("T2", "Sea Air", "Ann Lee", year=2000), title("T3", "Cliff", year=1990)]
    queries = [("sea", ["T1", "T2"]), ("LEE sea", ["T2"]), ("brown", ["T3", "T1"]), ("", []), ("-", []), ("seas", [])]
    holds(subject, "catalog.search:search", [((shelf, query), codes) for query, codes in queries])
    rows = [((shelf, 1990, 1995), ["T3", "T1"]), ((shelf, 1996, 2000), ["T2"]), ((shelf, 1996, 1999), [])]
    holds(subject, "catalog.search:of_years", rows)


def test_B11_shelf_marks(subject):
    """Made, read and sorted; the volumes of series."""
    rows = [((title(author="O'Brien"),), "B-OBR-1995"), ((title(author="Li", kind="film"),), "F-LI-1995")]
    holds(subject, "catalog.shelving:shelf_mark", rows)
    holds(subject, "catalog.shelving:parse_mark", [(("G-LEE-2000",), ("G", "LEE", 2000))])
    marks = ["F-ABC-1990", "B-XYZ-950", "B-XYZ-1000", "B-ABC-2000"]
    holds(subject, "catalog.shelving:in_order", [((marks,), ["B-ABC-2000", "B-XYZ-950", "B-XYZ-1000", "F-ABC-1990"])])
    for mark in ("X-ABC-1990", "B-ABC", "B-ABC-old", "B-A-B-1990"):
        refuses(subject, "catalog.titles.CatalogError", "catalog.shelving:parse_mark", mark)
    some = {4: "T9", 1: "T1", 6: "T3"}
    holds(subject, "catalog.series:add_volume", [((some, 2, "T2"), {**some, 2: "T2"})])
    holds(subject, "catalog.series:gaps", [((some,), [2, 3, 5]), (({},), []), (({1: "T1"},), [])])
    rows = [((some, "T1"), "T9"), ((some, "T9"), "T3"), ((some, "T3"), None), ((some, "T4"), None)]
    holds(subject, "catalog.series:after", rows)
    for number, code in ((0, "T2"), (4, "T2"), (2, "T9")):
        refuses(subject, "catalog.titles.CatalogError", "catalog.series:add_volume", some, number, code)


def test_B12_ages_and_cards(subject):
    """The birthday itself, the age of adults, and the last day of a card."""
    born = date(2010, 5, 10)
    rows = [((born, date(2020, 5, 9)), 9), ((born, date(2020, 5, 10)), 10), ((born, date(2020, 4, 30)), 9)]
    holds(subject, "members.cards:age_on", rows)
    rows = [((born, date(2025, 5, 9)), "child"), ((born, date(2025, 5, 10)), "adult")]
    holds(subject, "members.cards:category_for", rows)
    holds(subject, "members.cards:valid_until", [((member(),), date(2025, 3, 2))])
    days = [(date(2024, 3, 1), False), (date(2024, 3, 2), True), (date(2025, 3, 2), True), (date(2025, 3, 3), False)]
    holds(subject, "members.cards:is_valid", [((member(), day), valid) for day, valid in days])


def test_B13_names(subject):
    """As registers have them, and initials."""
    names = [("Anna  Maria Brook", "Brook, Anna Maria"), ("Cher", "Cher"), (" Bo Lee ", "Lee, Bo")]
    holds(subject, "members.names:listed", [((name,), listed) for name, listed in names])
    holds(subject, "members.names:initials", [(("anna Maria  brook",), "AMB"), (("Cher",), "C")])


def test_B14_register(subject):
    """Numbers count up; finding; categories."""
    known = {1: member(), 2: member(2, category="child")}
    holds(subject, "members.registry:next_number", [(({},), 1), ((known,), 3)])
    holds(subject, "members.registry:add", [((known, member(3)), {**known, 3: member(3)})])
    holds(subject, "members.registry:find", [((known, 2), known[2])])
    holds(subject, "members.registry:in_category", [((known, "child"), [2]), ((known, "staff"), [])])
    refuses(subject, "members.errors.MemberError", "members.registry:add", known, member(2))
    refuses(subject, "members.errors.MemberError", "members.registry:add", known, member(3, name=" "))
    refuses(subject, "members.errors.UnknownMember", "members.registry:find", known, 4)


def test_B15_due_days(subject):
    """By kind, and moved where the house is closed."""
    rows = [(("book", TUESDAY), date(2025, 4, 3)), (("film", TUESDAY), date(2025, 3, 14))]
    rows += [(("game", date(2025, 3, 8)), date(2025, 3, 25)), (("film", TUESDAY, [date(2025, 3, 14)]), date(2025, 3, 15))]
    holds(subject, "loans.checkout:due_day", rows)
    refuses(subject, "loans.errors.LoanError", "loans.checkout:due_day", "map", TUESDAY)


def test_B16_lending(subject):
    """One more loan, never the same thing twice, never too many."""
    others = [loan(f"{number}", who=2) for number in range(30)]
    mine = [loan(f"m{number}") for number in range(20)]
    new = loan("x")
    holds(subject, "loans.checkout:checkout", [((others, "x", "book", 1, TUESDAY), [*others, new])])
    holds(subject, "loans.checkout:checkout", [((mine[1:], "x", "book", 1, TUESDAY), [*mine[1:], new])])
    refuses(subject, "loans.errors.TooManyLoans", "loans.checkout:checkout", mine, "x", "book", 1, TUESDAY)
    refuses(subject, "loans.errors.LoanError", "loans.checkout:checkout", others, "5", "book", 1, TUESDAY)
    some = [loan("b"), loan("c", due=date(2025, 4, 1)), loan("a"), loan("d", who=2)]
    holds(subject, "loans.model:of_member", [((some, 1), [some[1], some[2], some[0]])])


def test_B17_renewals(subject):
    """What a renewal does, how many are left, and each reason for a refusal."""
    target = "loans.renewal:renew"
    again = {**loan(), "due": date(2025, 5, 1), "renewed": 1}
    early = {**loan(due=date(2025, 4, 30)), "renewed": 2}
    rows = [((loan(), date(2025, 4, 1)), again), ((loan(), date(2025, 4, 3)), {**again, "due": date(2025, 5, 3)})]
    rows += [((loan(due=date(2025, 4, 30), renewed=1), TUESDAY), early)]
    holds(subject, target, rows)
    holds(subject, "loans.renewal:renewals_left", [((loan(renewed=count),), left) for count, left in enumerate((2, 1, 0, 0))])
    refuses(subject, "loans.errors.NotRenewable", target, loan(), date(2025, 4, 4))
    refuses(subject, "loans.errors.NotRenewable", target, loan(renewed=2), TUESDAY)
    refuses(subject, "loans.errors.NotRenewable", target, loan(), TUESDAY, 1)


def test_B18_overdue(subject):
    """From the day after the due day; the most overdue first, equals by barcode."""
    offsets = [(-1, 0), (0, 0), (1, 1), (30, 30)]
    holds(subject, "loans.overdue:days_late", [((loan(), date(2025, 4, 3) + timedelta(days=off)), late) for off, late in offsets])
    some = [loan("30"), loan("10"), loan("20", due=date(2025, 4, 1)), loan("40", due=date(2025, 4, 5))]
    holds(subject, "loans.overdue:overdue", [((some, date(2025, 4, 5)), ["20", "10", "30"]), ((some, TUESDAY), [])])


def test_B19_returns(subject):
    """What is left, how late it was, and the tally."""
    some = [loan("10"), loan("20")]
    rows = [((some, "10", date(2025, 4, 5)), ([some[1]], 2)), ((some, "20", TUESDAY), ([some[0]], 0))]
    holds(subject, "loans.returns:give_back", rows)
    refuses(subject, "loans.errors.NotLent", "loans.returns:give_back", some, "30", TUESDAY)
    holds(subject, "loans.returns:tally", [(([0, -2, 1, 5, 9],), {"on_time": 2, "late": 3})])


def test_B20_holds(subject):
    """The line for a title, places in it, and what is refused."""
    some = [hold("T1", 5), hold("T2", 4), hold("T1", 3)]
    holds(subject, "holds.queue:place", [((some, "T2", 5, TUESDAY), [*some, hold("T2", 5)])])
    holds(subject, "holds.queue:cancel", [((some, "T1", 5), some[1:])])
    holds(subject, "holds.queue:line", [((some, "T1"), [5, 3]), ((some, "T3"), [])])
    holds(subject, "holds.queue:position", [((some, "T1", 3), 2), ((some, "T2", 4), 1)])
    holds(subject, "holds.queue:next_for", [((some, "T1"), 5), ((some, "T3"), None)])
    refuses(subject, "holds.errors.AlreadyWaiting", "holds.queue:place", some, "T1", 5, TUESDAY)
    refuses(subject, "holds.errors.NotWaiting", "holds.queue:cancel", some, "T2", 5)
    refuses(subject, "holds.errors.NotWaiting", "holds.queue:position", some, "T3", 5)


def test_B21_pickup_shelf(subject):
    """Five open days, closed ones not counted; what goes back."""
    rows = [((TUESDAY,), date(2025, 3, 11)), ((date(2025, 3, 8),), date(2025, 3, 15))]
    rows += [((TUESDAY, [date(2025, 3, 5)]), date(2025, 3, 12))]
    holds(subject, "holds.pickup:ready_until", rows)
    waiting = [(3, TUESDAY), (1, date(2025, 3, 5)), (2, date(2025, 3, 1))]
    holds(subject, "holds.pickup:expired", [((waiting, date(2025, 3, 12)), [3, 2]), ((waiting, date(2025, 3, 8)), [])])


def test_B22_fines(subject):
    """By kind up to the cap, together, and never below nothing."""
    rows = [(("book", 3), 30), (("film", 3), 150), (("game", 20), 1_000), (("game", 21), 1_000), (("book", 99), 990)]
    rows += [(("book", 101), 1_000), (("book", 0), 0), (("film", -4), 0)]
    holds(subject, "fees.overdue:fine_cents", rows)
    holds(subject, "fees.overdue:total_cents", [(([("book", 2), ("film", 1), ("game", 500)],), 1_070), (([],), 0)])
    refuses(subject, "fees.errors.FeeError", "fees.overdue:fine_cents", "map", 1)


def test_B23_lost_and_paid(subject):
    """Lost copies, refunds at both sides of the last day, balances, and what is settled first."""
    holds(subject, "fees.lost:lost_cents", [((1_500,), 2_000), ((0,), 500)])
    holds(subject, "fees.lost:refund_cents", [((1_500, 90), 1_500), ((1_500, 91), 0)])
    refuses(subject, "fees.errors.FeeError", "fees.lost:lost_cents", -1)
    entries = [("fine", 50), ("card", 200)]
    holds(subject, "fees.account:charge", [((entries, "bag", 5), [*entries, ("bag", 5)])])
    holds(subject, "fees.account:pay", [((entries, 250), [*entries, ("payment", -250)])])
    rows = [((entries,), entries), (([*entries, ("payment", -60)],), [("card", 190)])]
    rows += [(([*entries, ("payment", -30), ("bag", 5), ("payment", -20)],), [("card", 200), ("bag", 5)])]
    holds(subject, "fees.account:open_items", rows)
    lines = ["2025-03-04, 2 items", "fine".ljust(26) + "0.50", "card".ljust(26) + "2.00", "paid".ljust(26) + "2.50"]
    holds(subject, "fees.receipts:receipt", [((entries, TUESDAY), lines)])
    holds(subject, "fees.receipts:line", [(("x" * 50, 1_250), "x" * 24 + " 12.50")])
    refuses(subject, "fees.errors.Overpaid", "fees.account:pay", entries, 251)
    refuses(subject, "fees.errors.FeeError", "fees.account:pay", entries, 0)
    refuses(subject, "fees.errors.FeeError", "fees.account:charge", entries, "bag", -5)


def test_B24_notices(subject):
    """Channels, sentences and reminders."""
    rows = [((["post", "app"],), "app"), ((["post", "fax"],), "post"), (([],), None)]
    holds(subject, "notices.channels:channel_for", rows)
    messages = [("mail", "a"), ("app", "b"), ("mail", "c")]
    holds(subject, "notices.channels:by_channel", [((messages,), {"mail": ["a", "c"], "app": ["b"]})])
    holds(subject, "notices.texts:greeting", [((" Ann  Brook ",), "Dear Ann Brook,")])
    rows = [((["Sea"],), "1 loan due: Sea."), ((["Sea", "Tide"],), "2 loans due: Sea; Tide."), (([],), "Nothing is due.")]
    holds(subject, "notices.texts:due_line", rows)
    holds(subject, "notices.texts:owed_line", [((250,), "You owe 2.50."), ((0,), "You owe nothing.")])
    rows = [((date(2025, 3, 7),), date(2025, 3, 5)), ((date(2025, 3, 5),), date(2025, 3, 1))]
    rows += [((date(2025, 3, 7), [date(2025, 3, 5)]), TUESDAY)]
    holds(subject, "notices.schedule:reminder_day", rows)
    dues = [("a", date(2025, 3, 7)), ("b", date(2025, 3, 5)), ("c", date(2025, 3, 7))]
    calendar = {date(2025, 3, 5): ["a", "c"], date(2025, 3, 1): ["b"]}
    holds(subject, "notices.schedule:calendar", [((dues,), calendar)])


def test_B25_figures(subject):
    """Counts, shares and tables."""
    holds(subject, "stats.circulation:by_kind", [((["film", "book", "film"],), {"book": 1, "film": 2}), (([],), {})])
    days = [TUESDAY, TUESDAY, date(2025, 3, 8), date(2025, 3, 9)]
    holds(subject, "stats.circulation:by_weekday", [((days,), [0, 2, 0, 0, 0, 1, 1])])
    holds(subject, "stats.circulation:busiest", [(({11: 4, 10: 4, 12: 1},), 10), (({},), None)])
    holds(subject, "stats.usage:turnover", [((30, 12), 250), ((1, 3), 33), ((3, 0), 0)])
    holds(subject, "stats.usage:never_lent", [((["c", "a", "b"], {"a": 2, "b": 0}), ["b", "c"])])
    lent = {"b": 5, "a": 5, "c": 9}
    holds(subject, "stats.usage:most_lent", [((lent, 2), [("c", 9), ("a", 5)]), ((lent, 0), [])])
    holds(subject, "stats.tables:percent", [((1, 8), 13), ((1, 3), 33), ((2, 3), 67), ((1, 0), 0), ((5, 5), 100)])
    holds(subject, "stats.tables:row", [((["book", 5],), "book;5"), (([],), "")])
    holds(subject, "stats.tables:ranked", [((lent,), [("c", 9), ("a", 5), ("b", 5)])])
