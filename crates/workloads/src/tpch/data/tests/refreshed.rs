//! The refresh sets beside those of dbgen, and what they leave.

use std::collections::BTreeSet;

use super::*;
use crate::tpch::data::refresh::{SETS, deleted, inserted, orders_per_set};
use crate::tpch::data::schema::ORDERS;

/// The number of a set, and the hashes of its three files.
type Set = (u32, [u64; 3]);

/// Hashes of orders.tbl.uN, lineitem.tbl.uN and delete.N of sets 1, 2 and 999, as `dbgen -U` of dbgen 2.17.3 wrote them on 2026-11-27 at scales
/// 0.01, 0.1 and 1.
const DBGEN: [(u32, [Set; 3]); 3] = [
    (
        1,
        [
            (1, [0x5db5_176f_da2d_0a18, 0x545e_65d7_ac54_f36e, 0xf425_ea02_dcf2_48f7]),
            (2, [0x53ce_71a1_6013_0145, 0xf5e0_077c_8d98_3e6b, 0x0053_fca2_fcc5_1c37]),
            (999, [0x60e3_a8b3_4855_1b81, 0x9f15_d327_8914_d696, 0x9a28_b00f_a75f_31aa]),
        ],
    ),
    (
        10,
        [
            (1, [0x03f1_a014_3efa_ba3e, 0x0bc4_fca1_458c_bf08, 0x8d8f_460b_2b00_d04b]),
            (2, [0x302c_2cac_4b80_2130, 0x8356_c50c_2b72_c6b6, 0x57e6_b334_f861_3639]),
            (999, [0x274b_8ba9_0003_f0e0, 0x182e_3d38_7df0_c256, 0x5e9d_7ca4_0169_1f12]),
        ],
    ),
    (
        100,
        [
            (1, [0x9f2e_7f66_5a09_8145, 0xed71_733a_b5bb_c897, 0xa67c_a5b3_806d_1a4b]),
            (2, [0xc8d9_fdce_6a11_365a, 0x4fbd_117c_8ffe_8658, 0x9963_701c_e04c_08de]),
            (999, [0x4296_d2b9_948c_3cf0, 0xc339_cf61_ae18_0a1d, 0x0579_0261_367e_fbda]),
        ],
    ),
];

#[test]
fn sets_are_those_of_dbgen() {
    for (hundredths, sets) in DBGEN {
        let scale = Scale::hundredths(hundredths);
        for (set, expected) in sets {
            let mut files = [const { Vec::new() }; 3];
            for new in inserted(scale, set) {
                write_rows(&mut files[0], ORDERS, &new.order);
                write_rows(&mut files[1], LINEITEM, &new.lines);
            }
            for key in deleted(scale, set) {
                files[2].extend(format!("{key}|\n").bytes());
            }
            assert_eq!(files.map(|file| hash(&file)), expected, "set {set} at scale {}", scale.factor());
        }
    }
}

fn key(new: &Params) -> i64 {
    match new.iter().next() {
        Some(Value::Int(key)) => key,
        other => panic!("{other:?} is no key"),
    }
}

/// The row counts of clause 2.5: as many orders after each set as before, also after all sets.
#[test]
fn inserted_keys_are_new_and_deleted_keys_are_there() {
    let (data, mut cells) = (data(HUNDREDTH), Params::default());
    let mut keys = BTreeSet::new();
    for index in 0..data.parts() {
        let mut part = data.part(index);
        part.only(&std::array::from_fn::<bool, 8, _>(|table| table == ORDERS));
        while part.next_batch(&mut cells).is_some() {
            keys.extend(cells.iter().step_by(9).map(|value| if let Value::Int(key) = value { key } else { 0 }));
        }
    }
    assert_eq!((keys.len(), orders_per_set(HUNDREDTH), orders_per_set(Scale::hundredths(100))), (15_000, 10, 1_500));
    for set in 1..=SETS {
        for new in inserted(HUNDREDTH, set) {
            assert!(keys.insert(key(&new.order)), "set {set}");
        }
        for old in deleted(HUNDREDTH, set) {
            assert!(keys.remove(&old), "set {set}");
        }
        assert_eq!(keys.len(), 15_000);
    }
}
