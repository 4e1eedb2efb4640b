//! Options as text, for records and for the fingerprint of the data.

use std::collections::BTreeMap;

use super::{Options, RandType};
use crate::sysbench::compat::Compat;
use crate::sysbench::script::Script;

impl Options {
    /// Every option that bears on the script, with its effective value in sysbench's notation.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.data_parameters();
        let mut put = |key: &str, value: String| all.insert(key.to_owned(), value);
        put("script", self.script.name().to_owned());
        if let Some(compat) = self.compat {
            put("compat", compat.name().to_owned());
        }
        if self.reconnect > 0 {
            put("reconnect", self.reconnect.to_string());
        }
        match self.script {
            Script::PointSelect | Script::ReadOnly | Script::ReadWrite | Script::WriteOnly => {
                put("range_size", self.range_size.to_string());
                put("point_selects", self.point_selects().to_string());
                put("simple_ranges", self.simple_ranges.to_string());
                put("sum_ranges", self.sum_ranges.to_string());
                put("order_ranges", self.order_ranges.to_string());
                put("distinct_ranges", self.distinct_ranges.to_string());
                put("index_updates", self.index_updates.to_string());
                put("non_index_updates", self.non_index_updates.to_string());
                put("delete_inserts", self.delete_inserts.to_string());
                put("range_selects", on_off(self.range_selects));
                put("skip_trx", on_off(self.skip_trx));
                put("rand_spec_pct", self.rand_spec_pct.to_string());
                put("rand_spec_res", self.rand_spec_res.to_string());
                put("rand_spec_iter", self.rand_spec_iter.to_string());
            }
            Script::UpdateIndex => {
                put("index_updates", self.index_updates.to_string());
            }
            Script::UpdateNonIndex => {
                put("non_index_updates", self.non_index_updates.to_string());
            }
            Script::RandomPoints => {
                put("random_points", self.random_points.to_string());
            }
            Script::RandomRanges => {
                put("number_of_ranges", self.number_of_ranges.to_string());
                put("delta", self.delta.to_string());
            }
            Script::Insert | Script::Delete | Script::BulkInsert => {}
        }
        all
    }

    /// The options that decide the data, so that all scripts can run on the same tables.
    pub fn data_parameters(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut put = |key: &str, value: String| all.insert(key.to_owned(), value);
        if self.script == Script::BulkInsert {
            put("columns", "id, k".to_owned());
            put("threads", self.threads.to_string());
            return all;
        }
        put("tables", self.tables.to_string());
        put("table_size", self.table_size.to_string());
        if self.rows_per_table() == 0 {
            put("rows", "0".to_owned());
        }
        put("auto_inc", on_off(self.auto_inc));
        put("secondary", on_off(self.secondary));
        put("create_secondary", on_off(self.create_secondary));
        put("mysql_storage_engine", self.mysql_storage_engine.clone());
        if !self.create_table_options.is_empty() {
            put("create_table_options", self.create_table_options.clone());
        }
        if self.redshift {
            put("pgsql_variant", "redshift".to_owned());
        }
        put("rand_type", self.rand_type.name().to_owned());
        if matches!(self.rand_type, RandType::Special | RandType::Gaussian) {
            put("rand_spec_iter", self.rand_spec_iter.to_string());
        }
        match self.rand_type {
            RandType::Uniform | RandType::Gaussian => {}
            RandType::Special => {
                put("rand_spec_pct", self.rand_spec_pct.to_string());
                put("rand_spec_res", self.rand_spec_res.to_string());
                if self.compat == Some(Compat::Sysbench10) {
                    put("compat", Compat::Sysbench10.name().to_owned());
                }
            }
            RandType::Pareto => {
                put("rand_pareto_h", self.rand_pareto_h.to_string());
            }
            RandType::Zipfian => {
                put("rand_zipfian_exp", self.rand_zipfian_exp.to_string());
            }
        }
        if self.rand_scramble && self.rand_type != RandType::Uniform {
            put("rand_scramble", on_off(true));
        }
        all
    }
}

fn on_off(value: bool) -> String {
    if value { "on" } else { "off" }.to_owned()
}
