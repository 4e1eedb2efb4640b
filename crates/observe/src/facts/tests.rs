//! Machines that were written down: `tests/data/machines`.

use perbuck_core::run_record::MachineFacts;
use proptest::prelude::*;

use super::*;

macro_rules! machine {
    ($name:literal) => {
        Tree::unpacked(include_str!(concat!("../../tests/data/machines/", $name, ".txt")))
    };
}

/// Facts by group and name, as text.
fn text(facts: &MachineFacts, group: &str, name: &str) -> String {
    let group = facts.groups().into_iter().find(|g| g.title == group);
    let fact = group.and_then(|g| g.facts.into_iter().find(|fact| fact.0 == name));
    fact.map(|fact| fact.1).unwrap_or_default()
}

fn cpu(facts: &MachineFacts) -> [String; 6] {
    ["core", "numbers", "sockets", "cores", "threads", "caches"].map(|name| text(facts, "processor", name))
}

#[test]
fn graviton_1_has_four_clusters_and_no_lse() {
    let facts = facts(&machine!("a1-16"));
    let caches = "L1d 16 × 32 KiB; L1i 16 × 48 KiB; L2 4 × 2 MiB, each shared by 4 threads";
    let expected = ["Cortex-A72 (AWS Graviton)", "implementer 0x41, part 0xd08, r0p3", "1", "16", "16", caches];
    assert_eq!(cpu(&facts), expected);
    assert_eq!(facts.cpu.flags, ["aes", "crc32", "pmull", "sha2"]);
    assert_eq!(text(&facts, "network", "eth0"), "ena, queues rx 2 tx 2, MTU 9001");
    assert_eq!(facts.platform.instance_type.as_deref(), Some("a1.4xlarge"));
    assert_eq!(facts.line(), "a1.4xlarge, Cortex-A72 (AWS Graviton), 16 cores, transparent huge pages madvise");
}

#[test]
fn two_sockets_with_smt_have_twice_the_threads() {
    let facts = facts(&machine!("m5-64"));
    let caches = "L1d 32 × 32 KiB, each shared by 2 threads; L1i 32 × 32 KiB, each shared by 2 threads; L2 32 × 1 MiB, each shared by 2 threads; \
                  L3 2 × 35.8 MiB, each shared by 32 threads";
    assert_eq!(cpu(&facts), ["Cascade Lake", "family 6, model 85, stepping 7", "2", "32", "64", caches]);
    assert_eq!(facts.numa.iter().map(|n| n.cpus.as_str()).collect::<Vec<_>>(), ["0-15,32-47", "16-31,48-63"]);
    assert_eq!((facts.cpu.smt.as_deref(), facts.cpu.governor.as_deref()), (Some("on"), None));
    assert_eq!(
        text(&facts, "disks", "nvme1n1"),
        "Amazon Elastic Block Store, 1000 GiB, not rotational, scheduler none, queue depth 127"
    );
    let network = "ena, queues rx 2 tx 2, MTU 9001, offloads GRO GSO rx-checksum tx-checksum, without LRO TSO, coalescing rx 20 µs tx 64 µs";
    assert_eq!(text(&facts, "network", "ens5"), network);
    assert!(facts.kernel.vulnerabilities.contains_key("meltdown") && !facts.kernel.vulnerabilities.contains_key("srbds"));
}

#[test]
fn two_kunpeng_have_four_nodes_and_large_pages() {
    let facts = facts(&machine!("kunpeng920-128"));
    let caches = "L1d 128 × 64 KiB; L1i 128 × 64 KiB; L2 128 × 512 KiB; L3 4 × 32 MiB, each shared by 32 threads";
    let expected = ["Kunpeng-920 (TaiShan v110)", "implementer 0x48, part 0xd01, r1p0", "2", "128", "128", caches];
    assert_eq!(cpu(&facts), expected);
    assert_eq!((facts.numa.len(), facts.memory.page_bytes), (4, Some(65536)));
    assert_eq!(text(&facts, "processor", "frequency"), "200 to 2600 MHz");
    assert_eq!(text(&facts, "memory", "swap"), "4 GiB");
    assert_eq!((facts.platform.hypervisor, facts.platform.vendor.as_deref()), (None, Some("Huawei")));
    assert_eq!(facts.network.len(), 1, "the bridge of containers is no device of the machine");
    assert_eq!(facts.disks.iter().map(|d| d.names.len()).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn graviton_4_in_a_pod_has_the_limits_of_its_control_group() {
    let facts = facts(&machine!("graviton4-64"));
    assert_eq!(cpu(&facts)[..4], ["Neoverse-V2 (AWS Graviton4)", "implementer 0x41, part 0xd4f, r0p1", "1", "64"]);
    assert!(["atomics", "sve", "sve2", "bf16"].iter().all(|flag| facts.cpu.flags.iter().any(|f| f == flag)));
    assert_eq!(text(&facts, "control group", "CPU time"), "16 processors");
    assert_eq!((facts.cgroup.memory_bytes, facts.cgroup.cpus), (Some(128 << 30), None));
}

#[test]
fn two_epyc_have_caches_of_four_cores_and_equal_disks() {
    let facts = facts(&machine!("epyc9354-128"));
    let caches = "L1d 64 × 32 KiB, each shared by 2 threads; L1i 64 × 32 KiB, each shared by 2 threads; L2 64 × 1 MiB, each shared by 2 threads; \
                  L3 16 × 32 MiB, each shared by 8 threads";
    assert_eq!(cpu(&facts), ["Zen 4", "family 25, model 17, stepping 1", "2", "64", "128", caches]);
    assert_eq!((facts.numa.len(), facts.cpu.boost, facts.cpu.governor.as_deref()), (2, Some(true), Some("schedutil")));
    assert_eq!(facts.disks[0].names, ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"]);
    let network = "mlx5_core, queues rx 63 tx 63, MTU 9000, 100000 Mbit/s, \
                   offloads GRO GSO TSO rx-checksum tx-checksum, without LRO, coalescing adaptive";
    assert_eq!(text(&facts, "network", "enp65s0f0np0"), network);
    assert_eq!(text(&facts, "limits", "local ports"), "1024-65535");
}

#[test]
fn a_model_number_that_its_flags_contradict_names_no_core() {
    let facts = facts(&machine!("vm-2"));
    assert_eq!((facts.cpu.core.clone(), facts.cpu.model_number), (None, Some(167)));
    assert_eq!(facts.platform.hypervisor.as_deref(), Some("KVM"));
    assert_eq!(facts.cgroup, perbuck_core::run_record::CgroupFacts::default());
    assert_eq!(text(&facts, "disks", "vda"), "256 GiB, rotational, scheduler mq-deadline, queue depth 256");
    assert_eq!((facts.network[0].mbit_s, facts.memory.balloon.as_deref()), (None, Some("virtio_balloon")));
}

#[test]
fn an_invented_cpuinfo_is_left_out_and_the_register_still_tells_the_core() {
    let (arm, x86) = (machine!("graviton4-64"), machine!("epyc9354-128"));
    let (arm, x86) = (facts_with(&arm, None), facts_with(&x86, None));
    assert_eq!((arm.cpu.core.as_deref(), arm.cpu.flags.len()), (Some("Neoverse-V2"), 0));
    assert_eq!((x86.cpu.core, x86.cpu.vendor, x86.cpu.cores), (None, None, Some(64)));
}

#[test]
fn facts_of_a_large_machine_stay_small_in_a_record() {
    for (tree, most) in [
        (machine!("m5-64"), 3000),
        (machine!("graviton4-64"), 3000),
        (machine!("kunpeng920-128"), 3000),
        (machine!("epyc9354-128"), 3000),
    ] {
        let json = serde_json::to_string(&facts(&tree)).unwrap();
        assert!(json.len() <= most, "{} bytes: {json}", json.len());
        assert_eq!(serde_json::from_str::<MachineFacts>(&json).unwrap(), facts(&tree));
    }
}

#[test]
fn this_machine_has_facts() {
    let facts = facts(&Tree::running());
    assert!(facts.cpu.threads.is_some_and(|n| n >= 1) && facts.kernel.release.is_some(), "{facts:?}");
    assert!(facts.memory.page_bytes.is_some_and(u64::is_power_of_two), "{facts:?}");
}

/// Files that the readers read, and what the kernel could write into them some day.
const STRANGE: &str =
    "[-\\[\\]a-z0-9:,. \t\n]{0,60}|Max open files 1|processor: 0\nCPU implementer: 0x41|0-99999999|18446744073709551615";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_file_is_too_strange(texts in prop::collection::vec(STRANGE, 8), name in "vm-2|a1-16") {
        let tree = if name == "vm-2" { machine!("vm-2") } else { machine!("a1-16") };
        let Tree::Files(mut files) = tree else { return Ok(()) };
        // The list of processors decides how much is looked at, so it stays.
        for (i, (path, text)) in files.iter_mut().enumerate() {
            if i % 3 != 0 && !path.ends_with("cpu/online") {
                text.clone_from(&texts[i % texts.len()]);
            }
        }
        let facts = facts(&Tree::Files(files));
        let _ = (facts.groups(), facts.line(), facts.differences(&facts));
        prop_assert_eq!(facts.differences(&facts), Vec::<String>::new());
    }
}
