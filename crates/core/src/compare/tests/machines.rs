//! The one rule for declared against observed.

use super::*;
use crate::run_record::{Cooled, CpuFacts, MachineFacts, MemoryFacts, Observed, Restarted};
use crate::study::{Machine, Node};

/// A study whose `arm` is priced as m7g.xlarge and says so, as the price list describes it.
fn declared(edit: &str) -> Study {
    let arm = "name = \"arm\"\narch = \"aarch64\"\nnode = [{ role = \"db\", instance = \"m7g.xlarge\" }, \
               { role = \"client\", instance = \"m7i.large\", priced = false }]";
    let text = STUDY.replace("name = \"arm\"", arm).replace("seed = 7", &format!("seed = 7\n{edit}"));
    let mut study = Study::read("s.toml", &text, &[]).unwrap();
    let machine =
        Machine { arch: "aarch64".into(), vcpus: 4, vcpus_per_core: Some(1), memory_bytes: 16 << 30, ..Machine::default() };
    study.contenders.iter_mut().flat_map(|c| &mut c.nodes).for_each(|n| n.machine = Some(machine.clone()));
    study
}

fn seen(arch: Option<&str>, vcpus: Option<u32>, gib: Option<f64>) -> Observed {
    let memory_bytes = gib.map(|g| (g * f64::from(1u32 << 30)) as u64);
    Observed { source: "the client's machine".into(), arch: arch.map(str::to_owned), vcpus, memory_bytes, ..Observed::default() }
}

/// A study that is priced with two machines of TiDB and three of TiKV.
fn cluster() -> Study {
    let nodes = "name = \"arm\"\nnode = [{ role = \"tidb\", instance = \"m7g.large\", count = 2 }, \
                 { role = \"tikv\", instance = \"m7g.xlarge\", count = 3 }]";
    let mut study = Study::read("s.toml", &STUDY.replace("name = \"arm\"", nodes), &[]).unwrap();
    for (node, vcpus) in study.contenders[0].nodes.iter_mut().zip([2, 4]) {
        let memory_bytes = u64::from(vcpus) << 32;
        node.machine =
            Some(Machine { arch: "aarch64".into(), vcpus, vcpus_per_core: Some(1), memory_bytes, ..Machine::default() });
    }
    study
}

#[test]
fn each_part_of_a_cluster_is_held_against_the_machines_of_its_name() {
    let study = cluster();
    let part = |role: &str, o: Observed| Observed { source: "cluster_hardware".into(), role: Some(role.to_owned()), ..o };
    let of = |o: Observed| other_machine(&study, "arm", &[o]);
    for (role, vcpus) in [("tidb", 2), ("tikv", 4)] {
        assert_eq!(of(part(role, seen(Some("aarch64"), Some(vcpus), Some(f64::from(vcpus) * 4.0)))), None);
    }
    let text = of(part("tikv", seen(Some("aarch64"), Some(2), None))).unwrap();
    let expected = "declared as m7g.xlarge (aarch64, 4 vCPU, 16 GiB), and run on tikv on aarch64, 2 vCPU (by cluster_hardware)";
    assert_eq!(text, expected);
    // A part that the bill does not name runs on any of its machines.
    assert_eq!(of(part("pd", seen(None, Some(4), None))), None);
    assert!(of(part("pd", seen(None, Some(8), None))).is_some());
}

#[test]
fn the_volume_of_the_data_is_one_of_the_bill_or_all_of_a_machine() {
    let of = |volumes: &str, bytes: u64| {
        let node = format!("name = \"arm\"\nnode = [{{ role = \"db\", instance = \"m7g.large\", volumes = [{volumes}] }}]");
        let study = Study::read("s.toml", &STUDY.replace("name = \"arm\"", &node), &[]).unwrap();
        let volume = Observed { source: "ssh://db-1".into(), volume_bytes: Some(bytes), ..Observed::default() };
        assert_eq!(other_machine(&study, "arm", std::slice::from_ref(&volume)), None);
        other_volume(&study, "arm", &[volume])
    };
    let gp3 = "{ kind = \"gp3\", size_gb = 100 }";
    for bytes in [98_000_000_000, 107_374_182_400] {
        assert_eq!(of(gp3, bytes), None, "what the file system keeps, and GiB");
    }
    let text = of(gp3, 20_000_000_000).unwrap();
    assert_eq!(text, "its data lie on a file system of 20 GB, and its bill has gp3 of 100 GB");
    assert!(of(gp3, 2_000_000_000_000).is_some(), "a larger disk may cost more than the bill says");
    let two = "{ kind = \"gp3\", size_gb = 100, count = 2 }";
    assert_eq!((of(two, 196_000_000_000), of(two, 98_000_000_000), of("", 20)), (None, None, None));
}

#[test]
fn copies_of_the_data_are_those_that_the_study_prices() {
    let mut study = cluster();
    let copies = |copies| Observed { source: "SHOW CONFIG".into(), copies: Some(copies), ..Observed::default() };
    assert_eq!(other_machine(&study, "arm", &[copies(1)]), None, "the study does not say how many");
    study.contenders[0].replication_factor = Some(3);
    assert_eq!(other_machine(&study, "arm", &[copies(3)]), None);
    let text = other_machine(&study, "arm", &[copies(1)]).unwrap();
    assert_eq!(text, "declared as `replication_factor = 3`, and run on 1 copy of the data (by SHOW CONFIG)");
}

#[test]
fn machines_of_a_part_are_counted() {
    let study = cluster();
    let counted = |role: &str, machines| Observed {
        source: "cluster_info".into(),
        role: Some(role.to_owned()),
        machines: Some(machines),
        ..Observed::default()
    };
    let of = |o: Observed| other_machine(&study, "arm", &[o]);
    // What is not in the bill is free to be there.
    for fitting in [counted("tikv", 3), counted("tidb", 2), counted("pd", 3)] {
        assert_eq!(of(fitting.clone()), None, "{fitting:?}");
    }
    assert_eq!(of(counted("tikv", 1)).unwrap(), "declared as 3 × tikv, and run on 1 machine of tikv (by cluster_info)");
    // Each of them would make the work per dollar too good by half or more.
    assert!(of(counted("tikv", 6)).is_some() && of(counted("tidb", 1)).is_some());
    // A machine that is shown and not billed counts as any other.
    let mut unpriced = cluster();
    let pd = Node { role: "pd".into(), count: 1, priced: false, ..unpriced.contenders[0].nodes[0].clone() };
    unpriced.contenders[0].nodes.push(pd);
    let hardware = Observed { source: "cluster_hardware".into(), role: Some("pd".into()), ..seen(None, Some(2), Some(8.0)) };
    assert_eq!(other_machine(&unpriced, "arm", &[hardware, counted("pd", 1)]), None);
    assert!(other_machine(&unpriced, "arm", &[counted("pd", 3)]).is_some());
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
    node.machine =
        Some(Machine { arch: "x86_64".into(), vcpus: 8, vcpus_per_core: Some(2), memory_bytes: 16 << 30, ..Machine::default() });
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

#[test]
fn facts_of_the_client_that_differ_between_trials_of_one_contender_are_remarked() {
    let mut records = records();
    let facts = |pages: &str, microcode: Option<&str>| {
        let memory = MemoryFacts { transparent_huge_pages: Some(pages.to_owned()), ..MemoryFacts::default() };
        let cpu = CpuFacts { microcode: microcode.map(str::to_owned), ..CpuFacts::default() };
        Some(Box::new(MachineFacts { memory, cpu, ..MachineFacts::default() }))
    };
    // The first is of an older version.
    records.iter_mut().skip(1).for_each(|r| r.host.facts = facts("madvise", Some("0x1")));
    let said = |records: &[RunRecord]| {
        let remarks = compare(&declared(""), records, &[], &[]).unwrap().remarks;
        remarks.into_iter().filter(|r| r.text.contains("facts of the client's machine")).collect::<Vec<_>>()
    };
    assert_eq!(said(&records), []);
    let last = records.len() - 1;
    records[last].host.facts = facts("always", None);
    let remarks = said(&records);
    let text = "trials of one contender differ in facts of the client's machine: memory: transparent huge pages";
    assert_eq!(remarks.iter().map(|r| (r.text.as_str(), r.trials)).collect::<Vec<_>>(), [(text, 1)]);
    // Between contenders nothing is said here: the report shows both.
    let contender = records[last].key.contender.clone();
    records.iter_mut().filter(|r| r.key.contender == contender).for_each(|r| r.host.facts = facts("always", None));
    assert_eq!(said(&records), []);
}

#[test]
fn unlike_caches_of_one_workload_are_remarked() {
    let mut records = records();
    let cold = |why: Option<&str>| Some(Cooled { restarted: Restarted::Server, page_cache_kept: why.map(str::to_owned) });
    let said = |records: &[RunRecord]| {
        let remarks = compare(&declared(""), records, &[], &[]).unwrap().remarks;
        remarks.into_iter().filter(|r| r.text.contains("caches")).map(|r| (r.text, r.trials)).collect::<Vec<_>>()
    };
    assert_eq!(said(&records), []);
    records.iter_mut().for_each(|r| r.workload.cold = cold(None));
    assert_eq!(said(&records), []);
    let last = records.len() - 1;
    records[last].workload.cold = cold(Some("perbuck is not root"));
    let text =
        "trials of one workload began with unlike caches: some cold, these cold but for the page cache of the operating system";
    assert_eq!(said(&records), [(text.to_owned(), 1)]);
    records[last].workload.cold = None;
    assert_eq!(said(&records), [("trials of one workload began with unlike caches: some cold, these kept".to_owned(), 1)]);
}
