//! Every format on a small list of its real shape, with prices of our own choice where the real ones do not matter: what is taken, what is
//! left out and why, and what hostile input is told.

use proptest::prelude::*;

use super::*;
use crate::lint::lint;
use crate::snapshot::{Doubt, FeeKind, Tier};
use perbuck_core::units::MicroUsd;

const AWS_JSON: &str = include_str!("tests/aws.json");
const AWS_CSV: &str = include_str!("tests/aws.csv");
const EC2INSTANCES: &str = include_str!("tests/ec2instances.json");
const SKYPILOT_AWS: &str = include_str!("tests/skypilot-aws.csv");
const SKYPILOT_GCP: &str = include_str!("tests/skypilot-gcp.csv");
/// The second row has the unquoted comma that real lists have had.
const SKYPILOT_AZURE: &str = include_str!("tests/skypilot-azure.csv");
/// Two pages, one after the other.
const AZURE: &str = include_str!("tests/azure.json");
const GCP: &str = include_str!("tests/gcp.json");
const INFRACOST: &str = include_str!("tests/infracost.csv");

fn options() -> Options {
    Options { name: "t".into(), date: "2026-07-20".into(), file: "list".into(), ..Options::default() }
}

fn read(format: Format, text: &str, options: &Options) -> Result<(Snapshot, Imported), ImportError> {
    let imported = import(format, &mut text.as_bytes(), options)?;
    let second = import(format, &mut text.as_bytes(), options)?;
    let (file, snapshot) = second.into_file("0123").unwrap_or_else(|p| panic!("{p:#?}"));
    assert_eq!(Snapshot::read("t", &file), Ok(snapshot.clone()));
    Ok((snapshot, imported))
}

fn good(format: Format, text: &str, options: &Options) -> (Snapshot, Imported) {
    read(format, text, options).unwrap_or_else(|e| panic!("{e:?}"))
}

fn prices(s: &Snapshot) -> Vec<(&str, &str, i64)> {
    s.regions
        .iter()
        .flat_map(|r| r.instances.iter().map(move |i| (r.name.as_str(), i.machine.name.as_str(), i.usd_per_hour.0)))
        .collect()
}

fn skipped(imported: &Imported, reasons: &[&str]) {
    for reason in reasons {
        assert!(imported.skipped.keys().any(|k| k.contains(reason)), "{reason}: {:?}", imported.skipped);
    }
}

#[test]
fn an_aws_offer_gives_shared_linux_machines_volumes_and_gateways_from_json_as_from_csv() {
    let mut seen = Vec::new();
    for (format, text) in [(Format::AwsJson, AWS_JSON), (Format::AwsCsv, AWS_CSV)] {
        let (s, imported) = good(format, text, &Options { commitments: true, ..options() });
        assert_eq!((s.provider.as_str(), s.as_of.as_str(), s.capacity_unit.as_str()), ("aws", "2026-07-20", "GB"));
        assert_eq!(
            prices(&s),
            [("us-west-2", "c6g.large", 68_000), ("us-west-2", "c6g.2xlarge", 272_000), ("us-west-2", "m7i.large", 100_800)]
        );
        assert_eq!(lint(&s), []);
        let west = &s.regions[0];
        let large = west.instance("c6g.large").unwrap();
        assert_eq!((large.machine.arch.as_str(), large.machine.cores(), large.machine.memory_gib), ("aarch64", Some(2.0), 4.0));
        assert_eq!(large.machine.rates.network_mbit_s.burst, Some(10_000));
        assert_eq!(large.machine.rates.volume_mbit_s.burst, Some(4_750));
        let source = &large.origin.source;
        assert!(source.contains("version 20260720") && source.ends_with("SHA-256 0123"), "{source}");
        let terms: Vec<(&str, u32, i64, i64)> =
            large.commitments.iter().map(|c| (c.name.as_str(), c.months, c.upfront.0, c.usd_per_hour.0)).collect();
        assert_eq!(terms, [("1y-no-upfront", 12, 0, 43_000), ("3y-convertible-partial-upfront", 36, 400_000_000, 15_000)]);
        let gp3 = west.volume("gp3").unwrap();
        assert_eq!(gp3.capacity.usd_per_gb_month, MicroUsd(80_000));
        assert_eq!(gp3.iops.map(|p| (p.included, p.usd_per_month)), Some((3000, MicroUsd(5_000))));
        assert_eq!(gp3.throughput.map(|p| (p.included, p.usd_per_month)), Some((125, MicroUsd(40_000))));
        let io2 = west.volume("io2").unwrap();
        assert_eq!(
            io2.iops_tiers,
            [Tier { above: 32_000, usd: MicroUsd(45_500) }, Tier { above: 64_000, usd: MicroUsd(31_850) }]
        );
        assert_eq!(west.volume_snapshot.as_ref().unwrap().usd_per_gb_month, MicroUsd(50_000));
        let nat = s.listed("us-west-2", "nat-gateway").unwrap();
        assert_eq!((nat.usd, nat.kind, nat.unit.as_str()), (MicroUsd(45_000), FeeKind::Nat, "hour"));
        let reasons = ["dedicated tenancy", "operating system other than Linux", "with software installed"];
        skipped(&imported, &[&reasons[..], &["capacity reserved or unused", "built around"]].concat());
        seen.push(s);
    }
    // Both files are the same list.
    let [json, csv] = <[Snapshot; 2]>::try_from(seen).unwrap();
    assert_eq!(prices(&json), prices(&csv));
    let kinds = |s: &Snapshot| {
        s.regions[0].volumes.iter().map(|v| (v.kind.clone(), v.capacity.usd_per_gb_month, v.iops)).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&json), kinds(&csv));
}

#[test]
fn without_being_asked_no_commitment_is_taken_and_filters_hold() {
    let (s, imported) = good(Format::AwsJson, AWS_JSON, &Options { families: vec!["m7i".into()], ..options() });
    assert_eq!(prices(&s), [("us-west-2", "m7i.large", 100_800)]);
    assert!(s.regions[0].instances[0].commitments.is_empty());
    assert!(imported.skipped.contains_key("other family than asked for"), "{:?}", imported.skipped);
    let e = read(Format::AwsJson, AWS_JSON, &Options { regions: vec!["mars-1".into()], ..options() }).unwrap_err();
    assert!(e.message.contains("nothing of this list can be imported") && e.message.contains("other region"), "{e:?}");
}

#[test]
fn ec2instances_gives_baseline_rates_spot_and_reservations() {
    let (s, imported) = good(Format::Ec2Instances, EC2INSTANCES, &Options { spot: true, commitments: true, ..options() });
    assert_eq!(prices(&s), [("eu-west-1", "c6g.large", 73_000), ("us-east-1", "c6g.large", 68_000)]);
    let east = s.region("us-east-1").unwrap().instance("c6g.large").unwrap();
    assert_eq!(east.machine.rates.network_mbit_s, crate::snapshot::Rate { baseline: Some(750), burst: Some(10_000) });
    assert_eq!(east.machine.rates.volume_iops.baseline, Some(3600));
    assert_eq!(east.spot_usd_per_hour, Some(MicroUsd(27_300)));
    assert_eq!(
        east.commitments.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["1y-no-upfront", "3y-convertible-all-upfront"]
    );
    assert!(imported.notes.iter().any(|n| n.contains("no commitment has an upfront price")));
    assert_eq!(imported.skipped.get("built around accelerators, whose price does not follow vCPU and memory"), Some(&1));
    assert_eq!(imported.skipped.get("no Linux price"), Some(&1));
}

#[test]
fn skypilot_lists_of_three_clouds_are_read_by_their_headers() {
    let (aws, _) = good(Format::Skypilot, SKYPILOT_AWS, &Options { spot: true, ..options() });
    assert_eq!(prices(&aws), [("us-east-1", "a1.large", 51_000), ("us-east-1", "c3.large", 105_000)]);
    let a1 = aws.regions[0].instance("a1.large").unwrap();
    assert_eq!((a1.machine.arch.as_str(), a1.spot_usd_per_hour), ("aarch64", Some(MicroUsd(19_000))));
    assert_eq!(aws.regions[0].instance("c3.large").unwrap().machine.arch, "x86_64");
    let (gcp, _) = good(Format::Skypilot, SKYPILOT_GCP, &options());
    assert_eq!((gcp.provider.as_str(), prices(&gcp)), ("gcp", vec![("us-central1", "t2a-standard-8", 308_000)]));
    let (azure, _) = good(Format::Skypilot, SKYPILOT_AZURE, &options());
    assert_eq!(
        (azure.provider.as_str(), prices(&azure)),
        ("azure", vec![("eastus", "Standard_B2als_v2", 37_600), ("eastus", "Standard_D8ps_v5", 308_000)])
    );
}

#[test]
fn azure_prices_leave_windows_spot_and_the_rest_out() {
    let all = Options { spot: true, commitments: true, ..options() };
    let (s, imported) = good(Format::Azure, AZURE, &all);
    assert_eq!(prices(&s), [("eastus", "Standard_D8ps_v5", 308_000)]);
    let d8 = s.regions[0].instance("Standard_D8ps_v5").unwrap();
    assert_eq!((d8.spot_usd_per_hour, d8.machine.vcpu, d8.machine.memory_gib), (Some(MicroUsd(61_600)), 8, 32.0));
    let terms: Vec<(&str, i64, i64)> = d8.commitments.iter().map(|c| (c.name.as_str(), c.upfront.0, c.usd_per_hour.0)).collect();
    assert_eq!(terms, [("1y-all-upfront", 1_592_000_000, 0), ("1y-savings-plan", 0, 215_600)]);
    let reasons =
        ["operating system other than Linux", "low priority", "price of another service", "size of the machine type not known"];
    skipped(&imported, &reasons);
    assert!(imported.notes.iter().any(|n| n.contains("names a next one")), "{:?}", imported.notes);
    let (plain, imported) = good(Format::Azure, AZURE, &options());
    assert!(plain.regions[0].instances[0].commitments.is_empty());
    assert!(imported.skipped.contains_key("spot price; --spot takes them"), "{:?}", imported.skipped);
    let machines = machines(&mut "type,vcpu,memory_gib\nStandard_X2as_v9,2,8\n".as_bytes()).unwrap();
    let (more, _) = good(Format::Azure, AZURE, &Options { machines, ..options() });
    assert_eq!(prices(&more).len(), 2);
}

#[test]
fn google_machines_are_the_sum_of_their_cores_and_memory() {
    let families = ["n2-standard", "t2a-standard", "c4d-standard"].map(str::to_owned).to_vec();
    let (s, imported) = good(Format::Gcp, GCP, &Options { spot: true, commitments: true, families, ..options() });
    let central = s.region("us-central1").unwrap();
    assert_eq!(central.instance("n2-standard-8").unwrap().usd_per_hour, MicroUsd(388_472));
    assert_eq!(central.instance("t2a-standard-8").unwrap().usd_per_hour, MicroUsd(308_000));
    let rounded = central.instance("c4d-standard-8").unwrap();
    assert_eq!((rounded.usd_per_hour, rounded.listed_usd.as_deref()), (MicroUsd(377_982), Some("0.377981788")));
    assert!(imported.notes.iter().any(|n| n.contains("more than six decimals")), "{:?}", imported.notes);
    let n2 = central.instance("n2-standard-8").unwrap();
    assert_eq!(n2.spot_usd_per_hour, Some(MicroUsd(94_016)));
    assert_eq!(n2.commitments.iter().map(|c| (c.name.as_str(), c.usd_per_hour.0)).collect::<Vec<_>>(), [("1y", 244_736)]);
    assert_eq!(central.volume("pd-ssd").unwrap().capacity.usd_per_gb_month, MicroUsd(170_000));
    assert_eq!(central.volume_snapshot.as_ref().unwrap().usd_per_gb_month, MicroUsd(50_000));
    assert!(imported.skipped.contains_key("SKU of another kind"), "{:?}", imported.skipped);
    assert_eq!(lint(&s), []);
}

#[test]
fn infracost_products_follow_the_rules_of_their_clouds() {
    let (aws, imported) = good(Format::Infracost, INFRACOST, &Options { provider: Some("aws".into()), ..options() });
    assert_eq!(prices(&aws), [("us-east-1", "t3.micro", 10_400)]);
    assert_eq!(imported.skipped.get("dedicated tenancy"), Some(&1));
    let (azure, _) = good(Format::Infracost, INFRACOST, &Options { provider: Some("azure".into()), ..options() });
    assert_eq!(prices(&azure), [("eastus", "Standard_D8ps_v5", 308_000)]);
    let e = read(Format::Infracost, INFRACOST, &options()).unwrap_err();
    assert!(e.message.contains("one of azure, but others are of aws") && e.help.contains("--provider"), "{e:?}");
}

#[test]
fn plain_tables_have_their_own_columns_and_opencost_ones_take_known_sizes() {
    let own =
        "provider,region,instance,arch,cpu,vcpu,memory_gib,usd_per_hour\nacme,here,m1.big,arm64,\"Chip, 2 GHz\",4,8.5,0.1\n";
    let (s, _) = good(Format::Csv, own, &options());
    let m = &s.regions[0].instances[0].machine;
    assert_eq!((s.provider.as_str(), m.arch.as_str(), m.cpu.as_str(), m.memory_gib), ("acme", "aarch64", "Chip, 2 GHz", 8.5));
    let opencost = "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n\
                    2026-01-01,i,us-west-2,node,f,c6g.large,0.068,\n2026-01-01,p,us-west-2,pv,f,gp3,0.0001,\n";
    let (s, imported) = good(Format::Csv, opencost, &options());
    assert_eq!(prices(&s), [("us-west-2", "c6g.large", 68_000)]);
    assert_eq!(imported.skipped.get("not a node"), Some(&1));
    let no_arch = "region,type,vcpu,memory_gib,usd_per_hour\nhere,big-4,4,8,0.1\n";
    assert!(read(Format::Csv, no_arch, &options()).unwrap_err().help.contains("--provider"));
    let e = read(Format::Csv, no_arch, &Options { provider: Some("acme".into()), ..options() }).unwrap_err();
    assert!(e.message.contains("architecture not known"), "{e:?}");
}

#[test]
fn of_two_prices_the_lower_stands_and_says_so() {
    let text = "region,type,vcpu,memory_gib,usd_per_hour\nus-west-2,c6g.large,2,4,0.0721\nus-west-2,c6g.large,2,4,0.068\n";
    let (s, imported) = good(Format::Csv, text, &options());
    let large = &s.regions[0].instances[0];
    assert_eq!((large.usd_per_hour, large.origin.doubt), (MicroUsd(68_000), Some(Doubt::Disputed(MicroUsd(72_100)))));
    assert!(imported.notes.iter().any(|n| n.contains("two prices, $0.068 and $0.0721")), "{:?}", imported.notes);
}

#[test]
fn hostile_lists_are_told_with_their_line() {
    let sku = |from: &str, to: &str| AWS_JSON.replacen(from, to, 1);
    let cases: Vec<(Format, String, u64, &str)> = vec![
        (Format::AwsJson, AWS_JSON[..AWS_JSON.len() / 2].to_owned(), 0, "EOF"),
        (Format::AwsJson, "[]".into(), 1, "expected an AWS offer file"),
        (Format::AwsJson, "{}".into(), 1, "no `products` or no `terms`"),
        (Format::AwsJson, r#"{"terms": {}, "products": {}}"#.into(), 1, "`terms` stand before `products`"),
        (Format::AwsJson, sku("\"vcpu\" : \"2\"", "\"vcpu\" : 2"), 0, "invalid type: integer"),
        (Format::AwsJson, sku("\"vcpu\" : \"2\"", "\"vcpu\" : \"two\""), 0, "`c6g.large` has \"two\" vCPUs"),
        (Format::AwsJson, sku("0.0680000000", &"9".repeat(50)), 0, "more digits than a price has"),
        (Format::AwsJson, sku("0.0680000000", "-0.068"), 0, "negative"),
        (Format::AwsJson, sku("\"unit\" : \"Hrs\"", "\"unit\" : \"Quarters\""), 0, "its unit is \"Quarters\""),
        (Format::AwsJson, sku("\"USD\" : \"0.0680000000\"", "\"CNY\" : \"0.5\""), 0, "no price in USD"),
        (Format::AwsJson, sku("\"AAAA2\"", "\"AAAA1\""), 0, "SKU AAAA1 is listed twice"),
        (Format::AwsCsv, "a,b\n1,2\n".into(), 1, "no row begins with the column `SKU`"),
        (Format::AwsCsv, AWS_CSV.replacen("0.0680000000", "cheap", 1), 7, "SKU AAAA1: \"cheap\" is no decimal number"),
        (Format::AwsCsv, AWS_CSV.replacen("\"USD\"", "\"CNY\"", 1), 7, "not in USD"),
        (Format::AwsCsv, AWS_CSV[..AWS_CSV.len() - 60].to_owned(), 0, "columns and the header"),
        (Format::Ec2Instances, "{\"a\": 1}".into(), 1, "expected a list of machine types"),
        (Format::Ec2Instances, EC2INSTANCES.replacen("\"0.068\"", "\"free\"", 1), 0, "`c6g.large` in us-east-1: \"free\""),
        (Format::Ec2Instances, EC2INSTANCES.replacen("\"memory\": 4", "\"memory\": null", 1), 0, "GiB of memory"),
        (Format::Skypilot, "InstanceType,Price\n".into(), 1, "no column `vCPUs`"),
        (Format::Skypilot, SKYPILOT_GCP.replacen("8.0", "eight", 1), 2, "\"eight\" vCPUs"),
        (Format::Azure, AZURE.replacen("1 Hour", "100 Hours", 1), 0, "its unit is \"100 Hours\""),
        (Format::Azure, AZURE.replacen("\"BillingCurrency\":\"USD\"", "\"BillingCurrency\":\"EUR\"", 1), 1, "in EUR"),
        (Format::Azure, "{\"Items\": 3}".into(), 1, "invalid type: integer"),
        (Format::Azure, "{}".into(), 1, "no page has `Items`"),
        (Format::Gcp, GCP.replacen("\"usageUnit\": \"h\"", "\"usageUnit\": \"mo\"", 1), 0, "its unit is \"mo\", not \"h\""),
        (Format::Gcp, "{\"error\": {}}".into(), 1, "error answer"),
        (Format::Infracost, "sku\nx\n".into(), 1, "no column `vendorName`"),
        (Format::Infracost, INFRACOST.replacen("\"\"USD\"\"", "\"\"EUR\"\"", 1), 2, "no price in USD"),
        (Format::Csv, String::new(), 1, "the list is empty"),
        (Format::Csv, "region,type,vcpu,memory_gib,usd_per_hour\nus-west-2,c6g.large,2,4,0\n".into(), 2, "it is zero"),
        (Format::Csv, "region,type,vcpu,memory_gib,usd_per_hour\n,c6g.large,2,4,1\n".into(), 2, "no region"),
    ];
    for (format, text, line, expected) in cases {
        let e = read(format, &text, &Options { provider: (format == Format::Infracost).then(|| "aws".into()), ..options() })
            .err()
            .unwrap_or_else(|| panic!("{format:?} was read, not: {expected}"));
        assert!(e.message.contains(expected), "{format:?}, {expected}: {e:?}");
        assert!(!e.help.is_empty() && (line == 0 || e.line == line) && e.line > 0, "{expected}: {e:?}");
    }
}

#[test]
fn a_second_page_counts_its_lines_on() {
    let text = format!("{}\n\n{}", AZURE, AZURE.replacen("1 Hour", "2 Hours", 1));
    let first = AZURE.lines().count() as u64;
    let e = read(Format::Azure, &text, &options()).unwrap_err();
    assert!(e.line > first && e.message.contains("2 Hours"), "{e:?}");
}

/// A list as people could have it: sizes that follow the family, prices in millionths.
fn any_list() -> impl Strategy<Value = Vec<(usize, u32, i64)>> {
    proptest::collection::vec((0usize..5, 1u32..200, 1i64..2_000_000_000), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_imported_reads_back_as_it_was(list in any_list()) {
        let mut text = String::from("provider,region,type,arch,vcpu,memory_gib,usd_per_hour\n");
        let mut wanted = BTreeMap::new();
        for (region, size, micros) in list {
            let (region, name) = (format!("r{region}"), format!("m-{size}"));
            text += &format!("acme,{region},{name},x86_64,{size},{},{}.{:06}\n", f64::from(size) * 3.75, micros / 1_000_000, micros % 1_000_000);
            let lowest = wanted.entry((region, name)).or_insert(micros);
            *lowest = micros.min(*lowest);
        }
        let (snapshot, _) = good(Format::Csv, &text, &options());
        let got: BTreeMap<_, _> = prices(&snapshot).into_iter().map(|(r, t, p)| ((r.to_owned(), t.to_owned()), p)).collect();
        prop_assert_eq!(got, wanted);
    }

    #[test]
    fn no_cut_and_no_changed_byte_makes_an_importer_panic(cut in 0usize..4000, at in 0usize..4000, byte in 0u8..128) {
        let lists = [
            (Format::AwsJson, AWS_JSON), (Format::AwsCsv, AWS_CSV), (Format::Ec2Instances, EC2INSTANCES),
            (Format::Azure, AZURE), (Format::Gcp, GCP), (Format::Infracost, INFRACOST), (Format::Skypilot, SKYPILOT_AWS),
        ];
        for (format, text) in lists {
            let mut bytes = text.as_bytes().to_vec();
            bytes.truncate(cut.max(1));
            if let Some(changed) = bytes.get_mut(at) {
                *changed = byte;
            }
            match import(format, &mut bytes.as_slice(), &options()) {
                // What is still a list is one that can be used.
                Ok(imported) => { prop_assert!(imported.into_file("0").is_ok()); }
                Err(e) => prop_assert!(!e.message.is_empty() && !e.help.is_empty()),
            }
        }
    }
}
