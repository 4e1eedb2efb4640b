//! Series of node_exporter as what machines did in a window.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::run_record::{MachineSamples, Percents, ProcessorTime, Series, ServerMachine, Values};

use crate::server::Found;

/// A selector of all that is kept of node_exporter, without braces.
pub const FAMILIES: &str = "__name__=~\"node_(cpu_seconds_total|context_switches_total|forks_total|procs_(running|blocked)|\
     memory_(MemTotal|MemAvailable|MemFree|Dirty|Writeback|SwapFree)_bytes|pressure_.+_seconds_total|\
     disk_(reads_completed|writes_completed|read_bytes|written_bytes|read_time_seconds|write_time_seconds|io_time_seconds|\
     io_time_weighted_seconds|flush_requests|flush_requests_time_seconds)_total|\
     network_(receive|transmit)_(bytes|packets|drop)_total|softnet_(processed|dropped|times_squeezed)_total|\
     netstat_Tcp_(OutSegs|RetransSegs)|vmstat_(pgmajfault|pswpin|pswpout))\"";

/// Devices that are none of hardware.
const NO_DEVICES: [&str; 5] = ["lo", "loop", "ram", "veth", "docker"];
/// Steps at most.
const MOST: usize = 120;

/// The measured window: seconds since 1970.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// When it opened.
    pub from_s: f64,
    /// When it closed.
    pub until_s: f64,
}

/// Each machine with what it did between its first and its last scrape within the window, by the address of its exporter. One that was
/// scraped less than twice says so.
pub fn machines(found: &[Found], window: Window) -> Vec<ServerMachine> {
    let mut by_instance: BTreeMap<&str, Vec<&Found>> = BTreeMap::new();
    for series in found {
        if let Some(instance) = series.metric.get("instance") {
            by_instance.entry(instance).or_default().push(series);
        }
    }
    let one = |(instance, all): (&str, Vec<&Found>)| {
        let samples = samples(&all, window);
        let unread = samples.is_none().then(|| "Prometheus scraped it less than twice in the window".to_owned());
        ServerMachine { source: instance.to_owned(), facts: None, samples, unread }
    };
    by_instance.into_iter().map(one).collect()
}

/// The value of a series at each of these times; `None` where one is missing.
fn at(series: &Found, times: &[i64]) -> Option<Vec<f64>> {
    let by_time: BTreeMap<i64, &str> = series.values.iter().map(|(s, value)| (millis(*s), value.as_str())).collect();
    times.iter().map(|time| by_time.get(time)?.parse().ok()).collect()
}

fn millis(seconds: f64) -> i64 {
    (seconds * 1e3).round() as i64
}

fn samples(all: &[&Found], window: Window) -> Option<MachineSamples> {
    let cpu: Vec<&&Found> =
        all.iter().filter(|f| f.metric.get("__name__").is_some_and(|n| n == "node_cpu_seconds_total")).collect();
    let within = |s: f64| (window.from_s..=window.until_s).contains(&s);
    let scrapes: BTreeSet<i64> =
        cpu.iter().flat_map(|f| &f.values).filter(|(s, _)| within(*s)).map(|(s, _)| millis(*s)).collect();
    let scrapes: Vec<i64> = scrapes.into_iter().collect();
    let every = scrapes.len().div_ceil(MOST).max(1);
    let times: Vec<i64> = scrapes.into_iter().step_by(every).collect();
    let (first, rest) = times.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let steps_ms = rest.iter().map(|time| u32::try_from(time - first).unwrap_or(u32::MAX)).collect();
    let (processors, series) = (processors(&cpu, &times), kept(all, &times));
    Some(MachineSamples { steps_ms, processors, series })
}

/// What each processor did; those that were not told in every scrape are left out.
fn processors(cpu: &[&&Found], times: &[i64]) -> Vec<ProcessorTime> {
    let mut by_cpu: BTreeMap<u32, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for series in cpu {
        let number = series.metric.get("cpu").and_then(|cpu| cpu.parse().ok());
        if let (Some(number), Some(mode), Some(values)) = (number, series.metric.get("mode"), at(series, times)) {
            by_cpu.entry(number).or_default().insert(mode, values);
        }
    }
    let one = |modes: BTreeMap<&str, Vec<f64>>| {
        let percents = |of: &[&str]| {
            let step = |i: usize| {
                let seconds = (times[i + 1] - times[i]) as f64 / 1e3;
                let grown: f64 = of.iter().filter_map(|mode| modes.get(mode)).map(|v| (v[i + 1] - v[i]).max(0.0)).sum();
                (100.0 * grown / seconds).round().clamp(0.0, 100.0) as u8
            };
            let all: Vec<u8> = (0..times.len() - 1).map(step).collect();
            Percents(if all.iter().all(|p| *p == 0) { Vec::new() } else { all })
        };
        ProcessorTime {
            work: percents(&["user", "nice", "system"]),
            system: percents(&["system"]),
            irq: percents(&["irq"]),
            softirq: percents(&["softirq"]),
            stolen: percents(&["steal"]),
            iowait: percents(&["iowait"]),
        }
    };
    by_cpu.into_values().map(one).collect()
}

/// All else, by the names of perbuck's own samples: counters end with `_total`, and those of each processor are summed.
fn kept(all: &[&Found], times: &[i64]) -> Vec<Series> {
    let mut sums: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for series in all {
        let (Some(name), Some(values)) = (named(&series.metric), at(series, times)) else { continue };
        let sum = sums.entry(name).or_insert_with(|| vec![0.0; times.len()]);
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    let one = |(name, values): (String, Vec<f64>)| {
        let is_counter = name.split('{').next().is_some_and(|family| family.ends_with("_total"));
        // One that was set back is of another process or device.
        let grown: Option<Vec<f64>> = values.windows(2).map(|w| (w[1] >= w[0]).then(|| micro(w[1] - w[0]))).collect();
        let values = Values(if is_counter { grown? } else { values[1..].to_vec() });
        let is_idle_device = is_counter && name.contains('{') && values.is_empty();
        (!is_idle_device).then_some(Series { name, values })
    };
    sums.into_iter().filter_map(one).collect()
}

fn micro(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// `None` of what is kept elsewhere, and of devices that are none.
fn named(metric: &BTreeMap<String, String>) -> Option<String> {
    let name = metric.get("__name__").filter(|name| *name != "node_cpu_seconds_total")?;
    let counts = ["node_netstat_Tcp_", "node_vmstat_"].iter().any(|start| name.starts_with(start));
    let name = if counts { format!("{name}_total") } else { name.clone() };
    match metric.get("device") {
        Some(device) if NO_DEVICES.iter().any(|start| device.starts_with(start)) => None,
        Some(device) => Some(format!("{name}{{device=\"{}\"}}", device.replace('\\', "\\\\").replace('"', "\\\""))),
        None => Some(name),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    fn found(labels: &str, values: &[(f64, &str)]) -> Found {
        let pairs = labels.split(' ').map(|pair| pair.split_once('=').unwrap());
        let metric = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        Found { metric, values: values.iter().map(|(s, v)| (*s, (*v).to_owned())).collect() }
    }

    #[test]
    fn scrapes_within_the_window_are_steps() {
        let window = Window { from_s: 100.0, until_s: 121.0 };
        let times = [90.25, 105.25, 120.25];
        let of = |labels: &str, values: [&str; 3]| found(labels, &times.into_iter().zip(values).collect::<Vec<_>>());
        let all = [
            of("__name__=node_cpu_seconds_total instance=a:9100 cpu=10 mode=user", ["1", "2", "9.5"]),
            of("__name__=node_cpu_seconds_total instance=a:9100 cpu=10 mode=system", ["1", "1", "4"]),
            of("__name__=node_cpu_seconds_total instance=a:9100 cpu=2 mode=softirq", ["0", "0", "15"]),
            of("__name__=node_softnet_dropped_total instance=a:9100 cpu=0", ["0", "5", "7"]),
            of("__name__=node_softnet_dropped_total instance=a:9100 cpu=1", ["0", "1", "1"]),
            of("__name__=node_netstat_Tcp_RetransSegs instance=a:9100", ["0", "5", "8"]),
            of("__name__=node_disk_io_time_seconds_total instance=a:9100 device=sda", ["0", "5", "19.5"]),
            of("__name__=node_disk_io_time_seconds_total instance=a:9100 device=loop0", ["0", "5", "19.5"]),
            of("__name__=node_disk_io_time_seconds_total instance=a:9100 device=sdb", ["5", "5", "5"]),
            of("__name__=node_procs_running instance=a:9100", ["1", "2", "3"]),
            of("__name__=node_cpu_seconds_total instance=late:9100 cpu=0 mode=user", ["1", "2", "NaN"]),
        ];
        let all: Vec<Found> = all
            .into_iter()
            .map(|mut f| {
                if f.metric["instance"] == "late:9100" {
                    f.values.truncate(2);
                }
                f
            })
            .collect();
        let seen = machines(&all, window);
        assert_eq!(seen.iter().map(|m| m.source.as_str()).collect::<Vec<_>>(), ["a:9100", "late:9100"]);
        let samples = seen[0].samples.as_ref().unwrap();
        // Processor 2 comes before 10, and the scrape before the window is no step.
        let expected = [
            ProcessorTime { softirq: Percents(vec![100]), ..ProcessorTime::default() },
            ProcessorTime { work: Percents(vec![70]), system: Percents(vec![20]), ..ProcessorTime::default() },
        ];
        assert_eq!((samples.steps_ms.as_slice(), samples.processors.as_slice()), (&[15_000][..], &expected[..]));
        let series: Vec<(&str, String)> = samples.series.iter().map(|s| (s.name.as_str(), s.values.to_string())).collect();
        let expected = [
            ("node_disk_io_time_seconds_total{device=\"sda\"}", "14.5"),
            ("node_netstat_Tcp_RetransSegs_total", "3"),
            ("node_procs_running", "3"),
            ("node_softnet_dropped_total", "2"),
        ];
        assert_eq!(series, expected.map(|(name, values)| (name, values.to_owned())));
        assert!(seen[1].samples.is_none() && seen[1].unread.as_ref().unwrap().contains("less than twice"), "{:?}", seen[1]);
        assert_eq!(machines(&[], window), []);
    }

    #[test]
    fn an_hour_of_scrapes_has_at_most_so_many_steps() {
        let values: Vec<(f64, String)> = (0..3600).map(|i| (f64::from(i), format!("{}", f64::from(i) / 2.0))).collect();
        let pairs: Vec<(f64, &str)> = values.iter().map(|(s, v)| (*s, v.as_str())).collect();
        let all = [found("__name__=node_cpu_seconds_total instance=a cpu=0 mode=user", &pairs)];
        let seen = machines(&all, Window { from_s: 0.0, until_s: 3600.0 });
        let samples = seen[0].samples.as_ref().unwrap();
        assert!(samples.steps_ms.len() <= MOST && samples.processors[0].work.0.iter().all(|p| *p == 50), "{samples:?}");
    }
}
