//! The one rule for declared against observed.

use super::*;
use crate::run_record::Observed;
use crate::study::Machine;

/// A study whose `arm` is priced as m7g.xlarge and says so, as the price list describes it.
fn declared(edit: &str) -> Study {
    let arm = "name = \"arm\"\narch = \"aarch64\"\nnode = [{ role = \"db\", instance = \"m7g.xlarge\" }, \
               { role = \"client\", instance = \"m7i.large\", priced = false }]";
    let text = STUDY.replace("name = \"arm\"", arm).replace("seed = 7", &format!("seed = 7\n{edit}"));
    let mut study = Study::read("s.toml", &text, &[]).unwrap();
    let machine = Machine { arch: "aarch64".into(), vcpus: 4, vcpus_per_core: Some(1), memory_bytes: 16 << 30 };
    study.contenders.iter_mut().flat_map(|c| &mut c.nodes).for_each(|n| n.machine = Some(machine.clone()));
    study
}

fn seen(arch: Option<&str>, vcpus: Option<u32>, gib: Option<f64>) -> Observed {
    let memory_bytes = gib.map(|g| (g * f64::from(1u32 << 30)) as u64);
    Observed { source: "the client's machine".into(), arch: arch.map(str::to_owned), vcpus, memory_bytes }
}

#[test]
fn only_what_a_source_tells_contradicts_what_is_declared() {
    let study = declared("control = \"arm\"");
    let of = |o: Observed| other_machine(&study, "arm", &[o]);
    for fitting in [
        seen(None, None, None),
        seen(Some("aarch64"), None, None),
        seen(Some("aarch64"), Some(4), Some(15.3)),
        seen(None, Some(4), None),
        seen(None, None, Some(12.1)),
    ] {
        assert_eq!(of(fitting.clone()), None, "{fitting:?}");
    }
    let text = of(seen(Some("x86_64"), Some(2), Some(7.6))).unwrap();
    let expected =
        "declared as m7g.xlarge (aarch64, 4 vCPU, 16 GiB), and run on x86_64, 2 vCPU, 7.6 GiB (by the client's machine)";
    assert_eq!(text, expected);
    for other in
        [seen(Some("x86_64"), None, None), seen(None, Some(2), None), seen(None, None, Some(8.0)), seen(None, None, Some(23.5))]
    {
        assert!(of(other.clone()).is_some(), "{other:?}");
        // A control runs on the machines of what it repeats; the other contender declares nothing.
        assert!(other_machine(&study, "arm-control", std::slice::from_ref(&other)).is_some(), "{other:?}");
        assert_eq!(other_machine(&study, "x86", &[other]), None);
    }
    assert_eq!(other_machine(&study, "arm", &[]), None);
}

#[test]
fn an_instance_without_hyper_threads_and_one_that_no_list_describes_are_no_contradiction() {
    let mut study = declared("");
    study.contenders[0].arch = None;
    let node = &mut study.contenders[0].nodes[0];
    node.machine = Some(Machine { arch: "x86_64".into(), vcpus: 8, vcpus_per_core: Some(2), memory_bytes: 16 << 30 });
    assert_eq!(other_machine(&study, "arm", &[seen(Some("x86_64"), Some(4), Some(15.0))]), None);
    assert!(other_machine(&study, "arm", &[seen(Some("x86_64"), Some(2), Some(15.0))]).is_some());
    study.contenders[0].nodes[0].machine = None;
    assert_eq!(other_machine(&study, "arm", &[seen(Some("aarch64"), Some(64), Some(1.0))]), None);
    assert!(!declares_machine(&study, "arm") && declares_machine(&declared(""), "arm"));
}

#[test]
fn trials_on_other_machines_are_remarked_and_a_notional_study_says_so() {
    let mut records = records();
    // A record without observed facts is read as before.
    let quiet = compare(&declared(""), &records, &[], &[]).unwrap();
    assert!(quiet.remarks.iter().all(|r| !r.text.contains("declared")), "{:?}", quiet.remarks);
    let unseen = compare(&declared("notional = true"), &records, &[], &[]).unwrap();
    assert!(unseen.remarks[0].text.starts_with("notional: by the study"), "{:?}", unseen.remarks);
    records.iter_mut().for_each(|r| r.target.observed = vec![seen(Some("x86_64"), None, None)]);
    for (edit, start) in [("", "declared as m7g.xlarge"), ("notional = true", "notional: declared as m7g.xlarge")] {
        let remark = &compare(&declared(edit), &records, &[], &[]).unwrap().remarks[0];
        assert!(remark.text.starts_with(start) && remark.trials == records.len() / 2, "{remark:?}");
        assert!(remark.example.starts_with("arm/"), "{remark:?}");
    }
}
