//! Every property of the workload by name: its kind, its default and what it does.

use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::Decides::{Data, Run};
use perbuck_core::workload_kind::Parameter as P;
use perbuck_core::workload_kind::ParameterKind::{Number, Switch, Text, Whole};

use crate::params::value_of;

use super::{MAX_FIELD_LENGTH, MAX_FIELDS, MAX_RECORDS, MAX_SCAN};

/// The value of property `name` from the text of a command line or a property file. Switches are read as go-ycsb reads them:
/// `1`, `true`, `yes` and `on` in any case. Text that is none of what is expected stays text, so that reading the options can
/// quote it. `None` where there is no such property.
pub fn property_value(name: &str, text: &str) -> Option<Scalar> {
    value_of(
        &PROPERTIES,
        (name, text),
        |text| text.parse().ok(),
        |text| match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        },
    )
}

/// All of them.
pub static PROPERTIES: [P; 39] = [
    P::new("workload", Text, "core", Run, "core, or one of workloada to workloadf, whose mix the other properties may change"),
    P::new("dotransactions", Switch, "true", Data, "whether the mix is run; otherwise the records are inserted (the load phase)"),
    P::new("recordcount", Whole(1, MAX_RECORDS), "", Data, "how many records there are before a run"),
    P::new("operationcount", Whole(0, i64::MAX), "0", Run, "how many operations a run has; 0 is no limit"),
    P::new("insertstart", Whole(0, MAX_RECORDS), "0", Data, "the first record of the load"),
    P::new("insertcount", Whole(0, MAX_RECORDS), "recordcount - insertstart", Data, "how many records the load inserts"),
    P::new("table", Text, "usertable", Data, "the table"),
    P::new("keyprefix", Text, "user", Data, "what keys begin with"),
    P::new("fieldnameprefix", Text, "field", Data, "what the names of fields begin with"),
    P::new("fieldcount", Whole(1, MAX_FIELDS), "10", Data, "fields of a record"),
    P::new("fieldlength", Whole(0, MAX_FIELD_LENGTH), "100", Data, "bytes of a field, at most"),
    P::new(
        "minfieldlength",
        Whole(0, MAX_FIELD_LENGTH),
        "1",
        Data,
        "bytes of a field, at least, where the length is not constant",
    ),
    P::new("fieldlengthdistribution", Text, "constant", Data, "constant, uniform, zipfian or histogram"),
    P::new("fieldlengthhistogram", Text, "hist.txt", Data, "the file with the histogram (in a study the weights: \"10: 1 0 5\")"),
    P::new("readallfields", Switch, "true", Run, "whether a read reads all fields, or one"),
    P::new("readallfieldsbyname", Switch, "false", Run, "whether it names them all, where YCSB would write *"),
    P::new("writeallfields", Switch, "false", Run, "whether an update writes all fields, or one"),
    P::new("dataintegrity", Switch, "false", Data, "fields are a function of their key, and every read verifies them"),
    P::new("readproportion", Number(0.0, 1e9), "0.95", Run, "share of reads"),
    P::new("updateproportion", Number(0.0, 1e9), "0.05", Run, "share of updates"),
    P::new("insertproportion", Number(0.0, 1e9), "0", Run, "share of inserts"),
    P::new("scanproportion", Number(0.0, 1e9), "0", Run, "share of scans"),
    P::new("readmodifywriteproportion", Number(0.0, 1e9), "0", Run, "share of read-modify-writes"),
    P::new("requestdistribution", Text, "uniform", Run, "uniform, sequential, zipfian, latest, hotspot or exponential"),
    P::new("zipfian.law", Text, "ycsb", Run, "how zipfian and latest are drawn: as in YCSB, or exact (not in YCSB)"),
    P::new("hotspotdatafraction", Number(0.0, 1.0), "0.2", Run, "share of the records that are hot"),
    P::new("hotspotopnfraction", Number(0.0, 1.0), "0.8", Run, "share of the operations that go to them"),
    P::new(
        "exponential.percentile",
        Number(0.001, 99.999),
        "95",
        Run,
        "percent of the operations that go to exponential.frac of the records",
    ),
    P::new("exponential.frac", Number(1e-9, 1e9), "0.8571428571", Run, "the share of the newest records that those go to"),
    P::new("minscanlength", Whole(1, MAX_SCAN), "1", Run, "rows of a scan, at least"),
    P::new("maxscanlength", Whole(1, MAX_SCAN), "1000", Run, "rows of a scan, at most"),
    P::new("scanlengthdistribution", Text, "uniform", Run, "uniform or zipfian"),
    P::new("insertorder", Text, "hashed", Data, "keys are hashes of record numbers (hashed) or the numbers (ordered)"),
    P::new("zeropadding", Whole(1, 255), "1", Data, "digits of a key, at least"),
    P::new(
        "core_workload_insertion_retry_limit",
        Whole(0, 1_000_000),
        "0",
        Run,
        "how often an insert of the load is retried after an error",
    ),
    P::new("core_workload_insertion_retry_interval", Whole(0, 86_400), "3", Run, "seconds between these retries, ± 20 %"),
    P::new("mysql.force_index", Switch, "true", Run, "whether SELECTs tell MySQL to use the primary key"),
    P::new("tidb.cluster_index", Switch, "true", Data, "whether TiDB is told to cluster the table by its key"),
    P::new("compat", Text, "go-ycsb", Data, "whose keys, tables and integrity values: go-ycsb or ycsb (in a study ycsb)"),
];
