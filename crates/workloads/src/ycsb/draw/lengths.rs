//! How long a field is.

use std::collections::BTreeMap;

use perbuck_core::rng::OpRng;

use super::zipfian::Gray;
use crate::params::{Reader, put};

/// A distribution of lengths in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Lengths {
    /// Always the same.
    Constant(u32),
    /// Every length of a range alike.
    Uniform(u32, u32),
    /// Zipfian on a range: short fields are frequent.
    Zipfian(u32, u32),
    /// `weights[i]` is that of `(i + 1) * block` bytes; one at least is above 0.
    Histogram { block: u32, weights: Vec<u64> },
}

impl Lengths {
    /// About the mean; of a Zipfian law, which the shortest dominate, the shortest.
    pub(crate) fn about(&self) -> u32 {
        match self {
            Self::Constant(length) | Self::Zipfian(length, _) => *length,
            Self::Uniform(shortest, longest) => shortest.midpoint(*longest),
            Self::Histogram { block, weights } => {
                let all: u64 = weights.iter().sum();
                let blocks: u64 = weights.iter().zip(1..).map(|(weight, length): (&u64, u64)| weight * length).sum();
                block * (blocks / all.max(1)) as u32
            }
        }
    }

    pub(crate) fn longest(&self) -> u32 {
        match self {
            Self::Constant(length) | Self::Uniform(_, length) | Self::Zipfian(_, length) => *length,
            Self::Histogram { block, weights } => block * weights.iter().rposition(|w| *w > 0).map_or(0, |i| i as u32 + 1),
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Self {
        let high = reader.int("fieldlength") as u32;
        let low = reader.int("minfieldlength") as u32;
        let text = reader.text("fieldlengthhistogram");
        let laws = ["constant", "uniform", "zipfian", "histogram"].map(|law| (law, law));
        match reader.word("fieldlengthdistribution", &laws, "constant") {
            "uniform" | "zipfian" if low > high => {
                let message = format!("`minfieldlength` {low} is above `fieldlength` {high}");
                reader.problem("minfieldlength", message, "raise `fieldlength`");
                Self::Constant(high)
            }
            "uniform" => Self::Uniform(low, high),
            "zipfian" => Self::Zipfian(low, high),
            "histogram" => Self::parse_histogram(&text).unwrap_or_else(|| {
                let help = "write the bytes of a block, then the weights of lengths of 1, 2, 3 … blocks, such as \"10: 1 0 5\"";
                reader.problem("fieldlengthhistogram", format!("`fieldlengthhistogram` is \"{text}\""), help);
                Self::Constant(high)
            }),
            _ => Self::Constant(high),
        }
    }

    pub(crate) fn put(&self, all: &mut BTreeMap<String, String>) {
        put(all, "fieldlength", &self.longest());
        let law = match self {
            Self::Constant(_) => "constant",
            Self::Uniform(..) => "uniform",
            Self::Zipfian(..) => "zipfian",
            Self::Histogram { .. } => "histogram",
        };
        put(all, "fieldlengthdistribution", &law);
        if let Self::Uniform(low, _) | Self::Zipfian(low, _) = self {
            put(all, "minfieldlength", low);
        }
        if let Self::Histogram { block, weights } = self {
            let weights: Vec<String> = weights.iter().map(u64::to_string).collect();
            put(all, "fieldlengthhistogram", &format!("{block}: {}", weights.join(" ")));
        }
    }

    /// Reads `BLOCK: WEIGHT WEIGHT …`.
    pub(crate) fn parse_histogram(text: &str) -> Option<Self> {
        let (block, weights) = text.split_once(':')?;
        let block = block.trim().parse().ok().filter(|b| (1..=1 << 20).contains(b))?;
        let weights: Vec<u64> = weights.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let total = weights.iter().try_fold(0u64, |sum, w| sum.checked_add(*w))?;
        let fits = u64::from(block) * weights.len() as u64 <= 1 << 24;
        (total > 0 && fits).then_some(Self::Histogram { block, weights })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    lengths: Lengths,
    zipfian: Gray,
    total: u64,
}

impl Drawn {
    pub(crate) fn new(lengths: &Lengths) -> Self {
        let ranks = if let Lengths::Zipfian(low, high) = lengths { u64::from(high - low) + 1 } else { 1 };
        let total = if let Lengths::Histogram { weights, .. } = lengths { weights.iter().sum() } else { 0 };
        Self { lengths: lengths.clone(), zipfian: Gray::new(ranks), total }
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut OpRng) -> usize {
        match &self.lengths {
            Lengths::Constant(length) => *length as usize,
            Lengths::Uniform(low, high) => rng.between(i64::from(*low), i64::from(*high)) as usize,
            Lengths::Zipfian(low, _) => *low as usize + self.zipfian.draw(rng) as usize,
            Lengths::Histogram { block, weights } => {
                let mut left = rng.below(self.total);
                let mut steps = 0;
                for weight in weights {
                    steps += 1;
                    if left < *weight {
                        break;
                    }
                    left -= weight;
                }
                *block as usize * steps
            }
        }
    }
}
