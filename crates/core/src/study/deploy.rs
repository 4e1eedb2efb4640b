//! `deploy` of a contender: the cluster that perbuck makes for it. Machines, counts and volumes are those of `node`, which also makes the bill.

use std::collections::BTreeMap;

use super::read::word;
use super::{Located, Scalar};
use crate::run_record::arch;
use crate::toml_reader::Section;

/// Who makes the Kubernetes cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// Amazon EKS, by eksctl.
    Eks,
    /// Google Kubernetes Engine, by gcloud.
    Gke,
    /// The user: the cluster exists.
    Kubernetes,
}

impl Provider {
    /// All of them, with their words in a study.
    pub const WORDS: [(&'static str, Self); 3] = [("eks", Self::Eks), ("gke", Self::Gke), ("kubernetes", Self::Kubernetes)];

    /// Its word in a study.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, of)| *of == self).map_or("", |(word, _)| word)
    }
}

/// The role of the machines that the load comes from.
pub const CLIENT: &str = "client";
/// The role of the machines for everything that is no part under test: DNS, volume driver, operator.
pub const ADMIN: &str = "admin";

/// What is deployed for a contender.
#[derive(Debug, Clone)]
pub struct DeploySpec {
    /// Who makes the cluster.
    pub provider: Provider,
    /// tidb, mysql, postgres.
    pub kind: Located<String>,
    /// Version of the database, as its images are tagged.
    pub version: Located<String>,
    /// Version of Kubernetes, `1.33`; where the cluster exists, what its version must begin with.
    pub kubernetes: Option<Located<String>>,
    /// Version of the database's operator, as it is tagged.
    pub operator: Option<Located<String>>,
    /// The zones to use, the first of them unless a `node` says `zones` or `zone`.
    pub zones: Vec<Located<String>>,
    /// The context in the user's kubeconfig, of a cluster that exists; the current one where not given.
    pub context: Option<Located<String>>,
    /// A file with the operator's CustomResourceDefinitions; those of the operator's release where not given.
    pub crds: Option<Located<String>>,
    /// Images by component, and by architecture (`aarch64`, `x86_64`) or for all of them (an empty text).
    pub images: BTreeMap<String, BTreeMap<String, Located<String>>>,
    /// Settings by component, in its own words; those in tables by their paths.
    pub config: BTreeMap<String, BTreeMap<String, Located<Scalar>>>,
    /// Parameters of the storage class, beside those that `node.volume` gives.
    pub storage: BTreeMap<String, Located<Scalar>>,
    /// Line in the study.
    pub line: usize,
}

impl DeploySpec {
    /// What of it decides what is measured: where a cluster comes from does, its name and kubeconfig do not.
    pub(crate) fn identity(&self) -> String {
        let values = |of: &BTreeMap<String, Located<Scalar>>| -> Vec<String> {
            of.iter().map(|(key, found)| format!("{key}={:?}", found.value)).collect()
        };
        let config: Vec<_> = self.config.iter().map(|(component, of)| (component, values(of))).collect();
        let images: Vec<_> = self.images.iter().flat_map(|(of, by)| by.iter().map(move |(a, i)| (of, a, &i.value))).collect();
        let zones: Vec<&str> = self.zones.iter().map(|zone| zone.value.as_str()).collect();
        let (kind, version, storage) = (&self.kind.value, &self.version.value, values(&self.storage));
        format!("{} {kind:?} {version:?} {zones:?} {images:?} {config:?} {storage:?}", self.provider.word())
    }
}

/// The table `deploy` of a contender.
pub(super) fn read_deploy(contender: &Section<'_>) -> Option<Option<DeploySpec>> {
    let Some(s) = contender.table("deploy") else { return Some(None) };
    let provider = s.required_text("provider", "\"eks\"").and_then(|_| word(&s, "provider", &Provider::WORDS));
    let (kind, version) = (s.required_text("kind", "\"tidb\""), s.required_text("version", "\"v8.5.3\""));
    let (kubernetes, operator, context, crds) = (s.text("kubernetes"), s.text("operator"), s.text("context"), s.text("crds"));
    let listed = s.texts("zones");
    let zones = listed.into_iter().flat_map(|z| z.value.into_iter().map(move |value| Located { value, line: z.line })).collect();
    let images = s.table("image").map(|s| read_images(&s)).unwrap_or_default();
    let paths = s.table("config").map(|s| s.remaining_paths()).unwrap_or_default();
    let mut config: BTreeMap<String, BTreeMap<String, Located<Scalar>>> = BTreeMap::new();
    for (path, found) in paths {
        let Some((component, key)) = path.split_once('.') else {
            s.report("config", format!("`deploy.config.{path}` names no component"), "write `config.tikv.log-level = \"warn\"`");
            continue;
        };
        config.entry(component.to_owned()).or_default().insert(key.to_owned(), found);
    }
    let storage = s.table("storage").map(|s| s.remaining_scalars()).unwrap_or_default();
    s.finish();
    let line = s.line();
    let (provider, kind, version) = (provider?, kind?, version?);
    let found = DeploySpec { provider, kind, version, kubernetes, operator, zones, context, crds, images, config, storage, line };
    Some(Some(found))
}

/// Images by component: one for all architectures, or one for each.
fn read_images(s: &Section<'_>) -> BTreeMap<String, BTreeMap<String, Located<String>>> {
    let mut images: BTreeMap<String, BTreeMap<String, Located<String>>> = BTreeMap::new();
    for (path, found) in s.remaining_paths() {
        let Scalar::Text(image) = found.value else {
            s.report(&path, format!("`deploy.image.{path}` is no text"), "write an image, such as `\"pingcap/tikv:v8.5.3\"`");
            continue;
        };
        let (component, of) = path.split_once('.').map_or((path.as_str(), ""), |(component, of)| (component, of));
        let named = if of.is_empty() { Some("") } else { arch(of) };
        let Some(named) = named else {
            let help = "write `aarch64` or `x86_64`, or one image for both";
            s.report(component, format!("`deploy.image.{component}` has the architecture `{of}`"), help);
            continue;
        };
        let image = Located { value: image, line: found.line };
        images.entry(component.to_owned()).or_default().insert(named.to_owned(), image);
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Study;

    fn study(deploy: &str) -> Result<Study, Vec<crate::problem::Problem>> {
        let text = format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n{deploy}\n\
             [[workload]]\nname = \"w\"\nkind = \"k\"\n[sweep]\nconnections = [1]\n"
        );
        Study::read("s.toml", &text, &[])
    }

    const WHOLE: &str = "deploy = { provider = \"eks\", kind = \"tidb\", version = \"v8.5.3\", zones = [\"us-east-1a\"], \
        image = { tidb = \"own/tidb:1\", tikv = { arm64 = \"own/tikv-arm64:1\" } }, \
        config = { tikv = { storage.block-cache.capacity = \"4GiB\" } }, storage = { fsType = \"ext4\" } }";

    #[test]
    fn images_and_settings_go_by_component() {
        let found = study(WHOLE).unwrap();
        let deploy = found.contenders[0].deploy.as_ref().unwrap();
        assert_eq!(
            (deploy.provider, deploy.kind.value.as_str(), deploy.zones[0].value.as_str()),
            (Provider::Eks, "tidb", "us-east-1a")
        );
        assert_eq!(deploy.images["tidb"][""].value, "own/tidb:1");
        assert_eq!(deploy.images["tikv"]["aarch64"].value, "own/tikv-arm64:1");
        assert_eq!(deploy.config["tikv"]["storage.block-cache.capacity"].value.to_string(), "4GiB");
        assert_eq!(deploy.storage["fsType"].value.to_string(), "ext4");
        for (from, to, key) in [
            ("v8.5.3", "v8.5.4", "contender a.deploy.version: v8.5.3 → v8.5.4"),
            ("4GiB", "5GiB", "contender a.deploy.config.tikv.storage.block-cache.capacity: 4GiB → 5GiB"),
            ("own/tidb:1", "own/tidb:2", "contender a.deploy.image.tidb: own/tidb:1 → own/tidb:2"),
            ("us-east-1a", "us-east-1b", "contender a.deploy.zones: us-east-1a → us-east-1b"),
        ] {
            let other = study(&WHOLE.replace(from, to)).unwrap();
            assert_ne!(other.fingerprint(), found.fingerprint(), "{to}");
            assert_eq!(other.changes_since(&found), [key]);
        }
    }

    #[test]
    fn wrong_words_are_named() {
        for (from, to, said) in [
            ("\"eks\"", "\"ecs\"", "`provider` is \"ecs\""),
            ("arm64 =", "riscv =", "has the architecture `riscv`"),
            ("config = { tikv = { storage.block-cache.capacity = \"4GiB\" } }", "config = { level = 1 }", "names no component"),
            ("version", "versoin", "versoin"),
            ("\"own/tidb:1\"", "1", "is no text"),
        ] {
            let problems = study(&WHOLE.replace(from, to)).unwrap_err();
            let text: String = problems.iter().map(ToString::to_string).collect();
            assert!(text.contains(said), "{to}: {text}");
        }
        let both = format!("target = \"mysql://h/d\"\n{WHOLE}");
        let text: String = study(&both).unwrap_err().iter().map(ToString::to_string).collect();
        assert!(text.contains("`deploy`") && text.contains("`target`"), "{text}");
    }
}
