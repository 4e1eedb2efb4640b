//! Rows by the rules of a study: shapes, references, and what is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use perbuck_core::study::{Located, Scalar};
use perbuck_core::toml_reader::TomlFile;
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::{Parameters, file_text};
use perbuck_load::values::{Params, Value, write_decimal};
use perbuck_load::workload::Part;
use proptest::prelude::*;

use super::{Generated, Rows, read};
use crate::params::{ParamProblem, Reader};

const CITIES: &str = "city,country,people\nParis,France,2\n\"Lyon, old\",France,0\nOslo,Norway,6\nBern,Schweiz,2\n";

fn parameters(tables: &str) -> Parameters {
    let file = TomlFile::parse("s.toml", tables.to_owned()).unwrap();
    let mut all = file.root().leaves("table");
    for (name, text) in [("cities.csv", CITIES), ("short.csv", "a,b\n1,2\n3\n"), ("empty.csv", "a\n"), ("none.csv", "a,w\n1,0\n")]
    {
        all.insert(file_text(name), Located { value: Scalar::Text(text.to_owned()), line: 1 });
    }
    all
}

fn checked(tables: &str) -> Result<Generated, Vec<ParamProblem>> {
    let parameters = parameters(tables);
    let mut reader = Reader::new(&parameters, &[]);
    let made = ["customers", "orders", "Lines"].map(str::to_owned);
    let generated = read(&mut reader, Some(&made));
    reader.finish().map(|()| generated)
}

/// The rows of each table in their order, as text.
type Stored = BTreeMap<usize, Vec<Vec<String>>>;

fn shown(value: Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(value) => value.to_string(),
        Value::Decimal { unscaled, scale } => {
            let mut out = Vec::new();
            write_decimal(&mut out, unscaled, scale);
            String::from_utf8(out).unwrap()
        }
        Value::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
    }
}

/// All rows, with the parts in an order.
fn stored(generated: &Generated, seed: u64, order: impl Fn(u32) -> u32) -> Stored {
    let rows = Arc::new(Rows::new(generated, Seed(seed)));
    let names: Vec<String> = generated.tables.iter().map(|table| table.name.clone()).collect();
    let (mut cells, mut parts) = (Params::default(), BTreeMap::<u32, Vec<(usize, Vec<String>)>>::new());
    for index in (0..rows.parts()).map(|part| order(part) % rows.parts()) {
        let (mut part, kept) = (rows.part(index, &names), parts.entry(index).or_default());
        while let Some(table) = part.next_batch(&mut cells) {
            let width = generated.tables[table].columns.len();
            let all: Vec<String> = cells.iter().map(shown).collect();
            kept.extend(all.chunks(width).map(|row| (table, row.to_vec())));
        }
    }
    let mut stored = Stored::new();
    parts.into_values().flatten().for_each(|(table, row)| stored.entry(table).or_default().push(row));
    stored
}

/// The values of the columns of one table of so many rows.
fn columns(rows: usize, columns: &str) -> Vec<Vec<String>> {
    let generated = checked(&format!("[[table]]\nname = \"customers\"\nrows = {rows}\ncolumns = [{columns}]\n")).unwrap();
    let stored = stored(&generated, 42, |part| part);
    (0..stored[&0][0].len()).map(|column| stored[&0].iter().map(|row| row[column].clone()).collect()).collect()
}

fn numbers(column: &[String]) -> Vec<f64> {
    column.iter().map(|value| value.parse().unwrap()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

const SHOP: &str = r#"
[[table]]
name = "customers"
rows = 3_000
columns = [
    { name = "id", sequence = 1000, step = -2 },
    { name = "name", text = [12, 40] },
    { name = "balance", number = [-10, 1000], decimals = 2 },
    { name = "segment", choices = ["gold", "silver"], weights = [1, 9] },
    { name = "signed_up", date = ["2020-01-01", "2025-12-31"] },
    { name = "referrer", references = "customers.id", distribution = "zipfian", parameter = 1.2, null = 0.1 },
    { name = "city", csv = "cities.csv", column = "city" },
    { name = "country", csv = "cities.csv", column = "country" },
]
[[table]]
name = "orders"
rows = 500
columns = [
    { name = "id", sequence = 1 },
    { name = "customer", references = "customers.id" },
    { name = "who", references = "customers.name", distribution = "gaussian", parameter = 3 },
    { name = "at", timestamp = ["2025-01-01", "2025-01-01 23:59:59"] },
]
[[table]]
name = "lines"
rows = 1_500
columns = [
    { name = "order_id", references = "orders.id", distribution = "sequential", repeat = 3 },
    { name = "line", number = [1, 3], distribution = "sequential" },
    { name = "customer", references = "orders.customer", distribution = "sequential", repeat = 3 },
]
"#;

#[test]
fn rows_are_the_same_in_whatever_order_their_parts_are_loaded() {
    let shop = checked(SHOP).unwrap();
    let straight = stored(&shop, 42, |part| part);
    let counts: Vec<usize> = straight.values().map(Vec::len).collect();
    assert_eq!(counts, [3_000, 500, 1_500]);
    assert!(Rows::new(&shop, Seed(42)).parts() >= 3);
    assert_eq!(stored(&shop, 42, |part| u32::MAX - part), straight);
    assert_ne!(stored(&shop, 43, |part| part), straight);
    // More rows and another column leave the values that were there.
    let more = SHOP.replace("rows = 3_000", "rows = 200_000").replace(
        "columns = [\n    { name = \"id\", sequence = 1000",
        "columns = [\n    { name = \"x\", number = [1, 9] },\n    { name = \"id\", sequence = 1000",
    );
    let larger = stored(&checked(&more).unwrap(), 42, |part| part);
    for (row, longer) in straight[&0].iter().zip(&larger[&0]) {
        assert_eq!((&row[..5], &row[6..]), (&longer[1..6], &longer[7..]));
    }
}

#[test]
fn references_lead_to_rows_that_are_there() {
    let shop = stored(&checked(SHOP).unwrap(), 7, |part| part);
    let column = |table: usize, column: usize| shop[&table].iter().map(|row| row[column].clone()).collect::<Vec<_>>();
    let set = |table, at| column(table, at).into_iter().collect::<BTreeSet<_>>();
    let (ids, names, orders) = (set(0, 0), set(0, 1), set(1, 0));
    assert_eq!((ids.len(), names.len(), orders.len()), (3_000, 3_000, 500));
    let referrers = column(0, 5);
    let nulls = referrers.iter().filter(|value| *value == "NULL").count();
    assert!((230..370).contains(&nulls), "{nulls}");
    assert!(referrers.iter().filter(|value| *value != "NULL").all(|id| ids.contains(id)));
    // The first row of a zipfian reference is the most frequent one.
    let first = referrers.iter().filter(|value| *value == "1000").count();
    assert!(first > 400, "{first}");
    assert!(column(1, 1).iter().all(|id| ids.contains(id)) && column(1, 2).iter().all(|name| names.contains(name)));
    // Three lines of each order, and each with the customer of its order.
    let lines: BTreeSet<(String, String)> = column(2, 0).into_iter().zip(column(2, 1)).collect();
    assert_eq!((lines.len(), set(2, 0)), (1_500, orders));
    let of_order: BTreeMap<String, String> = column(1, 0).into_iter().zip(column(1, 1)).collect();
    assert!(column(2, 0).iter().zip(column(2, 2)).all(|(order, customer)| of_order[order] == customer));
    // Columns of one file have the values of one line.
    let cities: BTreeSet<(String, String)> = column(0, 6).into_iter().zip(column(0, 7)).collect();
    let expected = [("Bern", "Schweiz"), ("Lyon, old", "France"), ("Oslo", "Norway"), ("Paris", "France")];
    assert_eq!(cities, expected.map(|(city, country)| (city.to_owned(), country.to_owned())).into());
}

#[test]
fn values_have_the_shape_of_their_rule() {
    let all = columns(
        20_000,
        r#"{ name = "a", sequence = -5, step = 5, repeat = 2 },
           { name = "b", number = [0.5, 99.99], decimals = 2 },
           { name = "c", number = [18, 90], distribution = "gaussian", parameter = 3 },
           { name = "d", number = [0, 1000], distribution = "exponential", parameter = 5 },
           { name = "e", text = [5, 15] },
           { name = "f", text = 8, null = 0.25 },
           { name = "g", date = ["2024-02-01", "2024-03-01"] },
           { name = "h", timestamp = ["2024-02-28T23:59:59", "2024-02-29"] },
           { name = "i", choices = [1, 2.5, "x"], weights = [0, 1, 3] },
           { name = "j", csv = "cities.csv", column = "city", weights = "people" },
           { name = "k", number = [7, 7] }"#,
    );
    assert_eq!(all[0][..5], ["-5", "-5", "0", "0", "5"]);
    let near = |column: usize, expected: f64, within: f64| {
        let found = mean(&numbers(&all[column]));
        assert!((found - expected).abs() < within, "{column}: {found} for {expected}");
    };
    near(1, 50.245, 0.8);
    near(2, 54.0, 0.4);
    // The mean of an exponential distribution that is cut at 5 times its own.
    near(3, 1000.0 * (0.2 - (-5.0_f64).exp() / (1.0 - (-5.0_f64).exp())), 5.0);
    assert!(numbers(&all[1]).iter().all(|value| (0.5..=99.99).contains(value)));
    assert!(all[1].iter().all(|text| text.split_once('.').unwrap().1.len() == 2));
    assert!(numbers(&all[2]).iter().all(|value| (18.0..=90.0).contains(value)));
    let lengths: Vec<f64> = all[4].iter().map(|text| text.len() as f64).collect();
    assert!((mean(&lengths) - 10.0).abs() < 0.1 && lengths.iter().all(|length| (5.0..=15.0).contains(length)));
    let nulls = all[5].iter().filter(|text| *text == "NULL").count();
    assert!((4_700..5_300).contains(&nulls) && all[5].iter().all(|text| text == "NULL" || text.len() == 8), "{nulls}");
    let days: BTreeSet<&String> = all[6].iter().collect();
    assert_eq!((days.len(), days.first().unwrap().as_str(), days.last().unwrap().as_str()), (30, "2024-02-01", "2024-03-01"));
    assert_eq!(
        all[7].iter().collect::<BTreeSet<_>>(),
        [&"2024-02-28 23:59:59".to_owned(), &"2024-02-29 00:00:00".to_owned()].into()
    );
    let share = |column: usize, value: &str| all[column].iter().filter(|found| *found == value).count() as f64 / 20_000.0;
    assert!(share(8, "1") == 0.0 && (share(8, "2.5") - 0.25).abs() < 0.02 && (share(8, "x") - 0.75).abs() < 0.02);
    assert!(share(9, "Lyon, old") == 0.0 && (share(9, "Oslo") - 0.6).abs() < 0.02, "{}", share(9, "Oslo"));
    assert!(all[10].iter().all(|value| value == "7"));
}

#[test]
fn the_same_seed_gives_these_rows_in_every_version() {
    let shop = stored(&checked(SHOP).unwrap(), 42, |part| part);
    // Numbers of the same formulas in Python.
    let customer = "998|vccbg6emBUzJC|851.33|silver|2024-03-29|998|Oslo|Norway";
    assert_eq!([shop[&0][1].join("|"), shop[&1][1].join("|")], [customer, "2|-1988|WaIz9OIXGFmv4Y6DX|2025-01-01 15:57:08"]);
}

#[test]
fn what_is_wrong_is_told_with_its_parameter() {
    let column = |column: &str| format!("[[table]]\nname = \"customers\"\nrows = 10\ncolumns = [{column}]\n");
    let first = "table.1.columns.1";
    for (rule, message, path) in [
        ("", "no key says what its values are", "."),
        ("sequence = 1, text = 3", "it has both `sequence` and `text`", "."),
        ("sequence = 1.5", "`sequence` is 1.5, not a whole number", ".sequence"),
        ("sequence = 1, step = 0", "`step` is 0, not a step", ".step"),
        ("sequence = 9223372036854775807", "the start of so many numbers of 64 bits", ".sequence"),
        ("sequence = 1, decimals = 2", "`decimals` belongs to `number`", ".decimals"),
        ("sequence = 1, distribution = \"zipfian\"", "`distribution` belongs to `number`, `text`", ".distribution"),
        ("sequence = 1, repeat = 0", "`repeat` is 0, not a whole number from 1", ".repeat"),
        ("sequenc = 1", "unknown key `sequenc`", ".sequenc"),
        ("number = [5, 3]", "`number` is [5, 3], not a range of at most 2⁶³ numbers", ".number."),
        ("number = 5", "`number` is 5, not a range of numbers with 0 decimals", ".number"),
        ("number = [1, 2, 3]", "not a range of numbers", ".number."),
        ("number = [0.5, 2]", "not a range of numbers with 0 decimals", ".number."),
        ("number = [0.555, 2], decimals = 2", "not a range of numbers with 2 decimals", ".number."),
        ("number = [1, 2], decimals = 19", "`decimals` is 19, not a whole number from 0 to 18", ".decimals"),
        ("number = [1, 2], distribution = \"normal\"", "`distribution` is \"normal\", not a distribution", ".distribution"),
        ("number = [1, 2], distribution = \"zipfian\"", "\"zipfian\" needs a `parameter` from 0 to 100", "."),
        ("number = [1, 2], distribution = \"gaussian\", parameter = 1", "\"gaussian\" needs a `parameter` from 2", ".parameter"),
        ("number = [1, 2], parameter = 1", "\"uniform\" has no `parameter`", ".parameter"),
        ("number = [1, 2], repeat = 2", "`repeat` belongs to `sequence` and to the distribution", ".repeat"),
        ("text = -1", "`text` is -1, not a length", ".text"),
        ("text = [9, 2]", "`text` is [9, 2], not a length", ".text."),
        ("date = [\"2023-02-29\", \"2024-01-01\"]", "\"2023-02-29\" is no date", ".date.1"),
        ("date = [2023-01-01, \"2022-01-01\"]", "not a range", ".date."),
        ("timestamp = [\"2023-01-01\", \"2023-01-01 24:00:00\"]", "\"2023-01-01 24:00:00\" is no timestamp", ".timestamp.2"),
        ("choices = []", "`choices` is [], not a list of values", ".choices."),
        ("choices = [true]", "not a list of values", ".choices."),
        ("choices = [1, 2], weights = [1]", "`weights` is [1], not a list of 2 weights", ".weights."),
        ("choices = [1], weights = [0]", "at least 0 and not all 0", ".weights."),
        ("choices = [1], weights = [1], distribution = \"uniform\"", "it has both `weights` and `distribution`", ".distribution"),
        ("csv = \"cities.csv\"", "it has no `column` of cities.csv", ".csv"),
        ("csv = \"cities.csv\", column = \"cty\"", "cities.csv:1: there is no column `cty`", ".csv"),
        ("csv = \"cities.csv\", column = \"city\", weights = \"country\"", "cities.csv:2: `France` is no weight", ".csv"),
        ("csv = \"short.csv\", column = \"a\"", "short.csv:3: the line has 1 cells, and the first line has 2", ".csv"),
        ("csv = \"empty.csv\", column = \"a\"", "empty.csv:1: there is no line after the first one", ".csv"),
        ("csv = \"none.csv\", column = \"a\", weights = \"w\"", "none.csv:1: all weights are 0", ".csv"),
        ("references = \"customers\"", "`references` is \"customers\", not a column", ".references"),
        ("references = \"orders.id\"", "no `[[workload.table]]` is named `orders`", ".references"),
        ("references = \"customers.b\"", "table `customers` has no column `b`", ".references"),
        ("references = \"customers.a\"", "its references lead back to itself", ".references"),
        ("text = 3, null = 2", "`null` is 2, not a share from 0 to 1", ".null"),
    ] {
        let found = checked(&column(&format!("{{ name = \"a\", {rule} }}"))).unwrap_err();
        let expected = (format!("table `customers`, column `a`: {message}"), format!("{first}{path}"));
        let so = |found: &&ParamProblem| found.message.contains(message) && found.key == expected.1 && !found.help.is_empty();
        assert!(
            found.iter().any(|one| so(&one) && one.message.starts_with("table `customers`, column `a`: ")),
            "{rule}: {found:#?}"
        );
    }
}

#[test]
fn tables_that_cannot_be_filled_are_told_with_their_parameter() {
    for (tables, message, path) in [
        ("table = 3", "`table` is 3, not a list of tables", "table"),
        ("[[table]]", "a table has no `name`", "table.1."),
        ("[[table]]\nname = \"x\"\nrows = 1\ncolumns = []", "table `x`: `init` does not make it", "table.1.name"),
        (
            "[[table]]\nname = \"orders\"\nrows = 0\ncolumns = [{ name = \"a\", sequence = 1 }]",
            "`rows` is 0, not from 1",
            "table.1.rows",
        ),
        ("[[table]]\nname = \"orders\"\nrows = 1\ncolumns = []", "table `orders`: it has no `columns`", "table.1.columns."),
        ("[[table]]\nname = \"orders\"\ncolumns = [{ name = \"a\", sequence = 1 }]", "`rows` is missing", "table.1."),
        (
            "[[table]]\nname = \"orders\"\nrows = 1\ncolumns = [{ name = \"a b\", sequence = 1 }]",
            "has no `name` of letters",
            "table.1.columns.1.",
        ),
        (
            "[[table]]\nname = \"orders\"\nrows = 1\ncolumns = [{ name = \"a\", sequence = 1 }, { name = \"A\", sequence = 1 }]",
            "two columns are named `A`",
            "table.1.columns.2.",
        ),
        (
            "[[table]]\nname = \"orders\"\nrows = 1\nrow = 2\ncolumns = [{ name = \"a\", sequence = 1 }]\n\
             [[table]]\nname = \"ORDERS\"\nrows = 1\ncolumns = [{ name = \"a\", sequence = 1 }]",
            "two tables are named `orders`",
            "table.2.",
        ),
        (
            "[[table]]\nname = \"orders\"\nrows = 1\ncolumns = [{ name = \"a\", references = \"customers.b\" }, { name = \"n\", sequence = 1, null = 0.1 }]\n\
             [[table]]\nname = \"customers\"\nrows = 1\ncolumns = [{ name = \"b\", references = \"orders.a\" }, { name = \"c\", references = \"orders.n\" }]",
            "rows of `orders.n` may have no value",
            "table.2.columns.2.references",
        ),
        (
            "[[table]]\nname = \"orders\"\nrows = 1\ncolumns = [{ name = \"a\", references = \"customers.b\" }]\n\
             [[table]]\nname = \"customers\"\nrows = 1\ncolumns = [{ name = \"b\", references = \"orders.a\" }]",
            "its references lead back to itself",
            "table.2.columns.1.references",
        ),
    ] {
        let found = checked(&format!("{tables}\n")).unwrap_err();
        assert!(found.iter().any(|one| one.message.contains(message) && one.key == path), "{tables}: {found:#?}");
    }
    let parameters = parameters("[[table]]\nname = \"x\"\n");
    let mut reader = Reader::new(&parameters, &[]);
    read(&mut reader, None);
    assert!(reader.finish().unwrap_err()[0].message.contains("there is no `init` that makes them"));
}

#[test]
fn a_record_says_what_decides_the_rows() {
    let generated = checked(&columns_of_a_file()).unwrap();
    let (key, text) = generated.parameters().next().unwrap();
    assert!(key == "table customers" && text.starts_with("10 rows: a column=\"city\" csv=\"cities.csv\" file="), "{text}");
    assert_eq!(generated.size().0, 10);
    assert!(
        generated.table("customers").is_some_and(|(rows, columns)| rows == 10 && columns == ["a"])
            && generated.table("x").is_none()
    );
}

fn columns_of_a_file() -> String {
    "[[table]]\nname = \"customers\"\nrows = 10\ncolumns = [{ name = \"a\", csv = \"cities.csv\", column = \"city\" }]\n"
        .to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_shop_has_all_its_rows_and_only_references_that_exist(
        customers in 1..3_000_usize,
        orders in 1..3_000_usize,
        wide in 1..3_000_usize,
        seed in any::<u64>(),
        law in prop::sample::select(vec![
            "", ", distribution = \"sequential\"", ", distribution = \"zipfian\", parameter = 0.8",
            ", distribution = \"gaussian\", parameter = 2", ", distribution = \"exponential\", parameter = 30",
        ]),
        null in 0.0..1.0_f64,
    ) {
        let text = format!(
            "[[table]]\nname = \"customers\"\nrows = {customers}\ncolumns = [{{ name = \"id\", sequence = 1, step = 3 }}, {{ name = \"pad\", text = {wide} }}]\n\
             [[table]]\nname = \"orders\"\nrows = {orders}\ncolumns = [{{ name = \"c\", references = \"customers.id\"{law} }}, \
             {{ name = \"n\", number = [1, 9], null = {null:.3} }}]\n"
        );
        let stored = stored(&checked(&text).unwrap(), seed, |part| part);
        prop_assert_eq!((stored[&0].len(), stored[&1].len()), (customers, orders));
        let ids: BTreeSet<&String> = stored[&0].iter().map(|row| &row[0]).collect();
        prop_assert!(ids.len() == customers && stored[&1].iter().all(|row| ids.contains(&row[0])));
        let nulls = stored[&1].iter().filter(|row| row[1] == "NULL").count() as f64;
        let (expected, sigma) = (null * orders as f64, (null * (1.0 - null) * orders as f64).sqrt());
        prop_assert!((nulls - expected).abs() <= 6.0 * sigma + 2.0, "{} for {}", nulls, expected);
    }
}
