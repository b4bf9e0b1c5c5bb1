//! Extended attributes and access control lists become pax records.
//!
//! A list is kept by the kernel as bytes (linux/posix_acl_xattr.h): a version, then tag, permissions and number of each
//! entry, little-endian. Archives have it as text, which GNU tar and star write differently.

use std::ffi::CString;

use crate::member::{AclStyle, Record};
use crate::plan::{Extract, Pattern};
use crate::select::outgoing::Excluder;
use crate::sys::names;

const ACCESS: &[u8] = b"system.posix_acl_access";
const DEFAULT: &[u8] = b"system.posix_acl_default";
const SELINUX: &[u8] = b"security.selinux";

/// What is wanted of attributes.
#[derive(Debug)]
pub(super) struct Wanted {
    acls: bool,
    selinux: bool,
    xattrs: Option<(Excluder, Excluder)>,
    style: AclStyle,
}

impl Wanted {
    /// By a plan, for a format that writes them so.
    pub(super) fn new(extract: &Extract, style: AclStyle) -> Self {
        let rules = |patterns: &[Pattern]| Excluder::new(patterns);
        Self {
            acls: extract.acls,
            selinux: extract.selinux,
            xattrs: extract
                .xattrs
                .as_ref()
                .map(|xattrs| (rules(&xattrs.include), rules(&xattrs.exclude))),
            style,
        }
    }

    /// The beginnings of the names of attributes that have to be read.
    pub(super) fn prefixes(&self) -> Vec<&'static [u8]> {
        let mut prefixes: Vec<&'static [u8]> = Vec::new();
        if self.xattrs.is_some() {
            prefixes.push(b"");
        }
        if self.acls {
            prefixes.push(b"system.posix_acl_");
        }
        if self.selinux {
            prefixes.push(SELINUX);
        }
        prefixes
    }

    /// The records of an object with this mode.
    pub(super) fn records(
        &self,
        attributes: &[(CString, Vec<u8>)],
        mode: u32,
        directory: bool,
    ) -> Vec<Record> {
        let mut records = Vec::new();
        let mut add = |key: &[u8], value: Vec<u8>| {
            records.push(Record {
                key: key.to_vec(),
                value,
            });
        };
        let find = |name: &[u8]| {
            attributes
                .iter()
                .find(|(key, _)| key.to_bytes() == name)
                .map(|(_, value)| value.as_slice())
        };
        if self.acls {
            let access = find(ACCESS).and_then(|list| self.text(list));
            let default = find(DEFAULT)
                .filter(|_| directory)
                .and_then(|list| self.text(list));
            // GNU tar writes both where there is one.
            let implied =
                (self.style == AclStyle::Lines && default.is_some()).then(|| of_mode(mode));
            if let Some(text) = access.or(implied) {
                add(b"SCHILY.acl.access", text);
            }
            if let Some(text) = default {
                add(b"SCHILY.acl.default", text);
            }
        }
        if self.selinux
            && let Some(context) = find(SELINUX)
        {
            let context = context.strip_suffix(b"\0").unwrap_or(context);
            add(b"RHT.security.selinux", context.to_vec());
        }
        if let Some((include, exclude)) = &self.xattrs {
            for (name, value) in attributes {
                let name = name.to_bytes();
                let included = include.is_empty() || include.excludes(name);
                // star has lists of its own for these.
                let list = self.style == AclStyle::Commas && name.starts_with(b"system.posix_acl_");
                if included && !exclude.excludes(name) && !list {
                    add(&[b"SCHILY.xattr.", name].concat(), value.clone());
                }
            }
        }
        records
    }

    /// A list as text; `None` where it is none.
    fn text(&self, list: &[u8]) -> Option<Vec<u8>> {
        let (version, entries) = list.split_at_checked(4)?;
        if version != 2_u32.to_le_bytes() || entries.len() % 8 != 0 {
            return None;
        }
        let mut lines = Vec::new();
        for entry in entries.chunks_exact(8) {
            let tag = u16::from_le_bytes([entry[0], entry[1]]);
            let bits = u32::from(u16::from_le_bytes([entry[2], entry[3]]));
            let id = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
            let (word, name): (&[u8], Option<Option<Vec<u8>>>) = match tag {
                0x01 => (b"user", None),
                0x02 => (b"user", Some(names::user_name(id))),
                0x04 => (b"group", None),
                0x08 => (b"group", Some(names::group_name(id))),
                0x10 => (b"mask", None),
                0x20 => (b"other", None),
                _ => return None,
            };
            let mut line = word.to_vec();
            line.push(b':');
            let known = matches!(name, Some(Some(_)));
            match name {
                None => {}
                Some(Some(name)) => line.extend_from_slice(&name),
                Some(None) => line.extend_from_slice(id.to_string().as_bytes()),
            }
            line.push(b':');
            line.extend_from_slice(&permissions(bits));
            if known && self.style == AclStyle::Commas {
                line.extend_from_slice(format!(":{id}").as_bytes());
            }
            lines.push(line);
        }
        Some(match self.style {
            AclStyle::Commas => lines.join(&b','),
            AclStyle::Lines => {
                let mut text = lines.join(&b'\n');
                text.push(b'\n');
                text
            }
        })
    }
}

fn permissions(bits: u32) -> [u8; 3] {
    let letter = |bit, letter| if bits & bit == 0 { b'-' } else { letter };
    [letter(4, b'r'), letter(2, b'w'), letter(1, b'x')]
}

fn of_mode(mode: u32) -> Vec<u8> {
    let mut text = Vec::new();
    for (word, shift) in [("user", 6), ("group", 3), ("other", 0)] {
        text.extend_from_slice(word.as_bytes());
        text.extend_from_slice(b"::");
        text.extend_from_slice(&permissions(mode >> shift & 7));
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `setfacl -m u:4000000001:r-x,m::rwx` on a file of mode 640, read with getfattr(1).
    const LIST: &[u8] = b"\x02\0\0\0\
        \x01\0\x06\0\xff\xff\xff\xff\
        \x02\0\x05\0\x01\x28\x6b\xee\
        \x04\0\x04\0\xff\xff\xff\xff\
        \x10\0\x07\0\xff\xff\xff\xff\
        \x20\0\0\0\xff\xff\xff\xff";

    fn wanted(style: AclStyle) -> Wanted {
        Wanted {
            acls: true,
            selinux: false,
            xattrs: None,
            style,
        }
    }

    #[test]
    fn lists_become_text_in_both_styles() {
        let lines = wanted(AclStyle::Lines).text(LIST).unwrap();
        let text = "user::rw-\nuser:4000000001:r-x\ngroup::r--\nmask::rwx\nother::---\n";
        assert_eq!(lines, text.as_bytes());
        let commas = wanted(AclStyle::Commas).text(LIST).unwrap();
        let text = "user::rw-,user:4000000001:r-x,group::r--,mask::rwx,other::---";
        assert_eq!(commas, text.as_bytes());
        assert_eq!(wanted(AclStyle::Lines).text(b"\x03\0\0\0"), None);
        assert_eq!(wanted(AclStyle::Lines).text(b"\x02"), None);
    }
}
