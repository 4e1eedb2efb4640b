//! Options as text, for records and for the fingerprint of the data.

use std::collections::BTreeMap;

use super::{Options, Request};
use crate::ycsb::draw::{Law, Lengths};

impl Options {
    /// Every property that bears on the run, with its effective value.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.data_parameters();
        let mut put = |key: &str, value: String| all.insert(key.to_owned(), value);
        put("recordcount", self.recordcount.to_string());
        if !self.dotransactions {
            put("core_workload_insertion_retry_limit", self.insertion_retries.to_string());
            return all;
        }
        if let Some(count) = self.operationcount {
            put("operationcount", count.to_string());
        }
        let names = ["read", "update", "insert", "scan", "readmodifywrite"];
        for (name, weight) in names.iter().zip(self.proportions).filter(|(_, weight)| *weight > 0.0) {
            put(&format!("{name}proportion"), weight.to_string());
        }
        put("requestdistribution", self.request.name().to_owned());
        match self.request {
            Request::Hotspot { data, share } => {
                put("hotspotdatafraction", data.to_string());
                put("hotspotopnfraction", share.to_string());
            }
            Request::Exponential { percentile, fraction } => {
                put("exponential.percentile", percentile.to_string());
                put("exponential.frac", fraction.to_string());
            }
            Request::Zipfian | Request::Latest if self.law == Law::Exact => {
                put("zipfian.law", "exact".to_owned());
            }
            _ => {}
        }
        if self.proportions[3] > 0.0 {
            put("minscanlength", self.minscanlength.to_string());
            put("maxscanlength", self.maxscanlength.to_string());
            put("scanlengthdistribution", if self.zipfian_scans { "zipfian" } else { "uniform" }.to_owned());
        }
        put("readallfields", self.readallfields.to_string());
        put("readallfieldsbyname", self.readallfieldsbyname.to_string());
        put("writeallfields", self.writeallfields.to_string());
        put("mysql.force_index", self.force_index.to_string());
        all
    }

    /// The properties that decide the data, so that all mixes can run on the same table.
    pub fn data_parameters(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut put = |key: &str, value: String| all.insert(key.to_owned(), value);
        put("compat", self.compat.name().to_owned());
        put("table", self.table.clone());
        put("dotransactions", self.dotransactions.to_string());
        put("insertstart", self.insertstart.to_string());
        put("insertcount", self.insertcount.to_string());
        put("insertorder", if self.ordered { "ordered" } else { "hashed" }.to_owned());
        put("zeropadding", self.zeropadding.to_string());
        put("keyprefix", self.keyprefix.clone());
        put("fieldnameprefix", self.fieldnameprefix.clone());
        put("fieldcount", self.fieldcount.to_string());
        put("dataintegrity", self.dataintegrity.to_string());
        put("tidb.cluster_index", self.cluster_index.to_string());
        put("fieldlength", self.lengths.longest().to_string());
        match &self.lengths {
            Lengths::Constant(_) => {
                put("fieldlengthdistribution", "constant".to_owned());
            }
            Lengths::Uniform(low, _) => {
                put("fieldlengthdistribution", "uniform".to_owned());
                put("minfieldlength", low.to_string());
            }
            Lengths::Zipfian(low, _) => {
                put("fieldlengthdistribution", "zipfian".to_owned());
                put("minfieldlength", low.to_string());
            }
            Lengths::Histogram { block, weights } => {
                put("fieldlengthdistribution", "histogram".to_owned());
                let weights: Vec<String> = weights.iter().map(u64::to_string).collect();
                put("fieldlengthhistogram", format!("{block}: {}", weights.join(" ")));
            }
        }
        all
    }
}
