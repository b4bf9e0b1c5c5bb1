//! Lines for people: pure functions from members to bytes.
