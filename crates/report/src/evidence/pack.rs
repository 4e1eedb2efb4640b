//! Writing the embedded data: the records as they are, one on a line, compressed.

use std::io::{BufWriter, Write as _};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::Compression;
use flate2::write::GzEncoder;
use perbuck_core::parallel::in_parallel;
use perbuck_core::run_record::RunRecord;
use serde::Serialize;

use super::Head;
use crate::escape;

/// Records of one piece: what they have in common costs little from the second one on.
const PIECE: usize = 64;

/// Pieces that are in memory at the same time.
const PIECES_AT_ONCE: usize = 32;

/// The fastest level. Level 6 saves a third of the size and takes five times as long, which is as long as all else of a report.
const LEVEL: Compression = Compression::fast();

type Trial<'r> = (String, &'r RunRecord, &'r str);

/// The embedded data of a report: JSON that can stand in a page. Each record has the checksum at its index in `sums`. The
/// same trials give the same text in any order.
///
/// # Errors
/// When a number of a record is not finite.
pub fn pack(head: &Head, records: &[RunRecord], sums: &[String]) -> Result<String, String> {
    let mut all = String::new();
    pack_into(head, records, sums, &mut |part| {
        all.push_str(part);
        Ok(())
    })?;
    Ok(all)
}

/// The same piece by piece: of thousands of trials it is large, and most of the page.
///
/// # Errors
/// As [`pack`], and those of the sink.
pub fn pack_into(
    head: &Head,
    records: &[RunRecord],
    sums: &[String],
    sink: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    let mut trials: Vec<Trial<'_>> = records.iter().zip(sums).map(|(r, sum)| (r.path(), r, sum.as_str())).collect();
    trials.sort_by(|a, b| a.0.cmp(&b.0));
    let sums: Vec<&str> = trials.iter().map(|t| t.2).collect();
    sink(&format!("{{\"head\":{},\n\"sha256\":{},\n\"records\":[", text(head)?, text(&sums)?))?;
    let pieces: Vec<&[Trial<'_>]> = trials.chunks(PIECE).collect();
    let mut before = "\n";
    for some in pieces.chunks(PIECES_AT_ONCE) {
        for piece in in_parallel(some, |piece| compressed(piece))? {
            sink(&format!("{before}\"{piece}\""))?;
            before = ",\n";
        }
    }
    sink("]}")
}

fn text(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map(|t| escape::json(&t)).map_err(|e| e.to_string())
}

/// The lines of some records, as gzip in base64.
fn compressed(piece: &[Trial<'_>]) -> Result<String, String> {
    let mut lines = BufWriter::with_capacity(1 << 16, GzEncoder::new(Vec::new(), LEVEL));
    for (_, record, _) in piece {
        serde_json::to_writer(&mut lines, record).map_err(|e| e.to_string())?;
        lines.write_all(b"\n").map_err(|e| e.to_string())?;
    }
    let encoder = lines.into_inner().map_err(|e| e.to_string())?;
    encoder.finish().map(|bytes| STANDARD.encode(bytes)).map_err(|e| e.to_string())
}
