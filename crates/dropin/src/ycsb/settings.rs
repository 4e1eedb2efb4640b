//! What the properties mean, checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perbuck_core::load_model::HIGHEST_PER_S;
use perbuck_core::study::Scalar;
use perbuck_core::units::Seed;
use perbuck_lab::trial::DRAIN_NS;
use perbuck_load::limit::Tolerance;
use perbuck_workloads::params::ParamProblem;
use perbuck_workloads::ycsb::{Options, PROPERTIES, property_value};

use super::properties::Properties;
use super::words::{Given, Order};
use crate::load::{Load, MOST_WORKERS, SECOND_NS, drawn_seed};
use crate::option::chosen;
use crate::refused::Refused;
use crate::run::Records;
use crate::study::Workload;
use crate::style::{STYLES, Style};
use perbuck_lab::inputs::read_text;

/// The most connections that one client can well have.
const MOST_THREADS: u32 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `READ   - Takes(s): …`.
    GoYcsb,
    /// `[READ], Operations, …`.
    Ycsb,
}

/// A command line with everything about it checked, but for the database.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) workload: Workload,
    pub(super) options: Options,
    pub(super) load: Load,
    /// Whether the load takes the fastest way, and measures no single INSERT.
    pub(super) bulk: bool,
    /// Whether the load drops the table before.
    pub(super) drop_data: bool,
    /// Seconds between two reports.
    pub(super) interval_s: u32,
    pub(super) shape: Shape,
    pub(super) style: Style,
    /// Percentiles of YCSB's shape, as typed and as number.
    pub(super) percentiles: Vec<(String, f64)>,
    /// Seconds between two status lines; `None` prints none.
    pub(super) status_s: Option<u32>,
    /// The file for the numbers at the end.
    pub(super) output_file: Option<PathBuf>,
    pub(super) seed: u64,
    pub(super) records: Records,
}

impl Settings {
    pub(super) fn read(given: &Given, properties: &Properties, order: Order) -> Result<Self, Refused> {
        let loads = order == Order::Load;
        let batch = count(properties, "batch.size", 1, 1_000_000)?;
        if batch > 1 && !loads {
            let help = "leave batch.size out; each operation is one statement, as in YCSB";
            return Err(Refused::usage(format!("batch.size {batch}: batches of operations are not supported in a run"), help));
        }
        let bulk = batch > 1;
        let name = if loads { format!("{}-load", properties.name) } else { properties.name.clone() };
        let refused = |problems: Vec<ParamProblem>| {
            let lines: Vec<String> = problems.iter().map(|p| p.message.clone()).collect();
            Refused::usage(lines.join("\n"), problems.first().map(|p| p.help.clone()).unwrap_or_default())
        };
        let (workload, options) = Workload::of::<Options>(&name, parameters(properties, loads && !bulk)?).map_err(refused)?;
        let time_s = Some(count(properties, "maxexecutiontime", 0, u32::MAX)?).filter(|s| *s > 0);
        if !loads && options.operationcount.is_none() && time_s.is_none() {
            let help = "give -p operationcount=… or -p maxexecutiontime=… (seconds)";
            return Err(Refused::usage("neither operationcount nor maxexecutiontime limits the run", help));
        }
        let seed = seed(given, properties)?;
        let load = load(given, properties, &options, (loads, time_s, seed))?;
        Ok(Self {
            workload,
            options,
            load,
            bulk,
            drop_data: switch(properties, "dropdata")?,
            interval_s: match properties.text("measurement.interval") {
                "op" | "intended" | "both" => 10,
                _ => count(properties, "measurement.interval", 1, u32::MAX)?,
            },
            shape: word(
                given.option("--shape").unwrap_or("go-ycsb"),
                "--shape",
                &[("go-ycsb", Shape::GoYcsb), ("ycsb", Shape::Ycsb)],
            )?,
            style: style(properties)?,
            percentiles: percentiles(properties)?,
            status_s: given.option("-s").map(|_| count(properties, "status.interval", 1, u32::MAX)).transpose()?,
            output_file: Some(properties.text("measurement.output_file")).filter(|f| !f.is_empty()).map(PathBuf::from),
            seed,
            records: Records::new(
                "ycsb",
                given.option("--results"),
                given.option("--no-record").is_none(),
                given.option("--contender"),
            ),
        })
    }
}

/// The load, where it is that of `load` or of so many seconds.
fn load(
    given: &Given,
    properties: &Properties,
    options: &Options,
    (loads, time_s, seed): (bool, Option<u32>, u64),
) -> Result<Load, Refused> {
    let ns = |seconds: u32| u64::from(seconds) * SECOND_NS;
    // A record that cannot be inserted ends a load, as in YCSB; what another connection may still insert does not.
    let of_load = Tolerance::Listed { codes: Vec::new(), retries: true, losses: true };
    Ok(Load {
        connections: count(properties, "threadcount", 1, MOST_THREADS)?,
        rate: Some(count(properties, "target", 0, HIGHEST_PER_S)?).filter(|rate| *rate > 0),
        warmup_ns: if loads { 0 } else { ns(count(properties, "warmuptime", 0, u32::MAX)?) },
        window_ns: time_s.map(ns),
        events: if loads { Some(options.insertcount) } else { options.operationcount },
        workers: given.option("--workers").map(|typed| number(typed, "--workers", 1, MOST_WORKERS)).transpose()?,
        // YCSB tries every operation once.
        attempts: 1,
        drain_ns: DRAIN_NS,
        // The reads and updates within read-modify-writes are told of apart.
        time_statements: !loads && options.proportions[4] > 0.0,
        tolerance: if loads { of_load } else { Tolerance::All },
        seed: Seed(seed).derive("perbuck ycsb"),
    })
}

/// The properties of the workload, as a study writes them.
fn parameters(properties: &Properties, inserts: bool) -> Result<BTreeMap<String, Scalar>, Refused> {
    let mut all: BTreeMap<String, Scalar> = BTreeMap::new();
    for property in &PROPERTIES {
        let given = properties.get(property.name).and_then(|text| property_value(property.name, text));
        all.extend(given.map(|value| (property.name.to_owned(), value)));
    }
    // Neither is for the user to say here.
    all.insert("dotransactions".to_owned(), Scalar::Bool(!inserts));
    all.entry("compat".to_owned()).or_insert_with(|| Scalar::Text("go-ycsb".to_owned()));
    if properties.get("fieldlengthdistribution") == Some("histogram") {
        let file = properties.get("fieldlengthhistogram").unwrap_or("hist.txt");
        all.insert("fieldlengthhistogram".to_owned(), Scalar::Text(histogram(file)?));
    } else {
        all.remove("fieldlengthhistogram");
    }
    Ok(all)
}

/// A histogram of field lengths, from the file that both programs read: a line `BlockSize` and a number, then a line with the
/// number of a block and its weight for each.
fn histogram(file: &str) -> Result<String, Refused> {
    let text = read_text("the histogram of field lengths in", Path::new(file))
        .map_err(|e| Refused::usage(e.to_string(), "name a file with -p fieldlengthhistogram=FILE"))?;
    let pairs = text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.trim().split_once(char::is_whitespace));
    let pairs: Option<Vec<(&str, &str)>> = pairs.collect();
    let read = pairs.as_deref().and_then(|pairs| {
        let [("BlockSize", block), rest @ ..] = pairs else { return None };
        let mut weights: Vec<u64> = Vec::new();
        for (index, weight) in rest {
            let index = index.parse::<usize>().ok().filter(|p| *p < 1 << 20)?;
            weights.resize(weights.len().max(index + 1), 0);
            weights[index] = weight.trim().parse().ok()?;
        }
        let weights: Vec<String> = weights.iter().map(u64::to_string).collect();
        Some(format!("{}: {}", block.trim(), weights.join(" ")))
    });
    read.ok_or_else(|| {
        let help =
            "its first line is `BlockSize` and a number of bytes, each other one the number of a block, from 0, and its weight";
        Refused::usage(format!("{file} is no histogram of field lengths"), help)
    })
}

fn number(typed: &str, name: &str, least: u32, most: u32) -> Result<u32, Refused> {
    let within = typed.parse().ok().filter(|n| (least..=most).contains(n));
    within.ok_or_else(|| Refused::usage(format!("{name} is \"{typed}\""), format!("give a whole number from {least} to {most}")))
}

fn count(properties: &Properties, name: &str, least: u32, most: u32) -> Result<u32, Refused> {
    number(properties.text(name), name, least, most)
}

pub(super) fn switch(properties: &Properties, name: &str) -> Result<bool, Refused> {
    match properties.text(name).to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        other => Err(Refused::usage(format!("{name} is \"{other}\""), "give true or false")),
    }
}

fn word<T: Copy>(typed: &str, name: &str, words: &[(&str, T)]) -> Result<T, Refused> {
    chosen(typed, words).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(w, _)| *w).collect();
        Refused::usage(format!("{name} is \"{typed}\""), format!("use one of {}", all.join(", ")))
    })
}

fn style(properties: &Properties) -> Result<Style, Refused> {
    let kinds = [("histogram", ()), ("hdrhistogram", ())];
    word(properties.text("measurementtype"), "measurementtype", &kinds).map_err(|refused| {
        let help = "leave it out; the record of the run holds the whole histograms of every operation";
        Refused { help: help.to_owned(), ..refused }
    })?;
    word(properties.text("outputstyle"), "outputstyle", &STYLES)
}

fn percentiles(properties: &Properties) -> Result<Vec<(String, f64)>, Refused> {
    let typed = properties.text("hdrhistogram.percentiles");
    let one = |part: &str| {
        let number = part.parse().ok().filter(|p| (0.0..=100.0).contains(p));
        number.map(|p: f64| (part.to_owned(), p)).ok_or_else(|| {
            let message = format!("hdrhistogram.percentiles is \"{typed}\"");
            Refused::usage(message, "give numbers from 0 to 100 with commas between them")
        })
    };
    typed.split(',').map(str::trim).filter(|p| !p.is_empty()).map(one).collect()
}

fn seed(given: &Given, properties: &Properties) -> Result<u64, Refused> {
    let typed = given.option("--seed").or_else(|| properties.get("seed"));
    let Some(typed) = typed else { return Ok(drawn_seed() >> 1) };
    typed.parse().map_err(|_| Refused::usage(format!("--seed is \"{typed}\""), "give a whole number from 0"))
}

#[cfg(test)]
mod tests {
    use perbuck_workloads::ycsb::Compat;

    use super::super::golden::settings;
    use super::*;
    use crate::cases::hold_refused;

    #[test]
    fn a_plain_command_line_has_the_defaults_of_go_ycsb() {
        let s = settings(&["run", "mysql", "-P", "workloads/workloada"]).unwrap();
        let l = &s.load;
        assert_eq!((l.connections, l.rate, l.window_ns, l.events, l.warmup_ns), (1, None, None, Some(1000), 0));
        assert_eq!((s.shape, s.style, s.interval_s, s.workload.name.as_str()), (Shape::GoYcsb, Style::Plain, 10, "workloada"));
        assert_eq!((s.options.compat, s.options.dotransactions, s.options.recordcount), (Compat::GoYcsb, true, 1000));
        let load = settings(&["load", "mysql", "-Pworkloadc", "--threads=4", "-precordcount=50", "-p", "compat=ycsb"]).unwrap();
        assert_eq!(
            (load.load.connections, load.load.events, load.bulk, load.workload.name.as_str()),
            (4, Some(50), false, "workloadc-load")
        );
        assert_eq!((load.options.dotransactions, load.options.compat), (false, Compat::Ycsb));
        assert!(settings(&["load", "mysql", "-P", "workloadc", "-p", "batch.size=100"]).unwrap().bulk);
        let java =
            settings(&["run", "mysql", "-P", "workloadc", "-threads", "8", "-target", "9", "-s", "--shape", "ycsb"]).unwrap();
        assert_eq!((java.load.connections, java.load.rate, java.status_s, java.shape), (8, Some(9), Some(10), Shape::Ycsb));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_way_out() {
        let cases: &[(&[&str], &str)] = &[
            (&["run", "mysql"], "…`recordcount` is missing"),
            (&["run", "mysql", "-p", "recordcount=5"], "…neither operationcount nor maxexecutiontime"),
            (&["run", "mysql", "-P", "workloada", "-p", "batch.size=5"], "…not supported in a run"),
            (&["run", "mysql", "-P", "workloada", "--threads", "0"], "…threadcount is \"0\""),
            (&["run", "mysql", "-P", "workloada", "-p", "measurementtype=raw"], "…measurementtype is \"raw\""),
            (&["run", "mysql", "-P", "workloada", "-p", "requestdistribution=zipf"], "…`requestdistribution` is \"zipf\""),
            (&["run", "mysql", "-P", "workloada", "-p", "fieldlengthdistribution=histogram"], "…hist.txt"),
            (&["run", "mysql", "-P", "workloada", "-p", "noequals"], "…bad property"),
            (&["run", "mysql", "-P", "workloada", "--shape=csv"], "…--shape is \"csv\""),
            (&["run", "mysql", "-P"], "…flag needs an argument: -P"),
            (&["run", "mysql", "--thread", "4"], "…unknown flag: --thread"),
            (&["run"], "…no database is given"),
            (&["runn", "mysql"], "…unknown command \"runn\""),
            (&["run", "mysql", "extra", "-P", "workloada"], "…unknown word \"extra\""),
        ];
        hold_refused(settings, cases);
    }

    #[test]
    fn a_histogram_file_becomes_weights() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("h.txt");
        std::fs::write(&file, "BlockSize\t10\n0\t5\n2\t7\n").unwrap();
        assert_eq!(histogram(file.to_str().unwrap()).unwrap(), "10: 5 0 7");
        std::fs::write(&file, "0\t5\n").unwrap();
        assert!(histogram(file.to_str().unwrap()).unwrap_err().message.contains("is no histogram"));
    }
}
