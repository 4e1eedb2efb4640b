//! The properties of YCSB's core workload, under their own names.

mod list;
mod presets;

#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_core::units::Seed;
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::Dialect;
use perbuck_load::workload::Dataset;

use super::draw::{Law, Lengths};
use super::keys::Keys;
use super::{KIND, Ycsb, YcsbData};
use crate::benchmark::{Benchmark, DataSize};
use crate::params::{Reader, other_data, put, word_for};

pub use list::{PROPERTIES, property_value};
pub use presets::{WORKLOADS, preset};

/// Records of one table; keys and counts stay far below 2⁶³, and a typo is seen.
const MAX_RECORDS: i64 = 1_000_000_000_000;
/// Columns that every database takes in addition to the key.
const MAX_FIELDS: i64 = 1_000;
/// Bytes of a field: a row of many of them still fits into a packet.
const MAX_FIELD_LENGTH: i64 = 16 * 1024 * 1024;
/// Rows of a scan, which are counted in 16 bits.
const MAX_SCAN: i64 = u16::MAX as i64;

/// The properties with the weights of the kinds of operation, in the order of [`super::KINDS`].
const PROPORTIONS: [&str; 5] =
    ["readproportion", "updateproportion", "insertproportion", "scanproportion", "readmodifywriteproportion"];

/// Whose keys, tables and integrity values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// YCSB's, the Java program.
    Ycsb,
    /// go-ycsb's.
    GoYcsb,
}

const COMPATS: [(&str, Compat); 2] = [("ycsb", Compat::Ycsb), ("go-ycsb", Compat::GoYcsb)];

impl Compat {
    /// The word of the property.
    pub fn name(self) -> &'static str {
        word_for(&COMPATS, &self)
    }
}

/// By which law records are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Request {
    /// Every record alike.
    Uniform,
    /// One after the other, again from the first at the end.
    Sequential,
    /// Few records are frequent; they lie anywhere.
    Zipfian,
    /// The newest records are frequent.
    Latest,
    /// A share of the operations goes to the first records.
    Hotspot { data: f64, share: f64 },
    /// The newest are frequent, by an exponential law: so many percent of the operations go to this share of the records.
    Exponential { percentile: f64, fraction: f64 },
}

impl Request {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Sequential => "sequential",
            Self::Zipfian => "zipfian",
            Self::Latest => "latest",
            Self::Hotspot { .. } => "hotspot",
            Self::Exponential { .. } => "exponential",
        }
    }
}

/// Properties with their effective values. Names and defaults are those of YCSB and go-ycsb; [`PROPERTIES`] says what each
/// does.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Whose keys, tables and integrity values.
    pub compat: Compat,
    /// Whether operations of the mix are done; otherwise the records are inserted, which is YCSB's load phase.
    pub dotransactions: bool,
    /// Records before the run.
    pub recordcount: u64,
    /// How many operations are expected, which gives the zipfian law room for new records.
    pub operationcount: Option<u64>,
    pub(crate) insertstart: u64,
    /// How many records the load inserts.
    pub insertcount: u64,
    /// The table.
    pub table: String,
    pub(crate) keyprefix: String,
    pub(crate) fieldnameprefix: String,
    pub(crate) fieldcount: u32,
    pub(crate) lengths: Lengths,
    pub(crate) readallfields: bool,
    pub(crate) readallfieldsbyname: bool,
    pub(crate) writeallfields: bool,
    /// Whether fields are a function of their key and verified by every read.
    pub dataintegrity: bool,
    /// Weights of the kinds of operation, in the order of [`super::KINDS`].
    pub proportions: [f64; 5],
    pub(crate) request: Request,
    pub(crate) law: Law,
    pub(crate) minscanlength: u32,
    pub(crate) maxscanlength: u32,
    /// Whether short scans are frequent; otherwise all lengths are.
    pub(crate) zipfian_scans: bool,
    /// Whether keys are record numbers, and not their hashes.
    pub(crate) ordered: bool,
    pub(crate) zeropadding: u32,
    pub(crate) insertion_retries: u32,
    /// Seconds between such tries, on average.
    pub(crate) insertion_retry_interval_s: u32,
    pub(crate) force_index: bool,
    pub(crate) cluster_index: bool,
}

impl Options {
    /// The properties that decide the data, so that all mixes can run on the same table.
    pub(super) fn data_parameters(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut put = |key: &str, value: &dyn ToString| put(&mut all, key, value);
        put("compat", &self.compat.name());
        put("table", &self.table);
        put("dotransactions", &self.dotransactions);
        put("insertstart", &self.insertstart);
        put("insertcount", &self.insertcount);
        put("insertorder", &if self.ordered { "ordered" } else { "hashed" });
        put("zeropadding", &self.zeropadding);
        put("keyprefix", &self.keyprefix);
        put("fieldnameprefix", &self.fieldnameprefix);
        put("fieldcount", &self.fieldcount);
        put("dataintegrity", &self.dataintegrity);
        put("tidb.cluster_index", &self.cluster_index);
        self.lengths.put(&mut all);
        all
    }

    /// What the values do not allow together.
    fn check(&self, reader: &mut Reader<'_>) {
        if self.insertstart.saturating_add(self.insertcount) > self.recordcount {
            let (start, count, records) = (self.insertstart, self.insertcount, self.recordcount);
            let message = format!("`insertstart` {start} and `insertcount` {count} go beyond `recordcount` {records}");
            reader.problem("insertcount", message, "raise `recordcount`: it counts the records of all loads");
        }
        if self.insertcount == 0 && self.recordcount > 0 {
            reader.problem("insertcount", "`insertcount` is 0, so there is no record to work on", "give at least 1");
        }
        if self.proportions.iter().sum::<f64>() <= 0.0 {
            let help = "give one of readproportion, updateproportion, insertproportion, scanproportion and \
                        readmodifywriteproportion a value above 0";
            reader.problem("readproportion", "all proportions are 0, so there is nothing to do", help);
        }
        if self.minscanlength > self.maxscanlength {
            let message = format!("`minscanlength` {} is above `maxscanlength` {}", self.minscanlength, self.maxscanlength);
            reader.problem("minscanlength", message, "raise `maxscanlength`");
        }
        if self.dataintegrity && !matches!(self.lengths, Lengths::Constant(_)) {
            let message = "`dataintegrity` needs fields of constant length, because a read recomputes their values";
            reader.problem("dataintegrity", message, "leave out `fieldlengthdistribution`");
        }
        if self.keys().longest() > self.key_column() as usize {
            let (longest, most) = (self.keys().longest(), self.key_column());
            let message = format!("keys can have {longest} characters, but the column holds {most}");
            reader.problem("zeropadding", message, "give a shorter `keyprefix` or less `zeropadding`");
        }
    }

    /// Characters that the key column takes.
    pub(super) fn key_column(&self) -> u32 {
        if self.compat == Compat::Ycsb { 255 } else { 64 }
    }

    pub(super) fn keys(&self) -> Keys {
        let zero_padding = self.zeropadding as usize;
        Keys { compat: self.compat, ordered: self.ordered, prefix: self.keyprefix.clone(), zero_padding }
    }

    /// The share of inserts among the operations.
    pub(super) fn inserts(&self) -> f64 {
        self.proportions[2] / self.proportions.iter().sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// Whether records are added or changed.
    pub(super) fn writes(&self) -> bool {
        let [_, update, insert, _, modify] = self.proportions;
        !self.dotransactions || update + insert + modify > 0.0
    }

    /// Whether records are added.
    pub(super) fn grows(&self) -> bool {
        !self.dotransactions || self.proportions[2] > 0.0
    }
}

impl Benchmark for Options {
    type Workload = Ycsb;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let preset = reader.word("workload", &presets::words(), None);
        let of = |name: &str| preset.and_then(|p| presets::value(p, name));
        let proportions = PROPORTIONS.map(|key| match preset {
            // What a named workload leaves out is 0.
            Some(preset) => reader.number_or(key, presets::proportion(preset, key)),
            None => reader.number(key),
        });
        let recordcount = records(reader, preset.is_some());
        let insertstart = reader.int("insertstart") as u64;
        let insertcount = reader.int_or("insertcount", recordcount.saturating_sub(insertstart) as i64) as u64;
        let operationcount = reader.int("operationcount") as u64;
        let minscanlength = reader.int("minscanlength") as u32;
        let maxscanlength = reader.int_or("maxscanlength", of("maxscanlength").map_or(1000, |_| 100)) as u32;
        let options = Self {
            compat: reader.word("compat", &COMPATS, Compat::Ycsb),
            dotransactions: reader.switch("dotransactions"),
            recordcount,
            operationcount: Some(operationcount).filter(|n| *n > 0),
            insertstart,
            insertcount,
            table: reader.identifier("table"),
            keyprefix: key_prefix(reader),
            fieldnameprefix: reader.identifier("fieldnameprefix"),
            fieldcount: reader.int("fieldcount") as u32,
            lengths: Lengths::read(reader),
            readallfields: reader.switch("readallfields"),
            readallfieldsbyname: reader.switch("readallfieldsbyname"),
            writeallfields: reader.switch("writeallfields"),
            dataintegrity: reader.switch("dataintegrity"),
            proportions,
            request: request(reader, of("requestdistribution")),
            law: reader.word("zipfian.law", &[("ycsb", Law::Ycsb), ("exact", Law::Exact)], Law::Ycsb),
            minscanlength,
            maxscanlength,
            zipfian_scans: reader.word("scanlengthdistribution", &[("uniform", false), ("zipfian", true)], false),
            ordered: reader.word("insertorder", &[("hashed", false), ("ordered", true)], false),
            zeropadding: reader.int("zeropadding") as u32,
            insertion_retries: reader.int("core_workload_insertion_retry_limit") as u32,
            insertion_retry_interval_s: reader.int("core_workload_insertion_retry_interval") as u32,
            force_index: reader.switch("mysql.force_index"),
            cluster_index: reader.switch("tidb.cluster_index"),
        };
        options.check(reader);
        options
    }

    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> Arc<dyn Dataset> {
        Arc::new(YcsbData::new(self.clone(), dialect, seed))
    }

    fn workload(&self, dialect: &'static dyn Dialect, seed: Seed) -> Ycsb {
        Ycsb::new(self.clone(), dialect, seed)
    }

    /// Those that bear on the run.
    fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.data_parameters();
        let mut put = |key: &str, value: &dyn ToString| put(&mut all, key, value);
        put("recordcount", &self.recordcount);
        if !self.dotransactions {
            put("core_workload_insertion_retry_limit", &self.insertion_retries);
            return all;
        }
        if let Some(count) = self.operationcount {
            put("operationcount", &count);
        }
        for (name, weight) in PROPORTIONS.iter().zip(self.proportions).filter(|(_, weight)| *weight > 0.0) {
            put(name, &weight);
        }
        put("requestdistribution", &self.request.name());
        match self.request {
            Request::Hotspot { data, share } => {
                put("hotspotdatafraction", &data);
                put("hotspotopnfraction", &share);
            }
            Request::Exponential { percentile, fraction } => {
                put("exponential.percentile", &percentile);
                put("exponential.frac", &fraction);
            }
            Request::Zipfian | Request::Latest if self.law == Law::Exact => put("zipfian.law", &"exact"),
            _ => {}
        }
        if self.proportions[3] > 0.0 {
            put("minscanlength", &self.minscanlength);
            put("maxscanlength", &self.maxscanlength);
            put("scanlengthdistribution", &if self.zipfian_scans { "zipfian" } else { "uniform" });
        }
        put("readallfields", &self.readallfields);
        put("readallfieldsbyname", &self.readallfieldsbyname);
        put("writeallfields", &self.writeallfields);
        put("mysql.force_index", &self.force_index);
        all
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other: &Self = other.options()?;
        if let Some(why) = other_data(&self.data_parameters(), &other.data_parameters()) {
            return Some(why);
        }
        (self != other && (self.grows() || other.grows())).then(|| "inserts change how many records there are".to_owned())
    }

    fn refusal(&self, _dialect: &dyn Dialect) -> Option<(String, String)> {
        None
    }

    fn size(&self) -> DataSize {
        let rows = if self.dotransactions { self.insertcount } else { 0 };
        let row = u64::from(self.fieldcount) * u64::from(self.lengths.about()) + self.keys().longest() as u64;
        DataSize { rows, bytes: rows.saturating_mul(row), grows: self.grows() }
    }

    fn counts_found_rows(&self) -> bool {
        true
    }

    fn needs_values(&self) -> bool {
        self.dataintegrity || self.grows()
    }
}

/// How many records there are. YCSB takes 2³¹ − 1 by default, which no user means.
fn records(reader: &mut Reader<'_>, named: bool) -> u64 {
    if !reader.has("recordcount") && !named {
        let help = "say how many records there are, such as recordcount = 1000000";
        reader.problem("recordcount", "`recordcount` is missing", help);
    }
    reader.int_or("recordcount", 1_000) as u64
}

fn key_prefix(reader: &mut Reader<'_>) -> String {
    let given = reader.has("keyprefix");
    let prefix = reader.text("keyprefix");
    if !given {
        return "user".to_owned();
    }
    let good = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    if !prefix.chars().all(good) {
        let message = format!("`keyprefix` is \"{prefix}\"");
        reader.problem("keyprefix", message, "use letters, digits, `_`, `-`, `.` and `:`");
    }
    prefix
}

fn request(reader: &mut Reader<'_>, preset: Option<&str>) -> Request {
    let data = reader.number("hotspotdatafraction");
    let share = reader.number("hotspotopnfraction");
    let percentile = reader.number("exponential.percentile");
    let fraction = reader.number("exponential.frac");
    let words = [
        ("uniform", Request::Uniform),
        ("sequential", Request::Sequential),
        ("zipfian", Request::Zipfian),
        ("latest", Request::Latest),
        ("hotspot", Request::Hotspot { data, share }),
        ("exponential", Request::Exponential { percentile, fraction }),
    ];
    let default = preset.and_then(|word| words.iter().find(|(w, _)| *w == word)).map_or(Request::Uniform, |(_, r)| *r);
    reader.word("requestdistribution", &words, default)
}
