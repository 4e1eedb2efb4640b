//! Random characters of an alphabet of 64.

use perbuck_core::rng::OpRng;

/// Two characters for each twelve bits: half as many look-ups, and most of a load's CPU goes into them.
pub(crate) type Pairs = [[u8; 2]; 4096];

pub(crate) const fn pairs(alphabet: &[u8; 64]) -> Pairs {
    let mut all = [[0; 2]; 4096];
    let mut bits = 0;
    while bits < all.len() {
        all[bits] = [alphabet[bits & 63], alphabet[bits >> 6]];
        bits += 1;
    }
    all
}

/// Appends `length` random characters of an alphabet: ten of each draw, six bits for one.
#[inline]
pub(crate) fn write_chars(out: &mut Vec<u8>, rng: &mut OpRng, pairs: &Pairs, length: usize) {
    let start = out.len();
    // Room for whole tens; what is too much is cut off again.
    out.resize(start + length.next_multiple_of(10), 0);
    for ten in out[start..].as_chunks_mut::<10>().0 {
        let bits = rng.next_u64();
        for (i, two) in ten.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            *two = pairs[(bits >> (12 * i)) as usize & 4095];
        }
    }
    out.truncate(start + length);
}
