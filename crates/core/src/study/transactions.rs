//! How the transactions of a contender work: `transactions` of a study.

use crate::toml_reader::{Located, Section};
use crate::units::duration_text;

use super::read::word;

/// One choice about the transactions of a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionChoice {
    /// Whether rows are locked as statements write them; else a conflict is found at the commit.
    Pessimistic(bool),
    /// The isolation level, as a study writes it.
    Isolation(&'static str),
    /// Whether a commit is done once all of its rows are prepared.
    AsyncCommit(bool),
    /// Whether a commit of one region takes one round.
    OnePhaseCommit(bool),
    /// Which copies of the data are read, as a study writes it.
    Reads(&'static str),
    /// Reads see the data as they were so many seconds ago.
    StalenessS(u32),
}

const ISOLATION_LEVELS: [&str; 4] = ["read-uncommitted", "read-committed", "repeatable-read", "serializable"];
/// Copies of the data that reads can go to.
const READS: [&str; 4] = ["leader", "follower", "leader-and-follower", "closest-replicas"];
/// The oldest data that can be asked for: perbuck pauses for as long before each trial.
const STALENESS_MAX_S: u64 = 3_600;

impl TransactionChoice {
    /// Its key in `transactions`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Pessimistic(_) => "mode",
            Self::Isolation(_) => "isolation",
            Self::AsyncCommit(_) => "async_commit",
            Self::OnePhaseCommit(_) => "one_phase_commit",
            Self::Reads(_) => "reads",
            Self::StalenessS(_) => "staleness",
        }
    }

    /// Its value, as a study writes it.
    pub fn value(self) -> String {
        match self {
            Self::Pessimistic(on) => if on { "pessimistic" } else { "optimistic" }.to_owned(),
            Self::Isolation(word) | Self::Reads(word) => word.to_owned(),
            Self::AsyncCommit(on) | Self::OnePhaseCommit(on) => on.to_string(),
            Self::StalenessS(seconds) => duration_text(u64::from(seconds) * 1_000_000_000),
        }
    }
}

pub(super) fn read_transactions(contender: &Section<'_>) -> Vec<Located<TransactionChoice>> {
    let Some(s) = contender.table("transactions") else { return Vec::new() };
    let line = |key: &str| s.line_of(key);
    let mut found = Vec::new();
    let mut put =
        |choice: Option<TransactionChoice>| found.extend(choice.map(|value| Located { value, line: line(value.key()) }));
    put(word(&s, "mode", &[("pessimistic", true), ("optimistic", false)]).map(TransactionChoice::Pessimistic));
    put(word(&s, "isolation", &ISOLATION_LEVELS.map(|level| (level, level))).map(TransactionChoice::Isolation));
    put(s.boolean("async_commit").map(|on| TransactionChoice::AsyncCommit(on.value)));
    put(s.boolean("one_phase_commit").map(|on| TransactionChoice::OnePhaseCommit(on.value)));
    put(word(&s, "reads", &READS.map(|copies| (copies, copies))).map(TransactionChoice::Reads));
    if let Some(staleness) = s.duration_ns("staleness") {
        let (seconds, rest) = (staleness.value / 1_000_000_000, staleness.value % 1_000_000_000);
        if rest > 0 || !(1..=STALENESS_MAX_S).contains(&seconds) {
            let message = format!("`staleness` is {}, not whole seconds from 1 s to an hour", duration_text(staleness.value));
            s.report("staleness", message, "write for instance `staleness = \"5s\"`");
        } else {
            put(u32::try_from(seconds).ok().map(TransactionChoice::StalenessS));
        }
    }
    s.finish();
    found
}

#[cfg(test)]
mod tests {
    use crate::study::Study;

    fn read(transactions: &str) -> Result<Vec<String>, Vec<String>> {
        let text = format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\ntransactions = {{ {transactions} }}\n\
             [[workload]]\nname = \"w\"\nkind = \"k\"\n"
        );
        let study = Study::read("s.toml", &text, &[]).map_err(|all| all.into_iter().map(|p| p.message).collect::<Vec<_>>())?;
        Ok(study.contenders[0].transactions.iter().map(|c| format!("{} {} {}", c.line, c.value.key(), c.value.value())).collect())
    }

    #[test]
    fn each_choice_is_read_with_its_line() {
        let all = "mode = \"optimistic\", isolation = \"read-committed\", async_commit = false, one_phase_commit = true, \
                   reads = \"closest-replicas\", staleness = \"5s\"";
        let expected = [
            "5 mode optimistic",
            "5 isolation read-committed",
            "5 async_commit false",
            "5 one_phase_commit true",
            "5 reads closest-replicas",
            "5 staleness 5 s",
        ];
        assert_eq!(read(all).unwrap(), expected);
        for (wrong, says) in [
            ("mode = \"fast\"", "`mode` is \"fast\""),
            ("staleness = \"1500ms\"", "`staleness` is 1.5 s, not whole seconds"),
            ("staleness = \"0s\"", "not whole seconds from 1 s to an hour"),
            ("isolation = 1", "isolation"),
            ("speed = 1", "unknown key `contender.transactions.speed`"),
        ] {
            let messages = read(wrong).unwrap_err();
            assert!(messages.len() == 1 && messages[0].contains(says), "{wrong}: {messages:?}");
        }
    }
}
