//! What a machine, or a server, counted in the steps of a window.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One thing that was counted or read in each step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// As Prometheus' exporters name it, unit and labels included: `node_disk_read_bytes_total{device="vda"}`.
    pub name: String,
    /// Of a counter (its name ends with `_total`) by how much it grew in each step, of anything else its value at the end of the step,
    /// as numbers with a space between. An empty list is zeros alone.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    #[schemars(with = "String")]
    pub values: Values,
}

impl Series {
    /// Its name without labels.
    pub fn family(&self) -> &str {
        self.name.split('{').next().unwrap_or_default()
    }

    /// The value of a label; `None` where it has none of that name.
    pub fn label(&self, name: &str) -> Option<&str> {
        let (_, labels) = self.name.split_once('{')?;
        let found = labels.split("\",").find_map(|pair| pair.trim_start_matches(',').strip_prefix(name)?.strip_prefix("=\""))?;
        Some(found.trim_end_matches('}').trim_end_matches('"'))
    }

    /// Of a counter: by how much it grew in the whole window.
    pub fn sum(&self) -> f64 {
        self.values.0.iter().sum()
    }
}

/// Values of steps: a text in files, since records have a line for each entry of a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values(pub Vec<f64>);

impl Values {
    /// Whether there are none, or none but zeros.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|value| *value == 0.0)
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl FromStr for Values {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |t: &str| t.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(|| format!("`{t}` is no number"));
        text.split_ascii_whitespace().map(one).collect::<Result<_, _>>().map(Self)
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Series {
        Series { name: name.to_owned(), values: Values(vec![1.5, 0.0, 12.0]) }
    }

    #[test]
    fn names_have_families_and_labels() {
        let both = named("node_interrupts_total{cpu=\"3\",devices=\"eth0-rx,0\"}");
        assert_eq!(
            (both.family(), both.label("cpu"), both.label("devices")),
            ("node_interrupts_total", Some("3"), Some("eth0-rx,0"))
        );
        assert_eq!((both.label("device"), both.label("cp")), (None, None));
        let none = named("node_context_switches_total");
        assert_eq!((none.family(), none.label("cpu"), none.sum()), ("node_context_switches_total", None, 13.5));
    }

    #[test]
    fn values_are_texts_in_files() {
        let one = named("n_total");
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(text, "{\"name\":\"n_total\",\"values\":\"1.5 0 12\"}");
        assert_eq!(serde_json::from_str::<Series>(&text).unwrap(), one);
        let zeros = Series { values: Values(vec![0.0, 0.0]), ..one };
        assert_eq!(serde_json::to_string(&zeros).unwrap(), "{\"name\":\"n_total\"}");
        for wrong in ["x", "1,2", "inf", "NaN"] {
            let error = wrong.parse::<Values>().unwrap_err();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
