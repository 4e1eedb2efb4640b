//! A command line of sysbench as a study.

use super::script::Checked;
use super::settings::Settings;
use crate::study::{Asked, Frame, Sweep};

/// How often a transaction is tried, at most; beyond it, it counts as failed and the next one begins.
pub(super) const ATTEMPTS: u32 = 1000;

/// The frame of a command line: everything that decides what is measured, but for the database and the seed.
pub(super) fn frame(script: &Checked, settings: &Settings) -> Frame {
    let sweep = Sweep {
        connections: settings.threads,
        warmup: format!("{}s", settings.warmup_s),
        duration: settings.time_s.map(|time_s| format!("{time_s}s")),
        events: settings.events,
        rate: settings.rate,
        workers: settings.workers,
        attempts: ATTEMPTS,
    };
    // Parameters that are given with their defaults are the same as those left out.
    let identity = format!("{:?} {} {:?}", script.plan.parameters(), sweep.text(), settings.ignored);
    let workload = script.options.script.name();
    Frame::new(&Asked { command: "sysbench", workload, parameters: &script.parameters, sweep: &sweep }, &identity)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::ffi::OsString;

    use super::super::{parse::parse, script};
    use super::*;
    use crate::study::Member;

    fn frame(words: &[&str]) -> Frame {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let given = parse(&words, &script::options(None, None)).unwrap();
        let settings = Settings::read(&given).unwrap();
        let script = script::script(&given).unwrap().0;
        super::frame(&script::plan(&given, script, &settings, &mut Vec::new()).unwrap(), &settings)
    }

    #[test]
    fn every_command_line_is_a_study_that_can_be_read() {
        let members = [("a", "mysql://u@h:1/d?tls=disabled"), ("b", "sqlite:x\"y.db")]
            .map(|(name, address)| Member { name: name.into(), address: address.into() });
        for words in [
            &["oltp_read_write"][..],
            &["oltp_update_non_index", "--threads=10000", "--rate=5", "--time=0", "--events=7", "--warmup-time=3"],
            &["oltp_read_only", "--rand-type=pareto", "--rand-pareto-h=0.3", "--workers=2", "--skip-trx=off"],
            &["oltp_insert", "--create-table-options=COMMENT \"x\\y\""],
            &["bulk_insert", "--threads=4"],
            &["select_random_ranges", "--compat=sysbench-1.1", "--rand-type=zipfian", "--rand-zipfian-exp=2"],
        ] {
            let inputs = frame(words).inputs(&members, 3).unwrap();
            assert_eq!((inputs.study.contenders.len(), inputs.study.sweep.trials), (2, 3), "{words:?}");
            assert_eq!(inputs.targets[1].as_ref().unwrap().address(), "sqlite:x\"y.db");
        }
    }

    #[test]
    fn the_same_measurement_is_the_same_study_however_it_is_written() {
        let plain = frame(&["oltp_read_write"]);
        let same =
            frame(&["/x/oltp_read_write.lua", "--threads=1", "--tables=1", "--time=10", "--rand-seed=9", "--mysql-host=other"]);
        assert_eq!((&plain.name, &plain.fingerprint), (&same.name, &same.fingerprint));
        for other in [
            &["oltp_read_write", "--threads=2"][..],
            &["oltp_read_write", "--tables=2"],
            &["oltp_read_write", "--time=11"],
            &["oltp_read_write", "--events=11"],
            &["oltp_read_write", "--rate=11"],
            &["oltp_read_write", "--mysql-ignore-errors=all"],
            &["oltp_read_write", "--compat=sysbench-1.1"],
            &["oltp_read_only"],
        ] {
            assert_ne!(plain.fingerprint, frame(other).fingerprint, "{other:?}");
        }
    }
}
