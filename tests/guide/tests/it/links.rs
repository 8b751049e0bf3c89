// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that the files and headings that the documentation links to exist.

use std::collections::BTreeSet;
use std::fs;

use crate::pages;

#[test]
fn links_lead_to_files_and_headings() {
    let pages = pages();
    let mut links = 0;
    let mut broken = Vec::new();
    for page in &pages {
        let text = prose(&fs::read_to_string(page).unwrap());
        for target in targets(&text).filter(|target| !target.contains("://")) {
            links += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => page.clone(),
                file => page.with_file_name("").join(file),
            };
            let leads = match fs::read_to_string(&file) {
                Ok(text) => heading.is_empty() || headings(&text).contains(heading),
                Err(_) => file.exists() && heading.is_empty(),
            };
            if !leads {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(links > 100, "only {links} links");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Returns the text without code blocks.
fn prose(text: &str) -> String {
    let parts = text.split("```").step_by(2);
    parts.collect::<Vec<_>>().join("")
}

/// Returns the targets of links and pictures. Lambdas in code look like links, but have spaces.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let rests = text.split("](").skip(1);
    let targets = rests.filter_map(|rest| Some(rest.split_once(')')?.0));
    targets.filter(|target| !target.contains(' '))
}

/// Returns the anchors of all headings, as mdBook and GitHub spell them.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = prose(text);
    let titles = titles.lines().filter(|line| line.starts_with('#'));
    let anchor = |title: &str| {
        let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        let letters = title.trim_start_matches('#').trim().chars().filter(kept);
        letters.collect::<String>().to_lowercase().replace(' ', "-")
    };
    titles.map(anchor).collect()
}
