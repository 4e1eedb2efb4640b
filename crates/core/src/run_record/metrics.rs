//! What the servers count of themselves in the measured window.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::series::{Series, Values};

/// The schema number of the files of series that this version writes.
pub const SERIES_SCHEMA: u32 = 1;

/// The servers' own metrics over the measured window, summed up. Their values in each step are in a file beside the record.
///
/// Names are those of the usual exporters for Prometheus: `mysql_global_status_commands_total{command="select"}`. Of several servers
/// each value is the sum.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerMetrics {
    /// When the first reading was there, in milliseconds since the window opened.
    pub from_ms: u32,
    /// When the last one was there, which is shortly after the window closed.
    pub to_ms: u32,
    /// By how much each counter grew between these readings. Those that did not grow are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub growth: BTreeMap<String, f64>,
    /// The mean of everything else over the readings after the first, zeros left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub means: BTreeMap<String, f64>,
    /// What is not told, or not to the end of the window, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_told: BTreeMap<String, String>,
    /// SHA-256 of the file of series, in hexadecimal digits; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_sha256: Option<String>,
}

/// The file of series beside a record: what its servers counted of themselves, in steps of about a second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSeries {
    /// [`SERIES_SCHEMA`].
    pub schema: u32,
    /// When the first reading was there, in milliseconds since the window opened.
    pub from_ms: u32,
    /// The end of each step, in milliseconds since the window opened.
    pub steps_ms: Vec<u32>,
    /// What only grows. Counters that did not grow are left out.
    pub counters: Vec<CounterSeries>,
    /// Everything else, by its value at the end of each step. What was zero in all steps is left out.
    pub gauges: Vec<Series>,
}

/// A counter of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterSeries {
    /// As exporters for Prometheus name it.
    pub name: String,
    /// What the server said in the first reading. With the growth of all steps it is what the server said in the last one.
    pub first: f64,
    /// By how much it grew in each step, as numbers with a space between.
    #[schemars(with = "String")]
    pub values: Values,
}

impl ServerSeries {
    /// By how much each counter grew in all steps together.
    pub fn growth(&self) -> BTreeMap<String, f64> {
        self.counters.iter().map(|c| (c.name.clone(), micro(c.values.0.iter().sum()))).collect()
    }

    /// The mean of each of the others.
    pub fn means(&self) -> BTreeMap<String, f64> {
        let steps = self.steps_ms.len().max(1) as f64;
        self.gauges.iter().map(|s| (s.name.clone(), micro(s.sum() / steps))).collect()
    }

    /// Reads a file of series.
    ///
    /// # Errors
    /// Says why the text is none of this schema.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|e| format!("is no file of series: {e}"))?;
        match read.schema {
            SERIES_SCHEMA => Ok(read),
            other => Err(format!("has schema {other}, and this perbuck reads schema {SERIES_SCHEMA}")),
        }
    }

    /// Writes it, pretty-printed with a final newline; the same series give the same bytes.
    ///
    /// # Errors
    /// When a number is not finite, which JSON cannot hold.
    pub fn to_json(&self) -> Result<String, String> {
        serde_json::to_string_pretty(self).map(|s| s + "\n").map_err(|e| e.to_string())
    }
}

/// Rounded to millionths: servers tell microseconds at best, and sums of fractions have more digits than that.
pub fn micro(value: f64) -> f64 {
    let rounded = (value * 1e6).round() / 1e6;
    // Of a large number the product has no more digits than the number itself.
    if value.abs() < 1e9 { rounded } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_series_says_what_the_record_sums_up() {
        let counter = CounterSeries { name: "c_seconds_total".into(), first: 7.25, values: Values(vec![0.1, 0.2, 0.0]) };
        let large = CounterSeries { name: "b_bytes".into(), first: 9e15, values: Values(vec![1e15, 0.0, 2.0]) };
        let gauge = Series { name: "g".into(), values: Values(vec![1.0, 0.0, 4.0]) };
        let counters = vec![counter, large];
        let all = ServerSeries { schema: 1, from_ms: 2, steps_ms: vec![1000, 2000, 3000], counters, gauges: vec![gauge] };
        assert_eq!(all.growth(), [("b_bytes".into(), 1e15 + 2.0), ("c_seconds_total".into(), 0.3)].into());
        assert_eq!(all.means(), [("g".into(), 1.666667)].into());
        let text = all.to_json().unwrap();
        assert_eq!(ServerSeries::from_json(&text).unwrap(), all);
        let later = text.replace("\"schema\": 1", "\"schema\": 2");
        assert!(ServerSeries::from_json(&later).unwrap_err().contains("schema 2"));
        assert!(ServerSeries::from_json("{}").unwrap_err().contains("no file of series"));
    }
}
