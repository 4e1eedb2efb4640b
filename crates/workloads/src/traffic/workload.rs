//! Recorded traffic for one database.

use std::sync::{Arc, Mutex, PoisonError};

use perbuck_load::driver::Access;
use perbuck_load::statement::Catalogue;
use perbuck_load::workload::{TerminalId, Workload};

use super::deal::{Choice, Dealt, deal, last_due_ns};
use super::in_order::InOrder;
use super::recording::{KINDS, Recording};
use super::terminal::TrafficTerminal;

/// What a transaction counts: statements whose row count is known, and those of them with another one; how long its statements waited for those
/// of other sessions, in milliseconds, and how many went on although others were before them.
static FACTS: [&[&str]; KINDS.len()] = [&["compared", "diverged", "held_ms", "overtook"]; KINDS.len()];

/// Recorded traffic.
#[derive(Debug)]
pub struct Traffic {
    pub(super) recording: Option<Arc<Recording>>,
    catalogue: Arc<Catalogue>,
    choice: Choice,
    access: Access,
    log: Arc<str>,
    /// The transactions of so many terminals.
    dealt: Mutex<Option<(u32, Arc<Dealt>)>>,
}

impl Traffic {
    pub(super) fn new(recording: Option<Arc<Recording>>, choice: Choice, writes: bool, log: &str) -> Self {
        let mut catalogue = Catalogue::default();
        for (sql, verb) in recording.iter().flat_map(|recording| &recording.prepared) {
            catalogue.add(*verb, sql);
        }
        let access = if writes { Access::Write } else { Access::Read };
        Self { recording, catalogue: Arc::new(catalogue), choice, access, log: log.into(), dealt: Mutex::default() }
    }

    fn dealt(&self, terminals: u32) -> Arc<Dealt> {
        let mut dealt = self.dealt.lock().unwrap_or_else(PoisonError::into_inner);
        match &*dealt {
            Some((of, dealt)) if *of == terminals => Arc::clone(dealt),
            _ => {
                let made = Arc::new(self.recording.as_ref().map_or_else(Dealt::default, |r| deal(r, self.choice, terminals)));
                *dealt = Some((terminals, Arc::clone(&made)));
                made
            }
        }
    }
}

impl Workload for Traffic {
    type Terminal = TrafficTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    fn kinds(&self) -> Vec<&str> {
        KINDS.to_vec()
    }

    fn fact_names(&self) -> &'static [&'static [&'static str]] {
        &FACTS
    }

    fn schedule_ns(&self, terminals: u32) -> Option<u64> {
        self.choice.speed.map(|_| last_due_ns(&self.dealt(terminals)))
    }

    fn keeps_timeout(&self) -> bool {
        true
    }

    fn terminal(&self, id: TerminalId) -> TrafficTerminal {
        let dealt = self.dealt(id.of);
        let mine = dealt.lists.get(id.index as usize).cloned().unwrap_or_default();
        let speed = self.choice.speed;
        let order =
            dealt.order.as_ref().zip(speed).map(|(order, speed)| InOrder::new(order.member(id.index), dealt.start_us, speed));
        TrafficTerminal::new(self.recording.clone(), mine, order, (speed.is_some(), self.access), Arc::clone(&self.log))
    }
}
