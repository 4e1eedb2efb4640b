//! The two text formats: 0.0.4 of Prometheus, and OpenMetrics 1.0.

use std::fmt::Write as _;

use perbuck_core::buckets::{BOUNDS_NS, Buckets};

use crate::{Family, Kind, Sample, Value};

/// The text format 0.0.4.
pub(crate) fn plain<'a>(families: impl Iterator<Item = &'a Family>) -> String {
    let mut out = String::new();
    for family in families {
        let name = family.full_name();
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge | Kind::Info => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a text cannot fail.
        let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", family.help.replace('\\', "\\\\").replace('\n', "\\n"));
        family.samples.iter().for_each(|sample| put(&mut out, &name, sample, ""));
    }
    out
}

/// OpenMetrics 1.0.
pub(crate) fn open_metrics<'a>(families: impl Iterator<Item = &'a Family>) -> String {
    let mut out = String::new();
    for family in families {
        let name = family.name;
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Info => "info",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(out, "# TYPE {name} {kind}");
        if !family.unit.is_empty() {
            let _ = writeln!(out, "# UNIT {name} {}", family.unit);
        }
        let _ = writeln!(out, "# HELP {name} {}", escaped(family.help));
        let full = family.full_name();
        family.samples.iter().for_each(|sample| put(&mut out, &full, sample, ".0"));
    }
    out + "# EOF\n"
}

/// A text between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A sample; `whole` stands after a bound that is a whole number.
fn put(out: &mut String, name: &str, sample: &Sample, whole: &str) {
    match &sample.value {
        Value::Number(value) => line(out, name, &sample.labels, None, *value),
        Value::Durations(buckets) => durations(out, name, &sample.labels, buckets, whole),
    }
}

fn durations(out: &mut String, name: &str, labels: &[(&'static str, String)], buckets: &Buckets, whole: &str) {
    let mut below = 0;
    for (i, bound) in BOUNDS_NS.iter().enumerate() {
        below += buckets.round.get(i).copied().unwrap_or_default();
        line(out, &format!("{name}_bucket"), labels, Some(&bound_text(*bound, whole)), below as f64);
    }
    line(out, &format!("{name}_bucket"), labels, Some("+Inf"), buckets.count as f64);
    line(out, &format!("{name}_sum"), labels, None, buckets.sum_ns as f64 / 1e9);
    line(out, &format!("{name}_count"), labels, None, buckets.count as f64);
}

/// A bound in seconds, as Go prints it: Prometheus compares the text.
fn bound_text(ns: u64, whole: &str) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        s if s < 1e-4 => format!("{}e-05", (s * 1e5).round()),
        s if s.fract() == 0.0 => format!("{s}{whole}"),
        s => s.to_string(),
    }
}

fn line(out: &mut String, name: &str, labels: &[(&'static str, String)], le: Option<&str>, value: f64) {
    out.push_str(name);
    let written = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    let all: Vec<String> = written.chain(le.map(|bound| format!("le=\"{bound}\""))).collect();
    if !all.is_empty() {
        let _ = write!(out, "{{{}}}", all.join(","));
    }
    let _ = match value {
        v if v.is_infinite() => writeln!(out, " {}Inf", if v > 0.0 { '+' } else { '-' }),
        v => writeln!(out, " {v}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::tests::examples;

    fn text(format: Format) -> String {
        String::from_utf8(format.write(&examples())).unwrap()
    }

    #[test]
    fn names_labels_and_help_are_written_as_the_format_says() {
        let plain = text(Format::Text);
        for line in [
            "# HELP perbuck_transactions_total What it\\nis.\n# TYPE perbuck_transactions_total counter\n",
            "perbuck_transactions_total{study=\"a\\\\b\\n\\\"c\\\"\"} 5\n",
            "# TYPE perbuck_trial_info gauge\nperbuck_trial_info{study=",
        ] {
            assert!(plain.contains(line), "{line}: {plain}");
        }
        let open = text(Format::OpenMetrics);
        for line in [
            "# TYPE perbuck_transactions counter\n# HELP perbuck_transactions What it\\nis.\nperbuck_transactions_total{",
            "# TYPE perbuck_trial info\n",
            "# TYPE perbuck_latency_seconds histogram\n# UNIT perbuck_latency_seconds seconds\n",
        ] {
            assert!(open.contains(line), "{line}: {open}");
        }
        assert!(open.ends_with("\n# EOF\n") && !plain.contains("# EOF"));
        assert!(!plain.contains("perbuck_nothing") && !open.contains("perbuck_nothing"));
    }

    #[test]
    fn classic_buckets_add_up() {
        let (plain, open) = (text(Format::Text), text(Format::OpenMetrics));
        let of = |text: &str, le: &str| {
            let line = text.lines().find(|l| l.contains(&format!("le=\"{le}\"")));
            line.and_then(|l| l.rsplit(' ').next()).map(str::to_owned)
        };
        let found = ["1e-05", "2e-05", "0.0005", "0.5", "1", "50", "+Inf"].map(|le| of(&plain, le).unwrap());
        assert_eq!(found, ["0", "1", "1", "1", "2", "2", "3"]);
        assert_eq!((of(&open, "1.0").as_deref(), of(&open, "1")), (Some("2"), None));
        assert!(plain.contains("perbuck_latency_seconds_count{study=\"a\\\\b\\n\\\"c\\\"\"} 3\n"));
        assert!(plain.contains("perbuck_latency_seconds_sum{study=\"a\\\\b\\n\\\"c\\\"\"} 100.900015\n"), "{plain}");
    }

    #[test]
    fn numbers_that_are_none_are_written_as_prometheus_reads_them() {
        let mut out = String::new();
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().for_each(|v| line(&mut out, "a", &[], None, v));
        assert_eq!(out, "a NaN\na +Inf\na -Inf\n");
    }
}
