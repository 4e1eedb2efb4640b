//! Files that other programs open: a chart as a picture, and the numbers of a comparison as a workbook.
//!
//! Both are functions of their input alone: no font of the system, no clock. The font is part of the program (`fonts/`).

mod picture;
mod workbook;

pub use picture::png;
pub use workbook::xlsx;
