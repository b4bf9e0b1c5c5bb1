//! What is in the way gets another name instead of being removed.
//!
//! Both names are in one directory, so the rename is settled with whatever takes the place. Where members get their names
//! by being renamed over what is there, the old file gets its second name as a hard link: there is no moment at which
//! the name stands for nothing.

use std::collections::HashMap;
use std::ffi::CString;
use std::io;

use super::place::c_string;
use super::{Extractor, Refusal, Spot};
use crate::disk::{Disk, FileKind, errno};
use crate::error::{Complaint, Condition, Operation};
use crate::observe::Observer;
use crate::plan::{Backup, BackupControl};
use crate::select::names::without_trailing_slashes;

/// The highest numbers of backups in the directory that was looked at last, so that it is not read for each member.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    directory: Option<(u64, u64)>,
    highest: HashMap<Box<[u8]>, u64>,
}

/// The name that `entry` is a numbered backup of, and its number: `NAME.~N~`.
fn numbered(entry: &[u8]) -> Option<(&[u8], u64)> {
    let rest = entry.strip_suffix(b"~")?;
    let tilde = rest.iter().rposition(|byte| *byte == b'~')?;
    let name = rest[..tilde].strip_suffix(b".")?;
    let digits = std::str::from_utf8(&rest[tilde + 1..]).ok()?;
    (!digits.starts_with(['0', '+'])).then_some(())?;
    Some((name, digits.parse().ok()?))
}

impl<D: Disk, S: AsRef<[u8]> + Send + Sync + 'static> Extractor<'_, D, S> {
    /// Renames what is there. Gives its new name, if there is anything but a directory. Where `stays` is set it may keep its
    /// old name too, until the member takes that.
    pub(super) fn back_up(
        &mut self,
        spot: &Spot<D>,
        stays: bool,
        observer: &mut dyn Observer,
    ) -> Result<Option<CString>, Refusal> {
        let Some(backup) = &self.plan.extract.backup else {
            return Ok(None);
        };
        let at = &spot.directory.handle;
        let kind = match self.disk.stat_at(at, &spot.name) {
            Ok(stat) => stat.kind,
            Err(error) if error.raw_os_error() == Some(errno::ENOENT) => return Ok(None),
            Err(cause) => return Err(Complaint::system(&spot.shown, Operation::Stat, cause).into()),
        };
        if kind == FileKind::Directory {
            return Ok(None);
        }
        if kind == FileKind::Symlink && !stays {
            // It may lead to something that has no name yet.
            self.settle_pending(observer);
        }
        let result = self.backup_name(backup, spot).and_then(|to| {
            Self::changing(&mut self.committer, &mut self.fixups, &spot.directory)?;
            self.move_aside(spot, &to, stays).map(|()| to)
        });
        match result {
            Ok(to) => {
                if let Some((name, number)) = numbered(to.to_bytes()) {
                    self.numbers.highest.insert(name.into(), number);
                }
                let shown = Self::beside(spot, &to);
                observer.backed_up(Self::shown(spot), &shown, false);
                self.places
                    .renamed(spot.directory.identity(), &spot.name, &to);
                if kind == FileKind::Symlink {
                    self.places.forget();
                }
                Ok(Some(to))
            }
            Err(cause) => {
                // GNU tar says so in two lines.
                let again = io::Error::from_raw_os_error(cause.raw_os_error().unwrap_or(0));
                let to = self.backup_name(backup, spot).unwrap_or_default();
                let what = Condition::System {
                    operation: Operation::Rename,
                    cause,
                    target: Some(Self::beside(spot, &to)),
                };
                self.complain(&Complaint::failure(&spot.shown, what), observer);
                Err(Complaint::failure(&spot.shown, Condition::NoBackup(again)).into())
            }
        }
    }

    /// The member could not be made: what was there gets its name back.
    pub(super) fn undo_backup(
        &mut self,
        spot: &Spot<D>,
        backup: &CString,
        observer: &mut dyn Observer,
    ) {
        let at = &spot.directory.handle;
        let name = spot.becomes.as_ref().unwrap_or(&spot.name);
        match self.disk.rename(at, backup, at, name) {
            Ok(()) => {
                if self.plan.extract.safe_writes {
                    // Two names of one file, between which rename(2) does nothing.
                    let _ = self.disk.remove(at, backup);
                }
                self.places.renamed(spot.directory.identity(), backup, name);
                observer.backed_up(&Self::beside(spot, backup), Self::shown(spot), true);
            }
            Err(cause) => {
                let what = Condition::System {
                    operation: Operation::Rename,
                    cause,
                    target: Some(spot.shown.clone()),
                };
                let complaint = Complaint::failure(&Self::beside(spot, backup), what);
                self.complain(&complaint, observer);
            }
        }
    }

    fn move_aside(&mut self, spot: &Spot<D>, to: &CString, stays: bool) -> io::Result<()> {
        let at = &spot.directory.handle;
        if !stays {
            let before = self.disk.stat_at(at, &spot.name)?;
            self.disk.rename(at, &spot.name, at, to)?;
            // Between two names of one file rename(2) does nothing.
            let still = self.disk.stat_at(at, &spot.name);
            return match still {
                Ok(still) if still.identity() == before.identity() => {
                    self.disk.remove(at, &spot.name)
                }
                _ => Ok(()),
            };
        }
        let temporary = self.staging.temporary();
        self.disk.link(at, &spot.name, at, &temporary)?;
        let renamed = self.disk.rename(at, &temporary, at, to);
        // It is there still when `to` was the same file before.
        let _ = self.disk.remove(at, &temporary);
        renamed
    }

    fn backup_name(&mut self, backup: &Backup, spot: &Spot<D>) -> io::Result<CString> {
        let name = spot.name.to_bytes();
        let highest = match backup.control {
            BackupControl::Simple => None,
            BackupControl::Numbered | BackupControl::Existing => {
                let identity = Some(spot.directory.identity());
                if self.numbers.directory != identity {
                    let entries = self.disk.list(&spot.directory.handle)?;
                    self.numbers = Numbers::default();
                    for (name, number) in entries
                        .iter()
                        .filter_map(|entry| numbered(entry.to_bytes()))
                    {
                        let highest = self.numbers.highest.entry(name.into()).or_insert(0);
                        *highest = number.max(*highest);
                    }
                    self.numbers.directory = identity;
                }
                self.numbers.highest.get(name).copied()
            }
        };
        let end = match (backup.control, highest) {
            (BackupControl::Simple, _) | (BackupControl::Existing, None) => backup.suffix.clone(),
            (_, highest) => {
                let next = highest.unwrap_or(0).saturating_add(1);
                format!(".~{next}~").into_bytes()
            }
        };
        c_string(&[name, &end].concat())
    }

    /// The member's name without the slash that ends a directory's.
    fn shown(spot: &Spot<D>) -> &[u8] {
        without_trailing_slashes(&spot.shown)
    }

    /// A name in the directory of this place, for messages.
    fn beside(spot: &Spot<D>, name: &CString) -> Vec<u8> {
        let shown = Self::shown(spot);
        let start = shown
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1);
        [&shown[..start], name.to_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn numbers_of_backups_are_read_as_they_are_written() {
        assert_eq!(numbered(b"f.~1~"), Some((&b"f"[..], 1)));
        assert_eq!(numbered(b"f.~2~.~120~"), Some((&b"f.~2~"[..], 120)));
        for other in [
            &b"f"[..],
            b"f~",
            b"f.~~",
            b"f.~01~",
            b"f.~+1~",
            b"f.~1x~",
            b"f.~1",
            b"~",
        ] {
            assert_eq!(numbered(other), None, "{}", other.escape_ascii());
        }
    }
}
