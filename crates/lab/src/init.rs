//! A first study: a template with the user's targets, machines and prices in it.

use std::path::{Path, PathBuf};

use perbuck_core::compare::other_machine;
use perbuck_core::problem::nearest;
use perbuck_core::run_record::Observed;
use perbuck_prices::Snapshot;
use perbuck_prices::snapshot::Instance;

use crate::error::LabError;
use crate::inputs;
use crate::registry::Registry;

/// A study to start from.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// Its name, `two-versions`.
    pub name: &'static str,
    /// What it compares, in a few words.
    pub what: &'static str,
    /// Its TOML text, a study that passes every check.
    pub text: &'static str,
}

macro_rules! template {
    ($name:literal, $what:literal) => {
        Template { name: $name, what: $what, text: include_str!(concat!("../templates/", $name, ".toml")) }
    };
}

/// All templates.
pub const TEMPLATES: [Template; 5] = [
    template!("two-versions", "two servers: two versions, or two databases"),
    template!("two-settings", "two settings of one server"),
    template!("arm-vs-x86", "the same database on an Arm and on an x86 machine"),
    template!("sizing", "a smaller and a larger machine"),
    template!("tidb-on-kubernetes", "two TiDB clusters on Arm and x86 nodes"),
];

/// Instances whose speed depends on credit, and databases that the provider runs, are not proposed.
const NOT_PROPOSED: [&str; 3] = ["t3", "t4g", ".db."];

/// The machine that runs perbuck, as a server on it would tell.
pub fn machine_here() -> Observed {
    perbuck_observe::machine(&perbuck_observe::host())
}

impl Template {
    /// The template of that name.
    ///
    /// # Errors
    /// That there is none, with the nearest one and the list.
    pub fn named(name: &str) -> Result<Self, LabError> {
        let names = TEMPLATES.map(|t| t.name);
        TEMPLATES.into_iter().find(|t| t.name == name).ok_or_else(|| {
            let near = nearest(name, names).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
            LabError::usage(format!("there is no template `{name}`"), format!("{near}the templates are: {}", names.join(", ")))
        })
    }

    /// The values of a key in it, each once, in their order.
    pub fn values(&self, key: &str) -> Vec<&'static str> {
        let mut values: Vec<&str> = Vec::new();
        for value in self.text.lines().filter(|l| !l.starts_with('#')).filter_map(|l| Some(value_of(l, key)?.1)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

/// Where the text of a key stands in a line, and the text.
fn value_of<'l>(line: &'l str, key: &str) -> Option<(usize, &'l str)> {
    let start = line.find(&format!("{key} = \""))? + key.len() + 4;
    let length = line[start..].find('"')?;
    Some((start, &line[start..start + length]))
}

/// What a user wants of a template.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The name of the study, which is that of its results folder.
    pub name: String,
    /// Targets in the order of the template's.
    pub targets: Vec<String>,
    /// Instances in the order of the template's; where there are none, those of the template stay.
    pub instances: Vec<String>,
    /// The price list.
    pub list: String,
    /// The region.
    pub region: String,
}

/// A study that was made from a template.
#[derive(Debug, Clone)]
pub struct Made {
    /// Its text.
    pub text: String,
    /// What to know about it: machines that are not those of the prices.
    pub remarks: Vec<String>,
}

/// Makes a study. `here` is the machine that runs perbuck, which is also that of targets on it.
///
/// # Errors
/// Every problem of the study that came out.
pub fn make(template: &Template, wishes: &Wishes, here: &Observed) -> Result<Made, LabError> {
    let pairs = |key: &str, new: &[String]| -> Vec<(String, String)> {
        template.values(key).iter().zip(new).map(|(old, new)| ((*old).to_owned(), new.clone())).collect()
    };
    let (targets, instances) = (pairs("target", &wishes.targets), pairs("instance", &wishes.instances));
    let snapshot = [(template.values("snapshot").concat(), wishes.list.clone())];
    let region = format!("regions = [{}]", toml_text(&wishes.region));
    let mut text = String::new();
    let mut named = false;
    for line in template.text.lines() {
        let mut line = line.to_owned();
        if line.starts_with("name = ") && !named {
            (line, named) = (format!("name = {}", toml_text(&wishes.name)), true);
        } else if line.starts_with("regions = ") {
            line.clone_from(&region);
        } else if !line.starts_with('#') {
            line = with_value(line, "target", &targets);
            line = with_value(line, "instance", &instances);
            line = with_value(line, "snapshot", &snapshot);
        } else {
            line = line.replace(template.values("snapshot")[0], &wishes.list);
        }
        text += &line;
        text.push('\n');
    }
    let read = |text: &str| {
        inputs::check("the new study", text.to_owned(), None, Registry::default()).map_err(|p| LabError::problems(&p))
    };
    let study = read(&text)?.study;
    let mut remarks = Vec::new();
    for contender in &study.contenders {
        let local = contender.target.as_ref().is_some_and(|t| is_here(&t.value));
        if let Some(other) = local.then(|| other_machine(&study, &contender.name, std::slice::from_ref(here))).flatten() {
            remarks.push(format!("contender `{}`: {other}", contender.name));
        }
    }
    if !remarks.is_empty() {
        let key = "notional = true        # the trials run on other machines than those that are priced\n";
        let at = text.find("seed = ").and_then(|at| Some(at + text[at..].find('\n')? + 1)).unwrap_or_default();
        text.insert_str(at, key);
        read(&text)?;
    }
    Ok(Made { text, remarks })
}

fn with_value(line: String, key: &str, pairs: &[(String, String)]) -> String {
    let found = value_of(&line, key).and_then(|(start, old)| Some((start, old.len(), &pairs.iter().find(|p| p.0 == old)?.1)));
    let Some((start, length, new)) = found else { return line };
    format!("{}{}{}", &line[..start - 1], toml_text(new), &line[start + length + 1..])
}

/// A text as TOML writes it.
fn toml_text(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Whether the database of a target runs on this machine, as far as its address tells.
pub fn is_here(target: &str) -> bool {
    // A target without a host is a file.
    let Some((_, rest)) = target.split_once("://") else { return true };
    let hosts = rest.split(['/', '?']).next().unwrap_or_default();
    let hosts = hosts.rsplit('@').next().unwrap_or_default();
    let local = |host: &str| host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
    hosts.split(',').all(local)
}

/// The instance of a region that is most like a machine: as many vCPU, or the next number, then the nearest memory, then the lowest
/// price. `None` where the list has none of that architecture.
pub fn propose<'l>(list: &'l Snapshot, region: &str, seen: &Observed) -> Option<&'l Instance> {
    let memory = seen.memory_bytes.map_or(8.0, |bytes| bytes as f64 / f64::from(1u32 << 30));
    let vcpus = seen.vcpus.unwrap_or(2);
    let off = |i: &Instance| {
        let short = u32::from(i.machine.vcpu < vcpus);
        let factor = (i.machine.memory_gib / memory).log2().abs();
        // Memory in tenths of a doubling, so that near ones count as alike and the price decides.
        (short, i.machine.vcpu.abs_diff(vcpus), (factor * 10.0) as u64, i.usd_per_hour)
    };
    let right = |i: &&Instance| {
        let family = i.machine.family.as_str();
        seen.arch.as_deref().is_none_or(|arch| arch == i.machine.arch)
            && !NOT_PROPOSED.iter().any(|not| family == *not || (not.starts_with('.') && family.contains(not)))
    };
    list.region(region)?.instances.iter().filter(right).min_by_key(|i| off(i))
}

/// Writes a study to a file that is not there yet.
///
/// # Errors
/// A file of that name, or what the system refuses.
pub fn write(path: &Path, text: &str) -> Result<PathBuf, LabError> {
    use std::io::Write as _;
    let file = std::fs::File::create_new(path);
    let mut file = file.map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            LabError::refused(format!("{} exists already", path.display()), "name another file, or remove that one")
        }
        _ => LabError::file("write the study", path, &e),
    })?;
    file.write_all(text.as_bytes()).map_err(LabError::of_file("write the study", path))?;
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perbuck_core::study::Located;

    fn here() -> Observed {
        Observed {
            source: "here".into(),
            arch: Some("x86_64".into()),
            vcpus: Some(4),
            memory_bytes: Some(16 << 30),
            ..Observed::default()
        }
    }

    #[test]
    fn every_template_passes_the_checks_as_it_stands() {
        for template in TEMPLATES {
            let read = inputs::check(template.name, template.text.to_owned(), None, Registry::default());
            let inputs = read.unwrap_or_else(|p| panic!("{}: {p:?}", template.name));
            assert_eq!(inputs.study.name, template.name);
            assert!(inputs.study.contenders.len() == 2 && !inputs.bills.is_empty(), "{}", template.name);
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/templates");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), TEMPLATES.len(), "each file is a template");
    }

    #[test]
    fn targets_machines_and_prices_of_a_user_stand_in_the_study() {
        let wishes = Wishes {
            name: "mine".into(),
            targets: vec!["mysql://me@127.0.0.1:3306/a".into(), "mysql://me@db2:3306/b".into()],
            instances: vec!["m7i.xlarge".into()],
            list: "aws-2026-07".into(),
            region: "us-west-2".into(),
        };
        let made = make(&Template::named("two-versions").unwrap(), &wishes, &here()).unwrap();
        for part in ["name = \"mine\"", "target = \"mysql://me@127.0.0.1:3306/a\"", "@db2:3306/b\"", "regions = [\"us-west-2\"]"]
        {
            assert!(made.text.contains(part), "{part}: {}", made.text);
        }
        assert_eq!(made.text.matches("instance = \"m7i.xlarge\"").count(), 2);
        assert!(made.remarks.is_empty() && !made.text.contains("notional"), "the machine is the priced one: {:?}", made.remarks);
        let other = Wishes { instances: vec!["m7g.large".into()], ..wishes.clone() };
        let made = make(&Template::named("two-versions").unwrap(), &other, &here()).unwrap();
        assert_eq!(made.remarks.len(), 1, "only the server on this machine is known: {:?}", made.remarks);
        assert!(made.text.contains("\nnotional = true"), "{}", made.text);
        let wrong = Wishes { instances: vec!["m7i.xlage".into()], ..wishes };
        let refused = make(&Template::named("two-versions").unwrap(), &wrong, &here()).unwrap_err().to_string();
        assert!(refused.contains("did you mean `m7i.xlarge`?"), "{refused}");
    }

    #[test]
    fn the_proposed_instance_is_the_one_most_like_the_machine() {
        let list = perbuck_prices::find(&Located { value: "aws-2026-07".into(), line: 1 }, "", "").unwrap();
        let name = |vcpus, gib: u64, arch: &str| {
            let seen = Observed { arch: Some(arch.into()), vcpus: Some(vcpus), memory_bytes: Some(gib << 30), ..here() };
            propose(&list, "us-east-1", &seen).unwrap().machine.name.clone()
        };
        let families = [name(4, 16, "x86_64"), name(8, 64, "aarch64"), name(3, 8, "x86_64")];
        assert!(families[0].starts_with('m') && families[0].ends_with(".xlarge"), "{families:?}");
        assert!(families[1].starts_with('r') && families[1].ends_with("g.2xlarge"), "{families:?}");
        assert!(families[2].starts_with('c') && families[2].ends_with(".xlarge"), "the next number of vCPU: {families:?}");
    }

    #[test]
    fn only_addresses_of_this_machine_are_here() {
        for target in ["sqlite:a.db", "mysql://me@localhost/x", "postgres://me@127.0.0.1:5432/x?tls=off", "mysql://[::1]/x"] {
            assert!(is_here(target), "{target}");
        }
        for target in ["mysql://me@db1/x", "mysql://me@localhost,db2/x", "mysql://localhost@db1/x"] {
            assert!(!is_here(target), "{target}");
        }
    }
}
