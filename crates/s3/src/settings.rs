//! Where a bucket is and what signs its requests: the variables and the file that Amazon's tools read.

use std::path::PathBuf;

use ureq::tls::{PemItem, RootCerts, parse_pem};

use crate::sign::{Keys, encoded};

/// A server of buckets, and the keys to it.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(crate) scheme: &'static str,
    pub(crate) authority: String,
    pub(crate) region: String,
    /// Whether the name of the bucket is in the path, and not in that of the host.
    pub(crate) in_path: bool,
    pub(crate) keys: Keys,
    /// Who signs the certificates of servers.
    pub(crate) roots: RootCerts,
}

impl Settings {
    /// What the variables say, and the file of keys where they have none: `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, `AWS_REGION`,
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_SHARED_CREDENTIALS_FILE`, `AWS_PROFILE`,
    /// `AWS_CA_BUNDLE`. `usual` is the server where they name none; Amazon's where that names none.
    ///
    /// # Errors
    /// An address that is none, keys that are missing, and certificate authorities that cannot be read.
    pub fn of(
        bucket: &str,
        usual: Option<&str>,
        variable: &dyn Fn(&str) -> Option<String>,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let set = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let region = set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION")).unwrap_or_else(|| "us-east-1".to_owned());
        let keys = match (set("AWS_ACCESS_KEY_ID"), set("AWS_SECRET_ACCESS_KEY")) {
            (Some(id), Some(secret)) => Keys { id, secret, token: set("AWS_SESSION_TOKEN") },
            (Some(_), None) => return Err("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not".to_owned()),
            (None, Some(_)) => return Err("AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not".to_owned()),
            (None, None) => of_file(&set, file)?,
        };
        let roots = set("AWS_CA_BUNDLE").map_or(Ok(RootCerts::WebPki), |path| authorities(&path, file))?;
        let endpoint = set("AWS_ENDPOINT_URL_S3").or_else(|| set("AWS_ENDPOINT_URL")).or_else(|| usual.map(str::to_owned));
        let Some(endpoint) = endpoint else {
            let authority = format!("s3.{region}.amazonaws.com");
            // The certificates of Amazon do not cover a name with a dot in it.
            return Ok(Self { scheme: "https", authority, region, in_path: bucket.contains('.'), keys, roots });
        };
        let (scheme, rest) = match (endpoint.strip_prefix("https://"), endpoint.strip_prefix("http://")) {
            (Some(rest), _) => ("https", rest.strip_suffix(":443").unwrap_or(rest)),
            (_, Some(rest)) => ("http", rest.strip_suffix(":80").unwrap_or(rest)),
            _ => return Err(format!("the endpoint `{endpoint}` does not start with http:// or https://")),
        };
        let authority = rest.trim_end_matches('/');
        if authority.is_empty()
            || authority != encoded(authority, false).replace("%3A", ":").replace("%5B", "[").replace("%5D", "]")
        {
            // It may hold a password.
            return Err("the endpoint is no http://HOST:PORT".to_owned());
        }
        Ok(Self { scheme, authority: authority.to_owned(), region, in_path: true, keys, roots })
    }

    /// The host with the port that is asked.
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

/// The certificate authorities in a file, which then are the only ones.
fn authorities(path: &str, file: &dyn Fn(&str) -> Option<String>) -> Result<RootCerts, String> {
    let Some(text) = file(path) else { return Err(format!("AWS_CA_BUNDLE: {path} cannot be read")) };
    let certificate = |item| if let PemItem::Certificate(certificate) = item { Some(certificate) } else { None };
    let items = parse_pem(text.as_bytes()).collect::<Result<Vec<_>, _>>();
    let items = items.map_err(|error| format!("AWS_CA_BUNDLE: {path} is no PEM: {error}"))?;
    let found: Vec<_> = items.into_iter().filter_map(certificate).collect();
    if found.is_empty() { Err(format!("AWS_CA_BUNDLE: {path} holds no certificate")) } else { Ok(found.into()) }
}

/// The keys of a profile in the file of keys.
fn of_file(set: &dyn Fn(&str) -> Option<String>, file: &dyn Fn(&str) -> Option<String>) -> Result<Keys, String> {
    let usual = || Some(PathBuf::from(set("HOME")?).join(".aws/credentials").display().to_string());
    let path = set("AWS_SHARED_CREDENTIALS_FILE").or_else(usual).unwrap_or_default();
    let profile = set("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    let Some(text) = file(&path) else {
        return Err(format!("no keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and {path} cannot be read"));
    };
    let lines = text.lines().map(str::trim).skip_while(|line| *line != format!("[{profile}]")).skip(1);
    let own: Vec<(&str, &str)> =
        lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('=')).collect();
    let value = |name: &str| own.iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned());
    match (value("aws_access_key_id"), value("aws_secret_access_key")) {
        (Some(id), Some(secret)) => Ok(Keys { id, secret, token: value("aws_session_token") }),
        _ => Err(format!("no keys: {path} has none for the profile `{profile}`")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    fn read(bucket: &str, variables: &[(&str, &str)], file: Option<&str>) -> Result<Settings, String> {
        let found = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Settings::of(bucket, None, &found, &|_| file.map(str::to_owned))
    }

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "hidden")];

    #[test]
    fn variables_say_where_a_bucket_is() {
        let at = |more: &[(&str, &str)], bucket| {
            let read = read(bucket, &[&KEYS, more].concat(), None).unwrap();
            (format!("{}://{}", read.scheme, read.authority), read.region, read.in_path)
        };
        let text = str::to_owned;
        assert_eq!(at(&[], "b"), (text("https://s3.us-east-1.amazonaws.com"), text("us-east-1"), false));
        assert!(at(&[], "b.c").2);
        let own = [("AWS_ENDPOINT_URL", "http://127.0.0.1:9000/"), ("AWS_REGION", "eu-central-1")];
        assert_eq!(at(&own, "b"), (text("http://127.0.0.1:9000"), text("eu-central-1"), true));
        assert_eq!(at(&[("AWS_ENDPOINT_URL_S3", "https://h:443"), own[0]], "b").0, "https://h");
        for wrong in ["h:9000", "http://", "http://u:hidden@h/", "http://h/path"] {
            let why = read("b", &[&KEYS[..], &[("AWS_ENDPOINT_URL", wrong)]].concat(), None).unwrap_err();
            assert!(why.contains("the endpoint") && !why.contains("hidden"), "{why}");
        }
    }

    #[test]
    fn certificate_authorities_come_from_a_file() {
        let bundle = [KEYS[0], KEYS[1], ("AWS_CA_BUNDLE", "/ca.pem")];
        let why = |file| read("b", &bundle, file).unwrap_err();
        assert!(why(None).contains("/ca.pem cannot be read"));
        assert!(why(Some("no PEM")).contains("/ca.pem holds no certificate"));
        assert!(matches!(read("b", &KEYS, None).unwrap().roots, RootCerts::WebPki));
    }

    #[test]
    fn keys_come_from_variables_or_from_a_profile() {
        let file = "[default]\naws_access_key_id = d\naws_secret_access_key = hidden\n\n[other]\naws_access_key_id=o\naws_secret_access_key=x\n\
                    aws_session_token = t\n";
        assert_eq!(read("b", &KEYS, Some(file)).unwrap().keys.id, "id");
        assert_eq!(read("b", &[], Some(file)).unwrap().keys.id, "d");
        let other = read("b", &[("AWS_PROFILE", "other")], Some(file)).unwrap().keys;
        assert_eq!((other.id.as_str(), other.token.as_deref()), ("o", Some("t")));
        assert!(read("b", &[("AWS_PROFILE", "none")], Some(file)).unwrap_err().contains("has none for the profile `none`"));
        assert!(read("b", &[("HOME", "/h")], None).unwrap_err().contains("/h/.aws/credentials cannot be read"));
        assert!(read("b", &KEYS[..1], None).unwrap_err().contains("AWS_SECRET_ACCESS_KEY is not"));
    }
}
