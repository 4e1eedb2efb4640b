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
        used: None,
        insist: vec!["errors".into()],
        checked: true,
    }
}

fn many(count: u32) -> Vec<RunRecord> {
    let record = |n: u32| {
        let mut r = example();
        r.key.trial = n;
        r.position = n;
        r
    };
    (1..=count).map(record).collect()
}

fn packed(records: &[RunRecord]) -> String {
    let sums: Vec<String> = records.iter().map(|r| seal(r).unwrap()).collect();
    pack(&head(), records, &sums).unwrap()
}

#[test]
fn what_is_packed_comes_back_to_the_byte() {
    let text = packed(&many(3));
    let back = unpack(&text).unwrap();
    assert_eq!(back.head, head());
    for ((read, sum), record) in back.records.iter().zip(&back.sums).zip(many(3)) {
        assert_eq!(read.to_json().unwrap(), record.to_json().unwrap());
        assert_eq!(seal(read).unwrap(), *sum);
    }
    assert_eq!(pack(&back.head, &back.records, &back.sums).unwrap(), text);
}

#[test]
fn pages_of_form_1_are_read() {
    let example = unpack(include_str!("../../tests/pages/form-1.json")).unwrap();
    assert_eq!((example.form, example.head), (1, head()));
    // They were records of schema 1, which say their metric by a word.
    let mut of_schema_1 = many(3);
    for r in &mut of_schema_1 {
        (r.schema, r.workload.metric) = (1, serde_json::from_str("\"tpmc\"").unwrap());
        (r.started_boot, r.health.network, r.load.pilots) = (None, None, None);
        r.target.observed.clear();
        r.agents.clear();
        (r.workload.data_size, r.workload.prewarm, r.workload.cold, r.target.page_memory_bytes) = (None, None, None, None);
        (r.target.work, r.target.build, r.imported) = (None, None, None);
        (r.target.distance, r.target.deployed, r.target.metrics, r.target.plans, r.host.facts) = (None, None, None, None, None);
        (r.target.server_throttled, r.target.profile, r.health.profile) = (None, None, None);
        r.target.machines.clear();
        r.target.tuned.clear();
        let samples = r.health.samples.as_mut().unwrap();
        samples.series.clear();
        samples.processors.iter_mut().for_each(|p| p.system.0.clear());
        // Another version of the compressor wrote its histogram; the seals below hold every byte of it.
        let (read, now) = (&example.records[0].measured.transactions, &mut r.measured.transactions);
        for (name, transaction) in now {
            transaction.service.hdr.clone_from(&read[name].service.hdr);
        }
        // Flags of later versions are in no such page; those it has are all there, in their order.
        r.flags.retain(|flag| example.records[0].flags.contains(flag));
    }
    assert_eq!(example.records, of_schema_1);
    let page = include_str!("../../tests/pages/form-1.html");
    let measured = unpack(from_page(page).unwrap()).unwrap();
    assert!(measured.records.len() == 1 && measured.head.study.is_whole());
    for (read, sum) in example.records.iter().zip(&example.sums).chain(measured.records.iter().zip(&measured.sums)) {
        assert_eq!(seal(read).unwrap(), *sum);
    }
}

#[test]
fn the_order_of_trials_does_not_matter_and_settings_are_kept_once() {
    let mut reversed = many(3);
    reversed.reverse();
    let text = packed(&many(3));
    assert_eq!(packed(&reversed), text);
    let one = packed(&many(3)[..1]);
    assert!(text.len() < one.len() * 2, "{} bytes for three trials, {} for one", text.len(), one.len());
}

#[test]
fn many_pieces_come_back_in_order() {
    let text = packed(&many(200));
    assert_eq!(text.matches(",\n\"").count(), 5, "the checksums, the records, and three more pieces");
    let back = unpack(&text).unwrap();
    assert_eq!(back.records, many(200));
}

#[test]
fn the_checksum_is_that_of_the_file() {
    let text = include_str!("../../../../docs/schema/run-record.example.json");
    assert_eq!(seal(&example()).unwrap(), checksum(text));
    assert_eq!(checksum("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

#[test]
fn data_end_no_element_and_a_page_has_them_once() {
    let text = packed(&many(3));
    assert!(!text.contains(['<', '>', '&']));
    let page = format!("<p>{ELEMENT}{text}</script></p>");
    assert_eq!(from_page(&page), Some(text.as_str()));
    assert_eq!(from_page(&format!("{page}{page}")), None);
    assert_eq!(from_page("<p>"), None);
}

#[test]
fn damaged_data_are_named() {
    let form1 = include_str!("../../tests/pages/form-1.json").to_owned();
    let text = packed(&many(3));
    for (text, from, to, said) in [
        (&text, "\"form\":2", "\"form\":3", "have form 3"),
        (&text, "\"records\":[", "\"record\":[", "are no data"),
        (&text, "\"records\":[\n\"", "\"records\":[\n\"?", "trial, 1 of 3: is not base64"),
        (&text, "\"records\":[\n\"", "\"records\":[\n\"AAAA", "trial, 1 of 3: is not compressed"),
        (&text, "\"sha256\":[", "\"sha256\":[\"\",", "hold 3 trials and 4 checksums"),
        (&form1, "\"position\"", "\"place\"", "unknown field `place`"),
        (&form1, "\"position\"", "\"trial_seed\"", "two columns `trial_seed`"),
        (&form1, "\"position\"", "\"seed.x\"", "lies in no object"),
        (&form1, "\"sha256\"]", "\"sha255\"]", "no column `sha256`"),
        (&form1, "\"n\":", "\"m\":", "have no length"),
        (&form1, "\"start_ms\":", "\"start_ms\":[1,2],\"s\":", "no column `start_ms` of 1 numbers"),
        (&form1, "\"p50_ns\":", "\"p50_ms\":", "unknown field `p50_ms`"),
        (&form1, "\"pool\":[", "\"pools\":[", "are no data"),
        (&form1, "\"trials\":[\n[0,", "\"trials\":[\n[99999,", "beyond the pool"),
        (&form1, "\"trials\":[\n[0,", "\"trials\":[\n[", "columns in place of"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = unpack(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(said), "{from}: {error}");
    }
}

/// A page of some kilobytes that would give gigabytes.
#[test]
fn data_that_grow_beyond_their_page_are_refused() {
    let form1 = include_str!("../../tests/pages/form-1.json");
    let columns = |n: u64| {
        let zeros = ["start_ms", "length_ms", "transactions", "statements", "errors", "p50_ns", "p95_ns", "p99_ns", "max_ns"];
        let mut columns: serde_json::Map<String, serde_json::Value> = zeros.iter().map(|z| ((*z).to_owned(), 0.into())).collect();
        columns.insert("n".to_owned(), n.into());
        serde_json::Value::Object(columns)
    };
    for n in [366 * 86_400, u64::MAX] {
        assert!(
            form1::intervals(&columns(n), &mut unpack::Budget::of(form1)).unwrap_err().contains("a length that no trial has")
        );
    }
    assert_eq!(form1::intervals(&columns(50_000), &mut unpack::Budget::of(form1)).unwrap().len(), 50_000);
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, text).unwrap();
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, encoder.finish().unwrap())
    };
    let (text, line) = (packed(&many(1)), serde_json::to_string(&example()).unwrap() + "\n");
    let head = text.split("\"records\":[").next().unwrap();
    let bomb = format!("{head}\"records\":[\"{}\"]}}", gzip(&vec![b' '; 60_000_000]));
    assert!(unpack(&bomb).unwrap_err().contains("much longer than those of a page"), "{:?}", unpack(&bomb).err());
    let twice = format!("{head}\"records\":[\"{}\"]}}", gzip(line.repeat(2).as_bytes()));
    assert!(unpack(&twice).unwrap_err().contains("is there twice"));
    // Many trials whose like would need a much longer page.
    let more: Vec<RunRecord> = many(12_000);
    let lines: String = more.iter().map(|r| serde_json::to_string(r).unwrap() + "\n").collect();
    let page = format!("{head}\"records\":[\"{}\"]}}", gzip(lines.as_bytes()));
    assert!(unpack(&page).unwrap_err().contains("much longer than those of a page"), "{} bytes", lines.len());
}

proptest! {
    #[test]
    fn any_page_is_read_without_a_panic(cut in 0usize..4000, put in "\\PC{0,6}") {
        for text in [packed(&many(3)), include_str!("../../tests/pages/form-1.json").to_owned()] {
            let at = (0..=cut.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
            let torn = format!("{}{put}{}", &text[..at], &text[at..]);
            let _ = unpack(&torn);
        }
    }

    #[test]
    fn columns_of_form_1_are_read(values in prop::collection::vec((any::<i64>(), any::<u64>()), 2..12), step in 0u64..1000) {
        let interval = |(i, (a, b)): (usize, &(i64, u64))| perbuck_core::run_record::Interval {
            start_ms: *a, length_ms: 5 + step * i as u64, transactions: 7, max_ns: *b, ..Default::default()
        };
        let all: Vec<_> = values.iter().enumerate().map(interval).collect();
        let columns = serde_json::json!({
            "n": all.len(),
            "start_ms": values.iter().map(|v| v.0).collect::<Vec<_>>(),
            "length_ms": {"from": 5, "step": step},
            "transactions": 7, "statements": 0, "errors": 0, "p50_ns": 0, "p95_ns": 0, "p99_ns": 0,
            "max_ns": values.iter().map(|v| v.1).collect::<Vec<_>>(),
        });
        prop_assert_eq!(form1::intervals(&columns, &mut unpack::Budget::of("")).unwrap(), all);
    }
}
