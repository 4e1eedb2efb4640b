//! Machines of any count of processors, nodes and queues, and stored ones.

use proptest::prelude::*;

use super::*;

/// A machine of so many processors in nodes, with threads `n` and `n + cores` of a core, and a device of so many queues.
fn machine(cpus: u32, threads: u32, nodes: u32, queues: u32) -> Tree {
    let cores = cpus / threads;
    let mut text = format!("== {CPU}/online\n0-{}\n", cpus - 1);
    for cpu in 0..cpus {
        let first = cpu % cores;
        let list: Vec<String> = (0..threads).map(|t| (first + t * cores).to_string()).collect();
        text += &format!("== {CPU}/cpu{cpu}/topology/thread_siblings_list\n{}\n", list.join(","));
    }
    for node in 0..nodes {
        let (each, first) = (cores / nodes, node * (cores / nodes));
        let list: Vec<String> = (0..threads).map(|t| format!("{}-{}", first + t * cores, first + each - 1 + t * cores)).collect();
        text += &format!("== sys/devices/system/node/node{node}/cpulist\n{}\n", list.join(","));
    }
    text += "== sys/class/net/eth0/device/uevent\nDRIVER=ena\n";
    for queue in 0..queues {
        text += &format!("== sys/class/net/eth0/queues/rx-{queue}/rps_cpus\n0\n");
        text += &format!("== sys/class/net/eth0/queues/tx-{queue}/xps_cpus\n0\n");
    }
    Tree::unpacked(&text)
}

fn masks(tree: &Tree) -> Vec<String> {
    shares(tree, &queues(tree)).iter().map(|share| mask(&share.rps, mask_width(tree))).collect()
}

/// Those of the queues to send by.
fn sending(tree: &Tree) -> Vec<String> {
    let (received, own) = (queues(tree), send_queues(tree, "eth0"));
    senders(tree, &received, own.len()).iter().map(|cpus| mask(cpus, mask_width(tree))).collect()
}

#[test]
fn the_masks_of_known_machines() {
    assert_eq!(masks(&machine(16, 1, 1, 2)), ["fe", "fe00"]);
    assert_eq!(masks(&machine(64, 1, 1, 2)), ["00000000,fffffffe", "fffffffe,00000000"]);
    assert_eq!(masks(&machine(16, 1, 1, 16)), Vec::<String>::new());
    assert_eq!(masks(&machine(2, 1, 1, 1)), ["2"]);
    assert_eq!(masks(&machine(1, 1, 1, 1)), Vec::<String>::new());
    assert_eq!(masks(&machine(16, 1, 1, 0)), Vec::<String>::new());
}

#[test]
fn threads_of_a_core_and_nodes_stay_together() {
    // Of 32 cores the first 16 with both of their threads; none of the core that takes the interrupts.
    assert_eq!(masks(&machine(64, 2, 1, 2)), ["0000fffe,0000fffe", "fffe0000,fffe0000"]);
    let two = machine(64, 2, 2, 2);
    assert_eq!(masks(&two), ["0000fffe,0000fffe", "fffe0000,fffe0000"]);
    let found: Vec<u32> = shares(&two, &queues(&two)).iter().map(|share| share.irq_cpu).collect();
    assert_eq!(found, [0, 16]);
    // Each core has a queue, whatever its threads.
    assert_eq!(masks(&machine(32, 2, 1, 16)), Vec::<String>::new());
}

#[test]
fn every_processor_sends_over_one_queue() {
    assert_eq!(sending(&machine(16, 1, 1, 2)), ["ff", "ff00"]);
    assert_eq!(sending(&machine(64, 1, 1, 2)), ["00000000,ffffffff", "ffffffff,00000000"]);
    assert_eq!(sending(&machine(64, 2, 2, 2)), ["0000ffff,0000ffff", "ffff0000,ffff0000"]);
    // Two queues of three nodes: the processors of the third send over both.
    assert_eq!(sending(&machine(12, 1, 3, 2)), ["30f", "cf0"]);
    // With one queue there is no choice, and with one for each core nothing to do.
    for (cpus, threads, queues) in [(16, 1, 1), (16, 1, 16), (32, 2, 16), (16, 1, 64), (1, 1, 1), (16, 1, 0)] {
        assert_eq!(sending(&machine(cpus, threads, 1, queues)), Vec::<String>::new(), "{cpus} {threads} {queues}");
    }
}

#[test]
fn a_node_with_more_queues_than_cores_shares_those_of_the_others() {
    let Tree::Files(mut files) = machine(8, 1, 2, 6) else { panic!("a text is no folder") };
    let own = |irq: u32| (format!("sys/class/net/eth0/device/msi_irqs/{irq}"), "msi\n".to_owned());
    files.extend((0..6).map(own));
    let lines: String = (0..6).map(|n| format!(" {n}: 1 PCI eth0-rx-{n}\n")).collect();
    files.insert("proc/interrupts".into(), lines);
    files.extend((0..6).map(|n| (format!("proc/irq/{n}/smp_affinity_list"), "0\n".to_owned())));
    let tree = Tree::Files(files);
    assert!(queues(&tree).iter().all(|queue| queue.taken_by == [0]));
    assert_eq!(sending(&tree), ["1", "2", "c", "10", "20", "c0"]);
}

#[test]
fn one_who_sends_by_the_queue_that_received_has_chosen() {
    let Tree::Files(mut files) = machine(16, 1, 1, 2) else { panic!("a text is no folder") };
    files.insert("sys/class/net/eth0/queues/tx-1/xps_rxqs".into(), "2\n".into());
    assert_eq!(send_queues(&Tree::Files(files), "eth0"), []);
}

#[test]
fn queues_of_stored_machines_are_found_with_their_interrupts() {
    let read = |name: &str| {
        let path = format!("{}/tests/data/machines/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        Tree::unpacked(&std::fs::read_to_string(path).unwrap())
    };
    let a1 = read("a1-16");
    let found = queues(&a1);
    assert_eq!(found.iter().map(|q| (q.irq, q.taken_by.clone())).collect::<Vec<_>>(), [(Some(33), vec![0]), (Some(34), vec![1])]);
    assert_eq!(masks(&a1), ["fe", "fe00"]);
    assert_eq!(shares(&a1, &found).iter().map(|share| share.irq_cpu).collect::<Vec<_>>(), [0, 8]);
    let m5 = read("m5-64");
    assert!(queues(&m5).iter().all(|q| q.passed_to.is_empty() && q.taken_by.len() == 1));
    assert_eq!(masks(&m5).len(), 2, "{:?}", queues(&m5));
    let kunpeng = queues(&read("kunpeng920-128"));
    assert_eq!((kunpeng.len(), kunpeng[15].irq), (16, Some(516)));
}

proptest! {
    #[test]
    fn masks_keep_their_processors(cpus in prop::collection::btree_set(0_u32..256, 0..256)) {
        let cpus: Vec<u32> = cpus.into_iter().collect();
        prop_assert_eq!(cpus_of(&mask(&cpus, 256)), cpus);
    }

    #[test]
    fn no_processor_takes_packets_of_two_queues(cores in 1_u32..65, threads in 1_u32..3, nodes in 1_u32..5, queues_of in 0_u32..70) {
        let tree = machine(cores * nodes * threads, threads, nodes, queues_of);
        let shares = shares(&tree, &queues(&tree));
        let mut all: Vec<u32> = shares.iter().flat_map(|s| s.rps.iter().copied().chain([s.irq_cpu])).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), count);
        prop_assert!(shares.is_empty() || shares.len() == queues_of as usize);
    }

    #[test]
    fn each_processor_sends_over_one_queue_and_each_queue_has_one(
        cores in 1_u32..65, threads in 1_u32..3, nodes in 1_u32..5, queues_of in 0_u32..70, taken in prop::collection::vec(0_u32..256, 70),
    ) {
        let cpus = cores * nodes * threads;
        let tree = machine(cpus, threads, nodes, queues_of);
        let mut received = queues(&tree);
        received.iter_mut().zip(taken).for_each(|(queue, cpu)| queue.taken_by = vec![cpu % cpus]);
        let senders = senders(&tree, &received, queues_of as usize);
        prop_assert_eq!(senders.is_empty(), queues_of < 2 || queues_of >= cores * nodes);
        if !senders.is_empty() {
            prop_assert!(senders.len() == queues_of as usize && senders.iter().all(|own| !own.is_empty()), "{:?}", senders);
            let mut all = senders.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..cpus).collect::<Vec<_>>());
            // Threads of a core send over one queue, and each share of RPS over its own.
            let together = |own: &Vec<u32>| own.iter().all(|cpu| own.contains(&(cpu % (cores * nodes))));
            prop_assert!(senders.iter().all(together), "{:?}", senders);
            let shares = shares(&tree, &received);
            let within = |(share, own): (&Share, &Vec<u32>)| share.rps.iter().chain([&share.irq_cpu]).all(|cpu| own.contains(cpu));
            prop_assert!(shares.iter().zip(&senders).all(within), "{:?} {:?}", shares, senders);
        }
    }
}
