//! Tables for a terminal: columns as wide as what is in them.

use std::fmt::Write;

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A table with a line below its head. Every line ends in a newline and has no spaces before it.
#[must_use]
pub fn table(head: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = head
        .iter()
        .enumerate()
        .map(|(column, (title, _))| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| width(cell))
                .max()
                .unwrap_or(0)
                .max(width(title))
        })
        .collect();
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for ((cell, (_, align)), &wide) in cells.zip(head).zip(&widths) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let _ = match align {
                Align::Left => write!(line, "{cell:<wide$}"),
                Align::Right => write!(line, "{cell:>wide$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(&mut head.iter().map(|(title, _)| *title));
    let rules: Vec<String> = widths.iter().map(|wide| "-".repeat(*wide)).collect();
    line(&mut rules.iter().map(String::as_str));
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Align, table};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec!["a".to_owned(), "1.00".to_owned(), "x".to_owned()],
            vec!["µµµµµ".to_owned(), "10.00".to_owned(), String::new()],
        ];
        let head = [
            ("name", Align::Left),
            ("s", Align::Right),
            ("z", Align::Left),
        ];
        assert_eq!(
            table(&head, &rows),
            "name       s  z\n-----  -----  -\na       1.00  x\nµµµµµ  10.00\n"
        );
    }
}
