//! What pax records say of a member beyond owner, mode and times: ACLs, extended attributes, SELinux contexts, flags.
//!
//! Set only when the plan asks for them. Keywords: `SCHILY.acl.*`, `SCHILY.xattr.*`, `SCHILY.fflags` (star),
//! `LIBARCHIVE.xattr.*` (libarchive: the name percent-encoded, the value in base64), `RHT.security.selinux` (GNU tar).

use std::ffi::CString;

use super::acl::{self, Lookup};
use crate::member::{Kind, Member};
use crate::plan::{Extract, Pattern, XattrSelection};
use crate::select::glob::{Glob, Rules};
use crate::sys;

/// Kernel names of the attributes that hold ACLs.
const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// One extended attribute to set, or with no value to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: CString,
    pub(super) value: Option<Vec<u8>>,
}

/// What is set besides owner, mode and times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extras {
    /// Of the `user` namespace: set before a mode that forbids writing.
    pub(super) user: Vec<Attribute>,
    /// All others, in the order in which they are set.
    pub(super) system: Vec<Attribute>,
    /// Bits for FS_IOC_SETFLAGS.
    pub(super) flags: u32,
    /// What could not be understood.
    pub(super) problems: Vec<String>,
}

impl Extras {
    /// Collects what the plan wants of a member's records; `None` when there is nothing to do.
    pub(super) fn of(member: &Member, extract: &Extract) -> Option<Box<Self>> {
        let wanted =
            extract.acls || extract.xattrs.is_some() || extract.selinux || extract.file_flags;
        if !wanted || (member.records.is_empty() && !extract.acls) {
            return None;
        }
        let mut extras = Self::default();
        if extract.acls && member.kind != Kind::Symlink {
            extras.add_acl(member, b"SCHILY.acl.access", ACCESS);
            if member.kind == Kind::Directory {
                extras.add_acl(member, b"SCHILY.acl.default", DEFAULT);
            }
        }
        for record in &member.records {
            if record.key == b"RHT.security.selinux" {
                if extract.selinux {
                    extras.add(b"security.selinux", record.value.clone());
                }
            } else if let Some(name) = record.key.strip_prefix(b"SCHILY.xattr.") {
                if is_selected(name, extract) {
                    extras.add(name, record.value.clone());
                }
            } else if let Some(name) = record.key.strip_prefix(b"LIBARCHIVE.xattr.") {
                let name = percent_decoded(name);
                // The same attribute is nearly always there as SCHILY.xattr too, which needs no decoding.
                let twice = member
                    .record(&[b"SCHILY.xattr.", name.as_slice()].concat())
                    .is_some();
                if !twice && is_selected(&name, extract) {
                    match base64_decoded(&record.value) {
                        Some(value) => extras.add(&name, value),
                        None => extras
                            .problems
                            .push(format!("attribute {} is no base64", name.escape_ascii())),
                    }
                }
            } else if record.key == b"SCHILY.fflags" && extract.file_flags {
                extras.flags |= flags(&record.value);
            }
        }
        // A capability last: a change of owner, or a write, takes it away.
        extras
            .system
            .sort_by_key(|attribute| attribute.name.as_bytes() == b"security.capability");
        (extras != Self::default()).then(|| Box::new(extras))
    }

    fn add(&mut self, name: &[u8], value: Vec<u8>) {
        let Ok(c_name) = CString::new(name) else {
            self.problems.push(format!(
                "attribute name {} holds a NUL byte",
                name.escape_ascii()
            ));
            return;
        };
        let list = if name.starts_with(b"user.") {
            &mut self.user
        } else {
            &mut self.system
        };
        list.push(Attribute {
            name: c_name,
            value: Some(value),
        });
    }

    fn add_acl(&mut self, member: &Member, key: &[u8], attribute: &str) {
        let name = CString::new(attribute).expect("a constant without NUL");
        // Where the archive has none, what the directory's default has given goes away again.
        let Some(text) = member.record(key) else {
            self.system.push(Attribute { name, value: None });
            return;
        };
        match acl::encode(
            text,
            &Lookup {
                user: &sys::names::user_id,
                group: &sys::names::group_id,
            },
        ) {
            Ok(value) => {
                let value = (!value.is_empty()).then_some(value);
                self.system.push(Attribute { name, value });
            }
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// ACLs and SELinux contexts have switches of their own, also when they come as plain attributes.
fn is_selected(name: &[u8], extract: &Extract) -> bool {
    match name {
        b"security.selinux" => return extract.selinux,
        name if name.starts_with(b"system.posix_acl_") => return extract.acls,
        _ => {}
    }
    let Some(XattrSelection { include, exclude }) = &extract.xattrs else {
        return false;
    };
    let included = match include.as_slice() {
        [] => name.starts_with(b"user."),
        patterns => patterns.iter().any(|wanted| matches(wanted, name)),
    };
    included && !exclude.iter().any(|unwanted| matches(unwanted, name))
}

/// Attribute names have no directories: a pattern matches the whole of one.
fn matches(pattern: &Pattern, name: &[u8]) -> bool {
    let rules = Rules {
        match_slash: true,
        ignore_case: pattern.ignore_case,
        leading_directory: false,
        anchored: true,
    };
    Glob::new(&pattern.text, rules).matches(name)
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
        match (
            first,
            after.first().and_then(digit),
            after.get(1).and_then(digit),
        ) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(high << 4 | low);
                rest = &after[2..];
            }
            _ => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    decoded
}

/// RFC 4648, with or without padding.
fn base64_decoded(text: &[u8]) -> Option<Vec<u8>> {
    let text: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=')
        .collect();
    let mut decoded = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.chunks(4) {
        let mut bits = 0_u32;
        for letter in group {
            let value = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        let bytes = match group.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        bits <<= 6 * (4 - group.len());
        decoded.extend_from_slice(&bits.to_be_bytes()[1..=bytes]);
    }
    Some(decoded)
}

/// The words of `SCHILY.fflags` (chflags(1), chattr(1)) that Linux knows: linux/fs.h, FS_*_FL. Others, which name flags
/// of other systems, have no meaning here.
fn flags(text: &[u8]) -> u32 {
    text.split(|byte| *byte == b',')
        .map(|word| match word.trim_ascii() {
            b"securedeletion" => 0x1,
            b"undelete" | b"uunlnk" => 0x2,
            b"compress" | b"compressed" | b"ucompressed" | b"ucompress" => 0x4,
            b"sync" => 0x8,
            b"immutable" | b"simmutable" | b"schg" | b"schange" | b"uimmutable" | b"uchg"
            | b"uchange" => 0x10,
            b"sappnd" | b"sappend" | b"uappnd" | b"uappend" => 0x20,
            b"nodump" => 0x40,
            b"noatime" => 0x80,
            b"journal" | b"journal-data" => 0x4000,
            b"notail" => 0x8000,
            b"dirsync" => 0x10000,
            b"topdir" => 0x20000,
            _ => 0,
        })
        .fold(0, |all, flag| all | flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_rfc_4648() {
        let vectors: [(&str, &[u8]); 7] = [
            ("", b""),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYg==", b"foob"),
            ("Zm9vYmE=", b"fooba"),
            ("Zm9vYmFy", b"foobar"),
        ];
        for (text, bytes) in vectors {
            assert_eq!(
                base64_decoded(text.as_bytes()).as_deref(),
                Some(bytes),
                "{text}"
            );
            assert_eq!(
                base64_decoded(text.trim_end_matches('=').as_bytes()).as_deref(),
                Some(bytes),
                "{text}"
            );
        }
        assert_eq!(base64_decoded(b"Zg$="), None);
        assert_eq!(base64_decoded(b"Z"), None);
    }

    #[test]
    fn percent_signs_that_encode_nothing_stay() {
        assert_eq!(percent_decoded(b"user.a%3Db%%4"), b"user.a=b%%4");
    }

    #[test]
    fn flags_are_known_by_their_words() {
        assert_eq!(flags(b"nodump,simmutable, sappnd"), 0x70);
        assert_eq!(flags(b"archived,hidden"), 0);
    }
}
