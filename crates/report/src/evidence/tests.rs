use proptest::prelude::*;

use super::*;

/// A record with something in every list and map.
fn example() -> RunRecord {
    RunRecord::from_json(include_str!("../../../../docs/schema/run-record.example.json")).unwrap()
}

fn head() -> Head {
    Head {
        form: FORM,
        perbuck: "0.1.0".into(),
        kind: Kind::Measured,
        study: Source::new("study.toml", false, "name = \"</script><b>\"\n"),
        prices: None,
        results: None,
        insist: vec!["errors".into()],
        checked: true,
    }
}

fn records() -> Vec<RunRecord> {
    let record = |n: u32| {
        let mut r = example();
        r.key.trial = n;
        r.position = n;
        r
    };
    (1..=3).map(record).collect()
}

fn packed(records: &[RunRecord]) -> String {
    let sums: Vec<String> = records.iter().map(|r| seal(r).unwrap()).collect();
    pack(&head(), records, &sums).unwrap()
}

#[test]
fn what_is_packed_comes_back_to_the_byte() {
    let text = packed(&records());
    let back = unpack(&text).unwrap();
    assert_eq!(back.head, head());
    for ((read, sum), record) in back.records.iter().zip(&back.sums).zip(records()) {
        assert_eq!(read.to_json().unwrap(), record.to_json().unwrap());
        assert_eq!(seal(read).unwrap(), *sum);
    }
    assert_eq!(pack(&back.head, &back.records, &back.sums).unwrap(), text);
}

#[test]
fn the_order_of_trials_does_not_matter_and_settings_are_kept_once() {
    let mut reversed = records();
    reversed.reverse();
    let text = packed(&records());
    assert_eq!(packed(&reversed), text);
    let one = packed(&records()[..1]);
    assert!(text.len() < one.len() * 2, "{} bytes for three trials, {} for one", text.len(), one.len());
}

#[test]
fn the_checksum_is_that_of_the_file() {
    let text = include_str!("../../../../docs/schema/run-record.example.json");
    assert_eq!(seal(&example()).unwrap(), checksum(text));
    assert_eq!(checksum("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

#[test]
fn data_end_no_element_and_a_page_has_them_once() {
    let text = packed(&records());
    assert!(!text.contains(['<', '>', '&']));
    let page = format!("<p>{ELEMENT}{text}</script></p>");
    assert_eq!(from_page(&page), Some(text.as_str()));
    assert_eq!(from_page(&format!("{page}{page}")), None);
    assert_eq!(from_page("<p>"), None);
}

#[test]
fn damaged_data_are_named() {
    let text = packed(&records());
    for (from, to, said) in [
        ("\"form\":1", "\"form\":2", "have form 2"),
        ("\"position\"", "\"place\"", "other columns"),
        ("\"n\":", "\"m\":", "have no length"),
        ("\"pool\":[", "\"pools\":[", "are no data"),
        ("\"trials\":[\n[0,", "\"trials\":[\n[99999,", "beyond the pool"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = unpack(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(said), "{from}: {error}");
    }
}

proptest! {
    #[test]
    fn any_page_is_read_without_a_panic(cut in 0usize..4000, put in "\\PC{0,6}") {
        let text = packed(&records());
        let at = (0..=cut.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        let torn = format!("{}{put}{}", &text[..at], &text[at..]);
        let _ = unpack(&torn);
    }

    #[test]
    fn columns_of_any_numbers_come_back(values in prop::collection::vec((any::<i64>(), any::<u64>()), 0..12)) {
        let interval = |(a, b): &(i64, u64)| perbuck_core::run_record::Interval {
            start_ms: *a, length_ms: *b, transactions: 7, max_ns: b / 2, ..Default::default()
        };
        let all: Vec<_> = values.iter().map(interval).collect();
        let mut text = String::new();
        columns::of_intervals(&all, &mut text);
        prop_assert_eq!(columns::to_intervals(&serde_json::from_str(&text).unwrap()).unwrap(), all);
    }
}
