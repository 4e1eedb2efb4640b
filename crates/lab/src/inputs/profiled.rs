//! Profiles that a study asks for and cannot have, as far as the study alone tells.

use perbuck_core::study::{Contender, Profiled, Study};
use perbuck_core::units::duration_text;

use super::check::Check;

impl Check<'_> {
    /// Warm-ups without room for a profile.
    pub(super) fn profile_fits(&mut self, study: &Study) {
        let Some(asked) = &study.sweep.profile else { return };
        let least = duration_text(Profiled::SHORTEST_WARMUP_NS);
        for spec in &study.workloads {
            let sweep = study.sweep_of(&spec.name);
            let why = if sweep.of_streams {
                "its streams have no warm-up".to_owned()
            } else if sweep.auto.warmup {
                "its warm-up is \"auto\"".to_owned()
            } else if Profiled::length_ns(sweep.warmup_ns).is_none() {
                format!("its warm-up is {}", duration_text(sweep.warmup_ns))
            } else {
                continue;
            };
            let message = format!("workload `{}`: `profile` is taken in the warm-up, and {why}", spec.name);
            self.problem(asked.line, message, format!("write a `warmup` of at least {least}, or leave `profile` out"));
        }
    }

    /// Servers that perbuck cannot profile.
    pub(super) fn profile_of(&mut self, study: &Study, contender: &Contender) {
        let Some(asked) = study.sweep.profile.as_ref().filter(|asked| asked.value.has_servers()) else { return };
        if contender.control_of.is_none() && contender.server.is_none() {
            let message = format!("contender `{}`: perbuck profiles only servers that it starts", contender.name);
            self.problem(asked.line, message, "write `profile = \"client\"`, or give it a `server`");
        }
    }
}
