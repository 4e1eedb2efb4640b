//! What the study itself cost: the time of its runs, and the machines that were up for it.

use perbuck_core::compare::{Spent, SpentMoney};
use perbuck_core::study::Stands;
use perbuck_core::units::{hours_text, unit_price_text};

use super::{Context, paragraph};
use crate::document::{Block, Cell, RowKind, Table};
use crate::number::rounded_percent;

/// `This answer took 1 h 52 min and $12.40.`
pub(super) fn sentence(all: &Context<'_>) -> Option<String> {
    all.comparison.spent.as_ref().map(|spent| format!("This answer took {}.", spent.text()))
}

pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let Some(spent) = &all.comparison.spent else { return Vec::new() };
    let time = "The time is that of every `perbuck run` of this study, from its start to its end. Loads, checks, pauses and void trials are \
                in it. The time between two commands is not, nor are the last seconds of a run that was killed.";
    let blocks = [paragraph(time), Block::Table(times(spent)), paragraph(money(all, spent))];
    blocks.into_iter().chain((!spent.machines.is_empty()).then(|| Block::Table(machines(all, spent)))).collect()
}

fn times(spent: &Spent) -> Table {
    let mut table = Table::new("The time of this answer", "For | #Time");
    for part in &spent.works {
        let share = part.took_ms as f64 / spent.took_ms.max(1) as f64;
        table.add([Cell::new(part.work.text()), Cell::noted(hours_text(part.took_ms), rounded_percent(share))]);
    }
    table.row(RowKind::Total, ["all", &hours_text(spent.took_ms)]);
    table
}

fn money(all: &Context<'_>, spent: &Spent) -> String {
    if all.study.notional {
        return "The study is notional: its trials did not run on the machines that it prices, so no dollars are counted."
            .to_owned();
    }
    if spent.machines.is_empty() {
        return "The study prices nothing, so no dollars are counted.".to_owned();
    }
    let rule = "A contender costs its bill by the hour, as long as it is up for the study";
    match (spent.machines.iter().any(|paid| paid.is_client), all.study.client.stands) {
        (false, _) => {
            format!("{rule}. The client is not counted: the study names no machine of its own for it that has a price.")
        }
        (true, Stands::Apart) => format!("{rule}. The client of all contenders is paid once."),
        (true, Stands::Beside) => format!("{rule}. So does the client of each contender."),
    }
}

fn machines(all: &Context<'_>, spent: &Spent) -> Table {
    let mut table = Table::new(
        "The machines of this answer: the price of a month / hours of a month × time",
        "What | #A month | #Hours of a month | #Up, seconds | #Cost",
    );
    for paid in &spent.machines {
        let hours = paid.hours_per_month.to_string();
        let up = format!("{}.{:03}", paid.up_ms / 1000, paid.up_ms % 1000);
        table.add([name(all, paid), unit_price_text(paid.monthly), hours, up, unit_price_text(paid.cost)]);
    }
    let total = spent.total.map(unit_price_text).unwrap_or_default();
    table.row(RowKind::Total, ["all", "", "", "", &total]);
    table
}

fn name(all: &Context<'_>, paid: &SpentMoney) -> String {
    match (&paid.contender, paid.is_client) {
        (Some(name), false) => all.label(name),
        (Some(name), true) => format!("client of {}", all.label(name)),
        (None, _) => "client".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perbuck_core::bill::{Amount, Bill, BillLine, LineGroup};
    use perbuck_core::compare::{Stretch, Work, compare, spent};
    use perbuck_core::study::{Rounding, Study};
    use perbuck_core::units::MicroUsd;

    fn line(item: &str, dollars: i64, priced: bool) -> BillLine {
        let [item, sku, unit] = [item, "m", "hour"].map(str::to_owned);
        let [formula, price_date, source] = [const { String::new() }; 3];
        let (unit_price, monthly) = (MicroUsd(1_000_000), MicroUsd(dollars * 1_000_000));
        let (group, amount) = (LineGroup::Compute, Some(Amount::Units { units: dollars }));
        let (disputed, processors) = (None, None);
        BillLine {
            group,
            item,
            sku,
            formula,
            unit_price,
            disputed,
            unit,
            monthly,
            amount,
            priced,
            price_date,
            source,
            processors,
        }
    }

    fn shown(head: &str, client: bool) -> String {
        let text = format!(
            "schema = 1\nname = \"s\"\n{head}\n[[contender]]\nname = \"a\"\nlabel = \"Arm\"\ntarget = \"sqlite:a.db\"\n[[workload]]\nname = \"w\"\n\
             kind = \"k\"\n[sweep]\nconnections = [8]\n"
        );
        let study = Study::read("s.toml", &text, &[]).unwrap();
        let lines = std::iter::once(line("db", 730, true)).chain(client.then(|| line("client", 73, false))).collect();
        let [contender, region, snapshot] = ["a", "r", "p"].map(str::to_owned);
        let (own_region, scenario, round) = (None, None, Rounding::None);
        let bill =
            Bill { contender, region, own_region, scenario, snapshot, lines, hours_per_month: 730, horizon_months: 1, round };
        let mut comparison = compare(&study, &[], std::slice::from_ref(&bill), &[]).unwrap();
        let stretch = |took_ms, work| Stretch { ended_unix_ms: 0, took_ms, work, up: vec!["a".into()], load: None };
        comparison.spent = spent(&study, &[bill], &[stretch(1_000_000, Work::Loads), stretch(800_500, Work::Trials)]);
        let all = Context::new(&study, &comparison, &[]);
        format!("{:?} {:?}", sentence(&all), section(&all))
    }

    #[test]
    fn what_the_study_cost_is_told_with_what_it_is_computed_from() {
        let text = shown("", true);
        let parts = [
            "This answer took 30 min 1 s and $0.55.",
            "16 min 40 s",
            "55.5 %",
            "\"Arm\"",
            "$730.00",
            "1800.500",
            "$0.500139",
            "$0.050014",
            "$0.550153",
        ];
        parts.into_iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
        assert!(shown("", false).contains("The client is not counted"));
        assert!(shown("[client]\nstands = \"beside\"", true).contains("client of Arm"));
        let notional = shown("notional = true", true);
        assert!(notional.contains("took 30 min 1 s.") && notional.contains("no dollars are counted"), "{notional}");
    }
}
