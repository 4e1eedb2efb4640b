//! SUPPLIER.

use perbuck_load::values::Params;

use super::{Comments, NATIONS, Stream, address, numbered, phone};
use crate::tpch::data::text::text;

/// Five comments of ten thousand complain and five recommend (4.2.3, S_COMMENT): about so many of ten thousand in all.
const MARKED: i64 = 10;

/// The rows of SUPPLIER.
#[derive(Debug)]
pub(in super::super) struct Suppliers {
    address: Stream,
    nation: Stream,
    phone: Stream,
    balance: Stream,
    comments: Comments,
    marked: Stream,
    complains: Stream,
    gap: Stream,
    offset: Stream,
    next: i64,
}

impl Suppliers {
    pub(in super::super) fn at(row: i64) -> Self {
        let skipped = row as u64;
        let one = |seed| Stream::at_row(seed, 1, skipped);
        Self {
            address: Stream::at_row(706_178_559, 9, skipped),
            nation: one(110_356_601),
            phone: Stream::at_row(884_434_366, 3, skipped),
            balance: one(962_338_209),
            comments: Comments::at_row(1_341_315_363, 63, 1, skipped),
            marked: one(202_794_285),
            complains: one(753_643_799),
            gap: one(263_032_577),
            offset: one(715_851_524),
            next: row + 1,
        }
    }

    pub(in super::super) fn write(&mut self, cells: &mut Params) {
        let nation = self.nation.between(0, NATIONS - 1);
        cells.int(self.next);
        numbered(cells, "Supplier#", self.next);
        address(cells, &mut self.address);
        cells.int(nation);
        phone(cells, &mut self.phone, nation);
        cells.decimal(self.balance.between(-99_999, 999_999), 2);
        self.comment(cells);
        for stream in [&mut self.address, &mut self.nation, &mut self.phone, &mut self.balance] {
            stream.end_row();
        }
        for stream in [&mut self.marked, &mut self.complains, &mut self.gap, &mut self.offset] {
            stream.end_row();
        }
        self.comments.end_row();
        self.next += 1;
    }

    /// The comment, and over some of its bytes what customers say of some suppliers.
    fn comment(&mut self, cells: &mut Params) {
        const CUSTOMER: &[u8] = b"Customer ";
        const SAID: [&[u8]; 2] = [b"Complaints", b"Recommends"];
        let (at, length) = self.comments.next();
        let spare = (length - CUSTOMER.len() - SAID[0].len()) as i64;
        let marked = self.marked.between(1, 10_000) <= MARKED;
        let said = SAID[usize::from(self.complains.between(0, 100) >= 50)];
        let gap = self.gap.between(0, spare);
        let offset = self.offset.between(0, spare - gap) as usize;
        cells.text_with(|out| {
            let start = out.len();
            text().append(out, (at, length));
            if marked {
                let comment = &mut out[start + offset..];
                comment[..CUSTOMER.len()].copy_from_slice(CUSTOMER);
                comment[CUSTOMER.len() + gap as usize..][..said.len()].copy_from_slice(said);
            }
        });
    }
}
