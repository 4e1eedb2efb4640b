//! The machines of a contender: a box for each role, the volumes of each machine below it, and a frame around what is billed.

use std::fmt::Write as _;

use super::{line, open, rect, text, valued};
use crate::document::{SystemPanel, SystemRole, SystemVolume};
use crate::escape::shorten;

/// As wide as the column of a phone, where it is as large as the words around it.
const WIDTH: f64 = 360.0;
/// Between the edge of the drawing and a box.
const LEFT: f64 = 14.0;
/// Heights of the lines of a box and of a volume, and the room below them.
const LINE: f64 = 18.0;
const PAD: f64 = 8.0;
const GAP: f64 = 12.0;
/// How far each box of a stack stands out, and how many boxes it has at most.
const STEP: f64 = 5.0;
const BOXES: u32 = 3;
const BOX: f64 = WIDTH - 2.0 * LEFT - STEP * (BOXES - 1) as f64;
/// Where the line from unbilled machines to the frame is: right of the words of their volumes.
const LINK: f64 = WIDTH - 60.0;
/// Size of a volume.
const DISK: (f64, f64) = (16.0, 12.0);
/// Characters of a role, of its machines, and of a note.
const ROLE: usize = 16;
const MACHINES: usize = 24;
const NOTE: usize = 46;

/// Draws a contender.
pub(super) fn draw(id: &str, panel: &SystemPanel) -> String {
    let mut body = String::new();
    let of = |billed: bool| panel.roles.iter().filter(move |role| role.billed == billed);
    let mut y = 2.0;
    let mut load = String::new();
    for role in of(false) {
        y = machines(&mut load, role, y) + GAP;
    }
    if of(true).next().is_some() {
        if !load.is_empty() {
            y += GAP;
            // Boxes lie on the line, so that it joins all of them with the frame.
            line(&mut body, "axis", (LINK, 2.0 + PAD), (LINK, y));
        }
        body += &load;
        y = frame(&mut body, panel, y) + GAP;
    } else {
        body = load;
    }
    let each: Vec<String> = panel.roles.iter().map(in_words).collect();
    let mut out = open(id, &panel.title, &each.join(" "), (WIDTH, (y - GAP + 2.0).max(1.0)));
    out += &body;
    out + "</svg>"
}

/// What is billed, in a frame with its region; returns where the frame ends.
fn frame(out: &mut String, panel: &SystemPanel, top: f64) -> f64 {
    let mut y = top + GAP;
    if !panel.region.is_empty() {
        y += PAD;
        text(out, LEFT, y, "start", "tick", &shorten(&format!("priced in {}", panel.region), NOTE));
        y += GAP;
    }
    for role in panel.roles.iter().filter(|role| role.billed) {
        y = machines(out, role, y) + GAP;
    }
    rect(out, "frame", (1.0, top), (WIDTH - 2.0, y - top));
    y
}

/// The box of a role with its volumes; returns where they end.
fn machines(out: &mut String, role: &SystemRole, top: f64) -> f64 {
    let height = PAD * 1.5 + LINE + if role.note.is_empty() { 0.0 } else { LINE };
    let depth = f64::from(role.count.clamp(1, BOXES) - 1) * STEP;
    let bottom = top + height + depth;
    valued(out, &in_words(role), |out| {
        let class = if role.billed { "box" } else { "box unbilled" };
        let mut offset = depth;
        while offset >= 0.0 {
            rect(out, class, (LEFT + offset, top + offset), (BOX, height));
            offset -= STEP;
        }
        text(out, LEFT + 10.0, top + PAD + 12.0, "start", "value", &shorten(&role.name, ROLE));
        text(out, LEFT + BOX - 10.0, top + PAD + 12.0, "end", "name", &shorten(&role.machines, MACHINES));
        if !role.note.is_empty() {
            text(out, LEFT + 10.0, top + PAD + 12.0 + LINE, "start", "tick", &shorten(&role.note, NOTE));
        }
    });
    let stem = LEFT + 10.0 + DISK.0 / 2.0;
    let (mut y, mut disks, mut last) = (bottom, String::new(), bottom);
    for volume in &role.volumes {
        last = y + PAD;
        y = disk(&mut disks, volume, last);
    }
    if last > bottom {
        line(out, "axis", (stem, bottom), (stem, last));
    }
    // The disks lie on the line that joins them.
    out.push_str(&disks);
    y
}

/// A volume as a disk with its words; returns where they end.
fn disk(out: &mut String, volume: &SystemVolume, top: f64) -> f64 {
    let (wide, high) = DISK;
    let (left, curve) = (LEFT + 10.0, 3.5);
    let (half, upper) = (wide / 2.0, top + curve);
    let _ = writeln!(
        out,
        "<path class=\"box\" d=\"M{left:.1} {upper:.1}a{half:.1} {curve} 0 0 1 {wide:.1} 0v{high:.1}a{half:.1} {curve} 0 0 1 {:.1} 0z\
         m0 0a{half:.1} {curve} 0 0 0 {wide:.1} 0\"/>",
        -wide
    );
    let words = left + wide + 10.0;
    text(out, words, top + 14.0, "start", "name", &shorten(&volume.name, NOTE - 6));
    if volume.note.is_empty() {
        return top + high + 2.0 * curve;
    }
    text(out, words, top + 14.0 + LINE - 2.0, "start", "tick", &shorten(&volume.note, NOTE - 4));
    top + 14.0 + LINE + 2.0
}

/// `tikv: 3 × r6g.2xlarge, 8 vCPU, 64 GiB each; on each 1,000 GB, gp2, daily snapshots.`
fn in_words(role: &SystemRole) -> String {
    let volumes = role.volumes.iter().map(SystemVolume::words).collect::<Vec<_>>().join(" and ");
    let note = if role.note.is_empty() { String::new() } else { format!(", {}", role.note) };
    let unbilled = if role.billed { "" } else { ", not billed" };
    let on_each = if volumes.is_empty() { String::new() } else { format!("; on each {volumes}") };
    format!("{}: {}{note}{unbilled}{on_each}.", role.name, role.machines)
}
