//! The records: a row is a function of the seed of the data and its number, whether a load or an INSERT of a run makes it.

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::values::Params;

use super::draw::Drawn;
use super::keys::Keys;
use super::options::{Compat, Options};
use super::values::{deterministic, random};

/// Sets the random streams of records apart from those of terminals, which have small numbers.
const RECORD_STREAM: u64 = 0x7963_7362_0000_0000;

#[derive(Debug, Clone)]
pub(super) struct Records {
    pub(super) keys: Keys,
    compat: Compat,
    /// Whether fields are a function of their key alone.
    pub(super) integrity: bool,
    lengths: Drawn,
    /// Names of the fields, as integrity values hold them.
    fields: Vec<String>,
    seed: Seed,
}

impl Records {
    pub(super) fn new(options: &Options, seed: Seed) -> Self {
        Self {
            keys: options.keys(),
            compat: options.compat,
            integrity: options.dataintegrity,
            lengths: Drawn::new(&options.lengths),
            fields: (0..options.fieldcount).map(|i| format!("{}{i}", options.fieldnameprefix)).collect(),
            seed,
        }
    }

    #[inline]
    pub(super) fn width(&self) -> usize {
        self.fields.len()
    }

    /// Appends the key and every field of a record; `key` is room for the key.
    #[inline]
    pub(super) fn row(&self, cells: &mut Params, key: &mut Vec<u8>, record: u64) {
        let mut rng = OpRng::at(self.seed, RECORD_STREAM, record);
        key.clear();
        self.keys.write(key, record);
        cells.text(key);
        for field in 0..self.width() {
            self.field(cells, &mut rng, key, field);
        }
    }

    /// Appends a value for a field of the record with that key.
    #[inline]
    pub(super) fn field(&self, cells: &mut Params, rng: &mut OpRng, key: &[u8], field: usize) {
        let length = self.lengths.draw(rng);
        cells.text_with(|out| {
            if self.integrity {
                deterministic(out, self.compat, key, self.fields[field].as_bytes(), length);
            } else {
                random(out, rng, length);
            }
        });
    }

    /// The value that a field must have in data-integrity mode, in `out`.
    #[inline]
    pub(super) fn expected(&self, out: &mut Vec<u8>, key: &[u8], field: usize) {
        out.clear();
        // Its length is constant then, and no number is drawn for it.
        let length = self.lengths.draw(&mut OpRng::new(self.seed));
        deterministic(out, self.compat, key, self.fields[field].as_bytes(), length);
    }
}
