//! Files in the tree that say what is not archived: `.gitignore` and its kin, and those of `--exclude-ignore`.

use std::ffi::CString;

use crate::disk::{Disk, Links};
use crate::plan::Pattern;
use crate::plan::create::{IgnoreFile, IgnoreSyntax};
use crate::select::outgoing::Excluder;

/// The largest file that is read.
const LIMIT: usize = 16 << 20;

/// What the files of one directory say.
#[derive(Debug, Default)]
pub(super) struct Ignores {
    /// For names in the directory itself.
    here: Excluder,
    /// For names below it too.
    below: Excluder,
}

impl Ignores {
    /// Reads a directory's files. One that is not there, or cannot be read, says nothing.
    pub(super) fn read<D: Disk>(disk: &D, at: &D::Dir, files: &[IgnoreFile]) -> Self {
        let (mut here, mut below) = (Vec::new(), Vec::new());
        for file in files {
            let Some(text) = contents(disk, at, &file.name) else {
                continue;
            };
            let into = if file.recursive {
                &mut below
            } else {
                &mut here
            };
            into.extend(patterns(&text, file.syntax));
        }
        Self {
            here: Excluder::new(&here),
            below: Excluder::new(&below),
        }
    }

    /// Whether one of these directories, the outermost first, says that the name is left out.
    pub(super) fn any<'a>(all: impl DoubleEndedIterator<Item = &'a Self>, path: &[u8]) -> bool {
        for (level, ignores) in all.rev().enumerate() {
            let here = level == 0 && !ignores.here.is_empty();
            if !here && ignores.below.is_empty() {
                continue;
            }
            let mut relative = path;
            while let Some(rest) = relative.strip_prefix(b"./") {
                relative = rest;
            }
            let base = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
            for name in [path, relative, base] {
                if here && ignores.here.excludes(name) || ignores.below.excludes(name) {
                    return true;
                }
            }
        }
        false
    }
}

fn contents<D: Disk>(disk: &D, at: &D::Dir, name: &[u8]) -> Option<Vec<u8>> {
    let name = CString::new(name).ok()?;
    let file = disk.open_to_read(at, &name, Links::Follow, false).ok()?;
    let mut text = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match disk.read_at(&file, &mut buffer, text.len() as u64) {
            Ok(0) => return Some(text),
            Ok(n) if text.len() + n <= LIMIT => text.extend_from_slice(&buffer[..n]),
            Ok(_) | Err(_) => return None,
        }
    }
}

fn patterns(text: &[u8], syntax: IgnoreSyntax) -> Vec<Pattern> {
    let pattern = |text: &[u8]| Pattern {
        anchored: true,
        ..Pattern::exclude(text)
    };
    let mut globs = syntax != IgnoreSyntax::Mercurial;
    let mut found = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        match syntax {
            IgnoreSyntax::Plain => {
                if !line.is_empty() {
                    found.push(pattern(line));
                }
            }
            IgnoreSyntax::Cvs => {
                let words = line.split(u8::is_ascii_whitespace);
                found.extend(words.filter(|word| !word.is_empty()).map(pattern));
            }
            IgnoreSyntax::Git => {
                let line = line.trim_ascii_start();
                // What begins with an exclamation mark takes others back, which is not followed.
                if !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"!") {
                    found.push(pattern(line.strip_prefix(b"\\").unwrap_or(line)));
                }
            }
            IgnoreSyntax::Mercurial => {
                let line = line.trim_ascii_start();
                if let Some(kind) = line.strip_prefix(b"syntax:") {
                    globs = kind.trim_ascii() == b"glob";
                } else if globs && !line.is_empty() && !line.starts_with(b"#") {
                    found.push(pattern(line));
                }
            }
        }
    }
    found
}
