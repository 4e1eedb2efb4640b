//! `perbuck-tikv-server [PD-PORT [STORES]]`: a cluster that does what the lines of its standard input say.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program, and talks to whoever started it")]

use std::io::BufRead;
use std::process::ExitCode;
use std::time::Duration;

use perbuck_tikv_server::Cluster;

const HELP: &str = "split KEY · split-txn KEY · transfer KEY · transfer-txn KEY · stop STORE · start STORE · busy MILLISECONDS · \
                    corrupt KEY · lose KEY · freeze KEY · keys · quit";

fn main() -> ExitCode {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (port, stores) = (numbers.first().copied().unwrap_or(2379), numbers.get(1).copied().unwrap_or(3));
    let cluster = match Cluster::start_at(stores, u16::try_from(port).unwrap_or(0)) {
        Ok(cluster) => cluster,
        Err(why) => {
            eprintln!("the cluster cannot start: {why}");
            return ExitCode::FAILURE;
        }
    };
    println!("pd {}", cluster.pd());
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        if word == "quit" {
            return ExitCode::SUCCESS;
        }
        println!("{}", obey(&cluster, word, rest));
    }
    // Without anybody to say more it serves until it is killed.
    loop {
        std::thread::park();
    }
}

fn obey(cluster: &Cluster, word: &str, rest: &str) -> String {
    let (key, number) = (rest.as_bytes(), rest.parse().unwrap_or(0));
    match word {
        "split" => cluster.split(key, false).to_string(),
        "split-txn" => cluster.split(key, true).to_string(),
        "transfer" => format!("store {}", cluster.transfer_leader(key, false)),
        "transfer-txn" => format!("store {}", cluster.transfer_leader(key, true)),
        "stop" => {
            cluster.stop_store(number);
            "stopped".to_owned()
        }
        "start" => {
            cluster.start_store(number);
            "started".to_owned()
        }
        "busy" => {
            cluster.be_busy(Duration::from_millis(number));
            "busy".to_owned()
        }
        "corrupt" => cluster.corrupt(key).to_string(),
        "lose" => cluster.lose(key).to_string(),
        "freeze" => {
            cluster.freeze(key);
            "frozen".to_owned()
        }
        "keys" => format!("{:?} keys, {} locks, {} refused", cluster.keys(), cluster.locks(), cluster.refused()),
        _ => HELP.to_owned(),
    }
}
