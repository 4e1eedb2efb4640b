//! What a study cost: the time that its runs used, and what the machines that were up for it cost in that time.
//!
//! A bill is of a month. As long as a contender is up it costs its bill divided by the hours of that month. The client costs the lines of
//! its role, which the bills show and do not add up. A study whose trials run on other machines than it prices spends nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bill::Bill;
use crate::study::{CLIENT, Contender, Stands, Study};
use crate::units::{MicroUsd, hours_text, total};

/// Milliseconds of an hour.
const MS_PER_HOUR: i128 = 3_600_000;

/// What a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Servers or clusters are made, looked at and ended.
    Servers,
    /// Data are loaded, checked after the load, and read into memory.
    Loads,
    /// Trials, void ones too, with their cool-down and their warm-up.
    Trials,
    /// Data are checked after the last trial.
    Checks,
}

impl Work {
    /// All of it, in the order of a run.
    pub const ALL: [Self; 4] = [Self::Servers, Self::Loads, Self::Trials, Self::Checks];

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Servers => "servers",
            Self::Loads => "loads",
            Self::Trials => "trials",
            Self::Checks => "checks",
        }
    }
}

/// A stretch of a run: a line of the file `used.jsonl` of its results folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// When it ended, milliseconds since 1970 UTC.
    pub ended_unix_ms: u64,
    /// How long it took by a clock that is never set, milliseconds.
    pub took_ms: u64,
    /// What was done.
    pub work: Work,
    /// Names of the contenders that were up for the study.
    pub up: Vec<String>,
    /// The whole load that ended then, with its check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<DataLoad>,
}

/// What was loaded: how long such a load takes there tells how long the next one will.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataLoad {
    /// The target as the study names it, or `private` and the kind of server.
    pub target: String,
    /// The kind of workload.
    pub kind: String,
    /// Bytes of its rows as text.
    pub bytes: u64,
    /// What was done with loaded data: a copy `saved`, or those of an earlier block `restored` or `reloaded`, with all that comes between two blocks;
    /// `None` of a first load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<String>,
}

impl DataLoad {
    /// The same data, replaced so.
    #[must_use]
    pub fn reset(&self, how: &str) -> Self {
        Self { reset: Some(how.to_owned()), ..self.clone() }
    }
}

impl Stretch {
    /// The stretches of a file. Its last line counts only when it is whole: a run that was killed may have left a part of one.
    ///
    /// # Errors
    /// Says which line is none.
    pub fn lines(text: &str) -> Result<Vec<Self>, String> {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let read =
            |(i, line): (usize, &str)| serde_json::from_str(line).map_err(|e| format!("line {} is none of it: {e}", i + 1));
        whole.lines().enumerate().map(read).collect()
    }
}

/// The time and the money that a study used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// The time of all its runs, milliseconds.
    pub took_ms: u64,
    /// The same by what was done, in the order of a run.
    pub works: Vec<SpentTime>,
    /// What was paid for; empty where nothing is priced, and in a notional study.
    pub machines: Vec<SpentMoney>,
    /// The sum of that; `None` where it is empty.
    pub total: Option<MicroUsd>,
}

/// A part of the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpentTime {
    /// What was done.
    pub work: Work,
    /// For how long, milliseconds.
    pub took_ms: u64,
}

/// Something that was up for a study, and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpentMoney {
    /// The contender; `None` for the client of all.
    pub contender: Option<String>,
    /// Whether it is the client's machines, and not those of the contender.
    pub is_client: bool,
    /// What it costs in a month.
    pub monthly: MicroUsd,
    /// Hours of that month.
    pub hours_per_month: u32,
    /// How long it was up, milliseconds.
    pub up_ms: u64,
    /// What it cost.
    pub cost: MicroUsd,
}

impl Spent {
    /// `1 h 52 min and $12.40`, or the time alone.
    pub fn text(&self) -> String {
        used_text(hours_text(self.took_ms), self.total)
    }
}

/// A time, and the money that it costs, where it does.
pub fn used_text(time: String, cost: Option<MicroUsd>) -> String {
    match cost {
        Some(cost) => format!("{time} and {}", cost.spent_text()),
        None => time,
    }
}

/// The contenders of a study that are up while it runs. An A/A control is the system that it repeats.
pub fn driven(study: &Study) -> Vec<String> {
    let own = |c: &&Contender| c.control_of.is_none() && c.is_driven();
    study.contenders.iter().filter(own).map(|c| c.name.clone()).collect()
}

/// What it costs that these contenders are up for so many milliseconds; `None` where nothing is priced, and in a notional study.
pub fn cost_of(study: &Study, bills: &[Bill], up: &[String], ms: u64) -> Option<MicroUsd> {
    sum(&paid_for(study, bills, up).into_iter().map(|paid| paid.up_for(ms)).collect::<Vec<_>>())
}

/// What a study used, by the stretches of its runs; `None` where there are none.
pub fn spent(study: &Study, bills: &[Bill], stretches: &[Stretch]) -> Option<Spent> {
    if stretches.is_empty() {
        return None;
    }
    let took = |work: Work| total(stretches.iter().filter(|s| s.work == work).map(|s| s.took_ms));
    let works = Work::ALL.map(|work| SpentTime { work, took_ms: took(work) });
    let mut machines: Vec<SpentMoney> = Vec::new();
    for stretch in stretches {
        for paid in paid_for(study, bills, &stretch.up) {
            let same = |m: &&mut SpentMoney| (&m.contender, m.is_client) == (&paid.contender, paid.is_client);
            match machines.iter_mut().find(same) {
                Some(known) => known.up_ms = known.up_ms.saturating_add(stretch.took_ms),
                None => machines.push(SpentMoney { up_ms: stretch.took_ms, ..paid }),
            }
        }
    }
    let priced = |paid: SpentMoney| {
        let ms = paid.up_ms;
        paid.up_for(ms)
    };
    let mut machines: Vec<SpentMoney> = machines.into_iter().map(priced).collect();
    machines.sort_by_key(|paid| paid.is_client);
    let works: Vec<SpentTime> = works.into_iter().filter(|part| part.took_ms > 0).collect();
    Some(Spent { took_ms: total(stretches.iter().map(|s| s.took_ms)), works, total: sum(&machines), machines })
}

fn sum(machines: &[SpentMoney]) -> Option<MicroUsd> {
    let all = machines.iter().map(|paid| paid.cost.0).fold(0, i64::saturating_add);
    (!machines.is_empty()).then_some(MicroUsd(all))
}

/// What is paid for while these contenders are up, by the first region of the study and its own way to pay.
fn paid_for(study: &Study, bills: &[Bill], up: &[String]) -> Vec<SpentMoney> {
    let mut paid: Vec<SpentMoney> = Vec::new();
    if study.notional {
        return paid;
    }
    for contender in study.contenders.iter().filter(|c| up.contains(&c.name)) {
        let Some(bill) = bills.iter().find(|b| b.contender == contender.name && b.scenario.is_none()) else { continue };
        let one = |contender: Option<&Contender>, is_client: bool, monthly: MicroUsd| SpentMoney {
            contender: contender.map(|c| c.name.clone()),
            is_client,
            monthly,
            hours_per_month: bill.hours_per_month,
            up_ms: 0,
            cost: MicroUsd(0),
        };
        paid.push(one(Some(contender), false, bill.monthly()));
        let client = client_of(bill);
        let of_all = study.client.stands == Stands::Apart;
        // One client drives all contenders, so that it is paid once.
        if client.0 > 0 && !(of_all && paid.iter().any(|known| known.is_client)) {
            paid.push(one(Some(contender).filter(|_| !of_all), true, client));
        }
    }
    paid
}

/// What the client's machines cost in a month: the lines of its role that the bill shows and does not add up.
fn client_of(bill: &Bill) -> MicroUsd {
    let lines = bill.lines.iter().filter(|line| !line.priced && line.item == CLIENT);
    MicroUsd(lines.map(|line| line.monthly.0).fold(0, i64::saturating_add))
}

impl SpentMoney {
    /// The same, up for so long; its cost is rounded half up to the micro-dollar.
    fn up_for(self, ms: u64) -> Self {
        let (amount, over) = (i128::from(self.monthly.0) * i128::from(ms), i128::from(self.hours_per_month.max(1)) * MS_PER_HOUR);
        let cost = (amount * 2 + over).div_euclid(over * 2);
        Self { up_ms: ms, cost: MicroUsd(i64::try_from(cost).unwrap_or(i64::MAX)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::tests::{bill_of, line};
    use crate::bill::{BillLine, LineGroup};
    use crate::study::Rounding;

    fn study(head: &str) -> Study {
        let contender = |name: &str| format!("[[contender]]\nname = \"{name}\"\ntarget = \"sqlite:{name}.db\"\n");
        let text = format!(
            "schema = 1\nname = \"s\"\ncontrol = \"a\"\n{head}\n{}{}[[contender]]\nname = \"priced\"\n[[workload]]\nname = \"w\"\n\
             kind = \"k\"\n[sweep]\nconnections = [1]\n",
            contender("a"),
            contender("b")
        );
        Study::read("s.toml", &text, &[]).unwrap()
    }

    /// A bill of $730 a month, or as many dollars an hour as its contender needs, beside a client of $73.
    fn bills() -> Vec<Bill> {
        let of = |(contender, dollars): (&str, i64)| {
            let client = BillLine { item: CLIENT.into(), priced: false, ..line(LineGroup::Compute, 73_000_000) };
            Bill {
                contender: contender.into(),
                ..bill_of([line(LineGroup::Compute, dollars * 730_000_000), client], Rounding::None)
            }
        };
        [("a", 1), ("b", 2), ("priced", 4)].map(of).to_vec()
    }

    fn stretch(took_ms: u64, work: Work, up: &[&str]) -> Stretch {
        Stretch { ended_unix_ms: 1, took_ms, work, up: up.iter().map(|&name| name.to_owned()).collect(), load: None }
    }

    #[test]
    fn each_contender_costs_its_bill_as_long_as_it_is_up_and_one_client_is_paid_once() {
        let both = &["a", "b"];
        let runs = [
            stretch(1_800_000, Work::Loads, both),
            stretch(1_800_000, Work::Trials, both),
            stretch(3_600_000, Work::Trials, &["b"]),
        ];
        let found = spent(&study(""), &bills(), &runs).unwrap();
        assert_eq!((found.took_ms, found.works.len(), found.works[1].took_ms), (7_200_000, 2, 5_400_000));
        let rows: Vec<_> =
            found.machines.iter().map(|m| (m.contender.as_deref(), m.is_client, m.up_ms / 1000, m.cost.0)).collect();
        let client = (None, true, 7_200, 200_000);
        assert_eq!(rows, [(Some("a"), false, 3_600, 1_000_000), (Some("b"), false, 7_200, 4_000_000), client]);
        assert_eq!((found.total, found.text()), (Some(MicroUsd(5_200_000)), "2 h 0 min and $5.20".into()));
        assert_eq!(
            driven(&study("")),
            ["a", "b"],
            "a control is paid with what it repeats, and one that is only priced is not up"
        );
        assert_eq!(cost_of(&study(""), &bills(), &driven(&study("")), 3_600_000), Some(MicroUsd(3_100_000)));
        let beside = spent(&study("[client]\nstands = \"beside\""), &bills(), &runs).unwrap();
        assert_eq!(beside.total, Some(MicroUsd(5_300_000)), "each has a client of its own");
    }

    #[test]
    fn a_study_that_prices_nothing_or_other_machines_spends_no_money() {
        let runs = [stretch(1_000, Work::Trials, &["a"])];
        let notional = spent(&study("notional = true"), &bills(), &runs).unwrap();
        assert_eq!((notional.total, notional.text().as_str(), notional.machines.len()), (None, "1 s", 0));
        assert_eq!(spent(&study(""), &[], &runs).unwrap().total, None);
        assert_eq!(spent(&study(""), &bills(), &[]), None);
    }

    #[test]
    fn a_part_of_a_line_counts_for_nothing_and_a_wrong_one_is_named() {
        let whole = serde_json::to_string(&stretch(5, Work::Checks, &["a"])).unwrap();
        assert_eq!(whole, r#"{"ended_unix_ms":1,"took_ms":5,"work":"checks","up":["a"]}"#);
        assert_eq!(Stretch::lines(&format!("{whole}\n{whole}\n{}", &whole[..20])).unwrap().len(), 2);
        assert!(Stretch::lines(&whole).unwrap().is_empty() && Stretch::lines("").unwrap().is_empty());
        let wrong = Stretch::lines(&format!("{whole}\n{{}}\n")).unwrap_err();
        assert!(wrong.starts_with("line 2 is none of it: missing field"), "{wrong}");
    }
}
