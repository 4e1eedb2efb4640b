//! The command line of `perbuck prices`; the doc comments are the help.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use perbuck_prices::import::Format as ListFormat;

#[derive(Debug, Args)]
pub(crate) struct PricesArguments {
    #[command(subcommand)]
    pub(crate) command: PricesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PricesCommand {
    /// List the price snapshots that come with perbuck
    List(ListArguments),
    /// Print the prices of a snapshot
    Show(ShowArguments),
    /// Find machines of another architecture that match one: of equal compute, memory or cost
    Match(MatchArguments),
    /// Find prices that cannot be right: dedicated tenancy, Windows licences, sizes that do not scale
    Lint(LintArguments),
    /// Print the differences between two snapshots
    Diff(DiffArguments),
    /// Make a snapshot of a public price list
    Import(ImportArguments),
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// A table
    Text,
    /// JSON, money in micro-dollars
    Json,
    /// A table with a header, money in dollars
    Csv,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Only snapshots of this provider
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Vec<String>,
    /// How to print
    #[arg(long, value_name = "HOW", default_value = "text")]
    pub(crate) format: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The name of a bundled snapshot, or a snapshot file
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshot: String,
    /// Only this region; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Vec<String>,
    /// Only machines of this family; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) family: Vec<String>,
    /// Only this machine type; may be given several times
    #[arg(long = "type", value_name = "NAME")]
    pub(crate) types: Vec<String>,
    /// Only machines of this architecture
    #[arg(long, value_name = "ARCH", value_parser = ["aarch64", "x86_64"])]
    pub(crate) arch: Option<String>,
    /// What to print; csv holds one kind of row, machines if not given
    #[arg(long, value_name = "KIND")]
    pub(crate) only: Option<Kind>,
    /// How to print
    #[arg(long, value_name = "HOW", default_value = "text")]
    pub(crate) format: Output,
    /// Print rows of a price file, to start your own from: `--prices` puts them over the list
    #[arg(long, conflicts_with = "format")]
    pub(crate) toml: bool,
}

/// What a pair of machines has in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatchBy {
    /// Virtual CPUs: equal compute
    Vcpu,
    /// Memory
    Memory,
    /// The list price of an hour: equal cost
    Cost,
}

#[derive(Debug, Args)]
pub(crate) struct MatchArguments {
    /// The machine type to match
    #[arg(value_name = "TYPE")]
    pub(crate) machine: String,
    /// The architecture of the machines that are looked for
    #[arg(long, value_name = "ARCH", value_parser = ["aarch64", "x86_64"])]
    pub(crate) arch: String,
    /// What they have in common
    #[arg(long, value_name = "WHAT", default_value = "vcpu")]
    pub(crate) by: MatchBy,
    /// A bundled snapshot or a snapshot file; the newest bundled one that has the machine if not given
    #[arg(long, value_name = "SNAPSHOT")]
    pub(crate) snapshot: Option<String>,
    /// The region; the first one that has the machine if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// Print JSON, money in micro-dollars
    #[arg(long)]
    pub(crate) json: bool,
}

/// The kinds of rows of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Machine types
    Machines,
    /// Volumes and their snapshots
    Volumes,
    /// Control planes, load balancers, traffic
    Fees,
}

#[derive(Debug, Args)]
pub(crate) struct LintArguments {
    /// Names of bundled snapshots, or snapshot files; all bundled ones if none is given
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<String>,
    /// Another list of the same prices: one that differs by more than 2 % is a fault, unless it has `disputed_usd`
    #[arg(long, value_name = "SNAPSHOT")]
    pub(crate) against: Option<String>,
    /// How to print
    #[arg(long, value_name = "HOW", default_value = "text")]
    pub(crate) format: Output,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The older snapshot: a bundled name or a file
    #[arg(value_name = "OLD")]
    pub(crate) old: String,
    /// The newer snapshot: a bundled name or a file
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    /// Only this region; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Vec<String>,
    /// Only prices that both have and that changed
    #[arg(long)]
    pub(crate) changed: bool,
    /// How to print
    #[arg(long, value_name = "HOW", default_value = "text")]
    pub(crate) format: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The format of the list
    #[arg(value_name = "FORMAT", value_parser = list_format())]
    pub(crate) format: ListFormat,
    /// The list, uncompressed; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The date of the list
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
    pub(crate) date: String,
    /// The snapshot file to write; its name without .toml becomes that of the snapshot
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Only this region; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Vec<String>,
    /// Only this family of machines, such as c6g or n2-standard; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) family: Vec<String>,
    /// The provider, if the list does not name it
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Also import prices of spare capacity (spot)
    #[arg(long)]
    pub(crate) spot: bool,
    /// Also import prices with a commitment (reservations, savings plans)
    #[arg(long)]
    pub(crate) commitments: bool,
    /// A table with the sizes of machine types (type, vcpu, memory_gib), for lists that do not have them
    #[arg(long, value_name = "FILE")]
    pub(crate) machines: Option<PathBuf>,
    /// Replace the output file if it is there
    #[arg(long)]
    pub(crate) force: bool,
}

fn list_format() -> impl TypedValueParser<Value = ListFormat> {
    let of = |typed: String| ListFormat::ALL.iter().find(|(_, word)| *word == typed).map(|(format, _)| *format);
    PossibleValuesParser::new(ListFormat::ALL.map(|(_, word)| word)).try_map(move |typed| of(typed).ok_or("no such format"))
}

/// A day as `2026-07-20`.
fn date(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, digits: usize| {
        (part.len() == digits && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse::<u32>().ok()).flatten()
    };
    let [year, month, day] = parts[..] else { return Err("write year, month and day: 2026-07-20".to_owned()) };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return Err("write year, month and day: 2026-07-20".to_owned());
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    if (1..=days).contains(&day) { Ok(text.to_owned()) } else { Err("there is no such day".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_that_exist_are_dates() {
        for good in ["2026-07-20", "2024-02-29", "2000-02-29"] {
            assert_eq!(date(good), Ok(good.to_owned()));
        }
        for bad in
            ["2026-7-20", "2026-07", "2026-13-01", "2023-02-29", "1900-02-29", "2026-00-10", "2026-04-31", "today", "+026-01-01"]
        {
            assert!(date(bad).is_err(), "{bad}");
        }
    }
}
