//! Conditions on the stored data: what each table adds up to, its references, and what 4.2.3 says of rows that belong together.
//!
//! They are SQL that all dialects share. The sums of `orders` and `lineitem` hold until a refresh function has run; all else holds always.

use perbuck_database::Dialect;
use perbuck_load::workload::Check;

use super::dataset::TpchData;
use super::schema::{LINEITEM, ORDERS, Reference, TABLES, Table};
use super::sums::{self, Sums};

/// Servers that read this hint group by sorting. A comment to other servers.
const BIG: &str = "/*! SQL_BIG_RESULT */";
/// Finds an order that a refresh function has inserted: of 32 keys in a row the original orders have the first eight.
const USED: &str = "SELECT COUNT(*) FROM (SELECT o_orderkey FROM orders WHERE o_orderkey % 32 > 7 LIMIT 1) inserted";

pub(super) fn all(dialect: &dyn Dialect, data: &TpchData) -> Vec<Check> {
    let sums = TABLES.iter().zip(data.sums()).enumerate().map(|(position, (table, sums))| {
        let unless_used = matches!(position, ORDERS | LINEITEM).then(|| USED.to_owned());
        Check { unless_used, ..adds_up(dialect, table, sums) }
    });
    let references = TABLES.iter().flat_map(|table| table.references.iter().map(move |reference| refers(table, reference)));
    sums.chain(references).chain(conditions(dialect)).collect()
}

/// Rows and columns of a table add up to what its data do. The table is read once; a row of `e` is a sum.
fn adds_up(dialect: &dyn Dialect, table: &Table, expected: &Sums) -> Check {
    let mut found = vec!["COUNT(*) AS c0".to_owned()];
    let mut wanted = vec![format!("SELECT 0 AS n, 'rows' AS item, {} AS expected", expected[0])];
    for (number, ((column, kind), sum)) in (1..).zip(table.columns().zip(&expected[1..])) {
        found.push(format!("{} AS c{number}", sums::sum(dialect, column, kind)));
        wanted.push(format!("SELECT {number}, '{column}', {}", sums::literal(dialect, kind, *sum)));
    }
    let cases: String = (0..found.len()).map(|number| format!(" WHEN {number} THEN s.c{number}")).collect();
    let (case, name) = (format!("CASE e.n{cases} END"), table.name);
    let violations = format!(
        "SELECT e.item, {case}, e.expected FROM (SELECT {} FROM {name}) s CROSS JOIN ({}) e \
         WHERE COALESCE({case}, -1) <> e.expected ORDER BY e.n LIMIT 5",
        found.join(", "),
        wanted.join(" UNION ALL ")
    );
    check(
        format!("sums of {name}"),
        &format!("the rows of {name} add up to those of dbgen, column by column"),
        name,
        violations,
        &["column", "found", "expected"],
    )
}

/// Each row has the row that it refers to (1.4.2).
fn refers(table: &Table, (columns, other, theirs): &Reference) -> Check {
    let name = table.name;
    let pairs: Vec<String> =
        columns.split(", ").zip(theirs.split(", ")).map(|(c, t)| format!("{other}.{t} = {name}.{c}")).collect();
    let mut shown = table.key.to_vec();
    shown.extend(columns.split(", ").filter(|column| !table.key.contains(column)));
    let (list, missing) = (shown.join(", "), theirs.split(", ").next().unwrap_or_default());
    let violations = format!(
        "SELECT {list} FROM {name} LEFT JOIN {other} ON {} WHERE {other}.{missing} IS NULL ORDER BY {list} LIMIT 5",
        pairs.join(" AND ")
    );
    let what = format!("every row of {name} has its row of {other}");
    check(format!("1.4.2 {name}, {other}"), &what, name, violations, &shown)
}

/// What belongs together by 4.2.3. Sets are put one below the other and grouped, so that a row without a partner is found on either side.
fn conditions(dialect: &dyn Dialect) -> [Check; 4] {
    // What an order costs, in cents: fractions of a cent are dropped for each line, twice.
    let (line, total) = if dialect.exact_decimals() {
        ("FLOOR(FLOOR(l_extendedprice * 100 * (1 - l_discount)) * (1 + l_tax))", "o_totalprice * 100")
    } else {
        ("l_extendedprice * (100 - l_discount) / 100 * (100 + l_tax) / 100", "o_totalprice")
    };
    [
        check(
            "4.2.3 partsupp".to_owned(),
            "every part has four rows of partsupp",
            "part",
            format!(
                "SELECT {BIG} k, SUM(part_count), SUM(supplier_count) FROM (SELECT p_partkey AS k, 1 AS part_count, 0 AS supplier_count FROM part \
                 UNION ALL SELECT ps_partkey, 0, 1 FROM partsupp) t \
                 GROUP BY k HAVING SUM(part_count) <> 1 OR SUM(supplier_count) <> 4 ORDER BY 1 LIMIT 5"
            ),
            &["ps_partkey", "rows of part", "rows of partsupp"],
        ),
        check(
            "4.2.3 o_totalprice".to_owned(),
            "every order has one to seven lines, and costs what they cost together",
            "orders",
            format!(
                "SELECT {BIG} k, SUM(order_count), SUM(line_count), SUM(total), SUM(charged) FROM (\
                 SELECT o_orderkey AS k, 1 AS order_count, 0 AS line_count, {total} AS total, 0 AS charged FROM orders \
                 UNION ALL SELECT l_orderkey, 0, 1, 0, {line} FROM lineitem) t \
                 GROUP BY k HAVING SUM(order_count) <> 1 OR SUM(line_count) NOT BETWEEN 1 AND 7 OR SUM(total) <> SUM(charged) \
                 ORDER BY 1 LIMIT 5"
            ),
            &["o_orderkey", "rows of orders", "rows of lineitem", "o_totalprice in cents", "sum of its lines in cents"],
        ),
        check(
            "4.2.3 o_orderstatus".to_owned(),
            "o_orderstatus follows from the l_linestatus of all lines",
            "orders",
            format!(
                "SELECT {BIG} k, MAX(status), SUM(line_count), SUM(fulfilled) FROM (\
                 SELECT o_orderkey AS k, o_orderstatus AS status, 0 AS line_count, 0 AS fulfilled FROM orders \
                 UNION ALL SELECT l_orderkey, '', 1, CASE WHEN l_linestatus = 'F' THEN 1 ELSE 0 END FROM lineitem) t \
                 GROUP BY k HAVING MAX(status) <> CASE SUM(fulfilled) WHEN SUM(line_count) THEN 'F' WHEN 0 THEN 'O' ELSE 'P' END \
                 ORDER BY 1 LIMIT 5"
            ),
            &["o_orderkey", "o_orderstatus", "lines", "fulfilled lines"],
        ),
        check(
            "4.2.3 lineitem".to_owned(),
            "l_linestatus and l_returnflag follow from l_shipdate and l_receiptdate",
            "lineitem",
            "SELECT l_orderkey, l_linenumber, l_linestatus, l_returnflag, l_shipdate, l_receiptdate FROM lineitem \
             WHERE l_linestatus <> CASE WHEN l_shipdate > '1995-06-17' THEN 'O' ELSE 'F' END \
             OR CASE WHEN l_receiptdate > '1995-06-17' THEN l_returnflag <> 'N' ELSE l_returnflag NOT IN ('R', 'A') END \
             OR l_receiptdate <= l_shipdate ORDER BY 1, 2 LIMIT 5"
                .to_owned(),
            &["l_orderkey", "l_linenumber", "l_linestatus", "l_returnflag", "l_shipdate", "l_receiptdate"],
        ),
    ]
}

/// A condition that holds always; `compared` is a table whose rows are compared.
fn check(name: String, what: &str, compared: &str, violations: String, columns: &[&'static str]) -> Check {
    Check {
        name,
        what: what.to_owned(),
        compared: format!("SELECT COUNT(*) FROM {compared}").into(),
        violations: violations.into(),
        columns: columns.to_vec(),
        unless_used: None,
    }
}
