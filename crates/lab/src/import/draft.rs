//! A study for logs that have none: contenders and workloads by the logs, machines and prices by the caller.

use std::path::Path;

use perbuck_import::Run;

use super::LogFile;
use crate::error::LabError;
use crate::store;

/// What a new study says beside its logs.
#[derive(Debug, Clone, Default)]
pub struct NewStudy {
    /// Contender and instance type; several machines of one contender are several entries.
    pub machines: Vec<(String, String)>,
    /// Name of a price snapshot and the region to price in.
    pub prices: Option<(String, String)>,
}

impl NewStudy {
    /// The text of the study.
    pub(super) fn text(&self, path: &Path, runs: &[(&LogFile, &Run)]) -> Result<String, LabError> {
        if path.exists() {
            let message = format!("{} is there already", path.display());
            return Err(LabError::refused(message, "leave out --new to import into that study, or name another file"));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut text = format!(
            "# Written by perbuck import --new. Add volumes and other costs to the contenders.\nschema = 1\nname = {}\nimported = true\n",
            quoted(&stem)
        );
        if let Some((snapshot, region)) = &self.prices {
            text += &format!("\n[price]\nsnapshot = {}\nregions = [{}]\n", quoted(snapshot), quoted(region));
        }
        for name in distinct(runs.iter().map(|(log, _)| log.contender.as_str())) {
            text += &format!("\n[[contender]]\nname = {}\n", quoted(name));
            for (_, instance) in self.machines.iter().filter(|(of, _)| of == name) {
                text += &format!("[[contender.node]]\nrole = \"database\"\ninstance = {}\n", quoted(instance));
            }
        }
        let contenders = distinct(runs.iter().map(|(log, _)| log.contender.as_str()));
        if let Some((name, _)) = self.machines.iter().find(|(name, _)| !contenders.contains(&name.as_str())) {
            let message = format!("--machine names `{name}`, and no log is of that contender");
            return Err(LabError::usage(message, format!("its contenders are: {}", contenders.join(", "))));
        }
        let workloads = runs.iter().map(|(log, run)| (log.workload.as_deref().unwrap_or(run.kind), run.kind));
        for (name, kind) in distinct(workloads) {
            text += &format!("\n[[workload]]\nname = {}\nkind = {}\n", quoted(name), quoted(kind));
        }
        Ok(text)
    }

    /// Writes it.
    pub(super) fn write(&self, path: &Path, text: &str) -> Result<(), LabError> {
        store::replace(path, text)
    }
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

/// A text of TOML; what JSON escapes, TOML reads.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drafted_study_is_one_that_perbuck_reads() {
        let log = |contender: &str, workload: Option<&str>| LogFile {
            contender: contender.to_owned(),
            workload: workload.map(str::to_owned),
            path: "l".into(),
        };
        let (arm, x86) = (log("arm", None), log("x86", Some("orders")));
        let run = |kind| Run { kind, ..Run::default() };
        let runs = [(&arm, &run("sysbench")), (&x86, &run("tpcc")), (&x86, &run("tpcc"))];
        let new = NewStudy {
            machines: vec![("arm".into(), "c6g.2xlarge".into())],
            prices: Some(("aws-2021-03".into(), "us-west-2".into())),
        };
        let text = new.text(Path::new("some/where/old-logs.toml"), &runs).unwrap();
        let inputs = crate::inputs::read_drafted(Path::new("old-logs.toml"), text, None).unwrap();
        let names: Vec<&str> = inputs.study.workloads.iter().map(|w| w.name.as_str()).collect();
        assert_eq!((inputs.study.name.as_str(), names), ("old-logs", vec!["sysbench", "orders"]));
        assert!(inputs.study.imported && inputs.bills.len() == 2, "{:?}", inputs.bills);
        let stranger = NewStudy { machines: vec![("sparc".into(), "x".into())], ..NewStudy::default() };
        assert!(stranger.text(Path::new("n.toml"), &runs).unwrap_err().to_string().contains("`sparc`"));
    }
}
