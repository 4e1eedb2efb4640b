//! Whether an agent was the limit of a trial. Each decides by itself: among many the lateness of one is diluted.

use perbuck_core::run_record::{Flag, WorkerHealth};
use perbuck_load::executor::{Lateness, WorkerOutcome, lateness};

use crate::flags::{full_worker, late};

/// What one agent's engine saw of itself.
pub(super) struct ClientSeen {
    workers: Vec<WorkerHealth>,
    /// In an open loop.
    late: Option<Lateness>,
}

impl ClientSeen {
    pub(super) fn of(workers: &[WorkerOutcome], is_open: bool) -> Self {
        let health = workers.iter().map(|worker| *worker.health()).collect();
        Self { workers: health, late: is_open.then(|| lateness(workers)) }
    }

    /// What limited the trial, with the name of the agent.
    pub(super) fn flags(&self, name: &str, window_ns: u64) -> Vec<Flag> {
        let late = self.late.and_then(|l| late(l.sent_late_p99_ns, l.response_p99_ns));
        let whys = full_worker(&self.workers, window_ns).into_iter().chain(late);
        whys.map(|why| Flag::ClientLimited { why: format!("agent {name}: {why}") }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_is_full_or_late_is_named() {
        let worker = |cpu_ns| WorkerHealth { connections: 4, cpu_ns, busiest_phase: 0.0 };
        let seen = |cpu_ns, sent_late_p99_ns| {
            let late = Some(Lateness { sent_late_p99_ns, response_p99_ns: 20_000_000 });
            let flags = ClientSeen { workers: vec![worker(0), worker(cpu_ns)], late }.flags("load-2:7117", 10_000_000_000);
            flags.iter().map(Flag::text).collect::<Vec<_>>()
        };
        assert!(seen(8_900_000_000, 1_500_000).is_empty());
        let (full, slow) = (seen(9_500_000_000, 0), seen(0, 3_000_000));
        assert!(full.len() == 1 && full[0].contains("agent load-2:7117: 1 of its 2 load threads were full"), "{full:?}");
        assert!(slow.len() == 1 && slow[0].contains("agent load-2:7117: it started transactions late"), "{slow:?}");
    }
}
