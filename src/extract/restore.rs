//! Setting what a member says about itself, in the order that keeps it.

use std::io;

use super::extras::{Attribute, Extras};
use crate::disk::{Disk, Target, Times, errno};
use crate::error::{Complaint, Condition, Operation};
use crate::observe::Inbox;

/// Owner, mode and times to set; what need not be set is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    /// User and group number.
    pub(super) owner: Option<(u32, u32)>,
    /// All twelve bits.
    pub(super) mode: Option<u32>,
    /// Times.
    pub(super) times: Times,
}

/// The permission bits as `ls` shows them, for messages.
fn letters(mode: u32) -> Vec<u8> {
    let bit = |shift: u32, letter: u8| if mode >> shift & 1 == 1 { letter } else { b'-' };
    let special = |shift: u32, execute: u32, with: u8, without: u8| match (
        mode >> shift & 1,
        mode >> execute & 1,
    ) {
        (1, 1) => with,
        (1, _) => without,
        (_, 1) => b'x',
        _ => b'-',
    };
    vec![
        bit(8, b'r'),
        bit(7, b'w'),
        special(11, 6, b's', b'S'),
        bit(5, b'r'),
        bit(4, b'w'),
        special(10, 3, b's', b'S'),
        bit(2, b'r'),
        bit(1, b'w'),
        special(9, 0, b't', b'T'),
    ]
}

/// Sets them on one object. Every failure is a complaint; what comes after it is still tried. Gives whether all went well.
pub(super) fn apply<D: Disk>(
    disk: &D,
    inbox: &Inbox,
    name: &[u8],
    target: &Target<'_, D>,
    attributes: &Attributes,
    extras: Option<&Extras>,
) -> bool {
    let mut well = true;
    for problem in extras.iter().flat_map(|extras| &extras.problems) {
        inbox.post(Complaint::failure(
            name,
            Condition::BadExtension(problem.clone()),
        ));
        well = false;
    }
    let mut check = |operation, detail: Option<Vec<u8>>, result: io::Result<()>| {
        if let Err(cause) = result {
            inbox.post(Complaint::failure(
                name,
                Condition::System {
                    operation,
                    cause,
                    target: detail,
                },
            ));
            well = false;
        }
    };
    // The owner first: chown(2) clears set-id bits, which the mode then sets again.
    if let Some((uid, gid)) = attributes.owner {
        let detail = format!("uid {uid}, gid {gid}").into_bytes();
        check(
            Operation::ChangeOwner,
            Some(detail),
            disk.set_owner(target, uid, gid),
        );
    }
    let set = |attribute: &Attribute| match &attribute.value {
        Some(value) => disk.set_attribute(target, &attribute.name, value),
        None => match disk.remove_attribute(target, &attribute.name) {
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(errno::ENODATA | errno::EOPNOTSUPP)
                ) =>
            {
                Ok(())
            }
            result => result,
        },
    };
    // Before a mode that takes the right to write away, which they need.
    for attribute in extras.iter().flat_map(|extras| &extras.user) {
        check(
            Operation::SetAttribute,
            Some(attribute.name.to_bytes().to_vec()),
            set(attribute),
        );
    }
    if let Some(mode) = attributes.mode {
        check(
            Operation::ChangeMode,
            Some(letters(mode)),
            disk.set_mode(target, mode),
        );
    }
    for attribute in extras.iter().flat_map(|extras| &extras.system) {
        check(
            Operation::SetAttribute,
            Some(attribute.name.to_bytes().to_vec()),
            set(attribute),
        );
    }
    // Times late: everything before may change them.
    if attributes.times != Times::default() {
        check(
            Operation::SetTimes,
            None,
            disk.set_times(target, attributes.times),
        );
    }
    // Flags last: an immutable file takes nothing else.
    if let Some(flags) = extras
        .map(|extras| extras.flags)
        .filter(|flags| *flags != 0)
    {
        check(Operation::SetFlags, None, disk.add_flags(target, flags));
    }
    well
}

#[cfg(test)]
mod tests {
    use super::letters;

    #[test]
    fn letters_are_those_of_ls() {
        assert_eq!(letters(0o755), b"rwxr-xr-x");
        assert_eq!(letters(0o640), b"rw-r-----");
        assert_eq!(letters(0o7777), b"rwsrwsrwt");
        assert_eq!(letters(0o7000), b"--S--S--T");
    }
}
