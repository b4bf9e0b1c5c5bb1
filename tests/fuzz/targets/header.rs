//! One header block.

#![no_main]

use durastar::format::fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::header(bytes));
