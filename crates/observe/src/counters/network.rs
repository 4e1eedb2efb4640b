//! Network devices and protocols.

use std::collections::BTreeMap;

use procfs_core::FromRead as _;
use procfs_core::net::InterfaceDeviceStatus;

use super::labelled;

type Values = BTreeMap<String, f64>;

/// Counters of protocols, as `/proc/net/snmp` and `/proc/net/netstat` name them: what was sent again, and connections that were refused.
const PROTOCOLS: [(&str, &str); 7] = [
    ("Tcp", "InSegs"),
    ("Tcp", "OutSegs"),
    ("Tcp", "RetransSegs"),
    ("TcpExt", "ListenDrops"),
    ("TcpExt", "ListenOverflows"),
    ("TcpExt", "TCPTimeouts"),
    ("TcpExt", "TCPBacklogDrop"),
];

pub(super) fn devices(text: &str, values: &mut Values) {
    let Ok(InterfaceDeviceStatus(all)) = InterfaceDeviceStatus::from_read(text.as_bytes()) else { return };
    for device in all.values() {
        for (name, value) in [
            ("receive_bytes", device.recv_bytes),
            ("receive_packets", device.recv_packets),
            ("receive_drop", device.recv_drop),
            ("receive_errs", device.recv_errs),
            ("transmit_bytes", device.sent_bytes),
            ("transmit_packets", device.sent_packets),
            ("transmit_drop", device.sent_drop),
            ("transmit_errs", device.sent_errs),
        ] {
            values.insert(labelled(&format!("node_network_{name}_total"), "device", &device.name), value as f64);
        }
    }
}

/// A line of names and a line of numbers for each protocol. Of the counters node_exporter has no `_total` in the name.
pub(super) fn protocols(text: &str, values: &mut Values) {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.chunks_exact(2) {
        let (Some((of, names)), Some((same, numbers))) = (pair[0].split_once(':'), pair[1].split_once(':')) else { continue };
        if of != same {
            continue;
        }
        for (name, number) in names.split_whitespace().zip(numbers.split_whitespace()) {
            if let (true, Ok(number)) = (PROTOCOLS.contains(&(of, name)), number.parse::<u64>()) {
                values.insert(format!("node_netstat_{of}_{name}_total"), number as f64);
            }
        }
    }
}

/// Packets that were taken in, dropped because a queue was full, and left for later because time was over, of all processors:
/// hexadecimal numbers, a line for each (net/core/net-procfs.c).
pub(super) fn softnet(text: &str, values: &mut Values) {
    let mut sums = [0_u64; 3];
    for line in text.lines() {
        let numbers: Vec<u64> = line.split_whitespace().take(3).map_while(|n| u64::from_str_radix(n, 16).ok()).collect();
        let Ok(numbers) = <[u64; 3]>::try_from(numbers) else { return };
        sums.iter_mut().zip(numbers).for_each(|(sum, n)| *sum += n);
    }
    if text.is_empty() {
        return;
    }
    for (name, sum) in ["processed", "dropped", "times_squeezed"].into_iter().zip(sums) {
        values.insert(format!("node_softnet_{name}_total"), sum as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_the_kernel_writes_them() {
        let text = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame \
                    compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n";
        let mut values = Values::new();
        devices(text, &mut values);
        assert_eq!(values.len(), 8, "{values:?}");
        assert_eq!(values["node_network_receive_drop_total{device=\"eth0\"}"], 2.0);
        assert_eq!(values["node_network_transmit_bytes_total{device=\"eth0\"}"], 2000.0);
    }

    #[test]
    fn protocols_are_pairs_of_lines() {
        let text = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm OutSegs RetransSegs MaxConn\nTcp: 1 900 7 -1\n";
        let mut values = Values::new();
        protocols(text, &mut values);
        let expected = [("node_netstat_Tcp_OutSegs_total", 900.0), ("node_netstat_Tcp_RetransSegs_total", 7.0)];
        assert_eq!(values.into_iter().collect::<Vec<_>>(), expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn softnet_is_hexadecimal_and_summed() {
        let mut values = Values::new();
        softnet("0000000a 00000001 00000002 00000000\n000000ff 00000000 00000001\n", &mut values);
        let seen: Vec<f64> = values.values().copied().collect();
        assert_eq!(seen, [1.0, 265.0, 3.0]);
    }
}
