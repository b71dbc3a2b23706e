"""B1 to B21: what the code did before the sprint, and still has to do."""


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


def slew(degrees):
    """Settling takes 5 s, the first ten degrees a second each, three further degrees a second, begun seconds whole."""
    return 0 if degrees == 0 else 5 + min(degrees, 10) + (max(0, degrees - 10) + 2) // 3


def a_pass(satellite, start, end, peak):
    return {"satellite": satellite, "start": start, "end": end, "rise_deg": 0, "set_deg": 90, "peak_deg": peak}


def contact(name, start, end, dish="N1", rise=40, sets=40):
    ends = {"start": start, "end": end, "rise_deg": rise, "set_deg": sets}
    return {"id": name, "dish": dish, "satellite": "ASTER", **ends}


def request(name, service="standard", deadline=9_000, **changes):
    wish = {"id": name, "customer": "Tern Imaging", "satellite": "ASTER", "service": service}
    return {**wish, "kilobytes": 1, "deadline": deadline, **changes}


def test_B1_small_turns(subject):
    """Up to a quarter of a circle: slow at first, then fast, begun seconds whole."""
    holds(subject, {"antennas.slew:slew_seconds": [((n,), slew(n)) for n in (0, 1, 9, 10, 11, 12, 13, 14, 45, 89, 90)]})
    refuses(subject, "antennas.slew.SlewError", "antennas.slew:slew_seconds", -1)


def test_B2_large_turns(subject):
    """The same beyond a quarter of a circle, right behind it and up to the half."""
    degrees = (91, 92, 93, 94, 100, 119, 120, 121, 150, 178, 179, 180)
    holds(subject, {"antennas.slew:slew_seconds": [((n,), slew(n)) for n in degrees]})
    refuses(subject, "antennas.slew.SlewError", "antennas.slew:slew_seconds", 181)


def test_B3_ways_round(subject):
    """The shorter way, across north too, and tours of several turns."""
    turns = [((10, 350), 20), ((350, 10), 20), ((0, 180), 180), ((0, 181), 179), ((90, 90), 0), ((0, 360), 0)]
    tours = [(([0, 10, 50],), 15 + 25), (([7],), 0), (([350, 20, 20, 5],), 22 + 0 + 17), (([],), 0)]
    holds(subject, {"antennas.slew:turn_degrees": turns, "antennas.slew:tour_seconds": tours})


def test_B4_spans(subject):
    """Length, overlap, and spans that touch."""
    tables = {
        "orbit.windows:length": [(((5, 65),), 60), (((5, 5),), 0)],
        "orbit.windows:overlap": [(((0, 60), (59, 90)), 1), (((0, 60), (60, 90)), 0), (((0, 9), (2, 5)), 3)],
        "orbit.windows:merged": [
            (([(5, 9), (0, 5), (20, 30)],), [(0, 9), (20, 30)]),
            (([(0, 5), (6, 9), (0, 50), (50, 51)],), [(0, 51)]),
            (([(0, 5), (6, 9)],), [(0, 5), (6, 9)]),
        ],
    }
    holds(subject, tables)
    refuses(subject, "orbit.windows.BadWindow", "orbit.windows:length", (5, 4))


def test_B5_gaps(subject):
    """What is free, with spans before, across and behind the frame."""
    busy = [(0, 10), (95, 120), (30, 40), (40, 50), (200, 210)]
    rows = [((busy, (5, 100)), [(10, 30), (50, 95)]), ((busy, (0, 190)), [(10, 30), (50, 95), (120, 190)])]
    rows += [((busy, (30, 50)), []), (([], (1, 2)), [(1, 2)]), ((busy, (10, 20)), [(10, 20)])]
    holds(subject, {"orbit.windows:gaps": rows})


def test_B6_satellites(subject):
    """By band, by owner, and their rounds."""
    tables = {
        "orbit.satellites:in_band": [(("X",), ["ASTER", "CIRRUS"]), (("UHF",), ["DUNE"]), (("L",), [])],
        "orbit.satellites:fleet_of": [(("Bora Weather",), ["BORA-1", "BORA-2"]), (("nobody",), [])],
        "orbit.satellites:revolutions": [(("ASTER", 5_700), 1), (("ASTER", 5_699), 0), (("CIRRUS", 86_400), 16)],
    }
    holds(subject, tables)
    refuses(subject, "orbit.satellites.UnknownSatellite", "orbit.satellites:satellite", "aster")


def test_B7_passes(subject):
    """Mask and least length at both sides, order, and the best one."""
    passes = [a_pass("B", 500, 620, 10), a_pass("A", 500, 620, 10), a_pass("C", 0, 119, 80), a_pass("D", 0, 900, 9)]
    passes += [a_pass("E", 100, 300, 60), a_pass("F", 90, 300, 60)]
    kept = [passes[5], passes[4], passes[1], passes[0]]
    tables = {
        "orbit.passes:usable": [((passes,), kept), ((passes, 60), kept[:2])],
        "orbit.passes:best": [((passes,), passes[2]), ((passes[3:],), passes[5])],
        "orbit.passes:seconds_of": [((passes[2],), 119)],
    }
    holds(subject, tables)
    refuses(subject, "orbit.passes.NoPass", "orbit.passes:best", [])


def test_B8_trimming(subject):
    """Both ends are cut, down to nothing."""
    one = a_pass("A", 100, 200, 50)
    rows = [((one, 49), {**one, "start": 149, "end": 151}), ((one, 50), None), ((one, 0), one), ((one, 80), None)]
    holds(subject, {"orbit.passes:trimmed": rows})


def test_B9_dishes(subject):
    """By band and station, and the hills around them."""
    tables = {
        "antennas.dishes:dishes_for": [(("S",), ["N1", "N2", "S2"]), (("X", "Salar"), ["S1", "S2"]), (("L",), [])],
        "antennas.dishes:can_see": [(("S1", 5), False), (("S1", 6), True), (("S2", 10), False), (("S2", 11), True)],
    }
    holds(subject, tables)
    refuses(subject, "antennas.dishes.UnknownDish", "antennas.dishes:can_see", "S3", 50)


def test_B10_weather(subject):
    """Wind, rain and frost at both sides of their limits."""
    stow = [((59, 89), False), ((60, 0), True), ((0, 90), True)]
    tables = {
        "antennas.weather:must_stow": stow,
        "antennas.weather:rain_loss": [((7, "X"), 28), ((7, "S"), 7), ((7, "UHF"), 0)],
        "antennas.weather:needs_heater": [((2, 80), True), ((3, 80), False), ((2, 79), False)],
    }
    holds(subject, tables)
    refuses(subject, "antennas.weather.WeatherError", "antennas.weather:rain_loss", -1, "X")
    refuses(subject, "antennas.weather.WeatherError", "antennas.weather:rain_loss", 1, "L")


def test_B11_margins(subject):
    """Steps of the elevation, band and rain."""
    losses = {90: 0, 60: 0, 59: 10, 30: 10, 29: 45, 10: 45}
    margins = [(("UHF", 60), 120), (("S", 59, 5), 80), (("X", 10, 10), -10), (("X", 90, 1), 71)]
    tables = {
        "links.budget:elevation_loss": [((degrees,), loss) for degrees, loss in losses.items()],
        "links.budget:margin": margins,
    }
    holds(subject, tables)
    refuses(subject, "links.budget.LinkError", "links.budget:elevation_loss", 9)
    refuses(subject, "links.budget.LinkError", "links.budget:margin", "L", 50)


def test_B12_rates(subject):
    """Full, half, a quarter, nothing: at both sides of each margin."""
    rows = [(("ASTER", 59, 1), 80_000), (("ASTER", 59, 2), 40_000), (("ASTER", 29, 0), 40_000)]
    rows += [(("ASTER", 29, 1), 20_000), (("ASTER", 29, 7), 20_000), (("ASTER", 29, 8), 0), (("DUNE", 10), 10)]
    rows += [(("BORA-1", 60, 35), 2_000), (("BORA-1", 60, 36), 1_000), (("BORA-2", 60, 96), 0)]
    holds(subject, {"links.budget:rate_kbps": rows})


def test_B13_volumes(subject):
    """Data is rounded down, time up."""
    tables = {
        "links.volume:kilobytes": [((3, 5), 1), ((1, 8), 1), ((600, 2_000), 150_000), ((0, 7), 0)],
        "links.volume:seconds_for": [((1, 8), 1), ((1, 7), 2), ((150_001, 2_000), 601), ((0, 9), 0)],
        "links.volume:fits": [((150_000, 600, 2_000), True), ((150_001, 600, 2_000), False)],
    }
    holds(subject, tables)
    refuses(subject, "links.volume.VolumeError", "links.volume:seconds_for", 1, 0)
    refuses(subject, "links.volume.VolumeError", "links.volume:kilobytes", 1, -1)


def test_B14_hazards(subject):
    """How dangerous each command is."""
    levels = {"ping": 0, "load_schedule": 1, "reset_radio": 2, "deploy_boom": 3}
    tables = {
        "commands.catalog:level": [((name,), level) for name, level in levels.items()],
        "commands.catalog:commands_of": [(("irreversible",), ["deploy_boom", "wipe_memory"]), (("funny",), [])],
    }
    holds(subject, tables)
    refuses(subject, "commands.catalog.UnknownCommand", "commands.catalog:level", "sing")


def test_B15_clearance(subject):
    """Which role may send what, and the lowest that may send all."""
    operator = ["dump_log", "load_schedule", "ping", "set_clock"]
    lowest = [((["ping"],), "trainee"), ((["ping", "wipe_memory"],), "director"), (([],), None)]
    tables = {
        "commands.clearance:may_send": [(("engineer", "reset_radio"), True), (("engineer", "deploy_boom"), False)],
        "commands.clearance:allowed": [(("operator",), operator), (("trainee",), ["dump_log", "ping"])],
        "commands.clearance:lowest_role": lowest,
    }
    holds(subject, tables)
    refuses(subject, "commands.clearance.NotCleared", "commands.clearance:require", "trainee", "set_clock")
    refuses(subject, "commands.clearance.UnknownRole", "commands.clearance:may_send", "pilot", "ping")


def test_B16_queue(subject):
    """Harmless first and stable, full, repeats, counts."""
    names = ["wipe_memory", "set_clock", "ping", "load_schedule", "dump_log"]
    order = ["ping", "dump_log", "set_clock", "load_schedule", "wipe_memory"]
    twice = ["ping", "ping", "set_clock", "set_clock", "ping", "ping", "ping"]
    tables = {
        "commands.queue:queued": [((names,), order), ((["ping"] * 50,), ["ping"] * 50)],
        "commands.queue:without_repeats": [((twice,), ["ping", "set_clock", "set_clock", "ping"])],
        "commands.queue:tally": [((names,), {"routine": 2, "guarded": 2, "hazardous": 0, "irreversible": 1})],
    }
    holds(subject, tables)
    refuses(subject, "commands.queue.QueueFull", "commands.queue:queued", ["ping"] * 51)


def test_B17_requests(subject):
    """All problems in their order, both ends of the time, and a request that comes again."""
    foreign = request("a", satellite="DUNE", kilobytes=0, deadline=5)
    known = [request("a"), request("b")]
    again = request("a", kilobytes=50)
    month = 2_592_000
    tables = {
        "booking.requests:problems": [
            ((foreign, 5), ["not-yours", "no-data", "too-late"]),
            ((request("a", satellite="MIR", deadline=6), 5), ["unknown-satellite"]),
            ((request("a", deadline=month + 5), 5), []),
            ((request("a", deadline=month + 6), 5), ["too-early"]),
        ],
        "booking.requests:accept": [((known, again, 0), [again, known[1]]), (([], again, 0), [again])],
    }
    holds(subject, tables)
    refuses(subject, "booking.requests.RequestRefused", "booking.requests:accept", known, foreign, 5)


def test_B18_priority(subject):
    """Services, deadlines, ids, and who displaces whom."""
    order = [request("z", "emergency"), request("y", "launch"), request("x", deadline=50), request("v"), request("w")]
    pairs = {("emergency", "standard"): True, ("emergency", "launch"): False, ("launch", "economy"): True}
    pairs |= {("economy", "emergency"): False, ("standard", "economy"): False}
    tables = {
        "booking.priority:ordered": [((order[::-1],), order)],
        "booking.priority:may_displace": [(pair, may) for pair, may in pairs.items()],
    }
    holds(subject, tables)
    refuses(subject, "booking.priority.UnknownService", "booking.priority:rank", "luxury")


def test_B19_plan(subject):
    """Times, turns of any size to the second, order, free spans, sheets."""
    first = contact("a", 0, 600, sets=10)
    half = contact("b", 600 + slew(180), 900, rise=190)
    wide = contact("c", 600 + slew(95), 900, rise=275)
    hasty = {**half, "start": half["start"] - 1}
    other = contact("d", 100, 200, dish="S1")
    tables = {
        "booking.plan:clock": [((459_309,), "5/07:35:09"), ((86_399,), "0/23:59:59"), ((0,), "0/00:00:00")],
        "booking.plan:ready_at": [((first, half), half["start"]), ((first, wide), wide["start"])],
        "booking.plan:conflicts": [(([half, other, first],), []), (([hasty, first],), [("a", "b")])],
        "booking.plan:add": [(([first, half], other), [first, other, half])],
        "booking.plan:free_spans": [(([half, other, first], "N1", (500, 1_000)), [(600, half["start"]), (900, 1_000)])],
        "booking.plan:day_sheet": [(([half, other, first], "N1"), ["0/00:00:00 ASTER", "0/00:11:12 ASTER"])],
    }
    holds(subject, tables)
    refuses(subject, "booking.plan.PlanConflict", "booking.plan:add", [first], hasty)


def test_B20_charges(subject):
    """Begun minutes, cancelling, rebate, numbers."""
    notices = {86_400: 0, 86_399: 455, 3_600: 455, 3_599: 911}
    minutes = {0: 5, 300: 5, 301: 6, 360: 6, 361: 7}
    lines = [{"text": "x", "cents": cents} for cents in (500_000, 19)]
    tables = {
        "charges.tariff:billed_minutes": [((seconds,), expected) for seconds, expected in minutes.items()],
        "charges.tariff:contact_cents": [((361, "X"), 6_300), ((0, "UHF"), 750), ((600, "S"), 4_000)],
        "charges.tariff:cancel_cents": [((911, notice), cents) for notice, cents in notices.items()],
        "charges.invoices:contact_line": [(("DUNE", 301), {"text": "Contact DUNE, 301 s", "cents": 900})],
        "charges.invoices:rebate_cents": [((500_019,), 0), ((500_020,), 1), ((400_000,), 0)],
        "charges.invoices:total_cents": [((lines,), 500_019), (([*lines, lines[0]],), 975_019)],
        "charges.invoices:invoice_number": [((2026, 12, 12_345), "HM-2026-12-12345")],
    }
    holds(subject, tables)
    refuses(subject, "charges.tariff.TariffError", "charges.tariff:contact_cents", -1, "S")
    refuses(subject, "ValueError", "charges.invoices:invoice_number", 2026, 13, 1)
    refuses(subject, "ValueError", "charges.invoices:invoice_number", 2026, 1, 0)


def test_B21_reports(subject):
    """Tables, times and amounts as text, shifts and their handover."""
    plan = [contact("b", 7_201, 7_900), contact("a", 3_000, 3_601), contact("c", 7_200, 9_000, dish="S1")]
    plan += [contact("d", 0, 3_600, dish="S2")]
    lines = ["N1 hears ASTER until 0/01:00:01", "S1 expects ASTER at 0/02:00:00"]
    shifts = {0: "night", 28_799: "night", 28_800: "early", 57_600: "late", 86_399: "late", 86_400: "night"}
    tables = {
        "reports.tables:aligned": [(([["abc", "d"], ["e", ""]],), "abc  d\ne\n"), (([],), "")],
        "reports.tables:duration": [((59,), "59 s"), ((60,), "1 min"), ((3_660,), "1 h 01 min"), ((3_599,), "59 min")],
        "reports.tables:euros": [((123_456_789,), "1 234 567.89"), ((-105,), "1.05-"), ((0,), "0.00")],
        "reports.shifts:shift_of": [((second,), name) for second, name in shifts.items()],
        "reports.shifts:handover": [((plan, 3_600), lines)],
    }
    holds(subject, tables)
