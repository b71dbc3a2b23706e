"""B1 to B21: what the code did before the sprint, and still has to do."""

import hashlib


def holds(subject, tables):
    """Ask all rows (args, expected) of all functions in one process, and compare each answer."""
    steps = subject.steps()
    rows = [(target, *row) for target, rows in tables.items() for row in rows]
    answers = [(steps.call(target, *args), expected) for target, args, expected in rows]
    for answer, expected in answers:
        assert answer == expected


def refuses(subject, name, target, *args):
    """The call raises an exception that is of this class."""
    raised = subject.error(target, *args)
    assert raised.is_a(name)


def lines(*pairs):
    return [{"account": account, "amount_cents": cents} for account, cents in pairs]


def posting(name, day, *pairs):
    return {"id": name, "day": day, "memo": f" {name} \n x", "lines": lines(*pairs)}


SALE = posting("sale", "2025-04-30", ("1100", 11_900), ("4000", -10_000), ("2100", -1_900))
FEE = posting("fee", "2025-03-31", ("5000", 160), ("1000", -160))
PAID = posting("paid", "2025-05-02", ("1000", 11_900), ("1100", -11_900))
BOOKED = [{**one, "memo": f"{one['id']} x"} for one in (SALE, FEE, PAID)]


def test_B1_tax_of_small_amounts(subject):
    """Rates, halves rounded up, and what cannot be taxed."""
    amounts = (0, 1, 50, 79, 1_000, 2_499, 2_500)
    rows = [((amount, "north"), (amount * 19 + 50) // 100) for amount in amounts]
    rows += [((amount, "south"), (amount * 7 + 50) // 100) for amount in amounts]
    rows += [((amount, "islands"), 0) for amount in amounts]
    holds(subject, {"billing.tax:tax_cents": rows})
    refuses(subject, "billing.tax.TaxError", "billing.tax:tax_cents", -1, "north")
    refuses(subject, "billing.tax.TaxError", "billing.tax:rate_bps", "moon")


def test_B2_tax_of_large_amounts(subject):
    """The same arithmetic above 2,500 cents, right behind it and far from it."""
    amounts = (2_501, 2_502, 2_549, 2_550, 2_600, 3_000, 4_999, 10_000, 99_999, 123_450, 7_654_321)
    rows = [((amount, "north"), (amount * 19 + 50) // 100) for amount in amounts]
    rows += [((amount, "south"), (amount * 7 + 50) // 100) for amount in amounts]
    rows += [((amount, "islands"), 0) for amount in amounts]
    holds(subject, {"billing.tax:tax_cents": rows})


def test_B3_net_of_gross(subject):
    """The largest net that fits into a gross amount."""
    rows = [((1_190, "north"), 1_000), ((1_189, "north"), 999), ((1_070, "south"), 1_000), ((5_000, "islands"), 5_000)]
    rows += [((119_000, "north"), 100_000), ((0, "north"), 0), ((1, "south"), 1), ((53_499, "south"), 49_999)]
    holds(subject, {"billing.tax:net_cents": rows})


def test_B4_plan_prices(subject):
    """Base fee, further seats, the year, and unknown plans."""
    rows = [(("starter", 1), 900), (("starter", 4), 3_000), (("team", 5), 2_900), (("team", 6), 3_400)]
    rows += [(("company", 20), 9_900), (("company", 21), 10_300)]
    holds(subject, {"billing.plans:price_cents": rows})
    assert subject.call("billing.plans:price_cents", "team", 6, yearly=True) == 34_000
    refuses(subject, "billing.plans.UnknownPlan", "billing.plans:price_cents", "gold", 1)
    refuses(subject, "ValueError", "billing.plans:price_cents", "team", 0)


def test_B5_cheapest_plan(subject):
    """Where one plan becomes cheaper than the other."""
    best = {1: "starter", 3: "starter", 4: "team", 18: "team", 19: "company", 200: "company"}
    holds(subject, {"billing.plans:cheapest_plan": [((seats,), plan) for seats, plan in best.items()]})


def test_B6_proration(subject):
    """Shares are rounded down; a plan change costs the difference."""
    shares = [((1_000, 10, 30), 333), ((1_000, 0, 30), 0), ((999, 30, 30), 999)]
    changes = [((900, 4_900, 15, 30), 2_000), ((4_900, 900, 10, 31), -1_291)]
    holds(subject, {"billing.proration:prorate_cents": shares, "billing.proration:plan_change_cents": changes})
    refuses(subject, "ValueError", "billing.proration:prorate_cents", 1_000, 31, 30)


def test_B7_invoice_totals(subject):
    """Tax is taken once, on the net sum, whatever its size."""
    few = [{"text": "seat", "quantity": 3, "unit_cents": 700}]
    many = [
        *few,
        {"text": "setup", "quantity": 1, "unit_cents": 9_950},
        {"text": "call", "quantity": 7, "unit_cents": 33},
    ]
    rows = [((few, "north"), {"net_cents": 2_100, "tax_cents": 399, "gross_cents": 2_499})]
    rows += [((many, "north"), {"net_cents": 12_281, "tax_cents": 2_333, "gross_cents": 14_614})]
    rows += [((many, "south"), {"net_cents": 12_281, "tax_cents": 860, "gross_cents": 13_141})]
    holds(subject, {"billing.invoices:totals": rows})


def test_B8_invoice_bookings(subject):
    """The ledger lines of an invoice, and its number."""
    goods = [{"text": "seat", "quantity": 10, "unit_cents": 1_000}]
    taxed = lines(("1100", 11_900), ("4000", -10_000), ("2100", -1_900))
    free = lines(("1100", 10_000), ("4000", -10_000))
    numbers = [((2024, 7), "INV-2024-000007"), ((2025, 1_234_567), "INV-2025-1234567")]
    bookings = [((goods, "north"), taxed), ((goods, "islands"), free)]
    holds(subject, {"billing.invoices:posting_lines": bookings, "billing.invoices:invoice_number": numbers})
    refuses(subject, "ValueError", "billing.invoices:invoice_number", 2024, 0)


def test_B9_chart_of_accounts(subject):
    """Types, names, sides."""
    tables = {
        "ledger.accounts:account_type": [(("1900",), "asset"), (("2100",), "liability"), (("4900",), "income")],
        "ledger.accounts:normal_side": [(("1000",), "debit"), (("5000",), "debit"), (("3000",), "credit")],
        "ledger.accounts:accounts_of_type": [(("income",), ["4000", "4900"]), (("none",), [])],
    }
    holds(subject, tables)
    refuses(subject, "ledger.models.UnknownAccount", "ledger.accounts:account_name", "6000")


def test_B10_posting_rules(subject):
    """How many lines, no empty ones, balanced, known; memo and review."""
    sound = [lines(*[("1000", 1)] * 11, ("4000", -11)), lines(("1000", 5), ("4000", -5))]
    limits = [(lines(("1000", cents), ("4000", -cents)), cents >= 1_000_000) for cents in (999_999, 1_000_000)]
    tables = {
        "ledger.rules:validate_lines": [((given,), None) for given in sound],
        "ledger.rules:clean_memo": [((" a \n b\t",), "a b"), (("x" * 101,), "x" * 100)],
        "ledger.rules:needs_review": [((given,), expected) for given, expected in limits],
    }
    holds(subject, tables)
    unsound = {
        "LedgerError": [lines(*[("1000", 1)] * 12, ("4000", -12)), lines(("1000", 0), ("4000", 0))],
        "UnbalancedPosting": [lines(("1000", 5), ("4000", -4))],
        "UnknownAccount": [lines(("1000", 5), ("7777", -5))],
    }
    for name, refused in unsound.items():
        for given in refused:
            refuses(subject, f"ledger.models.{name}", "ledger.rules:validate_lines", given)


def test_B11_journal(subject):
    """Booking cleans the memo, refuses doubles and closed periods; balances follow."""
    table = [["1000", "debit", 11_740], ["2100", "credit", 1_900], ["4000", "credit", 10_000], ["5000", "debit", 160]]
    balances = {"1100": 0, "4000": -10_000, "2100": -1_900, "5000": 160, "1000": 11_740}
    tables = {
        "ledger.journal:book": [((BOOKED[:1], FEE), BOOKED[:2]), (([], SALE, ["FY2026-P02"]), BOOKED[:1])],
        "ledger.journal:balances": [((BOOKED,), balances)],
        "ledger.journal:trial_balance": [((BOOKED,), table)],
    }
    holds(subject, tables)
    refuses(subject, "ledger.models.LedgerError", "ledger.journal:book", BOOKED, FEE)
    refuses(subject, "ledger.models.PeriodClosed", "ledger.journal:book", [], SALE, ["FY2026-P01"])


def test_B12_periods(subject):
    """The year turns in April, and periods close in order."""
    periods = {"2024-03-31": "FY2024-P12", "2024-04-01": "FY2025-P01", "2024-12-31": "FY2025-P09"}
    periods["2025-01-01"] = "FY2025-P10"
    closing = {"FY2025-P02": True, "FY2025-P03": False, "FY2025-P01": False, "FY2026-P01": True}
    tables = {
        "ledger.periods:fiscal_period": [((day,), period) for day, period in periods.items()],
        "ledger.periods:can_close": [((period, ("FY2025-P01",)), can) for period, can in closing.items()],
    }
    holds(subject, tables)


def test_B13_roles(subject):
    """The order of roles."""
    ranks = {"viewer": 1, "clerk": 2, "manager": 3, "controller": 4}
    tables = {
        "rbac.roles:rank": [((role,), rank) for role, rank in ranks.items()],
        "rbac.roles:roles_from": [(("manager",), ["manager", "controller"]), (("controller",), ["controller"])],
    }
    holds(subject, tables)
    refuses(subject, "rbac.roles.UnknownRole", "rbac.roles:rank", "intern")


def test_B14_access(subject):
    """Which role may do what."""
    weakest = [("invoice.create", "clerk"), ("payment.allocate", "clerk"), ("period.close", "controller")]
    weakest += [("refund.issue", "manager"), ("report.view", "viewer"), ("role.assign", "controller")]
    allowed = [
        (("clerk", "refund.issue"), False),
        (("manager", "refund.issue"), True),
        (("viewer", "report.view"), True),
    ]
    tables = {
        "rbac.rules:is_allowed": [*allowed, (("manager", "role.assign"), False)],
        "rbac.rules:allowed_actions": [(("clerk",), ["invoice.create", "payment.allocate", "report.view"])],
        "rbac.rules:matrix": [((), weakest)],
    }
    holds(subject, tables)
    refuses(subject, "rbac.rules.AccessDenied", "rbac.rules:require", "manager", "period.close")
    refuses(subject, "rbac.rules.UnknownAction", "rbac.rules:needed_rank", "tea.make")


def test_B15_masking(subject):
    """Two letters stay, short names are masked entirely."""
    tables = {
        "audit.masking:mask_actor": [(("marlene",), "ma*****"), (("joe",), "jo*"), (("jo",), "**"), (("",), "")],
        "audit.masking:mask_email": [(("marlene@example.org",), "ma*****@example.org")],
    }
    holds(subject, tables)


def test_B16_trail(subject):
    """Entries are numbered, masked, sealed in a chain; a change shows."""
    first = {"seq": 1, "actor": "ma*****", "action": "refund.issue", "privileged": True}
    first["digest"] = hashlib.sha256(b"0000000000000000|1|ma*****|refund.issue").hexdigest()[:16]
    second = {"seq": 2, "actor": "vi****", "action": "invoice.create", "privileged": False}
    second["digest"] = hashlib.sha256(f"{first['digest']}|2|vi****|invoice.create".encode()).hexdigest()[:16]
    forged = {**first, "action": "report.view"}
    start, later = ([], "marlene", "manager", "refund.issue"), ([first], "viktor", "clerk", "invoice.create")
    tables = {
        "audit.trail:append": [(start, [first]), (later, [first, second])],
        "audit.trail:first_broken": [(([first, second],), None), (([first, forged],), 1), (([forged, second],), 1)],
    }
    holds(subject, tables)


def test_B17_retention(subject):
    """Financial entries stay ten years, others one; only the head of the chain may go."""
    ages = [("report.view", 365, False), ("report.view", 366, True), ("refund.issue", 3_650, False)]
    ages += [("period.close", 3_651, True), ("refunds", 366, True)]
    trail = [{"seq": n, "actor": "x", "action": "role.assign", "privileged": False, "digest": ""} for n in (1, 2, 3)]
    tables = {
        "audit.retention:expired": [((action, age), expired) for action, age, expired in ages],
        "audit.retention:removable": [((trail, [400, 10, 400]), [1])],
    }
    holds(subject, tables)


def test_B18_fees_and_allocation(subject):
    """Fees are rounded up; the earliest due invoice is settled first."""
    due = {"b": "2024-05-01", "a": "2024-05-01", "c": "2024-04-01"}
    invoices = [{"id": name, "due": day, "open_cents": 200} for name, day in due.items()]
    settled = {"applied": [("c", 200), ("a", 200), ("b", 50)], "left_cents": 0}
    spare = {"applied": [("c", 200), ("a", 200), ("b", 200)], "left_cents": 1}
    fees = [(("card", 1_000), 39), (("card", 1_001), 40), (("wallet", 1), 31), (("debit", 99_999), 10)]
    tables = {
        "payments.methods:fee_cents": [*fees, (("transfer", 5), 0)],
        "payments.methods:cheapest_method": [((1_000, ["card", "debit"]), "debit"), ((0, ["wallet", "card"]), "card")],
        "payments.allocation:allocate": [((450, invoices), settled), ((601, invoices), spare)],
    }
    holds(subject, tables)
    refuses(subject, "ValueError", "payments.allocation:allocate", 0, invoices)


def test_B19_refunds(subject):
    """Never more than was paid."""
    tables = {
        "payments.refunds:refund": [((500, [200], 300), [200, 300]), ((500, [], 1), [1])],
        "payments.refunds:refunds_by_method": [(([("card", 5), ("debit", 1), ("card", 2)],), {"card": 7, "debit": 1})],
        "payments.refunds:refund_lines": [((250,), lines(("4000", 250), ("1000", -250)))],
    }
    holds(subject, tables)
    refuses(subject, "payments.refunds.RefundError", "payments.refunds:refund", 500, [200], 301)
    refuses(subject, "payments.refunds.RefundError", "payments.refunds:refund", 500, [], 0)
    refuses(subject, "payments.refunds.RefundError", "payments.refunds:refundable_cents", 500, [501])


def test_B20_statements_and_exports(subject):
    """Statements by day with a running balance; amounts and tables as text."""
    rows = [["2025-03-31", "fee x", -160, 840], ["2025-05-02", "paid x", 11_900, 12_740]]
    sums = {"Bank": 11_740, "Receivables": 0, "Tax payable": 1_900, "Subscription revenue": 10_000, "Payment fees": 160}
    table = 'a,b\n1,"x,y"\n,"say ""hi"""\n'
    tables = {
        "reporting.statements:statement": [(("1000", BOOKED, 1_000), rows)],
        "reporting.statements:summary": [((BOOKED,), sums)],
        "reporting.exports:format_cents": [((0,), "0.00"), ((-5,), "(0.05)"), ((123_456_789,), "1,234,567.89")],
        "reporting.exports:to_csv": [(([{"a": 1, "b": "x,y"}, {"b": 'say "hi"'}], ["a", "b"]), table)],
    }
    holds(subject, tables)


def test_B21_notifications(subject):
    """Channels by preference, texts of messages."""
    reminder = "Hello Jo, 26.00 of INV-1 is 2 days overdue."
    tables = {
        "notifications.channels:channel_for": [((["sms", "email"],), "email"), ((["sms", "app"],), "app")],
        "notifications.messages:subject_line": [(("reminder", "INV-1"), "Open invoice INV-1")],
        "notifications.messages:reminder_text": [(("Jo", "INV-1", 2_600, 2), reminder)],
    }
    holds(subject, tables)
    assert subject.call("notifications.channels:channel_for", ["app", "sms"], urgent=True) == "sms"
    refuses(subject, "notifications.channels.Unreachable", "notifications.channels:channel_for", ["fax"])
