//! Images of components, and which architectures they have.

use super::component::{Component, Kind};

/// Images that a study may name beside those of components: perbuck's own program, and the operator.
pub const HELPERS: [&str; 2] = ["agent", "operator"];

/// From here TiDB's images are for both architectures under one name; before, those for Arm had names of their own (TiDB Operator's
/// documentation of Arm64, read 2026-08).
const TIDB_BOTH: (u32, u32, u32) = (5, 4, 2);
/// From here TiDB's project published images for Arm; the study of 2021 ran 4.0.10 on images of its own.
const TIDB_ARM: (u32, u32, u32) = (5, 0, 0);
/// From here the official image of MySQL is for both architectures.
const MYSQL_BOTH: (u32, u32, u32) = (8, 0, 29);

/// The image of a component in a version for an architecture; what the study declares goes first.
///
/// # Errors
/// In words, that no public one is known.
pub fn image(kind: Kind, component: Component, version: &str, arch: &str, declared: Option<&str>) -> Result<String, String> {
    if let Some(declared) = declared {
        return Ok(declared.to_owned());
    }
    let number = number(version);
    let role = component.role();
    match (kind, component) {
        // For both architectures, as is what the operator runs beside it.
        (Kind::Tidb, Component::Monitor) => Ok("prom/prometheus:v2.49.1".to_owned()),
        (Kind::Tidb, _) if arch != "aarch64" || number >= TIDB_BOTH => Ok(format!("pingcap/{role}:{version}")),
        (Kind::Tidb, _) if number >= TIDB_ARM => Ok(format!("pingcap/{role}-arm64:{version}")),
        (Kind::Tidb, _) => Err(format!("{role} {version} has no public image for Arm")),
        (Kind::Mysql, _) if arch == "aarch64" && number < MYSQL_BOTH => {
            Err(format!("mysql {version} has no public image for Arm"))
        }
        (Kind::Mysql, _) => Ok(format!("mysql:{version}")),
        (Kind::Postgres, _) => Ok(format!("postgres:{version}")),
    }
}

/// A version as numbers; what is not given counts as the newest of it (`8.4` is some 8.4.x).
fn number(version: &str) -> (u32, u32, u32) {
    let mut parts = version.trim_start_matches('v').split(['.', '-']).map(|part| part.parse().ok());
    let mut next = || parts.next().flatten().unwrap_or(u32::MAX);
    (next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_without_an_image_is_refused() {
        let tidb = |version, arch| image(Kind::Tidb, Component::Tikv, version, arch, None);
        assert_eq!(tidb("v8.5.3", "aarch64").unwrap(), "pingcap/tikv:v8.5.3");
        assert_eq!(tidb("v5.3.0", "aarch64").unwrap(), "pingcap/tikv-arm64:v5.3.0");
        assert_eq!(tidb("v4.0.10", "x86_64").unwrap(), "pingcap/tikv:v4.0.10");
        assert!(tidb("v4.0.10", "aarch64").unwrap_err().contains("no public image for Arm"));
        assert_eq!(image(Kind::Tidb, Component::Tikv, "v4.0.10", "aarch64", Some("own/tikv:1")).unwrap(), "own/tikv:1");
        assert_eq!(image(Kind::Mysql, Component::Mysql, "8.4", "aarch64", None).unwrap(), "mysql:8.4");
        assert!(image(Kind::Mysql, Component::Mysql, "5.7", "aarch64", None).is_err());
    }
}
