use super::*;

fn file(text: &str) -> TomlFile {
    TomlFile::parse("s.toml", text.to_owned()).unwrap()
}

#[test]
fn every_problem_is_found_in_one_reading_with_its_line() {
    let f = file("a = 1\nb = \"x\"\n\n[t]\nsecret_typo = \"hunter2\"\nd = \"5\"\n");
    let root = f.root();
    root.text("a");
    root.required_int("c", 1..=9, "3");
    root.int("b", 0..=1);
    let t = root.table("t").unwrap();
    t.duration_ns("d");
    t.text("secret_type");
    t.finish();
    root.finish();
    let problems = f.into_problems();
    let lines: Vec<usize> = problems.iter().map(|p| p.line).collect();
    assert_eq!(lines, [1, 1, 2, 5, 6], "{problems:#?}");
    assert!(problems.iter().all(|p| !p.to_string().contains("hunter2")));
    assert!(problems[3].help.contains("secret_type"));
}

#[test]
fn dollars_are_read_as_typed() {
    let f = file("a = 0.1\nb = \"0.0784\"\nc = 73\nd = 1e3\n");
    let root = f.root();
    assert_eq!(root.usd("a").unwrap().value, MicroUsd(100_000));
    assert_eq!(root.usd("b").unwrap().value, MicroUsd(78_400));
    assert_eq!(root.usd("c").unwrap().value, MicroUsd(73_000_000));
    assert!(root.usd("d").is_none());
    assert_eq!(f.into_problems().len(), 1);
}

#[test]
fn a_syntax_error_names_its_line_and_not_its_text() {
    let problem = TomlFile::parse("s.toml", "a = 1\npassword = hunter2\n".to_owned()).unwrap_err();
    assert_eq!(problem.line, 2);
    assert!(!problem.to_string().contains("hunter2"), "{problem}");
}

#[test]
fn values_of_tables_within_are_read_by_their_paths() {
    let f = file("[c]\na.b = 1\n\"d.e\" = \"x\"\n[c.f.g]\nh = true\n");
    let paths = f.root().table("c").unwrap().remaining_paths();
    let expected = [("a.b", "1", 2), ("d.e", "x", 3), ("f.g.h", "true", 5)];
    let read: Vec<_> = paths.iter().map(|(path, found)| (path.as_str(), found.value.to_string(), found.line)).collect();
    assert_eq!(read, expected.map(|(path, value, line)| (path, value.to_owned(), line)));
    let f = file("[c]\na.b = 1\n\"a.b\" = 2\n");
    f.root().table("c").unwrap().remaining_paths();
    let problems = f.into_problems();
    assert!(problems.len() == 1 && problems[0].message.contains("`c.a.b` is given twice"), "{problems:#?}");
}

#[test]
fn both_notations_of_table_lists_are_read() {
    let f = file("[[n]]\nx = 1\n[[n]]\nx = 2\n");
    assert_eq!(f.root().tables("n").iter().filter_map(|t| t.int("x", 0..=9)).map(|l| l.line).collect::<Vec<_>>(), [2, 4]);
    let f = file("n = [\n { x = 1 },\n { x = 2 },\n]\n");
    assert_eq!(f.root().tables("n").iter().map(Section::line).collect::<Vec<_>>(), [2, 3]);
}
