//! The table and the statements on it, for each dialect: in the words of go-ycsb and of YCSB's JDBC binding. A database
//! without SQL has no tables; its statements are operations on records.

use perbuck_database::dialect::{Dialect, Feature, Type};
use perbuck_load::records::{Action, Records};
use perbuck_load::statement::{Catalogue, StatementId, Verb};

use super::options::{Compat, Options};

pub(super) const KEY: &str = "YCSB_KEY";

/// The key column and those of the fields.
pub(super) fn columns(options: &Options) -> Vec<String> {
    let fields = (0..options.fieldcount).map(|i| format!("{}{i}", options.fieldnameprefix.to_ascii_uppercase()));
    std::iter::once(KEY.to_owned()).chain(fields).collect()
}

/// The statement that makes the table where it is not there; who holds keys and values alone needs none.
pub(super) fn create(options: &Options, dialect: &dyn Dialect) -> Vec<String> {
    if dialect.lacks(Feature::Sql).is_some() {
        return Vec::new();
    }
    let field = field_type(options, dialect);
    let fields: Vec<String> = columns(options)[1..].iter().map(|name| format!("{name} {field}")).collect();
    let (table, fields) = (&options.table, fields.join(", "));
    let key = dialect.type_words(Type::Varchar(options.key_column()));
    // Else rows lie in another order than that of their keys, and each scan reads and sorts the whole table.
    let order = dialect.in_order();
    if !order.is_empty() {
        return vec![format!("CREATE TABLE IF NOT EXISTS {table} ({KEY} {key}, {fields}, PRIMARY KEY ({KEY}{order}))")];
    }
    let clustered = if options.cluster_index { dialect.clustered() } else { "" };
    vec![format!("CREATE TABLE IF NOT EXISTS {table} ({KEY} {key} PRIMARY KEY{clustered}, {fields})")]
}

/// VARCHAR as in go-ycsb, unless a row could not hold so many of them; else TEXT, as in YCSB.
fn field_type(options: &Options, dialect: &dyn Dialect) -> String {
    let longest = options.lengths.longest();
    let fits = dialect.row_holds(u64::from(longest) * u64::from(options.fieldcount));
    dialect.type_words(if options.compat == Compat::GoYcsb && fits { Type::Varchar(longest.max(1)) } else { Type::Text(longest) })
}

/// The statements of the operations. Of those of one field the first is named, and the others follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statements {
    pub(super) read_all: StatementId,
    pub(super) read_one: StatementId,
    pub(super) update_all: StatementId,
    pub(super) update_one: StatementId,
    pub(super) insert: StatementId,
    pub(super) scan_all: StatementId,
    pub(super) scan_one: StatementId,
}

impl Statements {
    pub(super) fn new(options: &Options, dialect: &'static dyn Dialect, catalogue: &mut Catalogue) -> Self {
        if dialect.lacks(Feature::Sql).is_some() {
            return Self::without_sql(options, catalogue);
        }
        let columns = columns(options);
        let (names, fields, table) = (&columns, &columns[1..], &options.table);
        let force = if options.force_index { dialect.forced_key() } else { "" };
        // go-ycsb names the fields; YCSB does so only where it verifies them, or is told to.
        let by_name = options.compat == Compat::GoYcsb || options.readallfieldsbyname || options.dataintegrity;
        let all = if by_name { fields.join(", ") } else { "*".to_owned() };
        let read = |what: &str| format!("SELECT {what} FROM {table}{force} WHERE {KEY} = ?");
        // Who verifies the rows of a scan must know their keys.
        let key = if options.dataintegrity { "YCSB_KEY, " } else { "" };
        let scan = |what: &str| format!("SELECT {key}{what} FROM {table}{force} WHERE {KEY} >= ? ORDER BY {KEY} LIMIT ?");
        let mut select = |label, sql: String| catalogue.add_named(label, Verb::Select, options.dataintegrity, sql);
        let (read_all, scan_all) = (select("READ", read(&all)), select("SCAN", scan(&all)));
        let read_one = each(fields, |field| select("READ", read(field)));
        let scan_one = each(fields, |field| select("SCAN", scan(field)));
        let set: Vec<String> = fields.iter().map(|field| format!("{field} = ?")).collect();
        let mut update =
            |set: &str| catalogue.add_named("UPDATE", Verb::Update, false, format!("UPDATE {table} SET {set} WHERE {KEY} = ?"));
        let update_all = update(&set.join(", "));
        let update_one = each(&set, |field| update(field));
        let marks = vec!["?"; names.len()].join(", ");
        let insert = format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(", "));
        let insert = catalogue.add_named("INSERT", Verb::Insert, false, insert);
        Self { read_all, read_one, update_all, update_one, insert, scan_all, scan_one }
    }

    /// Those of a database without SQL.
    fn without_sql(options: &Options, catalogue: &mut Catalogue) -> Self {
        let (all, verified) = (0..u64::from(options.fieldcount), options.dataintegrity);
        let one = || all.clone().map(|field| field..field + 1);
        let mut add =
            |label, verb, keep_rows, action| catalogue.add_records(label, verb, keep_rows, Records::new(&options.table, action));
        let scan = |fields| Action::Scan { fields, keys: verified };
        let mut select = |label, action| add(label, Verb::Select, verified, action);
        let read_all = select("READ", Action::Get(all.clone()));
        let scan_all = select("SCAN", scan(all.clone()));
        let read_one = each(one(), |field| select("READ", Action::Get(field)));
        let scan_one = each(one(), |field| select("SCAN", scan(field)));
        let mut update = |fields| add("UPDATE", Verb::Update, false, Action::Update(fields));
        let update_all = update(all.clone());
        let update_one = each(one(), &mut update);
        let insert = add("INSERT", Verb::Insert, false, Action::Put);
        Self { read_all, read_one, update_all, update_one, insert, scan_all, scan_one }
    }
}

/// Adds a statement for each of some fields; the first one's id.
fn each<T>(fields: impl IntoIterator<Item = T>, add: impl FnMut(T) -> StatementId) -> StatementId {
    let ids: Vec<StatementId> = fields.into_iter().map(add).collect();
    // There is at least one field.
    ids.first().copied().unwrap_or(StatementId(0))
}
