//! The text format of Prometheus (exposition format 0.0.4), as far as sums of samples need it.

/// A sample: the name of its metric, its labels as they stand between the braces, and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// The metric, such as `tidb_session_retry_error_total`.
    pub name: &'a str,
    labels: &'a str,
    /// The value.
    pub value: f64,
}

impl<'a> Sample<'a> {
    /// The value of a label, as it is written; one with a quote in it is cut off there.
    pub fn label(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        while let Some((label, after)) = rest.split_once("=\"") {
            let (value, next) = after.split_once('"')?;
            if label.trim_start_matches([',', ' ']) == name {
                return Some(value);
            }
            rest = next;
        }
        None
    }
}

/// The samples of a text; lines that are none are passed over, as are their times.
pub fn samples(text: &str) -> impl Iterator<Item = Sample<'_>> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (name, labels, value) = match line.split_once('{') {
            Some((name, rest)) => {
                let (labels, value) = rest.rsplit_once('}')?;
                (name, labels, value)
            }
            None => {
                let (name, value) = line.split_once(' ')?;
                (name, "", value)
            }
        };
        let value = value.split_whitespace().next()?.parse().ok()?;
        Some(Sample { name, labels, value })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_labels_and_values_are_read() {
        let text =
            "# HELP a what it is\n# TYPE a counter\na 3\nb{type=\"txnLock\",le=\"+Inf\"} 2.5e+01 1700000000\nbroken\nc{} NaN\n";
        let all: Vec<Sample<'_>> = samples(text).collect();
        assert_eq!(all.iter().map(|s| s.name).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!((all[0].value, all[0].label("type"), all[1].value), (3.0, None, 25.0));
        assert_eq!((all[1].label("type"), all[1].label("le"), all[1].label("l")), (Some("txnLock"), Some("+Inf"), None));
        assert!(all[2].value.is_nan());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>()) {
            for sample in samples(&text) {
                let _ = sample.label("type");
            }
        }
    }
}
