//! Facts of machines in words: of this one, for a user who asks for them, and of those of a trial.

use perbuck_core::run_record::{HostRecord, MachineFacts, RunRecord};

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

/// A fact of a machine: its group, its name and its value.
pub type Fact = [String; 3];

/// A machine of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Machine {
    /// Whose it is: `the client's machine`.
    pub name: String,
    /// All that is told of it.
    pub facts: Vec<Fact>,
}

/// A fact in which two trials differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlike {
    /// Whose machine it is of.
    pub machine: String,
    /// The fact as the first trial tells it.
    pub fact: Fact,
    /// Its value in the other trial.
    pub other: String,
}

/// The machines of a trial, those that applied the load first. The log of an imported trial tells of none.
pub fn machines(record: &RunRecord) -> Vec<Machine> {
    if record.imported.is_some() {
        return Vec::new();
    }
    let client = if record.host.shared_with_server { "the machine of client and server" } else { "the client's machine" };
    let machine = |name: String, facts: Vec<Fact>| Machine { name, facts };
    let own = record.agents.is_empty().then(|| machine(client.to_owned(), of_host(&record.host)));
    let agents = record.agents.iter().map(|a| machine(a.machine(), of_host(&a.host)));
    let servers = record.server_machines().into_iter().map(|(name, m)| machine(name, grouped(m.facts.as_deref())));
    own.into_iter().chain(agents).chain(servers).filter(|machine| !machine.facts.is_empty()).collect()
}

/// The facts in which machines of two trials differ. What one of them does not tell does not differ.
pub fn differences(a: &[Machine], b: &[Machine]) -> Vec<Unlike> {
    let mut found = Vec::new();
    for machine in a {
        let Some(others) = b.iter().find(|other| other.name == machine.name) else { continue };
        let unlike = |fact: &Fact| {
            let other = others.facts.iter().find(|other| other[..2] == fact[..2] && other[2] != fact[2])?;
            Some(Unlike { machine: machine.name.clone(), fact: fact.clone(), other: other[2].clone() })
        };
        found.extend(machine.facts.iter().filter_map(unlike));
    }
    found
}

/// All facts of this machine as a table.
pub fn rows(host: &HostRecord) -> Vec<Vec<String>> {
    table(&of_host(host))
}

/// Facts as rows of [`HEADS`]; a group is named once.
pub fn table(facts: &[Fact]) -> Vec<Vec<String>> {
    let before = std::iter::once("").chain(facts.iter().map(|fact| fact[0].as_str()));
    let row = |([group, name, value], before): (&Fact, &str)| {
        vec![if group == before { String::new() } else { group.clone() }, name.clone(), value.clone()]
    };
    facts.iter().zip(before).map(row).collect()
}

/// What perbuck knows of a machine that it ran on, then what its system tells.
fn of_host(host: &HostRecord) -> Vec<Fact> {
    let own = [
        ("architecture", host.arch.clone()),
        ("emulator", host.emulator.clone().unwrap_or_else(|| "none".to_owned())),
        ("operating system", host.os.clone()),
        ("processor", host.cpu_model.clone()),
        ("processors", host.cpus.to_string()),
        ("memory", format!("{:.1} GiB", host.memory_bytes as f64 / f64::from(1u32 << 30))),
    ];
    let own = own.map(|(name, value)| ["perbuck".to_owned(), name.to_owned(), value]);
    own.into_iter().chain(grouped(host.facts.as_deref())).collect()
}

fn grouped(facts: Option<&MachineFacts>) -> Vec<Fact> {
    let groups = facts.into_iter().flat_map(MachineFacts::groups);
    groups.flat_map(|g| g.facts.into_iter().map(move |(name, value)| [g.title.to_owned(), name, value])).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use perbuck_core::run_record::{AgentRecord, MemoryFacts, ServerMachine};
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

    fn with_pages(pages: &str) -> Box<MachineFacts> {
        let memory = MemoryFacts { transparent_huge_pages: Some(pages.to_owned()), ..MemoryFacts::default() };
        Box::new(MachineFacts { memory, ..MachineFacts::default() })
    }

    #[test]
    fn the_machines_of_a_trial_are_told_apart_and_compared_fact_by_fact() {
        let host = |pages: &str| HostRecord { facts: Some(with_pages(pages)), ..HostRecord::default() };
        let server = |source: &str, pages: &str| ServerMachine {
            source: source.to_owned(),
            facts: Some(with_pages(pages)),
            ..ServerMachine::default()
        };
        let unseen = ServerMachine { source: "db3".to_owned(), ..ServerMachine::default() };
        let example = RunRecord::from_json(include_str!("../../../docs/schema/run-record.example.json")).unwrap();
        let mut a = RunRecord { host: host("always"), agents: Vec::new(), ..example };
        a.target.machines = vec![server("db1", "always"), server("db2", "always"), unseen];
        let mut b = a.clone();
        b.target.machines[1] = server("db2", "never");
        b.host.facts = None;
        let names: Vec<String> = machines(&a).into_iter().map(|m| m.name).collect();
        assert_eq!(names, ["the client's machine", "the server's machine db1", "the server's machine db2"]);
        let found = differences(&machines(&a), &machines(&b));
        let fact = ["memory", "transparent huge pages", "always"].map(str::to_owned);
        assert_eq!(found, [Unlike { machine: names[2].clone(), fact, other: "never".to_owned() }]);
        // A coordinator plays no part in what its agents measure.
        a.agents = vec![AgentRecord { name: "load-1".to_owned(), host: host("never"), ..AgentRecord::default() }];
        assert_eq!(machines(&a)[0].name, "the machine of agent load-1");
    }
}
