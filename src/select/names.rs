//! stub
/// c
pub fn components(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.split(|b| *b == b'/')
        .filter(|p| !p.is_empty() && *p != b".")
}
/// a
pub fn is_absolute(name: &[u8]) -> bool {
    name.starts_with(b"/")
}
