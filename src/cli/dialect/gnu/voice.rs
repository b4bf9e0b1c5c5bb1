//! How GNU tar speaks.
//!
//! Scripts look for these sentences, so they are its own, word for word (1.34, C locale translations). GNU tar prints
//! some names in the locale's quotation marks, which are curly in UTF-8.

use std::io::ErrorKind;

use durastar::error::{
    Complaint, Condition, Difference, Error, NumberFault, Operation, Severity, VolumeFault,
};
use durastar::member::Timestamp;
use durastar::sys::time;

use crate::cli::dialect::voice::{Line, cause, name, sentence};
use crate::cli::option::Bad;
use crate::cli::usage::UsageError;

/// Said before a name that no member has and that looks like a pattern.
pub(crate) const PATTERN_HINT: [&str; 2] = [
    "Pattern matching characters used in file names",
    "Use --wildcards to enable pattern matching, or --no-wildcards to suppress this warning",
];
/// Said of an archive that does not begin with a header.
pub(crate) const NO_ARCHIVE: &str = "This does not look like a tar archive";
/// The last words after a failure that the run survived.
pub(crate) const PREVIOUS_ERRORS: &str = "Exiting with failure status due to previous errors";
/// The last words after one that it did not.
pub(crate) const NOT_RECOVERABLE: &str = "Error is not recoverable: exiting now";

/// Quotation marks of the locale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    open: &'static str,
    close: &'static str,
}

impl Marks {
    /// Curly ones where the locale's character set is UTF-8.
    pub(crate) fn of(environment: &dyn Fn(&str) -> Option<Vec<u8>>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|variable| environment(variable).filter(|value| !value.is_empty()))
            .unwrap_or_default()
            .to_ascii_lowercase();
        if locale.ends_with(b"utf-8") || locale.ends_with(b"utf8") {
            Self {
                open: "\u{2018}",
                close: "\u{2019}",
            }
        } else {
            Self {
                open: "'",
                close: "'",
            }
        }
    }

    /// The text between them.
    pub(crate) fn around(self, text: &[u8]) -> Vec<u8> {
        sentence![self.open, name(text, b""), self.close]
    }
}

/// What is said about a command line that cannot be carried out.
pub(crate) fn usage_error(error: &UsageError, program: &[u8], marks: Marks) -> Vec<Line> {
    let try_help = Line::plain(sentence![
        "Try '",
        program,
        " --help' or '",
        program,
        " --usage' for more information."
    ]);
    let not_recoverable = Line::said(NOT_RECOVERABLE);
    let with_help = |text: Vec<u8>| vec![Line::said(text), try_help.clone()];
    match error {
        UsageError::NoOperation => with_help(
            b"You must specify one of the '-Acdtrux', '--delete' or '--test-label' options"
                .to_vec(),
        ),
        UsageError::SeveralOperations => with_help(
            b"You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option"
                .to_vec(),
        ),
        UsageError::UnknownLong { word, similar } => {
            let mut lines = with_help(sentence!["unrecognized option '", name(word, b""), "'"]);
            // Under its other names the program says what GNU tar says and no more.
            if let Some(similar) = similar
                && program == b"durastar"
            {
                lines.insert(1, Line::said(format!("did you mean '{similar}'?")));
            }
            lines
        }
        UsageError::UnknownShort(letter) | UsageError::UnknownOld(letter) => {
            with_help(sentence!["invalid option -- '", shown(*letter), "'"])
        }
        UsageError::Ambiguous {
            given,
            possibilities,
        } => {
            let mut text = sentence![
                "option '",
                name(given, b""),
                "' is ambiguous; possibilities:"
            ];
            for possibility in possibilities {
                text.extend_from_slice(format!(" '{possibility}'").as_bytes());
            }
            with_help(text)
        }
        UsageError::LongNeedsValue(option) => {
            with_help(format!("option '{option}' requires an argument").into_bytes())
        }
        UsageError::ShortNeedsValue(letter) => with_help(sentence![
            "option requires an argument -- '",
            shown(*letter),
            "'"
        ]),
        UsageError::OldNeedsValue(letter) => with_help(sentence![
            "Old option '",
            shown(*letter),
            "' requires an argument."
        ]),
        UsageError::TakesNoValue(option) => {
            with_help(format!("option '{option}' doesn't allow an argument").into_bytes())
        }
        UsageError::BadValue { option, value, bad } => match bad {
            Bad::Value(what) => with_help(sentence![name(value, b":"), ": ", what]),
            Bad::Usage(what) => with_help(what.clone().into_bytes()),
            Bad::Fatal(what) => vec![Line::said(what.clone()), not_recoverable],
            Bad::Style => vec![
                Line::said(sentence![
                    "Unknown quoting style '",
                    name(value, b""),
                    "'. Try '",
                    program,
                    " --quoting-style=help' to get a list."
                ]),
                not_recoverable,
            ],
            Bad::NoWord { words, ambiguous } => {
                let mut lines = vec![
                    Line::said(sentence![
                        if *ambiguous { "ambiguous" } else { "invalid" },
                        " argument ",
                        marks.around(value),
                        " for ",
                        marks.around(option.as_bytes())
                    ]),
                    Line::plain("Valid arguments are:"),
                ];
                lines.extend(words.iter().map(|synonyms| {
                    let around = synonyms.iter().map(|word| marks.around(word.as_bytes()));
                    Line::plain(sentence![
                        "  - ",
                        around.collect::<Vec<_>>().join(&b", "[..])
                    ])
                }));
                lines
            }
            Bad::OneOf(valid) => {
                let mut lines = vec![
                    Line::said(sentence![
                        "invalid argument ",
                        marks.around(value),
                        " for ",
                        marks.around(option.as_bytes())
                    ]),
                    Line::plain("Valid arguments are:"),
                ];
                lines.extend(
                    valid
                        .iter()
                        .map(|word| Line::plain(sentence!["  - ", marks.around(word.as_bytes())])),
                );
                lines
            }
        },
        UsageError::Refused { option, instead } => {
            let mut text = format!("option '{option}' is not supported yet");
            if !instead.is_empty() {
                text.push_str(": ");
                text.push_str(instead);
            }
            with_help(text.into_bytes())
        }
        UsageError::Contradiction { later, earlier } => {
            with_help(format!("'{later}' cannot be used with '{earlier}'").into_bytes())
        }
        UsageError::Compression => with_help(b"Conflicting compression options".to_vec()),
        UsageError::SeveralArchives => {
            with_help(b"Multiple archive files require '-M' option".to_vec())
        }
        UsageError::Terminal { writes } => vec![
            Line::said(if *writes {
                "Refusing to write archive contents to terminal (missing -f option?)"
            } else {
                "Refusing to read archive contents from terminal (missing -f option?)"
            }),
            not_recoverable,
        ],
        UsageError::File {
            option,
            name: file,
            operation,
            cause: why,
        } => {
            // GNU tar names the operation for -T and not for -X.
            let what = match (*option, *operation) {
                ("-X", _) => String::new(),
                (_, operation) => format!("{}: ", cannot(operation)),
            };
            if *option == "-N" {
                let mut lines = with_help(b"Date sample file not found".to_vec());
                lines.insert(
                    0,
                    Line::said(sentence![name(file, b":"), ": ", what, cause(why)]),
                );
                return lines;
            }
            vec![
                Line::said(sentence![name(file, b":"), ": ", what, cause(why)]),
                not_recoverable,
            ]
        }
        UsageError::MapFile(problems) => problems
            .iter()
            .cloned()
            .map(Line::said)
            .chain([Line::said("errors reading map file"), not_recoverable])
            .collect(),
        UsageError::ArgumentsInEnvironment(variable) => {
            with_help(format!("non-option arguments in {variable}").into_bytes())
        }
        UsageError::Environment(variable, inner) => {
            let mut lines = usage_error(inner, program, marks);
            // GNU tar says so of what its option parser finds; a bad value ends it on the spot.
            if !matches!(**inner, UsageError::BadValue { .. }) {
                lines.push(Line::said(format!("error parsing {variable}")));
            }
            lines
        }
        UsageError::Personality { name: asked, known } => {
            let end = if *known {
                " command line is not supported yet: call durastar as tar or star"
            } else {
                " is no command line: cli= takes star or gnutar"
            };
            with_help(sentence!["'", name(asked, b""), "'", end])
        }
        UsageError::Other(what) => with_help(what.clone().into_bytes()),
    }
}

fn shown(letter: char) -> Vec<u8> {
    // Letters of old bundles are bytes; one above 127 is a part of a character.
    let byte = u8::try_from(u32::from(letter)).unwrap_or(b'?');
    name(&[byte], b"")
}

/// What is said about a complaint.
pub(crate) fn complaint(complaint: &Complaint, marks: Marks) -> Vec<u8> {
    // GNU tar takes the slash off that ends a directory's name.
    let slashes = complaint
        .member
        .iter()
        .rev()
        .take_while(|&&byte| byte == b'/');
    let length = complaint.member.len() - slashes.count();
    let shown = &complaint.member[..length.max(complaint.member.len().min(1))];
    let member = name(shown, b":");
    let about = |what: &[u8]| {
        if member.is_empty() {
            what.to_vec()
        } else {
            sentence![member, ": ", what]
        }
    };
    match &complaint.condition {
        Condition::System {
            operation,
            cause: why,
            target,
        } => {
            let target = match (operation, target) {
                (_, None) => Vec::new(),
                (Operation::Symlink | Operation::Link | Operation::Rename, Some(target)) => {
                    sentence![" to ", marks.around(target)]
                }
                (_, Some(target)) => sentence![" to ", name(target, b"")],
            };
            let warning = if complaint.severity == Severity::Warning {
                "Warning: "
            } else {
                ""
            };
            about(&sentence![warning, cannot(*operation), target, ": ", cause(why)])
        }
        // Ours are counted from 0, GNU tar's from 1.
        Condition::LoneZeroBlock(block) => format!("A lone zero block at {}", block + 1).into_bytes(),
        Condition::BadHeader(_) => b"Skipping to next header".to_vec(),
        Condition::BadExtension(what) => {
            about(&sentence!["Malformed extended header: ", name(what.as_bytes(), b"")])
        }
        Condition::BadField(field) => {
            about(format!("Bad value in header field '{field}'").as_bytes())
        }
        Condition::BadNumber(field, fault) => bad_number(field, fault, marks),
        Condition::UnknownTypeflag(flag) => about(&sentence![
            "Unknown file type '", name(&[*flag], b""), "', extracted as normal file"
        ]),
        Condition::Volume(fault) => volume_fault(fault, &complaint.member, marks),
        Condition::Continued => {
            about(b"Cannot extract -- file is continued from another volume")
        }
        Condition::UnexpectedEnd => b"Unexpected EOF in archive".to_vec(),
        Condition::Decompression(what) | Condition::Other(what) => {
            about(&name(what.as_bytes(), b""))
        }
        Condition::PrefixRemoved { prefix, link } => sentence![
            "Removing leading `", name(prefix, b""), "' from ",
            if *link { "hard link targets" } else { "member names" }
        ],
        Condition::DotDot => about(b"Member name contains '..'"),
        Condition::UnsafeLink(target) => {
            about(&sentence!["Link to ", marks.around(target), " leads out of the destination"])
        }
        Condition::LeavesDestination => {
            about(b"Cannot open: A symbolic link on the way leads out of the destination")
        }
        Condition::NotNewer => {
            sentence!["Current ", marks.around(shown), " is newer or same age"]
        }
        Condition::Kept if complaint.severity == Severity::Failure => {
            about(b"Cannot open: File exists")
        }
        Condition::Kept => about(b"skipping existing file"),
        Condition::ReplacedDirectoryLink => about(
            b"Symbolic link to a directory replaced by a directory (--keep-directory-symlink keeps it)",
        ),
        Condition::Unsupported(what) => about(format!("Cannot make {what}, skipped").as_bytes()),
        Condition::NoBackup(why) => about(
            format!("Was unable to backup this file: {}", cause(why)).as_bytes(),
        ),
        Condition::CommandFailed { process, status } => {
            format!("{process}: Child returned status {status}").into_bytes()
        }
        Condition::CommandKilled { process, signal } => {
            format!("{process}: Child terminated on signal {signal}").into_bytes()
        }
        Condition::NotFound => about(b"Not found in archive"),
        Condition::OccurrenceNotFound => about(b"Required occurrence not found in archive"),
        Condition::OddTime { time, ahead } => about(odd_time(*time, *ahead).as_bytes()),
        Condition::NotStable {
            cause: why,
            members,
            first,
            last,
        } => {
            let lost = match members {
                0 => b"No member is lost that is not named".to_vec(),
                1 => sentence!["1 member may be lost: ", name(first, b"")],
                _ => sentence![
                    format!("{members} members may be lost: "),
                    name(first, b""),
                    " to ",
                    name(last, b"")
                ],
            };
            about(&sentence!["Cannot sync: ", cause(why), ": ", lost])
        }
        Condition::Differs(what) => match what {
            Difference::Missing(Operation::ReadLink, why) => {
                about(&sentence!["Warning: Cannot readlink: ", cause(why)])
            }
            Difference::Missing(_, why) => {
                about(&sentence!["Warning: Cannot stat: ", cause(why)])
            }
            Difference::NotLinked(target) => about(&sentence!["Not linked to ", name(target, b"")]),
            other => {
                let mut text = other.to_string().into_bytes();
                text[..1].make_ascii_uppercase();
                about(&text)
            }
        },
        // This one tells of the directory with its slash.
        Condition::Tagged(..) => {
            sentence![name(&complaint.member, b":"), ": ", complaint.condition.to_string()]
        }
        Condition::FileShrank(bytes) => {
            let unit = if *bytes == 1 { "byte" } else { "bytes" };
            about(format!("File shrank by {bytes} {unit}; padding with zeros").as_bytes())
        }
        Condition::FileRemoved => about(b"File removed before we read it"),
        Condition::ReadFailed {
            offset,
            bytes,
            cause: why,
        } => about(
            format!(
                "Read error at byte {offset}, while reading {bytes} bytes: {}",
                cause(why)
            )
            .as_bytes(),
        ),
        Condition::MissingLinks => {
            sentence!["Missing links to ", marks.around(shown), "."]
        }
        other => about(other.to_string().as_bytes()),
    }
}

/// The keyword of `--warning` for a complaint that is one.
pub(crate) fn warning_keyword(complaint: &Complaint) -> Option<&'static str> {
    if complaint.severity == Severity::Failure {
        return None;
    }
    match complaint.condition {
        Condition::LoneZeroBlock(_) => Some("alone-zero-block"),
        Condition::BadExtension(_) => Some("unknown-keyword"),
        Condition::UnknownTypeflag(_) => Some("unknown-cast"),
        Condition::Decompression(_) => Some("decompress-program"),
        Condition::NotNewer => Some("ignore-newer"),
        Condition::Kept => Some("existing-file"),
        Condition::OddTime { .. } => Some("timestamp"),
        Condition::FileChanged => Some("file-changed"),
        Condition::FileShrank(_) => Some("file-shrank"),
        Condition::FileRemoved => Some("file-removed"),
        Condition::IsArchive => Some("ignore-archive"),
        Condition::FileIgnored(_) => Some("file-ignored"),
        Condition::FileUnchanged => Some("file-unchanged"),
        Condition::OtherFileSystem => Some("xdev"),
        Condition::Tagged(..) => Some("cachedir"),
        Condition::System { .. } | Condition::ReadFailed { .. } => Some("failed-read"),
        _ => None,
    }
}

/// Warnings that are on only with `-v` or when asked for.
pub(crate) const QUIET_WARNINGS: &[&str] = &["existing-file", "file-unchanged", "xdev", "cachedir"];

fn odd_time(stamp: Timestamp, ahead: i64) -> String {
    let told = time::local(stamp.seconds).map_or_else(
        || stamp.seconds.to_string(),
        |at| {
            format!(
                "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
                at.year, at.month, at.day, at.hour, at.minute, at.second
            )
        },
    );
    if ahead > 0 {
        format!("time stamp {told} is {ahead} s in the future")
    } else {
        format!("implausibly old time stamp {told}")
    }
}

/// The question for the next volume, without a newline, with a bell before it.
pub(crate) fn next_volume(number: u64, archive: &[u8], marks: Marks) -> Vec<u8> {
    sentence![
        format!("\u{7}Prepare volume #{number} for "),
        marks.around(archive),
        " and hit return: "
    ]
}

/// GNU tar calls fields by their C types.
fn bad_number(field: &str, fault: &NumberFault, marks: Marks) -> Vec<u8> {
    let (kind, range) = match field {
        "size" | "offset" => ("off_t", "0..9223372036854775807"),
        "mtime" => ("time_t", "-9223372036854775808..9223372036854775807"),
        "mode" => ("mode_t", "0..4294967295"),
        "uid" => ("uid_t", "0..4294967295"),
        "gid" => ("gid_t", "0..4294967295"),
        "devmajor" => ("major_t", "0..4294967295"),
        "devminor" => ("minor_t", "0..4294967295"),
        other => (other, "0..18446744073709551615"),
    };
    match fault {
        NumberFault::Text(text) => sentence![
            "Archive contains ",
            marks.around(text),
            format!(" where numeric {kind} value expected")
        ],
        NumberFault::Octal(digits) => sentence![
            "Archive octal value ",
            name(digits, b""),
            format!(" is out of {kind} range")
        ],
        NumberFault::Range(value) => {
            format!("Archive value {value} is out of {kind} range {range}").into_bytes()
        }
        NumberFault::Binary => {
            format!("Archive base-256 value is out of {kind} range").into_bytes()
        }
    }
}

fn volume_fault(fault: &VolumeFault, member: &[u8], marks: Marks) -> Vec<u8> {
    let quoted = marks.around(member);
    match fault {
        VolumeFault::Open(why) => {
            sentence![name(member, b":"), ": Warning: Cannot open: ", cause(why)]
        }
        VolumeFault::Empty => NO_ARCHIVE.as_bytes().to_vec(),
        VolumeFault::NotContinued => sentence![quoted, " is not continued on this volume"],
        VolumeFault::NameCut => sentence![
            quoted,
            " is possibly continued on this volume: header contains truncated name"
        ],
        VolumeFault::Size {
            total,
            size,
            offset,
        } => sentence![
            quoted,
            format!(" is the wrong size ({total} != {size} + {offset})")
        ],
        VolumeFault::Sequence {
            total,
            left,
            offset,
        } => format!("This volume is out of sequence ({total} - {left} != {offset})").into_bytes(),
        other => name(other.to_string().as_bytes(), b""),
    }
}

/// `Cannot open`, in GNU tar's words.
fn cannot(operation: Operation) -> String {
    match operation {
        // GNU tar opens directories to enter them.
        Operation::ChangeDirectory => "Cannot open".to_owned(),
        Operation::SetAttribute => "Cannot set extended attribute".to_owned(),
        other => format!("Cannot {}", other.verb()),
    }
}

/// What is said when a run ends early.
pub(crate) fn fatal(error: &Error, marks: Marks) -> Vec<Line> {
    let between = match error {
        Error::System {
            operation: Operation::Read,
            cause: why,
            ..
        } if why.kind() == ErrorKind::IsADirectory => Some("At beginning of tape, quitting now"),
        _ => None,
    };
    let (what, last) = match error {
        Error::System {
            operation,
            name: file,
            cause: why,
        } => (
            sentence![name(file, b":"), ": ", cannot(*operation), ": ", cause(why)],
            NOT_RECOVERABLE,
        ),
        Error::NotAnArchive => (NO_ARCHIVE.as_bytes().to_vec(), PREVIOUS_ERRORS),
        Error::UnexpectedEnd { .. } => (b"Unexpected EOF in archive".to_vec(), NOT_RECOVERABLE),
        Error::Decompression(what) | Error::Plan(what) => {
            (name(what.as_bytes(), b""), NOT_RECOVERABLE)
        }
        Error::VolumeScript(command) => (
            sentence![marks.around(command), " command failed"],
            NOT_RECOVERABLE,
        ),
        Error::VolumeNumber(file) => (
            sentence![name(file, b":"), ": contains invalid volume number"],
            NOT_RECOVERABLE,
        ),
        // Why there is none was said where it was asked for.
        Error::NoVolume(_) => return vec![Line::said(NOT_RECOVERABLE)],
        Error::Journal { name: file, reason } => (
            sentence![
                name(file, b":"),
                ": Cannot use journal: ",
                reason.as_bytes()
            ],
            NOT_RECOVERABLE,
        ),
        Error::Stopped => return Vec::new(),
        other => (other.to_string().into_bytes(), NOT_RECOVERABLE),
    };
    let between = between.map(Line::said);
    [Line::said(what)]
        .into_iter()
        .chain(between)
        .chain([Line::said(last)])
        .collect()
}

#[cfg(test)]
mod tests;
