//! The rows of the eight tables, equal to those of dbgen, and the two refresh functions.
