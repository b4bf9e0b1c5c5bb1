//! Drawings as SVG, for two widths: a page's and a telephone's.
//!
//! A drawing that is merely scaled down cannot be read on a telephone, so each is drawn twice and the page shows one.
//! Colours are names that the page defines for light and dark: they are drawn as colours that nothing else has, and
//! replaced in the text that comes out.

use std::fmt::Write;

use plotters::coord::Shift;
use plotters::prelude::{
    ChartBuilder, Circle, DrawingArea, DrawingAreaErrorKind, FontStyle, IntoDrawingArea, IntoFont,
    IntoLogRange, LineSeries, PathElement, RGBColor, Rectangle, SVGBackend, Text, TextStyle,
};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A colour by what it stands for; the page gives each a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ink {
    Text,
    Muted,
    Grid,
    Own,
    Peer,
    Sync,
    Each,
    Group,
    Batch,
    None,
}

impl Ink {
    const ALL: [Self; 10] = [
        Self::Text,
        Self::Muted,
        Self::Grid,
        Self::Own,
        Self::Peer,
        Self::Sync,
        Self::Each,
        Self::Group,
        Self::Batch,
        Self::None,
    ];

    /// The name of the page's variable.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Self::Text => "--ink",
            Self::Muted => "--muted",
            Self::Grid => "--grid",
            Self::Own => "--own",
            Self::Peer => "--peer",
            Self::Sync => "--sync",
            Self::Each => "--each",
            Self::Group => "--group",
            Self::Batch => "--batch",
            Self::None => "--none",
        }
    }

    fn stand_in(self) -> RGBColor {
        RGBColor(1, 0, self as u8 + 1)
    }
}

/// A width in the page's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Page,
    Telephone,
}

impl Width {
    pub(super) const BOTH: [Self; 2] = [Self::Page, Self::Telephone];

    fn pixels(self) -> u32 {
        match self {
            Self::Page => 860,
            Self::Telephone => 350,
        }
    }

    fn ticks(self) -> usize {
        match self {
            Self::Page => 8,
            Self::Telephone => 4,
        }
    }
}

/// One bar of a chart, or a line between bars.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Heading(String),
    Bar(Bar),
}

/// A bar in two parts, from least to greatest.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) label: String,
    /// What stands at its end.
    pub(super) value: String,
    pub(super) ink: Ink,
    pub(super) first: f64,
    pub(super) second: f64,
    /// The least and the greatest of the whole, where there were several.
    pub(super) range: Option<(f64, f64)>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = Result<
    (),
    DrawingAreaErrorKind<<SVGBackend<'a> as plotters::prelude::DrawingBackend>::ErrorType>,
>;

/// plotters divides sizes by this when it writes them.
const FONT_FACTOR: f64 = 1.24;

fn font(pixels: f64, ink: Ink, h_pos: HPos) -> TextStyle<'static> {
    ("sans-serif", pixels * FONT_FACTOR)
        .into_font()
        .color(&ink.stand_in())
        .pos(Pos::new(h_pos, VPos::Center))
}

fn bold(ink: Ink) -> TextStyle<'static> {
    let style = FontStyle::Bold;
    ("sans-serif", 14.0 * FONT_FACTOR, style)
        .into_font()
        .color(&ink.stand_in())
        .pos(Pos::new(HPos::Left, VPos::Center))
}

/// Draws, and makes the result fit to stand in a page.
fn draw(
    size: (u32, u32),
    label: &str,
    work: impl for<'a> FnOnce(&Area<'a>) -> Drawn<'a>,
) -> String {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        // Writing to a string does not fail, and no drawing here has an empty range.
        let drawn = work(&area).and_then(|()| area.present());
        debug_assert!(drawn.is_ok(), "{drawn:?}");
    }
    for ink in Ink::ALL {
        let RGBColor(red, green, blue) = ink.stand_in();
        let stand_in = format!("\"#{red:02X}{green:02X}{blue:02X}\"");
        text = text.replace(&stand_in, &format!("\"var({})\"", ink.variable()));
    }
    // The page's own font, and no size: the page decides.
    text = text.replace(" font-family=\"sans-serif\"", "");
    match text.split_once('>') {
        Some((_, body)) => format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{body}",
            size.0,
            size.1,
            super::page::escape(label)
        ),
        None => text,
    }
}

/// Bars beneath each other, with a line across them at `mark`.
pub(super) fn bars(
    lines: &[Line],
    unit: &str,
    mark: Option<f64>,
    label: &str,
    width: Width,
) -> String {
    let above = width == Width::Telephone;
    let row: i32 = if above { 40 } else { 30 };
    let wide = width.pixels();
    let axis = 30;
    let high = lines.len() as u32 * row as u32 + axis;
    let longest = lines.iter().fold(0.0_f64, |longest, line| match line {
        Line::Bar(bar) => longest
            .max(bar.first + bar.second)
            .max(bar.range.map_or(0.0, |(_, greatest)| greatest)),
        Line::Heading(_) => longest,
    });
    let longest = if longest > 0.0 { longest } else { 1.0 };
    // Room for half a tick's label, or for the bars' own.
    let left: u32 = if above { 14 } else { 190 };
    draw((wide, high), label, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_right(if above { 62 } else { 84 })
            .margin_left(left)
            .x_label_area_size(axis)
            .build_cartesian_2d(0.0..longest * 1.01, 0.0..lines.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(width.ticks())
            .x_max_light_lines(0)
            .bold_line_style(Ink::Grid.stand_in())
            .axis_style(Ink::Grid.stand_in())
            .x_label_style(font(12.0, Ink::Muted, HPos::Center))
            .x_label_formatter(&|value| format!("{} {unit}", short(*value)))
            .draw()?;
        let count = lines.len() as f64;
        if let Some(at) = mark.filter(|at| *at <= longest) {
            let style = Ink::Muted.stand_in().stroke_width(1);
            chart.draw_series([PathElement::new(vec![(at, 0.0), (at, count)], style)])?;
        }
        for (index, line) in lines.iter().enumerate() {
            let top = index as i32 * row;
            let middle = if above { top + 29 } else { top + row / 2 };
            // From the top down, in the chart's own units.
            let y = |pixels: i32| count - f64::from(pixels) / f64::from(row);
            match line {
                Line::Heading(text) => {
                    let style = bold(Ink::Text);
                    area.draw(&Text::new(
                        text.clone(),
                        (if above { left as i32 } else { 4 }, top + row - 10),
                        style,
                    ))?;
                }
                Line::Bar(bar) => {
                    let (half, end) = (if above { 7 } else { 9 }, bar.first + bar.second);
                    let parts = [(0.0, bar.first, bar.ink), (bar.first, end, Ink::Sync)];
                    for (from, to, ink) in parts {
                        if to > from {
                            let corners = [(from, y(middle - half)), (to, y(middle + half))];
                            chart
                                .draw_series([Rectangle::new(corners, ink.stand_in().filled())])?;
                        }
                    }
                    let mut reach = end;
                    if let Some((least, greatest)) = bar.range {
                        reach = reach.max(greatest);
                        let style = Ink::Text.stand_in().stroke_width(1);
                        let whisker = |points: Vec<(f64, f64)>| PathElement::new(points, style);
                        chart.draw_series([
                            whisker(vec![(least, y(middle)), (greatest, y(middle))]),
                            whisker(vec![(least, y(middle - 4)), (least, y(middle + 4))]),
                            whisker(vec![(greatest, y(middle - 4)), (greatest, y(middle + 4))]),
                        ])?;
                    }
                    let (at, style) = if above {
                        ((left as i32, top + 12), font(13.0, Ink::Text, HPos::Left))
                    } else {
                        (
                            (left as i32 - 10, middle),
                            font(13.0, Ink::Text, HPos::Right),
                        )
                    };
                    area.draw(&Text::new(bar.label.clone(), at, style))?;
                    let (x, _) = chart.backend_coord(&(reach, 0.0));
                    let style = font(13.0, Ink::Text, HPos::Left);
                    area.draw(&Text::new(bar.value.clone(), (x + 6, middle), style))?;
                }
            }
        }
        Ok(())
    })
}

/// A number on an axis.
fn short(value: f64) -> String {
    let text = if value >= 100.0 || value == 0.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Points of one colour, by their times in seconds.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) ink: Ink,
    pub(super) points: Vec<(f64, f64)>,
}

fn extent(series: &[Series], pick: fn(&(f64, f64)) -> f64) -> (f64, f64) {
    let all = series.iter().flat_map(|series| &series.points).map(pick);
    all.fold((f64::INFINITY, 0.0), |(least, greatest), value| {
        (value.min(least), value.max(greatest))
    })
}

/// Values over time, as lines; `format` writes the values on the axis.
pub(super) fn over_time(
    series: &[Series],
    top: f64,
    format: fn(f64) -> String,
    label: &str,
    width: Width,
) -> String {
    let (_, last) = extent(series, |point| point.0);
    draw((width.pixels(), 230), label, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(12)
            .margin_right(16)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..last.max(1e-3), 0.0..top.max(1.0))?;
        chart
            .configure_mesh()
            .x_labels(width.ticks())
            .y_labels(5)
            .max_light_lines(0)
            .bold_line_style(Ink::Grid.stand_in())
            .axis_style(Ink::Grid.stand_in())
            .label_style(font(12.0, Ink::Muted, HPos::Center))
            .x_label_formatter(&|value| format!("{} s", short(*value)))
            .y_label_formatter(&|value| format(*value))
            .draw()?;
        for one in series {
            let style = one.ink.stand_in().stroke_width(1);
            chart.draw_series(LineSeries::new(one.points.iter().copied(), style))?;
        }
        Ok(())
    })
}

/// Values over time, as points on a logarithmic scale.
pub(super) fn scattered(
    series: &[Series],
    format: fn(f64) -> String,
    label: &str,
    width: Width,
) -> String {
    let (_, last) = extent(series, |point| point.0);
    let (least, greatest) = extent(series, |point| point.1);
    // Whole powers of ten around them.
    let low = 10_f64.powf(least.clamp(1e-7, 1e3).log10().floor());
    let high = 10_f64
        .powf(greatest.clamp(low, 1e6).log10().ceil())
        .max(low * 10.0);
    draw((width.pixels(), 260), label, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_top(12)
            .margin_right(16)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..last.max(1e-3), (low..high).log_scale())?;
        chart
            .configure_mesh()
            .x_labels(width.ticks())
            .max_light_lines(0)
            .y_labels(6)
            // A logarithmic axis draws them whatever their number.
            .light_line_style(Ink::Grid.stand_in())
            .bold_line_style(Ink::Grid.stand_in())
            .axis_style(Ink::Grid.stand_in())
            .label_style(font(12.0, Ink::Muted, HPos::Center))
            .x_label_formatter(&|value| format!("{} s", short(*value)))
            .y_label_formatter(&|value| format(*value))
            .draw()?;
        for one in series {
            let style = one.ink.stand_in().mix(0.7).filled();
            let points = one.points.iter().filter(|point| point.1 > 0.0);
            // A few are seen beside many only when they are larger.
            let radius = if one.points.len() < 100 { 4 } else { 2 };
            chart.draw_series(points.map(|point| Circle::new(*point, radius, style)))?;
        }
        Ok(())
    })
}

/// A drawing for both widths, of which the page shows one.
pub(super) fn figure(draw: impl Fn(Width) -> String, caption: &str) -> String {
    let mut text = String::from("<figure>");
    for width in Width::BOTH {
        let class = match width {
            Width::Page => "wide",
            Width::Telephone => "narrow",
        };
        let _ = write!(text, "<div class=\"{class}\">{}</div>", draw(width));
    }
    if !caption.is_empty() {
        let _ = write!(text, "<figcaption>{caption}</figcaption>");
    }
    text.push_str("</figure>");
    text
}

#[cfg(test)]
mod tests {
    use super::{Bar, Ink, Line, Series, Width, bars, over_time, scattered, short};

    #[test]
    fn drawings_have_no_colours_of_their_own() {
        let lines = [
            Line::Heading("ext4 & <more>".into()),
            Line::Bar(Bar {
                label: "durastar \"group\"".into(),
                value: "3 s".into(),
                ink: Ink::Own,
                first: 2.0,
                second: 1.0,
                range: Some((2.5, 4.0)),
            }),
        ];
        let series = [Series {
            ink: Ink::Each,
            points: vec![(0.0, 0.001), (1.0, 0.02), (2.0, 0.0)],
        }];
        for width in Width::BOTH {
            for text in [
                bars(&lines, "s", Some(1.0), "a & b", width),
                over_time(&series, 1.0, short, "fill", width),
                scattered(&series, short, "syncs", width),
            ] {
                assert!(!text.contains("\"#"), "{text}");
                assert!(text.starts_with("<svg viewBox=") && text.trim_end().ends_with("</svg>"));
                assert!(!text.contains("http"), "{text}");
                assert!(text.contains("var(--"));
            }
        }
        assert!(bars(&lines, "s", None, "a & b", Width::Page).contains("aria-label=\"a &amp; b\""));
    }

    #[test]
    fn nothing_to_draw_is_drawn_as_nothing() {
        assert!(bars(&[], "s", None, "", Width::Page).starts_with("<svg"));
        assert!(over_time(&[], 0.0, short, "", Width::Page).starts_with("<svg"));
        assert!(scattered(&[], short, "", Width::Telephone).starts_with("<svg"));
    }

    #[test]
    fn numbers_on_axes_are_short() {
        assert_eq!(
            [0.0, 0.25, 2.5, 12.0, 150.0].map(short),
            ["0", "0.25", "2.5", "12", "150"]
        );
    }
}
