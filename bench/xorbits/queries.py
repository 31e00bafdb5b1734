"""The queries of TPC-H in the words of pandas: each is a function of a module of that interface and of the tables."""
# tidy: foreign-file worker, task


def date(pd, text):
    """A moment as pandas compares it with a column."""
    return pd.Timestamp(text)


def year(moments):
    """Of a column of moments; Xorbits has them as Arrow's, which know no year."""
    return moments.astype("datetime64[ns]").dt.year


def revenue(frame):
    """What the lines of a frame earn."""
    return frame.l_extendedprice * (1 - frame.l_discount)


def q01(pd, t):
    """Pricing summary."""
    lines = t.lineitem
    lines = lines[lines.l_shipdate <= date(pd, "1998-09-02")]
    lines["disc_price"] = revenue(lines)
    lines["charge"] = lines.disc_price * (1 + lines.l_tax)
    found = lines.groupby(["l_returnflag", "l_linestatus"], as_index=False).agg(
        sum_qty=("l_quantity", "sum"), sum_base_price=("l_extendedprice", "sum"), sum_disc_price=("disc_price", "sum"),
        sum_charge=("charge", "sum"), avg_qty=("l_quantity", "mean"), avg_price=("l_extendedprice", "mean"),
        avg_disc=("l_discount", "mean"), count_order=("l_orderkey", "count"))
    return found.sort_values(["l_returnflag", "l_linestatus"])


def q02(pd, t):
    """The cheapest suppliers of Europe."""
    parts = t.part
    parts = parts[(parts.p_size == 15) & parts.p_type.str.endswith("BRASS")][["p_partkey", "p_mfgr"]]
    nations = t.nation.merge(t.region[t.region.r_name == "EUROPE"], left_on="n_regionkey", right_on="r_regionkey")
    suppliers = t.supplier.merge(nations, left_on="s_nationkey", right_on="n_nationkey")
    offers = t.partsupp.merge(suppliers, left_on="ps_suppkey", right_on="s_suppkey")
    offers = offers.merge(parts, left_on="ps_partkey", right_on="p_partkey")
    least = offers.groupby("p_partkey", as_index=False).agg(least=("ps_supplycost", "min"))
    found = offers.merge(least, on="p_partkey")
    found = found[found.ps_supplycost == found.least]
    found = found[["s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment"]]
    return found.sort_values(["s_acctbal", "n_name", "s_name", "p_partkey"], ascending=[False, True, True, True]).head(100)


def q03(pd, t):
    """The most valuable orders that were not shipped."""
    day = date(pd, "1995-03-15")
    customers = t.customer[t.customer.c_mktsegment == "BUILDING"][["c_custkey"]]
    orders = t.orders[t.orders.o_orderdate < day][["o_orderkey", "o_custkey", "o_orderdate", "o_shippriority"]]
    lines = t.lineitem[t.lineitem.l_shipdate > day][["l_orderkey", "l_extendedprice", "l_discount"]]
    joined = customers.merge(orders, left_on="c_custkey", right_on="o_custkey")
    joined = joined.merge(lines, left_on="o_orderkey", right_on="l_orderkey")
    joined["revenue"] = revenue(joined)
    found = joined.groupby(["l_orderkey", "o_orderdate", "o_shippriority"], as_index=False).agg(revenue=("revenue", "sum"))
    found = found.sort_values(["revenue", "o_orderdate"], ascending=[False, True]).head(10)
    return found[["l_orderkey", "revenue", "o_orderdate", "o_shippriority"]]


def q04(pd, t):
    """Priorities of orders with a late line."""
    orders, lines = t.orders, t.lineitem
    lines = lines[lines.l_commitdate < lines.l_receiptdate][["l_orderkey"]].drop_duplicates()
    orders = orders[(orders.o_orderdate >= date(pd, "1993-07-01")) & (orders.o_orderdate < date(pd, "1993-10-01"))]
    joined = lines.merge(orders[["o_orderkey", "o_orderpriority"]], left_on="l_orderkey", right_on="o_orderkey")
    found = joined.groupby("o_orderpriority", as_index=False).agg(order_count=("o_orderkey", "count"))
    return found.sort_values("o_orderpriority")


def q05(pd, t):
    """What suppliers earn in their own nation."""
    nations = t.nation.merge(t.region[t.region.r_name == "ASIA"], left_on="n_regionkey", right_on="r_regionkey")
    orders = t.orders
    orders = orders[(orders.o_orderdate >= date(pd, "1994-01-01")) & (orders.o_orderdate < date(pd, "1995-01-01"))]
    joined = nations[["n_nationkey", "n_name"]].merge(t.customer[["c_custkey", "c_nationkey"]], left_on="n_nationkey",
                                                      right_on="c_nationkey")
    joined = joined.merge(orders[["o_orderkey", "o_custkey"]], left_on="c_custkey", right_on="o_custkey")
    lines = t.lineitem[["l_orderkey", "l_suppkey", "l_extendedprice", "l_discount"]]
    joined = joined.merge(lines, left_on="o_orderkey", right_on="l_orderkey")
    joined = joined.merge(t.supplier[["s_suppkey", "s_nationkey"]], left_on=["l_suppkey", "n_nationkey"],
                          right_on=["s_suppkey", "s_nationkey"])
    joined["revenue"] = revenue(joined)
    return joined.groupby("n_name", as_index=False).agg(revenue=("revenue", "sum")).sort_values("revenue", ascending=False)


def q06(pd, t):
    """What small discounts have cost."""
    lines = t.lineitem
    lines = lines[(lines.l_shipdate >= date(pd, "1994-01-01")) & (lines.l_shipdate < date(pd, "1995-01-01")) &
                  (lines.l_discount >= 0.05 - 1e-9) & (lines.l_discount <= 0.07 + 1e-9) & (lines.l_quantity < 24)]
    return (lines.l_extendedprice * lines.l_discount).sum()


def q07(pd, t):
    """Trade between two nations."""
    lines = t.lineitem
    lines = lines[(lines.l_shipdate >= date(pd, "1995-01-01")) & (lines.l_shipdate <= date(pd, "1996-12-31"))]
    lines["l_year"], lines["volume"] = year(lines.l_shipdate), revenue(lines)
    nations = t.nation[t.nation.n_name.isin(["FRANCE", "GERMANY"])][["n_nationkey", "n_name"]]
    suppliers = t.supplier[["s_suppkey", "s_nationkey"]].merge(nations, left_on="s_nationkey", right_on="n_nationkey")
    suppliers = suppliers[["s_suppkey", "n_name"]].rename(columns={"n_name": "supp_nation"})
    customers = t.customer[["c_custkey", "c_nationkey"]].merge(nations, left_on="c_nationkey", right_on="n_nationkey")
    customers = customers[["c_custkey", "n_name"]].rename(columns={"n_name": "cust_nation"})
    orders = customers.merge(t.orders[["o_orderkey", "o_custkey"]], left_on="c_custkey", right_on="o_custkey")
    joined = lines[["l_orderkey", "l_suppkey", "l_year", "volume"]].merge(suppliers, left_on="l_suppkey", right_on="s_suppkey")
    joined = joined.merge(orders, left_on="l_orderkey", right_on="o_orderkey")
    joined = joined[joined.supp_nation != joined.cust_nation]
    found = joined.groupby(["supp_nation", "cust_nation", "l_year"], as_index=False).agg(revenue=("volume", "sum"))
    return found.sort_values(["supp_nation", "cust_nation", "l_year"])


def q08(pd, t):
    """A nation's part of a market."""
    parts = t.part[t.part.p_type == "ECONOMY ANODIZED STEEL"][["p_partkey"]]
    lines = t.lineitem[["l_partkey", "l_suppkey", "l_orderkey", "l_extendedprice", "l_discount"]]
    joined = parts.merge(lines, left_on="p_partkey", right_on="l_partkey")
    joined["volume"] = revenue(joined)
    orders = t.orders
    orders = orders[(orders.o_orderdate >= date(pd, "1995-01-01")) & (orders.o_orderdate <= date(pd, "1996-12-31"))]
    orders["o_year"] = year(orders.o_orderdate)
    joined = joined.merge(orders[["o_orderkey", "o_custkey", "o_year"]], left_on="l_orderkey", right_on="o_orderkey")
    region = t.nation.merge(t.region[t.region.r_name == "AMERICA"], left_on="n_regionkey", right_on="r_regionkey")
    customers = t.customer[["c_custkey", "c_nationkey"]].merge(region[["n_nationkey"]], left_on="c_nationkey",
                                                               right_on="n_nationkey")[["c_custkey"]]
    joined = joined.merge(customers, left_on="o_custkey", right_on="c_custkey")
    suppliers = t.supplier[["s_suppkey", "s_nationkey"]].merge(t.nation[["n_nationkey", "n_name"]], left_on="s_nationkey",
                                                               right_on="n_nationkey")[["s_suppkey", "n_name"]]
    joined = joined.merge(suppliers, left_on="l_suppkey", right_on="s_suppkey")
    joined["theirs"] = joined.volume.where(joined.n_name == "BRAZIL", 0.0)
    found = joined.groupby("o_year", as_index=False).agg(theirs=("theirs", "sum"), volume=("volume", "sum"))
    found["mkt_share"] = found.theirs / found.volume
    return found[["o_year", "mkt_share"]].sort_values("o_year")


def q09(pd, t):
    """Profit by nation and year."""
    parts = t.part[t.part.p_name.str.contains("green")][["p_partkey"]]
    lines = t.lineitem[["l_partkey", "l_suppkey", "l_orderkey", "l_extendedprice", "l_discount", "l_quantity"]]
    joined = lines.merge(parts, left_on="l_partkey", right_on="p_partkey")
    joined = joined.merge(t.partsupp[["ps_partkey", "ps_suppkey", "ps_supplycost"]], left_on=["l_partkey", "l_suppkey"],
                          right_on=["ps_partkey", "ps_suppkey"])
    suppliers = t.supplier[["s_suppkey", "s_nationkey"]].merge(t.nation[["n_nationkey", "n_name"]], left_on="s_nationkey",
                                                               right_on="n_nationkey")[["s_suppkey", "n_name"]]
    joined = joined.merge(suppliers, left_on="l_suppkey", right_on="s_suppkey")
    orders = t.orders[["o_orderkey", "o_orderdate"]]
    joined = joined.merge(orders, left_on="l_orderkey", right_on="o_orderkey")
    joined["o_year"] = year(joined.o_orderdate)
    joined["amount"] = revenue(joined) - joined.ps_supplycost * joined.l_quantity
    found = joined.groupby(["n_name", "o_year"], as_index=False).agg(sum_profit=("amount", "sum"))
    return found.sort_values(["n_name", "o_year"], ascending=[True, False])


def q10(pd, t):
    """Customers that return the most."""
    orders, lines = t.orders, t.lineitem
    orders = orders[(orders.o_orderdate >= date(pd, "1993-10-01")) & (orders.o_orderdate < date(pd, "1994-01-01"))]
    lines = lines[lines.l_returnflag == "R"][["l_orderkey", "l_extendedprice", "l_discount"]]
    joined = orders[["o_orderkey", "o_custkey"]].merge(lines, left_on="o_orderkey", right_on="l_orderkey")
    joined = joined.merge(t.customer, left_on="o_custkey", right_on="c_custkey")
    joined = joined.merge(t.nation[["n_nationkey", "n_name"]], left_on="c_nationkey", right_on="n_nationkey")
    joined["revenue"] = revenue(joined)
    keys = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
    found = joined.groupby(keys, as_index=False).agg(revenue=("revenue", "sum"))
    found = found.sort_values(["revenue", "c_custkey"], ascending=[False, True]).head(20)
    return found[["c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment"]]


def q11(pd, t):
    """The most valuable stock of a nation."""
    nations = t.nation[t.nation.n_name == "GERMANY"][["n_nationkey"]]
    suppliers = t.supplier[["s_suppkey", "s_nationkey"]].merge(nations, left_on="s_nationkey", right_on="n_nationkey")
    stock = t.partsupp[["ps_partkey", "ps_suppkey", "ps_supplycost", "ps_availqty"]].merge(
        suppliers[["s_suppkey"]], left_on="ps_suppkey", right_on="s_suppkey")
    stock["value"] = stock.ps_supplycost * stock.ps_availqty
    least = stock.value.sum() * 0.0001
    found = stock.groupby("ps_partkey", as_index=False).agg(value=("value", "sum"))
    return found[found.value > least].sort_values(["value", "ps_partkey"], ascending=[False, True])


def q12(pd, t):
    """Late lines by shipping mode."""
    lines = t.lineitem
    lines = lines[lines.l_shipmode.isin(["MAIL", "SHIP"]) & (lines.l_commitdate < lines.l_receiptdate) &
                  (lines.l_shipdate < lines.l_commitdate) & (lines.l_receiptdate >= date(pd, "1994-01-01")) &
                  (lines.l_receiptdate < date(pd, "1995-01-01"))][["l_orderkey", "l_shipmode"]]
    joined = t.orders[["o_orderkey", "o_orderpriority"]].merge(lines, left_on="o_orderkey", right_on="l_orderkey")
    joined["high"] = joined.o_orderpriority.isin(["1-URGENT", "2-HIGH"]).astype("int64")
    joined["low"] = 1 - joined.high
    found = joined.groupby("l_shipmode", as_index=False).agg(high_line_count=("high", "sum"), low_line_count=("low", "sum"))
    return found.sort_values("l_shipmode")


def q13(pd, t):
    """How many customers have how many orders."""
    orders = t.orders[~t.orders.o_comment.str.contains("special.*requests")][["o_orderkey", "o_custkey"]]
    joined = t.customer[["c_custkey"]].merge(orders, left_on="c_custkey", right_on="o_custkey", how="left")
    counts = joined.groupby("c_custkey", as_index=False).agg(c_count=("o_orderkey", "count"))
    found = counts.groupby("c_count", as_index=False).agg(custdist=("c_custkey", "count"))
    return found.sort_values(["custdist", "c_count"], ascending=[False, False])


def q14(pd, t):
    """What promotions earn, in percent."""
    lines = t.lineitem
    lines = lines[(lines.l_shipdate >= date(pd, "1995-09-01")) & (lines.l_shipdate < date(pd, "1995-10-01"))]
    joined = lines[["l_partkey", "l_extendedprice", "l_discount"]].merge(t.part[["p_partkey", "p_type"]], left_on="l_partkey",
                                                                         right_on="p_partkey")
    joined["revenue"] = revenue(joined)
    return 100.0 * joined[joined.p_type.str.startswith("PROMO")].revenue.sum() / joined.revenue.sum()


def q15(pd, t):
    """The supplier that earns the most."""
    lines = t.lineitem
    lines = lines[(lines.l_shipdate >= date(pd, "1996-01-01")) & (lines.l_shipdate < date(pd, "1996-04-01"))]
    lines["revenue"] = revenue(lines)
    earned = lines.groupby("l_suppkey", as_index=False).agg(total_revenue=("revenue", "sum"))
    most = earned.total_revenue.max()
    found = earned[earned.total_revenue >= most - 1e-6]
    found = t.supplier[["s_suppkey", "s_name", "s_address", "s_phone"]].merge(found, left_on="s_suppkey", right_on="l_suppkey")
    return found[["s_suppkey", "s_name", "s_address", "s_phone", "total_revenue"]].sort_values("s_suppkey")


def q16(pd, t):
    """How many suppliers can deliver parts of a kind."""
    parts = t.part
    parts = parts[(parts.p_brand != "Brand#45") & ~parts.p_type.str.startswith("MEDIUM POLISHED") &
                  parts.p_size.isin([49, 14, 23, 45, 19, 3, 36, 9])][["p_partkey", "p_brand", "p_type", "p_size"]]
    bad = t.supplier[t.supplier.s_comment.str.contains("Customer.*Complaints")][["s_suppkey"]]
    joined = parts.merge(t.partsupp[["ps_partkey", "ps_suppkey"]], left_on="p_partkey", right_on="ps_partkey")
    joined = joined.merge(bad, left_on="ps_suppkey", right_on="s_suppkey", how="left")
    joined = joined[joined.s_suppkey.isna()]
    found = joined.groupby(["p_brand", "p_type", "p_size"], as_index=False).agg(supplier_cnt=("ps_suppkey", "nunique"))
    return found.sort_values(["supplier_cnt", "p_brand", "p_type", "p_size"], ascending=[False, True, True, True])


def q17(pd, t):
    """What small orders earn in a year."""
    parts = t.part[(t.part.p_brand == "Brand#23") & (t.part.p_container == "MED BOX")][["p_partkey"]]
    lines = t.lineitem[["l_partkey", "l_quantity", "l_extendedprice"]].merge(parts, left_on="l_partkey", right_on="p_partkey")
    means = lines.groupby("l_partkey", as_index=False).agg(mean=("l_quantity", "mean"))
    joined = lines.merge(means, on="l_partkey")
    return joined[joined.l_quantity < 0.2 * joined["mean"]].l_extendedprice.sum() / 7.0


def q18(pd, t):
    """Customers with large orders."""
    lines = t.lineitem[["l_orderkey", "l_quantity"]]
    sums = lines.groupby("l_orderkey", as_index=False).agg(total=("l_quantity", "sum"))
    large = sums[sums.total > 300]
    joined = large.merge(t.orders[["o_orderkey", "o_custkey", "o_orderdate", "o_totalprice"]], left_on="l_orderkey",
                         right_on="o_orderkey")
    joined = joined.merge(t.customer[["c_custkey", "c_name"]], left_on="o_custkey", right_on="c_custkey")
    found = joined[["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "total"]]
    return found.sort_values(["o_totalprice", "o_orderdate"], ascending=[False, True]).head(100)


def q19(pd, t):
    """What three kinds of deliveries earn."""
    lines = t.lineitem
    lines = lines[lines.l_shipmode.isin(["AIR", "AIR REG"]) & (lines.l_shipinstruct == "DELIVER IN PERSON")]
    joined = lines[["l_partkey", "l_quantity", "l_extendedprice", "l_discount"]].merge(
        t.part[["p_partkey", "p_brand", "p_container", "p_size"]], left_on="l_partkey", right_on="p_partkey")
    kinds = (("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5),
             ("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10),
             ("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15))
    chosen = None
    for brand, containers, least, size in kinds:
        one = ((joined.p_brand == brand) & joined.p_container.isin(containers) & (joined.l_quantity >= least) &
               (joined.l_quantity <= least + 10) & (joined.p_size >= 1) & (joined.p_size <= size))
        chosen = one if chosen is None else chosen | one
    return revenue(joined[chosen]).sum()


def q20(pd, t):
    """Suppliers with more stock of a part than they sell."""
    lines = t.lineitem
    lines = lines[(lines.l_shipdate >= date(pd, "1994-01-01")) & (lines.l_shipdate < date(pd, "1995-01-01"))]
    sold = lines.groupby(["l_partkey", "l_suppkey"], as_index=False).agg(sold=("l_quantity", "sum"))
    parts = t.part[t.part.p_name.str.startswith("forest")][["p_partkey"]]
    stock = t.partsupp[["ps_partkey", "ps_suppkey", "ps_availqty"]].merge(parts, left_on="ps_partkey", right_on="p_partkey")
    joined = stock.merge(sold, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
    keys = joined[joined.ps_availqty > 0.5 * joined.sold][["ps_suppkey"]].drop_duplicates()
    nations = t.nation[t.nation.n_name == "CANADA"][["n_nationkey"]]
    suppliers = t.supplier[["s_suppkey", "s_name", "s_address", "s_nationkey"]].merge(
        nations, left_on="s_nationkey", right_on="n_nationkey")
    found = suppliers.merge(keys, left_on="s_suppkey", right_on="ps_suppkey")
    return found[["s_name", "s_address"]].sort_values("s_name")


def q21(pd, t):
    """Suppliers that alone have kept orders waiting."""
    lines = t.lineitem[["l_orderkey", "l_suppkey", "l_receiptdate", "l_commitdate"]]
    late = lines[lines.l_receiptdate > lines.l_commitdate][["l_orderkey", "l_suppkey"]]
    several = lines.groupby("l_orderkey", as_index=False).agg(suppliers=("l_suppkey", "nunique"))
    alone = late.groupby("l_orderkey", as_index=False).agg(late=("l_suppkey", "nunique"))
    orders = t.orders[t.orders.o_orderstatus == "F"][["o_orderkey"]]
    nations = t.nation[t.nation.n_name == "SAUDI ARABIA"][["n_nationkey"]]
    suppliers = t.supplier[["s_suppkey", "s_name", "s_nationkey"]].merge(nations, left_on="s_nationkey", right_on="n_nationkey")
    joined = late.merge(suppliers[["s_suppkey", "s_name"]], left_on="l_suppkey", right_on="s_suppkey")
    joined = joined.merge(orders, left_on="l_orderkey", right_on="o_orderkey")
    joined = joined.merge(several[several.suppliers > 1], on="l_orderkey")
    joined = joined.merge(alone[alone.late == 1], on="l_orderkey")
    found = joined.groupby("s_name", as_index=False).agg(numwait=("l_orderkey", "count"))
    return found.sort_values(["numwait", "s_name"], ascending=[False, True]).head(100)


def q22(pd, t):
    """Customers that might buy."""
    customers = t.customer[["c_custkey", "c_phone", "c_acctbal"]]
    customers["cntrycode"] = customers.c_phone.str.slice(0, 2)
    customers = customers[customers.cntrycode.isin(["13", "31", "23", "29", "30", "18", "17"])]
    mean = customers[customers.c_acctbal > 0.0].c_acctbal.mean()
    customers = customers[customers.c_acctbal > mean]
    buyers = t.orders[["o_custkey"]].drop_duplicates()
    joined = customers.merge(buyers, left_on="c_custkey", right_on="o_custkey", how="left")
    joined = joined[joined.o_custkey.isna()]
    found = joined.groupby("cntrycode", as_index=False).agg(numcust=("c_acctbal", "count"), totacctbal=("c_acctbal", "sum"))
    return found.sort_values("cntrycode")


ALL = {name: function for name, function in sorted(globals().items()) if name[0] == "q" and name[1:].isdigit()}
