//! What is not the same for two machines.

use std::collections::BTreeMap;

use super::MachineFacts;

impl MachineFacts {
    /// The names of the facts that both machines tell and that differ: `memory: transparent huge pages`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (own, others) = (self.by_name(), other.by_name());
        own.iter().filter(|(name, value)| others.get(*name).is_some_and(|v| v != *value)).map(|(name, _)| name.clone()).collect()
    }

    /// Each fact in words, by the name of its group and its own.
    fn by_name(&self) -> BTreeMap<String, String> {
        let named = |title: &str, (name, value): (String, String)| (format!("{title}: {name}"), value);
        self.groups().into_iter().flat_map(|g| g.facts.into_iter().map(move |fact| named(g.title, fact))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CpuFacts, MemoryFacts};
    use super::*;

    #[test]
    fn what_one_does_not_tell_does_not_differ() {
        let with = |pages: Option<&str>, governor: Option<&str>| MachineFacts {
            memory: MemoryFacts { transparent_huge_pages: pages.map(str::to_owned), ..MemoryFacts::default() },
            cpu: CpuFacts { governor: governor.map(str::to_owned), ..CpuFacts::default() },
            ..MachineFacts::default()
        };
        let one = with(Some("always"), Some("performance"));
        assert_eq!(one.differences(&one), Vec::<String>::new());
        assert_eq!(one.differences(&with(None, None)), Vec::<String>::new());
        assert_eq!(one.differences(&with(Some("never"), None)), ["memory: transparent huge pages"]);
        let all = ["memory: transparent huge pages", "processor: governor"];
        assert_eq!(one.differences(&with(Some("never"), Some("powersave"))), all);
    }
}
