//! All rows as text.

use std::fmt::Display;

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator, RegionGenerator,
    SupplierGenerator,
};

use super::*;
use crate::tpch::data::schema::{CUSTOMER, NATION, ORDERS, PART, PARTSUPP, REGION, SUPPLIER};
use crate::tpch::data::{expected, sums};

/// Hashes of region.tbl, nation.tbl and so on, as dbgen 2.17.3 wrote them on 2026-11-27, at scales 0.01 and 0.1.
const DBGEN: [(Scale, [u64; 8]); 2] = [
    (
        HUNDREDTH,
        [
            0x0c40_8881_3f7d_56f8,
            0xb150_da8b_f741_231d,
            0x7423_e7df_0811_3e5c,
            0xff91_96a7_6fd4_58ac,
            0x98c4_3d04_80b4_1dd7,
            0xc458_14a6_18ad_08d1,
            0xab07_be01_05d4_ef57,
            0xc7e3_5b48_5a0b_9dbb,
        ],
    ),
    (
        TENTH,
        [
            0x0c40_8881_3f7d_56f8,
            0xb150_da8b_f741_231d,
            0x5c82_7f0f_aa6e_d53e,
            0x0bcf_b28f_a15a_97ed,
            0x535f_77f3_cf89_ae6a,
            0x281c_b2e8_2bf9_185f,
            0xd4d8_ff35_5871_989d,
            0x0fa5_fcc6_7a37_419b,
        ],
    ),
];

#[test]
fn rows_are_those_of_dbgen_byte_for_byte() {
    for (scale, expected) in DBGEN {
        let data = data(scale);
        let files = files(&data, 0..data.parts());
        for ((table, file), expected) in TABLES.iter().zip(&files).zip(expected) {
            assert_eq!(hash(file), expected, "{} at scale {}", table.name, scale.factor());
        }
        let rows: Vec<u64> = files.iter().map(|file| file.iter().filter(|byte| **byte == b'\n').count() as u64).collect();
        assert_eq!(rows, data.tables().iter().filter_map(|table| table.rows).collect::<Vec<_>>());
    }
}

#[test]
fn sums_are_those_of_the_files_of_dbgen() {
    for scale in [HUNDREDTH, TENTH] {
        assert_eq!(Some(sums::of(&data(scale))), expected::sums(scale), "{}", scale.factor());
    }
    // At larger ones the sums stand beside the numbers of rows alone: to make all rows would take a minute.
    for scale in [100, 1_000].map(Scale::hundredths) {
        let known: Vec<u64> = expected::sums(scale).unwrap().iter().map(|sums| sums[0] as u64).collect();
        assert_eq!(known, data(scale).tables().iter().filter_map(|table| table.rows).collect::<Vec<_>>());
    }
    let other = Scale::hundredths(2);
    assert_eq!((expected::sums(other), data(other).sums()[ORDERS][0]), (None, 30_000));
}

/// Clause 4.2.5.1 has the numbers of rows at these scales.
#[test]
fn lineitem_has_as_many_rows_as_the_specification_says() {
    for (scale, rows) in [(1, 6_001_215), (10, 59_986_052), (30, 179_998_372)] {
        assert_eq!(data(Scale::hundredths(100 * scale)).tables()[LINEITEM].rows, Some(rows));
    }
}

fn tpchgen<T: Display>(rows: impl Iterator<Item = T>) -> Vec<u8> {
    rows.flat_map(|row| format!("{row}\n").into_bytes()).collect()
}

#[test]
fn rows_are_those_of_tpchgen() {
    let (data, scale) = (data(HUNDREDTH), HUNDREDTH.factor());
    let ours = files(&data, 0..data.parts());
    let mut theirs = [const { Vec::new() }; 8];
    theirs[REGION] = tpchgen(RegionGenerator::new(scale, 1, 1).iter());
    theirs[NATION] = tpchgen(NationGenerator::new(scale, 1, 1).iter());
    theirs[PART] = tpchgen(PartGenerator::new(scale, 1, 1).iter());
    theirs[SUPPLIER] = tpchgen(SupplierGenerator::new(scale, 1, 1).iter());
    theirs[PARTSUPP] = tpchgen(PartSuppGenerator::new(scale, 1, 1).iter());
    theirs[CUSTOMER] = tpchgen(CustomerGenerator::new(scale, 1, 1).iter());
    theirs[ORDERS] = tpchgen(OrderGenerator::new(scale, 1, 1).iter());
    theirs[LINEITEM] = tpchgen(LineItemGenerator::new(scale, 1, 1).iter());
    for ((table, ours), theirs) in TABLES.iter().zip(&ours).zip(&theirs) {
        let rows = |file: &[u8]| String::from_utf8(file.to_vec()).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
        for (number, (ours, theirs)) in rows(ours).iter().zip(&rows(theirs)).enumerate() {
            assert_eq!(ours, theirs, "row {number} of {}", table.name);
        }
        assert_eq!(ours.len(), theirs.len(), "{}", table.name);
    }
}

/// At a large scale every part starts at its own row, far from the first. The hashes are those of files that dbgen 2.17.3 wrote for one of many
/// chunks (`-s 1000 -C 150000 -S 77778 -T o` and such).
#[test]
fn parts_of_a_large_scale_are_the_chunks_of_dbgen() {
    let data = data(Scale::hundredths(100_000));
    let (suppliers, customers, parts, orders) = (1_000, 7_500, 40_000, 150_000);
    assert_eq!(data.parts(), 2 + suppliers + customers + parts + orders);
    let chunk = |before: u32, number: u32| files(&data, [2 + before + number - 1].into_iter());
    assert_eq!(hash(&chunk(0, 1_000)[SUPPLIER]), 0x2e14_691c_35ea_85a0);
    assert_eq!(hash(&chunk(suppliers, 7_001)[CUSTOMER]), 0x9863_93b8_5811_bbf7);
    let of_parts = chunk(suppliers + customers, 30_001);
    assert_eq!([PART, PARTSUPP].map(|table| hash(&of_parts[table])), [0xee32_c52f_aad4_8efe, 0x1616_09ee_dfdc_26f7]);
    let of_orders = chunk(suppliers + customers + parts, 77_778);
    assert_eq!([ORDERS, LINEITEM].map(|table| hash(&of_orders[table])), [0x4db4_6831_850c_6d02, 0x7508_38ab_df09_07df]);
}

#[test]
fn a_part_gives_only_the_tables_that_are_wanted() {
    let data = data(HUNDREDTH);
    let all = files(&data, 0..data.parts());
    for (wanted, table) in TABLES.iter().enumerate() {
        let (mut file, mut cells, tables) = (Vec::new(), Params::default(), std::array::from_fn::<bool, 8, _>(|t| t == wanted));
        for index in 0..data.parts() {
            let mut part = data.part(index);
            part.only(&tables);
            while let Some(table) = part.next_batch(&mut cells) {
                assert_eq!(table, wanted);
                write_rows(&mut file, table, &cells);
            }
        }
        assert!(file == all[wanted], "{}", table.name);
    }
    assert_eq!(data.part(data.parts()).next_batch(&mut Params::default()), None);
}
