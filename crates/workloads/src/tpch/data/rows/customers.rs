//! CUSTOMER.

use perbuck_load::values::Params;

use super::{Comments, LISTS, NATIONS, Stream, address, comment, numbered, phone, pick};

/// The rows of CUSTOMER.
#[derive(Debug)]
pub(in super::super) struct Customers {
    address: Stream,
    nation: Stream,
    phone: Stream,
    balance: Stream,
    segment: Stream,
    comments: Comments,
    next: i64,
}

impl Customers {
    pub(in super::super) fn at(row: i64) -> Self {
        let skipped = row as u64;
        Self {
            address: Stream::at_row(881_155_353, 9, skipped),
            nation: Stream::at_row(1_489_529_863, 1, skipped),
            phone: Stream::at_row(1_521_138_112, 3, skipped),
            balance: Stream::at_row(298_370_230, 1, skipped),
            segment: Stream::at_row(1_140_279_430, 1, skipped),
            comments: Comments::at_row(1_335_826_707, 73, 1, skipped),
            next: row + 1,
        }
    }

    pub(in super::super) fn write(&mut self, cells: &mut Params) {
        let nation = self.nation.between(0, NATIONS - 1);
        cells.int(self.next);
        numbered(cells, "Customer#", self.next);
        address(cells, &mut self.address);
        cells.int(nation);
        phone(cells, &mut self.phone, nation);
        cells.decimal(self.balance.between(-99_999, 999_999), 2);
        pick(cells, &mut self.segment, &LISTS.segments);
        comment(cells, &mut self.comments);
        for stream in [&mut self.address, &mut self.nation, &mut self.phone, &mut self.balance, &mut self.segment] {
            stream.end_row();
        }
        self.comments.end_row();
        self.next += 1;
    }
}
