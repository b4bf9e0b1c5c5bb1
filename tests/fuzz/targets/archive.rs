//! A whole archive, read in three ways that have to agree.

#![no_main]

use durastar::format::fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::archive(bytes));
