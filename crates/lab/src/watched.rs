//! Machines of servers that a Prometheus of the user watches: what it scraped of them in a window.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perbuck_core::run_record::ServerMachine;
use perbuck_core::study::PrometheusSpec;
use perbuck_core::units::duration_text;
use perbuck_prometheus::{FAMILIES, Found, Server, Window, machines};

use crate::error::{ErrorKind, LabError};

/// How far back the preflight looks for two scrapes.
const LOOKED_AT: Duration = Duration::from_secs(300);

/// Looks whether Prometheus scrapes the machines, and at least twice in a window of this length.
///
/// # Errors
/// An address that is none, a server that does not answer, a machine that it does not know, and scrapes that are too far apart.
pub(crate) fn check(spec: &PrometheusSpec, window: Duration) -> Result<(), LabError> {
    let line = spec.url.line;
    let server =
        Server::at(&spec.url.value).map_err(|why| LabError::usage(format!("line {line}: {why}"), "write http://host:port"))?;
    let failed = |why: String, help: &str| LabError::new(ErrorKind::Target, format!("line {line}: {why}"), help);
    let selector = format!("node_cpu_seconds_total{{{},mode=\"idle\"}}", of_instances(spec));
    let found = server.scraped(&selector, LOOKED_AT.as_secs(), seconds(SystemTime::now()));
    let found = found.map_err(|why| failed(why, "is it up, and reached from here?"))?;
    for instance in &spec.instances {
        let (name, own) = (instance, found.iter().find(|f| f.metric.get("instance") == Some(instance)));
        let Some(interval) = own.and_then(interval_s) else {
            let why = format!("Prometheus has not scraped node_exporter of `{name}` twice in the last 5 minutes");
            return Err(failed(why, "look at the targets of Prometheus, and at their label `instance`"));
        };
        if 2.0 * interval > window.as_secs_f64() {
            let long = duration_text(window.as_nanos() as u64);
            let why =
                format!("Prometheus scrapes `{name}` every {interval:.0} s: a window of {long} may hold less than two scrapes");
            return Err(failed(why, "let it scrape more often (`scrape_interval`), or measure for longer (`duration`)"));
        }
    }
    Ok(())
}

/// The seconds between the last two scrapes.
fn interval_s(of: &Found) -> Option<f64> {
    match of.values.as_slice() {
        [.., before, last] => Some(last.0 - before.0),
        _ => None,
    }
}

/// A label matcher for these instances alone.
fn of_instances(spec: &PrometheusSpec) -> String {
    // A backslash of a regular expression is two in a string of PromQL.
    let escaped = |name: &str| name.replace('.', "\\\\.").replace('[', "\\\\[").replace(']', "\\\\]");
    let all: Vec<String> = spec.instances.iter().map(|instance| escaped(instance)).collect();
    format!("instance=~\"{}\"", all.join("|"))
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// What the machines did in a window. Where Prometheus does not answer, each says why nothing is known of it: the trial counts without.
pub(crate) fn in_window(spec: &PrometheusSpec, (opened, closed): (SystemTime, SystemTime)) -> Vec<ServerMachine> {
    let window = Window { from_s: seconds(opened), until_s: seconds(closed) };
    let length_s = (window.until_s - window.from_s).ceil().max(1.0) as u64;
    let selector = format!("{{{FAMILIES},{}}}", of_instances(spec));
    let found = Server::at(&spec.url.value).and_then(|server| server.scraped(&selector, length_s, window.until_s));
    let (seen, why) = match found {
        Ok(found) => (machines(&found, window), "Prometheus did not scrape it in the window".to_owned()),
        Err(why) => (Vec::new(), why),
    };
    let of = |name: &str| {
        let known = seen.iter().find(|machine| machine.source == name).cloned();
        known.unwrap_or_else(|| ServerMachine { source: name.to_owned(), unread: Some(why.clone()), ..ServerMachine::default() })
    };
    spec.instances.iter().map(|instance| of(instance)).collect()
}

#[cfg(test)]
mod tests {
    use perbuck_core::study::Located;

    use super::*;

    #[test]
    fn only_the_machines_of_the_study_are_asked_for() {
        let located = |value: &str| Located { value: value.to_owned(), line: 3 };
        let spec = PrometheusSpec {
            url: located("http://127.0.0.1:1"),
            instances: ["10.0.0.5:9100", "[::1]:9100"].map(str::to_owned).to_vec(),
        };
        assert_eq!(of_instances(&spec), r#"instance=~"10\\.0\\.0\\.5:9100|\\[::1\\]:9100""#);
        let now = SystemTime::now();
        let seen = in_window(&spec, (now, now));
        let says = |m: &ServerMachine| m.unread.as_ref().is_some_and(|why| why.contains("127.0.0.1:1"));
        assert!(seen.len() == 2 && seen.iter().all(says), "{seen:?}");
        let refused = check(&spec, Duration::from_secs(30)).unwrap_err();
        assert!(refused.to_string().contains("line 3: Prometheus at http://127.0.0.1:1"), "{refused}");
    }
}
