//! Machines that are written down, and settings that are planted in them.

use super::*;

fn stored(name: &str) -> String {
    let path = format!("{}/tests/data/machines/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// A stored machine with other texts of some files.
fn with(name: &str, files: &[(&str, &str)]) -> Vec<Finding> {
    let Tree::Files(mut all) = Tree::unpacked(&stored(name)) else { panic!("a text is no folder") };
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), format!("{text}\n"))));
    examine(&Tree::Files(all))
}

fn about<'f>(all: &'f [Finding], about: &str) -> Option<&'f Finding> {
    all.iter().find(|finding| finding.about == about)
}

fn settings(finding: &Finding) -> Vec<(&str, &str)> {
    fn one(mend: &Mend) -> Option<(&str, &str)> {
        match mend {
            Mend::Set(setting) => Some((&setting.path, &setting.value)),
            Mend::Run(_) => None,
        }
    }
    finding.mends.iter().filter_map(one).collect()
}

const QUEUES: [&str; 2] = ["sys/class/net/eth0/queues/rx-0/rps_cpus", "sys/class/net/eth0/queues/rx-1/rps_cpus"];

#[test]
fn two_queues_of_sixteen_processors_are_spread() {
    let found = with("a1-16", &[]);
    let first = &found[0];
    assert_eq!(first.about, "interrupts of eth0");
    assert_eq!(first.seen, "2 queues for 16 cores, and packets are not passed on; processors 0-1 take their interrupts");
    assert_eq!(settings(first), [(QUEUES[0], "fe"), ("proc/irq/34/smp_affinity_list", "8"), (QUEUES[1], "fe00")]);
    assert!(!first.mends.contains(&Mend::Run("systemctl stop irqbalance".to_owned())));
    let moved = with("a1-16", &[("proc/77/comm", "irqbalance")]);
    assert_eq!(moved[0].mends[0], Mend::Run("systemctl stop irqbalance".to_owned()));
    let passed = with("a1-16", &[(QUEUES[0], "000000fe"), (QUEUES[1], "0000fe00")]);
    assert_eq!(about(&passed, "interrupts of eth0"), None);
}

#[test]
fn a_machine_with_a_queue_for_each_core_is_left_alone() {
    // 16 queues of 64 cores are too few, the same of 16 cores are not.
    let found = with("graviton4-64", &[]);
    assert!(
        about(&found, "interrupts of ens5").is_some_and(|finding| finding.seen.starts_with("16 queues for 64 cores")),
        "{found:?}"
    );
    let queues: String = (0..16).map(|n| format!("== sys/class/net/e/queues/rx-{n}/rps_cpus\n0\n")).collect();
    let text = format!("== sys/devices/system/cpu/online\n0-15\n== sys/class/net/e/device/uevent\nDRIVER=ena\n{queues}");
    assert_eq!(examine(&Tree::unpacked(&text)), []);
}

#[test]
fn flows_are_remembered_where_packets_are_passed_on() {
    const TABLE: &str = "proc/sys/net/core/rps_sock_flow_entries";
    const COUNTS: [&str; 2] = ["sys/class/net/eth0/queues/rx-0/rps_flow_cnt", "sys/class/net/eth0/queues/rx-1/rps_flow_cnt"];
    let found = with("a1-16", &[(TABLE, "0")]);
    let all = [(TABLE, "32768"), (COUNTS[0], "16384"), (COUNTS[1], "16384")];
    let finding = about(&found, "RFS").unwrap();
    assert_eq!(finding.seen, "no flows are remembered for 2 queues of eth0, whose packets RPS passes on");
    assert_eq!(settings(finding), all);
    // Packets are passed on already, and one queue has its part.
    let half = [(TABLE, "65536"), (QUEUES[0], "fe"), (QUEUES[1], "fe00"), (COUNTS[0], "32768")];
    let found = with("a1-16", &half);
    assert_eq!(about(&found, "RFS").map(settings), Some(vec![(COUNTS[1], "32768")]));
    let both = [&half[..], &[(COUNTS[1], "32768")]].concat();
    assert_eq!(about(&with("a1-16", &both), "RFS"), None);
    // A table of no flows makes those of the queues idle.
    let off = [&both[..], &[(TABLE, "0")]].concat();
    assert_eq!(about(&with("a1-16", &off), "RFS").map(settings), Some(vec![(TABLE, "32768")]));
    // Nothing passes packets on, and nothing should.
    let queues: String = (0..4).map(|n| format!("== sys/class/net/e/queues/rx-{n}/rps_cpus\n0\n")).collect();
    let text =
        format!("== sys/devices/system/cpu/online\n0-3\n== sys/class/net/e/device/uevent\nDRIVER=ena\n{queues}== {TABLE}\n0\n");
    assert_eq!(examine(&Tree::unpacked(&text)), []);
}

#[test]
fn processors_get_queues_to_send_by_where_the_driver_gave_none() {
    let found = with("kunpeng920-128", &[]);
    let finding = about(&found, "XPS of enp125s0f0").unwrap();
    assert_eq!(finding.seen, "16 queues for 128 cores to send by, and processors have none of their own");
    let own = settings(finding);
    assert_eq!(own.len(), 16);
    assert_eq!(own[0], ("sys/class/net/enp125s0f0/queues/tx-0/xps_cpus", "00000003,00000003,00000003,00000003"));
    // All of a driver that has divided its processors, as that of the A1 has.
    assert_eq!(about(&with("a1-16", &[]), "XPS of eth0"), None);
    let none = [("sys/class/net/eth0/queues/tx-0/xps_cpus", "0"), ("sys/class/net/eth0/queues/tx-1/xps_cpus", "0")];
    let found = with("a1-16", &none);
    let masks: Vec<&str> = about(&found, "XPS of eth0").into_iter().flat_map(settings).map(|(_, mask)| mask).collect();
    assert_eq!(masks, ["ff", "ff00"]);
}

/// What a finding is about, the files that bring it about, and the first setting that mends it.
type Planted<'p> = (&'p str, &'p [(&'p str, &'p str)], Option<(&'p str, &'p str)>);

#[test]
fn each_setting_is_found_where_it_is_planted_and_nowhere_else() {
    const GOVERNOR: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";
    let clock = (format!("{CLOCK}/current_clocksource"), format!("{CLOCK}/available_clocksource"));
    let swaps = "Filename Type Size Used Priority\n/swapfile file 4194300 0 -2";
    let balloon = "sys/bus/virtio/drivers/virtio_balloon/virtio4/device";
    let counts = "nr_balloon_pages 262144\nballoon_inflate 524288\nballoon_deflate 262144";
    let planted: [Planted<'_>; 10] = [
        ("governor", &[(GOVERNOR, "powersave")], Some((GOVERNOR, "performance"))),
        (
            "transparent huge pages",
            &[("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never")],
            Some(("sys/kernel/mm/transparent_hugepage/enabled", "madvise")),
        ),
        ("swap", &[("proc/swaps", swaps)], Some(("proc/sys/vm/swappiness", "1"))),
        ("somaxconn", &[("proc/sys/net/core/somaxconn", "128")], Some(("proc/sys/net/core/somaxconn", "4096"))),
        (
            "local ports",
            &[("proc/sys/net/ipv4/ip_local_port_range", "50000\t60999")],
            Some(("proc/sys/net/ipv4/ip_local_port_range", "10240 65535")),
        ),
        ("clocksource", &[(&clock.0, "xen"), (&clock.1, "xen tsc")], Some((&clock.0, "tsc"))),
        ("ballooning", &[(balloon, "5"), ("proc/vmstat", counts)], None),
        ("time", &[("proc/1/comm", "systemd")], None),
        ("CPU credits", &[("sys/class/dmi/id/sys_vendor", "Amazon EC2"), ("sys/class/dmi/id/product_name", "t4g.xlarge")], None),
        (
            "disk scheduler",
            &[("sys/block/nvme0n1/queue/scheduler", "none [bfq]")],
            Some(("sys/block/nvme0n1/queue/scheduler", "none")),
        ),
    ];
    let before = with("a1-16", &[]);
    for (name, files, setting) in planted {
        assert_eq!(about(&before, name), None, "{name}");
        let found = with("a1-16", files);
        let finding = about(&found, name).unwrap_or_else(|| panic!("{name}: {found:?}"));
        assert_eq!(settings(finding).first().copied(), setting, "{name}");
        assert!(!finding.seen.is_empty() && !finding.costs.is_empty(), "{finding:?}");
        assert_eq!(found.len(), before.len() + 1, "{name}: {found:?}");
    }
    let taken = with("a1-16", &[(balloon, "5"), ("proc/vmstat", counts)]);
    let seen = "virtio_balloon holds 1.0 GiB of this machine's memory; since its start it took 2.0 GiB and released 1.0 GiB";
    assert_eq!(about(&taken, "ballooning").unwrap().seen, seen);
    // A driver that took nothing is a fact, and no finding.
    let idle = with("a1-16", &[(balloon, "5"), ("proc/vmstat", "balloon_inflate 0\nballoon_deflate 0")]);
    assert_eq!(idle, before);
    assert!(about(&with("a1-16", &[("proc/1/comm", "systemd"), ("proc/9/comm", "chronyd")]), "time").is_none());
}

#[test]
fn a_limit_of_processors_is_told() {
    let found = with("graviton4-64", &[]);
    assert_eq!(
        about(&found, "CPU limit").map(|finding| finding.seen.as_str()),
        Some("a limit of 16 processors on a machine of 64")
    );
}

#[test]
fn an_empty_tree_has_no_findings() {
    assert_eq!(examine(&Tree::unpacked("")), []);
}
