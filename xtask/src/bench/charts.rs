// SPDX-License-Identifier: MIT OR Apache-2.0
//! Charts as SVG: lines over a logarithmic axis, and groups of bars.
//!
//! They are drawn on a white card, so that they are readable on light and dark pages. Our own figures are coloured, and
//! those of peers are grey.

use std::fmt::Write as _;

use super::figures::format;

const WIDTH: f64 = 860.0;
const INK: &str = "#1f2933";
const GREY: &str = "#616e7c";
const GRID: &str = "#e4e7eb";
const OURS: [&str; 5] = ["#0b61a4", "#c2410c", "#15803d", "#7e22ce", "#a16207"];
/// Tells grey lines apart.
const DASHES: [&str; 3] = ["none", "7 4", "2 3"];

/// What the axes of lines show.
pub(super) struct Axes<'a> {
    pub(super) title: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    pub(super) unit: &'a str,
    pub(super) log_y: bool,
}

pub(super) struct Line {
    label: String,
    is_ours: bool,
    /// By growing x.
    pub(super) points: Vec<(f64, f64)>,
}

impl Line {
    pub(super) fn new(label: &str, points: Vec<(f64, f64)>) -> Self {
        let (label, is_ours) = (label.to_owned(), is_ours(label));
        Self {
            label,
            is_ours,
            points,
        }
    }
}

/// Bars with a scale of their own.
pub(super) struct Group {
    pub(super) title: String,
    pub(super) unit: String,
    pub(super) bars: Vec<Bar>,
}

pub(super) struct Bar {
    label: String,
    is_ours: bool,
    value: f64,
    base: f64,
}

impl Bar {
    /// `base` is a part of the value, drawn lighter.
    pub(super) fn new(label: &str, value: f64, base: f64) -> Self {
        let (label, is_ours) = (label.to_owned(), is_ours(label));
        Self {
            label,
            is_ours,
            value,
            base: base.min(value),
        }
    }
}

fn is_ours(label: &str) -> bool {
    let peers = ["raw", "reference", "memcpy", "driver", "sycl.hpp"];
    !peers.iter().any(|peer| label.starts_with(peer))
}

pub(super) fn lines(axes: &Axes<'_>, lines: &[Line]) -> String {
    const HEIGHT: f64 = 430.0;
    const LEFT: f64 = 76.0;
    const RIGHT: f64 = 620.0;
    const TOP: f64 = 78.0;
    const BOTTOM: f64 = 372.0;
    let points = || lines.iter().flat_map(|line| &line.points);
    let largest = points().fold(f64::MIN_POSITIVE, |largest, point| largest.max(point.1));
    let smallest = points().fold(largest, |smallest, point| smallest.min(point.1));
    let ticks = if axes.log_y {
        decades(smallest, largest)
    } else {
        steps(largest)
    };
    let place = |value: f64| if axes.log_y { value.log10() } else { value };
    let (low, high) = (place(ticks[0]), place(ticks[ticks.len() - 1]));
    let y = |value: f64| BOTTOM - (place(value) - low) / (high - low) * (BOTTOM - TOP);
    let mut columns: Vec<f64> = points().map(|point| point.0).collect();
    columns.sort_by(f64::total_cmp);
    columns.dedup();
    let (first, last) = (columns[0], columns[columns.len() - 1]);
    let span = (last / first).ln().max(f64::MIN_POSITIVE);
    let x = |value: f64| LEFT + (value / first).ln() / span * (RIGHT - LEFT);

    let mut svg = head(axes.title, HEIGHT);
    text(&mut svg, (24.0, 54.0), "start", GREY, axes.y);
    for tick in &ticks {
        rule(&mut svg, (LEFT, y(*tick)), (RIGHT, y(*tick)));
        let at = (LEFT - 8.0, y(*tick) + 4.0);
        text(&mut svg, at, "end", GREY, &tick_text(*tick, axes.unit));
    }
    for column in &columns {
        rule(&mut svg, (x(*column), BOTTOM), (x(*column), BOTTOM + 5.0));
        let at = (x(*column), BOTTOM + 20.0);
        text(&mut svg, at, "middle", GREY, &thousands(*column));
    }
    let at = ((LEFT + RIGHT) / 2.0, BOTTOM + 42.0);
    text(&mut svg, at, "middle", GREY, axes.x);

    let (mut ours, mut peers) = (OURS.iter().cycle(), DASHES.iter().cycle());
    let mut labels = Vec::new();
    for line in lines {
        let (color, dash) = match line.is_ours {
            true => (ours.next().unwrap_or(&INK), DASHES[0]),
            false => (&GREY, *peers.next().unwrap_or(&DASHES[0])),
        };
        let Some(&(end_x, end_y)) = line.points.last() else {
            continue;
        };
        let mut path = String::new();
        for (index, point) in line.points.iter().enumerate() {
            let letter = if index == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", x(point.0), y(point.1));
            let (x, y) = (x(point.0), y(point.1));
            let _ = writeln!(
                svg,
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{color}"/>"#
            );
        }
        let _ = writeln!(
            svg,
            r#"<path d="{path}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>"#
        );
        let label = format!("{}, {}", line.label, format(end_y, axes.unit));
        if end_x < last {
            text(
                &mut svg,
                (x(end_x) + 8.0, y(end_y) - 6.0),
                "start",
                color,
                &label,
            );
        } else {
            labels.push((y(end_y) + 4.0, color, label));
        }
    }
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = 0.0;
    for index in 0..labels.len() {
        // Each label leaves room for those below it.
        let below = (labels.len() - 1 - index) as f64 * 16.0;
        let (wanted, color, label) = &labels[index];
        let place = wanted.max(free).min(BOTTOM + 4.0 - below);
        text(&mut svg, (RIGHT + 10.0, place), "start", color, label);
        free = place + 16.0;
    }
    svg + "</svg>\n"
}

pub(super) fn bars(title: &str, note: &str, groups: &[Group]) -> String {
    const LEFT: f64 = 250.0;
    const RIGHT: f64 = 700.0;
    const ROW: f64 = 24.0;
    let rows: usize = groups.iter().map(|group| group.bars.len()).sum();
    let height = 80.0 + rows as f64 * ROW + groups.len() as f64 * 68.0;
    let mut svg = head(title, height);
    text(&mut svg, (24.0, 54.0), "start", GREY, note);
    let mut top = 84.0;
    for group in groups {
        let values = group.bars.iter().map(|bar| bar.value);
        let ticks = steps(values.fold(f64::MIN_POSITIVE, f64::max));
        let scale = (RIGHT - LEFT) / ticks[ticks.len() - 1];
        let bottom = top + group.bars.len() as f64 * ROW + 8.0;
        text(&mut svg, (24.0, top), "start", INK, &group.title);
        for tick in &ticks {
            let x = LEFT + tick * scale;
            rule(&mut svg, (x, top + 6.0), (x, bottom + 5.0));
            let tick = tick_text(*tick, &group.unit);
            text(&mut svg, (x, bottom + 20.0), "middle", GREY, &tick);
        }
        for (index, bar) in group.bars.iter().enumerate() {
            let y = top + 10.0 + index as f64 * ROW;
            let color = if bar.is_ours { OURS[0] } else { "#7b8794" };
            let (base, width) = (bar.base * scale, bar.value * scale);
            for (width, opacity) in [(width, 0.45), ((width - base).max(0.0), 1.0)] {
                let x = LEFT + bar.value * scale - width;
                let _ = writeln!(
                    svg,
                    r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="17" fill="{color}" fill-opacity="{opacity}"/>"#
                );
            }
            text(&mut svg, (LEFT - 8.0, y + 13.0), "end", INK, &bar.label);
            let value = format(bar.value, &group.unit);
            text(
                &mut svg,
                (LEFT + width + 8.0, y + 13.0),
                "start",
                INK,
                &value,
            );
        }
        top = bottom + 60.0;
    }
    svg + "</svg>\n"
}

fn head(title: &str, height: f64) -> String {
    let title = escaped(title);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" font-family="DejaVu Sans, Verdana, Arial, sans-serif" font-size="13">
<title>{title}</title>
<rect width="{WIDTH}" height="{height}" rx="6" fill="#fff"/>
<text x="24" y="32" font-size="16" font-weight="bold" fill="{INK}">{title}</text>
"##
    )
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, color: &str, text: &str) {
    let text = escaped(text);
    let _ = writeln!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{color}">{text}</text>"#
    );
}

fn rule(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(
        svg,
        r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{GRID}"/>"#
    );
}

fn escaped(text: &str) -> String {
    { text.replace('&', "&amp;").replace('<', "&lt;") }.replace('>', "&gt;")
}

/// Returns round numbers from 0 to at least `largest`.
fn steps(largest: f64) -> Vec<f64> {
    let power = 10f64.powf((largest / 5.0).log10().floor());
    let fits = |factor: &f64| factor * power * 5.0 >= largest * 0.999;
    let step = power * [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0);
    let mut ticks = vec![0.0];
    while ticks[ticks.len() - 1] < largest {
        ticks.push(ticks.len() as f64 * step);
    }
    ticks
}

/// Returns powers of ten around both.
fn decades(smallest: f64, largest: f64) -> Vec<f64> {
    let mut ticks = vec![10f64.powf(smallest.log10().floor())];
    while ticks.len() < 2 || ticks[ticks.len() - 1] < largest {
        ticks.push(ticks[ticks.len() - 1] * 10.0);
    }
    ticks
}

/// Formats a round value without zeros behind the point.
fn tick_text(value: f64, unit: &str) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = format(value, unit);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{number} {unit}").trim_end().to_owned()
}

fn thousands(value: f64) -> String {
    let text = format!("{value:.0}");
    match text.len() {
        ..=3 => text,
        length => format!("{},{}", &text[..length - 3], &text[length - 3..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_enclose_values() {
        assert_eq!(steps(9.4), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(steps(0.26), [0.0, 0.1, 0.2, 0.30000000000000004]);
        assert_eq!(decades(3.0, 250.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(decades(10.0, 10.0), [10.0, 100.0]);
        assert_eq!(tick_text(2000.0, "ns"), "2 µs");
        assert_eq!(thousands(10_000.0), "10,000");
    }

    fn chart(points: &[(f64, f64)]) -> String {
        let axes = Axes {
            title: "a < b",
            x: "arguments",
            y: "time",
            unit: "ns",
            log_y: false,
        };
        let line = |label| Line::new(label, points.to_vec());
        lines(&axes, &[line("stub"), line("raw")])
    }

    #[test]
    fn lines_have_labels_that_do_not_overlap() {
        let svg = chart(&[(1.0, 5.0), (100.0, 5.0)]);
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
        assert!(svg.contains(r#"<path d="M76.0 78.0L620.0 78.0""#), "{svg}");
        let place = |label: &str| {
            let line = svg.lines().find(|line| line.contains(label)).unwrap();
            let (_, rest) = line.split_once(" y=\"").unwrap();
            rest.split_once('"').unwrap().0.parse::<f64>().unwrap()
        };
        assert_eq!(place(">raw, 5.00 ns<") - place(">stub, 5.00 ns<"), 16.0);
    }

    #[test]
    fn one_column_makes_a_chart() {
        let svg = chart(&[(2.0, 5.0)]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let bar = |value, base| Bar::new("warm", value, base);
        let group = Group {
            title: "start".to_owned(),
            unit: "ns".to_owned(),
            bars: vec![bar(10.0, 0.0), bar(5.0, 4.0)],
        };
        let svg = bars("title", "note", &[group]);
        for width in ["450.0", "225.0", "45.0"] {
            assert!(svg.contains(&format!(r#"width="{width}""#)), "{svg}");
        }
    }
}
