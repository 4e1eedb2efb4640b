//! The dashboard of Grafana, made from one description: rows of panels, each with its queries in PromQL.
//!
//! The same description gives the queries that a test asks of a real Prometheus.

mod rows;

use serde_json::{Value, json};

pub use rows::ROWS;

/// A group of panels whose metrics come from one exporter.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its heading.
    pub title: &'static str,
    /// What exports its metrics.
    pub source: Source,
    /// From left to right, two beside each other.
    pub panels: &'static [Panel],
}

/// What exports metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `perbuck run --metrics` and `perbuck serve`.
    Perbuck,
    /// node_exporter, on the client and on the servers.
    Node,
    /// mysqld_exporter, beside MySQL or MariaDB.
    Mysqld,
    /// The status ports of TiDB and TiKV.
    TiDb,
}

/// A diagram over time.
#[derive(Debug, Clone, Copy)]
pub struct Panel {
    /// What it shows.
    pub title: &'static str,
    /// Its unit as Grafana names it, such as `s`.
    pub unit: &'static str,
    /// What its lines are.
    pub queries: &'static [Query],
}

/// A query in PromQL.
#[derive(Debug, Clone, Copy)]
pub struct Query {
    /// The expression, with variables of Grafana (`$study`, `$contender`, `$__rate_interval`).
    pub expr: &'static str,
    /// The name of a line, with its labels in double braces.
    pub legend: &'static str,
    /// Which servers have an answer.
    pub stored: Stored,
}

/// The form of histograms that a query needs its Prometheus to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// It asks for no histogram of perbuck.
    Either,
    /// With `--enable-feature=native-histograms`.
    Native,
    /// Without.
    Classic,
}

impl Query {
    /// The expression as a server takes it: for all studies and contenders, with rates over `window`, such as `15s`.
    pub fn of_all(&self, window: &str) -> String {
        self.expr.replace("$__rate_interval", window).replace("$study", ".*").replace("$contender", ".*")
    }
}

/// Panels that stand beside each other, and their size on Grafana's grid of 24 columns.
const ABREAST: usize = 2;
const WIDTH: usize = 24 / ABREAST;
const HEIGHT: usize = 8;

/// The version of the model that Grafana 11 writes; newer versions migrate it.
const SCHEMA: u32 = 39;

/// The dashboard as JSON for Grafana's *Import dashboard*.
pub fn json() -> Value {
    let (mut panels, mut y, mut id) = (Vec::new(), 0, 0);
    let mut next = || {
        id += 1;
        id
    };
    for row in &ROWS {
        let heading = json!({ "x": 0, "y": y, "w": 24, "h": 1 });
        panels.push(
            json!({ "type": "row", "id": next(), "title": row.title, "collapsed": false, "gridPos": heading, "panels": [] }),
        );
        y += 1;
        for (i, panel) in row.panels.iter().enumerate() {
            let at = json!({ "x": i % ABREAST * WIDTH, "y": y + i / ABREAST * HEIGHT, "w": WIDTH, "h": HEIGHT });
            panels.push(of_panel(panel, next(), &at));
        }
        y += row.panels.len().div_ceil(ABREAST) * HEIGHT;
    }
    json!({
        "title": "perbuck",
        "uid": "perbuck",
        "tags": ["perbuck", "database", "benchmark"],
        "description": "Running trials of perbuck beside the machines and databases that they load.",
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "timezone": "browser",
        "refresh": "5s",
        "time": { "from": "now-15m", "to": "now" },
        "annotations": { "list": [] },
        "links": [],
        "templating": { "list": variables() },
        "panels": panels,
    })
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

fn variables() -> [Value; 3] {
    let chosen = |name: &str, label: &str, query: &str| {
        json!({
            "type": "query", "name": name, "label": label, "datasource": source(), "definition": query,
            "query": { "query": query, "refId": name }, "refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*",
            "current": { "selected": true, "text": ["All"], "value": ["$__all"] },
        })
    };
    [
        json!({ "type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus", "refresh": 1 }),
        chosen("study", "Study", "label_values(perbuck_study_trials_planned, study)"),
        chosen("contender", "Contender", "label_values(perbuck_transactions_total{study=~\"$study\"}, contender)"),
    ]
}

fn of_panel(panel: &Panel, id: u32, at: &Value) -> Value {
    let target = |(i, query): (usize, &Query)| {
        let name = char::from(b'A' + u8::try_from(i % 26).unwrap_or_default()).to_string();
        json!({
            "refId": name, "expr": query.expr, "legendFormat": query.legend, "datasource": source(), "editorMode": "code", "range": true,
        })
    };
    json!({
        "type": "timeseries",
        "id": id,
        "title": panel.title,
        "datasource": source(),
        "gridPos": at,
        "fieldConfig": { "defaults": { "unit": panel.unit, "min": 0, "custom": { "lineWidth": 1, "fillOpacity": 8 } }, "overrides": [] },
        "options": {
            "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true },
            "tooltip": { "mode": "multi", "sort": "desc" },
        },
        "targets": panel.queries.iter().enumerate().map(target).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_panel_has_its_own_number_and_covers_no_other() {
        let whole = json();
        let panels = whole["panels"].as_array().unwrap();
        let ids: BTreeSet<u64> = panels.iter().map(|p| p["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), panels.len());
        let (mut covered, mut area) = (BTreeSet::new(), 0);
        for at in panels.iter().map(|p| &p["gridPos"]) {
            let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| at[side].as_u64().unwrap());
            assert!(x + w <= 24, "{at}");
            area += w * h;
            covered.extend((x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))));
        }
        assert_eq!(covered.len() as u64, area, "panels overlap");
        assert_eq!(panels.len(), ROWS.len() + ROWS.iter().map(|r| r.panels.len()).sum::<usize>());
    }

    #[test]
    fn queries_use_no_variable_that_is_not_declared() {
        let queries = ROWS.iter().flat_map(|r| r.panels).flat_map(|p| p.queries);
        for query in queries {
            let plain = query.of_all("15s");
            assert!(!plain.contains('$'), "{plain}");
            assert_eq!(query.expr.contains("perbuck_transaction_latency_seconds"), query.stored != Stored::Either, "{plain}");
        }
    }
}
