//! Names as lists of components. Bytes throughout; `/` separates, and several of them count as one.

/// The components of a name that lead somewhere: neither empty nor `.`.
pub fn components(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
}

/// Whether a name begins at the root.
#[must_use]
pub fn is_absolute(name: &[u8]) -> bool {
    name.starts_with(b"/")
}

/// Whether `..` is one of the components.
#[must_use]
pub fn has_dot_dot(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/').any(|part| part == b"..")
}

/// The name without slashes at its end; `/` itself stays.
#[must_use]
pub fn without_slashes(name: &[u8]) -> &[u8] {
    let end = name
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(name.len().min(1), |last| last + 1);
    &name[..end]
}

/// How many bytes of slashes it begins with.
#[must_use]
pub fn leading_slashes(name: &[u8]) -> usize {
    name.iter().take_while(|byte| **byte == b'/').count()
}

/// How many bytes have to go for the rest to stay below where it begins: all up to the last `..`, and the slashes after.
/// GNU tar's rule for the targets of hard links.
#[must_use]
pub fn unsafe_prefix(name: &[u8]) -> usize {
    let mut end = 0;
    let mut start = 0;
    for part in name.split(|byte| *byte == b'/') {
        if part == b".." {
            end = start + part.len();
        }
        start += part.len() + 1;
    }
    end + leading_slashes(&name[end..])
}

/// The name without its first `count` components, empty when there are no more. GNU tar's way of counting: slashes at
/// the beginning are passed over, several in a row are one, and `.` is a component.
#[must_use]
pub fn stripped(name: &[u8], count: usize) -> &[u8] {
    if count == 0 {
        return name;
    }
    let mut rest = &name[leading_slashes(name)..];
    for stripped in 1..=count {
        let Some(slash) = rest.iter().position(|byte| *byte == b'/') else {
            return b"";
        };
        rest = &rest[slash + 1..];
        if stripped < count {
            rest = &rest[leading_slashes(rest)..];
        }
    }
    rest
}

/// Where a name or one of the directories above it ends, the shortest first.
pub(super) fn ends(name: &[u8]) -> impl Iterator<Item = usize> {
    let slashes = name
        .iter()
        .enumerate()
        .filter(|(at, byte)| **byte == b'/' && *at > 0)
        .map(|(at, _)| at);
    slashes.chain(std::iter::once(name.len()))
}
