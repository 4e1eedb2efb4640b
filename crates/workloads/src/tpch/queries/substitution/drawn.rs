//! Values drawn at random (the third part of each clause 2.4.x): each uniform over its range or its list.

use perbuck_core::rng::OpRng;
use tpchgen::distribution::Distributions;

use super::Substitution;
use crate::day::Day;
use crate::tpch::Scale;

/// WORD1 and WORD2 of query 13.
const WORDS: [[&str; 4]; 2] = [["special", "pending", "unusual", "express"], ["packages", "requests", "accounts", "deposits"]];

impl Substitution {
    /// Values of query 1 to 22.
    pub(in crate::tpch) fn drawn(number: usize, rng: &mut OpRng, scale: Scale) -> Self {
        debug_assert!((1..=22).contains(&number));
        let rng = &mut Draw { rng, words: Distributions::static_default() };
        if number <= 11 { rng.first_half(number, scale) } else { rng.second_half(number) }
    }
}

struct Draw<'a> {
    rng: &'a mut OpRng,
    words: &'static Distributions,
}

impl Draw<'_> {
    fn first_half(&mut self, number: usize, scale: Scale) -> Substitution {
        match number {
            1 => Substitution::Q1 { delta: self.between(60, 120) },
            2 => Substitution::Q2 { size: self.between(1, 50), kind: self.last_syllable(), region: self.region() },
            3 => {
                let segment = self.word(self.words.market_segments().get_values());
                Substitution::Q3 { segment, date: Day::new(1995, 3, self.between(1, 31)) }
            }
            4 => Substitution::Q4 { date: self.quarter() },
            5 => Substitution::Q5 { region: self.region(), date: self.year() },
            6 => Substitution::Q6 { date: self.year(), discount: self.between(2, 9), quantity: self.between(24, 25) },
            7 => Substitution::Q7 { nations: self.two(self.words.nations().get_values()) },
            8 => {
                let nation = self.below(25);
                // The weights of this list lead from the region of a nation to that of the next one.
                let region = self.words.nations().get_weight(nation) as usize;
                let (nations, regions) = (self.words.nations().get_values(), self.words.regions().get_values());
                let kind = self.word(self.words.part_types().get_values());
                Substitution::Q8 { nation: nations[nation], region: regions[region], kind }
            }
            9 => Substitution::Q9 { color: self.color() },
            // From the second month of 1993 to the first one of 1995.
            10 => Substitution::Q10 { date: self.month(2, 24) },
            _ => Substitution::Q11 { nation: self.nation(), scale },
        }
    }

    fn second_half(&mut self, number: usize) -> Substitution {
        match number {
            12 => Substitution::Q12 { modes: self.two(self.words.ship_modes().get_values()), date: self.year() },
            13 => Substitution::Q13 { words: WORDS.map(|words| words[self.below(4)]) },
            14 => Substitution::Q14 { date: self.month(1, 60) },
            15 => Substitution::Q15 { date: self.quarter() },
            16 => {
                let kind = self.word(self.words.part_types().get_values());
                let kind = kind.rsplit_once(' ').map_or(kind, |(first_two, _)| first_two);
                Substitution::Q16 { brand: self.brand(), kind, sizes: self.some(1, 50) }
            }
            17 => {
                let container = self.word(self.words.part_containers().get_values());
                Substitution::Q17 { brand: self.brand(), container }
            }
            18 => Substitution::Q18 { quantity: self.between(312, 315) },
            19 => {
                let quantities = [(1, 10), (10, 20), (20, 30)].map(|(low, high)| self.between(low, high));
                Substitution::Q19 { quantities, brands: [(); 3].map(|()| self.brand()) }
            }
            20 => Substitution::Q20 { color: self.color(), date: self.year(), nation: self.nation() },
            21 => Substitution::Q21 { nation: self.nation() },
            // The country code of a nation is its key and 10 (4.2.2.9).
            _ => Substitution::Q22 { codes: self.some(10, 34) },
        }
    }

    fn below(&mut self, count: usize) -> usize {
        self.rng.below(count as u64) as usize
    }

    fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.rng.below(u64::from(high - low + 1)) as u32
    }

    fn word(&mut self, list: &'static [&'static str]) -> &'static str {
        list[self.below(list.len())]
    }

    /// Two words that differ.
    fn two(&mut self, list: &'static [&'static str]) -> [&'static str; 2] {
        let first = self.below(list.len());
        let second = first + 1 + self.below(list.len() - 1);
        [list[first], list[second % list.len()]]
    }

    /// Some numbers of `low..=high`, none twice, in any order.
    fn some<const COUNT: usize>(&mut self, low: u32, high: u32) -> [u32; COUNT] {
        let mut all: Vec<u32> = (low..=high).collect();
        self.rng.shuffle(&mut all);
        std::array::from_fn(|i| all[i])
    }

    fn nation(&mut self) -> &'static str {
        self.word(self.words.nations().get_values())
    }

    fn region(&mut self) -> &'static str {
        self.word(self.words.regions().get_values())
    }

    fn color(&mut self) -> &'static str {
        self.word(self.words.part_colors().get_values())
    }

    fn last_syllable(&mut self) -> &'static str {
        let kind = self.word(self.words.part_types().get_values());
        kind.rsplit_once(' ').map_or(kind, |(_, last)| last)
    }

    fn brand(&mut self) -> u32 {
        self.between(1, 5) * 10 + self.between(1, 5)
    }

    /// The first day of a month: of so many from a month of 1993.
    fn month(&mut self, first: u32, count: u32) -> Day {
        Day::new(1993, first + self.between(0, count - 1), 1)
    }

    /// The first day of a month that three months of the data follow: from the first one of 1993 to the tenth one of 1997.
    fn quarter(&mut self) -> Day {
        self.month(1, 58)
    }

    /// The first day of a year from 1993 to 1997.
    fn year(&mut self) -> Day {
        Day::new(self.between(1993, 1997), 1, 1)
    }
}
