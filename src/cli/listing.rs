//! What is printed for a member: which line, with which name. The lines themselves are drawn by `render`.

use durastar::member::{Kind, Member};
use durastar::plan::Job;
use durastar::render::listing::{self, Names, Options, Widths};
use durastar::render::quote::{Charset, Quoter, Style};
use durastar::render::time::{self as calendar, BrokenDownTime, Detail};
use durastar::select::names::unsafe_prefix;
use durastar::sys::time;

use super::assemble::Command;
use super::dialect::Dialect;
use super::setting::Quoting;

/// Prints members of one run: column widths grow as it goes.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    dialect: Dialect,
    command: &'a Command,
    quoter: Quoter,
    widths: Widths,
}

impl<'a> Listing<'a> {
    /// For this run.
    pub(crate) fn new(dialect: Dialect, command: &'a Command) -> Self {
        Self {
            dialect,
            command,
            quoter: Quoter {
                extra: command.wishes.quoted_too.clone(),
                ..quoter(command.wishes.quoting)
            },
            widths: Widths::default(),
        }
    }

    /// The target of a link as it is shown: GNU tar takes off hard links what extraction takes off, and names as they are.
    fn target<'m>(&self, member: &'m Member) -> &'m [u8] {
        let selection = &self.command.plan.selection;
        let stripped = self.dialect == Dialect::Gnu
            && member.kind == Kind::HardLink
            && !selection.absolute_names;
        let prefix = if stripped {
            unsafe_prefix(&member.link)
        } else {
            0
        };
        &member.link[prefix..]
    }

    /// GNU tar's line for a directory that was made on the way to a member.
    pub(crate) fn directory_made(&self, path: &[u8], mode: u32, out: &mut Vec<u8>) {
        listing::gnu_directory_made(path, mode, &self.quoter, &self.widths, out);
    }

    /// The line for a member, if there is one, with its newline; `renamed` is what its names become on disk.
    pub(crate) fn line(&mut self, member: &Member, renamed: Names<'_>, out: &mut Vec<u8>) {
        let wishes = &self.command.wishes;
        let listing = self.command.plan.job == Job::List && !wishes.trace;
        // How much is printed: 0 nothing, 1 the name (star extracting: what is done), 2 a long line.
        let detail = wishes.verbose + u8::from(listing || wishes.trace);
        if detail == 0 {
            return;
        }
        // A substitution that leaves nothing of a name leaves the member out.
        if self.dialect == Dialect::Star && wishes.transformed_names && renamed.name.is_empty() {
            return;
        }
        let names = if wishes.transformed_names {
            Names {
                name: match (renamed.name, member.kind) {
                    // What GNU tar prints of a directory of whose name nothing is left.
                    (b"", Kind::Directory) => b"/",
                    (name, _) => name,
                },
                link: renamed.link,
            }
        } else {
            Names {
                name: &member.name,
                link: self.target(member),
            }
        };
        // GNU tar tells the block behind the header once it has begun to extract.
        let extracting = self.command.plan.job != Job::List && self.dialect == Dialect::Gnu;
        // A label in a global header is shown while that is read.
        let behind = extracting && member.typeflag != b'g';
        let block = member.block + u64::from(behind);
        let options = Options {
            // star's -tpath leaves names only, however often -v is given.
            verbose: detail > 1 && !(self.dialect == Dialect::Star && wishes.paths_only),
            numeric_owner: self.command.plan.extract.numeric_owner,
            block_number: wishes.block_number.then_some(block),
            detail: if wishes.full_time {
                Detail::Full
            } else {
                Detail::Minutes
            },
            path_only: wishes.paths_only,
            quoter: &self.quoter,
            local: if wishes.utc { &calendar::utc } else { &local },
        };
        match self.dialect {
            Dialect::Gnu => listing::gnu(member, names, &options, &mut self.widths, out),
            Dialect::Star if listing || detail > 1 => {
                listing::star(member, names, &options, &mut self.widths, out);
            }
            Dialect::Star => {
                let begin = out.len();
                listing::star_extracted(member, names, &options, out);
                let creates = self.command.plan.job.makes() && !wishes.paths_only;
                if creates && !wishes.block_number {
                    // The letter says what is done.
                    out[begin] = b'a';
                }
            }
        }
    }
}

/// What time it is at the user's place.
pub(crate) fn local(seconds: i64) -> Option<BrokenDownTime> {
    let small = |number: u32| u8::try_from(number).ok();
    let at = time::local(seconds)?;
    Some(BrokenDownTime {
        year: at.year,
        month: small(at.month)?,
        day: small(at.day)?,
        hour: small(at.hour)?,
        minute: small(at.minute)?,
        second: small(at.second)?,
    })
}

/// The style that was asked for, in the locale's characters.
fn quoter(style: Quoting) -> Quoter {
    let style = match style {
        Quoting::Literal => Style::Literal,
        Quoting::Shell => Style::Shell,
        Quoting::ShellAlways => Style::ShellAlways,
        Quoting::C => Style::C,
        Quoting::CMaybe => Style::CMaybe,
        Quoting::Escape => Style::Escape,
        Quoting::Locale => Style::Locale,
        Quoting::CLocale => Style::Clocale,
    };
    // setlocale(3): the first of these that is set and not empty decides.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty())
        .map(|value| value.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    let utf8 = locale.contains("utf-8") || locale.contains("utf8");
    Quoter::new(style, if utf8 { Charset::Utf8 } else { Charset::Ascii })
}
