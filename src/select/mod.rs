//! stub
pub mod names;
/// stub
pub mod pattern {
    /// m
    pub fn matches(_p: &crate::plan::Pattern, _n: &[u8]) -> bool {
        true
    }
}
