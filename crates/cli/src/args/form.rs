//! In which form a report is written.

use clap::Args;
use perbuck_lab::report::Format;

/// The form of a report.
#[derive(Debug, Args)]
pub(crate) struct FormArguments {
    /// Write these files only: `full` (report.html), `brief` (brief.html), `md` (report.md and figures/), `csv`, `xlsx` or `json`; `full,md` if not given
    #[arg(long, value_name = "FORMAT,…", value_delimiter = ',', value_parser = Format::ALL.map(|(_, word, _)| word))]
    pub(crate) format: Vec<String>,
    /// Print the report model as JSON instead of writing files
    #[arg(long, conflicts_with_all = ["output", "format"])]
    pub(crate) json: bool,
}

impl FormArguments {
    /// The formats to write, each once.
    pub(crate) fn formats(&self) -> Vec<Format> {
        let chosen = |(_, word, _): &(Format, &str, &str)| self.format.iter().any(|f| f == word);
        match Format::ALL.into_iter().filter(chosen).map(|(format, _, _)| format).collect::<Vec<_>>() {
            none if none.is_empty() => Format::USUAL.to_vec(),
            some => some,
        }
    }
}
