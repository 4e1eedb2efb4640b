//! SHA-256 fingerprints of certificates, by which a target names its servers.

use std::fmt;

use crate::address::{TargetProblem, problem};

const PREFIX: &str = "sha256:";

/// The SHA-256 of a certificate; its text is what `openssl x509 -fingerprint -sha256` prints, after `sha256:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Reads `sha256:` with 64 hexadecimal digits; colons between them and capitals make no difference. Other text is refused.
    pub fn parse(text: &str) -> Result<Self, TargetProblem> {
        let digits: String = text.strip_prefix(PREFIX).unwrap_or_default().chars().filter(|c| *c != ':').collect();
        let mut bytes = [0; 32];
        let good = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            *byte = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()).unwrap_or_default();
        }
        if good {
            return Ok(Self(bytes));
        }
        let help = "write sha256: and what `openssl x509 -noout -fingerprint -sha256 -in server-cert.pem` prints on the server";
        problem("`tls_fingerprint` is not the SHA-256 of a certificate", help)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|byte| format!("{byte:02X}")).collect();
        write!(f, "{PREFIX}{}", pairs.join(":"))
    }
}
