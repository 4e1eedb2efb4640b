//! PART, and the four rows of PARTSUPP that each of its rows has.

use perbuck_load::values::Params;

use super::{Comments, Counts, LISTS, SUPPLIERS_OF_PART, Stream, comment, pick, retail_price};

/// Words of the name of a part, and those that they are drawn from (4.2.3, P_NAME).
const WORDS: usize = 5;
const COLORS: usize = 92;

/// The rows of PART and of PARTSUPP.
#[derive(Debug)]
pub(in super::super) struct Parts {
    counts: Counts,
    name: Stream,
    manufacturer: Stream,
    brand: Stream,
    kind: Stream,
    size: Stream,
    container: Stream,
    comments: Comments,
    available: Stream,
    cost: Stream,
    supply_comments: Comments,
    next: i64,
}

impl Parts {
    pub(in super::super) fn at(counts: Counts, row: i64) -> Self {
        let skipped = row as u64;
        let one = |seed| Stream::at_row(seed, 1, skipped);
        Self {
            counts,
            name: Stream::at_row(709_314_158, COLORS as u64, skipped),
            manufacturer: one(1),
            brand: one(46_831_694),
            kind: one(1_841_581_359),
            size: one(1_193_163_244),
            container: one(727_633_698),
            comments: Comments::at_row(804_159_733, 14, 1, skipped),
            available: Stream::at_row(1_671_059_989, SUPPLIERS_OF_PART as u64, skipped),
            cost: Stream::at_row(1_051_288_424, SUPPLIERS_OF_PART as u64, skipped),
            supply_comments: Comments::at_row(1_961_692_154, 124, SUPPLIERS_OF_PART as u64, skipped),
            next: row + 1,
        }
    }

    /// Writes the rows that are wanted of the next part.
    pub(in super::super) fn write(&mut self, part: Option<&mut Params>, supplies: Option<&mut Params>) {
        if let Some(cells) = part {
            self.part(cells);
        }
        if let Some(cells) = supplies {
            self.supplies(cells);
        }
        for stream in [&mut self.name, &mut self.manufacturer, &mut self.brand, &mut self.kind, &mut self.size] {
            stream.end_row();
        }
        for stream in [&mut self.container, &mut self.available, &mut self.cost] {
            stream.end_row();
        }
        self.comments.end_row();
        self.supply_comments.end_row();
        self.next += 1;
    }

    fn part(&mut self, cells: &mut Params) {
        let manufacturer = self.manufacturer.between(1, 5);
        cells.int(self.next);
        self.name(cells);
        let digit = |number: i64| b'0' + number as u8;
        let brand = [digit(manufacturer), digit(self.brand.between(1, 5))];
        cells.text_with(|out| {
            out.extend_from_slice(b"Manufacturer#");
            out.push(brand[0]);
        });
        cells.text_with(|out| {
            out.extend_from_slice(b"Brand#");
            out.extend_from_slice(&brand);
        });
        pick(cells, &mut self.kind, &LISTS.types);
        cells.int(self.size.between(1, 50));
        pick(cells, &mut self.container, &LISTS.containers);
        cells.decimal(retail_price(self.next), 2);
        comment(cells, &mut self.comments);
    }

    /// Five colors, none of them twice: the first of a permutation of all.
    fn name(&mut self, cells: &mut Params) {
        let mut order: [u8; COLORS] = std::array::from_fn(|color| color as u8);
        for word in 0..WORDS {
            let other = self.name.between(word as i64, COLORS as i64 - 1) as usize;
            order.swap(word, other);
        }
        cells.text_with(|out| {
            for (word, color) in order[..WORDS].iter().enumerate() {
                if word > 0 {
                    out.push(b' ');
                }
                out.extend_from_slice(LISTS.colors[usize::from(*color)].as_bytes());
            }
        });
    }

    fn supplies(&mut self, cells: &mut Params) {
        for number in 0..SUPPLIERS_OF_PART {
            cells.int(self.next).int(self.counts.supplier_of(self.next, number));
            cells.int(self.available.between(1, 9_999)).decimal(self.cost.between(100, 100_000), 2);
            comment(cells, &mut self.supply_comments);
        }
    }
}
