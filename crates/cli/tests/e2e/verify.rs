//! `perbuck verify`: a report is what its data give, and whatever was changed in it is found and named.

use crate::common::{Desk, LONG_ENOUGH, QUICK, edited, files};
use perbuck_core::run_record::{Flag, RunRecord};
use perbuck_report::evidence;

/// A folder with a study that was run and reported: two contenders with two trials each.
fn reported() -> Desk {
    let desk = Desk::new();
    desk.write("s.toml", &edited(&[QUICK[0], LONG_ENOUGH]));
    desk.good(&["run", "s.toml"]);
    desk.good(&["report", "results/small"]);
    desk
}

const PAGE: &str = "results/small/report.html";

/// Verifies, which must find something; returns what was printed.
fn found(desk: &Desk, arguments: &[&str]) -> String {
    let ended = desk.perbuck(&[&["verify"], arguments].concat());
    assert_eq!(ended.code, Some(1), "{arguments:?}: {ended:#?}");
    assert!(ended.err.contains("does not match its data"), "{ended:#?}");
    ended.out
}

/// The page with something replaced, beside the other.
fn changed(desk: &Desk, from: &str, to: &str) -> String {
    let page = desk.read(PAGE);
    assert!(page.contains(from), "{from} is not in the page");
    desk.write("changed.html", &page.replacen(from, to, 1));
    page
}

/// The text from the first `before` to `after`.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    text.split(before).nth(1).unwrap().split(after).next().unwrap()
}

#[test]
fn an_untouched_report_holds_with_and_without_its_folder() {
    let desk = reported();
    let alone = desk.good(&["verify", PAGE]).out;
    assert!(alone.contains("the content of 4 embedded trials matches") && alone.contains("bytes agree"), "{alone}");
    assert!(!alone.contains("results/small/study.toml"), "{alone}");
    let whole = desk.good(&["verify", "results/small"]).out;
    assert!(whole.contains("4 records in results/small are the embedded ones"), "{whole}");
    let json: serde_json::Value = serde_json::from_str(&desk.good(&["verify", "--json", "results/small"]).out).unwrap();
    assert_eq!(json["differs"].as_array().unwrap().len(), 0);
}

/// The example that a remark names is the first trial, and the folder and the page must agree which one that is.
#[test]
fn a_remark_on_trials_of_a_contender_and_of_its_control_holds() {
    let desk = Desk::new();
    desk.write(
        "s.toml",
        &edited(&[QUICK[0], QUICK[1], QUICK[2], ("baseline = \"full\"", "baseline = \"full\"\ncontrol = \"full\"")]),
    );
    desk.good(&["run", "s.toml"]);
    for contender in ["full", "full-control"] {
        let path = format!("results/small/{contender}/rw/c00001/001.json");
        let mut record = RunRecord::from_json(&desk.read(&path)).unwrap();
        record.flags.push(Flag::Gap { total_ms: 1000 });
        desk.write(&path, &record.to_json().unwrap());
    }
    desk.good(&["report", "results/small"]);
    assert!(desk.read(PAGE).contains("the first is full/rw/c00001/001.json"));
    desk.good(&["verify", "results/small"]);
    desk.good(&["verify", PAGE]);
}

#[test]
fn the_same_files_give_the_same_bytes_wherever_they_lie() {
    let desk = reported();
    let page = desk.read(PAGE);
    let mut all = Vec::new();
    files(&desk.path("results/small"), &mut all);
    for path in &all {
        let name = path.strip_prefix(desk.path("results/small")).unwrap();
        if !name.starts_with("figures") && !name.starts_with("report.html") {
            desk.write(&format!("elsewhere/deeper/{}", name.display()), &std::fs::read_to_string(path).unwrap());
        }
    }
    desk.good(&["report", "elsewhere/deeper"]);
    assert!(desk.read("elsewhere/deeper/report.html") == page, "another place gives another report");
    desk.good(&["report", "./results/small/", "-o", "again"]);
    assert!(desk.read("again/report.html") == page && desk.read("again/report.md") == desk.read("results/small/report.md"));
    let figures: Vec<_> = all.iter().filter(|p| p.parent().is_some_and(|f| f.ends_with("figures"))).collect();
    for path in &figures {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(std::fs::read(path).unwrap() == std::fs::read(desk.path("again/figures").join(name)).unwrap(), "{name}");
        let drawing = name.replace(".png", ".svg");
        assert!(desk.read("again/report.md").contains(&format!("(figures/{drawing})")), "{name}");
    }
    let pictures = figures.iter().filter(|p| p.extension().is_some_and(|e| e == "png")).count();
    assert!(pictures > 5 && pictures * 2 == figures.len(), "{figures:?}");
}

#[test]
fn a_number_changed_in_the_page_is_named_with_its_table() {
    let desk = reported();
    let page = desk.read(PAGE);
    let row = between(&page, "<caption><span>Throughput and its 95\u{a0}% interval", "</tbody>");
    let number = between(row, "<td class=\"n\">", " TPS");
    changed(&desk, &format!("<td class=\"n\">{number} TPS"), "<td class=\"n\">99,999 TPS");
    let said = found(&desk, &["changed.html"]);
    assert!(said.contains("under \"Throughput and its 95 % interval") && said.contains("99,999 TPS"), "{said}");
    assert!(said.contains(&format!("{number} TPS")), "{said}");
    // What is not text is found, too.
    changed(&desk, "class=\"bar s0\" x=", "class=\"bar s0\" opacity=\"0\" x=");
    assert!(found(&desk, &["changed.html"]).contains("other markup"));
    changed(&desk, "</main>", "<p>And it is the best.</p>\n</main>");
    assert!(found(&desk, &["changed.html"]).contains("And it is the best."));
}

#[test]
fn a_changed_embedded_datum_is_named_even_with_a_new_checksum() {
    let desk = reported();
    let page = desk.read(PAGE);
    let embedded = between(&page, "id=\"embedded\">", "</script>");
    let mut data = evidence::unpack(embedded).unwrap();
    let first = data.records.iter().position(|r| r.key.path() == "full/rw/c00001/001.json").unwrap();
    let kind = data.records[first].measured.transactions.get_mut("oltp_read_write").unwrap();
    let committed = std::mem::replace(&mut kind.committed, 7);
    let forged = |sums: &[String]| page.replace(embedded, &evidence::pack(&data.head, &data.records, sums).unwrap());
    desk.write("changed.html", &forged(&data.sums));
    let said = found(&desk, &["changed.html"]);
    assert!(said.contains("embedded trial full/rw/c00001/001.json: its content does not match its checksum"), "{said}");
    assert!(said.contains("embedded comparison, workloads[0]"), "{said}");
    // Whoever mends the checksum, too, still has a page that its data do not give, and files that are others.
    let record = desk.read("results/small/full/rw/c00001/001.json");
    assert!(data.sums[first] == evidence::checksum(&record), "the checksum is that of the file");
    let mut sums = data.sums.clone();
    sums[first] = evidence::seal(&data.records[first]).unwrap();
    desk.write("changed.html", &forged(&sums));
    let said = found(&desk, &["changed.html"]);
    assert!(!said.contains("does not match its checksum") && said.contains("embedded comparison, workloads[0]"), "{said}");
    let said = found(&desk, &["changed.html", "--results", "results/small"]);
    let named = format!(
        "record full/rw/c00001/001.json: measured.transactions.oltp_read_write.committed is 7 in the page and {committed}"
    );
    assert!(said.contains(&named), "{said}");
    // A study that was changed in the page.
    let other = page.replacen("baseline = \\\"full\\\"", "baseline = \\\"off\\\"", 1);
    assert_ne!(other, page);
    desk.write("changed.html", &other);
    assert!(found(&desk, &["changed.html"]).contains("study: the embedded text of \"study.toml\" does not match its checksum"));
}

#[test]
fn changed_missing_and_new_records_are_named() {
    let desk = reported();
    let first = "results/small/off/rw/c00001/001.json";
    let record = desk.read(first);
    let was = between(&record, "\"started_unix_ms\": ", ",").to_owned();
    desk.write(first, &record.replace(&was, "1234"));
    let said = found(&desk, &["results/small"]);
    assert!(
        said.contains(&format!("record off/rw/c00001/001.json: started_unix_ms is {was} in the page and 1234 in the file")),
        "{said}"
    );
    desk.write(first, "{}");
    assert!(found(&desk, &["results/small"]).contains("record off/rw/c00001/001.json: "));
    std::fs::remove_file(desk.path(first)).unwrap();
    assert!(found(&desk, &["results/small"]).contains("record off/rw/c00001/001.json: is in the page and not in the folder"));
    desk.write("results/small/off/rw/c00001/009.json", &record.replace("\"trial\": 1", "\"trial\": 9"));
    assert!(found(&desk, &["results/small"]).contains("record off/rw/c00001/009.json: is in the folder and not in the page"));
    desk.write(
        "results/small/study.toml",
        &desk.read("results/small/study.toml").replace("baseline = \"full\"", "baseline = \"off\""),
    );
    assert!(found(&desk, &["results/small"]).contains("results/small/study.toml: is not the embedded one"));
}

#[test]
fn the_embedded_files_come_out_and_give_the_same_report() {
    let desk = reported();
    desk.good(&["verify", PAGE, "--extract", "out"]);
    desk.good(&["report", "out"]);
    assert!(desk.read("out/report.html") == desk.read(PAGE));
    assert_eq!(desk.read("out/off/rw/c00001/002.json"), desk.read("results/small/off/rw/c00001/002.json"));
    assert_eq!(desk.perbuck(&["verify", PAGE, "--extract", "out"]).code, Some(4));
}

#[test]
fn a_page_of_an_older_form_is_verified_extracted_and_reported() {
    let desk = Desk::new();
    let page = include_str!("../../../report/tests/pages/form-1.html");
    desk.write("old.html", page);
    let ended = desk.perbuck(&["verify", "old.html", "--extract", "out"]);
    for held in ["the content of 1 embedded trials matches their checksums", "the comparison computed again: 18 numbers agree"] {
        assert!(ended.out.contains(held), "{ended:#?}");
    }
    // Its words are those of the version that made it.
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.err.contains("its data and numbers hold, but only perbuck 0.1.0 can verify its text"), "{ended:#?}");
    desk.good(&["report", "out"]);
    let whole = desk.good(&["verify", "out"]).out;
    assert!(whole.contains("1 records in out are the embedded ones"), "{whole}");
    assert!(desk.perbuck(&["verify", "old.html", "--results", "out"]).out.contains("1 records in out are the embedded ones"));
    for (from, to, said) in [
        ("\"committed\":", "\"committed\":1", "embedded trial a/rw/c00001/001.json: its content does not match its checksum"),
        ("\"mean\":329597.0", "\"mean\":329598.0", "embedded comparison, "),
        ("table_size = 100", "table_size = 101", "study: the embedded text of \"study.toml\" does not match its checksum"),
    ] {
        assert!(page.contains(from), "{from}");
        desk.write("changed.html", &page.replacen(from, to, 1));
        let out = found(&desk, &["changed.html"]);
        assert!(out.contains(said), "{from}: {out}");
    }
}

#[test]
fn what_is_no_report_is_told_apart() {
    let desk = reported();
    assert_eq!(desk.perbuck(&["verify", "nowhere.html"]).code, Some(5));
    desk.write("plain.html", "<p>hello</p>");
    let ended = desk.perbuck(&["verify", "plain.html"]);
    assert_eq!((ended.code, ended.err.contains("embeds no data")), (Some(1), true), "{ended:#?}");
    let page = desk.read(PAGE);
    desk.write("cut.html", &page[..page.len() / 2]);
    assert_eq!(desk.perbuck(&["verify", "cut.html"]).code, Some(1));
    desk.write("torn.html", &page.replacen("\"records\":[", "\"records\":[17,", 1));
    let ended = desk.perbuck(&["verify", "torn.html"]);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
}

#[test]
fn the_report_of_a_published_study_is_verified_from_its_page_alone() {
    let desk = Desk::new();
    desk.write("deep/er/s.toml", include_str!("../../../../studies/published/tidb-eks-arm-2021.toml"));
    desk.good(&["replay", "deep/er/s.toml", "-o", "r"]);
    assert!(desk.good(&["verify", "r"]).out.contains("bytes agree"));
    assert!(!desk.read("r/report.html").contains("deep/er"), "a report names no folder of its maker");
    let page = desk.read("r/report.html").replacen("$127,048.20", "$117,048.20", 1);
    desk.write("r/report.html", &page);
    assert!(found(&desk, &["r"]).contains("$117,048.20"));
}
