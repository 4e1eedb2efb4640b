//! Where processor time went, function by function, from the profiles of a point's trials.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Explained;
use crate::run_record::{MOST_SYMBOLS, Profile, RunRecord};

/// Whose processor time a profile is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileOf {
    /// The server's.
    Server,
    /// perbuck's.
    Client,
}

/// The profiles of a point's trials together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointProfile {
    /// Whose processor time it is.
    pub of: ProfileOf,
    /// Samples of all trials.
    pub samples: u64,
    /// Whether the kernel's part is missing in a trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user_only: bool,
    /// Functions by their share, largest first. Those beyond the first are in none.
    pub symbols: Vec<SymbolShare>,
}

/// A function's share of processor time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SymbolShare {
    /// The function.
    pub symbol: String,
    /// The program or library that it is in.
    pub object: String,
    /// Its share of all samples, 0 to 1.
    pub share: f64,
    /// That share of the processor time for a unit of what is compared, nanoseconds; absent where that time is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each_ns: Option<f64>,
}

/// How much more processor time one contender needs in a function than another one, for a unit of what is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct SymbolDifference<'e> {
    /// The function.
    pub symbol: &'e str,
    /// The program or library that it is in.
    pub object: &'e str,
    /// Of the one, nanoseconds; zero where it is not among its functions.
    pub own_ns: f64,
    /// Of the other.
    pub base_ns: f64,
    /// So much the difference may be by the samples alone: two standard errors, and what a symbol may have that is not among those kept.
    pub noise_ns: f64,
}

impl SymbolDifference<'_> {
    /// How much more it is, nanoseconds.
    pub fn more_ns(&self) -> f64 {
        self.own_ns - self.base_ns
    }

    /// Whether it is more than the samples scatter.
    pub fn is_shown(&self) -> bool {
        self.more_ns().abs() > self.noise_ns
    }
}

/// The profiles of a point, with what of it is known of the processor time for each unit.
pub(super) fn profiles(trials: &[&RunRecord], of: &Explained) -> Vec<PointProfile> {
    let each = |side: Option<super::ProcessorUse>| side.map(|used| used.each_ns);
    let server = merged(trials.iter().filter_map(|r| r.target.profile.as_ref()), ProfileOf::Server, each(of.server));
    let client = merged(trials.iter().filter_map(|r| r.health.profile.as_ref()), ProfileOf::Client, each(of.client));
    server.into_iter().chain(client).collect()
}

fn merged<'r>(all: impl Iterator<Item = &'r Profile>, of: ProfileOf, each_ns: Option<f64>) -> Option<PointProfile> {
    let taken: Vec<&Profile> = all.filter(|profile| profile.samples > 0).collect();
    let samples = taken.iter().fold(0, |sum: u64, profile| sum.saturating_add(profile.samples));
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for symbol in taken.iter().flat_map(|profile| &profile.symbols) {
        let sum = sums.entry((&symbol.symbol, &symbol.object)).or_default();
        *sum = sum.saturating_add(symbol.samples);
    }
    let mut sums: Vec<((&str, &str), u64)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, count)| Reverse(*count));
    let user_only = taken.iter().any(|profile| profile.user_only);
    // The time of each unit has the kernel's part, too.
    let each_ns = each_ns.filter(|_| !user_only);
    let one = |((symbol, object), count): ((&str, &str), u64)| {
        let share = count as f64 / samples as f64;
        SymbolShare { symbol: symbol.to_owned(), object: object.to_owned(), share, each_ns: each_ns.map(|ns| ns * share) }
    };
    (samples > 0).then(|| PointProfile {
        of,
        samples,
        user_only,
        symbols: sums.into_iter().take(MOST_SYMBOLS).map(one).collect(),
    })
}

impl SymbolShare {
    fn name(&self) -> (&str, &str) {
        (&self.symbol, &self.object)
    }
}

impl PointProfile {
    /// All processor time for a unit of what is compared, nanoseconds.
    pub fn each_ns(&self) -> Option<f64> {
        self.symbols.first().and_then(|symbol| Some(symbol.each_ns? / symbol.share))
    }

    /// The share of a symbol, and two standard errors of it. One that is not among those kept may have as much as the last of them.
    fn share(&self, name: (&str, &str)) -> (f64, f64) {
        let known = self.symbols.iter().find(|symbol| symbol.name() == name).map(|symbol| symbol.share);
        let last = self.symbols.last().filter(|_| self.symbols.len() >= MOST_SYMBOLS).map_or(0.0, |symbol| symbol.share);
        let share = known.unwrap_or(last);
        let error = 2.0 * (share * (1.0 - share) / self.samples as f64).sqrt();
        (known.unwrap_or_default(), if known.is_some() { error } else { error + last })
    }
}

impl Explained {
    /// The profile of one side.
    pub fn profile(&self, of: ProfileOf) -> Option<&PointProfile> {
        self.profiles.iter().find(|profile| profile.of == of)
    }

    /// In which functions this point needs more or less processor time than another one, the largest difference first. Nothing where the
    /// time is not told, or a profile lacks the kernel's part.
    pub fn profile_differences<'e>(&'e self, base: &'e Self, of: ProfileOf) -> Vec<SymbolDifference<'e>> {
        let Some((own, base)) = self.profile(of).zip(base.profile(of)) else { return Vec::new() };
        let (Some(own_each_ns), Some(base_each_ns)) = (own.each_ns(), base.each_ns()) else { return Vec::new() };
        let all: BTreeSet<(&str, &str)> = own.symbols.iter().chain(&base.symbols).map(SymbolShare::name).collect();
        let one = |(symbol, object)| {
            let (own_share, own_noise) = own.share((symbol, object));
            let (base_share, base_noise) = base.share((symbol, object));
            SymbolDifference {
                symbol,
                object,
                own_ns: own_share * own_each_ns,
                base_ns: base_share * base_each_ns,
                noise_ns: (own_noise * own_each_ns).hypot(base_noise * base_each_ns),
            }
        };
        let mut found: Vec<SymbolDifference<'_>> = all.into_iter().map(one).collect();
        found.sort_by(|a, b| b.more_ns().abs().total_cmp(&a.more_ns().abs()));
        found
    }
}
