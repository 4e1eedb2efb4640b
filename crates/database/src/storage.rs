//! The storage to which servers themselves write backups: what a study names, and the keys to it, which no file and no message holds.

use std::fmt;

use crate::address::{TargetProblem, percent_decode, problem};

const FORM: &str = "write for instance backup = \"s3://BUCKET/FOLDER?region=eu-central-1\"";
/// Storages whose keys the servers leave out of their own logs, and a folder that all of them share.
const SCHEMES: [&str; 5] = ["s3", "gs", "gcs", "local", "file"];
/// What the options of a storage hold that opens it.
const OPENING: [&str; 3] = ["key", "secret", "token"];

/// A storage.
#[derive(Clone, PartialEq, Eq)]
pub struct Storage {
    /// Scheme, bucket and folder.
    base: String,
    /// Options that a study may hold.
    options: String,
    /// Options that it may not.
    keys: String,
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({})", self.base)
    }
}

impl Storage {
    /// Reads what a study names. `keys` are options such as `access-key=…&secret-access-key=…` from elsewhere.
    ///
    /// # Errors
    /// What is no such storage, and a key in the study; the message quotes nothing that may be one.
    pub fn parse(url: &str, keys: &str) -> Result<Self, TargetProblem> {
        let (base, options) = url.split_once('?').unwrap_or((url, ""));
        let known = |scheme: &&str| SCHEMES.contains(scheme);
        let Some((scheme, path)) = base.split_once("://").filter(|(scheme, _)| known(scheme)) else {
            return problem(
                "`backup` begins with no storage that is known here",
                format!("{FORM}, or gs://… or local:///FOLDER"),
            );
        };
        if path.contains('@') || pairs(options).any(|(name, _)| opens(name)) {
            return problem("`backup` holds a key, and studies are copied and shared", help_of_keys());
        }
        let path = path.trim_end_matches('/');
        if path.is_empty() || matches!(scheme, "local" | "file") != path.starts_with('/') {
            return problem("`backup` names no bucket or no folder", format!("{FORM}, or local:///FOLDER"));
        }
        for (what, text) in [("`backup`", url), ("the variable of its keys", keys)] {
            if !text.chars().all(|c| c.is_ascii_graphic() && !"'\"`\\#".contains(c)) {
                return problem(
                    format!("{what} holds a character that a URL cannot hold"),
                    "write it by a percent sign, such as %20",
                );
            }
            percent_decode(text, what)?;
        }
        if keys.split('&').any(|option| !keys.is_empty() && !option.contains('=')) {
            return problem("the variable of the keys of `backup` has an option without `=`", help_of_keys());
        }
        Ok(Self { base: format!("{scheme}://{path}"), options: options.to_owned(), keys: keys.to_owned() })
    }

    /// Whether it has keys.
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// A folder in it, as messages and notes name it.
    pub fn folder(&self, name: &str) -> String {
        format!("{}/{name}", self.base)
    }

    /// Whether this folder is one in it.
    pub fn holds(&self, folder: &str) -> bool {
        folder.strip_prefix(&self.base).is_some_and(|rest| rest.starts_with('/'))
    }

    /// How servers reach that folder: with all options and keys.
    pub fn url(&self, folder: &str) -> String {
        let options: Vec<&str> = [&*self.options, &self.keys].into_iter().filter(|text| !text.is_empty()).collect();
        if options.is_empty() { folder.to_owned() } else { format!("{folder}?{}", options.join("&")) }
    }

    /// What a server said, without the keys: an error can repeat them.
    pub fn without_keys(&self, said: &str) -> String {
        let values = pairs(&self.keys).flat_map(|(_, value)| [Some(value.to_owned()), percent_decode(value, "").ok()]).flatten();
        let mut values: Vec<String> = values.filter(|value| !value.is_empty()).collect();
        // One may be a part of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.iter().fold(said.to_owned(), |text, value| text.replace(value, "…"))
    }
}

fn pairs(options: &str) -> impl Iterator<Item = (&str, &str)> {
    options.split('&').map(|option| option.split_once('=').unwrap_or((option, "")))
}

/// Whether an option of this name holds what opens a storage. The name of a key that encrypts at the storage does not.
fn opens(name: &str) -> bool {
    let name = percent_decode(name, "").unwrap_or_default().to_ascii_lowercase().replace('_', "-");
    name != "sse-kms-key-id" && OPENING.iter().any(|word| name.contains(word))
}

fn help_of_keys() -> &'static str {
    "let the servers have a role of their own, or put the keys into PERBUCK_<CONTENDER>_BACKUP, as \
     access-key=…&secret-access-key=…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_names_a_storage_and_the_keys_come_from_elsewhere() {
        let plain = Storage::parse("s3://b/some/folder/?region=r&sse-kms-key-id=k", "").unwrap();
        let folder = plain.folder("perbuck-x-1");
        assert_eq!(folder, "s3://b/some/folder/perbuck-x-1");
        assert_eq!(plain.url(&folder), format!("{folder}?region=r&sse-kms-key-id=k"));
        assert!(plain.holds(&folder) && !plain.holds("s3://b/some/folders/x") && !plain.has_keys());
        let keyed = Storage::parse("s3://b", "access-key=AK1&secret-access-key=s%2Fe").unwrap();
        assert_eq!(keyed.url(&keyed.folder("f")), "s3://b/f?access-key=AK1&secret-access-key=s%2Fe");
        assert_eq!(keyed.without_keys("AK1: no, with s/e and s%2Fe"), "…: no, with … and …");
        assert_eq!(format!("{keyed:?}"), "Storage(s3://b)");
        for local in ["local:///mnt/x", "file:///mnt/x", "gs://b/x", "gcs://b?credentials-file=/c.json"] {
            assert!(Storage::parse(local, "").is_ok(), "{local}");
        }
    }

    #[test]
    fn keys_in_a_study_are_refused_and_never_quoted() {
        let keys = ["?access-key=hunter2", "?x=1&SECRET_ACCESS_KEY=hunter2", "?session-token=hunter2", "?%61ccess-key=hunter2"];
        let all = keys.map(|options| format!("s3://b/x{options}")).into_iter().chain(["s3://hunter2:hunter2@b/x".to_owned()]);
        for url in all {
            let refused = Storage::parse(&url, "").unwrap_err().to_string();
            assert!(refused.contains("holds a key") && refused.contains("PERBUCK_<CONTENDER>_BACKUP"), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
        let wrong = [
            ("azure://b/x?account-name=hunter2", ""),
            ("hunter2", ""),
            ("s3://", ""),
            ("local://hunter2", ""),
            ("s3:///hunter2", ""),
            ("s3://b/hunter2'", ""),
            ("s3://b", "access-key=hunter2'"),
            ("s3://b", "hunter2"),
            ("s3://b", "access-key=hunter2%"),
        ];
        for (url, keys) in wrong {
            let refused = Storage::parse(url, keys).unwrap_err().to_string();
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }
}
