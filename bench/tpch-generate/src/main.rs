//! Makes the tables of TPC-H as dbgen's text, by perbuck's rows and by tpchgen, on one thread, and prints megabytes a second of both: by the time
//! that the thread had a processor, so that other programs of the machine do not count.
//!
//!     cargo run --profile dist -p perbuck-tpch-generate [scale, default 1] [rounds, default 3]
//!
//! The rates are without the text that both make first. The peak memory is perbuck's alone: it goes first.
#![allow(clippy::print_stdout)]

use perbuck_load::values::{Params, Value, write_decimal};
use perbuck_load::workload::Dataset;
use perbuck_postgres::Family;
use perbuck_workloads::tpch::{DataOptions, Scale, TpchData};
use std::fmt::Display;
use std::io::Write;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator, RegionGenerator,
    SupplierGenerator,
};
use tpchgen::text::TextPool;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scale: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let rounds: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    let data = TpchData::new(&Family::Postgres, DataOptions::new(Scale::hundredths((scale * 100.0).round() as u32)));
    let start = processor_seconds();
    let _ = ours(&data, 0..1);
    println!("perbuck   text made in {:.2} s", processor_seconds() - start);
    timed("perbuck  ", || rows(&data), "rows as perbuck sends them");
    let first = timed("perbuck  ", || ours(&data, 0..data.parts()), "text");
    println!("perbuck   peak memory {} MB", peak_megabytes());
    let start = processor_seconds();
    TextPool::get_or_init_default();
    println!("tpchgen   text made in {:.2} s", processor_seconds() - start);
    let (mut best, mut other) = (first, 0.0_f64);
    for _ in 0..rounds {
        other = other.max(timed("tpchgen  ", || theirs(scale), "text"));
        best = best.max(timed("perbuck  ", || ours(&data, 0..data.parts()), "text"));
    }
    println!("perbuck / tpchgen, best of each: {:.2}", best / other);
}

/// Megabytes a second of what `make` makes; it says how many bytes.
fn timed(who: &str, make: impl Fn() -> u64, what: &str) -> f64 {
    let start = processor_seconds();
    let bytes = make();
    let rate = bytes as f64 / 1e6 / (processor_seconds() - start);
    println!("{who} {rate:.0} MB/s, {bytes} bytes of {what}");
    rate
}

fn rows(data: &TpchData) -> u64 {
    let (mut batch, mut bytes) = (Params::default(), 0);
    for index in 0..data.parts() {
        let mut part = data.part(index);
        while part.next_batch(&mut batch).is_some() {
            bytes += (batch.text_bytes() + 8 * batch.len()) as u64;
        }
    }
    bytes
}

fn ours(data: &TpchData, parts: impl Iterator<Item = u32>) -> u64 {
    let widths: Vec<usize> = data.tables().iter().map(|table| table.bulk.columns.len()).collect();
    let (mut batch, mut text, mut bytes) = (Params::default(), Vec::new(), 0);
    for index in parts {
        let mut part = data.part(index);
        while let Some(table) = part.next_batch(&mut batch) {
            text.clear();
            write_rows(&mut text, widths[table], table + 1 == widths.len(), &batch);
            bytes += text.len() as u64;
        }
    }
    bytes
}

/// dbgen prints the quantity of a line without its zeros.
fn write_rows(out: &mut Vec<u8>, width: usize, lines: bool, batch: &Params) {
    let mut column = 0;
    for value in batch.iter() {
        match value {
            Value::Null => {}
            Value::Int(number) => write_decimal(out, number, 0),
            Value::Decimal { unscaled, .. } if lines && column == 4 => write_decimal(out, unscaled / 100, 0),
            Value::Decimal { unscaled, scale } => write_decimal(out, unscaled, scale),
            Value::Text(text) => out.extend_from_slice(text),
        }
        out.push(b'|');
        column += 1;
        if column == width {
            out.push(b'\n');
            column = 0;
        }
    }
}

fn theirs(scale: f64) -> u64 {
    text(RegionGenerator::new(scale, 1, 1).iter())
        + text(NationGenerator::new(scale, 1, 1).iter())
        + text(PartGenerator::new(scale, 1, 1).iter())
        + text(SupplierGenerator::new(scale, 1, 1).iter())
        + text(PartSuppGenerator::new(scale, 1, 1).iter())
        + text(CustomerGenerator::new(scale, 1, 1).iter())
        + text(OrderGenerator::new(scale, 1, 1).iter())
        + text(LineItemGenerator::new(scale, 1, 1).iter())
}

fn text<T: Display>(rows: impl Iterator<Item = T>) -> u64 {
    let (mut text, mut bytes) = (Vec::new(), 0);
    for row in rows {
        // A vector takes all that is written.
        let _ = writeln!(text, "{row}");
        if text.len() > 256 * 1024 {
            bytes += text.len() as u64;
            text.clear();
        }
    }
    bytes + text.len() as u64
}

/// How long this thread has had a processor, by Linux.
fn processor_seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    times.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0) / 1e9
}

/// The most memory that this process has used.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1000
}
