//! POSIX access control lists: from the text in an archive to the bytes the kernel takes.
//!
//! Text, as in `SCHILY.acl.access` and `SCHILY.acl.default` (star's manual, POSIX.1e draft 17): entries separated by
//! commas or line ends, each `tag:qualifier:permissions`, with star's number of the qualifier as a fourth field. Bytes,
//! as in the attributes `system.posix_acl_access` and `system.posix_acl_default` (linux/posix_acl_xattr.h): a version,
//! then tag, permissions and number of each entry, little-endian, sorted by tag and number.

/// linux/posix_acl_xattr.h: POSIX_ACL_XATTR_VERSION.
const VERSION: u32 = 2;
/// linux/posix_acl.h: no number.
const NO_ID: u32 = u32::MAX;

/// linux/posix_acl.h: the tags, in the order that the kernel wants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
enum Tag {
    Owner = 0x01,
    User = 0x02,
    OwningGroup = 0x04,
    Group = 0x08,
    Mask = 0x10,
    Other = 0x20,
}

/// How names become numbers.
pub(super) struct Lookup<'a> {
    pub(super) user: &'a dyn Fn(&[u8]) -> Option<u32>,
    pub(super) group: &'a dyn Fn(&[u8]) -> Option<u32>,
}

/// Translates a list. An empty text gives an empty list: there is none to set.
///
/// # Errors
/// What is wrong with the text.
pub(super) fn encode(text: &[u8], lookup: &Lookup<'_>) -> Result<Vec<u8>, String> {
    let mut entries: Vec<(Tag, u32, u16)> = Vec::new();
    for entry in text.split(|byte| matches!(byte, b',' | b'\n')) {
        let entry = entry
            .split(|byte| *byte == b'#')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        let entry = entry.strip_prefix(b"default:").unwrap_or(entry);
        if entry.is_empty() {
            continue;
        }
        let wrong = || format!("ACL entry '{}' cannot be understood", entry.escape_ascii());
        entries.push(parse(entry, lookup).ok_or_else(wrong)?);
    }
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    // A list with named entries needs a mask; without one it is what they and the group may do (acl_calc_mask(3)).
    let named = entries
        .iter()
        .any(|(tag, ..)| matches!(tag, Tag::User | Tag::Group));
    if named && !entries.iter().any(|(tag, ..)| *tag == Tag::Mask) {
        let in_class = |tag: &Tag| matches!(tag, Tag::User | Tag::Group | Tag::OwningGroup);
        let mask = entries
            .iter()
            .filter(|(tag, ..)| in_class(tag))
            .fold(0, |mask, (.., bits)| mask | bits);
        entries.push((Tag::Mask, NO_ID, mask));
    }
    entries.sort_unstable();
    entries.dedup();
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for (tag, id, permissions) in entries {
        bytes.extend((tag as u16).to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    Ok(bytes)
}

fn parse(entry: &[u8], lookup: &Lookup<'_>) -> Option<(Tag, u32, u16)> {
    let fields: Vec<&[u8]> = entry
        .split(|byte| *byte == b':')
        .map(<[u8]>::trim_ascii)
        .collect();
    let (tag, mut rest) = fields.split_first()?;
    let tag = match *tag {
        b"user" | b"u" => Tag::Owner,
        b"group" | b"g" => Tag::OwningGroup,
        b"mask" | b"m" => Tag::Mask,
        b"other" | b"o" => Tag::Other,
        _ => return None,
    };
    // `other:r--` and `mask:rwx` stand for `other::r--` and `mask::rwx`.
    let qualifier: &[u8] = if rest.len() == 1 && matches!(tag, Tag::Mask | Tag::Other) {
        b""
    } else {
        let (first, others) = rest.split_first()?;
        rest = others;
        first
    };
    let (permissions, rest) = rest.split_first()?;
    let permissions = bits(permissions)?;
    if qualifier.is_empty() {
        return Some((tag, NO_ID, permissions));
    }
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u32>().ok();
    let (tag, look) = match tag {
        Tag::Owner => (Tag::User, lookup.user),
        Tag::OwningGroup => (Tag::Group, lookup.group),
        _ => return None,
    };
    let id = look(qualifier)
        .or_else(|| rest.first().and_then(|id| number(id)))
        .or_else(|| number(qualifier))?;
    Some((tag, id, permissions))
}

fn bits(text: &[u8]) -> Option<u16> {
    text.iter().try_fold(0, |bits, letter| {
        Some(
            bits | match letter {
                b'r' => 4,
                b'w' => 2,
                b'x' => 1,
                b'-' => 0,
                _ => return None,
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str) -> Result<Vec<u8>, String> {
        let user = |name: &[u8]| (name == b"lisa").then_some(502);
        let group = |name: &[u8]| (name == b"staff").then_some(50);
        encode(
            text.as_bytes(),
            &Lookup {
                user: &user,
                group: &group,
            },
        )
    }

    /// What `setfacl -m u:502:r-x,g:50:rw-,m::rwx` leaves on a file of mode 640, read back with getfattr(1).
    const SET: &[u8] = b"\x02\0\0\0\
        \x01\0\x06\0\xff\xff\xff\xff\
        \x02\0\x05\0\xf6\x01\0\0\
        \x04\0\x04\0\xff\xff\xff\xff\
        \x08\0\x06\0\x32\0\0\0\
        \x10\0\x07\0\xff\xff\xff\xff\
        \x20\0\0\0\xff\xff\xff\xff";

    #[test]
    fn every_spelling_gives_the_kernels_bytes() {
        for text in [
            "user::rw-,user:lisa:r-x,group::r--,group:staff:rw-,mask::rwx,other::---",
            "user::rw-\nuser:lisa:r-x\t#effective:r-x\ngroup::r--\ngroup:staff:rw-\nmask::rwx\nother::---\n",
            "user::rw-,user:unknown:r-x:502,group::r--,group:gone:rw-:50,mask::rwx,other::---",
            "u::rw,u:502:rx,g::r,g:50:rw,m:rwx,o:---",
            "other::---,mask::rwx,group:staff:rw-,group::r--,user:lisa:r-x,user::rw-",
            "default:user::rw-,default:user:lisa:r-x,default:group::r--,default:group:50:rw-,default:mask::rwx,default:other::---",
        ] {
            assert_eq!(encoded(text).as_deref(), Ok(SET), "{text}");
        }
    }

    #[test]
    fn a_missing_mask_is_computed() {
        let with = encoded("user::rw-,user:lisa:r-x,group::-w-,mask::rwx,other::---");
        assert_eq!(
            encoded("user::rw-,user:lisa:r-x,group::-w-,other::---"),
            with
        );
    }

    #[test]
    fn what_cannot_be_understood_is_said() {
        assert_eq!(encoded(""), Ok(Vec::new()));
        for text in [
            "user:nobody-knows:r--",
            "user",
            "user::rwz",
            "mask:lisa:rwx",
            "frob::rwx",
        ] {
            assert!(encoded(text).is_err(), "{text}");
        }
    }
}
