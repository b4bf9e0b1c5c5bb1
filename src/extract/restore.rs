//! Setting what a member says about itself, in the order that keeps it.

use std::io;

use crate::disk::{Disk, Target, Times};
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
) -> bool {
    let mut well = true;
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
    if let Some(mode) = attributes.mode {
        check(
            Operation::ChangeMode,
            Some(letters(mode)),
            disk.set_mode(target, mode),
        );
    }
    // Times last: everything before may change them.
    if attributes.times != Times::default() {
        check(
            Operation::SetTimes,
            None,
            disk.set_times(target, attributes.times),
        );
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
