//! What a snapshot file may say, and how it is told where it may not.

use perbuck_core::units::MicroUsd;

use super::*;
use crate::snapshot::{Commitment, Doubt, FeeKind, Provisioned, ThroughputStep, Tier};

const GOOD: &str = include_str!("tests/good.toml");

#[test]
fn rows_take_date_and_source_from_their_region_or_say_their_own() {
    let snapshot = Snapshot::read("t.toml", GOOD).unwrap();
    let region = snapshot.region("us-west-2").unwrap();
    let large = region.instance("c6g.large").unwrap();
    assert_eq!((large.machine.vcpu, large.machine.arch.as_str(), large.usd_per_hour), (2, "aarch64", MicroUsd(68_000)));
    assert_eq!((large.origin.date.as_str(), large.origin.source.as_str()), ("2021-03", "a price list"));
    assert_eq!(region.volume_snapshot.as_ref().unwrap().origin.source, "another one");
    let gp3 = region.volume("gp3").unwrap();
    assert_eq!(gp3.iops, Some(Provisioned { included: 3000, usd_per_month: MicroUsd(5_000), priced_up_to: Some(16_000) }));
    assert_eq!(gp3.capacity.origin.doubt, Some(Doubt::Inferred));
}

const MORE: &str = include_str!("tests/more.toml");

#[test]
fn tiers_rates_cores_commitments_and_spot_are_read() {
    let snapshot = Snapshot::read("t.toml", MORE).unwrap();
    let region = snapshot.region("us-west-2").unwrap();
    let large = region.instance("c5.large").unwrap();
    assert_eq!((large.machine.cores(), large.spot_usd_per_hour), (Some(1.0), Some(MicroUsd(30_000))));
    let network = Rate { baseline: Some(750), burst: Some(10_000) };
    assert_eq!((large.machine.rates.network_mbit_s, large.machine.rates.volume_mbit_s), (network, Rate::default()));
    assert_eq!(large.machine.rates.volume_iops.baseline, Some(4000));
    let all = Commitment { name: "1y-all-upfront".into(), months: 12, upfront: MicroUsd(463_000_000), usd_per_hour: MicroUsd(0) };
    assert_eq!(large.commitments.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["1y-no-upfront", "1y-all-upfront"]);
    assert_eq!(large.commitments[1], all);
    let io2 = region.volume("io2").unwrap();
    assert_eq!(io2.iops_tiers, [Tier { above: 32_000, usd: MicroUsd(45_500) }, Tier { above: 64_000, usd: MicroUsd(32_000) }]);
    assert_eq!((io2.limits.iops_max, io2.limits.size_gb_max), (Some(256_000), None));
    let step = |above_gb, burst| ThroughputStep { above_gb, mib_s: Rate { baseline: Some(128), burst } };
    assert_eq!(region.volume("gp2").unwrap().throughput_steps, [step(0, None), step(170, Some(250))]);
    // The region's own row goes before that of all regions.
    assert_eq!(snapshot.listed("us-west-2", "egress").unwrap().usd, MicroUsd(80_000));
    let everywhere = snapshot.listed("eu-west-1", "egress").unwrap();
    assert_eq!((everywhere.usd, everywhere.kind, everywhere.tiers.len()), (MicroUsd(90_000), FeeKind::InternetTraffic, 2));
    assert!(snapshot.listed("us-west-2", "ingress").is_none());
}

/// A part of a good file, what takes its place, and what the problems say.
fn refused(file: &str, (good, bad, expected): &(&str, &str, &str)) {
    assert!(file.contains(good), "{good}");
    let problems = Snapshot::read("t.toml", &file.replacen(good, bad, 1)).unwrap_err();
    let all = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(all.contains(expected), "{bad}: {all}");
    assert!(problems.iter().all(|p| p.line > 0 && !p.help.is_empty()), "{all}");
}

#[test]
fn what_is_wrong_with_tiers_and_commitments_is_named() {
    let broken = [
        ("above = 51200", "above = 10240", "not ascending at 10240"),
        ("kind = \"internet-traffic\"", "kind = \"internet\"", "use one of: control-plane"),
        ("region = \"us-west-2\", item", "region = \"*\", item", "`egress` is listed twice for *, first on line 9"),
        ("upfront_usd = 463", "upfront_usd = 0", "commitment `1y-all-upfront` has neither"),
        ("1y-all-upfront", "1y-no-upfront", "`c5.large` has two commitments `1y-no-upfront`"),
        ("included_iops = 0\nusd_per_iops_month = 0.065\n", "", "`iops_tier` without a price of IOPS"),
        ("spot_usd_per_hour = 0.03", "spot_usd_per_hour = 0", "`spot_usd_per_hour` of `c5.large` is $0.00, not above zero"),
        ("months = 12, usd", "months = 0, usd", "outside 1..=120"),
        ("vcpu_per_core = 2", "vcpu_per_core = 0", "outside 1..=64"),
        ("above = 170", "above = 0", "`mib_s_by_size` is not ascending at 0"),
        ("burst_mib_s = 250", "burst = 250", "unknown key"),
        ("volume_iops = 4000", "volume_iop = 4000", "did you mean `volume_iops`?"),
    ];
    broken.iter().for_each(|broken| refused(MORE, broken));
}

#[test]
fn every_broken_line_is_named() {
    let twice = "usd_per_hour = 0.068 },\n  { type = \"c6g.large\", usd_per_hour = 0.07 },";
    let broken = [
        ("schema = 1", "schema = 2", "outside"),
        ("\"USD\"", "\"EUR\"", "use one of: USD"),
        ("\"2021-03-10\"", "\"March\"", "no date"),
        ("0.068", "0.0", "`usd_per_hour` of `c6g.large` is $0.00, not above zero"),
        ("0.068", "-1", "not above zero"),
        ("0.068", "0.0680001", "more than six decimals"),
        ("usd_per_hour = 0.068", "usd_per_hour = 0.068, listed_usd = \"0.0681\"", "does not round"),
        ("usd_per_hour = 0.068 },", twice, "given twice, first on line 22"),
        ("instance = [\n  { type = \"c6g.large\"", "instance = [\n  { type = \"c6g.lrge\"", "did you mean `c6g.large`"),
        ("source = \"other\"", "source = \"othr\"", "did you mean `other`"),
        ("\"another one\"", "\"\"", "says nothing"),
        ("vcpu = 2, ", "", "vcpu"),
        ("memory_gib = 4", "memory = 4", "memory_gib"),
        ("usd_per_iops_month = 0.005\n", "", "usd_per_iops_month"),
        ("kind = \"gp3\"", "kind = \"gp3\"\ngrade = 1", "unknown key"),
        ("date = \"2021-03\"\nsource", "source", "date"),
    ];
    broken.iter().for_each(|broken| refused(GOOD, broken));
}

#[test]
fn a_fault_of_a_region_is_told_once() {
    let rows = "{ type = \"c6g.large\", usd_per_hour = 0.068 },";
    let text = GOOD.replace("date = \"2021-03\"\nsource", "date = \"soon\"\nsource").replace(rows, &format!("{rows}\n{rows}"));
    let problems = Snapshot::read("t.toml", &text).unwrap_err();
    assert_eq!(problems.len(), 2, "one date and one double: {problems:#?}");
}
