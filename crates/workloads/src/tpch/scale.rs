//! The scale factor (4.1.3).

/// SF of the specification, in hundredths: data of scale 1 are about a gigabyte. Below 1 the sizes are not those of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale(u32);

impl Scale {
    /// The smallest there is, for trials of perbuck itself.
    pub const SMALLEST: Self = Self(1);

    /// A scale factor of so many hundredths, 1 to 10 000 000.
    pub const fn hundredths(hundredths: u32) -> Self {
        Self(hundredths)
    }

    /// The factor itself.
    pub fn factor(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// So many of what a database of scale 1 has `of`, rounded down.
    pub fn times(self, of: u64) -> u64 {
        of * u64::from(self.0) / 100
    }
}
