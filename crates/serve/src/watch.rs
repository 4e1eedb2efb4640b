//! The end of the live file of a study, as JSON for the page that follows it.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use perbuck_lab::folder;
use perbuck_lab::live::{Event, LIVE_FILE, Line};

/// Bytes of the file's end that are read: some ten minutes of seconds.
const END: u64 = 200 * 1024;

/// Seconds that the page draws.
const SECONDS: usize = 300;

/// Seconds without a line after which a run counts as gone.
const SILENCE_S: u64 = 30;

pub(super) fn json(folder: &Path) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    state(&end(&folder.join(LIVE_FILE)).unwrap_or_default(), now)
}

/// Whether a run writes to the folder now.
pub(super) fn runs(folder: &Path) -> bool {
    json(folder)["state"] == "running"
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

fn state(text: &str, now_ms: u64) -> Value {
    let lines: Vec<Line> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let Some(last) = lines.last() else { return json!({ "state": "never ran" }) };
    let age_s = now_ms.saturating_sub(last.at_ms) / 1000;
    let mut out = json!({ "age_s": age_s, "done": [], "seconds": [] });
    out["state"] = json!(match last.event {
        Event::Ended => "ended",
        _ if age_s > SILENCE_S => "silent",
        _ => "running",
    });
    let (mut done, mut seconds) = (Vec::new(), Vec::new());
    let (mut at, mut finished) = (0, 0);
    for line in &lines {
        match &line.event {
            Event::Began { trials, on_disk } => {
                out["trials"] = json!(trials);
                out["on_disk"] = json!(on_disk);
                finished = *on_disk;
            }
            Event::Doing { text } => out["doing"] = json!(text),
            Event::Second { trial, position, left_s, second } => {
                out["doing"] = json!(trial.title());
                out["position"] = json!(position);
                out["left_s"] = json!(left_s);
                (at, finished) = (*position, position.saturating_sub(1));
                let length_s = second.length_ms.max(1) as f64 / 1000.0;
                seconds.push(json!({
                    "throughput": second.transactions as f64 / length_s,
                    "p95_ms": second.p95_ns as f64 / 1e6,
                    "errors": second.errors as f64 / length_s,
                    "warmup": second.start_ms < 0,
                    "trial": trial.path(),
                }));
            }
            Event::Done { trial, value } => {
                finished = finished.max(at);
                done.push(json!({ "trial": trial.title(), "value": value }));
            }
            Event::Ended => {}
        }
    }
    out["finished"] = json!(finished);
    out["done"] = json!(done.split_off(done.len().saturating_sub(20)));
    out["seconds"] = json!(seconds.split_off(seconds.len().saturating_sub(SECONDS)));
    out
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
        let found = state(&text, 3000);
        assert_eq!((&found["state"], &found["trials"], &found["left_s"]), (&json!("running"), &json!(4), &json!(60)));
        assert_eq!(found["finished"], 1);
        let over = format!("{began}\n{line}\n{{\"at_ms\":2500,\"event\":\"done\",\"trial\":{trial},\"value\":\"5 TPS\"}}");
        assert_eq!(state(&over, 3000)["finished"], 2);
        assert_eq!((&found["seconds"][0]["throughput"], &found["seconds"][0]["p95_ms"]), (&json!(100.0), &json!(2.0)));
        assert_eq!(state(&text, 60_000)["state"], "silent");
        assert_eq!(state(&format!("{began}\n{{\"at_ms\":1,\"event\":\"ended\"}}"), 5000)["state"], "ended");
        assert_eq!(state("", 0)["state"], "never ran");
    }
}
