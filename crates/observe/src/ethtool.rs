//! What a network device does itself, and how long it waits before it interrupts: no file tells it, so the kernel is asked by generic netlink,
//! as the program `ethtool` does (Documentation/networking/ethtool-netlink.rst; Linux 5.6 and later).

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with, sockopt};

/// The longest answer, of all features by name, is some 10 KiB.
const LONGEST: usize = 1 << 16;
const TIMEOUT: Duration = Duration::from_secs(1);

/// Numbers of `linux/genetlink.h` and `linux/ethtool_netlink.h`.
const REQUEST: u16 = 1;
const ERROR: u16 = 2;
const CONTROL: u16 = 0x10;
const NESTED: u16 = 0x8000;
const HEADER: usize = 16 + 4;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const FEATURES_GET: u8 = 11;
const COALESCE_GET: u8 = 19;
const OF_DEVICE: u16 = 1;
const DEVICE_NAME: u16 = 2;
const POSSIBLE: u16 = 2;
const ACTIVE: u16 = 4;
const BITS: u16 = 3;
const BIT_NAME: u16 = 2;
const RX_US: u16 = 2;
const TX_US: u16 = 6;
const ADAPTIVE_RX: u16 = 11;

/// What the kernel tells of a device, in the words of `ethtool -k` and `ethtool -c`: `rx-gro` is `on`, `rx-usecs` is `20`. Empty where it does
/// not tell.
pub(crate) fn ask(device: &str) -> BTreeMap<String, String> {
    let Some(family) = asked(CONTROL, GET_FAMILY, &attribute(FAMILY_NAME, b"ethtool\0")).and_then(|answer| {
        let id = attributes(&answer).find(|(kind, _)| *kind == FAMILY_ID)?.1;
        Some(u16::from_ne_bytes(id.try_into().ok()?))
    }) else {
        return BTreeMap::new();
    };
    let name = attribute(DEVICE_NAME, &[device.as_bytes(), b"\0"].concat());
    let of_device = attribute(OF_DEVICE | NESTED, &name);
    let mut told = asked(family, FEATURES_GET, &of_device).map(|answer| features(&answer)).unwrap_or_default();
    told.extend(asked(family, COALESCE_GET, &of_device).map(|answer| coalescing(&answer)).unwrap_or_default());
    told
}

/// The attributes of the answer to one request; `None` where there is none.
fn asked(family: u16, command: u8, attributes: &[u8]) -> Option<Vec<u8>> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::GENERIC)).ok()?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(TIMEOUT)).ok()?;
    // Without an address it goes to the kernel.
    send(&socket, &request(family, command, attributes), SendFlags::empty()).ok()?;
    let mut answer = vec![0; LONGEST];
    let (_, length) = recv(&socket, answer.as_mut_slice(), RecvFlags::empty()).ok()?;
    answer.truncate(length);
    body(&answer, family).map(<[u8]>::to_vec)
}

fn request(family: u16, command: u8, attributes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + attributes.len()).unwrap_or(u32::MAX);
    // Number 0 of port 0: one question on a socket of its own.
    let header = [&length.to_ne_bytes()[..], &family.to_ne_bytes(), &REQUEST.to_ne_bytes(), &[0; 8]].concat();
    [&header[..], &[command, 1, 0, 0], attributes].concat()
}

/// What follows the headers of an answer; `None` of an error.
fn body(answer: &[u8], family: u16) -> Option<&[u8]> {
    let length = u32::from_ne_bytes(answer.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    if kind == ERROR || kind != family { None } else { answer.get(HEADER..length) }
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut all = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
    all.resize(all.len().next_multiple_of(4), 0);
    all
}

/// Each attribute: its kind, without the flag of a nested one, and its value. What is cut off ends them.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !NESTED, value))
    })
}

fn nested(bytes: &[u8], wanted: u16) -> &[u8] {
    attributes(bytes).find(|(kind, _)| *kind == wanted).map_or(&[], |(_, value)| value)
}

/// Every feature that the device could have, by name, and whether it is on.
fn features(answer: &[u8]) -> BTreeMap<String, String> {
    let names = |set: u16| -> Vec<String> {
        let bits = attributes(nested(nested(answer, set), BITS));
        bits.filter_map(|(_, bit)| text(nested(bit, BIT_NAME))).collect()
    };
    let off = names(POSSIBLE).into_iter().map(|name| (name, "off".to_owned()));
    let mut all: BTreeMap<String, String> = off.collect();
    all.extend(names(ACTIVE).into_iter().map(|name| (name, "on".to_owned())));
    all
}

fn text(bytes: &[u8]) -> Option<String> {
    crate::tree::value(std::str::from_utf8(bytes).ok()?.trim_end_matches('\0'))
}

/// How long it waits for more packets before it interrupts.
fn coalescing(answer: &[u8]) -> BTreeMap<String, String> {
    let us = |kind| Some(u32::from_ne_bytes(nested(answer, kind).try_into().ok()?).to_string());
    let adaptive = nested(answer, ADAPTIVE_RX).first().map(|is_on| if *is_on == 0 { "off" } else { "on" }.to_owned());
    let all = [("rx-usecs", us(RX_US)), ("tx-usecs", us(TX_US)), ("adaptive-rx", adaptive)];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bits(set: u16, names: &[&str]) -> Vec<u8> {
        let bit = |name: &&str| attribute(1 | NESTED, &attribute(BIT_NAME, &[name.as_bytes(), b"\0"].concat()));
        let all: Vec<u8> = names.iter().flat_map(bit).collect();
        attribute(set | NESTED, &attribute(BITS | NESTED, &all))
    }

    #[test]
    fn features_that_are_on_and_that_could_be() {
        let answer = [bits(POSSIBLE, &["rx-gro", "rx-lro"]), bits(ACTIVE, &["rx-gro", "tx-lockless"])].concat();
        let told: Vec<(String, String)> = features(&answer).into_iter().collect();
        let expected = [("rx-gro", "on"), ("rx-lro", "off"), ("tx-lockless", "on")];
        assert_eq!(told, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn times_before_an_interrupt() {
        let answer = [attribute(RX_US, &20_u32.to_ne_bytes()), attribute(ADAPTIVE_RX, &[1])].concat();
        let told = coalescing(&answer);
        assert_eq!((told["rx-usecs"].as_str(), told["adaptive-rx"].as_str(), told.len()), ("20", "on", 2));
    }

    #[test]
    fn a_question_is_laid_out_as_the_kernel_reads_it_and_an_error_is_no_answer() {
        let question = request(CONTROL, GET_FAMILY, &attribute(FAMILY_NAME, b"ethtool\0"));
        assert_eq!((question.len(), question[0], body(&question, CONTROL)), (32, 32, Some(&question[20..])));
        assert_eq!((body(&question, 7), body(&question[..19], CONTROL), body(&[], CONTROL)), (None, None, None));
    }

    /// The loopback of each machine passes on what it is given in parts of any length.
    #[test]
    fn the_kernel_tells_of_the_loopback() {
        // An emulator may know no such sockets.
        if crate::host().emulator.is_none() {
            let told = ask("lo");
            let of = |name: &str| told.get(name).map(String::as_str);
            assert_eq!((of("tx-tcp-segmentation"), of("rx-lro")), (Some("on"), Some("off")), "{told:?}");
        }
        assert_eq!(ask("no-such-device"), BTreeMap::new());
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (features(&bytes), coalescing(&bytes), body(&bytes, 0).map(features));
        }
    }
}
