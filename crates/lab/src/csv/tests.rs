//! Files of a small data set: the same for any number of threads, whole or not there, and never in place of others.

use std::collections::BTreeMap;
use std::fs;

use perbuck_load::driver::BulkTable;
use perbuck_load::workload::{Check, Part};

use perbuck_database::Dialect as _;
use perbuck_mysql::MysqlDialect;
use perbuck_postgres::Family;

use super::*;

/// Two tables; every part has rows of both, so that each file is written by all of them.
struct Pairs {
    parts: u32,
    rows: Option<u64>,
}

struct PairsPart {
    index: u32,
    left: u32,
}

impl Part for PairsPart {
    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        for i in 0..50 + self.index {
            cells.int(i64::from(self.index)).text(format!("batch {} row {i}", self.left).as_bytes());
        }
        Some((self.left % 2) as usize)
    }
}

impl Dataset for Pairs {
    fn tables(&self) -> Vec<TableSpec> {
        let table = |name: &str| TableSpec {
            bulk: BulkTable { name: name.to_owned(), columns: ["n", "x"].map(str::to_owned).to_vec() },
            create: vec![format!("CREATE TABLE {name} (n INT, x TEXT)")],
            after_load: vec![format!("CREATE INDEX i ON {name} (n)")],
            statistics: Some(format!("ANALYZE TABLE {name}")),
            rows: self.rows,
            rows_vary: false,
            numbered: false,
        };
        vec![table("one"), table("two")]
    }

    fn parts(&self) -> u32 {
        self.parts
    }

    fn part(&self, index: u32) -> Box<dyn Part> {
        Box::new(PairsPart { index, left: 4 })
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn grows(&self) -> bool {
        false
    }
}

const DATA: Pairs = Pairs { parts: 7, rows: Some(2 * (7 * 50 + 21)) };

fn request(folder: &Path, files: u32, threads: u32) -> CsvRequest<'_> {
    CsvRequest { folder, database: "d", tables: &[], files, threads, csv: MysqlDialect.csv().unwrap() }
}

fn written(data: &Pairs, request: &CsvRequest<'_>) -> Result<Vec<CsvTable>, LabError> {
    write(data, request, &StopToken::default(), &mut |_| {})
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    entries.map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&p).unwrap())).collect()
}

#[test]
fn files_are_the_same_for_any_number_of_threads_and_joined_for_any_number_of_files() {
    let mut joined = Vec::new();
    for files in [1, 3, 7] {
        let all: Vec<_> = [1, 2, 5, 16]
            .map(|threads| {
                let folder = tempfile::tempdir().unwrap();
                let tables = written(&DATA, &request(folder.path(), files, threads)).unwrap();
                assert_eq!(tables.iter().map(|t| t.rows).collect::<Vec<u64>>(), [742, 742]);
                assert_eq!(tables[0].files.len(), files as usize);
                contents(folder.path())
            })
            .into_iter()
            .collect();
        assert!(all.windows(2).all(|w| w[0] == w[1]), "{files} files");
        let one = all[0].iter().filter(|(name, _)| name.starts_with("d.one."));
        joined.push(one.flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<u8>>());
        assert_eq!(all[0].len(), 2 * files as usize + 3, "{:?}", all[0].keys());
    }
    assert!(joined.windows(2).all(|w| w[0] == w[1]));
    assert!(joined[0].starts_with(b"0,\"batch 2 row 0\"\n") && joined[0].split(|b| *b == b'\n').count() == 743);
}

#[test]
fn scripts_name_the_files_of_each_table() {
    let folder = tempfile::tempdir().unwrap();
    written(&DATA, &request(folder.path(), 2, 1)).unwrap();
    let all = contents(folder.path());
    let text = |name: &str| String::from_utf8(all[name].clone()).unwrap();
    assert_eq!(text("d-tables.sql"), "CREATE TABLE one (n INT, x TEXT);\nCREATE TABLE two (n INT, x TEXT);\n");
    assert_eq!(
        text("d-indexes.sql"),
        "CREATE INDEX i ON one (n);\nCREATE INDEX i ON two (n);\nANALYZE TABLE one;\nANALYZE TABLE two;\n"
    );
    let load = text("d-load.sql");
    assert!(load.lines().count() == 4 && load.contains("INFILE 'd.one.001.csv' INTO TABLE one "), "{load}");
    assert!(load.contains("'d.two.002.csv' INTO TABLE two CHARACTER SET binary"), "{load}");
    let folder = tempfile::tempdir().unwrap();
    let csv = Family::Postgres.csv().unwrap();
    written(&DATA, &CsvRequest { csv, ..request(folder.path(), 1, 1) }).unwrap();
    let load = String::from_utf8(contents(folder.path())["d-load.sql"].clone()).unwrap();
    assert!(load.starts_with("\\copy one (n, x) from 'd.one.csv' with (format csv"), "{load}");
}

#[test]
fn chosen_tables_are_written_alone() {
    let folder = tempfile::tempdir().unwrap();
    let two = ["two".to_owned()];
    written(&DATA, &CsvRequest { tables: &two, ..request(folder.path(), 1, 2) }).unwrap();
    let names: Vec<String> = contents(folder.path()).into_keys().collect();
    assert_eq!(names, ["d-indexes.sql", "d-load.sql", "d-tables.sql", "d.two.csv"]);
    let three = ["three".to_owned()];
    let refused = written(&DATA, &CsvRequest { tables: &three, ..request(folder.path(), 1, 2) }).unwrap_err();
    assert_eq!((refused.kind(), refused.words().1), (ErrorKind::Usage, "use one, two"));
}

#[test]
fn what_is_there_is_never_overwritten() {
    for (name, files) in [("d.two.csv", 1), ("d.one.002.csv", 3), ("d.one.csv.partial", 1), ("d-load.sql", 1)] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "mine").unwrap();
        let refused = written(&DATA, &request(folder.path(), files, 2)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert!(refused.words().0.contains(name), "{refused}");
        assert_eq!(contents(folder.path()), BTreeMap::from([(name.to_owned(), b"mine".to_vec())]));
    }
}

#[test]
fn nothing_is_left_of_a_run_that_does_not_end_well() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = Pairs { rows: Some(5), ..DATA };
    let error = written(&wrong, &request(folder.path(), 1, 3)).unwrap_err();
    assert!(error.words().0.contains("742 rows were made for table one, not 5"), "{error}");
    let stop = StopToken::default();
    stop.request();
    let error = write(&DATA, &request(folder.path(), 1, 3), &stop, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    let error = written(&DATA, &request(folder.path(), 8, 3)).unwrap_err();
    assert!(error.words().1.contains("at most 7 files"), "{error}");
    assert_eq!(contents(folder.path()), BTreeMap::new());
}
