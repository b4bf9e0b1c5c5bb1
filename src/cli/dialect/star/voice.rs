//! How star speaks: the cause first, a full stop after each sentence.

use durastar::error::{Complaint, Condition, Error, Operation, Severity, VolumeFault};
use durastar::member::Format;
use durastar::stats::Input;

use crate::cli::dialect::voice::{Line, cause, name, sentence};
use crate::cli::option::Bad;
use crate::cli::usage::UsageError;

/// The last words after failures that the run survived.
pub(crate) const DESPITE: &str = "Processed all possible files, despite earlier errors.";

/// What `-print-artype` prints: the archive's name, how it is compressed, the format as `H=` spells it.
pub(crate) fn archive_type(archive: &[u8], input: &Input, format: Format) -> Vec<u8> {
    let mut line = sentence![name(archive, b""), ": "];
    if !input.compression.is_empty() {
        line.extend(sentence![input.compression, " compressed "]);
    }
    if input.swapped {
        line.extend_from_slice(b"swapped ");
    }
    let format = match format {
        Format::V7 => "tar",
        Format::Star => "star",
        Format::Ustar => "ustar",
        Format::Gnu => "gnutar",
        Format::Pax => "pax",
        Format::Xstar => "xstar",
        Format::Xustar => "xustar",
        Format::Exustar => "exustar",
        Format::Suntar => "suntar",
    };
    line.extend(sentence![format, " archive.\n"]);
    line
}

/// What is said about a command line that cannot be carried out.
pub(crate) fn usage_error(error: &UsageError, program: &[u8]) -> Vec<Line> {
    let mut usage = true;
    let text = match error {
        UsageError::NoOperation => {
            b"Missing command, must specify -x -c -u -r -t -copy -n or -diff.".to_vec()
        }
        UsageError::SeveralOperations => {
            b"Too many commands, only one of -x -c -u -r -t -copy -n or -diff is allowed.".to_vec()
        }
        UsageError::UnknownLong { word, .. } => sentence!["Bad Option: ", name(word, b""), "."],
        UsageError::UnknownShort(letter) => {
            format!("Bad Option: -{}.", letter.escape_default()).into_bytes()
        }
        UsageError::UnknownOld(letter) => format!(
            "Illegal option '{}' for compat mode.",
            letter.escape_default()
        )
        .into_bytes(),
        UsageError::Ambiguous { given, .. } => sentence!["Bad Option: ", name(given, b""), "."],
        UsageError::LongNeedsValue(option) => {
            format!("Missing arg for '{option}' option.").into_bytes()
        }
        UsageError::ShortNeedsValue(letter) | UsageError::OldNeedsValue(letter) => {
            usage = false;
            format!("Missing arg for '-{letter}' option.").into_bytes()
        }
        UsageError::TakesNoValue(option) => format!("Bad Option: {option}.").into_bytes(),
        UsageError::BadValue { option, value, bad } => match bad {
            Bad::Value(what) => sentence![what, " '", name(value, b""), "'."],
            Bad::Usage(what) | Bad::Fatal(what) => what.clone().into_bytes(),
            Bad::Style | Bad::NoWord { .. } => sentence!["Bad value '", name(value, b""), "'."],
            Bad::OneOf(valid) => sentence![
                "Bad value '",
                name(value, b""),
                "' for ",
                option,
                ", use one of: ",
                valid.join(" "),
                "."
            ],
        },
        UsageError::Refused { option, instead } => {
            usage = false;
            let mut text = format!("Option {option} is not supported yet");
            if !instead.is_empty() {
                text.push_str(": ");
                text.push_str(instead);
            }
            text.push('.');
            text.into_bytes()
        }
        UsageError::Contradiction { later, earlier } => {
            format!("Cannot use {earlier} and {later} together.").into_bytes()
        }
        UsageError::Compression => b"Only one compression option is allowed.".to_vec(),
        UsageError::SeveralArchives => b"Only one file= is allowed.".to_vec(),
        UsageError::Terminal { .. } => {
            usage = false;
            b"Standard input is a terminal, will not read an archive from it; use file=name."
                .to_vec()
        }
        UsageError::File {
            name: file,
            cause: why,
            ..
        } => {
            usage = false;
            sentence![cause(why), ". Cannot open '", name(file, b""), "'."]
        }
        UsageError::MapFile(problems) => {
            usage = false;
            problems.join(&b"; "[..])
        }
        UsageError::ArgumentsInEnvironment(variable) | UsageError::Environment(variable, _) => {
            format!("Bad value of {variable}.").into_bytes()
        }
        UsageError::Personality { name: asked, .. } => {
            sentence!["Illegal cli name '", name(asked, b""), "'."]
        }
        UsageError::Other(what) => {
            usage = false;
            sentence![what, "."]
        }
    };
    let mut lines = vec![Line::said(text)];
    if usage {
        lines.extend(self::usage(program));
    }
    lines
}

/// The reminder after a mistake on the command line.
pub(crate) fn usage(program: &[u8]) -> Vec<Line> {
    vec![
        Line::plain(sentence![
            "Usage:\t",
            program,
            " cmd [options] file1 ... filen"
        ]),
        Line::plain(sentence!["\t", program, " cli=name ..."]),
        Line::plain(""),
        Line::plain(sentence!["Use\t", program, " -help"]),
        Line::plain("to get a list of valid cmds and options."),
    ]
}

/// What is said about a complaint.
pub(crate) fn complaint(complaint: &Complaint) -> Vec<u8> {
    let member = sentence!["'", name(&complaint.member, b""), "'"];
    let warning = if complaint.severity == Severity::Warning {
        "WARNING: "
    } else {
        ""
    };
    match &complaint.condition {
        Condition::System {
            operation,
            cause: why,
            target,
        } => {
            let target = target.as_ref().map_or_else(Vec::new, |target| {
                sentence![" to '", name(target, b""), "'"]
            });
            sentence![
                cause(why),
                ". Cannot ",
                verb(*operation),
                " ",
                member,
                target,
                "."
            ]
        }
        Condition::PrefixRemoved { prefix, link } => sentence![
            "WARNING: skipping leading '",
            name(prefix, b""),
            "' on ",
            if *link { "link names." } else { "filenames." }
        ],
        Condition::NotNewer => sentence!["current ", member, " newer."],
        Condition::Kept => sentence!["current ", member, " exists, skipping ..."],
        Condition::UnsafeLink(_) => sentence![member, " potentially insecure link, skipping ..."],
        Condition::LeavesDestination => {
            sentence![
                member,
                " is behind a link that leads out of the directory, skipping ..."
            ]
        }
        Condition::DotDot => sentence![member, " contains '..', skipping ..."],
        Condition::NotFound => sentence![member, " not found in archive."],
        Condition::LoneZeroBlock(block) => {
            format!("WARNING: single zero block at block {block}.").into_bytes()
        }
        Condition::BadHeader(block) => {
            format!("{warning}Checksum error at block {block}, skipping to the next header.")
                .into_bytes()
        }
        Condition::Volume(VolumeFault::Open(why)) => {
            sentence![cause(why), ". Cannot open ", member, "."]
        }
        Condition::UnexpectedEnd => sentence![member, ": unexpected EOF in archive."],
        Condition::UnknownTypeflag(flag) => sentence![
            warning,
            "unknown filetype '",
            name(&[*flag], b""),
            "' of ",
            member,
            ", extracting as file."
        ],
        Condition::NotStable {
            cause: why,
            members,
            first,
            last,
        } => {
            let lost = match members {
                0 => b"no member is lost that is not named.".to_vec(),
                1 => sentence!["1 member may be lost: '", name(first, b""), "'."],
                _ => sentence![
                    format!("{members} members may be lost: '"),
                    name(first, b""),
                    "' to '",
                    name(last, b""),
                    "'."
                ],
            };
            sentence![cause(why), ". Cannot sync ", member, ", ", lost]
        }
        other => {
            let what = name(other.to_string().as_bytes(), b"");
            if complaint.member.is_empty() {
                sentence![warning, what, "."]
            } else {
                sentence![warning, member, ": ", what, "."]
            }
        }
    }
}

/// The question for the next volume, without a newline.
pub(crate) fn next_volume(number: u64, archive: &[u8]) -> Vec<u8> {
    sentence![
        format!("\u{7}Prepare volume #{number} for '"),
        name(archive, b""),
        "' and hit return: "
    ]
}

fn verb(operation: Operation) -> &'static str {
    match operation {
        Operation::Open => "create",
        Operation::MakeDirectory => "make dir",
        Operation::Symlink => "create symbolic link",
        Operation::Link => "link",
        Operation::MakeFifo => "make fifo",
        Operation::MakeNode => "make node",
        Operation::ChangeOwner => "set owner of",
        Operation::ChangeMode => "set mode of",
        Operation::SetTimes => "set time of",
        Operation::SetAttribute => "set attribute of",
        Operation::SetFlags => "set flags of",
        Operation::Remove => "remove",
        Operation::ChangeDirectory => "change directory to",
        other => other.verb(),
    }
}

/// What is said when a run ends early.
pub(crate) fn fatal(error: &Error) -> Vec<Line> {
    vec![Line::said(match error {
        Error::System {
            operation,
            name: file,
            cause: why,
        } => {
            let verb = match operation {
                Operation::ChangeDirectory => "change directory to",
                other => other.verb(),
            };
            sentence![cause(why), ". Cannot ", verb, " '", name(file, b""), "'."]
        }
        Error::NotAnArchive => b"This does not look like a tar archive.".to_vec(),
        Error::UnexpectedEnd { .. } => b"Unexpected EOF in archive.".to_vec(),
        Error::Journal { name: file, reason } => {
            sentence![
                "Cannot use journal '",
                name(file, b""),
                "': ",
                reason.as_bytes(),
                "."
            ]
        }
        Error::Stopped => return Vec::new(),
        other => sentence![name(other.to_string().as_bytes(), b""), "."],
    })]
}

/// Problems by star's classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    stat: u64,
    open: u64,
    read_write: u64,
    chdir: u64,
    size_changed: u64,
    missing_links: u64,
    name_too_long: u64,
    file_too_big: u64,
    not_dumped: u64,
    time: u64,
    modes: u64,
    path_names: u64,
    link_names: u64,
}

impl Problems {
    /// Counts a failure.
    pub(crate) fn count(&mut self, complaint: &Complaint) {
        if complaint.severity == Severity::Warning {
            return;
        }
        let class = match &complaint.condition {
            Condition::System {
                operation, cause, ..
            } => match operation {
                // ENAMETOOLONG and EFBIG are classes of their own, whatever was tried.
                _ if cause.kind() == std::io::ErrorKind::InvalidFilename => &mut self.name_too_long,
                _ if cause.kind() == std::io::ErrorKind::FileTooLarge => &mut self.file_too_big,
                Operation::Stat => &mut self.stat,
                Operation::ChangeDirectory => &mut self.chdir,
                Operation::SetTimes => &mut self.time,
                Operation::ChangeMode
                | Operation::ChangeOwner
                | Operation::SetAttribute
                | Operation::SetFlags => &mut self.modes,
                Operation::Link => &mut self.missing_links,
                Operation::Read
                | Operation::Write
                | Operation::Seek
                | Operation::Truncate
                | Operation::Close
                | Operation::Sync => &mut self.read_write,
                _ => &mut self.open,
            },
            Condition::DotDot | Condition::LeavesDestination => &mut self.path_names,
            Condition::UnsafeLink(_) => &mut self.link_names,
            Condition::Unsupported(_) | Condition::FileIgnored(_) => &mut self.not_dumped,
            Condition::FileChanged | Condition::FileShrank(_) => &mut self.size_changed,
            Condition::FileRemoved => &mut self.stat,
            _ => &mut self.read_write,
        };
        *class += 1;
    }

    /// The summary: two lines always, two where they have something to say.
    pub(crate) fn summary(&self) -> Vec<Line> {
        let mut lines = vec![
            Line::said("The following problems occurred during archive processing:"),
            Line::said(format!(
                "Cannot: stat {}, open {}, read/write {}, chdir {}, iconv 0. Size changed {}.",
                self.stat, self.open, self.read_write, self.chdir, self.size_changed
            )),
            Line::said(format!(
                "Missing links {}, Name too long {}, File too big {}, Not dumped {}.",
                self.missing_links, self.name_too_long, self.file_too_big, self.not_dumped
            )),
        ];
        if self.time + self.modes > 0 {
            lines.push(Line::said(format!(
                "Cannot set: time {}, modes {}.",
                self.time, self.modes
            )));
        }
        if self.path_names + self.link_names > 0 {
            lines.push(Line::said(format!(
                "Skipped for security reason: path name {}, link name {}.",
                self.path_names, self.link_names
            )));
        }
        lines
    }
}

#[cfg(test)]
mod tests;
