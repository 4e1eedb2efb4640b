//! Where a server's program comes from, as far as the server and its file tell.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a server, or the file of its program, tells of its build. A fact that neither tells is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The commit that it was built from, as the server says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The compiler, as the server says; where it does not, as the section `.comment` of its program does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// The build id in the ELF notes of its program, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// How often instructions of a class occur in the code of its program, by the name of the class. Libraries are not looked at.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub instructions: BTreeMap<String, u64>,
}

impl Build {
    /// Whether a fact that both tell is another one; what only one of them tells contradicts nothing.
    pub fn contradicts(&self, other: &Self) -> bool {
        let differ = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
        let counted = !self.instructions.is_empty() && !other.instructions.is_empty();
        differ(&self.commit, &other.commit)
            || differ(&self.compiler, &other.compiler)
            || differ(&self.build_id, &other.build_id)
            || (counted && self.instructions != other.instructions)
    }

    /// The same, or `None` where nothing is known.
    pub fn known(self) -> Option<Self> {
        Some(self).filter(|build| *build != Self::default())
    }

    /// What the server says, with what its program says beside it.
    #[must_use]
    pub fn or(self, program: Self) -> Self {
        Self {
            commit: self.commit.or(program.commit),
            compiler: self.compiler.or(program.compiler),
            build_id: self.build_id.or(program.build_id),
            instructions: if self.instructions.is_empty() { program.instructions } else { self.instructions },
        }
    }

    /// What is known of it, by name.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let one = |(name, count): (&String, &u64)| if *count == 0 { format!("no {name}") } else { format!("{count} × {name}") };
        let instructions = self.instructions.iter().map(one).collect::<Vec<_>>().join(", ");
        let all = [
            ("commit", self.commit.clone()),
            ("compiler", self.compiler.clone()),
            ("build id of its program", self.build_id.clone()),
            ("instructions in its program", Some(instructions).filter(|text| !text.is_empty())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
