//! The deck of cards that fixes the mix of transactions (5.2.4.2).

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;

/// The kinds in the order of [`KINDS`].
pub(super) const NEW_ORDER: u8 = 0;
pub(super) const PAYMENT: u8 = 1;
pub(super) const ORDER_STATUS: u8 = 2;
pub(super) const DELIVERY: u8 = 3;
pub(super) const STOCK_LEVEL: u8 = 4;

/// Names of the kinds of transaction, in the order of their numbers.
pub const KINDS: &[&str] = &["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Ten new orders, ten payments and one each of the rest, as 5.2.4.2 words it.
const CARDS: [u8; 23] = {
    const N: u8 = NEW_ORDER;
    const P: u8 = PAYMENT;
    [N, N, N, N, N, N, N, N, N, N, P, P, P, P, P, P, P, P, P, P, ORDER_STATUS, DELIVERY, STOCK_LEVEL]
};

/// A terminal's deck; shuffled again whenever its cards are used up.
#[derive(Debug)]
pub(super) struct Deck {
    seed: Seed,
    terminal: u64,
    round: u64,
    cards: [u8; CARDS.len()],
    /// Shares of the kinds in percent, added up, where every transaction is drawn by itself.
    up_to: Option<[i64; 5]>,
}

/// Shares in percent of go-tpc's mix.
pub(super) const GO_TPC: [u8; 5] = [45, 43, 4, 4, 4];

impl Deck {
    pub(super) fn new(trial_seed: Seed, terminal: u32) -> Self {
        let (seed, terminal) = (trial_seed.derive("tpcc.deck"), u64::from(terminal));
        let mut deck = Self { seed, terminal, round: 0, cards: CARDS, up_to: None };
        deck.shuffle(0);
        deck
    }

    /// Each transaction drawn by itself, with these shares in percent.
    pub(super) fn weighted(trial_seed: Seed, terminal: u32, weights: [u8; 5]) -> Self {
        let mut sum = 0;
        let up_to = weights.map(|weight| {
            sum += i64::from(weight);
            sum
        });
        Self { up_to: Some(up_to), ..Self::new(trial_seed, terminal) }
    }

    /// The kind of operation `sequence`: a function of (seed, terminal, sequence), whatever was asked before.
    pub(super) fn card(&mut self, sequence: u64) -> u8 {
        if let Some(up_to) = &self.up_to {
            let drawn = OpRng::at(self.seed, self.terminal, sequence).between(1, 100);
            return up_to.iter().position(|up_to| drawn <= *up_to).unwrap_or_default() as u8;
        }
        let size = CARDS.len() as u64;
        if sequence / size != self.round {
            self.shuffle(sequence / size);
        }
        self.cards[(sequence % size) as usize]
    }

    fn shuffle(&mut self, round: u64) {
        self.round = round;
        self.cards = CARDS;
        OpRng::at(self.seed, self.terminal, round).shuffle(&mut self.cards);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::tests::fits;

    #[test]
    fn every_deck_holds_exactly_its_cards() {
        let mut deck = Deck::new(Seed(9), 3);
        for round in 0..1_000 {
            let mut counts = [0; 5];
            for i in 0..23 {
                counts[usize::from(deck.card(round * 23 + i))] += 1;
            }
            assert_eq!(counts, [10, 10, 1, 1, 1]);
        }
    }

    #[test]
    fn a_card_depends_on_seed_terminal_and_number_alone() {
        let cards = |terminal| {
            let mut deck = Deck::new(Seed(9), terminal);
            let mut backwards: Vec<u8> = (0..230).rev().map(|n| deck.card(n)).collect();
            backwards.reverse();
            assert_eq!((0..230).map(|n| deck.card(n)).collect::<Vec<u8>>(), backwards);
            backwards
        };
        assert_ne!(cards(3)[..23], cards(3)[23..46], "each deck is shuffled");
        assert_ne!(cards(3), cards(4));
    }

    #[test]
    fn cards_drawn_one_by_one_come_by_their_shares_alone() {
        let (mut deck, mut counts) = (Deck::weighted(Seed(9), 3, GO_TPC), [0u32; 5]);
        (0..100_000).for_each(|n| counts[usize::from(deck.card(n))] += 1);
        for (count, share) in counts.iter().zip([45_000u32, 43_000, 4_000, 4_000, 4_000]) {
            assert!(count.abs_diff(share) < 5 * 158, "{counts:?}");
        }
        // Hardly any 23 of them have ten new orders and ten payments.
        let whole = (0..1_000u64).filter(|r| (0..23).filter(|i| deck.card(r * 23 + i) == NEW_ORDER).count() == 10).count();
        assert!(whole < 250, "{whole}");
        let mut deck = Deck::weighted(Seed(9), 3, [0, 0, 100, 0, 0]);
        assert!((0..1_000).all(|n| deck.card(n) == ORDER_STATUS));
    }

    /// 5.2.4.2 wants the order random: each kind at each position by its share, and what follows a card by the shares of the rest.
    #[test]
    fn every_kind_is_at_every_position_by_its_share() {
        let mut first = [[0u64; 5]; 23];
        let mut pairs = [0u64; 25];
        for terminal in 0..20_000 {
            let mut deck = Deck::new(Seed(2), terminal);
            let cards: Vec<usize> = (0..23).map(|n| deck.card(n).into()).collect();
            cards.iter().zip(&mut first).for_each(|(card, seen)| seen[*card] += 1);
            pairs[5 * cards[4] + cards[5]] += 1;
        }
        let count = |kind: usize| [10.0, 10.0, 1.0, 1.0, 1.0][kind];
        let shares: Vec<f64> = (0..5).map(|k| count(k) / 23.0).collect();
        first.iter().enumerate().for_each(|(position, seen)| fits(&format!("position {position}"), seen, &shares));
        let pair = |i: usize| count(i / 5) * (count(i % 5) - f64::from(i / 5 == i % 5)) / (23.0 * 22.0);
        fits("a card and the next", &pairs, &(0..25).map(pair).collect::<Vec<f64>>());
    }
}
