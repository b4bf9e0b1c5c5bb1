//! The person who changes volumes: asked on standard error, answers on standard input (or the terminal, where standard
//! input is the archive).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use durastar::error::Complaint;
use durastar::observe::{Operator, Prepared};

use super::dialect::voice::Line;
use super::dialect::{Dialect, gnu, star};
use super::message::Message;

/// The longest answer that is read: a name, and a letter before it.
const ANSWER_BYTES: u64 = 64 << 10;

/// Asks for volumes.
pub(crate) struct Prompt {
    dialect: Dialect,
    message: Arc<Message>,
    marks: gnu::voice::Marks,
    /// Standard input is the archive.
    at_terminal: bool,
    /// Where answers come from, once one was needed.
    answers: Option<Box<dyn BufRead>>,
}

impl Prompt {
    /// For a run.
    pub(crate) fn new(
        dialect: Dialect,
        message: &Arc<Message>,
        marks: gnu::voice::Marks,
        at_terminal: bool,
    ) -> Self {
        Self {
            dialect,
            message: Arc::clone(message),
            marks,
            at_terminal,
            answers: None,
        }
    }

    /// The next answer without its newline; `None` at the end.
    fn answer(&mut self) -> Option<Vec<u8>> {
        let answers = match &mut self.answers {
            Some(answers) => answers,
            none => none.insert(if self.at_terminal {
                Box::new(BufReader::new(File::open("/dev/tty").ok()?))
            } else {
                Box::new(io::stdin().lock())
            }),
        };
        let mut line = Vec::new();
        let read = answers
            .by_ref()
            .take(ANSWER_BYTES)
            .read_until(b'\n', &mut line);
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.is_empty() {
            return None;
        }
        read.ok().map(|_| line)
    }

    fn say(&self, lines: &[&str]) {
        let lines: Vec<_> = lines.iter().map(|&line| Line::said(line)).collect();
        self.message.err(&lines);
    }
}

/// What can be answered.
const HELP: &str = " n NAME        Go on with the file NAME
 q             End it here
 y or newline  The volume is ready
 ?             Print this list
";

impl Operator for Prompt {
    fn prepare(&mut self, number: u64, name: &[u8]) -> Prepared {
        loop {
            let question = match self.dialect {
                Dialect::Gnu => gnu::voice::next_volume(number, name, self.marks),
                Dialect::Star => star::voice::next_volume(number, name),
            };
            self.message.err_raw(&question);
            let Some(answer) = self.answer() else {
                self.say(&["EOF where user reply was expected"]);
                return Prepared::None;
            };
            match answer.first() {
                None | Some(b'y' | b'Y') => return Prepared::Ready,
                Some(b'n') => {
                    let name = answer[1..].trim_ascii_start();
                    if !name.is_empty() {
                        return Prepared::Named(name.to_vec());
                    }
                    self.message
                        .err_raw(b"File name not specified. Try again.\n");
                }
                Some(b'q') => {
                    self.message
                        .err(&[Line::said("No new volume; exiting."), Line::plain("")]);
                    return Prepared::None;
                }
                Some(b'?') => self.message.err_raw(HELP.as_bytes()),
                Some(_) => self.message.err_raw(b"Invalid input. Type ? for help.\n"),
            }
        }
    }

    fn before_program(&mut self) {
        self.message.err_raw(b"");
    }

    fn remark(&mut self, complaint: &Complaint) {
        let text = match self.dialect {
            Dialect::Gnu => gnu::voice::complaint(complaint, self.marks),
            Dialect::Star => star::voice::complaint(complaint),
        };
        self.message.err(&[Line::said(text)]);
    }
}
