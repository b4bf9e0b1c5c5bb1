//! How far a measurement is, on a terminal: one line that is written over.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use durastar::bench::Watch;

/// Shows steps on standard error if that is a terminal, and notes always.
#[derive(Debug)]
pub(crate) struct Progress<W: Write> {
    out: W,
    terminal: bool,
    began: Instant,
    shown: bool,
}

impl Progress<std::io::Stderr> {
    pub(crate) fn new() -> Self {
        let out = std::io::stderr();
        Self {
            terminal: out.is_terminal(),
            out,
            began: Instant::now(),
            shown: false,
        }
    }
}

/// Longer lines would break and could not be written over.
const WIDTH: usize = 79;

impl<W: Write> Progress<W> {
    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            // Whoever closed standard error wants no progress.
            let _ = write!(self.out, "\r\x1b[K");
            let _ = self.out.flush();
            self.shown = false;
        }
    }
}

impl<W: Write> Watch for Progress<W> {
    fn step(&mut self, done: u64, total: u64, what: &str) {
        if !self.terminal {
            return;
        }
        let mut line = String::new();
        // Without a total nothing can be said of the rest.
        if let Some(percent) = (done * 100).checked_div(total) {
            line = format!("{percent:3}% ");
            if let Some(left) = left(self.began.elapsed(), done, total) {
                line.push_str(&left);
            }
        }
        line.push_str(what);
        let line: String = line.chars().take(WIDTH).collect();
        let _ = write!(self.out, "\r\x1b[K{line}");
        let _ = self.out.flush();
        self.shown = true;
    }

    fn note(&mut self, text: &str) {
        self.clear();
        let _ = writeln!(self.out, "durastar-bench: {text}");
    }
}

/// How long it will go on, once that can be said.
fn left(gone: Duration, done: u64, total: u64) -> Option<String> {
    if done * 20 < total || done == 0 {
        return None;
    }
    let seconds = gone.as_secs_f64() / done as f64 * total.saturating_sub(done) as f64;
    let seconds = seconds.ceil() as u64;
    Some(if seconds >= 60 {
        format!("({} min left) ", seconds.div_ceil(60))
    } else {
        format!("({seconds} s left) ")
    })
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Progress, Watch, left};

    fn progress(terminal: bool) -> Progress<Vec<u8>> {
        Progress {
            out: Vec::new(),
            terminal,
            began: Instant::now(),
            shown: false,
        }
    }

    #[test]
    fn steps_are_for_terminals_only_and_notes_for_all() {
        let mut quiet = progress(false);
        quiet.step(1, 2, "x");
        quiet.note("left out: star");
        assert_eq!(quiet.out, b"durastar-bench: left out: star\n");
        let mut shown = progress(true);
        shown.step(0, 2, "warm-up");
        shown.clear();
        shown.clear();
        assert_eq!(shown.out, b"\r\x1b[K  0% warm-up\r\x1b[K");
    }

    #[test]
    fn the_rest_is_told_in_proportion() {
        assert_eq!(left(Duration::from_secs(10), 0, 100), None);
        assert_eq!(left(Duration::from_secs(10), 4, 100), None);
        assert_eq!(
            left(Duration::from_secs(10), 50, 100).unwrap(),
            "(10 s left) "
        );
        assert_eq!(
            left(Duration::from_secs(100), 10, 100).unwrap(),
            "(15 min left) "
        );
    }
}
