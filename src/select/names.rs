//! What names are made of, and which part of one is safe to make.
//!
//! Names are bytes. A slash separates components; an empty component and `.` mean nothing; `..` climbs.

/// The components of a name that mean something: not the empty ones, not `.`; `..` is kept.
pub fn components(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.split(|&byte| byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
}

/// Whether a component of the name is `..`.
#[must_use]
pub fn has_dot_dot(name: &[u8]) -> bool {
    components(name).any(|part| part == b"..")
}

/// Whether a name stays below the directory it is made in, as far as the name alone can tell: it does not begin with a
/// slash, no component is `..` and no byte is NUL (which would end the name early in a system call).
#[must_use]
pub fn is_safe(name: &[u8]) -> bool {
    name.first() != Some(&b'/') && !name.contains(&0) && !has_dot_dot(name)
}

/// The length of the part that has to be taken off the front of a name to make it relative and free of `..`: everything
/// up to the last component `..`, and the slashes after it.
///
/// GNU tar's rule, and its message names this part (measured: `a/../../w` loses `a/../../`, `//q` loses `//`).
#[must_use]
pub fn unsafe_prefix(name: &[u8]) -> usize {
    let mut end = 0;
    let mut at = 0;
    for part in name.split(|&byte| byte == b'/') {
        if part == b".." {
            end = at + part.len();
        }
        at += part.len() + 1;
    }
    end + name[end..].iter().take_while(|&&byte| byte == b'/').count()
}

/// A name without its trailing slashes; a name of nothing but slashes keeps one.
#[must_use]
pub fn without_trailing_slashes(name: &[u8]) -> &[u8] {
    let mut end = name.len();
    while end > 1 && name[end - 1] == b'/' {
        end -= 1;
    }
    &name[..end]
}

/// The name without its first `count` components, counted as GNU tar does: `.` is a component, slashes at the front and
/// runs of slashes between two components count as one. Empty when the name has no more than `count`.
///
/// What is left may begin with a slash (`x//y` without one component is `/y`), so whoever calls this looks for an
/// unsafe prefix afterwards. GNU tar 1.34 looks before, and writes such a member outside the destination.
#[must_use]
pub fn strip(name: &[u8], count: usize) -> &[u8] {
    if count == 0 {
        return name;
    }
    let mut left = count;
    let mut at = name.iter().take_while(|&&byte| byte == b'/').count();
    while at < name.len() {
        let slash = name[at] == b'/';
        at += 1;
        if slash {
            left -= 1;
            if left == 0 {
                return &name[at..];
            }
            at += name[at..].iter().take_while(|&&byte| byte == b'/').count();
        }
    }
    &[]
}

/// The name below a top directory, unless its first components are that directory already.
#[must_use]
pub fn below_top(name: &[u8], top: &[u8]) -> Vec<u8> {
    let mut parts = components(name);
    if components(top).all(|wanted| parts.next() == Some(wanted)) {
        return name.to_vec();
    }
    let mut whole = without_trailing_slashes(top).to_vec();
    for part in components(name) {
        whole.push(b'/');
        whole.extend_from_slice(part);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_leave_out_what_means_nothing() {
        let parts: Vec<_> = components(b"/a//./b/../c.d/").collect();
        assert_eq!(parts, [&b"a"[..], b"b", b"..", b"c.d"]);
        assert_eq!(components(b"").count(), 0);
        assert_eq!(components(b"././/").count(), 0);
    }

    #[test]
    fn unsafe_prefixes_are_those_that_gnu_tar_names() {
        for (name, prefix) in [
            (&b"/q/a"[..], &b"/"[..]),
            (b"//q/b", b"//"),
            (b"../c", b"../"),
            (b"../../d", b"../../"),
            (b"a/../e", b"a/../"),
            (b"/../f", b"/../"),
            (b"a/..", b"a/.."),
            (b"..", b".."),
            (b"./../g", b"./../"),
            (b"a/../../../w/x", b"a/../../../"),
            (b"...", b""),
            (b"..h", b""),
            (b"./i/..j", b""),
            (b"x/y../z", b""),
            (b"./a", b""),
            (b"", b""),
            (b"/", b"/"),
        ] {
            assert_eq!(
                &name[..unsafe_prefix(name)],
                prefix,
                "{}",
                name.escape_ascii()
            );
        }
    }

    #[test]
    fn stripping_counts_as_gnu_tar() {
        for (name, one, two) in [
            (&b"./a/b"[..], &b"a/b"[..], &b"b"[..]),
            (b"a//b/c", b"/b/c", b"c"),
            (b"tmpq/b", b"b", b""),
            (b"/tmpq/b", b"b", b""),
            (b"f", b"", b""),
            (b".", b"", b""),
            (b"a/./b2", b"./b2", b"b2"),
            (b"", b"", b""),
            (b"/", b"", b""),
        ] {
            assert_eq!(strip(name, 0), name);
            assert_eq!(strip(name, 1), one, "{}", name.escape_ascii());
            assert_eq!(strip(name, 2), two, "{}", name.escape_ascii());
        }
        assert_eq!(strip(b"a/b", usize::MAX), b"");
    }

    #[test]
    fn safe_names_stay_below() {
        for name in [&b"a"[..], b"a/b", b"./a", b"..a/b..", b"", b"a//b/"] {
            assert!(is_safe(name), "{}", name.escape_ascii());
        }
        for name in [&b"/a"[..], b"..", b"a/..", b"a/../b", b"a/b/..", b"a\0b"] {
            assert!(!is_safe(name), "{}", name.escape_ascii());
        }
    }

    #[test]
    fn a_top_directory_is_put_before_names_outside_it() {
        for (name, top, whole) in [
            (&b"d/a"[..], &b"d"[..], &b"d/a"[..]),
            (b"./d/b", b"d", b"./d/b"),
            (b"f", b"d", b"d/f"),
            (b".", b"d", b"d"),
            (b"dd", b"d", b"d/dd"),
            (b"./x/./y", b"q/r/", b"q/r/x/y"),
            (b"q/s", b"q/r", b"q/r/q/s"),
        ] {
            assert_eq!(below_top(name, top), whole, "{}", name.escape_ascii());
        }
    }
}
