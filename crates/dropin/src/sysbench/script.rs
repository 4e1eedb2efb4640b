//! Which script a command line names, its options, and what they make the workload do.

use std::collections::BTreeMap;
use std::path::Path;

use perbuck_core::problem::nearest;
use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::ParameterKind;
use perbuck_workloads::sysbench::{self, Compat, SCRIPTS, Script};

use super::options::{Kind, Spec, find};
use super::parse::Given;
use super::settings::Settings;
use crate::option::done;
use crate::refused::Refused;
use crate::study::Workload;

/// What a script is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Prepare,
    /// Reads the tables into the server's memory.
    Prewarm,
    Run,
    Cleanup,
    Help,
}

const ORDERS: [(&str, Order); 6] = [
    ("prepare", Order::Prepare),
    ("prewarm", Order::Prewarm),
    ("warmup", Order::Prewarm),
    ("run", Order::Run),
    ("cleanup", Order::Cleanup),
    ("help", Order::Help),
];

impl Order {
    /// Its word on the command line.
    pub(super) fn word(self) -> &'static str {
        ORDERS.iter().find(|(_, order)| *order == self).map_or("", |(word, _)| *word)
    }
}

/// Benchmarks of sysbench that are not scripts.
const BUILT_IN: [&str; 5] = ["fileio", "cpu", "memory", "threads", "mutex"];

/// The command that a command line names.
pub(super) fn order(given: &Given) -> Result<Order, Refused> {
    let words = ORDERS.map(|(word, _)| word);
    let Some(typed) = &given.command else {
        let list = "Supported commands: prepare, prewarm, run, cleanup, help";
        return Err(Refused::fatal(format!("Command is required. {list}"), "perbuck sysbench [options] SCRIPT COMMAND"));
    };
    if let Some((_, order)) = ORDERS.iter().find(|(word, _)| word == typed) {
        return Ok(*order);
    }
    let near = nearest(typed, words).map_or_else(|| format!("use one of {}", words.join(", ")), |n| format!("did you mean {n}?"));
    Err(Refused::usage(format!("Unknown command: {typed}"), near))
}

/// The script that a command line names, and a remark where its file is not read.
pub(super) fn script(given: &Given) -> Result<(Script, Option<String>), Refused> {
    let names = || SCRIPTS.map(|(name, _)| name);
    let all = || format!("perbuck runs these scripts, which it has built in: {}", names().join(", "));
    let Some(typed) = given.script.as_deref().filter(|s| *s != "-") else {
        let message = "no script is named";
        return Err(Refused::fatal(message, all()));
    };
    let path = Path::new(typed);
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix(".lua").unwrap_or(&stem);
    if let Some((_, script)) = SCRIPTS.iter().find(|(name, _)| *name == stem) {
        let read = typed != stem;
        return Ok((*script, read.then(|| format!("{typed} is not read: perbuck runs its own {stem}; --lua runs the file"))));
    }
    if BUILT_IN.contains(&typed) {
        let message = format!("the test '{typed}' measures no database, and perbuck does not have it");
        return Err(Refused::fatal(message, all()));
    }
    let message = format!("Cannot find benchmark '{typed}': no such built-in test, file or module");
    let near = nearest(stem, names()).map_or_else(all, |near| format!("did you mean {near}?"));
    let lua = "there is no such file";
    let help = if path.extension().is_some_and(|e| e == "lua") { format!("{lua}; {}", all()) } else { near };
    Err(Refused::fatal(message, help))
}

/// The options of one script, or of all, that are not options of every script.
pub(super) fn options(script: Option<Script>, compat: Option<Compat>) -> Vec<Spec> {
    let own = sysbench::option_help(script, compat).into_iter();
    let own = own.filter(|o| find(o.name).is_none() && o.name != "script");
    let kind = |kind| match kind {
        ParameterKind::Whole(..) | ParameterKind::Number(..) => Kind::Number,
        ParameterKind::Switch => Kind::Switch,
        ParameterKind::Text | ParameterKind::Files | ParameterKind::Log | ParameterKind::Tables => Kind::Text,
    };
    own.map(|o| done(o.name, kind(o.kind), o.default, o.help)).collect()
}

/// Options of every script that are the workload's.
pub(super) const SHARED: [&str; 6] =
    ["rand-type", "rand-spec-iter", "rand-spec-pct", "rand-spec-res", "rand-pareto-h", "rand-zipfian-exp"];

/// What the script does, checked, with the parameters that say so in a study. What a script without options of its own does
/// not know is left out with a remark, as sysbench leaves it out.
pub(super) fn workload(
    given: &Given,
    script: Script,
    settings: &Settings,
    remarks: &mut Vec<String>,
) -> Result<(Workload, sysbench::Options), Refused> {
    let mut parameters = BTreeMap::new();
    let mut put = |name: &str, value: Scalar| parameters.insert(name.to_owned(), value);
    let value = |name: &str, text: &String| sysbench::option_value(name, text).unwrap_or_else(|| Scalar::Text(text.clone()));
    put("script", Scalar::Text(script.name().to_owned()));
    if let Some(compat) = settings.compat {
        put("compat", Scalar::Text(compat.name().to_owned()));
    }
    let of_script: Vec<&str> = sysbench::option_help(Some(script), None).iter().map(|o| o.name).collect();
    for (name, text) in &given.own {
        if of_script.contains(&name.as_str()) {
            put(name, value(name, text));
        } else if script == Script::BulkInsert {
            remarks.push(format!("--{name}: {} has no such option, so it is ignored", script.name()));
        } else {
            let help = format!("{} has no such option; perbuck sysbench {0} help lists them", script.name());
            return Err(Refused::usage(format!("invalid option: --{name}={text}"), help));
        }
    }
    for shared in SHARED {
        if let Some(text) = given.general.get(shared) {
            let name = shared.replace('-', "_");
            put(&name, value(&name, text));
        }
    }
    if script == Script::BulkInsert {
        put("threads", Scalar::Int(i64::from(settings.load.connections)));
    }
    Workload::of(script.name(), parameters).map_err(|problems| refused(&problems, given))
}

fn refused(problems: &[perbuck_workloads::params::ParamProblem], given: &Given) -> Refused {
    let Some(first) = problems.first() else { return Refused::usage("the options of the script are wrong", "") };
    if let ("rand_type", Some(typed)) = (first.key.as_str(), given.general.get("rand-type")) {
        let help = match typed.as_str() {
            "zipfian" => "use --compat=sysbench-1.1, which has it, or --compat=perbuck",
            "special" => "use --compat=sysbench-1.0, which has it, or --compat=perbuck",
            _ => &first.help,
        };
        return Refused::fatal(format!("Invalid random numbers distribution: {typed}."), format!("{}; {help}", first.message));
    }
    Refused::usage(format!("Invalid value for the '{}' option: {}", first.key, first.message), first.help.clone())
}

#[cfg(test)]
mod tests {
    use super::super::golden;
    use super::*;
    use crate::cases::hold_refused;

    fn given(words: &[&str]) -> Given {
        golden::read(words).unwrap()
    }

    fn read(words: &[&str]) -> Result<(Workload, sysbench::Options), Refused> {
        let given = given(words);
        let settings = Settings::read(&given)?;
        workload(&given, script(&given)?.0, &settings, &mut Vec::new())
    }

    #[test]
    fn scripts_are_named_with_or_without_path_and_suffix() {
        for typed in ["oltp_read_write", "oltp_read_write.lua", "/usr/share/sysbench/oltp_read_write.lua"] {
            let (script, remark) = script(&given(&[typed, "run"])).unwrap();
            assert_eq!((script, remark.is_some()), (Script::ReadWrite, typed.contains('.')), "{typed}");
        }
        for (typed, said) in [
            ("oltp_read_wrte", "did you mean oltp_read_write?"),
            ("./mine.lua", "there is no such file"),
            ("-", "built in: oltp_point_select"),
        ] {
            let refused = script(&given(&[typed, "run"])).unwrap_err();
            assert!(refused.fatal && refused.help.contains(said), "{typed}: {refused:?}");
        }
    }

    #[test]
    fn commands_are_those_of_sysbench() {
        assert_eq!(order(&given(&["x", "warmup"])), Ok(Order::Prewarm));
        assert_eq!(order(&given(&["x"])).unwrap_err().message.split('.').next(), Some("Command is required"));
        let unknown = order(&given(&["x", "prepar"])).unwrap_err();
        assert_eq!((unknown.message.as_str(), unknown.help.as_str()), ("Unknown command: prepar", "did you mean prepare?"));
    }

    #[test]
    fn options_reach_the_workload() {
        let words = ["oltp_read_only", "--tables=4", "--table-size=1e3", "--rand-type=pareto", "--skip-trx"];
        let (workload, o) = read(&words).unwrap();
        assert_eq!((o.tables, o.table_size, o.skip_trx, o.rand_type.name()), (4, 1000, true, "pareto"));
        assert_eq!(workload.parameters["tables"], Scalar::Int(4));
        assert_eq!(read(&["oltp_read_only"]).unwrap().1.rand_type.name(), "special");
        assert_eq!(read(&["oltp_read_only", "--compat=sysbench-1.1"]).unwrap().1.rand_type.name(), "uniform");
        assert_eq!(read(&["bulk_insert", "--threads=7", "--tables=3"]).unwrap().1.table_count(), 7);
    }

    #[test]
    fn what_a_script_cannot_do_is_refused() {
        let cases: &[(&[&str], &str)] = &[
            (&["oltp_read_only", "--rand-type=zipf"], "Invalid random numbers distribution: zipf."),
            (&["oltp_read_only", "--rand-type=zipfian"], "Invalid random numbers distribution: zipfian."),
            (&["oltp_read_only", "--tables=0"], "Invalid value for the 'tables' option: `tables` is 0"),
            (&["oltp_read_only", "--random-points=3"], "invalid option: --random_points=3"),
            (&["oltp_read_only", "--table-size=3000000000"], "Invalid value for the 'table_size' option"),
        ];
        hold_refused(read, cases);
    }
}
