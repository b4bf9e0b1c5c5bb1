//! `--help`, rendered from the table.

use std::fmt::Write;

use crate::table::{COMMANDS, COMMON, Command, Flag};

/// Lines are no longer than this.
const WIDTH: usize = 79;
/// Where descriptions begin.
const COLUMN: usize = 24;

/// Of the program.
pub(crate) fn program() -> String {
    let mut text = String::from(
        "Usage: durastar-bench COMMAND [OPTION...] [OPERAND...]\n\
         Measure what safe extraction costs here, on this disk.\n\n\
         Examples:\n  \
         durastar-bench extract linux.tar --fs ext4,xfs,btrfs --json run.json\n  \
         durastar-bench report run.json -o report.html\n\nCommands:\n",
    );
    for command in &COMMANDS {
        entry(command.name, command.about, &mut text);
    }
    text.push_str("\nOptions:\n");
    for option in &COMMON {
        entry(&spelling(option), option.help, &mut text);
    }
    text.push_str("\ndurastar-bench COMMAND --help tells more.\n");
    text
}

/// Of one command.
pub(crate) fn command(command: &Command) -> String {
    let mut text = format!("Usage: durastar-bench {} [OPTION...] ", command.name);
    text.push_str(command.operands);
    text.push('\n');
    wrap(&format!("{}.", capital(command.about)), 0, &mut text);
    for paragraph in command.text {
        text.push('\n');
        wrap(paragraph, 0, &mut text);
    }
    text.push_str("\nOptions:\n");
    for option in command.options.iter().copied().chain(&COMMON) {
        entry(&spelling(option), option.help, &mut text);
    }
    text
}

/// The option's spellings with its value.
pub(crate) fn spelling(option: &Flag) -> String {
    let value = option.value;
    let mut text = match option.short {
        Some(short) => format!("-{short}, --{}", option.long),
        None => format!("--{}", option.long),
    };
    if let Some(value) = value {
        let _ = write!(text, "={value}");
    }
    text
}

/// A sentence begins with a capital letter.
pub(crate) fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

fn entry(name: &str, help: &str, text: &mut String) {
    let _ = write!(text, "  {name}");
    if name.len() + 2 >= COLUMN {
        text.push('\n');
    } else {
        let _ = write!(text, "{}", " ".repeat(COLUMN - name.len() - 2));
    }
    let mut block = String::new();
    wrap(help, COLUMN, &mut block);
    if name.len() + 2 < COLUMN {
        text.push_str(block.trim_start());
    } else {
        text.push_str(&block);
    }
}

fn wrap(words: &str, indent: usize, text: &mut String) {
    let mut line = " ".repeat(indent);
    for word in words.split_whitespace() {
        let long = line.trim_start().is_empty();
        if !long && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = " ".repeat(indent);
        }
        if !line.trim_start().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, WIDTH, command, program};

    #[test]
    fn help_fits_a_terminal_and_names_everything() {
        let text = program();
        for row in &COMMANDS {
            assert!(text.contains(row.name));
            let text = command(row);
            for option in row.options {
                assert!(text.contains(&format!("--{}", option.long)), "{text}");
            }
            for line in text.lines().skip(1) {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
