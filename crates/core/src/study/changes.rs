//! What two versions of a study measure differently, by the keys that a user knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::fingerprint;
use crate::study::{Contender, DeploySpec, Stands, Study, Sweep, WorkloadSpec};
use crate::units::duration_text;
use crate::workload_kind::{FILE_TEXT, Parameters, WorkloadKind};

impl Study {
    /// The keys that decide what is measured and differ from those of an `older` version, as `sweep.duration: 10s → 20s`, in the order
    /// of their names. Studies of the same fingerprint have none.
    pub fn changes_since(&self, older: &Self) -> Vec<String> {
        let (old, new) = (older.measured_keys(), self.measured_keys());
        // Of a contender or a workload that is in one of them only, the list of names says it.
        let both = |key: &&String| {
            let group = key.split_once('.').map_or(key.as_str(), |(group, _)| group);
            let has =
                |keys: &BTreeMap<String, String>| keys.keys().any(|k| k.split_once('.').map_or(k.as_str(), |(g, _)| g) == group);
            has(&old) && has(&new)
        };
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let value = |of: &BTreeMap<String, String>, key: &String| of.get(key).map_or_else(|| "none".to_owned(), Clone::clone);
        let differs = |key: &&String| old.get(*key) != new.get(*key);
        keys.into_iter().filter(both).filter(differs).map(|k| format!("{k}: {} → {}", value(&old, k), value(&new, k))).collect()
    }

    /// What [`Self::fingerprint`] covers, by key.
    fn measured_keys(&self) -> BTreeMap<String, String> {
        let contenders: Vec<&Contender> = self.contenders.iter().filter(|c| c.control_of.is_none()).collect();
        let names = |all: Vec<&str>| all.join(", ");
        let s = &self.sweep;
        let mut keys = BTreeMap::from([
            ("contenders".to_owned(), names(contenders.iter().map(|c| c.name.as_str()).collect())),
            ("workloads".to_owned(), names(self.workloads.iter().map(|w| w.name.as_str()).collect())),
            ("seed".to_owned(), self.seed.0.to_string()),
            ("sweep.warmup".to_owned(), duration_text(s.warmup_ns)),
            ("sweep.duration".to_owned(), duration_text(s.duration_ns)),
            ("sweep.cooldown".to_owned(), duration_text(s.cooldown_ns)),
            ("sweep.max_attempts".to_owned(), s.max_attempts.to_string()),
        ]);
        let mut put = |key: &str, value: Option<String>| keys.extend(value.map(|value| (key.to_owned(), value)));
        put("client.stands", Some(if self.client.stands == Stands::Beside { "beside" } else { "apart" }.to_owned()));
        put("sweep.contenders", s.one_by_one.then(|| "one-by-one".to_owned()));
        put("sweep.workers", s.workers.map(|n| n.to_string()));
        put("sweep.events", s.events.map(|n| n.to_string()));
        put("sweep.phases", (!s.phases.is_empty()).then(|| format!("{:?}", s.phases)));
        put("sweep.rate", s.is_open().then(|| format!("{:?} arrivals", s.arrivals).to_lowercase()));
        for level in self.factors.iter().flat_map(|factor| &factor.levels) {
            put(&format!("level {}", level.name), Some(level.identity()));
        }
        contenders.into_iter().for_each(|c| of_contender(c, &mut put));
        self.workloads.iter().for_each(|w| of_workload((w, s), &mut put));
        keys
    }
}

fn of_contender(contender: &Contender, put: &mut dyn FnMut(&str, Option<String>)) {
    let mut own = |key: &str, value: Option<String>| put(&format!("contender {}.{key}", contender.name), value);
    own("target", contender.fixed_target().map(str::to_owned));
    if let Some(deploy) = &contender.deploy {
        of_deploy(deploy, &mut own);
    }
    own("tiflash_replicas", contender.tiflash_replicas.as_ref().map(|n| n.value.to_string()));
    for choice in &contender.transactions {
        own(&format!("transactions.{}", choice.value.key()), Some(choice.value.value()));
    }
    for (name, value) in &contender.server_settings {
        own(&format!("server_settings.{name}"), Some(value.value.clone()));
    }
    if let Some(tuning) = &contender.tuning {
        own("tuning.packets", tuning.spread_packets.then(|| "spread".to_owned()));
        own("tuning.rfs", tuning.steer_flows.then(|| "true".to_owned()));
        own("tuning.xps", tuning.divide_senders.then(|| "true".to_owned()));
        for (path, value) in &tuning.settings {
            own(&format!("tuning.{path}"), Some(value.clone()));
        }
    }
    let Some(server) = &contender.server else { return };
    own("server.kind", Some(server.kind.value.clone()));
    for (key, value) in [("version", &server.version), ("program", &server.program), ("folder", &server.folder)] {
        own(&format!("server.{key}"), value.as_ref().map(|v| v.value.clone()));
    }
    own("server.config_file", server.config_file.as_ref().map(|file| fingerprint(&file.text)));
    for (name, value) in &server.config {
        own(&format!("server.config.{name}"), Some(value.value.to_string()));
    }
}

fn of_deploy(deploy: &DeploySpec, own: &mut dyn FnMut(&str, Option<String>)) {
    let zones: Vec<&str> = deploy.zones.iter().map(|zone| zone.value.as_str()).collect();
    own("deploy.provider", Some(deploy.provider.word().to_owned()));
    own("deploy.kind", Some(deploy.kind.value.clone()));
    own("deploy.version", Some(deploy.version.value.clone()));
    own("deploy.zones", (!zones.is_empty()).then(|| zones.join(", ")));
    for (component, by) in &deploy.images {
        for (arch, image) in by {
            let key = if arch.is_empty() { component.clone() } else { format!("{component}.{arch}") };
            own(&format!("deploy.image.{key}"), Some(image.value.clone()));
        }
    }
    let config =
        deploy.config.iter().flat_map(|(of, settings)| settings.iter().map(move |(key, v)| (format!("config.{of}.{key}"), v)));
    for (key, found) in config.chain(deploy.storage.iter().map(|(key, v)| (format!("storage.{key}"), v))) {
        own(&format!("deploy.{key}"), Some(found.value.to_string()));
    }
}

fn of_workload((workload, whole): (&WorkloadSpec, &Sweep), put: &mut dyn FnMut(&str, Option<String>)) {
    let mut own = |key: &str, value: Option<String>| put(&format!("workload {}.{key}", workload.name), value);
    own("kind", Some(workload.kind.value.clone()));
    own("database", workload.database.clone());
    own("reset", workload.reset.map(|reset| reset.word().to_owned()));
    let lists: Vec<&str> = workload.known.into_iter().flat_map(WorkloadKind::lists).collect();
    for list in &lists {
        tables(list, &workload.parameters, &mut own);
    }
    let within = |name: &str| lists.iter().any(|list| name.strip_prefix(list).is_some_and(|rest| rest.starts_with('.')));
    for (name, value) in workload.parameters.iter().filter(|(name, _)| !within(name)) {
        let shown = value.value.to_string();
        // Of a file the reader wants to know that it is another one.
        own(name, Some(if name.starts_with(FILE_TEXT) { format!("a file with hash {}", fingerprint(&shown)) } else { shown }));
    }
    own("prewarm", workload.sweep.as_ref().unwrap_or(whole).prewarm.map(|what| what.word().to_owned()));
    own("caches", workload.sweep.as_ref().unwrap_or(whole).cold.then(|| "cold".to_owned()));
    let Some(sweep) = &workload.sweep else { return };
    own("warmup", (sweep.warmup_ns != whole.warmup_ns).then(|| duration_text(sweep.warmup_ns)));
    own("duration", (sweep.duration_ns != whole.duration_ns).then(|| duration_text(sweep.duration_ns)));
}

/// The tables of a list, each by its name with a hash of everything within it: a column more would move the positions of all others.
fn tables(list: &str, parameters: &Parameters, own: &mut dyn FnMut(&str, Option<String>)) {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for (path, found) in parameters {
        if let Some((at, rest)) = path.strip_prefix(list).and_then(|rest| rest.strip_prefix('.')?.split_once('.')) {
            texts.entry(at).or_default().push_str(&format!("{rest} {:?} ", found.value));
        }
    }
    for (at, text) in texts {
        let of = |key: &str| parameters.get(&format!("{list}.{at}.{key}")).map(|found| found.value.to_string());
        let rows = of("rows").unwrap_or_default();
        own(
            &format!("{list} {}", of("name").unwrap_or_else(|| at.to_owned())),
            Some(format!("{rows} rows with hash {}", fingerprint(&text))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = "schema = 1\nname = \"s\"\nseed = 1\n\
        [[contender]]\nname = \"arm\"\ntarget = \"sqlite:a.db\"\n\
        [[contender]]\nname = \"x86\"\nserver = { kind = \"mariadb\", config = { sync_binlog = 1 } }\n\
        [[workload]]\nname = \"w\"\nkind = \"k\"\nrows = 10\n\
        [sweep]\nconnections = [1]\nduration = \"10s\"\n";

    fn read(text: &str) -> Study {
        Study::read("s.toml", text, &[]).unwrap()
    }

    #[test]
    fn every_change_of_what_is_measured_is_named_with_both_values() {
        let old = read(STUDY);
        assert_eq!(old.changes_since(&old), Vec::<String>::new());
        for (from, to, named) in [
            ("seed = 1", "seed = 2", "seed: 1 → 2"),
            ("\"10s\"", "\"20s\"", "sweep.duration: 10 s → 20 s"),
            ("duration = \"10s\"", "duration = \"10s\"\ncooldown = \"5s\"", "sweep.cooldown: 0 ns → 5 s"),
            ("duration = \"10s\"", "duration = \"10s\"\nworkers = 2", "sweep.workers: none → 2"),
            ("duration = \"10s\"", "duration = \"10s\"\ncontenders = \"one-by-one\"", "sweep.contenders: none → one-by-one"),
            ("duration = \"10s\"", "duration = \"10s\"\nprewarm = \"tables\"", "workload w.prewarm: none → tables"),
            ("kind = \"k\"", "kind = \"k\"\nprewarm = \"indexes\"", "workload w.prewarm: none → indexes"),
            ("duration = \"10s\"", "duration = \"10s\"\ncaches = \"cold\"", "workload w.caches: none → cold"),
            ("duration = \"10s\"", "duration = \"10s\"\nrate = [5]", "sweep.rate: none → poisson arrivals"),
            ("sqlite:a.db", "sqlite:b.db", "contender arm.target: sqlite:a.db → sqlite:b.db"),
            (
                "target = \"sqlite:a.db\"",
                "target = \"sqlite:a.db\"\ntransactions.mode = \"optimistic\"",
                "contender arm.transactions.mode: none → optimistic",
            ),
            ("sync_binlog = 1", "sync_binlog = 0", "contender x86.server.config.sync_binlog: 1 → 0"),
            ("rows = 10", "rows = 20", "workload w.rows: 10 → 20"),
            ("kind = \"k\"", "kind = \"k\"\nreset = \"per-trial\"", "workload w.reset: none → per-trial"),
            ("name = \"arm\"", "name = \"arm64\"", "contenders: arm, x86 → arm64, x86"),
        ] {
            assert!(STUDY.contains(from), "{from}");
            let new = read(&STUDY.replace(from, to));
            assert_ne!(new.fingerprint(), old.fingerprint(), "{to}");
            assert_eq!(new.changes_since(&old), [named], "{to}");
        }
        let more = read(&STUDY.replace("connections = [1]", "connections = [1, 2]\ntrials = 9\nprofile = \"both\""));
        assert_eq!((more.fingerprint(), more.changes_since(&old)), (old.fingerprint(), Vec::new()));
    }
}
