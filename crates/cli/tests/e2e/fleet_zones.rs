//! Where the client stands: one fleet for all contenders, or one in the network of each; and how far that is from the servers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::common::Desk;
use crate::common::agents::agents;
use crate::common::maria::Maria;

/// A way to a local server that holds up every packet; its port.
fn slow_way_to(port: &str, delay: Duration) -> u16 {
    let (listener, port) = (TcpListener::bind("127.0.0.1:0").unwrap(), port.parse::<u16>().unwrap());
    let ours = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for here in listener.incoming().flatten() {
            let there = TcpStream::connect(("127.0.0.1", port)).unwrap();
            for (from, to) in [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)] {
                to.set_nodelay(true).unwrap();
                thread::spawn(move || carry(from, to, delay));
            }
        }
    });
    ours
}

fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let mut room = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut room) {
        thread::sleep(delay);
        if to.write_all(&room[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Two contenders on one server, reached at these ports.
fn study(maria: &Maria, ports: [&str; 2], client: &str) -> String {
    let member = |(name, port): (&str, &str)| {
        format!("[[contender]]\nname = \"{name}\"\ntarget = \"mysql://root@127.0.0.1:{port}/{}\"\n", maria.database)
    };
    let members: String = ["m", "n"].into_iter().zip(ports).map(member).collect();
    format!(
        "schema = 1\nname = \"s\"\n{client}\n{members}[[workload]]\nname = \"w\"\nkind = \"sysbench\"\n\
         script = \"oltp_point_select\"\ntables = 1\ntable_size = 1000\n[sweep]\nconnections = [4]\nwarmup = \"100ms\"\n\
         duration = \"1s\"\ntrials = 2\n"
    )
}

fn start(name: &str) -> (Desk, Maria) {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", name);
    desk.set("PERBUCK_N_PASSWORD", &maria.password);
    (desk, maria)
}

#[test]
fn each_contender_is_driven_by_the_agents_beside_it() {
    let (desk, maria) = start("fleet_beside");
    let beside = "[client]\nstands = \"beside\"\nnode = [{ instance = \"m1.large\", count = 3 }]";
    desk.write("s.toml", &study(&maria, [&maria.port, &maria.port], beside));
    let running = agents(&desk, 3);
    let at = |i: usize| running[i].1.as_str();
    let named = format!("m={},{},n={}", at(0), at(1), at(2));
    let done = desk.good(&["run", "s.toml", "--agents", &named, "--token-file", "token"]);
    assert!(done.err.contains(", to m ") && done.err.contains(", to n "), "{}", done.err);
    let found = desk.records("results/s");
    for record in &found {
        let names: Vec<&str> = record.agents.iter().map(|a| a.name.as_str()).collect();
        let own: &[&str] = if record.key.contender == "m" { &[at(0), at(1)] } else { &[at(2)] };
        assert_eq!(names, own, "{}", record.key.contender);
        let distance = record.distance().unwrap();
        assert!(distance.packet_ns.unwrap() < distance.statement_ns && record.target.distance.is_none(), "{distance:?}");
    }
    assert_eq!(found.len(), 4);
    let report = desk.good(&["report", "results/s", "--json"]).out;
    for part in ["machines for client", "3 × m1.large", "client: agents", "client: round trip of a statement"] {
        assert!(report.contains(part), "{part}");
    }
    // Agents that are not where the study wants them.
    for (agents, words) in [
        (named.replace("m=", "").replace("n=", ""), ["stands beside no contender", "--agents CONTENDER=HOST"]),
        (format!("m={}", at(0)), ["no agent stands beside contender `n`", "--agents CONTENDER=HOST"]),
    ] {
        let refused = desk.perbuck(&["run", "s.toml", "--results", "other", "--agents", &agents, "--token-file", "token"]);
        assert!(refused.code == Some(2) && words.iter().all(|word| refused.err.contains(word)), "{refused:#?}");
    }
    let alone = desk.perbuck(&["run", "s.toml", "--results", "other"]);
    assert!(alone.code == Some(2) && alone.err.contains("one machine cannot stand in the network of each"), "{alone:#?}");
}

#[test]
fn a_server_beyond_the_region_is_refused_unless_the_study_means_it() {
    let (desk, maria) = start("fleet_far");
    let far = slow_way_to(&maria.port, Duration::from_millis(4)).to_string();
    let refused = |done: &crate::common::Ended, who: &str| {
        assert_eq!(done.code, Some(4), "{done:#?}");
        for part in [&format!("contender `n`: a statement from {who} takes "), "above 5.00 ms: a wide-area", "wide_area = true"] {
            assert!(done.err.contains(part), "{part}: {done:#?}");
        }
    };
    desk.write("s.toml", &study(&maria, [&maria.port, &far], ""));
    refused(&desk.perbuck(&["run", "s.toml"]), "this machine");
    let agent = agents(&desk, 1).remove(0);
    let by_agent = ["run", "s.toml", "--agents", agent.1.as_str(), "--token-file", "token"];
    refused(&desk.perbuck(&by_agent), &format!("agent {}", agent.1));
    assert!(desk.records("results/s").is_empty());
    desk.write("s.toml", &study(&maria, [&maria.port, &far], "[client]\nwide_area = true"));
    desk.good(&["run", "s.toml"]);
    let found = desk.records("results/s");
    let statement = |name: &str| found.iter().find(|r| r.key.contender == name).unwrap().target.distance.unwrap().statement_ns;
    assert!(statement("m") < 5_000_000 && statement("n") > 8_000_000, "{} {}", statement("m"), statement("n"));
}
