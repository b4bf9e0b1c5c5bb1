//! The exit status, computed once at the end: one table for each dialect.

use durastar::engine::{Outcome, Promise};
use durastar::error::Error;

use super::dialect::Dialect;
use super::usage::UsageError;

/// What matters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Something asked for was not done, but the run went on.
    pub(crate) failed: bool,
    /// Files differ, or changed while they were read.
    pub(crate) differs: bool,
    /// It ended at its first failure, as was wished.
    pub(crate) aborted: bool,
    /// The run ended early.
    pub(crate) fatal: bool,
    /// The number that the system gave for it.
    pub(crate) errno: Option<i32>,
}

impl Run {
    /// Out of an outcome and of what went wrong outside of the engine.
    pub(crate) fn of(outcome: &Outcome, failures: u64, stopped_by_us: bool) -> Self {
        let errno = match &outcome.error {
            Some(Error::System { cause, .. }) => cause.raw_os_error(),
            _ => None,
        };
        Self {
            failed: failures > 0
                || outcome.stats.restored.failures > 0
                || outcome.promise == Promise::Broken
                || stopped_by_us,
            differs: outcome.stats.restored.differences > 0,
            aborted: false,
            fatal: match outcome.error {
                None | Some(Error::Stopped) => false,
                Some(_) => true,
            },
            errno,
        }
    }
}

/// The status of a run.
pub(crate) fn run(dialect: Dialect, run: Run) -> u8 {
    match dialect {
        Dialect::Gnu => {
            if run.failed || run.fatal {
                2
            } else if run.differs {
                1
            } else {
                0
            }
        }
        // star: the errno of what ended the run, -1 where there is none, -2 for failures on the way, -3 for one that was to
        // end it.
        Dialect::Star => match run {
            Run { aborted: true, .. } => 253,
            Run {
                fatal: true, errno, ..
            } => errno
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(255),
            Run { failed: true, .. } | Run { differs: true, .. } => 254,
            _ => 0,
        },
    }
}

/// The status of a command line that cannot be carried out.
pub(crate) fn usage(dialect: Dialect, error: &UsageError) -> u8 {
    match (dialect, error) {
        (Dialect::Gnu, UsageError::Environment(_, inner)) => usage(dialect, inner),
        // What its option parser finds itself gives EX_USAGE; what tar finds later gives 2.
        (
            Dialect::Gnu,
            UsageError::UnknownLong { .. }
            | UsageError::UnknownShort(_)
            | UsageError::UnknownOld(_)
            | UsageError::Ambiguous { .. }
            | UsageError::LongNeedsValue(_)
            | UsageError::ShortNeedsValue(_)
            | UsageError::TakesNoValue(_),
        ) => 64,
        (Dialect::Gnu, _) => 2,
        (Dialect::Star, UsageError::File { cause, .. }) => cause
            .raw_os_error()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(255),
        (Dialect::Star, _) => 255,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use durastar::error::Operation;

    use super::{Dialect, Run, UsageError, run, usage};

    const FINE: Run = Run {
        failed: false,
        differs: false,
        aborted: false,
        fatal: false,
        errno: None,
    };

    #[test]
    fn runs() {
        let failed = Run {
            failed: true,
            ..FINE
        };
        let fatal = Run {
            fatal: true,
            ..failed
        };
        let missing = Run {
            errno: Some(2),
            ..fatal
        };
        let aborted = Run {
            aborted: true,
            ..failed
        };
        for (what, gnu, star) in [
            (FINE, 0, 0),
            (aborted, 2, 253),
            (failed, 2, 254),
            (fatal, 2, 255),
            (missing, 2, 2),
        ] {
            assert_eq!(run(Dialect::Gnu, what), gnu, "{what:?}");
            assert_eq!(run(Dialect::Star, what), star, "{what:?}");
        }
    }

    #[test]
    fn command_lines() {
        let file = UsageError::File {
            option: "-X",
            name: b"x".to_vec(),
            operation: Operation::Open,
            cause: io::Error::from_raw_os_error(2),
        };
        for (error, gnu, star) in [
            (UsageError::NoOperation, 2, 255),
            (
                UsageError::UnknownLong {
                    word: b"--bogus".to_vec(),
                    similar: None,
                },
                64,
                255,
            ),
            (UsageError::UnknownShort('Y'), 64, 255),
            (UsageError::ShortNeedsValue('f'), 64, 255),
            (UsageError::OldNeedsValue('f'), 2, 255),
            (UsageError::Terminal { writes: true }, 2, 255),
            (file, 2, 2),
        ] {
            assert_eq!(usage(Dialect::Gnu, &error), gnu, "{error:?}");
            assert_eq!(usage(Dialect::Star, &error), star, "{error:?}");
        }
    }
}
