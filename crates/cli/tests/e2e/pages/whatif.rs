//! The arithmetic of the page's script against the program's: 1,000 random bills at other prices, to the micro-dollar and the bit.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use perbuck_core::bill::{Amount, Bill};
use perbuck_core::compare::{Comparison, Judgement, PricePerformance, replay};
use perbuck_core::rng::OpRng;
use perbuck_core::study::{FeeTerms, Study};
use perbuck_core::units::Seed;
use perbuck_prices::{Snapshot, bills};
use perbuck_report::html::script::ARITHMETIC;
use perbuck_report::model;
use serde_json::{Value, json};

/// What node does with each line of its input: the bills of every region, and all that follows.
const DRIVER: &str = r#"
const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
const printed = (r, dollars, units) => [
  [WhatIf.money(r.bill.total), ""],
  r.usdPerUnit === null ? ["—", ""] : ["$" + WhatIf.fixed(r.usdPerUnit, dollars), WhatIf.range(r.usdInterval, dollars)],
  r.unitsPerUsd === null ? ["—", ""] : [WhatIf.fixed(r.unitsPerUsd, units), WhatIf.range(r.unitsInterval, units)],
  r.ratio ? [WhatIf.ratioText(r.ratio), WhatIf.ratioInterval(r.ratio)] : ["—", ""],
];
const plain = (key, value) => (typeof value === "bigint" ? value.toString() : value);
for (const line of lines) {
  const { data, edits } = JSON.parse(line);
  const found = data.regions.map((_, region) => {
    const bills = [];
    data.bills.forEach((b, i) => { if (b.region === region) bills[b.contender] = WhatIf.bill(b, edits[i], data); });
    const texts = (all) => all.map((r) => ({
      ...r,
      cells: printed(r, WhatIf.dollarDecimals(all.map((a) => a.usdPerUnit)), WhatIf.columnDecimals(all.map((a) => a.unitsPerUsd))),
    }));
    const all = [...data.workloads, { contenders: data.overall }];
    return { bills, workloads: all.map((w) => texts(WhatIf.results(data, w, bills))) };
  });
  console.log(JSON.stringify(found, plain));
}
"#;

/// Runs the script under node; each case is a line in and a line out.
fn computed(cases: &[Value]) -> Vec<Value> {
    let program = format!("{ARITHMETIC}{DRIVER}");
    let mut node = Command::new("node").args(["-e", &program]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = node.stdin.take().unwrap();
    let text: String = cases.iter().map(|c| c.to_string() + "\n").collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let out = node.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(out.status.success());
    String::from_utf8(out.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// Draws the shape of a study from one stream, and its prices and percentages from another: two studies of one shape differ in these alone.
struct Draw {
    shape: OpRng,
    money: OpRng,
    /// Whether a discount may take off everything.
    free: bool,
}

impl Draw {
    /// The stated prices, or others. A discount that comes after one of 100 % takes nothing off, and is no line of a bill: the stated
    /// bills have none of these, because a page cannot offer a line that is not there.
    fn new(case: u64, other: bool) -> Self {
        Self { shape: OpRng::at(Seed(21), case, 0), money: OpRng::at(Seed(22), case, other.into()), free: other }
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.shape.below(n) == 0
    }

    /// Dollars with one to six decimals, above zero.
    fn usd(&mut self, most: u64) -> String {
        let step = 10u64.pow(self.money.below(6) as u32);
        let micros = (self.money.below(most * 1_000_000) / step).max(1) * step;
        format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }

    /// A percentage with up to four decimals, in one of eight cases a whole hundred.
    fn percent(&mut self) -> String {
        let tenthousandths = if self.money.below(8) == 0 && self.free { 1_000_000 } else { self.money.below(1_000_000) + 1 };
        format!("{}.{:04}", tenthousandths / 10_000, tenthousandths % 10_000)
    }

    fn list(&mut self) -> String {
        let mut text = "schema = 1\nname = \"p\"\nprovider = \"example\"\nas_of = \"2026-11-01\"\ncurrency = \"USD\"\n\
            capacity_unit = \"GB\"\n[sources]\nq = \"an offer\"\n[[family]]\nname = \"m\"\narch = \"x86_64\"\ncpu = \"c\"\nvcpu_per_core = 2\n\
            size = [{ type = \"m.a\", vcpu = 4, memory_gib = 8 }, { type = \"m.b\", vcpu = 96, memory_gib = 768 }]\n"
            .to_owned();
        for region in ["near", "far"] {
            let machine = |d: &mut Self, name: &str| {
                let [price, spot, paid, upfront] = [20, 9, 9, 90_000].map(|most| d.usd(most));
                format!(
                    "{{ type = \"{name}\", usd_per_hour = {price}, spot_usd_per_hour = {spot}, commitment = [{{ name = \"1y\", \
                     months = 12, upfront_usd = {upfront}, usd_per_hour = {paid} }}] }}"
                )
            };
            let both = [machine(self, "m.a"), machine(self, "m.b")].join(", ");
            let [gb, iops, more, snapshots] = [1, 1, 1, 1].map(|most| self.usd(most));
            let [cluster, out, beyond] = [2, 1, 1].map(|most| self.usd(most));
            let _ = write!(
                text,
                "[[region]]\nname = \"{region}\"\ndate = \"2026-11-01\"\nsource = \"q\"\ninstance = [{both}]\n\
                 [[region.volume]]\nkind = \"ssd\"\nusd_per_gb_month = {gb}\nincluded_iops = 3000\nusd_per_iops_month = {iops}\n\
                 iops_tier = [{{ above = 32000, usd = {more} }}]\n[region.volume_snapshot]\nusd_per_gb_month = {snapshots}\n\
                 [[listed]]\nregion = \"{region}\"\nitem = \"cluster\"\nkind = \"control-plane\"\nunit = \"hour\"\nusd = {cluster}\nsource = \"q\"\ndate = \"2026-11-01\"\n\
                 [[listed]]\nregion = \"{region}\"\nitem = \"out\"\nkind = \"internet-traffic\"\nunit = \"GB\"\nusd = {out}\nsource = \"q\"\ndate = \"2026-11-01\"\n\
                 tier = [{{ above = 10240, usd = {beyond} }}]\n"
            );
        }
        text
    }

    fn node(&mut self) -> String {
        let (machine, count) = (["m.a", "m.b"][self.shape.below(2) as usize], self.shape.below(9) + 1);
        let own = self.usd(9);
        let paid = match self.shape.below(6) {
            0 => ", spot = true".to_owned(),
            1 => ", commitment = \"1y\"".to_owned(),
            2 => format!(", usd_per_hour = {own}"),
            3 => ", priced = false".to_owned(),
            _ => String::new(),
        };
        let gb = self.shape.below(9000) + 1;
        let iops = [String::new(), format!(", iops = {}", 3000 + self.shape.below(60_000))][self.shape.below(2) as usize].clone();
        let daily = if self.one_in(2) { ", snapshots = \"daily\"" } else { "" };
        let volume =
            if self.one_in(3) { String::new() } else { format!(", volume = {{ kind = \"ssd\", size_gb = {gb}{iops}{daily} }}") };
        let role = ["db", "store"][self.shape.below(2) as usize];
        format!("{{ role = \"{role}\", instance = \"{machine}\", count = {count}{paid}{volume} }}")
    }

    fn fee(&mut self, i: u64) -> String {
        // The least amount of a share has no field.
        let (hour, month, percent, least) = (self.usd(3), self.usd(4000), self.percent(), self.shape.below(2000));
        let terms = match self.shape.below(6) {
            0 => "item = \"cluster\"".to_owned(),
            1 => format!("usd_per_hour = {hour}"),
            2 => format!("usd_per_month = {month}"),
            3 => format!("usd_per_vcpu_month = {hour}"),
            4 => format!("percent = \"{percent}\", at_least = {least}"),
            _ => format!("percent = \"{percent}\""),
        };
        let (count, group) = (self.shape.below(3) + 1, ["fee", "licence", "support"][self.shape.below(3) as usize]);
        format!("{{ name = \"fee {i}\", {terms}, count = {count}, group = \"{group}\" }}")
    }

    fn discount(&mut self, i: u64) -> String {
        let groups: Vec<&str> = ["\"compute\"", "\"volume\"", "\"snapshot\"", "\"traffic\""]
            .into_iter()
            .filter(|_| self.shape.below(2) == 0)
            .collect();
        let groups = if groups.is_empty() { "\"compute\"".to_owned() } else { groups.join(", ") };
        format!("{{ name = \"discount {i}\", percent = \"{}\", of = [{groups}] }}", self.percent())
    }

    fn some(&mut self, most: u64, one: impl Fn(&mut Self, u64) -> String) -> String {
        (0..self.shape.below(most + 1)).map(|i| one(self, i)).collect::<Vec<_>>().join(", ")
    }

    fn contender(&mut self, name: &str) -> String {
        let nodes = (0..=self.shape.below(3)).map(|_| self.node()).collect::<Vec<_>>().join(", ");
        let (fees, discounts) = (self.some(4, Self::fee), self.some(3, Self::discount));
        let traffic = self.some(2, |d, i| {
            let (gb, own) = (d.shape.below(60_000), d.usd(1));
            let price = if d.one_in(2) { "item = \"out\"".to_owned() } else { format!("usd_per_gb = {own}") };
            format!("{{ name = \"traffic {i}\", {price}, gb_per_month = {gb}, ends = {} }}", d.shape.below(2) + 1)
        });
        format!(
            "[[contender]]\nname = \"{name}\"\nnode = [{nodes}]\nfee = [{fees}]\ntraffic = [{traffic}]\ndiscount = [{discounts}]\n"
        )
    }

    fn study(&mut self) -> Study {
        let (hours, months) = ([720, 730, 744][self.shape.below(3) as usize], self.shape.below(120) + 1);
        let round = ["none", "monthly"][self.shape.below(2) as usize];
        let scenario = if self.one_in(3) {
            format!("scenario = [{{ name = \"agreed\", discount = [{}] }}]\n", self.discount(9))
        } else {
            String::new()
        };
        let margin = ["0.03", "0.1"][self.shape.below(2) as usize];
        let mut text = format!(
            "schema = 1\nname = \"s\"\n[price]\nsnapshot = \"p\"\nregions = [\"near\", \"far\"]\nhours_per_month = {hours}\nhorizon_months = {months}\n\
             round = \"{round}\"\n{scenario}[decision]\nmargin = {margin}\n"
        );
        let contenders = &["a", "b", "c"][..self.shape.below(2) as usize + 2];
        contenders.iter().for_each(|name| text += &self.contender(name));
        let workloads = &["one", "two", "three"][..self.shape.below(3) as usize + 1];
        workloads.iter().for_each(|name| {
            let _ = writeln!(text, "[[workload]]\nname = \"{name}\"\nkind = \"any\"");
        });
        text += "[results]\n";
        let mut study = Study::read("s.toml", &text, &[]).unwrap_or_else(|p| panic!("{p:#?}\n{text}"));
        let header = ["workload", "contender", "connections", "tps"].map(str::to_owned);
        study.take_results("r.csv", &header, &self.results(workloads, contenders)).unwrap();
        study
    }

    /// One to six repeats of each point, of systems that differ by up to a half, more or less noisy.
    fn results(&mut self, workloads: &[&str], contenders: &[&str]) -> Vec<(usize, Vec<String>)> {
        let (repeats, noise) = (self.shape.below(6) + 1, [0.0001, 0.01, 0.05, 0.9][self.shape.below(4) as usize]);
        let mut rows = Vec::new();
        for workload in workloads {
            for contender in contenders {
                let speed = 1000.0 * (1.0 + self.shape.unit_f64() / 2.0);
                for _ in 0..repeats {
                    let value = speed * (1.0 + noise * (self.shape.unit_f64() - 0.5));
                    rows.push((
                        rows.len() + 2,
                        vec![(*workload).to_owned(), (*contender).to_owned(), "8".to_owned(), format!("{value:.3}")],
                    ));
                }
            }
        }
        rows
    }
}

/// A study, its bills and its comparison.
fn priced(case: u64, other: bool) -> (Study, Vec<Bill>, Comparison) {
    let mut draw = Draw::new(case, other);
    let list = draw.list();
    let snapshot = Snapshot::read("p.toml", &list).unwrap_or_else(|p| panic!("{p:#?}\n{list}"));
    let study = draw.study();
    let bills = bills(&study, Some(snapshot), "s.toml").unwrap_or_else(|p| panic!("{p:#?}")).bills;
    let comparison = replay(&study, &bills).unwrap();
    (study, bills, comparison)
}

/// The other prices, as a user would type them: by position of the line.
fn edits(study: &Study, stated: &Bill, other: &Bill) -> Value {
    let contender = study.contender(&stated.contender).unwrap();
    let percent_of = |name: &str| {
        let scenarios = study.price.scenarios.iter().flat_map(|s| &s.discounts);
        let discount = contender.discounts.iter().chain(scenarios).find(|d| d.name == name).map(|d| d.percent);
        let share = contender.fees.iter().find(|f| f.name == name).and_then(|f| match f.terms {
            FeeTerms::Percent { percent, .. } => Some(percent),
            _ => None,
        });
        discount.or(share).unwrap().digits()
    };
    // A discount of nothing is no line, so lines are found by what they are.
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut found = serde_json::Map::new();
    for (i, line) in stated.lines.iter().enumerate() {
        let typed = match line.amount.as_ref().unwrap() {
            Amount::Units { .. } => {
                let nth = seen.entry((line.item.clone(), line.sku.clone())).or_default();
                let twins = other.lines.iter().filter(|o| o.item == line.item && o.sku == line.sku);
                *nth += 1;
                twins.skip(*nth - 1).find(|_| true).unwrap().unit_price.digits()
            }
            Amount::Discount { .. } | Amount::Share { .. } => percent_of(&line.item),
        };
        found.insert(i.to_string(), json!(typed));
    }
    Value::Object(found)
}

fn same_ratio(found: &Value, expected: Option<&Judgement>, at: &str) {
    let Some(expected) = expected else {
        assert!(found["ratio"].is_null(), "{at}: {found:#}");
        return;
    };
    let ratio = &found["ratio"];
    assert_eq!(ratio["value"].as_f64(), Some(expected.ratio.value), "{at}");
    assert_eq!(ratio["interval"]["low"].as_f64(), expected.ratio.interval.map(|i| i.low), "{at}");
    assert_eq!(ratio["interval"]["high"].as_f64(), expected.ratio.interval.map(|i| i.high), "{at}");
    let words = [&found["verdict"]["word"], &found["verdict"]["why"]].map(|v| v.as_str().unwrap());
    let said = if words[1].is_empty() { words[0].to_owned() } else { format!("{}: {}", words[0], words[1]) };
    assert_eq!(said, expected.verdict.text(), "{at}");
}

fn same_price(found: &Value, bill: &Bill, p: &PricePerformance, at: &str) {
    let lines =
        || bill.lines.iter().map(|l| format!("{} {} {} {:?}", l.formula, l.item, l.monthly.0, l.amount)).collect::<Vec<_>>();
    assert_eq!(found["bill"]["exact"], bill.monthly_exact().0.to_string(), "{at}: {} {:#?}", found["bill"]["amounts"], lines());
    assert_eq!(found["bill"]["monthly"], p.monthly.0.to_string(), "{at}");
    assert_eq!(found["bill"]["total"], p.total.0.to_string(), "{at}");
    let numbers = [("usdPerUnit", p.usd_per_unit), ("unitsPerUsd", p.units_per_usd)];
    numbers.iter().for_each(|(name, value)| assert_eq!(found[name].as_f64(), *value, "{at}: {name}"));
    let interval = p.usd_per_unit_interval;
    assert_eq!(found["usdInterval"]["low"].as_f64(), interval.map(|i| i.low), "{at}");
    assert_eq!(found["usdInterval"]["high"].as_f64(), interval.map(|i| i.high), "{at}");
    let (models, ours) = (&found["models"], p.models.as_ref());
    let advantage = ours.and_then(|m| m.advantage.as_ref());
    let numbers = [
        ("throughputPerUsdHour", ours.map(|m| m.throughput_per_usd_hour)),
        ("usdPerMillion", ours.and_then(|m| m.usd_per_million_transactions)),
        ("sameThroughput", advantage.map(|a| a.usd_month_for_same_throughput)),
        ("breakEven", advantage.map(|a| a.break_even_usd_month)),
    ];
    numbers.iter().for_each(|(name, value)| assert_eq!(models[name].as_f64(), *value, "{at}: {name}"));
    same_ratio(found, p.value_for_money.as_ref(), at);
}

/// The table of that caption, wherever in a report it lies.
fn table<'v>(value: &'v Value, caption: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) if map.get("caption").and_then(Value::as_str).is_some_and(|c| c.starts_with(caption)) => Some(value),
        Value::Object(map) => map.values().find_map(|v| table(v, caption)),
        Value::Array(list) => list.iter().find_map(|v| table(v, caption)),
        _ => None,
    }
}

/// Holds what node found in one case against the comparison at the other prices, and what it prints against the tables of a report.
fn same(found: &Value, study: &Study, bills: &[Bill], comparison: &Comparison, case: u64) -> usize {
    let mut regions: Vec<&str> = Vec::new();
    bills.iter().for_each(|b| {
        if !regions.contains(&b.region.as_str()) {
            regions.push(&b.region);
        }
    });
    let sections = serde_json::to_value(model(study, comparison, &[]).sections).unwrap();
    let mut checked = 0;
    for (r, region) in regions.iter().enumerate() {
        let table = table(&sections, &format!("Price-performance in {region}:")).unwrap();
        let mut printed = table["rows"].as_array().unwrap().iter();
        for (w, workload) in comparison.workloads.iter().enumerate() {
            for (c, contender) in workload.contenders.iter().enumerate() {
                let at = format!("case {case}, {region}, {}, {}", workload.workload, contender.contender);
                let row = &found[r]["workloads"][w][c];
                let bill = bills.iter().find(|b| b.region == *region && b.contender == contender.contender).unwrap();
                let p = contender.price.iter().find(|p| p.region == *region).unwrap();
                same_price(row, bill, p, &at);
                let cells = printed.next().unwrap()["cells"].as_array().unwrap()[2..6].iter();
                let cells: Vec<Value> = cells.map(|c| json!([c["text"], c["note"]])).collect();
                assert_eq!(row["cells"], json!(cells), "{at}");
                checked += 1;
            }
        }
        for (o, overall) in comparison.overall.iter().enumerate() {
            let at = format!("case {case}, {region}, overall, {}", overall.contender);
            let judged = overall.price.iter().find(|p| p.region == *region).map(|p| &p.value_for_money);
            same_ratio(&found[r]["workloads"][comparison.workloads.len()][o], judged, &at);
        }
    }
    checked
}

#[test]
fn what_if_arithmetic_is_the_programs_for_a_thousand_random_bills() {
    let (mut cases, mut expected, mut bills_seen) = (Vec::new(), Vec::new(), 0);
    for case in 0.. {
        let ((study, stated, before), (other_study, other, after)) = (priced(case, false), priced(case, true));
        let data: Value = serde_json::from_str(&model(&study, &before, &[]).what_if).unwrap();
        let edited: Vec<Value> = stated.iter().zip(&other).map(|(a, b)| edits(&other_study, a, b)).collect();
        bills_seen += edited.len();
        cases.push(json!({ "data": data, "edits": edited }));
        expected.push((other_study, other, after));
        if bills_seen >= 1000 {
            break;
        }
    }
    let found = computed(&cases);
    assert_eq!(found.len(), expected.len());
    let mut checked = 0;
    for (case, (found, (study, bills, comparison))) in found.iter().zip(&expected).enumerate() {
        checked += same(found, study, bills, comparison, case as u64);
    }
    assert!(bills_seen >= 1000 && checked >= bills_seen, "{bills_seen} bills, {checked} rows");
    // Every verdict is among them, and every rule of a bill.
    let all = serde_json::to_string(&found).unwrap();
    for word in ["better", "worse", "equivalent", "more trials per point", "single published value", "too close to the margin"] {
        assert!(all.contains(word), "no case is {word}");
    }
    let all = serde_json::to_string(&cases).unwrap();
    ["\"discount\"", "\"share\"", "upfront", "IOPS", "\"monthly\""].iter().for_each(|rule| assert!(all.contains(rule), "{rule}"));
}
