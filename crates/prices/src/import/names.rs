//! What the name of a machine type says by its provider's rule of naming: its family, its architecture, what a vCPU is.

/// A provider whose names follow a known rule, or another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Provider {
    Aws,
    Azure,
    Gcp,
    Other(String),
}

impl Provider {
    /// By its name in a snapshot.
    pub(crate) fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "aws" => Self::Aws,
            "azure" => Self::Azure,
            "gcp" => Self::Gcp,
            other => Self::Other(other.to_owned()),
        }
    }

    /// By the name of one of its machine types; `None` where no rule fits.
    pub(crate) fn of_type(name: &str) -> Option<Self> {
        if name.starts_with("Standard_") || name.starts_with("Basic_") {
            return Some(Self::Azure);
        }
        let sized = |size: &str| {
            size.ends_with("large") || ["nano", "micro", "small", "medium"].contains(&size) || size.starts_with("metal")
        };
        if name.split_once('.').is_some_and(|(_, size)| sized(size)) {
            return Some(Self::Aws);
        }
        let gcp = ["-standard-", "-highmem-", "-highcpu-", "-highgpu-", "-megamem-", "-ultramem-"];
        gcp.iter().any(|word| name.contains(word)).then_some(Self::Gcp)
    }

    /// Its name in a snapshot.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
            Self::Other(name) => name,
        }
    }

    /// What it calls the unit of capacity of its volumes.
    pub(crate) fn capacity_unit(&self) -> &'static str {
        match self {
            Self::Azure | Self::Gcp => "GiB",
            Self::Aws | Self::Other(_) => "GB",
        }
    }

    /// The types that differ from this one in size only: `c6g`, `Standard_D*ps_v5`, `n2-standard`.
    pub(crate) fn family(&self, name: &str) -> String {
        match self {
            // A machine of RDS has its engine in front: `mysql.db.m6g.large`.
            Self::Aws => name.rsplit_once('.').map_or(name, |(family, _)| family).to_owned(),
            Self::Azure => {
                let (prefix, size) = name.split_once('_').unwrap_or(("", name));
                let digits = |c: char| c.is_ascii_digit();
                let Some(start) = size.find(digits) else { return name.to_owned() };
                let rest = size[start..].trim_start_matches(digits);
                format!("{prefix}_{}*{rest}", &size[..start])
            }
            Self::Gcp | Self::Other(_) => {
                let size = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
                let kept: Vec<&str> = name.split('-').filter(|part| !size(part)).collect();
                if kept.is_empty() { name.to_owned() } else { kept.join("-") }
            }
        }
    }

    /// The architecture; `None` where the provider has no known rule.
    pub(crate) fn arch(&self, name: &str) -> Option<&'static str> {
        let arm = match self {
            Self::Aws => {
                let family = self.family(name);
                let family = family.rsplit('.').next().unwrap_or_default();
                family.starts_with("a1")
                    || family.starts_with("mac2")
                    || family.starts_with("mac-m")
                    || additions(family).contains('g')
            }
            Self::Azure => additions(name.split_once('_').map_or(name, |(_, size)| size)).contains('p'),
            // Ampere Altra, Axion, and the Grace processors beside GB200.
            Self::Gcp => ["t2a-", "c4a-", "n4a-", "a4x-"].iter().any(|family| name.starts_with(family)),
            Self::Other(_) => return None,
        };
        Some(if arm { "aarch64" } else { "x86_64" })
    }

    /// Virtual CPUs on a physical core, for families of which it is generally known; `None` for others.
    pub(crate) fn vcpu_per_core(&self, name: &str) -> Option<u32> {
        let family = self.family(name);
        let family = family.rsplit_once(".db.").map_or(family.as_str(), |(_, family)| family);
        let is = |all: &[&str]| all.contains(&family);
        let starts = |all: &[&str]| all.iter().any(|f| family.starts_with(&format!("{f}-")));
        match self {
            _ if self.arch(name) == Some("aarch64") => Some(1),
            Self::Aws if is(&["c7a", "m7a", "r7a", "c8a", "m8a", "r8a"]) => Some(1),
            Self::Aws if is(&["t3", "t3a"]) => Some(2),
            Self::Aws => {
                let threads = ["5", "5a", "5d", "5n", "5b", "6i", "6a", "6id", "6in", "7i", "7i-flex", "8i", "8i-flex"];
                let known = |rest: &str| threads.contains(&rest);
                family.strip_prefix(['c', 'm', 'r']).is_some_and(known).then_some(2)
            }
            Self::Gcp if starts(&["t2d"]) => Some(1),
            Self::Gcp => starts(&["n1", "n2", "n2d", "n4", "n4d", "c2", "c2d", "c3", "c3d", "c4", "c4d"]).then_some(2),
            Self::Azure => {
                let known = ["s_v5", "ds_v5", "as_v5", "ads_v5", "s_v6", "ds_v6", "as_v6", "ads_v6"];
                let rest = family.strip_prefix("Standard_D*").or(family.strip_prefix("Standard_E*"));
                rest.is_some_and(|rest| known.contains(&rest)).then_some(2)
            }
            Self::Other(_) => None,
        }
    }

    /// Whether the family is built around accelerators, so that its price does not follow vCPU and memory.
    pub(crate) fn accelerated(&self, name: &str) -> bool {
        match self {
            Self::Aws => {
                let letters: String = name.chars().take_while(char::is_ascii_lowercase).collect();
                ["p", "g", "gr", "inf", "trn", "dl", "vt", "f"].contains(&letters.as_str())
            }
            Self::Azure => name.starts_with("Standard_N"),
            Self::Gcp => ["a2-", "a3-", "a4-", "a4x-", "g2-", "g4-", "ct"].iter().any(|family| name.starts_with(family)),
            Self::Other(_) => false,
        }
    }
}

/// The letters after the first number of a name: `gd` of `c6gd`, `ps_v5` of `D8ps_v5`.
fn additions(name: &str) -> &str {
    let digits = |c: char| c.is_ascii_digit();
    let rest = name.find(digits).map_or("", |at| name[at..].trim_start_matches(digits));
    rest.split('_').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_machine_follows_the_rules_of_its_names() {
        for bundled in crate::catalogue() {
            let snapshot = crate::Snapshot::read(bundled.name, bundled.text).unwrap();
            let provider = Provider::named(&snapshot.provider);
            for machine in snapshot.regions.iter().flat_map(|r| &r.instances).map(|i| &i.machine) {
                let name = machine.name.as_str();
                assert_eq!(Provider::of_type(name), Some(provider.clone()), "{name}");
                assert_eq!(provider.family(name), machine.family, "{name}");
                assert_eq!(provider.arch(name), Some(machine.arch.as_str()), "{name}");
                assert_eq!(provider.vcpu_per_core(name), machine.vcpu_per_core, "{name}");
                assert!(!provider.accelerated(name), "{name}");
            }
        }
    }

    #[test]
    fn other_names_are_told_apart() {
        let aws = |name: &str| (Provider::Aws.arch(name).unwrap(), Provider::Aws.accelerated(name));
        assert_eq!(aws("g5g.xlarge"), ("aarch64", true));
        assert_eq!(aws("g4dn.xlarge"), ("x86_64", true));
        assert_eq!(aws("is4gen.large"), ("aarch64", false));
        assert_eq!(aws("m7i-flex.large"), ("x86_64", false));
        assert_eq!(Provider::Azure.family("Standard_E8-4s_v5"), "Standard_E*-4s_v5");
        assert_eq!(Provider::Azure.arch("Standard_D2pls_v5"), Some("aarch64"));
        assert_eq!(Provider::Gcp.family("c3-standard-8-lssd"), "c3-standard-lssd");
        assert_eq!(Provider::of_type("bx2-2x8"), None);
        assert_eq!(Provider::Other("x".into()).arch("bx2-2x8"), None);
    }
}
