//! `node` of a contender: machines of one role, and their volumes.

use super::super::costs::read_payment;
use super::super::{Node, Volume};
use super::{MANY, word};
use crate::toml_reader::Section;

/// Machines of one role, which is this one where there is only one to have.
pub(in super::super) fn read_node(s: &Section<'_>, only: Option<&str>) -> Option<Node> {
    let role = only.map_or_else(|| s.required_text("role", "\"mysql\"").map(|role| role.value), |role| Some(role.to_owned()));
    let instance = s.required_text("instance", "\"c6g.2xlarge\"");
    let count = s.count("count", 1..=MANY).unwrap_or(1);
    let zones = s.count("zones", 1..=MANY);
    if zones.is_some_and(|zones| zones > count) {
        let message = format!("`zones` is {}, and there are {count} machines", zones.unwrap_or_default());
        s.report("zones", message, "give at most one zone for each machine, or raise `count`");
    }
    let zone = s.text("zone").map(|zone| zone.value);
    let priced = s.boolean("priced").is_none_or(|v| v.value);
    let payment = read_payment(s);
    let mut volumes: Vec<Option<Volume>> = s.table("volume").iter().map(read_volume).collect();
    volumes.extend(s.tables("volumes").iter().map(read_volume));
    let root_volume = s.table("root_volume").map(|s| read_volume(&s));
    s.finish();
    let volumes = volumes.into_iter().collect::<Option<_>>()?;
    let root_volume = root_volume.map_or(Some(None), |volume| volume.map(Some))?;
    let (role, instance, line) = (role?, instance?.value, s.line());
    Some(Node { role, instance, machine: None, count, zones, zone, priced, payment, volumes, root_volume, line })
}

fn read_volume(s: &Section<'_>) -> Option<Volume> {
    let kind = s.required_text("kind", "\"gp3\"");
    let size_gb = s.required_int("size_gb", 1..=MANY, "1000");
    let iops = s.count("iops", 1..=10 * MANY);
    let throughput_mib_s = s.count("throughput_mib_s", 1..=MANY);
    let daily_snapshots = word(s, "snapshots", &[("daily", true), ("none", false)]).unwrap_or(false);
    let usd_per_month = s.usd("usd_per_month").map(|p| p.value);
    let count = s.count("count", 1..=1000).unwrap_or(1);
    let daily_change_gb = s.count("daily_change_gb", 0..=MANY).unwrap_or(0);
    s.finish();
    let (kind, size_gb, included, line) = (kind?.value, size_gb?.value as u32, None, s.line());
    Some(Volume { kind, size_gb, included, iops, throughput_mib_s, usd_per_month, count, daily_snapshots, daily_change_gb, line })
}
