//! What a study asks of servers: a private one that perbuck starts and stops itself, or settings of one that runs already.

use std::collections::BTreeMap;

use super::attached;
use crate::toml_reader::{Located, Scalar, Section};

/// A server that lives as long as the command that needs it.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// mariadb, mysql, postgres, tidb, tikv.
    pub kind: Located<String>,
    /// The machine that it runs on, as `ssh://user@name:port`; this one where not given.
    pub host: Option<Located<String>>,
    /// What the version of the server must begin with.
    pub version: Option<Located<String>>,
    /// The server's program; looked for where not given.
    pub program: Option<Located<String>>,
    /// An existing folder for its data; the machine's folder for temporary files where not given.
    pub folder: Option<Located<String>>,
    /// Keys that only its kind knows: how many of each part of a cluster are started; empty for a server of one process.
    pub parts: BTreeMap<String, Located<Scalar>>,
    /// Options of its address, as in a target after the `?`.
    pub options: Option<Located<String>>,
    /// Settings in the server's own words; those in tables by their paths.
    pub config: BTreeMap<String, Located<String>>,
    /// A configuration file of the server, whose settings hold where `config` has no other.
    pub config_file: Option<ConfigFile>,
    /// Line in the study.
    pub line: usize,
}

/// A configuration file of a server.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// What the study calls it.
    pub name: Located<String>,
    /// What is in it.
    pub text: String,
    /// Its settings, where a reader of such files has read them: those that perbuck makes itself are not among them.
    pub settings: BTreeMap<String, String>,
}

impl ServerSpec {
    /// What of it decides what is measured.
    pub(crate) fn identity(&self) -> String {
        let text = |of: &Option<Located<String>>| of.as_ref().map(|t| t.value.clone());
        let config: Vec<_> = self.config.iter().map(|(key, value)| (key, &value.value)).collect();
        let own = format!(
            "{:?} {:?} {:?} {:?} {config:?}",
            self.kind.value,
            text(&self.version),
            text(&self.program),
            text(&self.folder)
        );
        // Studies of before they were known go on in their folders.
        let options = self.options.as_ref().map_or(String::new(), |options| format!(" {:?}", options.value));
        let parts: String = self.parts().into_iter().map(|(name, count)| format!(" {name} {count}")).collect();
        let file = self.config_file.as_ref().map_or(String::new(), |file| format!(" file {:?}", file.text));
        let host = self.host.as_ref().map_or(String::new(), |host| format!(" on {:?}", host.value));
        own + &options + &parts + &file + &host
    }

    /// How many of each part are started, where that is a count.
    pub fn parts(&self) -> BTreeMap<String, u32> {
        let count = |value: &Scalar| match value {
            Scalar::Int(count) => u32::try_from(*count).ok(),
            _ => None,
        };
        self.parts.iter().filter_map(|(name, found)| Some((name.clone(), count(&found.value)?))).collect()
    }

    /// Its settings without their lines: those of `config`, and those of its file.
    pub fn config(&self) -> BTreeMap<String, String> {
        let file = self.config_file.as_ref().map(|file| file.settings.clone()).unwrap_or_default();
        file.into_iter().chain(self.config.iter().map(|(key, found)| (key.clone(), found.value.clone()))).collect()
    }
}

pub(super) fn read_server(s: &Section<'_>, root: &Section<'_>) -> Option<ServerSpec> {
    let kind = s.required_text("kind", "\"mariadb\"");
    let (host, version, program, folder) = (s.text("host"), s.text("version"), s.text("program"), s.text("folder"));
    let config = s.table("config").map(|c| read_config(&c)).unwrap_or_default();
    let options = s.text("options");
    let config_file = s.text("config_file");
    let config_file =
        config_file.and_then(|name| Some(ConfigFile { text: attached::text_of(root, &name)?, name, settings: BTreeMap::new() }));
    let parts = s.remaining_scalars();
    s.finish();
    Some(ServerSpec { kind: kind?, host, version, program, folder, parts, options, config, config_file, line: s.line() })
}

/// Settings as the server's configuration file would have them, those in tables by their paths.
pub(super) fn read_config(config: &Section<'_>) -> BTreeMap<String, Located<String>> {
    let one = |(key, found): (String, Located<Scalar>)| (key, Located { value: written(&found.value), line: found.line });
    config.remaining_paths().into_iter().map(one).collect()
}

/// Whether a text can stand in SQL as the name of a variable.
pub fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `server_settings` of a contender, or of a level. What is read here becomes part of SQL, so names are identifiers and values hold nothing
/// that ends a string.
pub(super) fn read_server_settings(contender: &Section<'_>) -> BTreeMap<String, Located<String>> {
    let Some(s) = contender.table("server_settings") else { return BTreeMap::new() };
    let mut settings: BTreeMap<String, Located<String>> = BTreeMap::new();
    for (key, found) in s.remaining_scalars() {
        let (name, value) = (key.to_ascii_lowercase(), written(&found.value));
        // What was set is written down in the folder of results, which anybody may be given.
        if name.contains("passw") {
            let help = "set it on the server yourself, and leave it out here";
            s.report(&key, format!("`server_settings.{key}` looks like a password, which no study holds"), help);
        } else if !is_variable_name(&name) {
            let help = "use letters, digits and `_`, such as `tidb_enable_auto_analyze`";
            s.report(&key, format!("`{key}` in `server_settings` cannot be the name of a variable"), help);
        } else if value.contains(['\'', '"', '\\', '`']) || value.chars().any(char::is_control) {
            s.report(&key, format!("the value of `server_settings.{key}` holds a quote or a backslash"), "write it without them");
        } else if settings.insert(name, Located { value, line: found.line }).is_some() {
            s.report(&key, format!("`server_settings.{key}` is given twice"), "keep one of them; capitals make no difference");
        }
    }
    settings
}

/// A setting as the server's configuration file would have it.
fn written(value: &Scalar) -> String {
    match value {
        Scalar::Bool(on) => if *on { "ON" } else { "OFF" }.to_owned(),
        other => other.to_string(),
    }
}
