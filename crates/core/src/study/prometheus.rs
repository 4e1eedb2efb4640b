//! The Prometheus server that watches the machines of a contender: `prometheus` of a study.

use crate::toml_reader::{Located, Section};

/// Where the samples of the servers' machines are.
#[derive(Debug, Clone, PartialEq)]
pub struct PrometheusSpec {
    /// Its address: `http://10.0.0.9:9090`.
    pub url: Located<String>,
    /// Labels `instance` of the node_exporters of the machines, each `host:port`.
    pub instances: Vec<String>,
}

pub(super) fn read_prometheus(contender: &Section<'_>) -> Option<PrometheusSpec> {
    let s = contender.table("prometheus")?;
    let url = s.required_text("url", "\"http://10.0.0.9:9090\"");
    let instances = s.texts("instances").map(|list| list.value).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || ".:-_[]".contains(c);
    for instance in &instances {
        if instance.is_empty() || !instance.chars().all(plain) {
            s.report("instances", format!("`{instance}` is no instance"), "write host:port, as Prometheus labels it");
        }
    }
    if instances.is_empty() {
        s.report(
            "instances",
            "`prometheus` names no machine",
            "list the servers' node_exporters: `instances = [\"10.0.0.5:9100\"]`",
        );
    }
    s.finish();
    Some(PrometheusSpec { url: url?, instances })
}

#[cfg(test)]
mod tests {
    use crate::study::Study;

    fn study(keys: &str) -> Result<Study, Vec<String>> {
        let text = format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\nprometheus = {{ {keys} }}\n[[workload]]\nname = \"w\"\nkind = \"k\"\n"
        );
        Study::read("s.toml", &text, &[]).map_err(|all| all.into_iter().map(|p| p.message).collect())
    }

    #[test]
    fn machines_are_named_one_by_one() {
        let read = study("url = \"http://p:9090\", instances = [\"a:9100\", \"[::1]:9100\"]").unwrap();
        let found = read.contenders[0].prometheus.clone().unwrap();
        assert_eq!((found.url.value.as_str(), found.instances.len()), ("http://p:9090", 2));
        // It decides nothing of what is measured.
        assert_eq!(read.fingerprint(), study("url = \"http://q:9090\", instances = [\"b:9100\"]").unwrap().fingerprint());
        for (wrong, says) in [
            ("url = \"http://p\"", "names no machine"),
            ("instances = [\"a:1\"]", "url"),
            ("url = \"http://p\", instances = [\"a\\\"} or x\"]", "is no instance"),
            ("url = \"http://p\", instances = [\"a:1\"], job = 1", "unknown key `contender.prometheus.job`"),
        ] {
            let messages = study(wrong).unwrap_err();
            assert!(messages.iter().any(|m| m.contains(says)), "{wrong}: {messages:?}");
        }
    }
}
