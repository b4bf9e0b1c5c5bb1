//! The durastar library.
