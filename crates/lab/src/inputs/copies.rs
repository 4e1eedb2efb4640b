//! Whether data can be restored from copies, as far as the study alone tells.

use perbuck_core::study::{Contender, Reset, Scalar, Study, WorkloadSpec, base_of};
use perbuck_database::dialect::{Feature, NO_COPIES};
use perbuck_database::storage::Storage;
use perbuck_deploy::kubernetes::Kind as Deployed;
use perbuck_deploy::local::Kind;

use super::check::{Check, deployed_target};

impl Check<'_> {
    /// Workloads whose data would be restored from copies that cannot be saved.
    pub(super) fn copies(&mut self, study: &Study) {
        let restores = |w: &&WorkloadSpec| w.reset == Some(Reset::Restore);
        let Some(spec) = study.workloads.iter().find(restores) else { return };
        let is_split = |w: &&WorkloadSpec| w.parameters.get("partitions").is_some_and(|n| n.value != Scalar::Int(1));
        let (name, split) = (base_of(&spec.name), study.workloads.iter().filter(restores).find(is_split));
        for contender in &study.contenders {
            let who = format!("workload `{name}`, contender `{}`", contender.name);
            let private = contender.server.as_ref().and_then(|spec| Some((spec, Kind::named(&spec.kind.value)?)));
            if let Some((server, kind)) = private {
                let other = study.workloads.iter().find(|w| w.writes() && !restores(w));
                if !kind.keeps_data(&server.parts()) {
                    let message = format!("{who}: this server loses its data when it is stopped, and cannot restore them");
                    self.problem(spec.line, message, "write `reset = \"per-block\"`, or give it stores of its own");
                } else if let Some(other) = other {
                    let other_name = base_of(&other.name);
                    let message = format!("{who}: a copy holds the whole server, and `{other_name}` writes to it, too");
                    self.problem(other.line, message, format!("write `reset = \"restore\"` in `{other_name}` as well"));
                }
                continue;
            }
            let written = contender.target.as_ref().map(|target| target.value.clone()).or_else(|| deployed_target(contender));
            let target = written.and_then(|target| self.registry.target(&target).ok());
            let lacks = |feature| match &target {
                Some(target) if contender.backup.is_some() && target.dialect().backs_up() => None,
                // Files of tables are copied where perbuck runs, and that is not in the cluster.
                Some(target) if contender.target.is_none() && target.dialect().backs_up() => Some(NO_COPIES),
                Some(target) => target.lacks(feature),
                None => Some(NO_COPIES),
            };
            if let Some(lack) = lacks(Feature::Copies).filter(|_| contender.is_driven()) {
                self.problem(spec.line, format!("{who}: {}", lack.why), lack.help);
            } else if let Some((spec, lack)) = split.zip(lacks(Feature::CopiesOfPartitions)).filter(|_| contender.is_driven()) {
                let message = format!("contender `{}`: {}, and `partitions` is given", contender.name, lack.why);
                self.problem(spec.line, message, "leave `partitions` out, or write `reset = \"per-block\"`");
            }
        }
    }

    /// The storage of a contender for backups.
    pub(super) fn backup(&mut self, contender: &Contender) {
        // A control repeats its contender, whose problems are told once.
        let Some(backup) = contender.backup.as_ref().filter(|_| contender.control_of.is_none()) else { return };
        let who = format!("contender `{}`", contender.name);
        // What is wrong with the target itself is said elsewhere.
        let target = contender.target.as_ref().map(|target| self.registry.target(&target.value));
        let of_target = target.map(|target| target.is_ok_and(|target| !target.dialect().backs_up()));
        let deployed = contender.deploy.as_ref().and_then(|deploy| Deployed::named(&deploy.kind.value));
        let never = of_target.unwrap_or_else(|| deployed.is_some_and(|kind| !kind.backs_up()));
        if contender.server.is_some() {
            let message = format!("{who}: perbuck copies the data of a private server itself, without `backup`");
            self.problem(backup.line, message, "remove it");
        } else if !contender.is_driven() {
            self.problem(
                backup.line,
                format!("{who}: without a target there is no server for `backup`"),
                "add a target, or remove it",
            );
        } else if never {
            self.problem(
                backup.line,
                format!("{who}: its servers save no backups themselves, so `backup` has no use"),
                "remove it",
            );
        }
        // Keys of the environment belong to a run: a study is read for its report, too.
        if let Err(p) = Storage::parse(&backup.value, "") {
            self.problem(backup.line, format!("{who}: {}", p.message), p.help);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::inputs::check;
    use crate::registry::Registry;

    #[test]
    fn who_restores_from_what_is_known_from_the_study() {
        let told = |contender: &str| {
            let text = format!(
                "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n{contender}\n[[workload]]\nname = \"v\"\nkind = \"tpcc\"\n\
                 reset = \"restore\"\n"
            );
            let problems = check("s.toml", text, None, Registry::default()).err().unwrap_or_default();
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let deployed = |kind: &str| {
            format!("deploy = {{ provider = \"kubernetes\", kind = \"{kind}\", version = \"v8.5.3\", kubernetes = \"1.37\" }}\n")
        };
        let (tidb, backup) = ("target = \"tidb://root@h/x\"\n".to_owned(), "backup = \"s3://b/f\"");
        let with_backup = |lines: &str| format!("{lines}{backup}");
        for (contender, says) in [
            (tidb.clone(), "give a contender with TiDB a storage"),
            (with_backup(&tidb), ""),
            (with_backup("target = \"mysql://root@h/x\"\n"), ""),
            (format!("{tidb}backup = \"s3://b/f?access-key=hunter2\""), "contender `a`: `backup` holds a key"),
            (with_backup("target = \"sqlite:a.db\"\n"), "contender `a`: its servers save no backups themselves"),
            (
                with_backup("server = { kind = \"mariadb\" }\n"),
                "contender `a`: perbuck copies the data of a private server itself",
            ),
            (backup.to_owned(), "contender `a`: without a target there is no server for `backup`"),
            (deployed("postgres"), ""),
            (deployed("mysql"), "perbuck restores the data of servers that it starts itself"),
            (deployed("tidb"), "give a contender with TiDB a storage"),
            (with_backup(&deployed("tidb")), ""),
            (with_backup(&deployed("mysql")), "contender `a`: its servers save no backups themselves"),
        ] {
            let told = told(&contender);
            assert!(if says.is_empty() { told.is_empty() } else { told.contains(says) }, "{contender}: {told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}
