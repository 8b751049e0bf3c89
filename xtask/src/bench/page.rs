// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renders the figures as BENCHMARKS.md and its charts.

use std::fmt::Write as _;

use super::charts::{Axes, Bar, Group, Line, bars, lines};
use super::figures::{Figure, Section, Sections, format};

/// The name of a file and its text.
pub(super) type File = (String, String);

/// How a section is shown.
struct Part {
    name: &'static str,
    title: &'static str,
    /// What is measured, and how to read it.
    text: &'static str,
    charts: &'static [Chart],
}

struct Chart {
    name: &'static str,
    title: &'static str,
    /// What the values are.
    values: &'static str,
    /// Separated by semicolons.
    rows: &'static str,
    kind: Kind,
}

enum Kind {
    /// A line for each row, over columns such as `100 kernels`, where `noun` is `kernel`.
    Lines {
        noun: &'static str,
        x: &'static str,
        log_y: bool,
    },
    /// A group for each row, with a bar for each column. Rows with one column are bars of one group.
    Bars,
}

const ARGUMENTS: Kind = Kind::Lines {
    noun: "argument",
    x: "number of kernel arguments",
    log_y: false,
};

const PARTS: [Part; 7] = [
    Part {
        name: "launch",
        title: "Host time per launch",
        text: "Each contestant enqueues a kernel that does almost nothing. The ratio to the same OpenCL calls by hand \
               (`raw`) is in parentheses: below 1 is faster. A `stub` is a function that `include_syclbin!` generates; \
               one of its arguments changes from launch to launch. `prepared` and `recorded` repeat a launch, and \
               `reference` is the reference SYCL runtime.",
        charts: &[Chart {
            name: "launch",
            title: "A launch costs this much host time",
            values: "Time until the launch is in the queue; lower is better. Grey lines are peers.",
            rows: "raw; reference; stub; stub, all change; prepared",
            kind: ARGUMENTS,
        }],
    },
    Part {
        name: "instructions",
        title: "Instructions per launch",
        text: "Valgrind counts the processor instructions of the caller, on top of a stub driver whose functions \
               return immediately. The ratio to `raw` is in parentheses.",
        charts: &[Chart {
            name: "instructions",
            title: "A launch executes this many instructions in the caller",
            values: "Instructions; lower is better. The grey line is the peer.",
            rows: "raw; stub; stub, all change; prepared; recorded",
            kind: ARGUMENTS,
        }],
    },
    Part {
        name: "start",
        title: "Start to first result",
        text: "A process starts, runs one kernel, checks the result and prints a line. The ratio to `driver alone`, which \
               loads the driver and creates a queue, is in parentheses. No program can avoid that part. In `fresh`, \
               the driver compiles the kernel; `warm` uses the cache of an earlier run; `native` loads native code. \
               `reference` is the reference SYCL runtime.",
        charts: &[Chart {
            name: "start",
            title: "From the start of a process to its first result",
            values: "Median time; shorter is better. Blue: syclbin-rt; grey: peers. The light part is the driver alone.",
            rows: "driver alone; warm; native; reference, cached; fresh; reference",
            kind: Kind::Bars,
        }],
    },
    Part {
        name: "quality",
        title: "Speed of kernels",
        text: "The examples' kernels run alternately with the same kernels in OpenCL C, on the same driver. The ratio \
               of speeds is in parentheses: above 1 is faster than OpenCL C.",
        charts: &[],
    },
    Part {
        name: "memory",
        title: "Memory",
        text: "Buffers are created, zeroed and dropped, or data is copied to or from a buffer. `raw` makes the OpenCL \
               calls by hand, and `memcpy` copies to newly allocated host memory. The ratio to `raw` is in \
               parentheses: below 1 is faster.",
        charts: &[Chart {
            name: "memory",
            title: "Buffers: created, uploaded and downloaded",
            values: "Time for one buffer; each part has a scale of its own. Shorter is better.",
            rows: "make and drop 4 kB; make and drop 1 MB; upload and drop 4 kB; upload 256 MB; download 256 MB",
            kind: Kind::Bars,
        }],
    },
    Part {
        name: "scale",
        title: "Scale",
        text: "This section shows how costs grow with the number of kernels, sources and threads, and with the size of \
               a file. Ratios in parentheses are relative to the row with (1.00), or else to the first row.",
        charts: &[
            Chart {
                name: "files",
                title: "A file with many kernels: the first steps of a program",
                values: "Time on a logarithmic axis; lower is better.",
                rows: "reading it; loading it, embedded; first launch of a kernel",
                kind: Kind::Lines {
                    noun: "kernel",
                    x: "kernels in the file",
                    log_y: true,
                },
            },
            Chart {
                name: "sources",
                title: "A build of many source files",
                values: "Elapsed time of cargo build on a logarithmic axis; lower is better.",
                rows: "from scratch; one source changed; nothing changed",
                kind: Kind::Lines {
                    noun: "source",
                    x: "source files, each with one kernel",
                    log_y: true,
                },
            },
            Chart {
                name: "threads",
                title: "Threads that launch on separate queues",
                values: "Time divided by the launches of all threads; lower is better. The grey line is the peer.",
                rows: "raw; stub",
                kind: Kind::Lines {
                    noun: "thread",
                    x: "threads",
                    log_y: false,
                },
            },
        ],
    },
    Part {
        name: "build",
        title: "Builds",
        text: "Each figure is the elapsed time of a whole `cargo build` of a package with ten kernels, each in a source \
               file of its own. The ratio to a build from scratch with `<sycl/sycl.hpp>` is in parentheses.",
        charts: &[Chart {
            name: "build",
            title: "Builds with sycl.hpp and with kernel.hpp",
            values: "Elapsed time of cargo build for ten kernels; each part has a scale of its own. Shorter is better.",
            rows: "from scratch; one kernel changed; a header changed",
            kind: Kind::Bars,
        }],
    },
];

/// The part of each start that is not ours.
const DRIVER: &str = "driver alone";

/// Returns the names of all sections.
pub(super) fn names() -> [&'static str; PARTS.len()] {
    PARTS.map(|part| part.name)
}

/// Returns BENCHMARKS.md and all charts.
pub(super) fn render(sections: &Sections) -> (String, Vec<File>) {
    let shown = || {
        let parts = PARTS.iter();
        parts.filter_map(|part| Some((part, sections.get(part.name)?)))
    };
    let mut page = "# Benchmarks\n\n`cargo xtask bench` measures this page and regenerates it; only `--full` measures \
        the build of 1,000 sources. To repeat only some sections, name them: `cargo xtask bench launch start`. Each \
        ratio is the median of the ratios within rounds, so it can differ from the quotient of two medians. \
        [syclbin-rt/benches](syclbin-rt/benches/README.md) describes the method, and \
        [Performance](book/src/performance.md) how to measure your own program.\n\n"
        .to_owned();
    if shown().any(|(_, section)| section.short) {
        page += "**These figures mean nothing yet:** they are from a short run, which only shows that the benchmarks \
                 work.\n\n";
    }
    page += &goals(shown().map(|(part, section)| (part.name, section)));
    let mut files = Vec::new();
    for (part, section) in shown() {
        let Section { date, commit, .. } = section;
        let _ = write!(page, "\n## {}\n\n{}\n\n", part.title, part.text);
        let _ = write!(page, "{date}, commit {commit}; {}", section.machine);
        let _ = writeln!(page, "; {}.", section.device);
        for chart in part.charts {
            if let Some(svg) = draw(chart, section) {
                let (file, title) = (format!("{}.svg", chart.name), chart.title);
                let _ = writeln!(page, "\n![{title}](book/src/benchmarks/{file})");
                files.push((file, svg));
            }
        }
        page += &tables(&section.figures);
        for reason in &section.left_out {
            let _ = writeln!(
                page,
                "\nNot measured: {}.",
                reason.trim().replace('\n', " ")
            );
        }
    }
    (page, files)
}

/// Returns a table of the goals, those that are missed first.
fn goals<'s>(sections: impl Iterator<Item = (&'static str, &'s Section)>) -> String {
    let goals = sections.flat_map(|(name, section)| section.goals.iter().map(move |g| (name, g)));
    let (met, missed): (Vec<_>, Vec<_>) = goals.partition(|(_, goal)| goal.figure <= goal.most);
    let (count, all) = (met.len(), met.len() + missed.len());
    let mut text = format!(
        "## Goals\n\n{count} of {all} goals are met. Lower is better; \"a over b\" is the quotient of both. The \
         sections below define the terms.\n\n| section | goal | measured | at most | |\n|---|---|---|---|---|\n"
    );
    for (section, goal) in missed.iter().chain(&met) {
        let verdict = match goal.figure / goal.most {
            ..=1.0 => "met".to_owned(),
            times @ ..2.0 => format!("**missed** by {:.1}%", (times - 1.0) * 100.0),
            times => format!("**missed** by a factor of {times:.0}"),
        };
        let _ = writeln!(
            text,
            "| {section} | {} | {:.3} | {} | {verdict} |",
            goal.what, goal.figure, goal.most
        );
    }
    text
}

/// Returns the figures as tables: one for each title, whose rows and columns have the order of the figures.
fn tables(figures: &[Figure]) -> String {
    let mut text = String::new();
    for title in distinct(figures.iter().map(|figure| &figure.table)) {
        let of_table = || figures.iter().filter(|figure| figure.table == *title);
        let columns = distinct(of_table().map(|figure| &figure.column));
        let _ = write!(text, "\n| {title} |");
        for column in &columns {
            let _ = write!(text, " {column} |");
        }
        let _ = writeln!(text, "\n|---|{}", "---|".repeat(columns.len()));
        for row in distinct(of_table().map(|figure| &figure.row)) {
            let _ = write!(text, "| {row} |");
            for column in &columns {
                let mut cell = of_table();
                let cell = cell.find(|cell| cell.row == *row && cell.column == **column);
                let cell = cell.map_or(String::new(), |cell| {
                    let ratio = cell.ratio.map(|ratio| match ratio {
                        ..0.1 => format!(" ({ratio:.3})"),
                        0.1..10.0 => format!(" ({ratio:.2})"),
                        _ => format!(" ({ratio:.0})"),
                    });
                    format(cell.value, &cell.unit) + &ratio.unwrap_or_default()
                });
                let _ = write!(text, " {cell} |");
            }
            text.push('\n');
        }
    }
    text
}

fn distinct<'f>(names: impl Iterator<Item = &'f String>) -> Vec<&'f String> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// Draws a chart, unless nothing of it was measured.
fn draw(chart: &Chart, section: &Section) -> Option<String> {
    let of_row = |row: &'static str| {
        let figures = section.figures.iter();
        figures.filter(move |figure| figure.row == row)
    };
    let mut rows = chart.rows.split("; ").peekable();
    let first = *rows.peek()?;
    let unit = &of_row(first).next()?.unit;
    if let Kind::Lines { noun, x, log_y } = chart.kind {
        let axes = Axes {
            title: chart.title,
            x,
            y: chart.values,
            unit,
            log_y,
        };
        let points = |row| {
            let points = of_row(row).filter_map(|figure| {
                let (number, rest) = figure.column.split_once(' ')?;
                let number: f64 = number.replace(',', "").parse().ok()?;
                (rest.trim_end_matches('s') == noun).then_some((number, figure.value))
            });
            points.collect::<Vec<_>>()
        };
        let all = rows.map(|row| Line::new(row, points(row)));
        let all: Vec<Line> = all.filter(|line| !line.points.is_empty()).collect();
        return Some(lines(&axes, &all));
    }
    let driver = of_row(DRIVER).next().map_or(0.0, |figure| figure.value);
    let group = |title: &str, bars| Group {
        title: title.to_owned(),
        unit: unit.clone(),
        bars,
    };
    let groups = if of_row(first).count() == 1 {
        let figures = rows.flat_map(of_row);
        let bars = figures.map(|figure| Bar::new(&figure.row, figure.value, driver));
        vec![group("", bars.collect())]
    } else {
        let bars = |row| of_row(row).map(|figure| Bar::new(&figure.column, figure.value, 0.0));
        rows.map(|row| group(row, bars(row).collect())).collect()
    };
    Some(bars(chart.title, chart.values, &groups))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::{self, NANOSECONDS};
    use crate::files;

    #[test]
    fn committed_page_shows_committed_figures() {
        let (page, charts) = render(&figures::read().unwrap());
        files::compare("BENCHMARKS.md", &page, false).unwrap();
        for (name, svg) in charts {
            files::compare(&format!("book/src/benchmarks/{name}"), &svg, false).unwrap();
        }
    }

    #[test]
    fn page_has_tables_goals_and_charts() {
        let mut section = Section {
            left_out: vec!["recorded: no time".to_owned()],
            ..Section::default()
        };
        section.add("queued", "raw", "2 arguments", 4000.0, NANOSECONDS);
        section.compare(
            ["queued", "stub", "2 arguments"],
            3000.0,
            4000.0,
            NANOSECONDS,
        );
        section.add("queued", "stub", "10 arguments", 5000.0, NANOSECONDS);
        section.goal("stub over raw", 0.75, 1.0);
        section.goal("stub over half of raw", 1.5, 1.0);
        let (page, charts) = render(&Sections::from([("launch".to_owned(), section)]));
        for part in [
            "1 of 2 goals are met.",
            "| launch | stub over half of raw | 1.500 | 1 | **missed** by 50.0% |\n| launch | stub over raw | 0.750 | 1 | met |",
            "![A launch costs this much host time](book/src/benchmarks/launch.svg)",
            "| queued | 2 arguments | 10 arguments |\n|---|---|---|\n| raw | 4.00 µs |  |\n| stub | 3.00 µs (0.75) | 5.00 µs |\n",
            "Not measured: recorded: no time.",
        ] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
        assert_eq!(charts.len(), 1);
        assert_eq!(charts[0].0, "launch.svg");
    }
}
