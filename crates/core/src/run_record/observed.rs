//! What a source told of the machine that a server ran on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts of a server's machine by one source. A fact that the source does not tell is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// Who told it: `SELECT version()`, `the client's machine`.
    pub source: String,
    /// The part of a cluster that runs on it, as `node` calls it: `tikv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How many machines have that part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<u32>,
    /// How many copies of the data a cluster keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<u32>,
    /// `x86_64` or `aarch64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// Processors of the machine, whatever a container or an affinity leaves of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vcpus: Option<u32>,
    /// Memory that its system sees, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Size of the file system that holds the data, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_bytes: Option<u64>,
}

impl Observed {
    /// The architecture by a word of a server; `None` of a word that names neither.
    pub fn of_arch(source: &str, word: &str) -> Option<Self> {
        arch(word).map(|arch| Self { source: source.to_owned(), arch: Some(arch.to_owned()), ..Self::default() })
    }

    /// The architecture by the triple in a version string: `PostgreSQL 17.5 on x86_64-pc-linux-gnu, compiled by …`.
    pub fn of_version(source: &str, version: &str) -> Option<Self> {
        version.split([' ', '(', ',']).find_map(|word| Self::of_arch(source, word.split_once('-')?.0))
    }

    /// In words: `x86_64, 2 vCPU, 7.6 GiB`, `tikv on x86_64, 2 vCPU`, `3 machines of tikv`, `3 copies of the data`.
    pub fn text(&self) -> String {
        if let Some(copies) = self.copies {
            return format!("{copies} {} of the data", if copies == 1 { "copy" } else { "copies" });
        }
        if let Some(bytes) = self.volume_bytes {
            return format!("a volume of {:.0} GB", bytes as f64 / 1e9);
        }
        let machine = machine_text(self.arch.as_deref(), self.vcpus, self.memory_bytes);
        match (&self.role, self.machines) {
            (Some(role), Some(1)) => format!("1 machine of {role}"),
            (Some(role), Some(count)) => format!("{count} machines of {role}"),
            (Some(role), None) => format!("{role} on {machine}"),
            (None, _) => machine,
        }
    }
}

/// What perbuck calls an architecture; `None` of a word for another one.
pub fn arch(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "x86_64" | "x86-64" | "amd64" | "x64" => Some("x86_64"),
        "aarch64" | "arm64" | "arm" => Some("aarch64"),
        _ => None,
    }
}

/// A machine in words.
pub(crate) fn machine_text(arch: Option<&str>, vcpus: Option<u32>, memory_bytes: Option<u64>) -> String {
    let vcpus = vcpus.map(|n| format!("{n} vCPU"));
    let memory = memory_bytes.map(|bytes| {
        let gib = format!("{:.1}", bytes as f64 / f64::from(1u32 << 30));
        format!("{} GiB", gib.strip_suffix(".0").unwrap_or(&gib))
    });
    arch.map(str::to_owned).into_iter().chain(vcpus).chain(memory).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_is_read_from_what_servers_say() {
        for (version, expected) in [
            ("PostgreSQL 15.3 (Debian 15.3-1.pgdg120+1) on x86_64-pc-linux-gnu, compiled by gcc, 64-bit", Some("x86_64")),
            ("PostgreSQL 16.1 on aarch64-unknown-linux-gnu, compiled by gcc, 64-bit", Some("aarch64")),
            ("CockroachDB CCL v23.1.11 (aarch64-unknown-linux-gnu, built 2023/09/27)", Some("aarch64")),
            // Redshift says this on any machine.
            ("PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.1", None),
            ("10.11.6-MariaDB", None),
        ] {
            let found = Observed::of_version("SELECT version()", version).and_then(|o| o.arch);
            assert_eq!(found.as_deref(), expected, "{version}");
        }
        assert_eq!(Observed::of_arch("s", "AMD64").map(|o| o.text()).as_deref(), Some("x86_64"));
        assert_eq!(Observed::of_arch("s", "riscv64"), None);
        assert_eq!(machine_text(Some("aarch64"), Some(4), Some(16 << 30)), "aarch64, 4 vCPU, 16 GiB");
    }
}
