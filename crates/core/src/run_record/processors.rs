//! What a machine did in the window.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::RunRecord;
use super::machine::MachineFacts;
use super::series::Series;

/// What texts call the machine of a server that is not the client's.
pub const SERVERS: &str = "the server's machine";

/// What a machine did in the measured window, in steps of about a second, longer ones in long trials. All programs of the machine are
/// in it, a server on it included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineSamples {
    /// The end of each step, in milliseconds since the window opened.
    pub steps_ms: Vec<u32>,
    /// In the order of the system.
    #[serde(deserialize_with = "at_most::<_, _, PROCESSORS>")]
    pub processors: Vec<ProcessorTime>,
    /// What else was counted, by name; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
}

/// A machine of the servers that is not the client's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerMachine {
    /// Its address: `ssh://db1`, or that of its node_exporter.
    pub source: String,
    /// What its system tells of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Box<MachineFacts>>,
    /// What it did in the measured window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<MachineSamples>,
    /// Why it is not known what it did, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

impl RunRecord {
    /// What machines did in the measured window, with whose they are: those that applied the load, and that of the server where it is
    /// another one. The machine of a coordinator plays no part in what its agents measure.
    pub fn sampled(&self) -> Vec<(String, &MachineSamples)> {
        let client =
            self.health.samples.as_ref().filter(|_| self.agents.is_empty()).map(|s| ("the client's machine".to_owned(), s));
        let agents = self.agents.iter().filter_map(|a| Some((a.machine(), a.samples.as_ref()?)));
        let server = self.server_machines().into_iter().filter_map(|(name, m)| Some((name, m.samples.as_ref()?)));
        client.into_iter().chain(agents).chain(server).collect()
    }

    /// The machines of the server that are others than the client's, by their names: `the server's machine`, of several each with its source.
    pub fn server_machines(&self) -> Vec<(String, &ServerMachine)> {
        let machines = &self.target.machines;
        let name = |m: &ServerMachine| if machines.len() == 1 { SERVERS.to_owned() } else { format!("{SERVERS} {}", m.source) };
        machines.iter().map(|m| (name(m), m)).collect()
    }
}

/// As many as Linux knows. An entry may be two bytes in a file, and a hundred in memory.
const PROCESSORS: usize = 8192;

/// Reads a list, but no further than an honest one goes.
fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct List<T, const MOST: usize>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for List<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = list.next_element()? {
                if all.len() == MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                all.push(one);
            }
            Ok(all)
        }
    }
    deserializer.deserialize_seq(List::<T, MOST>(PhantomData))
}

/// What one processor did: whole percent of each step, as numbers with a space between. A list that is missing holds zeros alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorTime {
    /// Programs, and the kernel on their behalf.
    #[serde(default, skip_serializing_if = "Percents::is_empty")]
    #[schemars(with = "String")]
    pub work: Percents,
    /// The kernel's part of work; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Percents::is_empty")]
    #[schemars(with = "String")]
    pub system: Percents,
    /// Interrupts of devices.
    #[serde(default, skip_serializing_if = "Percents::is_empty")]
    #[schemars(with = "String")]
    pub irq: Percents,
    /// What interrupts leave to be done, such as most of the work of a network.
    #[serde(default, skip_serializing_if = "Percents::is_empty")]
    #[schemars(with = "String")]
    pub softirq: Percents,
    /// Other guests of the host.
    #[serde(default, skip_serializing_if = "Percents::is_empty")]
    #[schemars(with = "String")]
    pub stolen: Percents,
    /// Nothing to do but to wait for a disk, which is idle time; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Percents::is_empty")]
    #[schemars(with = "String")]
    pub iowait: Percents,
}

/// Percents of steps: a text in files, since records have a line for each entry of a list, and a large machine has many thousands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Percents(pub Vec<u8>);

impl Percents {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Percents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written by hand: a report reads and writes some millions of them.
        let mut text = String::with_capacity(4 * self.0.len());
        for (i, percent) in self.0.iter().enumerate() {
            if i > 0 {
                text.push(' ');
            }
            let digit = |n: u8| char::from(b'0' + n % 10);
            if *percent >= 100 {
                text.push(digit(percent / 100));
            }
            if *percent >= 10 {
                text.push(digit(percent / 10));
            }
            text.push(digit(*percent));
        }
        f.write_str(&text)
    }
}

impl FromStr for Percents {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |t: &str| t.parse().ok().filter(|p| *p <= 100).ok_or_else(|| format!("`{t}` is no whole number of percent"));
        let mut all: Vec<u8> = text.split_ascii_whitespace().map(one).collect::<Result<_, _>>()?;
        all.shrink_to_fit();
        Ok(Self(all))
    }
}

impl Serialize for Percents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Percents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_texts_in_files() {
        let one = ProcessorTime { work: Percents(vec![0, 7, 100]), ..ProcessorTime::default() };
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(text, "{\"work\":\"0 7 100\"}");
        assert_eq!(serde_json::from_str::<ProcessorTime>(&text).unwrap(), one);
        for wrong in ["101", "-1", "1,2", "x", "1.5"] {
            let error = serde_json::from_str::<ProcessorTime>(&format!("{{\"work\":\"{wrong}\"}}")).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("percent"), "{error}");
        }
    }
}
