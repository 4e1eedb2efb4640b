//! REGION and NATION.

use perbuck_load::values::Params;
use tpchgen::distribution::{Distribution, Distributions};

use super::{Comments, comment};

/// The rows of one of the two.
#[derive(Debug)]
pub(in super::super) struct Codes {
    list: &'static Distribution,
    /// Of NATION, whose weights, added up, are the keys of the regions.
    has_region: bool,
    comments: Comments,
    next: usize,
}

impl Codes {
    pub(in super::super) fn regions() -> Self {
        Self::new(Distributions::static_default().regions(), false, 1_500_869_201)
    }

    pub(in super::super) fn nations() -> Self {
        Self::new(Distributions::static_default().nations(), true, 606_179_079)
    }

    fn new(list: &'static Distribution, has_region: bool, seed: u32) -> Self {
        Self { list, has_region, comments: Comments::at_row(seed, 72, 1, 0), next: 0 }
    }

    pub(in super::super) fn write(&mut self, cells: &mut Params) {
        cells.int(self.next as i64).text(self.list.get_value(self.next).as_bytes());
        if self.has_region {
            cells.int(self.list.get_weight(self.next).into());
        }
        comment(cells, &mut self.comments);
        self.comments.end_row();
        self.next += 1;
    }
}
