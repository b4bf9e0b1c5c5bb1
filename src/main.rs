//! The durastar program.

fn main() {}
