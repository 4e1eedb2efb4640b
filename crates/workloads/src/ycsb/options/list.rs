//! Every property of the workload by name: its kind, its default and what it does.

use perbuck_core::study::Scalar;

use PropertyKind::{Number, Switch, Text, Whole};

/// What the value of a property is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropertyKind {
    /// A whole number.
    Whole,
    /// A number that may have a fraction.
    Number,
    /// `true` or `false`.
    Switch,
    /// Text.
    Text,
}

/// A property as a user sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PropertyHelp {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub kind: PropertyKind,
    /// The value where none is given.
    pub default: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
}

/// The property of that name.
pub fn property_help(name: &str) -> Option<&'static PropertyHelp> {
    PROPERTIES.iter().find(|p| p.name == name)
}

/// The value of property `name` from the text of a command line or a property file. Switches are read as go-ycsb reads them:
/// `1`, `true`, `yes` and `on` in any case. Text that is none of what is expected stays text, so that reading the options can
/// quote it. `None` where there is no such property.
pub fn property_value(name: &str, text: &str) -> Option<Scalar> {
    let as_text = || Scalar::Text(text.to_owned());
    Some(match property_help(name)?.kind {
        Whole => text.parse().map_or_else(|_| as_text(), Scalar::Int),
        Number => text.parse().ok().filter(|v: &f64| v.is_finite()).map_or_else(as_text, Scalar::Float),
        Switch => match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Scalar::Bool(true),
            "0" | "false" | "no" | "off" => Scalar::Bool(false),
            _ => as_text(),
        },
        Text => as_text(),
    })
}

const fn known(name: &'static str, kind: PropertyKind, default: &'static str, what: &'static str) -> PropertyHelp {
    PropertyHelp { name, kind, default, what }
}

/// All of them.
pub const PROPERTIES: [PropertyHelp; 39] = [
    known("workload", Text, "core", "core, or one of workloada to workloadf, whose mix the other properties may change"),
    known("dotransactions", Switch, "true", "whether the mix is run; otherwise the records are inserted (the load phase)"),
    known("recordcount", Whole, "", "how many records there are before a run"),
    known("operationcount", Whole, "0", "how many operations a run has; 0 is no limit"),
    known("insertstart", Whole, "0", "the first record of the load"),
    known("insertcount", Whole, "recordcount - insertstart", "how many records the load inserts"),
    known("table", Text, "usertable", "the table"),
    known("keyprefix", Text, "user", "what keys begin with"),
    known("fieldnameprefix", Text, "field", "what the names of fields begin with"),
    known("fieldcount", Whole, "10", "fields of a record"),
    known("fieldlength", Whole, "100", "bytes of a field, at most"),
    known("minfieldlength", Whole, "1", "bytes of a field, at least, where the length is not constant"),
    known("fieldlengthdistribution", Text, "constant", "constant, uniform, zipfian or histogram"),
    known("fieldlengthhistogram", Text, "hist.txt", "the file with the histogram (in a study the weights: \"10: 1 0 5\")"),
    known("readallfields", Switch, "true", "whether a read reads all fields, or one"),
    known("readallfieldsbyname", Switch, "false", "whether it names them all, where YCSB would write *"),
    known("writeallfields", Switch, "false", "whether an update writes all fields, or one"),
    known("dataintegrity", Switch, "false", "fields are a function of their key, and every read verifies them"),
    known("readproportion", Number, "0.95", "share of reads"),
    known("updateproportion", Number, "0.05", "share of updates"),
    known("insertproportion", Number, "0", "share of inserts"),
    known("scanproportion", Number, "0", "share of scans"),
    known("readmodifywriteproportion", Number, "0", "share of read-modify-writes"),
    known("requestdistribution", Text, "uniform", "uniform, sequential, zipfian, latest, hotspot or exponential"),
    known("zipfian.law", Text, "ycsb", "how zipfian and latest are drawn: as in YCSB, or exact (not in YCSB)"),
    known("hotspotdatafraction", Number, "0.2", "share of the records that are hot"),
    known("hotspotopnfraction", Number, "0.8", "share of the operations that go to them"),
    known("exponential.percentile", Number, "95", "percent of the operations that go to exponential.frac of the records"),
    known("exponential.frac", Number, "0.8571428571", "the share of the newest records that those go to"),
    known("minscanlength", Whole, "1", "rows of a scan, at least"),
    known("maxscanlength", Whole, "1000", "rows of a scan, at most"),
    known("scanlengthdistribution", Text, "uniform", "uniform or zipfian"),
    known("insertorder", Text, "hashed", "keys are hashes of record numbers (hashed) or the numbers (ordered)"),
    known("zeropadding", Whole, "1", "digits of a key, at least"),
    known("core_workload_insertion_retry_limit", Whole, "0", "how often an insert of the load is tried again after an error"),
    known("core_workload_insertion_retry_interval", Whole, "3", "seconds between such tries, give or take a fifth"),
    known("mysql.force_index", Switch, "true", "whether SELECTs tell MySQL to use the primary key"),
    known("tidb.cluster_index", Switch, "true", "whether TiDB is told to cluster the table by its key"),
    known("compat", Text, "go-ycsb", "whose keys, tables and integrity values: go-ycsb or ycsb (in a study ycsb)"),
];
