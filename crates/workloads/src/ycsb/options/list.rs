//! Every property of the workload by name: its kind, its default and what it does.

use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::Decides::{self, Choice, Data, Run};
use perbuck_core::workload_kind::Parameter;
use perbuck_core::workload_kind::ParameterKind::{self, Number, Switch, Text, Whole};

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

const fn known(
    name: &'static str,
    kind: ParameterKind,
    default: &'static str,
    decides: Decides,
    help: &'static str,
) -> Parameter {
    Parameter::new(name, kind, default, decides, help)
}

/// All of them.
pub static PROPERTIES: [Parameter; 39] = [
    known("workload", Text, "core", Choice, "core, or one of workloada to workloadf, whose mix the other properties may change"),
    known("dotransactions", Switch, "true", Data, "whether the mix is run; otherwise the records are inserted (the load phase)"),
    known("recordcount", Whole(1, MAX_RECORDS), "", Data, "how many records there are before a run"),
    known("operationcount", Whole(0, i64::MAX), "0", Run, "how many operations a run has; 0 is no limit"),
    known("insertstart", Whole(0, MAX_RECORDS), "0", Data, "the first record of the load"),
    known("insertcount", Whole(0, MAX_RECORDS), "recordcount - insertstart", Data, "how many records the load inserts"),
    known("table", Text, "usertable", Data, "the table"),
    known("keyprefix", Text, "user", Data, "what keys begin with"),
    known("fieldnameprefix", Text, "field", Data, "what the names of fields begin with"),
    known("fieldcount", Whole(1, MAX_FIELDS), "10", Data, "fields of a record"),
    known("fieldlength", Whole(0, MAX_FIELD_LENGTH), "100", Data, "bytes of a field, at most"),
    known(
        "minfieldlength",
        Whole(0, MAX_FIELD_LENGTH),
        "1",
        Data,
        "bytes of a field, at least, where the length is not constant",
    ),
    known("fieldlengthdistribution", Text, "constant", Data, "constant, uniform, zipfian or histogram"),
    known("fieldlengthhistogram", Text, "hist.txt", Data, "the file with the histogram (in a study the weights: \"10: 1 0 5\")"),
    known("readallfields", Switch, "true", Run, "whether a read reads all fields, or one"),
    known("readallfieldsbyname", Switch, "false", Run, "whether it names them all, where YCSB would write *"),
    known("writeallfields", Switch, "false", Run, "whether an update writes all fields, or one"),
    known("dataintegrity", Switch, "false", Data, "fields are a function of their key, and every read verifies them"),
    known("readproportion", Number(0.0, 1e9), "0.95", Run, "share of reads"),
    known("updateproportion", Number(0.0, 1e9), "0.05", Run, "share of updates"),
    known("insertproportion", Number(0.0, 1e9), "0", Run, "share of inserts"),
    known("scanproportion", Number(0.0, 1e9), "0", Run, "share of scans"),
    known("readmodifywriteproportion", Number(0.0, 1e9), "0", Run, "share of read-modify-writes"),
    known("requestdistribution", Text, "uniform", Run, "uniform, sequential, zipfian, latest, hotspot or exponential"),
    known("zipfian.law", Text, "ycsb", Run, "how zipfian and latest are drawn: as in YCSB, or exact (not in YCSB)"),
    known("hotspotdatafraction", Number(0.0, 1.0), "0.2", Run, "share of the records that are hot"),
    known("hotspotopnfraction", Number(0.0, 1.0), "0.8", Run, "share of the operations that go to them"),
    known(
        "exponential.percentile",
        Number(0.001, 99.999),
        "95",
        Run,
        "percent of the operations that go to exponential.frac of the records",
    ),
    known("exponential.frac", Number(1e-9, 1e9), "0.8571428571", Run, "the share of the newest records that those go to"),
    known("minscanlength", Whole(1, MAX_SCAN), "1", Run, "rows of a scan, at least"),
    known("maxscanlength", Whole(1, MAX_SCAN), "1000", Run, "rows of a scan, at most"),
    known("scanlengthdistribution", Text, "uniform", Run, "uniform or zipfian"),
    known("insertorder", Text, "hashed", Data, "keys are hashes of record numbers (hashed) or the numbers (ordered)"),
    known("zeropadding", Whole(1, 255), "1", Data, "digits of a key, at least"),
    known(
        "core_workload_insertion_retry_limit",
        Whole(0, 1_000_000),
        "0",
        Run,
        "how often an insert of the load is tried again after an error",
    ),
    known(
        "core_workload_insertion_retry_interval",
        Whole(0, 86_400),
        "3",
        Run,
        "seconds between such tries, give or take a fifth",
    ),
    known("mysql.force_index", Switch, "true", Run, "whether SELECTs tell MySQL to use the primary key"),
    known("tidb.cluster_index", Switch, "true", Data, "whether TiDB is told to cluster the table by its key"),
    known("compat", Text, "go-ycsb", Data, "whose keys, tables and integrity values: go-ycsb or ycsb (in a study ycsb)"),
];
