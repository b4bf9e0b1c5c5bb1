//! Sparse maps in all layouts.

#![no_main]

use durastar::format::fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::maps(bytes));
