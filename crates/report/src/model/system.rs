//! The machines of each contender as a picture, and what the price list says of them.

use perbuck_core::study::{Contender, Machine, Node, Rate, Study, Volume};
use perbuck_core::units::thousands;

use super::{Context, labels};
use crate::document::{Block, Cell, Figure, Panels, SystemPanel, SystemRole, SystemVolume, Table};
use crate::escape::clean;
use crate::number::{ABSENT, bytes, counted, fixed, list, or_absent};

/// Picture and tables; nothing for a study that names no machines.
pub(super) fn blocks(all: &Context<'_>) -> Vec<Block> {
    let Some(figure) = figure(all.study) else { return Vec::new() };
    let tables = [machine_table(all.study), volume_table(all.study)].into_iter().flatten();
    let beyond = all.study.contenders.iter().flat_map(Contender::volumes_beyond_machines);
    let beyond: Vec<String> = beyond.map(|line| clean(&format!("{line}."))).collect();
    let list = (!beyond.is_empty()).then_some(Block::List(beyond));
    std::iter::once(Block::Figure(figure)).chain(tables.map(Block::Table)).chain(list).collect()
}

/// A drawing for each contender with machines; the second run of a contender has the same ones and is left out.
pub(crate) fn figure(study: &Study) -> Option<Figure> {
    let mut table = Table::of_figure("Contender | Region | Role | #Machines | Instance | #Zones | Billed | Volumes of each");
    let mut panels = Vec::new();
    for (contender, label) in study.contenders.iter().zip(labels(study)) {
        if contender.nodes.is_empty() || contender.control_of.is_some() {
            continue;
        }
        let region = region(study, contender);
        let roles: Vec<SystemRole> = drawn(contender).map(role).collect();
        for (node, role) in drawn(contender).zip(&roles) {
            let volumes: Vec<String> = role.volumes.iter().map(SystemVolume::words).collect();
            table.add([
                label.clone(),
                region.clone(),
                role.name.clone(),
                thousands(node.count.into()),
                clean(&node.instance),
                or_absent(node.zones.map(|n| thousands(n.into()))),
                if node.priced { "yes" } else { "no" }.to_owned(),
                or_absent(Some(volumes.join("; ")).filter(|text| !text.is_empty())),
            ]);
        }
        panels.push(SystemPanel { title: label, region, roles });
    }
    let unbilled = panels.iter().flat_map(|p| &p.roles).any(|r| !r.billed);
    let dashed = if unbilled { " Dashed machines are not billed." } else { "" };
    let caption = format!("The machines of each role, and below them the volumes of each machine.{dashed}");
    Figure::new("system", "What each contender runs on", caption, Panels::System, panels, table)
}

/// The machines that are not billed first: the load comes from them.
fn drawn(contender: &Contender) -> impl Iterator<Item = &Node> {
    let of = |billed: bool| contender.nodes.iter().filter(move |node| node.priced == billed);
    of(false).chain(of(true))
}

/// The contender's own region, or those of the study.
fn region(study: &Study, contender: &Contender) -> String {
    match &contender.region {
        Some(region) => clean(&region.value),
        None => list(&study.price.regions.iter().map(|r| clean(&r.value)).collect::<Vec<_>>()),
    }
}

fn role(node: &Node) -> SystemRole {
    let each = if node.count > 1 { " each" } else { "" };
    let size = node.machine.as_ref().map(|m| format!("{} vCPU, {}{each}", m.vcpus, bytes(m.memory_bytes)));
    let zones = node.zones.map(|n| format!("in {}", counted(n as usize, "zone")));
    SystemRole {
        name: clean(&node.role),
        machines: format!("{} × {}", thousands(node.count.into()), clean(&node.instance)),
        note: [size, zones].into_iter().flatten().collect::<Vec<_>>().join(", "),
        count: node.count,
        billed: node.priced,
        volumes: node.volumes.iter().map(volume).collect(),
    }
}

fn volume(volume: &Volume) -> SystemVolume {
    let count = if volume.count > 1 { format!("{} × ", volume.count) } else { String::new() };
    let bought = [
        volume.iops.map(|n| format!("{} IOPS", thousands(n.into()))),
        volume.throughput_mib_s.map(|n| format!("{} MiB/s", thousands(n.into()))),
        volume.daily_snapshots.then(|| "daily snapshots".to_owned()),
    ];
    SystemVolume { name: count + &named(volume), note: bought.into_iter().flatten().collect::<Vec<_>>().join(", ") }
}

fn named(volume: &Volume) -> String {
    let unit = volume.included.as_ref().map_or("GB", |included| &included.unit);
    format!("{} {}, {}", thousands(volume.size_gb.into()), clean(unit), clean(&volume.kind))
}

/// Each type of machine once; `None` where no price list describes one.
fn machine_table(study: &Study) -> Option<Table> {
    let caption = "Machine types as the price list describes them, with what holds while credit lasts";
    let heads =
        "Instance | Architecture | #vCPU | #Cores | #Memory | #Network, Mbit/s | #Its volumes together, Mbit/s | #Their IOPS";
    let mut table = Table::new(caption, heads);
    let mut seen: Vec<&str> = Vec::new();
    for node in study.contenders.iter().flat_map(|c| &c.nodes) {
        let Some(machine) = &node.machine else { continue };
        if !seen.contains(&node.instance.as_str()) {
            seen.push(&node.instance);
            table.add(machine_cells(&node.instance, machine));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn machine_cells(instance: &str, m: &Machine) -> [Cell; 8] {
    let cores = m.vcpus_per_core.map(|per_core| f64::from(m.vcpus) / f64::from(per_core));
    let cores = cores.map(|n| fixed(n, usize::from(n.fract() != 0.0)));
    [
        clean(instance).into(),
        clean(&m.arch).into(),
        thousands(m.vcpus.into()).into(),
        or_absent(cores).into(),
        bytes(m.memory_bytes).into(),
        rate(m.rates.network_mbit_s),
        rate(m.rates.volume_mbit_s),
        rate(m.rates.volume_iops),
    ]
}

/// Each kind and size of volume once; `None` without volumes.
fn volume_table(study: &Study) -> Option<Table> {
    let mut table = Table::new("What each volume can do: what is bought, or what its size includes", "Volume | #IOPS | #MiB/s");
    for volume in study.contenders.iter().flat_map(|c| &c.nodes).flat_map(|n| &n.volumes) {
        let cells = volume_cells(volume);
        // One of which nothing is known is in the picture.
        let known = cells[1..].iter().any(|cell| cell.text != ABSENT);
        if known && !table.rows.iter().any(|row| row.cells == cells) {
            table.add(cells);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn volume_cells(volume: &Volume) -> [Cell; 3] {
    let bought = |n: u32| Cell::noted(thousands(n.into()), "bought");
    let included = volume.included.as_ref();
    let alone = |n: Option<u32>| rate(Rate { baseline: n, burst: None });
    [
        named(volume).into(),
        volume.iops.map_or_else(|| alone(included.and_then(|i| i.iops)), bought),
        volume.throughput_mib_s.map_or_else(|| rate(included.map_or_else(Rate::default, |i| i.mib_s)), bought),
    ]
}

/// `2,500 (burst 10,000)`.
fn rate(rate: Rate) -> Cell {
    let text = |n: u32| thousands(n.into());
    Cell::noted(or_absent(rate.baseline.map(text)), rate.burst.map(|n| format!("burst {}", text(n))).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perbuck_core::study::{Included, Rates};

    /// A study of a cluster in two zones with several volumes, one part of which a price list describes.
    fn study() -> Study {
        let text = r#"
        schema = 1
        name = "s"
        [price]
        snapshot = "aws-2021-03"
        regions = ["us-west-2", "eu-west-1"]
        [[contender]]
        name = "own"
        label = "<own>"
        region = "here"
        node = [
          { role = "store", instance = "m1", count = 4, zones = 2, volumes = [
            { kind = "ssd", size_gb = 1000, count = 2, iops = 6000, throughput_mib_s = 500, snapshots = "daily" },
            { kind = "log", size_gb = 50 },
          ] },
          { role = "client", instance = "m2", priced = false },
          { role = "sql", instance = "m1", count = 2, zones = 1 },
        ]
        [[contender]]
        name = "none"
        [[workload]]
        name = "rw"
        kind = "sysbench"
        [sweep]
        connections = [1]
        duration = "1m"
        trials = 3
        "#;
        let mut study = Study::read("s.toml", text, &[]).unwrap();
        let rates = Rates { network_mbit_s: Rate { baseline: Some(750), burst: Some(10_000) }, ..Rates::default() };
        let machine = Machine { arch: "aarch64".into(), vcpus: 3, vcpus_per_core: Some(2), memory_bytes: 16 << 30, rates };
        let nodes = &mut study.contenders[0].nodes;
        nodes[0].machine = Some(machine.clone());
        nodes[2].machine = Some(machine);
        let mib_s = Rate { baseline: Some(128), burst: Some(250) };
        nodes[0].volumes[1].included = Some(Included { unit: "GiB".into(), iops: Some(150), mib_s });
        study
    }

    fn lines(table: &Table) -> Vec<String> {
        table.rows.iter().map(|row| row.cells.iter().map(Cell::line).collect::<Vec<_>>().join(" | ")).collect()
    }

    #[test]
    fn what_is_not_billed_is_drawn_first_and_the_rest_in_the_order_of_the_study() {
        let figure = figure(&study()).unwrap();
        let Panels::System(panels) = &figure.panels else { panic!("{figure:?}") };
        let [panel] = panels.as_slice() else { panic!("a contender without machines is not drawn: {panels:?}") };
        assert_eq!((panel.title.as_str(), panel.region.as_str()), ("<own>", "here"));
        let roles: Vec<String> = panel.roles.iter().map(|r| format!("{}: {}; {}", r.name, r.machines, r.note)).collect();
        assert_eq!(
            roles,
            ["client: 1 × m2; ", "store: 4 × m1; 3 vCPU, 16 GiB each, in 2 zones", "sql: 2 × m1; 3 vCPU, 16 GiB each, in 1 zone",]
        );
        let volumes: Vec<String> = panel.roles[1].volumes.iter().map(SystemVolume::words).collect();
        assert_eq!(volumes, ["2 × 1,000 GB, ssd, 6,000 IOPS, 500 MiB/s, daily snapshots", "50 GiB, log"]);
        assert_eq!(lines(&figure.table)[0], "<own> | here | client | 1 | m2 | — | no | —");
        assert!(figure.caption.ends_with("Dashed machines are not billed."));
    }

    #[test]
    fn the_tables_hold_each_type_once_and_what_is_known_of_it() {
        let study = study();
        assert_eq!(lines(&machine_table(&study).unwrap()), ["m1 | aarch64 | 3 | 1.5 | 16 GiB | 750 (burst 10,000) | — | —"]);
        let expected = ["1,000 GB, ssd | 6,000 (bought) | 500 (bought)", "50 GiB, log | 150 | 128 (burst 250)"];
        assert_eq!(lines(&volume_table(&study).unwrap()), expected);
    }

    #[test]
    fn without_a_region_of_its_own_a_contender_is_in_those_of_the_study() {
        let mut study = study();
        study.contenders[0].region = None;
        assert_eq!(region(&study, &study.contenders[0]), "us-west-2 and eu-west-1");
        study.contenders[0].nodes.clear();
        assert_eq!((figure(&study), machine_table(&study), volume_table(&study)), (None, None, None));
    }
}
