//! Signatures of requests (AWS Signature Version 4).

use std::fmt::{self, Write as _};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256, Key};

/// Bytes of an object, at most: more than perbuck puts into one.
pub(crate) const BODY_MAX: u64 = 128 << 20;
const METHOD: &str = "AWS4-HMAC-SHA256";
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const PLAIN_PATH: &AsciiSet = &PLAIN.remove(b'/');

/// What signs requests. It holds the secret, so it does not show it.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) id: String,
    pub(crate) secret: String,
    /// Of a session, where the keys are of one.
    pub(crate) token: Option<String>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A request that is to be signed.
pub(crate) struct Signed<'a> {
    pub(crate) method: &'a str,
    pub(crate) authority: &'a str,
    /// As it is sent.
    pub(crate) path: &'a str,
    /// Likewise.
    pub(crate) query: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) region: &'a str,
}

impl Signed<'_> {
    /// The headers by which a server knows who sent it, at that moment (`20260801T093012Z`), and that nothing of it was changed.
    pub(crate) fn headers(&self, keys: &Keys, moment: &str) -> Vec<(&'static str, String)> {
        let sum = hex(digest(&SHA256, self.body).as_ref());
        let mut headers = vec![("x-amz-content-sha256", sum.clone()), ("x-amz-date", moment.to_owned())];
        headers.extend(keys.token.iter().map(|token| ("x-amz-security-token", token.clone())));
        let all = || std::iter::once(("host", self.authority)).chain(headers.iter().map(|(name, value)| (*name, value.as_str())));
        let names = all().map(|(name, _)| name).collect::<Vec<_>>().join(";");
        let lines: String = all().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let Self { method, path, query, region, .. } = self;
        let request = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{sum}");
        let day = moment.get(..8).unwrap_or_default();
        let scope = format!("{day}/{region}/s3/aws4_request");
        let text = format!("{METHOD}\n{moment}\n{scope}\n{}", hex(digest(&SHA256, request.as_bytes()).as_ref()));
        let first = format!("AWS4{}", keys.secret).into_bytes();
        let key = [day, region, "s3", "aws4_request"].into_iter().fold(first, |key, word| mac(&key, word));
        let signature = hex(&mac(&key, &text));
        let value = format!("{METHOD} Credential={}/{scope},SignedHeaders={names},Signature={signature}", keys.id);
        headers.push(("authorization", value));
        headers
    }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&Key::new(HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A text as it stands in a path or in a query.
pub(crate) fn encoded(text: &str, keeps_slashes: bool) -> String {
    utf8_percent_encode(text, if keeps_slashes { PLAIN_PATH } else { PLAIN }).to_string()
}

/// A query, in the order in which it is signed.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let mut encoded: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", encoded(name, false), encoded(value, false))).collect();
    encoded.sort();
    encoded.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of Amazon's "Authenticating Requests: Using the Authorization Header", with the headers that perbuck sends.
    #[test]
    fn signatures_are_those_of_amazons_examples() {
        let keys = Keys {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: None,
        };
        assert!(!format!("{keys:?}").contains("wJal"));
        for (listed, signature) in [
            (&[("lifecycle", "")][..], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            (&[("prefix", "J"), ("max-keys", "2")], "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ] {
            let query = query(listed);
            let authority = "examplebucket.s3.amazonaws.com";
            let signed = Signed { method: "GET", authority, path: "/", query: &query, body: b"", region: "us-east-1" };
            let headers = signed.headers(&keys, "20130524T000000Z");
            assert!(headers.iter().any(|(name, value)| *name == "authorization" && value.ends_with(signature)), "{headers:?}");
        }
    }

    #[test]
    fn keys_of_objects_are_encoded() {
        assert_eq!(encoded("a b/ü+~", true), "a%20b/%C3%BC%2B~");
        assert_eq!(query(&[("prefix", "a/b"), ("list-type", "2")]), "list-type=2&prefix=a%2Fb");
    }
}
