//! Amounts as Kubernetes writes them: `7600m`, `64Gi`, `2026-11-26T14:00:00Z`.

/// Suffixes of bytes, with what they stand for; the longer ones first.
const BYTES: [(&str, u64); 10] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
];

/// Thousandths of a processor; 0 of what is none.
pub(super) fn cpu_m(text: &str) -> u64 {
    let (number, scale) = text.strip_suffix('m').map_or((text, 1000.0), |number| (number, 1.0));
    number.parse::<f64>().map_or(0, |n| (n * scale).round() as u64)
}

/// Bytes; 0 of what is no amount of them.
pub(super) fn bytes(text: &str) -> u64 {
    let suffix = BYTES.iter().find_map(|(suffix, of)| Some((text.strip_suffix(suffix)?, *of)));
    let (number, scale) = suffix.unwrap_or((text, 1));
    number.parse::<f64>().map_or(0, |n| (n * scale as f64).round() as u64)
}

/// Seconds since 1970 UTC of a time of Kubernetes; 0 of a text that is none.
pub(super) fn unix_s(text: &str) -> u64 {
    text.parse::<jiff::Timestamp>().map_or(0, |at| u64::try_from(at.as_second()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_every_suffix_are_read() {
        assert_eq!([cpu_m("7600m"), cpu_m("8"), cpu_m("0.5"), cpu_m("x")], [7600, 8000, 500, 0]);
        assert_eq!(
            [bytes("64Gi"), bytes("1000G"), bytes("512"), bytes("1.5Ki"), bytes("")],
            [64 << 30, 1_000_000_000_000, 512, 1536, 0]
        );
        assert_eq!([unix_s("1970-01-02T00:00:01Z"), unix_s("2026-11-26T14:00:00Z"), unix_s("soon")], [86_401, 1_795_701_600, 0]);
    }
}
