//! Facts of this machine, for a user who asks for them.

use perbuck_core::run_record::HostRecord;

/// Headings of [`rows`].
pub const HEADS: &str = "Of | Fact | Value";

/// This machine as a run record holds it. A cloud is asked for the instance type only where `cloud` is set, and the platform does not tell it.
pub fn this_machine(cloud: bool) -> HostRecord {
    let mut host = perbuck_observe::host();
    if let Some(facts) = host.facts.as_mut().filter(|facts| cloud && facts.platform.instance_type.is_none()) {
        facts.platform.instance_type = perbuck_observe::instance_type();
    }
    host
}

/// All facts of a machine as a table; a group is named once.
pub fn rows(host: &HostRecord) -> Vec<Vec<String>> {
    let own = [
        ("architecture", host.arch.clone()),
        ("emulator", host.emulator.clone().unwrap_or_else(|| "none".to_owned())),
        ("operating system", host.os.clone()),
        ("processor", host.cpu_model.clone()),
        ("processors", host.cpus.to_string()),
        ("memory", format!("{:.1} GiB", host.memory_bytes as f64 / f64::from(1u32 << 30))),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let groups = host.facts.iter().flat_map(|facts| facts.groups()).map(|group| (group.title, group.facts));
    let mut rows = Vec::new();
    for (title, facts) in [("perbuck", own)].into_iter().chain(groups) {
        let titles = std::iter::once(title).chain(std::iter::repeat(""));
        rows.extend(facts.into_iter().zip(titles).map(|((name, value), title)| vec![title.to_owned(), name, value]));
    }
    rows
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use perbuck_observe::Tree;
    use perbuck_report::text::{self, Screen};

    use super::*;

    #[test]
    fn every_fact_is_a_row_and_every_group_is_named_once() {
        let host = this_machine(false);
        let rows = rows(&host);
        let groups = host.facts.as_ref().map_or(0, |facts| facts.groups().len());
        assert_eq!(rows.iter().filter(|row| !row[0].is_empty()).count(), groups + 1);
        assert!(rows.iter().all(|row| row.len() == 3 && !row[1].is_empty() && !row[2].is_empty()), "{rows:?}");
        assert!(rows.len() > 12, "{rows:?}");
    }

    #[test]
    fn the_sample_of_the_page_is_what_is_printed() {
        let tree = Tree::unpacked(include_str!("../../observe/tests/data/machines/graviton4-64.txt"));
        let host = HostRecord {
            arch: "aarch64".to_owned(),
            os: "Amazon Linux 2023, Linux 6.12.53-69.119.amzn2023.aarch64".to_owned(),
            cpu_model: "Neoverse-V2".to_owned(),
            cpus: 16,
            memory_bytes: 518_823_436 * 1024,
            facts: Some(Box::new(perbuck_observe::facts(&tree))),
            ..HostRecord::default()
        };
        let printed = text::table(HEADS, &rows(&host), Screen::default());
        let page = include_str!("../../../docs/commands/facts.md");
        let sample = page.split("```").nth(1).unwrap();
        assert_eq!(sample.split_once("$ perbuck facts\n").unwrap().1, printed, "{printed}");
    }
}
