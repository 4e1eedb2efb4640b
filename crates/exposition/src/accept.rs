//! The format that a scrape asks for (RFC 9110, section 12.5.1, as far as scrapers use it).

use crate::{Family, protobuf, text};

/// A format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The text format 0.0.4 of Prometheus.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Messages `io.prometheus.client.MetricFamily`, each with its length before it. It alone has native histograms.
    Protobuf,
}

impl Format {
    /// The format with the highest weight in an `Accept` header, the first of several; text where it names none that there is.
    pub fn of(accept: &str) -> Self {
        let mut best = (Self::Text, 0.0);
        for range in accept.split(',') {
            let mut words = range.split(';').map(str::trim);
            let media = words.next().unwrap_or_default().to_ascii_lowercase();
            let parameters: Vec<(String, &str)> = words
                .filter_map(|p| p.split_once('='))
                .map(|(n, v)| (n.trim().to_ascii_lowercase(), v.trim().trim_matches('"')))
                .collect();
            let value = |name: &str| parameters.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
            let weight =
                value("q").map_or(Some(1.0), |q| q.parse::<f64>().ok()).filter(|q| (0.0..=1.0).contains(q)).unwrap_or(0.0);
            let format = match (media.as_str(), value("version")) {
                ("application/vnd.google.protobuf", _)
                    if value("proto") == Some("io.prometheus.client.MetricFamily") && value("encoding") == Some("delimited") =>
                {
                    Self::Protobuf
                }
                ("application/openmetrics-text", None | Some("1.0.0")) => Self::OpenMetrics,
                ("text/plain", None | Some("0.0.4")) | ("text/*" | "*/*", _) => Self::Text,
                _ => continue,
            };
            if weight > best.1 {
                best = (format, weight);
            }
        }
        best.0
    }

    /// Its name in a `Content-Type` header.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Protobuf => "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
        }
    }

    /// Writes families; one without samples is left out.
    pub fn write(self, families: &[Family]) -> Vec<u8> {
        let families = families.iter().filter(|f| !f.samples.is_empty());
        match self {
            Self::Text => text::plain(families).into_bytes(),
            Self::OpenMetrics => text::open_metrics(families).into_bytes(),
            Self::Protobuf => protobuf::families(families),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_prometheus_sends_is_understood() {
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
            application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let open = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!((Format::of(native), Format::of(open)), (Format::Protobuf, Format::OpenMetrics));
        // Prometheus 3 asks for newer versions first, and for these after them.
        let newest = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text;q=0.9,\
            application/openmetrics-text;version=2.0.0;q=0.8, text/plain; version=1.0.0; q=0.6, text/plain; version=0.0.4; q=0.4";
        assert_eq!(Format::of(newest), Format::Text);
    }

    #[test]
    fn others_get_text() {
        for accept in [
            "",
            "*/*",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "image/png",
            "application/openmetrics-text;q=0",
            ";;;,,=;q=x",
        ] {
            assert_eq!(Format::of(accept), Format::Text, "{accept}");
        }
        assert_eq!(Format::of("text/plain;q=0.1, Application/OpenMetrics-Text;q=0.2"), Format::OpenMetrics);
    }

    proptest! {
        #[test]
        fn any_header_gives_a_format(accept in ".*") {
            let _ = Format::of(&accept);
        }
    }
}
