"""B1 to B30: what the code did before the sprint, and still has to do."""

from datetime import date, timedelta

DAY = date(2025, 5, 5)


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


def article(sku="MUG", category="kitchen", **changes):
    measures = {"weight_g": 350, "length_mm": 120, "width_mm": 90, "height_mm": 100, "case_size": 6}
    return {"sku": sku, "name": "x", "category": category, **measures, **changes}


def order(number="O1", channel="web", ship_by=DAY, lines=(("MUG", 1),)):
    return {"number": number, "channel": channel, "ship_by": ship_by, "lines": list(lines)}


def pick(name, units=1, location="A-01-01-1", sku="MUG"):
    return {"order": name, "sku": sku, "units": units, "location": location}


def test_B1_articles(subject):
    """Volume, and measures that are not positive."""
    holds(subject, "catalog.goods:volume_mm3", [((article(),), 1_080_000), ((article(height_mm=1),), 10_800)])
    rows = [((article(),), []), ((article(weight_g=0),), ["weight_g"])]
    rows += [((article(case_size=-1, width_mm=0),), ["width_mm", "case_size"])]
    holds(subject, "catalog.goods:problems", rows)


def test_B2_catalog(subject):
    """Adding, finding, listing by category, and what is refused."""
    mug, pan, bed = article(), article("PAN"), article("BED", "home")
    catalog = {"PAN": pan, "MUG": mug, "BED": bed}
    holds(subject, "catalog.registry:add", [(({"PAN": pan}, mug), {"PAN": pan, "MUG": mug})])
    holds(subject, "catalog.registry:find", [((catalog, "BED"), bed)])
    holds(subject, "catalog.registry:in_category", [((catalog, "kitchen"), ["MUG", "PAN"]), ((catalog, "toys"), [])])
    refuses(subject, "catalog.goods.UnknownSku", "catalog.registry:find", catalog, "CUP")
    refuses(subject, "catalog.goods.CatalogError", "catalog.registry:add", catalog, mug)
    refuses(subject, "catalog.goods.CatalogError", "catalog.registry:add", {}, article(weight_g=0))


def test_B3_units(subject):
    """Cases, loose units and pallets, at both sides of a full one."""
    holds(subject, "catalog.units:split_cases", [((11, 6), (1, 5)), ((12, 6), (2, 0)), ((0, 6), (0, 0))])
    holds(subject, "catalog.units:full_cases", [((11, 6), 12), ((12, 6), 12), ((13, 6), 18), ((0, 6), 0)])
    holds(subject, "catalog.units:pallets", [((0,), 0), ((1,), 1), ((40,), 1), ((41,), 2), ((80,), 2)])
    refuses(subject, "catalog.goods.CatalogError", "catalog.units:split_cases", 5, 0)


def test_B4_working_days(subject):
    """Monday to Friday, and the step over a weekend."""
    week = [DAY + timedelta(days=n) for n in range(7)]
    holds(subject, "catalog.policy:is_workday", [((day,), n < 5) for n, day in enumerate(week)])
    following = [week[1], week[2], week[3], week[4], DAY + timedelta(days=7), DAY + timedelta(days=7)]
    holds(subject, "catalog.policy:next_workday", [((day,), then) for day, then in zip(week, following, strict=False)])


def test_B5_locations(subject):
    """Labels apart, together and in order."""
    place = {"zone": "BX", "aisle": 3, "bay": 12, "level": 0}
    holds(subject, "inventory.locations:parse", [(("BX-03-12-0",), place)])
    holds(subject, "inventory.locations:label", [((place,), "BX-03-12-0")])
    labels = ["B-01-01-1", "A-10-01-1", "A-02-03-2", "A-02-10-1", "A-02-03-1"]
    holds(subject, "inventory.locations:in_order", [((labels,), [labels[n] for n in (4, 2, 3, 1, 0)]), (([],), [])])
    for text in ("A-1-01-1", "ABC-01-01-1", "A-01-01-12", "a-01-01-1", "A-01-01-1 "):
        refuses(subject, "inventory.errors.BadLocation", "inventory.locations:parse", text)


def test_B6_stock_movements(subject):
    """Receiving, issuing and moving; nobody takes more than lies there."""
    stock = {"MUG": {"A-01-02-1": 5, "A-01-01-1": 3}}
    more = {"MUG": {"A-01-02-1": 7, "A-01-01-1": 3}}
    holds(subject, "inventory.stock:receive", [((stock, "MUG", "A-01-02-1", 2), more)])
    rows = [((stock, "MUG", "A-01-01-1", 3), {"MUG": {"A-01-02-1": 5}})]
    rows += [((stock, "MUG", "A-01-02-1", 4), {"MUG": {"A-01-02-1": 1, "A-01-01-1": 3}})]
    holds(subject, "inventory.stock:issue", rows)
    moved = {"MUG": {"A-01-01-1": 3, "B-01-01-1": 5}}
    holds(subject, "inventory.stock:move", [((stock, "MUG", "A-01-02-1", "B-01-01-1", 5), moved)])
    holds(subject, "inventory.stock:on_hand", [((stock, "MUG"), 8), ((stock, "PAN"), 0)])
    refuses(subject, "inventory.errors.NotEnough", "inventory.stock:issue", stock, "MUG", "A-01-01-1", 4)
    refuses(subject, "inventory.errors.InventoryError", "inventory.stock:receive", stock, "MUG", "A-01-01-1", 0)
    refuses(subject, "inventory.errors.BadLocation", "inventory.stock:receive", stock, "MUG", "shelf", 1)


def test_B7_pick_plans(subject):
    """Locations are emptied in the order of the house."""
    stock = {"MUG": {"B-01-01-1": 4, "A-01-02-1": 5, "A-01-01-1": 3}}
    rows = [((stock, "MUG", 3), [("A-01-01-1", 3)]), ((stock, "MUG", 4), [("A-01-01-1", 3), ("A-01-02-1", 1)])]
    rows += [((stock, "MUG", 12), [("A-01-01-1", 3), ("A-01-02-1", 5), ("B-01-01-1", 4)]), ((stock, "MUG", 0), [])]
    holds(subject, "inventory.stock:plan_pick", rows)
    refuses(subject, "inventory.errors.NotEnough", "inventory.stock:plan_pick", stock, "MUG", 13)


def test_B8_lots(subject):
    """First expiring first; the day of expiry is the last; never expiring lots come last."""
    days = (("L4", 5, None), ("L3", 4, DAY), ("L1", 2, DAY + timedelta(days=9)), ("L2", 6, DAY))
    lots = [{"code": code, "units": units, "expires": day} for code, units, day in days]
    holds(subject, "inventory.lots:first_expiring", [((lots,), [lots[3], lots[1], lots[2], lots[0]])])
    rows = [((lots, DAY), lots), ((lots, DAY + timedelta(days=1)), [lots[0], lots[2]])]
    holds(subject, "inventory.lots:usable", rows)
    rows = [((lots, 7, DAY), [("L2", 6), ("L3", 1)]), ((lots, 3, DAY + timedelta(days=1)), [("L1", 2), ("L4", 1)])]
    holds(subject, "inventory.lots:take", rows)
    refuses(subject, "inventory.errors.NotEnough", "inventory.lots:take", lots, 18, DAY)


def test_B9_counting(subject):
    """Variances by location, and the accuracy of a count."""
    books, counts = {"A": 5, "B": 2, "C": 9}, {"B": 2, "A": 4, "D": 1}
    holds(subject, "inventory.counting:variance", [((5, 4), -1), ((0, 3), 3), ((2, 2), 0)])
    holds(subject, "inventory.counting:differences", [((books, counts), [("A", -1), ("D", 1)]), ((books, {}), [])])
    rows = [((books, counts), 33), ((books, {}), 100), ((books, {"A": 5}), 100), ((books, {"A": 6}), 0)]
    holds(subject, "inventory.counting:accuracy_percent", rows)
    refuses(subject, "inventory.errors.InventoryError", "inventory.counting:variance", -1, 0)


def test_B10_replenishment(subject):
    """Reorder points, whole cases, days of stock."""
    holds(subject, "inventory.replenish:reorder_point", [((20, 5), 100), ((20, 5, 50), 150), ((0, 9), 0)])
    rows = [((10, 5, 100, 6), 90), ((10, 5, 100, 50), 100), ((50, 50, 100, 6), 0), ((50, 49, 100, 6), 6)]
    holds(subject, "inventory.replenish:order_units", rows)
    holds(subject, "inventory.replenish:days_of_stock", [((100, 30), 3), ((90, 30), 3), ((89, 30), 2), ((5, 0), 1_000)])
    refuses(subject, "inventory.errors.InventoryError", "inventory.replenish:reorder_point", -1, 5)


def test_B11_receiving(subject):
    """Status of receipts near the announced units, and what is refused."""
    rows = []
    for received, status in ((0, "short"), (99, "short"), (100, "exact"), (101, "over"), (110, "over")):
        receipt = {"sku": "MUG", "expected": 100, "received": received, "status": status}
        rows.append((({"MUG": 100, "PAN": 5}, "MUG", received), receipt))
    holds(subject, "inbound.receiving:receive_line", rows)
    refuses(subject, "inbound.errors.NotAnnounced", "inbound.receiving:receive_line", {"MUG": 100}, "PAN", 1)
    refuses(subject, "inbound.errors.InboundError", "inbound.receiving:receive_line", {"MUG": 100}, "MUG", -1)


def test_B12_missing_units(subject):
    """Receipts add up; what came in full is left out. And samples of quality."""
    notice = {"PAN": 5, "MUG": 10, "LID": 1}
    receipts = [
        {"sku": sku, "expected": 0, "received": n, "status": ""} for sku, n in (("MUG", 4), ("LID", 1), ("MUG", 5))
    ]
    rows = [((notice, receipts), {"MUG": 1, "PAN": 5}), ((notice, []), notice), (({}, []), {})]
    holds(subject, "inbound.receiving:missing", rows)
    sizes = {-1: 0, 0: 0, 1: 1, 19: 1, 20: 2, 499: 49, 500: 50, 9_000: 50}
    holds(subject, "inbound.receiving:sample_size", [((units,), size) for units, size in sizes.items()])


def test_B13_docks(subject):
    """Trucks in order of arrival at the first free door, with cleaning in between."""
    trucks = [("T2", 5, 30), ("T1", 0, 60), ("T3", 10, 30), ("T4", 200, 10)]
    plan = {"T1": ("D1", 0), "T2": ("D2", 5), "T3": ("D2", 45), "T4": ("D1", 200)}
    rows = [
        ((trucks, ["D1", "D2"]), plan),
        (([], ["D1"]), {}),
        (([("T9", 0, 5), ("T8", 0, 5)], ["X"]), {"T8": ("X", 0), "T9": ("X", 15)}),
    ]
    holds(subject, "inbound.docks:assign", rows)
    holds(subject, "inbound.docks:waiting", [((trucks, ["D1", "D2"]), 35), ((trucks, ["D1", "D2", "D3"]), 0)])
    refuses(subject, "inbound.errors.InboundError", "inbound.docks:assign", trucks, [])


def test_B14_putaway(subject):
    """Light goods go to the first free location, the heaviest first."""
    free = ["B-01-01-1", "A-01-02-1", "A-01-01-2", "A-01-01-1"]
    holds(subject, "inbound.putaway:slot_for", [((500, free), "A-01-01-1"), ((9_000, free[:2]), "A-01-02-1")])
    arrivals = [("CUP", 200), ("PAN", 900), ("LID", 200)]
    rows = [((arrivals, free), {"PAN": "A-01-01-1", "CUP": "A-01-01-2", "LID": "A-01-02-1"}), (([], free), {})]
    holds(subject, "inbound.putaway:plan", rows)
    refuses(subject, "inbound.errors.NoSlot", "inbound.putaway:slot_for", 500, [])


def test_B15_intake(subject):
    """Problems of small orders in their order; sound ones pass."""
    rows = [((order(),), []), ((order(channel="phone", lines=[("MUG", 5), ("PAN", 5)]),), [])]
    rows += [((order(channel="fax"),), ["unknown-channel"]), ((order(lines=[]),), ["no-lines"])]
    rows += [((order(lines=[("MUG", 0), ("MUG", 2)]),), ["bad-units", "repeated-article"])]
    holds(subject, "orders.intake:problems", rows)
    holds(subject, "orders.intake:accept", [((order(),), order())])
    refuses(subject, "orders.model.OrderError", "orders.intake:accept", order(lines=[]))


def test_B16_priority(subject):
    """Days late, rank and what is overdue."""
    late = DAY - timedelta(days=3)
    orders = [order("O3"), order("O2", ship_by=late), order("O1"), order("O4", ship_by=DAY + timedelta(days=1))]
    holds(subject, "orders.priority:days_late", [((orders[1], DAY), 3), ((orders[0], DAY), 0), ((orders[3], DAY), 0)])
    holds(subject, "orders.priority:ranked", [((orders,), ["O2", "O1", "O3", "O4"])])
    rows = [((orders, DAY), ["O2"]), ((orders, DAY + timedelta(days=1)), ["O2", "O1", "O3"]), ((orders, late), [])]
    holds(subject, "orders.priority:overdue", rows)
    holds(subject, "orders.model:total_units", [((order(lines=[("MUG", 2), ("PAN", 3)]),), 5), ((order(lines=[]),), 0)])


def test_B17_allocation(subject):
    """Lines that are served in full or almost; completeness."""
    cases = [([("MUG", 10), ("PAN", 4)], {"MUG": 10, "PAN": 9}, {"MUG": 10, "PAN": 4}, {})]
    cases += [([("MUG", 10)], {"MUG": 9}, {"MUG": 9}, {"MUG": 1}), ([("MUG", 5)], {}, {}, {"MUG": 5})]
    cases += [([("MUG", 6), ("MUG", 5)], {"MUG": 6}, {"MUG": 6}, {"MUG": 5})]
    for lines, available, given, lacking in cases:
        found = subject.call("orders.allocation:allocate", lines, available).value
        assert isinstance(found, dict)
        assert found.get("given") == given
        assert found.get("lacking") == lacking
    rows = [((order(lines=[("MUG", 2)]), {"MUG": 2}), True), ((order(lines=[("MUG", 2)]), {"MUG": 1}), False)]
    holds(subject, "orders.allocation:is_complete", rows)


def test_B18_promised_days(subject):
    """The ordinary deadline at both sides, weekends, and working days between two days."""
    friday, monday = date(2025, 5, 9), date(2025, 5, 12)
    rows = [((DAY, 0), DAY), ((DAY, 719), DAY), ((DAY, 720), date(2025, 5, 6)), ((DAY, 1_439), date(2025, 5, 6))]
    rows += [((friday, 719), friday), ((friday, 720), monday), ((date(2025, 5, 10), 0), monday)]
    holds(subject, "orders.promise:ship_by", rows)
    rows = [((friday, monday), 1), ((DAY, DAY), 0), ((DAY, date(2025, 5, 18)), 9), ((monday, DAY), 0)]
    holds(subject, "orders.promise:workdays_between", rows)
    refuses(subject, "orders.model.OrderError", "orders.promise:ship_by", DAY, 1_440)


def test_B19_waves(subject):
    """Waves by count and by zone."""
    picks = [pick("O1", location="B-01-01-1"), pick("O2"), pick("O3", location="B-01-02-1")]
    rows = [((picks, 2), [picks[:2], picks[2:]]), ((picks, 3), [picks]), (([], 2), [])]
    holds(subject, "picking.waves:by_count", rows)
    holds(subject, "picking.waves:by_zone", [((picks,), {"A": [picks[1]], "B": [picks[0], picks[2]]})])
    refuses(subject, "picking.model.PickingError", "picking.waves:by_count", picks, 0)


def test_B20_batches(subject):
    """Single-pick orders, and units by article."""
    picks = [pick("O1", 2), pick("O2", 3, sku="PAN"), pick("O1", 4, sku="PAN"), pick("O3", 1)]
    holds(subject, "picking.batches:singles", [((picks,), [picks[1], picks[3]]), (([],), [])])
    holds(subject, "picking.batches:by_article", [((picks,), {"MUG": 3, "PAN": 7}), (([],), {})])
    holds(subject, "picking.model:total_units", [((picks,), 10), (([],), 0)])


def test_B21_routes(subject):
    """Walking order through odd and even aisles, doubles once; aisle changes as they stand."""
    places = ["A-02-01-1", "A-01-02-1", "B-01-01-1", "A-02-05-1", "A-01-01-1", "A-01-01-1"]
    walked = ["A-01-01-1", "A-01-02-1", "A-02-05-1", "A-02-01-1", "B-01-01-1"]
    holds(subject, "picking.route:serpentine", [((places,), walked), (([],), [])])
    holds(subject, "picking.route:aisle_changes", [((walked,), 2), ((places,), 4), (([],), 0), ((places[:1],), 0)])


def test_B22_shorts(subject):
    """Shorts in the order of the picks, and the orders that they concern."""
    picks = [pick("O2", 5), pick("O1", 2), pick("O3", 4, sku="PAN")]
    shorts = [{"order": "O2", "sku": "MUG", "missing": 2}, {"order": "O3", "sku": "PAN", "missing": 4}]
    holds(subject, "picking.shorts:compare", [((picks, [3, 2, 0]), shorts), ((picks, [5, 9, 4]), [])])
    holds(subject, "picking.shorts:affected_orders", [((shorts[::-1] * 2,), ["O2", "O3"]), (([],), [])])
    refuses(subject, "picking.model.PickingError", "picking.shorts:compare", picks, [1])


def test_B23_cartons(subject):
    """The smallest carton that takes goods that fill no half of it, by volume and by weight."""
    kinds = (("L", 8_000, 20_000), ("T", 1_000, 5_000), ("S", 1_000, 5_000), ("M", 4_000, 10_000))
    cartons = [{"name": name, "inner_mm3": inner, "max_g": grams} for name, inner, grams in kinds]
    rows = [((400, 5_000, cartons), "S"), ((400, 5_001, cartons), "M"), ((1_600, 1, cartons), "M")]
    rows += [((1, 20_000, cartons), "L")]
    holds(subject, "packing.cartons:choose", rows)
    holds(subject, "packing.cartons:filled_percent", [((999, cartons[1]), 99), ((1_000, cartons[1]), 100)])
    refuses(subject, "packing.errors.PackingError", "packing.cartons:choose", 400, 20_001, cartons)
    refuses(subject, "packing.errors.PackingError", "packing.cartons:choose", 8_001, 1, cartons)


def test_B24_weights(subject):
    """The weight of a packed carton, and the heaviest parcel."""
    holds(subject, "packing.weighing:expected_g", [(([(2, 350), (1, 900)], 200), 1_800), (([], 0), 0)])
    rows = [(({"P2": 500, "P1": 500, "P3": 100},), "P1"), (({"P2": 501, "P1": 500},), "P2")]
    holds(subject, "packing.weighing:heaviest", rows)
    refuses(subject, "packing.errors.PackingError", "packing.weighing:heaviest", {})
    refuses(subject, "packing.errors.PackingError", "packing.weighing:expected_g", [], -1)


def test_B25_labels(subject):
    """Parcel numbers, check digits, address lines."""
    holds(
        subject, "packing.labels:parcel_number", [(("O5", 1), "O5/01"), (("O5", 12), "O5/12"), (("O5", 100), "O5/100")]
    )
    holds(
        subject,
        "packing.labels:check_digit",
        [(("O5/02",), 9), (("1",), 7), (("12",), 3), (("",), 0), (("4006381",), 2)],
    )
    rows = [((" Ann  Lee, , Main Road 5",), ["Ann Lee", "Main Road 5"]), (("a,b,c,d,e,f",), list("abcde")), (("",), [])]
    holds(subject, "packing.labels:address_lines", rows)
    refuses(subject, "packing.errors.PackingError", "packing.labels:parcel_number", "O5", 0)


def test_B26_carriers(subject):
    """Zones, prices and the cheapest carrier."""
    zones = {"10000": "metro", "29999": "metro", "30000": "north", "50000": "west", "69999": "west", "70000": "far"}
    holds(subject, "shipping.carriers:zone_for", [((code,), zone) for code, zone in zones.items()])
    rows = (
        ("Swift", ["metro", "north"], 30_000, 250),
        ("Brook", ["metro"], 10_000, 200),
        ("Amber", ["metro"], 9_000, 200),
    )
    carriers = [dict(zip(("name", "zones", "max_g", "cents_per_kg"), row, strict=True)) for row in rows]
    cases = [((carriers, 9_000, "metro"), "Amber"), ((carriers, 9_001, "metro"), "Brook")]
    cases += [((carriers, 10_001, "metro"), "Swift"), ((carriers, 1, "north"), "Swift")]
    holds(subject, "shipping.carriers:cheapest", cases)
    rows = [((carriers[0], 1_000), 250), ((carriers[0], 1_001), 500), ((carriers[0], 0), 0)]
    rows += [((carriers[1], 9_000), 1_800), ((carriers[0], 4_001), 1_250)]
    holds(subject, "shipping.carriers:price_cents", rows)
    refuses(subject, "shipping.errors.NoCarrier", "shipping.carriers:cheapest", carriers, 1, "far")
    refuses(subject, "shipping.errors.ShippingError", "shipping.carriers:zone_for", "1234a")


def test_B27_departures(subject):
    """Loading takes twenty minutes; outside working days only the first truck goes."""
    rows = [((580, [900, 600]), 600), ((581, [900, 600]), 900), ((880, [900, 600]), 900), ((881, [900, 600]), None)]
    holds(subject, "shipping.departures:next_departure", [*rows, ((0, []), None)])
    rows = [((DAY, [900, 600]), [600, 900]), ((date(2025, 5, 10), [900, 600]), [600]), ((date(2025, 5, 11), []), [])]
    holds(subject, "shipping.departures:trucks_on", rows)


def test_B28_manifests(subject):
    """Manifests with their totals, parcels over trucks, measures of parcels."""
    found = {"lines": [("O5/01", 2, 700), ("O5/02", 9, 500)], "count": 2, "total_g": 1_200}
    holds(subject, "shipping.manifest:build", [(([("O5/02", 500), ("O5/01", 700)],), found)])
    parcels = [("P1", 600), ("P2", 400), ("P3", 1), ("P4", 1_000)]
    holds(subject, "shipping.manifest:split", [((parcels, 1_000), [["P1", "P2"], ["P3"], ["P4"]]), (([], 5), [])])
    holds(subject, "shipping.dimensional:volume_mm3", [((10, 20, 30), 6_000)])
    holds(subject, "shipping.dimensional:longest_side", [((10, 50, 30), 50), ((60, 50, 30), 60), ((1, 2, 3), 3)])
    refuses(subject, "shipping.errors.ShippingError", "shipping.manifest:build", [("P1", 1), ("P1", 2)])
    refuses(subject, "shipping.errors.ShippingError", "shipping.manifest:split", [("P1", 1_001)], 1_000)
    refuses(subject, "shipping.errors.ShippingError", "shipping.dimensional:volume_mm3", 10, 0, 30)


def test_B29_returns(subject):
    """Thirty days at both sides, who pays, and what becomes of each grade."""
    rows = []
    for days in (0, 29, 30):
        rows.append(
            (("O1", "kitchen", DAY, DAY + timedelta(days=days)), {"order": "O1", "category": "kitchen", "days": days})
        )
    holds(subject, "returns.authorise:authorise", rows)
    refuses(subject, "returns.errors.WindowClosed", "returns.authorise:authorise", "O1", "toys", DAY, date(2025, 6, 5))
    refuses(subject, "returns.errors.ReturnsError", "returns.authorise:authorise", "O1", "toys", DAY, date(2025, 5, 4))
    pays = {"damaged": True, "wrong-item": True, "unwanted": False, "too-late": True}
    holds(subject, "returns.authorise:we_pay", [((reason,), paid) for reason, paid in pays.items()])
    holds(subject, "returns.disposition:destination", [(("A",), "restock"), (("B",), "refurbish"), (("C",), "scrap")])
    holds(subject, "returns.disposition:worst_grade", [((["A", "C", "B"],), "C"), (([],), "A")])
    holds(
        subject,
        "returns.disposition:tally",
        [(([("A", 2), ("C", 0), ("A", 3), ("B", 1)],), {"restock": 5, "refurbish": 1})],
    )
    refuses(subject, "returns.errors.UnknownGrade", "returns.disposition:worst_grade", ["A", "D"])


def test_B30_audit(subject):
    """Entries are numbered and found again; records are kept by kind."""
    names = ("number", "actor", "action", "subject")
    first, second = (
        {**dict(zip(names, row, strict=True))} for row in ((1, "ada", "move", "MUG"), (2, "bo", "count", "MUG"))
    )
    holds(
        subject,
        "audit.journal:write",
        [(([], "ada", "move", "MUG"), [first]), (([first], "bo", "count", "MUG"), [first, second])],
    )
    holds(
        subject, "audit.journal:about", [(([first, second], "MUG"), ["ada: move", "bo: count"]), (([first], "PAN"), [])]
    )
    holds(subject, "audit.journal:count", [(([first, second],), 2), (([first, second], "bo"), 1), (([],), 0)])
    refuses(subject, "audit.journal.JournalError", "audit.journal:write", [], "ada", "", "MUG")
    days = {"movement": 730, "count": 365, "access": 90, "visit": 730}
    holds(subject, "audit.retention:keep_days", [((kind,), kept) for kind, kept in days.items()])
    holds(subject, "audit.retention:last_day", [(("access", date(2025, 1, 1)), date(2025, 4, 1))])
    records = [("count", DAY), ("access", DAY), ("count", DAY - timedelta(days=1))]
    found = {"access": DAY + timedelta(days=90), "count": DAY + timedelta(days=365)}
    holds(subject, "audit.retention:summary", [((records,), found), (([],), {})])
