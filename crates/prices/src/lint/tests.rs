//! Every error that public lists are known for, planted; and real rows that must pass.

use super::*;

/// A snapshot with one region; each family as `name; size, vcpu, memory, price; …`.
fn snapshot(families: &[&str]) -> Snapshot {
    let (mut machines, mut prices) = (String::new(), String::new());
    for family in families {
        let mut parts = family.split("; ");
        let name = parts.next().unwrap();
        machines += &format!("[[family]]\nname = \"{name}\"\narch = \"x86_64\"\ncpu = \"c\"\nsize = [\n");
        for part in parts {
            let [size, vcpu, memory, price] = part.split(", ").collect::<Vec<_>>()[..] else { panic!("{part}") };
            machines += &format!("{{ type = \"{size}\", vcpu = {vcpu}, memory_gib = {memory} }},\n");
            prices += &format!("{{ type = \"{size}\", usd_per_hour = {price} }},\n");
        }
        machines += "]\n";
    }
    let head = "schema = 1\nname = \"t\"\nprovider = \"aws\"\nas_of = \"2024-08\"\ncurrency = \"USD\"\ncapacity_unit = \"GB\"\n\
                [sources]\ns = \"a test\"\n[[region]]\nname = \"here\"\ndate = \"2024-08\"\nsource = \"s\"\ninstance = [\n";
    let text = format!("{head}{prices}]\n{machines}");
    Snapshot::read("t.toml", &text).unwrap_or_else(|p| panic!("{p:?}\n{text}"))
}

/// Line of the first price; the following ones come one by one.
const FIRST: usize = 14;

fn found(families: &[&str]) -> Vec<(usize, Rule)> {
    lint(&snapshot(families)).iter().map(|f| (f.line, f.rule)).collect()
}

#[test]
fn a_dedicated_price_beside_a_shared_one_is_told() {
    let low = lint(&snapshot(&["c6g; c6g.large, 2, 4, 0.0721; c6g.2xlarge, 8, 16, 0.272"]));
    assert_eq!((low.len(), low[0].line, low[0].rule), (1, FIRST, Rule::Dedicated));
    assert!(low[0].message.contains("here `c6g.large` at $0.0721") && low[0].message.contains("1.06 twin"), "{low:?}");
    let high = lint(&snapshot(&["c7i; c7i.large, 2, 4, 0.08925; c7i.2xlarge, 8, 16, 0.3927"]));
    assert_eq!((high.len(), high[0].line, high[0].rule), (1, FIRST + 1, Rule::Dedicated));
    assert!(high[0].message.contains("1.10 twin"), "{high:?}");
}

#[test]
fn a_windows_licence_is_told_by_its_family_or_by_a_sibling() {
    // 0.226 × 2 = 0.452, and 8 × 0.046 more.
    let family = "Standard_E*as_v5; Standard_E4as_v5, 4, 32, 0.226; Standard_E8as_v5, 8, 64, 0.82";
    assert_eq!(found(&[family]), [(FIRST + 1, Rule::Windows)]);
    let alone = ["Standard_E*as_v5; Standard_E8as_v5, 8, 64, 0.82", "Standard_E*s_v5; Standard_E8s_v5, 8, 64, 0.504"];
    let told = lint(&snapshot(&alone));
    assert_eq!((told.len(), told[0].line, told[0].rule), (1, FIRST, Rule::Windows));
    assert!(told[0].message.contains("`Standard_E8as_v5` at $0.82 beside `Standard_E8s_v5` at $0.504"), "{told:?}");
    assert!(told[0].message.contains("+0.046 per vCPU: Windows?"), "{told:?}");
    // A faster machine of the same size that costs more by itself, and another series, are no leaks.
    assert!(found(&["m5zn; m5zn.2xlarge, 8, 32, 0.6608", "m5a; m5a.2xlarge, 8, 32, 0.344"]).is_empty());
    assert!(found(&["z1d; z1d.2xlarge, 8, 64, 0.744", "r6a; r6a.2xlarge, 8, 64, 0.4536"]).is_empty());
}

#[test]
fn a_size_that_does_not_follow_is_told_in_both_directions() {
    assert_eq!(found(&["c6g; c6g.large, 2, 4, 0.068; c6g.2xlarge, 8, 16, 0.32"]), [(FIRST + 1, Rule::NotLinear)]);
    let cheap = "c6g; c6g.large, 2, 4, 0.068; c6g.xlarge, 4, 8, 0.136; c6g.2xlarge, 8, 16, 0.21";
    assert_eq!(found(&[cheap]), [(FIRST + 2, Rule::NotLinear)]);
}

#[test]
fn sizes_that_scale_pass() {
    assert!(found(&["c6g; c6g.large, 2, 4, 0.068; c6g.2xlarge, 8, 16, 0.272"]).is_empty());
    assert!(found(&["c6g; c6g.large, 2, 4, 0.068; c6g.2xlarge, 8, 16, 0.275"]).is_empty());
    // Sizes of which only the memory grows, and one with less of it than its vCPUs have elsewhere.
    let burstable = "t3; t3.nano, 2, 0.5, 0.0052; t3.small, 2, 2, 0.0208; t3.large, 2, 8, 0.0832; t3.2xlarge, 8, 32, 0.3328";
    assert!(found(&[burstable]).is_empty());
    let rounded = "c4d; c4d-standard-4, 4, 15, 0.187114; c4d-standard-8, 8, 31, 0.377982; c4d-standard-16, 16, 62, 0.755964";
    assert!(found(&[rounded]).is_empty());
}

#[test]
fn a_disputed_row_is_shown_and_no_fault() {
    let mut s = snapshot(&["c6g; c6g.large, 2, 4, 0.068"]);
    s.regions[0].instances[0].origin.doubt = Some(Doubt::Disputed(perbuck_core::units::MicroUsd(72_100)));
    let told = lint(&s);
    assert_eq!((told.len(), told[0].rule, told[0].rule.is_fault()), (1, Rule::Disputed, false));
    assert!(told[0].message.contains("another list says $0.0721"), "{told:?}");
}

#[test]
fn lists_that_disagree_by_more_than_two_percent_are_told_unless_the_row_says_so() {
    let mut ours = snapshot(&["c6g; c6g.large, 2, 4, 0.068; c6g.2xlarge, 8, 16, 0.272; c6g.xlarge, 4, 8, 0.136"]);
    let theirs = snapshot(&["c6g; c6g.large, 2, 4, 0.0721; c6g.2xlarge, 8, 16, 0.277"]);
    let told = disagreements(&ours, &theirs);
    assert_eq!((told.len(), told[0].line, told[0].rule), (1, FIRST, Rule::Disagrees));
    assert!(told[0].message.contains("0.943 times the $0.0721 of t"), "{told:?}");
    ours.regions[0].instances[0].origin.doubt = Some(Doubt::Disputed(perbuck_core::units::MicroUsd(72_100)));
    assert!(disagreements(&ours, &theirs).is_empty());
}
