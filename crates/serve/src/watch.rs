//! The end of the live file of a study, as JSON for the page that follows it.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use perbuck_core::run_record::Interval;
use perbuck_core::units::duration_text;
use perbuck_lab::folder;
use perbuck_lab::live::{Event, LIVE_FILE, Line};

use super::recent::{Second, drawings};

/// Bytes of the file's end that are read: some ten minutes of seconds.
const END: u64 = 640 * 1024;

/// Seconds that the page draws.
const SECONDS: usize = 300;

/// Seconds without a line after which a run counts as gone.
pub(super) const SILENCE_S: u64 = 30;

/// Warm-up and window of a trial of a workload, in milliseconds.
type TimesMs<'a> = &'a dyn Fn(&str) -> Option<[u64; 2]>;

/// What the page shows.
pub(super) fn json(folder: &Path, times_ms: TimesMs<'_>) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    state(&end(&folder.join(LIVE_FILE)).unwrap_or_default(), now, times_ms)
}

/// Whether a run writes to the folder now.
pub(super) fn runs(folder: &Path) -> bool {
    json(folder, &|_| None)["state"] == "running"
}

/// The last whole lines of a file.
fn end(path: &Path) -> Option<String> {
    let mut file = folder::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END))).ok()?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(if length > END { text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default() } else { text })
}

fn state(text: &str, now_ms: u64, times_ms: TimesMs<'_>) -> Value {
    let lines: Vec<Line> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let Some(last) = lines.last() else { return json!({ "state": "never ran" }) };
    let age_s = now_ms.saturating_sub(last.at_ms) / 1000;
    let mut out = json!({ "age_s": age_s, "done": [] });
    out["state"] = json!(match last.event {
        Event::Ended => "ended",
        _ if age_s > SILENCE_S => "silent",
        _ => "running",
    });
    let (mut done, mut seconds) = (Vec::new(), Vec::new());
    let (mut at, mut finished) = (0, 0);
    for line in &lines {
        match &line.event {
            Event::Began { trials, on_disk, .. } => {
                out["trials"] = json!(trials);
                out["on_disk"] = json!(on_disk);
                finished = *on_disk;
            }
            Event::Doing { text } => out["doing"] = json!(text),
            Event::Second { trial, position, left_s, second, .. } => {
                out["doing"] = json!(trial.title());
                out["position"] = json!(position);
                out["left_s"] = json!(left_s);
                (at, finished) = (*position, position.saturating_sub(1));
                if let Some(times) = times_ms(&trial.workload).filter(|_| !matches!(last.event, Event::Ended)) {
                    (out["part"], out["phase"]) = part(second, times);
                }
                seconds.push(Second { at_ms: line.at_ms, trial, second });
            }
            Event::Done { trial, value } => {
                finished = finished.max(at);
                done.push(json!({ "trial": trial.title(), "value": value }));
            }
            Event::Rest { .. } | Event::Ended => {}
        }
    }
    out["finished"] = json!(finished);
    out["done"] = json!(done.split_off(done.len().saturating_sub(20)));
    let shown = seconds.split_off(seconds.len().saturating_sub(SECONDS));
    out["drawings"] = drawings(&shown, &|workload| times_ms(workload).map(|[_, window]| window));
    out
}

/// How much of a trial is over at the end of a second, and in which of its parts it is.
fn part(second: &Interval, [warmup_ms, window_ms]: [u64; 2]) -> (Value, Value) {
    let end_ms = second.start_ms.saturating_add_unsigned(second.length_ms);
    let over = end_ms.saturating_add_unsigned(warmup_ms) as f64 / (warmup_ms + window_ms).max(1) as f64;
    let text = |ms: u64| duration_text(ms.saturating_mul(1_000_000));
    let of = |at_ms: u64, whole_ms: u64| format!("{} of {}", text(at_ms), text(whole_ms));
    let phase = match second.start_ms {
        ..0 => format!("warm-up, {}", of(end_ms.saturating_add_unsigned(warmup_ms).max(0).unsigned_abs(), warmup_ms)),
        start if start.unsigned_abs() >= window_ms => "drain".to_owned(),
        _ => format!("measured window, {}", of(end_ms.unsigned_abs().min(window_ms), window_ms)),
    };
    (json!(over.clamp(0.0, 1.0)), json!(phase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_running_silent_or_ended() {
        let began = r#"{"at_ms":1000,"event":"began","trials":4,"on_disk":1}"#;
        let trial = r#"{"contender":"a","workload":"w","connections":1,"trial":1}"#;
        let second = r#"{"start_ms":0,"length_ms":500,"transactions":50,"statements":0,"errors":1,"p50_ns":0,"p95_ns":2000000,"p99_ns":0,"max_ns":0}"#;
        let line = format!(r#"{{"at_ms":2000,"event":"second","trial":{trial},"position":2,"left_s":60,"second":{second}}}"#);
        let text = format!("{began}\n{line}\n{{\"at_ms\":");
        let found = state(&text, 3000, &|_| None);
        assert_eq!((&found["state"], &found["trials"], &found["left_s"]), (&json!("running"), &json!(4), &json!(60)));
        assert_eq!(found["finished"], 1);
        let over = format!("{began}\n{line}\n{{\"at_ms\":2500,\"event\":\"done\",\"trial\":{trial},\"value\":\"5 TPS\"}}");
        assert_eq!(state(&over, 3000, &|_| None)["finished"], 2);
        let newest = |name: &str| found["drawings"][name]["newest"].clone();
        assert_eq!((newest("throughput"), newest("p95_ms"), newest("errors")), (json!(100.0), json!(2.0), json!(2.0)));
        assert_eq!(state(&text, 60_000, &|_| None)["state"], "silent");
        assert_eq!(state(&format!("{began}\n{{\"at_ms\":1,\"event\":\"ended\"}}"), 5000, &|_| None)["state"], "ended");
        assert_eq!(state("", 0, &|_| None)["state"], "never ran");
    }

    #[test]
    fn a_trial_is_in_its_warm_up_its_window_or_its_drain() {
        let at = |start_ms| part(&Interval { start_ms, length_ms: 1000, ..Interval::default() }, [5_000, 20_000]);
        assert_eq!(at(-5_000), (json!(0.04), json!("warm-up, 1 s of 5 s")));
        assert_eq!(at(4_000), (json!(0.4), json!("measured window, 5 s of 20 s")));
        assert_eq!(at(20_000), (json!(1.0), json!("drain")));
    }
}
