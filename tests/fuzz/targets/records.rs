//! The body of a pax extended header.

#![no_main]

use durastar::format::fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::records(bytes));
