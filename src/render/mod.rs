//! Lines for people: pure functions from members and counters to bytes.
//!
//! Nothing here prints, asks for the time or knows who the user is. What depends on the system (local time, the
//! locale's characters) comes in as data, so that every line can be tested.

pub mod human;
pub mod listing;
pub mod quote;
pub mod table;
pub mod time;
