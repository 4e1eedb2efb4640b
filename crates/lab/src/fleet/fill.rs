//! After a trial of several agents: the new records of all of them are brought to one end.
//!
//! Each agent numbers its new records in a stripe of its own, and none waits for another. So at the end of a trial one is ahead, and
//! numbers of the others are missing below its last. The next trial would find the end of the records too early, and insert numbers that
//! are there. Therefore each agent inserts what is missing of its stripe, after the server's counters were read: it belongs to no trial.
//!
//! Where an agent is lost this does not happen. The trial is void then, and its data are loaded again where the study resets them. Where
//! `reset` is `never`, the terminals of the next trial insert what is missing before they start.

use perbuck_load::share::Share;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::RunError;
use perbuck_load::workload::NewRecords;

use super::Fleet;
use super::member::Member;
use super::messages::FillOrder;
use crate::trial::Task;

impl Fleet {
    /// Has the agents insert what is missing of the new records of a trial that they have applied.
    ///
    /// # Errors
    /// An agent that was lost, or its server's answer; a request to stop.
    pub(crate) fn fill(&self, task: &Task<'_>, new: &[NewRecords], stop: &StopToken) -> Result<(), RunError> {
        let Some(up_to) = missing_below(new) else { return Ok(()) };
        let members = self.members.borrow();
        let there: Vec<&Member> = members.iter().filter(|m| m.drives(&task.key.contender)).collect();
        let of = there.len() as u32;
        // All at the same time: what is missing is that of those that were slow.
        for (number, member) in (0..).zip(&there) {
            let share = Share { number, of };
            let (contender, workload) = (task.key.contender.clone(), task.key.workload.clone());
            // Of one that is gone the answer says so.
            let _ = member.shared().fill(FillOrder { contender, workload, share, up_to });
        }
        // All answers are taken: one that is left would be that of the next trial.
        let answers: Vec<Result<u64, RunError>> = there.iter().map(|member| member.shared().filled(stop)).collect();
        answers.into_iter().try_for_each(|answer| answer.map(drop))
    }
}

/// The number below which each share is to have all its records; `None` where it has, as after a trial without inserts.
fn missing_below(new: &[NewRecords]) -> Option<u64> {
    let end = new.iter().map(|n| n.end).max()?;
    new.iter().any(|n| n.acknowledged < end).then_some(end)
}

/// Makes sure that all shares started their numbers with the same record.
pub(super) fn agree(new: &[NewRecords]) -> Result<(), RunError> {
    let firsts = || new.iter().map(|n| n.first);
    match (firsts().min(), firsts().max()) {
        (Some(least), Some(most)) if least < most => Err(RunError::AgentLost(format!(
            "the agents do not agree where the records end: one found {least}, another {most}; does another program insert, or do \
             hosts of the target answer from older data?"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(end: u64, acknowledged: u64) -> NewRecords {
        NewRecords { first: 100, end, acknowledged }
    }

    #[test]
    fn records_are_missing_where_one_is_ahead_or_an_insert_failed() {
        assert_eq!(missing_below(&[]), None);
        assert_eq!(missing_below(&[new(100, 100), new(100, 101)]), None, "no inserts");
        // Two shares, each with three records.
        assert_eq!(missing_below(&[new(105, 106), new(106, 107)]), None);
        assert_eq!(missing_below(&[new(107, 108), new(106, 107)]), None, "the last one has no follower");
        assert_eq!(missing_below(&[new(109, 110), new(106, 107)]), Some(109), "one is ahead");
        assert_eq!(missing_below(&[new(105, 102), new(106, 107)]), Some(106), "an insert failed");
    }

    #[test]
    fn shares_that_start_apart_are_no_trial() {
        let all = [new(107, 108), new(106, 107)];
        assert_eq!((agree(&[]), agree(&all)), (Ok(()), Ok(())));
        let error = agree(&[all[0], NewRecords { first: 90, ..all[1] }]).unwrap_err();
        assert!(matches!(&error, RunError::AgentLost(why) if why.contains("one found 90, another 100;")), "{error}");
    }
}
